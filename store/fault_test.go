package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store"
)

// patience is how long anything that a test waits for may take.
const patience = 60 * time.Second

// beside is a pool of connections that goes around the store.
func beside(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn), pgdriver.WithTimeout(patience)))
	tb.Cleanup(func() { is.New(tb).NoErr(db.Close()) })
	return db
}

// until returns when a query answers true.
func until(tb testing.TB, db *sql.DB, query string) {
	tb.Helper()
	const pause = 5 * time.Millisecond
	for begun := time.Now(); ; <-time.NewTimer(pause).C {
		var holds bool
		if err := db.QueryRowContext(tb.Context(), query).Scan(&holds); err != nil {
			tb.Fatal(err)
		}
		if holds {
			return
		}
		if time.Since(begun) > patience {
			tb.Fatalf("it never came to be so: %s", query)
		}
	}
}

const (
	waitsForLock = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'ticketing'" +
		" AND datname = current_database()"
	waitsForStandby = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
)

// named keeps a name among the secrets, which stands for any change.
func named(s *store.Store, name string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
			return tx.AppendSecretName(ctx, name, minute(0))
		})
	}
}

// names are those that are kept.
func names(tb testing.TB, s *store.Store) (kept []string) {
	tb.Helper()
	is.New(tb).NoErr(s.View(tb.Context(), func(ctx context.Context, tx ticketing.ReadTx) (err error) {
		kept, err = tx.SecretNames(ctx)
		return err
	}))
	return kept
}

// A COMMIT that waits for a synchronous standby is not acknowledged before the standby has it: a statement's time does
// not stop it, which PostgreSQL would answer as if all were well.
func TestCommitWaitsForStandby(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t)
	s := testdb.Open(t, server.DSN("postgres"), nil)
	is.NoErr(s.Migrate(t.Context()))
	const bound = 200 * time.Millisecond
	s.SetLimits(bound, patience)
	db := beside(t, server.DSN("postgres"))
	setStandbys(t, db, "nobody")

	answered := make(chan error, 1)
	tries := 0
	begin := func() {
		tries++
		go func(name string) { answered <- named(s, name)(t.Context()) }(fmt.Sprint("kept-", tries))
	}
	begin()
	for waits, late := false, time.Now().Add(patience); !waits; {
		is.True(time.Now().Before(late))
		is.NoErr(db.QueryRowContext(t.Context(), "SELECT ("+waitsForStandby+") FROM pg_sleep(0.005)").Scan(&waits))
		select {
		case err := <-answered:
			// Its backend has not read the new setting yet; or, on a busy machine, a statement before the COMMIT took longer
			// than the bound.
			t.Log("begin again:", err)
			waits = false
			begin()
		default:
		}
	}
	_, err := db.ExecContext(t.Context(), "SET synchronous_commit TO local; SELECT pg_sleep(0.5)") // Past the bound.
	is.NoErr(err)
	select {
	case err := <-answered:
		t.Fatalf("acknowledged without the standby: %v", err)
	default:
	}
	setStandbys(t, db, "")
	is.NoErr(<-answered)
}

func setStandbys(tb testing.TB, db *sql.DB, standbys string) {
	tb.Helper()
	for _, statement := range []string{
		"ALTER SYSTEM SET synchronous_standby_names TO '" + standbys + "'", "SELECT pg_reload_conf()",
	} {
		_, err := db.ExecContext(tb.Context(), statement)
		is.New(tb).NoErr(err)
	}
	until(tb, db, "SELECT current_setting('synchronous_standby_names') = '"+standbys+"'")
}

// A connection that takes longer to make than a call may wait for its locks is no database that is away: the call is
// told to come again, and one with patience waits for it.
func TestConnectionThatIsSlowToMake(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	_, rest, _ := strings.Cut(dsn, "@")
	addr, _, _ := strings.Cut(rest, "/")
	proxy := faultproxy.New(t, addr)
	s := testdb.Open(t, strings.Replace(dsn, addr, proxy.Addr(), 1), nil)
	is.NoErr(s.Migrate(t.Context()))
	const slow, short = 100 * time.Millisecond, 20 * time.Millisecond
	proxy.OnMessage(func(m faultproxy.Message) faultproxy.Action {
		if m.Backend && m.Type == 'R' {
			<-time.NewTimer(slow).C
		}
		return faultproxy.Pass
	})
	enter := func(patience time.Duration) error {
		proxy.Cut()
		return s.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
			_, err := tx.Enter(ctx, ticketing.Entrance{Close: []uuid.UUID{company}, Patience: patience})
			return err
		})
	}
	is.NoErr(enter(0)) // The tables are known.
	for range 20 {
		err := enter(short)
		is.True(errors.Is(err, ticketing.ErrBusy))
		is.True(!errors.Is(err, ticketing.ErrUnavailable))
	}
	is.NoErr(enter(0))
}

