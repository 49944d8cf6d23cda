package main_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// onPostgres returns a shell on an empty database of PostgreSQL, with a secret key.
func onPostgres(t *testing.T) *shell {
	t.Helper()
	return newShell(t).with("TICKETING_DATABASE", pgtest.Database(t), "TICKETING_SECRET_KEY", strings.Repeat("ab", 32))
}

// postgres opens the shell's database directly, for statements that no command runs.
func (s *shell) postgres() *sql.DB {
	s.t.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(s.env["TICKETING_DATABASE"])))
	s.t.Cleanup(func() { _ = db.Close() })
	return db
}

// A company sells on PostgreSQL as on SQLite, with several servers on one database. What one server sells, the other
// shows. A retry on the other server returns the same order, and the books agree.
func TestServersShareOneDatabase(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := onPostgres(t)
	shop := sh.openShop()
	p, first := sh.serve("--connections", "3")
	_, second := sh.serve("--group-calls", "1", "--no-migrate")
	status, sold := send(t, http.MethodPost, first+prefix+"/checkouts", shop.key, "cart-0001", shop.checkout())
	is.Equal(status, http.StatusCreated)
	status, again := send(t, http.MethodPost, second+prefix+"/checkouts", shop.key, "cart-0001", shop.checkout())
	is.Equal(status, http.StatusCreated)
	order, _, _ := strings.Cut(sold, `,"meta":`)
	is.True(strings.HasPrefix(again, order))
	for _, origin := range []string{first, second} {
		status, _ := get(t, origin+"/readyz")
		is.Equal(status, http.StatusOK)
	}

	_, answer := get(t, first+"/metrics")
	for _, want := range []string{
		`ticketing_group_calls_bucket{operation="checkouts.create",le="1"} 1`,
		`ticketing_group_duration_seconds_count{operation="authenticate"} 1`,
		`ticketing_group_failures_total{operation="admissions.validate"} 0`,
		`ticketing_group_queue_full_total{operation="checkouts.create"} 0`,
		"ticketing_database_connections_max 3\n", "ticketing_database_connections_in_use ",
		"ticketing_database_connections_idle ", "ticketing_database_connection_waits_total ",
	} {
		if !strings.Contains(answer, want) {
			t.Errorf("%q is missing in\n%s", want, answer)
		}
	}
	_, answer = get(t, second+"/metrics")
	is.True(!strings.Contains(answer, "ticketing_group_calls_count")) // Each call has its own transaction.

	sh.object("key", "revoke", strings.Split(shop.key, ".")[1])
	for _, origin := range []string{first, second} {
		status, _ := get(t, origin+prefix+"/events")
		is.Equal(status, http.StatusUnauthorized)
	}
	is.Equal(sh.object("ledger", "verify")["ok"], true)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
}

// Several servers that start at once on an empty database all serve.
func TestServersStartAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := onPostgres(t)
	code, _ := sh.refusal("serve", "--addr", "127.0.0.1:0", "--no-migrate")
	is.Equal(code, "NOT_MIGRATED")
	starting := []*process{}
	for range 3 {
		starting = append(starting, sh.start("serve", "--addr", "127.0.0.1:0"))
	}
	for _, p := range starting {
		status, _ := get(t, p.listening()+"/readyz")
		is.Equal(status, http.StatusOK)
	}
	is.Equal(len(sh.object("migrate")["applied"].([]any)), 0)
}

// With PostgreSQL the program cannot keep a key that it generated. So the key must be given, and it must be that of the
// database.
func TestSecretKeyOnPostgres(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := onPostgres(t)
	for _, args := range [][]string{{"company", "list"}, {"migrate"}, {"serve", "--addr", "127.0.0.1:0"}} {
		code, message := sh.with("TICKETING_SECRET_KEY", "").refusal(args...)
		is.Equal(code, "SECRET_KEY")
		is.True(strings.Contains(message, "openssl rand -hex 32"))
	}
	all, err := os.ReadDir("../../store/migrations/postgres")
	must(t, err)
	is.Equal(len(sh.object("migrate")["applied"].([]any)), len(all)) // Nothing was written before the key was given.
	for _, args := range [][]string{{"company", "list"}, {"migrate"}, {"serve", "--addr", "127.0.0.1:0"}} {
		code, message := sh.with("TICKETING_SECRET_KEY", strings.Repeat("cd", 32)).refusal(args...)
		is.Equal(code, "SECRET_KEY")
		is.True(strings.Contains(message, "do not belong to this database"))
	}
	is.Equal(len(sh.array("company", "list")), 0)
}

