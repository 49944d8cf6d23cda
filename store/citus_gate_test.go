package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// TestWorkerIsRefused checks that a worker of a cluster is refused, unless gates are row locks. The error says what to
// do. The coordinator is accepted.
func TestWorkerIsRefused(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Start(t, "fsync=off").DSN("postgres")
	db := beside(t, dsn)
	_, err := db.ExecContext(t.Context(), citusStandIn)
	is.NoErr(err)
	testdb.Open(t, dsn, nil)
	_, err = db.ExecContext(t.Context(), "UPDATE pg_dist_local_group SET groupid = 2")
	is.NoErr(err)
	_, err = store.Open(t.Context(), dsn, nil)
	is.True(errors.Is(err, store.ErrNotCoordinator))
	is.True(strings.Contains(err.Error(), "of group 2; connect all servers and commands to the coordinator"))
	is.True(strings.Contains(err.Error(), "--gates rows"))
	testdb.Open(t, dsn, &store.Config{RowGates: true})
}

// twoNodes returns the coordinator and a worker of one cluster, with row locks as gates.
func twoNodes(t *testing.T) (coordinator, worker *store.Store) {
	t.Helper()
	pgtest.NeedCluster(t)
	dsn := testdb.DSN(t)
	other := testdb.WorkerDSN(t, dsn)
	_, err := store.Open(t.Context(), other, nil)
	is.New(t).True(errors.Is(err, store.ErrNotCoordinator))
	return testdb.Open(t, dsn, &store.Config{RowGates: true, Connections: 4}),
		testdb.Open(t, other, &store.Config{RowGates: true, Connections: 4})
}

// TestClusterClaimsMeetAcrossNodes checks that a key that is in flight on one node is refused on another at once, while
// the first holds the company, and is free afterwards, and that nobody else takes the company meanwhile. A key of
// another company is not refused. It holds also with stores that connect to each company's node.
func TestClusterClaimsMeetAcrossNodes(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	dsn := testdb.DSN(t)
	coordinator := testdb.Open(t, dsn, &store.Config{RowGates: true, Connections: 4})
	worker := testdb.Open(t, testdb.WorkerDSN(t, dsn), &store.Config{RowGates: true, Connections: 4})
	direct := testdb.Open(t, dsn, &store.Config{DirectNodes: true, Connections: 4})
	onShards := testdb.Open(t, dsn, &store.Config{DirectNodes: true, Connections: 4})
	for _, order := range [][2]*store.Store{
		{coordinator, worker},
		{worker, coordinator},
		{coordinator, direct},
		{direct, coordinator},
		{worker, direct},
		{direct, worker},
		{direct, onShards},
	} {
		is := is.New(t)
		company, other := uuid.New(), uuid.New()
		for _, id := range []uuid.UUID{company, other} {
			written(t, coordinator, func(ctx context.Context, tx driver.Tx) error {
				return tx.CreateCompany(ctx, newCompany(id))
			})
		}
		begin := func(s *store.Store, of uuid.UUID, then func(inFlight []bool)) {
			key := driver.IdempotencyKey{CompanyID: of, Operation: "checkout", Key: "one"}
			is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
				inFlight, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{of}, Keys: []driver.IdempotencyKey{key}})
				if err == nil {
					then(inFlight)
				}
				return err
			}))
		}
		begin(order[0], company, func(inFlight []bool) {
			is.Equal(inFlight, []bool{false})
			is.NoErr(order[1].Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
				answered, err := tx.Begin(ctx, driver.BeginOptions{
					Shared: []uuid.UUID{company},
					Keys:   []driver.IdempotencyKey{{CompanyID: company, Operation: "checkout", Key: "one"}},
				})
				is.Equal(answered, []bool{true})
				return err
			}))
			begin(order[1], other, func(inFlight []bool) { is.Equal(inFlight, []bool{false}) })
			for _, gates := range []driver.BeginOptions{
				{Exclusive: []uuid.UUID{company}}, {Shared: []uuid.UUID{company}},
			} {
				gates.LockTimeout = 50 * time.Millisecond
				err := order[1].Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
					_, err := tx.Begin(ctx, gates)
					return err
				})
				is.True(errors.Is(err, driver.ErrBusy))
			}
		})
		begin(order[1], company, func(inFlight []bool) { is.Equal(inFlight, []bool{false}) })
	}
}

// TestClusterConstraintsKeepTheirNames checks that a broken constraint has its name from each node, whether Citus
// sends the row to its shard as a statement or as a copy, and whether the shard is on the same node.
func TestClusterConstraintsKeepTheirNames(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.DSN(t)
	for _, dsn := range []string{dsn, testdb.WorkerDSN(t, dsn)} {
		s := testdb.Open(t, dsn, &store.Config{RowGates: true, Connections: 4})
		db := beside(t, dsn)
		for n := range 8 { // Of several shards.
			company := "'" + uuid.NewSHA1(uuid.Nil, []byte{byte(n)}).String() + "'::uuid"
			row := company + ", 1, 0, 'secret', 1"
			for _, statement := range []string{"VALUES (" + row + ")", "SELECT " + row + " FROM generate_series(1, 2)"} {
				_, err := db.ExecContext(t.Context(), `INSERT INTO ticketing_webhook_secrets
					(company_id, endpoint, version, secret, created_at) `+statement)
				var broken *driver.ConstraintError
				is.True(errors.As(s.Classify(err), &broken))
				is.Equal(broken.Constraint, "webhook_secrets_version_check")
			}
			_, err := db.ExecContext(t.Context(), `INSERT INTO ticketing_idempotency_keys
				SELECT `+company+`, 'checkout', 'one', '', '', `+company+`, NULL, 1 FROM generate_series(1, 2)`)
			is.True(store.IsTransient(s.Classify(err))) // As another process's claim.
		}
	}
}