// A standby answers reads, and refuses a write as a database that is away. Once it is promoted the same store writes.
func TestReadOnlyStandby(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	primary := pgtest.Start(t)
	first := testdb.Open(t, primary.DSN("postgres"), nil)
	is.NoErr(first.Migrate(t.Context()))
	standby := primary.Standby(t)
	s := testdb.Open(t, standby.DSN("postgres"), nil)
	for range 3 {
		err := named(s, "kept")(t.Context())
		is.True(errors.Is(err, ticketing.ErrUnavailable))
		is.Equal(len(names(t, s)), 0)
	}
	primary.Kill()
	standby.Promote()
	is.NoErr(named(s, "kept")(t.Context()))
	is.Equal(names(t, s), []string{"kept"})
	is.Equal(s.Pool().Stats().InUse, 0)
}

// A connection to a primary that became a standby is given up: the next one may lead to the new primary.
func TestReadOnlyConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := testdb.Open(t, testdb.DSN(t), &store.Config{Connections: 1})
	backend := func() (id int) {
		is.NoErr(s.Pool().QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&id))
		return id
	}
	is.NoErr(named(s, "first")(t.Context()))
	before := backend()
	_, err := s.Pool().ExecContext(t.Context(), "SET default_transaction_read_only TO on")
	is.NoErr(err)
	is.NoErr(named(s, "second")(t.Context()))
	is.True(backend() != before)
	is.Equal(names(t, s), []string{"first", "second"})
}

// A client that stops in the middle of a transaction loses its locks in time. When it goes on, it begins again.
func TestStoppedClient(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.DSN(t)
	stopped, other := testdb.Open(t, dsn, nil), testdb.Open(t, dsn, nil)
	const idle = 200 * time.Millisecond
	stopped.SetLimits(patience, idle)
	closed := ticketing.Entrance{Close: []uuid.UUID{company}, Claim: claim("key")}
	runs := 0
	is.NoErr(stopped.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
		runs++
		inFlight, err := tx.Enter(ctx, closed)
		if err != nil {
			return err
		}
		is.Equal(inFlight, []bool{false})
		if runs == 1 {
			is.NoErr(other.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
				_, err := tx.Enter(ctx, closed)
				return err
			}))
		}
		return tx.AppendSecretName(ctx, "kept", minute(0))
	}))
	is.Equal(runs, 2)
	is.Equal(names(t, other), []string{"kept"})
	is.Equal(stopped.Pool().Stats().InUse, 0)
}

func claim(key string) []ticketing.ResultRef {
	return []ticketing.ResultRef{{CompanyID: company, Operation: "checkouts.create", Key: key}}
}

// Where a connection is lost while the database still works for it, the key that it claimed is not taken for somebody
// else's: the call waits until it has noticed, as for a lock, and else the answer is that the database is away.
func TestClaimOfLostConnection(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.DSN(t)
	_, rest, _ := strings.Cut(dsn, "@")
	addr, _, _ := strings.Cut(rest, "/")
	proxy := faultproxy.New(t, addr)
	s := testdb.Open(t, strings.Replace(dsn, addr, proxy.Addr(), 1), &store.Config{BusyTimeout: time.Second})
	furnish(t, s)
	db := beside(t, dsn)
	held, err := db.BeginTx(t.Context(), nil)
	is.NoErr(err)
	_, err = held.ExecContext(t.Context(), "SELECT 1 FROM ticketing_wallets FOR UPDATE")
	is.NoErr(err)

	sell := func(ctx context.Context, tx ticketing.Tx) error {
		inFlight, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{company}, Claim: claim("key")})
		if err != nil {
			return err
		}
		if inFlight[0] {
			return errors.New("the claim is somebody else's")
		}
		_, err = tx.LockWallets(ctx, wallets(ledger.Float))
		return err
	}
	answered := make(chan error, 1)
	go func() { answered <- s.Update(t.Context(), sell) }()
	until(t, db, waitsForLock)
	proxy.Cut()
	err = <-answered // Busy where it was noticed in time: then the wallet's lock was waited for again.
	is.True(errors.Is(err, ticketing.ErrUnavailable) || errors.Is(err, ticketing.ErrBusy))
	is.NoErr(held.Rollback())
	until(t, db, "SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory' AND database ="+
		" (SELECT oid FROM pg_database WHERE datname = current_database())")
	is.NoErr(s.Update(t.Context(), sell))
	is.Equal(s.Pool().Stats().InUse, 0)
}

