package store_test

import (
	"bytes"
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
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store"
)

// patience bounds every wait of a test.
const patience = 60 * time.Second

// beside opens a pool of connections that bypasses the store.
func beside(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn), pgdriver.WithTimeout(patience)))
	tb.Cleanup(func() { is.New(tb).NoErr(db.Close()) })
	return db
}

// until returns when a query returns true.
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
	waitsForLock = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' " +
		"AND application_name = 'ticketing'" +
		" AND datname = current_database()"
	waitsForStandby = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
)

// named inserts a name among the secret keys. It stands for any change.
func named(s *store.Store, name string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendSecretName(ctx, name, minute(0))
		})
	}
}

// names returns the names that are stored.
func names(tb testing.TB, s *store.Store) (kept []string) {
	tb.Helper()
	is.New(tb).NoErr(s.View(tb.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
		kept, err = tx.SecretNames(ctx)
		return err
	}))
	return kept
}

// TestCommitWaitsForStandby checks that a COMMIT which waits for a synchronous standby is not acknowledged before the
// standby has it. The statement timeout must not stop it, since PostgreSQL would then report success.
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
			// Its backend has not read the new setting yet. Or, on a busy machine, a statement before the COMMIT took
			// longer than the bound.
			t.Log("begin again:", err)
			waits = false
			begin()
		default:
		}
	}
	// Longer than the bound.
	_, err := db.ExecContext(t.Context(), "SET synchronous_commit TO local; SELECT pg_sleep(0.5)")
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

// TestConnectionThatIsSlowToMake checks that a connection that takes longer to open than a call may wait for its locks
// is not an unavailable database. The call is busy and may be made again, and one with more patience waits for the
// connection.
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
		return s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}, LockTimeout: patience})
			return err
		})
	}
	is.NoErr(enter(0)) // The schema is checked by now.
	for range 20 {
		err := enter(short)
		is.True(errors.Is(err, driver.ErrBusy))
		is.True(!errors.Is(err, driver.ErrUnavailable))
	}
	is.NoErr(enter(0))
}

// TestReadOnlyStandby checks that a standby serves reads, among them a verification of the books, and that a write on
// it finds the database unavailable. Once it is promoted, the same store writes.
func TestReadOnlyStandby(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	primary := pgtest.Start(t)
	first := testdb.Open(t, primary.DSN("postgres"), nil)
	is.NoErr(first.Migrate(t.Context()))
	keys := &ticketing.Config{SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}}
	svc, err := ticketing.New(first, keys)
	is.NoErr(err)
	sells, err := svc.As(ticketing.Staff("primary")).CreateCompany(t.Context(), "Lagos Live")
	is.NoErr(err)
	standby := primary.Standby(t)
	s := testdb.Open(t, standby.DSN("postgres"), nil)
	for range 3 {
		err := named(s, "kept")(t.Context())
		is.True(errors.Is(err, driver.ErrUnavailable))
		is.Equal(len(names(t, s)), 0)
	}
	svc, err = ticketing.New(s, keys)
	is.NoErr(err)
	report, err := svc.As(ticketing.Staff("standby")).VerifyLedger(t.Context(), sells.ID)
	is.NoErr(err)
	is.True(report.OK)
	primary.Kill()
	standby.Promote()
	is.NoErr(named(s, "kept")(t.Context()))
	is.Equal(names(t, s), []string{"kept"})
	is.Equal(s.Pool().Stats().InUse, 0)
}

// TestReadOnlyConnectionIsGivenUp checks that a connection to a primary that became a standby is discarded: the next
// one may lead to the new primary.
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

// TestStoppedClient checks that a client that stops in the middle of a transaction loses its locks in time. When it
// continues, it begins again.
func TestStoppedClient(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.DSN(t)
	stopped, other := testdb.Open(t, dsn, nil), testdb.Open(t, dsn, nil)
	const idle = 200 * time.Millisecond
	stopped.SetLimits(patience, idle)
	closed := driver.BeginOptions{Exclusive: []uuid.UUID{company}, Keys: claim("key")}
	runs := 0
	is.NoErr(stopped.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		runs++
		inFlight, err := tx.Begin(ctx, closed)
		if err != nil {
			return err
		}
		is.Equal(inFlight, []bool{false})
		if runs == 1 {
			is.NoErr(other.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.Begin(ctx, closed)
				return err
			}))
		}
		return tx.AppendSecretName(ctx, "kept", minute(0))
	}))
	is.Equal(runs, 2)
	is.Equal(names(t, other), []string{"kept"})
	is.Equal(stopped.Pool().Stats().InUse, 0)
}