// A database without Citus is not distributed. The error says what it lacks.
func TestDistributeWithoutCitus(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	code, message := onPostgres(t).refusal("migrate", "--distribute", "citus")
	is.Equal(code, "NOT_DISTRIBUTABLE")
	is.True(strings.Contains(message, "CREATE EXTENSION citus"))
}

// Every problem with the URL of a database, or with its server, is reported in words that help and with a code for
// scripts. The message contains no password, no SQL and no text of a driver.
func TestPostgresThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	// The server's own user must be able to read the file.
	hba, err := os.CreateTemp("", "ticketing-hba-*") //nolint:usetesting // The folder of a test is closed to others.
	is.NoErr(err)
	t.Cleanup(func() { _ = os.Remove(hba.Name()) })
	_, err = hba.WriteString("host all ticketing all trust\nhost all all all scram-sha-256\n")
	is.NoErr(err)
	is.NoErr(hba.Chmod(0o644))
	is.NoErr(hba.Close())
	server := pgtest.Start(t, "hba_file="+hba.Name(), "fsync=off")
	admin := newShell(t).with(
		"TICKETING_DATABASE", server.DSN("postgres"), "TICKETING_SECRET_KEY", strings.Repeat("ab", 32),
	)
	for _, statement := range []string{
		"CREATE ROLE guest LOGIN PASSWORD 'hush-hush'", "CREATE DATABASE filled",
	} {
		_, err := admin.postgres().ExecContext(t.Context(), statement)
		is.NoErr(err)
	}
	admin.with("TICKETING_DATABASE", server.DSN("filled")).object("migrate")
	at := server.Addr()
	for _, test := range []struct{ name, database, code, want string }{
		{
			"refused", "postgres://guest:hush-hush@127.0.0.1:1/d",
			"UNAVAILABLE", "127.0.0.1:1/d cannot be used: dial tcp 127.0.0.1:1: connect: connection refused",
		},
		{
			"no socket", "postgres://guest@/d?host=/does/not/exist&port=6543",
			"UNAVAILABLE", "the database d at /does/not/exist cannot be used: " +
				"dial unix /does/not/exist/.s.PGSQL.6543: connect: no such file or directory",
		},
		{
			"wrong password", "postgres://guest:hush-hash@" + at + "/postgres?sslmode=disable",
			"DATABASE_ACCESS", "password authentication failed",
		},
		{
			"no database", "postgres://guest:hush-hush@" + at + "/nothing?sslmode=disable",
			"DATABASE_ACCESS", "CREATE DATABASE",
		},
		{
			"no right to create", "postgres://guest:hush-hush@" + at + "/postgres?sslmode=disable",
			"DATABASE_ACCESS", "GRANT CREATE",
		},
		{
			"no right to read", "postgres://guest:hush-hush@" + at + "/filled?sslmode=disable",
			"DATABASE_ACCESS", "needs SELECT, INSERT and UPDATE",
		},
		{
			"no TLS", "postgres://guest:hush-hush@" + at + "/postgres?sslmode=verify-full",
			"UNAVAILABLE", "append sslmode=disable",
		},
		{
			"unknown option",
			"postgres://guest:hush-hush@" + at + "/postgres?sslmode=disable&target_session_attrs=any",
			"INVALID_REQUEST", "the server does not know an option of the URL: " +
				"unrecognized configuration parameter \"target_session_attrs\"",
		},
		{
			"value of an option", "postgres://guest:hush-hush@" + at + "/postgres?sslmode=disable&lock_timeout=hush",
			"INVALID_REQUEST", "server refuses the value of an option",
		},
		{"no password", "postgres://guest@" + at + "/postgres?sslmode=disable", "DATABASE_ACCESS", "28P01"},
		{"port", "postgres://guest:hush-hush@127.0.0.1:99999/postgres", "INVALID_REQUEST", "from 1 to 65535"},
		{
			"unknown sslmode", "postgres://guest:hush-hush@" + at + "/postgres?sslmode=hush",
			"INVALID_REQUEST", "option that is not understood",
		},
		{
			"no certificate", "postgres://guest:hush-hush@" + at + "/postgres?sslmode=verify-full&sslrootcert=/hush",
			"INVALID_REQUEST", "certificate",
		},
		{"malformed", "postgres://guest:hush%zz@" + at + "/postgres", "INVALID_REQUEST", "percent-encoded"},
		{"password that ends the host", "postgres://guest:hush#hush@" + at + "/postgres", "INVALID_REQUEST", "--database: "},
		{"password that begins the path", "postgres://guest:12/hush@" + at + "/postgres", "INVALID_REQUEST", "--database: "},
		{"no host", "postgres://guest:hush-hush@/postgres", "INVALID_REQUEST", "names no host"},
		{"no role", "postgres://" + at + "/postgres", "INVALID_REQUEST", "names no role"},
		{"no name", "postgres://guest:hush-hush@" + at, "INVALID_REQUEST", "names no database"},
		{"no URL", "postgres:hush", "INVALID_REQUEST", "percent-encoded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			sh := admin.with("TICKETING_DATABASE", test.database)
			sh.t = t
			for _, args := range [][]string{{"company", "list"}, {"serve", "--addr", "127.0.0.1:0"}, short()} {
				code, message := sh.refusal(args...)
				is.Equal(code, test.code)
				want := test.want
				if args[0] == "bench" && strings.HasPrefix(test.name, "no right") {
					want = "the role needs CREATE on the database" // It creates a schema.
				}
				if !strings.Contains(strings.ToLower(message), strings.ToLower(want)) {
					t.Errorf("%q is not in %q", want, message)
				}
				for _, never := range []string{"hush", "SELECT name", "CREATE TABLE", "pgdriver", "ticketing/store"} {
					if strings.Contains(message, never) {
						t.Errorf("%q is in %q", never, message)
					}
				}
			}
		})
	}
}