func wallets(kinds ...ledger.Wallet) (refs []ticketing.WalletRef) {
	for _, kind := range kinds {
		refs = append(refs, ticketing.WalletRef{CompanyID: company, Wallet: kind})
	}
	return refs
}

// Two transactions that wait for each other, against the order of locks, both succeed: one runs again.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := testdb.Open(t, testdb.DSN(t), nil)
	furnish(t, s)
	var both sync.WaitGroup
	both.Add(2)
	var runs atomic.Int64
	cross := func(first, second ledger.Wallet) error {
		waited := false
		return update(t.Context(), s, func(ctx context.Context, tx ticketing.Tx) error {
			runs.Add(1)
			if _, err := tx.LockWallets(ctx, wallets(first)); err != nil {
				return err
			}
			if !waited {
				waited = true
				both.Done()
				both.Wait()
			}
			_, err := tx.LockWallets(ctx, wallets(second))
			return err
		})
	}
	other := make(chan error, 1)
	go func() { other <- cross(ledger.Earnings, ledger.Float) }()
	is.NoErr(cross(ledger.Float, ledger.Earnings))
	is.NoErr(<-other)
	is.Equal(runs.Load(), int64(3))
	is.Equal(s.Pool().Stats().InUse, 0)
}

// A failure that PostgreSQL asks to try again is tried again, wherever it comes: with a write, or with the COMMIT. One
// that stays is ErrBusy, after a bounded number of runs.
func TestSerialisationFailure(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, when string
		failures   int
		want       error
		runs       int
	}{
		{name: "once, at a write", failures: 1, runs: 2},
		{name: "once, at the commit", when: "DEFERRABLE INITIALLY DEFERRED", failures: 1, runs: 2},
		{name: "for ever", failures: 100, want: ticketing.ErrBusy, runs: 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			s := testdb.Open(t, testdb.FreshDSN(t), nil)
			_, err := s.Pool().ExecContext(t.Context(), fmt.Sprintf(`CREATE SEQUENCE failures;
				CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					IF nextval('failures') <= %d THEN RAISE 'again' USING ERRCODE = '40001'; END IF;
					RETURN NULL;
				END $$;
				CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON ticketing_secrets %s FOR EACH ROW EXECUTE FUNCTION fail()`,
				test.failures, test.when))
			is.NoErr(err)
			runs := 0
			err = update(t.Context(), s, func(ctx context.Context, tx ticketing.Tx) error {
				runs++
				return tx.AppendSecretName(ctx, "kept", minute(0))
			})
			is.True(errors.Is(err, test.want))
			is.Equal(runs, test.runs)
			is.Equal(len(names(t, s)) == 1, err == nil)
			is.Equal(s.Pool().Stats().InUse, 0)
		})
	}
}

