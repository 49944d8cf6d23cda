package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
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

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// drivers make pools of a host's: of Bun's own driver, and of pgx as it goes through a pooler.
func drivers() map[string]func(tb testing.TB, dsn string) *sql.DB {
	return map[string]func(tb testing.TB, dsn string) *sql.DB{
		"pgdriver": func(_ testing.TB, dsn string) *sql.DB {
			return sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
		},
		"pgx": func(tb testing.TB, dsn string) *sql.DB {
			tb.Helper()
			config, err := pgx.ParseConfig(dsn)
			is.New(tb).NoErr(err)
			config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
			return stdlib.OpenDB(*config)
		},
	}
}

// openPool opens a store over a pool of a host's.
func openPool(tb testing.TB, pool *sql.DB) *store.Store {
	tb.Helper()
	is := is.New(tb)
	pool.SetMaxOpenConns(8)
	tb.Cleanup(func() { is.NoErr(pool.Close()) })
	s, err := store.OpenDB(tb.Context(), bun.NewDB(pool, pgdialect.New()), nil)
	is.NoErr(err)
	return s
}

// The store keeps every promise over a host's pool, whatever its driver.
func TestHostsPool(t *testing.T) {
	t.Parallel()
	for name, driver := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variant(t, func(t *testing.T) ticketing.Store {
				t.Helper()
				return openPool(t, driver(t, testdb.DSN(t)))
			})
		})
	}
}

// The tables are in the schema that the configuration names, for reads, too, whatever the driver; and a read that takes
// longer than a statement may is ended.
func TestHostsPoolInSchema(t *testing.T) {
	t.Parallel()
	for name, driver := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			pool := driver(t, pgtest.Database(t))
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
			err = s.View(t.Context(), func(ctx context.Context, tx ticketing.ReadTx) error {
				_, err := tx.SecretNames(ctx)
				return err
			})
			is.True(errors.Is(err, ticketing.ErrUnavailable))
			is.NoErr(held.Rollback())
			is.Equal(names(t, s), []string{"kept"})
			is.Equal(pool.Stats().InUse, 0)
		})
	}
}

// alternating makes connections by several connectors in turn.
type alternating struct {
	*pgdriver.Connector

	other *pgdriver.Connector
	turn  atomic.Int64
}

func (a *alternating) Connect(ctx context.Context) (driver.Conn, error) {
	if a.turn.Add(1)%2 == 0 {
		return a.other.Connect(ctx)
	}
	return a.Connector.Connect(ctx)
}

// A database that is migrated for some connections and not for others is told of, and not migrated for ever.
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
	pools.turn.Store(0) // The first look finds nothing, the transaction that is to migrate all.
	is.True(errors.Is(s.Migrate(t.Context()), store.ErrSchema))
}

// Processes that name the schema of the same tables in different ways meet at its gates and claims.
func TestSchemaByAnyWay(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Database(t)
	configured := testdb.Open(t, dsn, &store.Config{Schema: "tickets"}) // Which makes the schema, later.
	is.NoErr(configured.Migrate(t.Context()))
	pool := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn), pgdriver.WithConnParams(map[string]any{
		"search_path": "tickets",
	})))
	for _, other := range []*store.Store{openPool(t, pool), testdb.Open(t, dsn, &store.Config{Schema: "tickets"})} {
		is.NoErr(configured.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
			inFlight, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{company}, Claim: claim("key")})
			is.NoErr(err)
			is.Equal(inFlight, []bool{false})
			return other.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
				inFlight, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{company}, Claim: claim("key")})
				is.Equal(inFlight, []bool{true})
				return err
			})
		}))
	}
}

// A pool whose connections would read texts in another way than they are written is refused, with a word on why.
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

// The end of a caller's own time is told as that, and not as a database that is away.
func TestCallersDeadline(t *testing.T) {
	t.Parallel()
	for name, driver := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			pool := driver(t, testdb.DSN(t))
			s := openPool(t, pool)
			is.Equal(len(names(t, s)), 0)
			held, err := pool.BeginTx(t.Context(), nil)
			is.NoErr(err)
			_, err = held.ExecContext(t.Context(), "LOCK TABLE ticketing_secrets")
			is.NoErr(err)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err = s.View(ctx, func(ctx context.Context, tx ticketing.ReadTx) error {
				_, err := tx.SecretNames(ctx)
				return err
			})
			is.True(errors.Is(err, context.DeadlineExceeded))
			is.True(!errors.Is(err, ticketing.ErrUnavailable))
			is.NoErr(held.Rollback())
			is.Equal(len(names(t, s)), 0)
		})
	}
}