// A server whose role owns nothing, and has only the grants of docs/operating.md, sells, delivers webhooks, erases
// buyers and removes records past their retention.
func TestServerOfARoleThatOwnsNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t, "fsync=off")
	owner := newShell(t).with(
		"TICKETING_DATABASE", server.DSN("postgres"), "TICKETING_SECRET_KEY", strings.Repeat("ab", 32),
	)
	shop := owner.openShop()
	document, err := os.ReadFile("../../docs/operating.md")
	is.NoErr(err)
	db := owner.postgres()
	grants := regexp.MustCompile("`(GRANT (?:SELECT|DELETE)[^`]*)`").FindAllStringSubmatch(string(document), -1)
	is.Equal(len(grants), 2)
	statements := []string{"CREATE ROLE clerk LOGIN", "GRANT USAGE ON SCHEMA public TO clerk"}
	for _, grant := range grants {
		statements = append(statements, grant[1]+" TO clerk")
	}
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		is.NoErr(err)
	}
	receiver := ticketingtest.NewWebhooks(t)
	owner.hooked(shop.companyID, receiver, "order.created")
	clerk := owner.with("TICKETING_DATABASE", strings.Replace(server.DSN("postgres"), "ticketing@", "clerk@", 1))
	serve := []string{
		"--no-migrate", "--webhook-allow-private", "--webhook-ca-file", roots(t, receiver), "--webhook-retention", "1h",
		"--fact-retention", "1h",
	}
	p, origin := clerk.serve(serve...)
	_, err = shop.api(t, origin).Checkout(t.Context(), "cart-0001", shop.basket())
	is.NoErr(err)
	owner.settled(shop.companyID, 1)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)

	// Two hours later.
	for _, statement := range []string{
		"UPDATE ticketing_webhook_deliveries SET created_at = created_at - 7200000, message_at = message_at - 7200000",
		"UPDATE ticketing_webhook_messages SET at = at - 7200000",
		"UPDATE ticketing_outbox SET at = at - 7200000",
		// A rebuild of the sums was interrupted: the servers remove the old ones.
		fmt.Sprintf("UPDATE ticketing_sales_progress SET uncounted = %d", driver.SalesReset),
	} {
		_, err := db.ExecContext(t.Context(), statement)
		is.NoErr(err)
	}
	p, _ = clerk.serve(serve...)
	eventually(t, "what was kept is removed", func() bool {
		var kept int
		is.NoErr(db.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM ticketing_webhook_deliveries) +
			(SELECT count(*) FROM ticketing_webhook_messages) + (SELECT count(*) FROM ticketing_outbox)`).Scan(&kept))
		return kept == 0
	})
	eventually(t, "the sums are rebuilt", func() bool {
		var open int
		is.NoErr(db.QueryRowContext(t.Context(),
			"SELECT count(*) FROM ticketing_sales_progress WHERE uncounted > 0").Scan(&open))
		return open == 0
	})
	is.True(!strings.Contains(p.errors(), "level=ERROR"))

	// The pages of its console erase a buyer in the same role.
	rows, err := store.Open(t.Context(), clerk.env["TICKETING_DATABASE"], nil)
	is.NoErr(err)
	defer func() { is.NoErr(rows.Close()) }()
	svc, err := ticketing.New(rows, &ticketing.Config{SecretKeys: [][]byte{bytes.Repeat([]byte{0xab}, 32)}})
	is.NoErr(err)
	erased, err := svc.As(ticketing.Staff("test")).EraseBuyer(t.Context(), uuid.MustParse(shop.companyID),
		shop.basket().Buyer.Email)
	is.NoErr(err)
	is.Equal(erased, ticketing.BuyerErasure{Erased: true, Orders: 2})
}

// held locks a company's FLOAT wallet, as another program would, until release is called.
func (s shop) held(t *testing.T, db *sql.DB) (release func()) {
	t.Helper()
	is := is.New(t)
	tx, err := db.BeginTx(t.Context(), nil)
	is.NoErr(err)
	t.Cleanup(func() { _ = tx.Rollback() })
	_, err = tx.ExecContext(t.Context(),
		"SELECT FROM ticketing_wallets WHERE company_id = '"+s.companyID+"' AND wallet = 'FLOAT' FOR UPDATE")
	is.NoErr(err)
	return func() { is.NoErr(tx.Rollback()) }
}

// A server with a full queue responds 503 INTERNAL_ERROR at once, with a Retry-After. Nothing is lost: the same
// requests, sent again, are all sold exactly once.
func TestOverload(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := onPostgres(t)
	shop := sh.openShop()
	db := sh.postgres()
	_, origin := sh.serve("--group-queue", "1", "--rate-limit", "0")
	api := shop.api(t, origin)
	release := shop.held(t, db)
	const buyers = 8
	refused := make(chan struct{}, 1000*buyers)
	buy := func(ctx context.Context, key string) error {
		for {
			_, err := api.Checkout(ctx, key, shop.basket())
			if err == nil {
				return nil
			}
			answer, answered := errors.AsType[*client.Error](err)
			if !answered || answer.Status != http.StatusServiceUnavailable || answer.Refusal.Code != ticketing.CodeInternal {
				return err
			}
			if answer.RetryAfter < time.Second {
				return fmt.Errorf("Retry-After is %s", answer.RetryAfter)
			}
			refused <- struct{}{}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond): // Shorter than a well-behaved client waits.
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	errs := make([]error, buyers)
	var all sync.WaitGroup
	for i := range buyers {
		all.Go(func() { errs[i] = buy(ctx, fmt.Sprintf("cart-%04d", i)) })
	}
	for range buyers {
		select {
		case <-refused:
		case <-ctx.Done():
			t.Fatal("nobody was refused")
		}
	}
	release()
	all.Wait()
	for _, err := range errs {
		is.NoErr(err)
	}
	_, answer := get(t, origin+"/metrics")
	is.True(regexp.MustCompile(`ticketing_group_queue_full_total\{operation="[^"]+"\} [1-9]`).MatchString(answer))
	is.True(strings.Contains(answer, `,status="503"}`))
	var orders int
	is.NoErr(db.QueryRowContext(t.Context(), "SELECT count(*) FROM ticketing_orders").Scan(&orders))
	is.Equal(orders, buyers+1) // One is the demo's.
	is.Equal(sh.object("ledger", "verify")["ok"], true)
}

// A sale in progress when the signal arrives is committed and answered before the server ends.
func TestServerDrainsOnPostgres(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := onPostgres(t)
	shop := sh.openShop()
	db := sh.postgres()
	p, origin := sh.serve()
	release := shop.held(t, db)
	done := make(chan error, 1)
	go func() {
		_, err := shop.api(t, origin).Checkout(t.Context(), "cart-0001", shop.basket())
		done <- err
	}()
	waiting := 0
	for begun := time.Now(); waiting == 0 && time.Since(begun) < patience; {
		is.NoErr(db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
			"AND wait_event_type = 'Lock'").Scan(&waiting))
	}
	p.signal(syscall.SIGTERM)
	at, err := url.Parse(origin)
	is.NoErr(err)
	is.True(closes(t.Context(), at.Host))
	release()
	is.NoErr(<-done)
	is.Equal(p.wait(), 0)
	is.Equal(len(sh.array("ledger", "list", shop.companyID, "--wallet", "EARNINGS")), 2)
}