// A lock that takes too long is ErrBusy, and so is a pool without a free connection, for as long as the call has patience.
// A statement that takes too long, or a server without a connection, is ErrUnavailable. Nothing is kept, nothing is left,
// and the next call goes through.
func TestNothingFree(t *testing.T) {
	t.Parallel()
	const short = 100 * time.Millisecond
	lock := func(t *testing.T, s *store.Store, _ string) func() {
		t.Helper()
		held, err := s.Pool().BeginTx(t.Context(), nil)
		is.New(t).NoErr(err)
		_, err = held.ExecContext(t.Context(), "LOCK TABLE ticketing_secrets")
		is.New(t).NoErr(err)
		return func() { is.New(t).NoErr(held.Rollback()) }
	}
	for _, test := range []struct {
		name   string
		config store.Config
		take   func(t *testing.T, s *store.Store, dsn string) (release func())
		server []string
		want   error
	}{
		{name: "a lock", config: store.Config{BusyTimeout: short}, take: lock, want: ticketing.ErrBusy},
		{
			name: "a statement's time", want: ticketing.ErrUnavailable,
			take: func(t *testing.T, s *store.Store, dsn string) func() {
				t.Helper()
				s.SetLimits(short, patience)
				return lock(t, s, dsn)
			},
		},
		{
			name: "a connection of the pool", config: store.Config{BusyTimeout: short, Connections: 1},
			take: lock, want: ticketing.ErrBusy,
		},
		{
			name: "a connection of the server", server: []string{"max_connections=6"}, want: ticketing.ErrUnavailable,
			take: func(t *testing.T, s *store.Store, dsn string) func() {
				t.Helper()
				s.Pool().SetMaxIdleConns(0) // Close those it has.
				var taken []*sql.Conn
				db := beside(t, dsn)
				for {
					conn, err := db.Conn(t.Context())
					if err != nil {
						return func() {
							is := is.New(t)
							db.SetMaxIdleConns(-1)
							for _, conn := range taken[1:] {
								is.NoErr(conn.Close())
							}
							// The server has a connection back when its process has ended, after the client's end.
							for open := 0; open != 1; {
								is.NoErr(taken[0].QueryRowContext(t.Context(),
									"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'").Scan(&open))
							}
							is.NoErr(taken[0].Close())
						}
					}
					taken = append(taken, conn)
				}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var dsn string
			if test.server == nil {
				dsn = testdb.DSN(t)
			} else {
				dsn = pgtest.Start(t, test.server...).DSN("postgres")
			}
			s := testdb.Open(t, dsn, &test.config)
			is.NoErr(s.Migrate(t.Context()))
			is.NoErr(named(s, "first")(t.Context()))
			release := test.take(t, s, dsn)
			const callers = 4
			answers := make(chan error, callers)
			for n := range callers {
				go func() { answers <- named(s, fmt.Sprintf("refused-%d", n))(t.Context()) }()
			}
			for range callers {
				err := <-answers
				is.True(errors.Is(err, test.want))
			}
			release()
			is.NoErr(named(s, "second")(t.Context()))
			is.Equal(names(t, s), []string{"first", "second"})
			is.Equal(s.Pool().Stats().InUse, 0)
		})
	}
}

// A call that has little patience waits no longer for a connection of the pool than for a lock.
func TestPatienceForConnection(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := testdb.Open(t, testdb.DSN(t), &store.Config{Connections: 1, BusyTimeout: patience})
	is.Equal(len(names(t, s)), 0)
	held, err := s.Pool().Conn(t.Context())
	is.NoErr(err)
	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	err = s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		_, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{company}, Patience: 50 * time.Millisecond})
		return err
	})
	is.True(errors.Is(err, ticketing.ErrBusy)) // And not the end of the caller's time.
	is.NoErr(held.Close())
}

// Whoever closes a company's gate gets it while slow sharers come and go all the time, each longer in than a closer waits
// at first.
func TestCloserAmongSlowSharers(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const sharers, shortest, spread = 8, 200 * time.Millisecond, 40 * time.Millisecond
	s := testdb.Open(t, testdb.DSN(t), &store.Config{Connections: sharers + 2, BusyTimeout: 4 * time.Second})
	is.Equal(len(names(t, s)), 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var in, all sync.WaitGroup
	in.Add(sharers)
	for i := range sharers {
		first := sync.OnceFunc(in.Done)
		all.Go(func() {
			for ctx.Err() == nil {
				err := s.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
					_, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{company}})
					first()
					<-time.NewTimer(shortest + time.Duration(i)*spread).C // The work of a slow database.
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	in.Wait()
	err := s.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
		_, err := tx.Enter(ctx, ticketing.Entrance{Close: []uuid.UUID{company}})
		return err
	})
	cancel()
	all.Wait()
	is.NoErr(err)
}