// spy is a hook of a host's that keeps what it is told.
type spy struct {
	mu   sync.Mutex
	told []string
}

func (s *spy) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, event.Query)
	return ctx
}

func (s *spy) AfterQuery(context.Context, *bun.QueryEvent) {}

// Of a host's pool nothing counts but its connections: a text that has the form of one of the host's named arguments is
// kept as it is, and the host's hooks are told of no buyer.
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
	buyer := ticketing.BuyerRecord{
		CompanyID: company, Email: "?company", Fullname: "Ada ?company", Phone: "?0", CreatedAt: minute(1), UpdatedAt: minute(1),
	}
	written(t, s, func(ctx context.Context, tx ticketing.Tx) error {
		return tx.PutBuyers(ctx, []ticketing.BuyerRecord{buyer})
	})
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx ticketing.ReadTx) error {
		found, err := tx.Buyers(ctx, []ticketing.BuyerRef{{CompanyID: company, Email: buyer.Email}})
		is.Equal(found, []ticketing.BuyerRecord{buyer})
		return err
	}))
	is.Equal(len(host.told), 0)
}

// An error that fn swallowed dooms the Update: of a statement that was refused, of one that was sent late, and of what
// PostgreSQL finds out at the end. Never does Update return nil where nothing was kept.
func TestSwallowedErrorsDoom(t *testing.T) {
	t.Parallel()
	again := func(ctx context.Context, tx ticketing.Tx) {
		_ = tx.CreateCompany(ctx, companyRecord(company)) // There is one.
	}
	for name, driver := range drivers() {
		for fault, fn := range map[string]func(ctx context.Context, tx ticketing.Tx) error{
			"sent late": func(ctx context.Context, tx ticketing.Tx) error {
				again(ctx, tx)
				return nil
			},
			"found by a read": func(ctx context.Context, tx ticketing.Tx) error {
				again(ctx, tx)
				_, _ = tx.SecretNames(ctx)
				return nil
			},
			"before another write": func(ctx context.Context, tx ticketing.Tx) error {
				again(ctx, tx)
				_, _ = tx.SecretNames(ctx)
				_ = tx.AppendSecretName(ctx, "after", minute(0))
				return nil
			},
			"a row that is not there": func(ctx context.Context, tx ticketing.Tx) error {
				_ = tx.UpdateCompany(ctx, companyRecord(number(99)))
				return nil
			},
			"a text that cannot be kept": func(ctx context.Context, tx ticketing.Tx) error {
				_ = tx.AppendSecretName(ctx, "a\x00b", minute(0))
				return nil
			},
			"at the commit": func(ctx context.Context, tx ticketing.Tx) error {
				return tx.AppendSecretName(ctx, "deferred", minute(0))
			},
		} {
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				pool := driver(t, testdb.FreshDSN(t))
				s := openPool(t, pool)
				furnish(t, s)
				_, err := pool.ExecContext(t.Context(), `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
					$$ BEGIN RAISE check_violation USING CONSTRAINT = 'deferred_check'; END $$`)
				is.NoErr(err)
				_, err = pool.ExecContext(t.Context(), `CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON ticketing_secrets
					DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.name = 'deferred') EXECUTE FUNCTION refuse()`)
				is.NoErr(err)
				err = s.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
					if _, err := tx.Enter(ctx, ticketing.Entrance{Close: []uuid.UUID{company}}); err != nil {
						return err
					}
					if err := tx.AppendSecretName(ctx, "before", minute(0)); err != nil {
						return err
					}
					return fn(ctx, tx)
				})
				var broken *ticketing.ConstraintError
				switch fault {
				case "a row that is not there":
					is.True(errors.Is(err, ticketing.ErrNotFound))
				case "a text that cannot be kept":
					is.True(err != nil)
				default:
					is.True(errors.As(err, &broken))
				}
				is.NoErr(s.View(t.Context(), func(ctx context.Context, tx ticketing.ReadTx) error {
					names, err := tx.SecretNames(ctx)
					is.Equal(names, nil)
					return err
				}))
				written(t, s, func(ctx context.Context, tx ticketing.Tx) error { // The connection is good for more.
					return tx.AppendSecretName(ctx, "next", minute(0))
				})
			})
		}
	}
}
