package store_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/matryer/is"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// drivers returns functions that open a host's pool: with Bun's own driver, and with pgx in the mode that a pooler
// requires.
func drivers() map[string]func(tb testing.TB, dsn string) *sql.DB {
	return map[string]func(tb testing.TB, dsn string) *sql.DB{
		"pgdriver": func(_ testing.TB, dsn string) *sql.DB {
			return sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
		},
		"pgx": func(tb testing.TB, dsn string) *sql.DB {
			tb.Helper()
			pool, err := pgxPool(dsn)
			is.New(tb).NoErr(err)
			return pool
		},
	}
}

func pgxPool(dsn string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	return stdlib.OpenDB(*config), nil
}

// openPool opens a store over a host's pool.
func openPool(tb testing.TB, pool *sql.DB) *store.Store {
	tb.Helper()
	is := is.New(tb)
	pool.SetMaxOpenConns(8)
	tb.Cleanup(func() { is.NoErr(pool.Close()) })
	s, err := store.OpenDB(tb.Context(), bun.NewDB(pool, pgdialect.New()), nil)
	is.NoErr(err)
	return s
}

// TestHostsPool checks that the store keeps every promise over a host's pool, with any driver.
func TestHostsPool(t *testing.T) {
	t.Parallel()
	for name, connect := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variant(t, func(t *testing.T) driver.Store {
				t.Helper()
				return openPool(t, connect(t, testdb.DSN(t)))
			})
		})
	}
}

// TestHostsPoolInSchema checks that the tables are in the configured schema, for reads too, with any driver. It also
// checks that a read that exceeds the statement timeout is ended.
func TestHostsPoolInSchema(t *testing.T) {
	t.Parallel()
	for name, connect := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			pool := connect(t, pgtest.Database(t))
			defer pool.Close()
			s, err := store.OpenDB(t.Context(), bun.NewDB(pool, pgdialect.New()), &store.Config{Schema: "tickets"})
			is.NoErr(err)
			is.NoErr(s.Migrate(t.Context()))
			pending, err := s.Pending(t.Context())
			is.NoErr(err)
			is.Equal(len(pending), 0)
			furnish(t, s)
			is.NoErr(named(s, "kept")(t.Context()))
			is.Equal(names(t, s), []string{"kept"})
			is.Equal(texts(t, pool, `SELECT DISTINCT relnamespace::regnamespace::text FROM pg_class
				WHERE relname LIKE 'ticketing%'`), []string{"tickets"})

			held, err := pool.BeginTx(t.Context(), nil)
			is.NoErr(err)
			_, err = held.ExecContext(t.Context(), "LOCK TABLE tickets.ticketing_secrets")
			is.NoErr(err)
			s.SetLimits(50*time.Millisecond, patience)
			err = s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
				_, err := tx.SecretNames(ctx)
				return err
			})
			is.True(errors.Is(err, driver.ErrUnavailable))
			is.NoErr(held.Rollback())
			is.Equal(names(t, s), []string{"kept"})
			is.Equal(pool.Stats().InUse, 0)
		})
	}
}

// alternating opens connections with two connectors in turn.
type alternating struct {
	*pgdriver.Connector

	other *pgdriver.Connector
	turn  atomic.Int64
}

func (a *alternating) Connect(ctx context.Context) (sqldriver.Conn, error) {
	if a.turn.Add(1)%2 == 0 {
		return a.other.Connect(ctx)
	}
	return a.Connector.Connect(ctx)
}

// TestMigrateEnds checks that a database that is migrated for some connections and not for others is reported, and that
// Migrate does not loop for ever.
func TestMigrateEnds(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	connector := func(path string) *pgdriver.Connector {
		return pgdriver.NewConnector(pgdriver.WithDSN(testdb.FreshDSN(t)),
			pgdriver.WithConnParams(map[string]any{"search_path": path}))
	}
	pools := &alternating{Connector: connector("nowhere"), other: connector("public")}
	pool := sql.OpenDB(pools)
	defer pool.Close()
	pool.SetMaxIdleConns(-1)
	s, err := store.OpenDB(t.Context(), bun.NewDB(pool, pgdialect.New()), nil)
	is.NoErr(err)
	// The first look finds no migrations; the transaction that is to migrate finds them all.
	pools.turn.Store(0)
	is.True(errors.Is(s.Migrate(t.Context()), store.ErrSchema))
}

// TestSchemaByAnyWay checks that processes that name the schema of the same tables in different ways share its gates
// and claims.
func TestSchemaByAnyWay(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Database(t)
	// Migrate creates this schema.
	configured := testdb.Open(t, dsn, &store.Config{Schema: "tickets"})
	is.NoErr(configured.Migrate(t.Context()))
	pool := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn), pgdriver.WithConnParams(map[string]any{
		"search_path": "tickets",
	})))
	for _, other := range []*store.Store{openPool(t, pool), testdb.Open(t, dsn, &store.Config{Schema: "tickets"})} {
		is.NoErr(configured.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			inFlight, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}, Keys: claim("key")})
			is.NoErr(err)
			is.Equal(inFlight, []bool{false})
			return other.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
				inFlight, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}, Keys: claim("key")})
				is.Equal(inFlight, []bool{true})
				return err
			})
		}))
	}
}