func claim(key string) []driver.IdempotencyKey {
	return []driver.IdempotencyKey{{CompanyID: company, Operation: "checkouts.create", Key: key}}
}

// TestClaimOfLostConnection checks that the key of a lost connection is not taken for another caller's while the
// database still works for that connection. The call waits until the database has noticed, as for a lock. Otherwise the
// database is unavailable.
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

	sell := func(ctx context.Context, tx driver.Tx) error {
		inFlight, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}, Keys: claim("key")})
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
	// Busy if the database noticed in time: then the call waited for the wallet's lock again.
	err = <-answered
	is.True(errors.Is(err, driver.ErrUnavailable) || errors.Is(err, driver.ErrBusy))
	is.NoErr(held.Rollback())
	until(t, db, "SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory' AND database ="+
		" (SELECT oid FROM pg_database WHERE datname = current_database())")
	is.NoErr(s.Update(t.Context(), sell))
	is.Equal(s.Pool().Stats().InUse, 0)
}

func wallets(kinds ...ledger.Wallet) (refs []driver.WalletRef) {
	for _, kind := range kinds {
		refs = append(refs, driver.WalletRef{CompanyID: company, Wallet: kind})
	}
	return refs
}

// TestDeadlock checks that two transactions that wait for each other, against the lock order, both succeed: one runs
// again.
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
		return update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
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
	// One of them ran again. It may have taken its first row before the other woke up, and met it once more.
	is.True(runs.Load() >= 3 && runs.Load() <= 5)
	is.Equal(s.Pool().Stats().InUse, 0)
}

// TestSerialisationFailure checks that a failure which PostgreSQL asks to retry is retried, whether it comes with a
// write or with the COMMIT. One that persists is ErrBusy, after a bounded number of runs.
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
		{name: "for ever", failures: 100, want: driver.ErrBusy, runs: 5},
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
			err = update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
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

// TestNothingFree checks that a lock that takes too long is ErrBusy, and so is a pool without a free connection, after
// the lock timeout. A statement that takes too long, or a server without a free connection, is ErrUnavailable. Nothing
// is kept, nothing is leaked, and the next call succeeds.
func TestNothingFree(t *testing.T) {
	t.Parallel()
	const short = time.Second // Opening the store takes less, on a busy machine, too.
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
		{name: "a lock", config: store.Config{BusyTimeout: short}, take: lock, want: driver.ErrBusy},
		{
			name: "a statement's time", want: driver.ErrUnavailable,
			take: func(t *testing.T, s *store.Store, dsn string) func() {
				t.Helper()
				s.SetLimits(short, patience)
				return lock(t, s, dsn)
			},
		},
		{
			name: "a connection of the pool", config: store.Config{BusyTimeout: short, Connections: 1},
			take: lock, want: driver.ErrBusy,
		},
		{
			name: "a connection of the server", server: []string{"max_connections=6"}, want: driver.ErrUnavailable,
			take: func(t *testing.T, s *store.Store, dsn string) func() {
				t.Helper()
				s.Pool().SetMaxIdleConns(0) // Close the idle ones.
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
							// The server frees a connection when its process has ended, which is after the client's
							// close.
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

// TestPatienceForConnection checks that a call with little patience waits no longer for a connection of the pool than
// for a lock.
func TestPatienceForConnection(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := testdb.Open(t, testdb.DSN(t), &store.Config{Connections: 1, BusyTimeout: patience})
	is.Equal(len(names(t, s)), 0)
	held, err := s.Pool().Conn(t.Context())
	is.NoErr(err)
	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	err = s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		_, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}, LockTimeout: 50 * time.Millisecond})
		return err
	})
	// And not the end of the caller's deadline.
	is.True(errors.Is(err, driver.ErrBusy))
	is.NoErr(held.Close())
}

// TestExclusiveAmongSlowSharers checks that an Update which takes a company's gate exclusively gets it while slow
// sharers come and go all the time. Each sharer stays longer than the first wait of that Update.
func TestExclusiveAmongSlowSharers(t *testing.T) {
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
				err := s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
					_, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}})
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
	err := s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		_, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}})
		return err
	})
	cancel()
	all.Wait()
	is.NoErr(err)
}