// TestPoolsThatReadTextsOtherwise checks that a pool whose connections would read texts in another way than they are
// written is refused, with the reason.
func TestPoolsThatReadTextsOtherwise(t *testing.T) {
	t.Parallel()
	for setting, value := range map[string]string{"standard_conforming_strings": "off", "client_encoding": "LATIN1"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			config, err := pgx.ParseConfig(testdb.DSN(t))
			is.NoErr(err)
			config.RuntimeParams[setting] = value
			pool := stdlib.OpenDB(*config)
			defer pool.Close()
			_, err = store.OpenDB(t.Context(), bun.NewDB(pool, pgdialect.New()), nil)
			is.True(errors.Is(err, store.ErrUnsupported))
			is.True(strings.Contains(err.Error(), setting))
		})
	}
}

// TestCallersDeadline checks that the end of a caller's own deadline is reported as such, and not as an unavailable
// database.
func TestCallersDeadline(t *testing.T) {
	t.Parallel()
	for name, connect := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			pool := connect(t, testdb.DSN(t))
			s := openPool(t, pool)
			is.Equal(len(names(t, s)), 0)
			held, err := pool.BeginTx(t.Context(), nil)
			is.NoErr(err)
			_, err = held.ExecContext(t.Context(), "LOCK TABLE ticketing_secrets")
			is.NoErr(err)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err = s.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
				_, err := tx.SecretNames(ctx)
				return err
			})
			is.True(errors.Is(err, context.DeadlineExceeded))
			is.True(!errors.Is(err, driver.ErrUnavailable))
			is.NoErr(held.Rollback())
			is.Equal(len(names(t, s)), 0)
		})
	}
}

// spy is a host's hook that records the queries it is called with.
type spy struct {
	mu      sync.Mutex
	queries []string
}

func (s *spy) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries = append(s.queries, event.Query)
	return ctx
}

func (s *spy) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestHostsArgumentsAndHooks checks that a store uses only the connections of a host's pool. A text in the form of one
// of the host's named arguments is stored unchanged, and the host's hooks see no data of buyers.
func TestHostsArgumentsAndHooks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	pool := drivers()["pgdriver"](t, testdb.DSN(t))
	defer pool.Close()
	host := &spy{}
	db := bun.NewDB(pool, pgdialect.New()).WithNamedArg("company", "', '', 1, 1); DELETE FROM ticketing_buyers; --").
		WithQueryHook(host)
	s, err := store.OpenDB(t.Context(), db, nil)
	is.NoErr(err)
	furnish(t, s)
	buyer := driver.Buyer{
		CompanyID: company, Email: "?company", Fullname: "Ada ?company", Phone: "?0",
		CreatedAt: minute(1), UpdatedAt: minute(1),
	}
	written(t, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.PutBuyers(ctx, []driver.Buyer{buyer})
	})
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.Buyers(ctx, []driver.BuyerRef{{CompanyID: company, Email: buyer.Email}})
		is.Equal(found, []driver.Buyer{buyer})
		return err
	}))
	is.Equal(len(host.queries), 0)
}

// TestSwallowedErrorsDoom checks that an error which fn swallowed dooms the Update: the error of a statement that was
// refused, of one that was sent late, and one that PostgreSQL finds at the end. Update never returns nil if nothing was
// kept.
func TestSwallowedErrorsDoom(t *testing.T) {
	t.Parallel()
	again := func(ctx context.Context, tx driver.Tx) {
		_ = tx.CreateCompany(ctx, newCompany(company)) // It exists already.
	}
	for name, connect := range drivers() {
		for fault, fn := range map[string]func(ctx context.Context, tx driver.Tx) error{
			"sent late": func(ctx context.Context, tx driver.Tx) error {
				again(ctx, tx)
				return nil
			},
			"found by a read": func(ctx context.Context, tx driver.Tx) error {
				again(ctx, tx)
				_, _ = tx.SecretNames(ctx)
				return nil
			},
			"before another write": func(ctx context.Context, tx driver.Tx) error {
				again(ctx, tx)
				_, _ = tx.SecretNames(ctx)
				_ = tx.AppendSecretName(ctx, "after", minute(0))
				return nil
			},
			"a row that is not there": func(ctx context.Context, tx driver.Tx) error {
				_ = tx.UpdateCompany(ctx, newCompany(number(99)))
				return nil
			},
			"a text that cannot be kept": func(ctx context.Context, tx driver.Tx) error {
				_ = tx.AppendSecretName(ctx, "a\x00b", minute(0))
				return nil
			},
			"at the commit": func(ctx context.Context, tx driver.Tx) error {
				return tx.AppendSecretName(ctx, "deferred", minute(0))
			},
		} {
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				pool := connect(t, testdb.FreshDSN(t))
				s := openPool(t, pool)
				furnish(t, s)
				_, err := pool.ExecContext(t.Context(), `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
					$$ BEGIN RAISE check_violation USING CONSTRAINT = 'deferred_check'; END $$`)
				is.NoErr(err)
				_, err = pool.ExecContext(t.Context(), `CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON ticketing_secrets
					DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.name = 'deferred') EXECUTE FUNCTION refuse()`)
				is.NoErr(err)
				err = s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
					if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}}); err != nil {
						return err
					}
					if err := tx.AppendSecretName(ctx, "before", minute(0)); err != nil {
						return err
					}
					return fn(ctx, tx)
				})
				var broken *driver.ConstraintError
				switch fault {
				case "a row that is not there":
					is.True(errors.Is(err, driver.ErrNotFound))
				case "a text that cannot be kept":
					is.True(err != nil)
				default:
					is.True(errors.As(err, &broken))
				}
				is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
					names, err := tx.SecretNames(ctx)
					is.Equal(names, nil)
					return err
				}))
				// The connection remains usable.
				written(t, s, func(ctx context.Context, tx driver.Tx) error {
					return tx.AppendSecretName(ctx, "next", minute(0))
				})
			})
		}
	}
}
