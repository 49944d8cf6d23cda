package store_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"database/sql"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store"
)

// twins creates a table of records and another one like it, and returns a function that counts the rows that differ.
func twins(t *testing.T, pool *sql.DB, other string) (differing func() (count int, err error)) {
	t.Helper()
	_, err := pool.ExecContext(t.Context(), `CREATE TABLE records
		(id uuid, maybe uuid, number bigint, at bigint, text text, yes boolean, bytes bytea);
		CREATE TABLE `+other+" (LIKE records)")
	is.New(t).NoErr(err)
	return func() (count int, err error) {
		err = pool.QueryRowContext(t.Context(), `SELECT count(*) FROM ((TABLE records EXCEPT ALL TABLE `+other+`)
			UNION ALL (TABLE `+other+" EXCEPT ALL TABLE records)) AS d").Scan(&count)
		return count, err
	}
}

// TestCopiedRowsAreThoseOfAnInsert checks that a COPY writes what an INSERT of the same records does, and that both
// refuse the same texts.
func TestCopiedRowsAreThoseOfAnInsert(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	differing := twins(t, pool, "copied")
	insert := store.InsertsOfEveryKind(false, false, true)
	ctx := t.Context()
	write := func(records []store.EveryKind) (copyErr, insertErr error) {
		inserted, insertErr := insert(records)
		return s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{}); err != nil {
				return err
			}
			if insertErr == nil {
				if err := store.ExecIn(ctx, tx, inserted); err != nil {
					return err
				}
			}
			return store.CopyEveryKind(ctx, tx, "copied", records)
		}), insertErr
	}
	err, insertErr := write([]store.EveryKind{
		{ID: number(1), Maybe: number(2), Number: 3, At: minute(4), Text: "é", Yes: true, Bytes: []byte{0}}, {},
	})
	is.NoErr(err)
	is.NoErr(insertErr)
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(anyRecord(), 1, 5).Draw(t, "records")
		err, insertErr := write(records)
		if (err == nil) != (insertErr == nil) {
			t.Fatalf("COPY: %v, INSERT: %v", err, insertErr)
		}
		if count, err := differing(); err != nil || count != 0 {
			t.Fatalf("%d rows differ (%v)", count, err)
		}
	})
	var kept int
	is.NoErr(pool.QueryRowContext(t.Context(), "SELECT count(*) FROM copied").Scan(&kept))
	is.True(kept > 1)
}

// copiesHere reports whether rows are copied to the server of the tests.
func copiesHere() bool { return pgtest.OwnServer() && runtime.GOOS == "linux" }

// TestWhereRowsAreCopied checks that rows are copied only where the connections of the store end at the server.
func TestWhereRowsAreCopied(t *testing.T) {
	t.Parallel()
	dsn := testdb.FreshDSN(t)
	at, err := url.Parse(dsn)
	is.New(t).NoErr(err)
	socket := filepath.Join(shortFolder(t), ".s.PGSQL.5432")
	forward(t, "unix", socket, at.Host)
	proxied, relayed := *at, *at
	proxied.Host, proxied.RawQuery = "", "host="+socket
	relayed.Host = forward(t, "tcp", "127.0.0.1:0", at.Host)
	for name, test := range map[string]struct {
		dsn    string
		cfg    *store.Config
		copies bool
	}{
		"direct":              {dsn, nil, copiesHere()},
		"no prepared":         {dsn, &store.Config{NoPrepare: true}, false},
		"socket of a proxy":   {proxied.String(), nil, false},
		"proxy":               {relayed.String(), nil, false},
		"PgBouncer, sessions": {pgtest.PgBouncer(t, dsn, "pool_mode=session"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			s := testdb.Open(t, test.dsn, test.cfg)
			is.Equal(store.Copies(s), test.copies)
			// A server that waits for rows gives up a client that confirms nothing any more.
			if test.copies {
				is.NoErr(update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
					return store.ExecIn(ctx, tx, `DO $$ BEGIN
						IF current_setting('tcp_user_timeout') <> '30000' OR current_setting('tcp_keepalives_idle') <> '10'
							OR current_setting('tcp_keepalives_interval') <> '10' THEN RAISE 'unbounded'; END IF; END $$`)
				}))
			}
		})
	}
	t.Run("a host's pool", func(t *testing.T) {
		t.Parallel()
		is.New(t).True(!store.Copies(openPool(t, drivers()["pgdriver"](t, dsn))))
	})
}

// TestCopyOverTLS checks that rows are copied over TLS.
func TestCopyOverTLS(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t)
	db := beside(t, server.DSN("postgres"))
	useTLS(t, db)
	at, err := url.Parse(server.DSN("postgres"))
	is.NoErr(err)
	at.RawQuery = "sslmode=require"
	s := testdb.Open(t, at.String(), nil)
	is.NoErr(s.Migrate(t.Context()))
	furnish(t, s, newBatch(1, 0))
	for order := 1; order <= 3; order++ {
		is.Equal(store.Copies(s), runtime.GOOS == "linux")
		sell(t, s, order)
		is.Equal(len(lines(t, s, order)), several)
	}
	var encrypted int
	is.NoErr(db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
		WHERE ssl AND application_name = 'ticketing'`).Scan(&encrypted))
	is.True(encrypted > 0)
}

// useTLS gives a server a certificate. The server itself writes the files, since they have to be its user's.
func useTLS(t *testing.T, db *sql.DB) {
	t.Helper()
	is := is.New(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	is.NoErr(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	is.NoErr(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	is.NoErr(err)
	for _, file := range []struct {
		name string
		pem.Block
	}{
		{"server.crt", pem.Block{Type: "CERTIFICATE", Bytes: certificate}},
		{"server.key", pem.Block{Type: "PRIVATE KEY", Bytes: private}},
	} {
		_, err = db.ExecContext(t.Context(), fmt.Sprintf(
			"COPY (SELECT unnest(string_to_array('%s', E'\\n'))) TO PROGRAM 'umask 077; cat >%s'",
			bytes.TrimSpace(pem.EncodeToMemory(&file.Block)), file.name))
		is.NoErr(err)
	}
	for _, statement := range []string{"ALTER SYSTEM SET ssl TO on", "SELECT pg_reload_conf()"} {
		_, err = db.ExecContext(t.Context(), statement)
		is.NoErr(err)
	}
	until(t, db, "SELECT current_setting('ssl')::bool")
}

// TestFewRowsAreInserted checks that the rows of one sale go by INSERT, its admissions if there are one or two.
func TestFewRowsAreInserted(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	sell(t, s, 1)
	for _, table := range []string{"orders", "ledger_entries", "idempotency_keys", "buyers"} {
		is.True(inserts(t, pool, table))
	}
	is.Equal(inserts(t, pool, "admissions"), !copiesHere())
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error { return sale(ctx, tx, 2, 2) }))
	is.True(inserts(t, pool, "admissions"))
}

// inserts reports whether a connection prepared an INSERT into a table. PostgreSQL keeps the whole message that did.
func inserts(t *testing.T, pool *sql.DB, table string) (found bool) {
	t.Helper()
	is.New(t).NoErr(pool.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT FROM pg_prepared_statements
		WHERE statement LIKE '%INSERT INTO ticketing_'||$1||' %')`, table).Scan(&found))
	return found
}

// grouped is a transaction of several sales. It appends what was added when it is kept.
type grouped struct {
	driver.Tx

	begun      bool
	orders     []driver.Order
	admissions []driver.Admission
	entries    []ledger.Entry
	facts      []driver.Fact
	results    []driver.IdempotencyResult
}

func (g *grouped) Begin(ctx context.Context, in driver.BeginOptions) ([]bool, error) {
	if g.begun {
		return make([]bool, len(in.Keys)), nil
	}
	g.begun = true
	return g.Tx.Begin(ctx, in)
}

func (g *grouped) AppendOrders(_ context.Context, orders []driver.Order) error {
	g.orders = append(g.orders, orders...)
	return nil
}

func (g *grouped) AppendAdmissions(_ context.Context, admissions []driver.Admission) error {
	g.admissions = append(g.admissions, admissions...)
	return nil
}

func (g *grouped) AppendEntries(_ context.Context, entries []ledger.Entry) error {
	g.entries = append(g.entries, entries...)
	return nil
}

func (g *grouped) AppendFacts(_ context.Context, facts []driver.Fact) error {
	g.facts = append(g.facts, facts...)
	return nil
}

func (g *grouped) AppendResults(_ context.Context, results []driver.IdempotencyResult) error {
	g.results = append(g.results, results...)
	return nil
}

func (g *grouped) keep(ctx context.Context) error {
	return errors.Join(g.Tx.AppendOrders(ctx, g.orders), g.Tx.AppendAdmissions(ctx, g.admissions),
		g.Tx.AppendEntries(ctx, g.entries), g.Tx.AppendFacts(ctx, g.facts), g.Tx.AppendResults(ctx, g.results))
}

// TestGroupedSalesAreCopied checks that the database takes the rows of several sales by COPY, all in one message, also
// where each sale has one admission.
func TestGroupedSalesAreCopied(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	runs := 0
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		runs++
		group := &grouped{Tx: tx}
		for order := range 2 {
			if err := sale(ctx, group, 1+order, 1); err != nil {
				return err
			}
		}
		return group.keep(ctx)
	}))
	is.Equal(runs, 1)
	is.Equal(store.Copies(s), copiesHere())
	for table, rows := range map[string]int{
		"orders": 2, "admissions": 2, "ledger_entries": 4, "outbox": 6, "idempotency_keys": 2,
	} {
		var kept int
		is.NoErr(pool.QueryRowContext(t.Context(), "SELECT count(*) FROM ticketing_"+table).Scan(&kept))
		is.Equal(kept, rows)
		is.Equal(inserts(t, pool, table), !copiesHere())
	}
	is.Equal(len(lines(t, s, 2)), 1)
}

// TestRoleThatCannotCopy checks that a role sells which cannot use COPY: because row security applies to it, so that
// PostgreSQL refuses its COPY, or because it may not ask for the port of its connection. The log says so once.
func TestRoleThatCannotCopy(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t)
	owner := testdb.Open(t, server.DSN("postgres"), nil)
	is.NoErr(owner.Migrate(t.Context()))
	furnish(t, owner, newBatch(1, 0))
	as, err := url.Parse(server.DSN("postgres"))
	is.NoErr(err)
	as.User = url.User("clerk")
	open := func(statements ...string) (*store.Store, *bytes.Buffer) {
		for _, statement := range statements {
			_, err := owner.Pool().ExecContext(t.Context(), statement)
			is.NoErr(err)
		}
		var log bytes.Buffer
		return testdb.Open(t, as.String(), &store.Config{
			Connections: 1, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}), &log
	}
	s, log := open("CREATE ROLE clerk LOGIN", "GRANT ALL ON ALL TABLES IN SCHEMA public TO clerk",
		"ALTER TABLE ticketing_admissions ENABLE ROW LEVEL SECURITY",
		"CREATE POLICY all_admissions ON ticketing_admissions USING (true) WITH CHECK (true)")
	is.Equal(store.Copies(s), runtime.GOOS == "linux")
	sell(t, s, 1)
	is.True(!store.Copies(s))
	sell(t, s, 2)
	is.Equal(len(lines(t, s, 2)), several)
	if runtime.GOOS == "linux" {
		is.Equal(strings.Count(log.String(), "written by INSERT"), 1)
		is.True(strings.Contains(log.String(), "SQLSTATE 0A000"))
	}

	s, log = open("REVOKE EXECUTE ON FUNCTION inet_client_port() FROM PUBLIC")
	is.True(!store.Copies(s))
	sell(t, s, 3)
	is.Equal(len(lines(t, s, 3)), several)
	is.Equal(strings.Count(log.String(), "written by INSERT"), 1)
}

// TestRefusalsOfRows checks after which errors a transaction runs again with INSERT, for an hour. The log says so once.
func TestRefusalsOfRows(t *testing.T) {
	t.Parallel()
	const again, insert = true, true
	for name, test := range map[string]struct {
		fields         map[byte]string
		again, inserts bool
	}{
		"row security":           {map[byte]string{'V': "ERROR", 'C': "0A000"}, again, insert},
		"a view":                 {map[byte]string{'V': "ERROR", 'C': "42809"}, again, insert},
		"syntax":                 {map[byte]string{'V': "ERROR", 'C': "42601"}, again, insert},
		"a malformed field":      {map[byte]string{'V': "ERROR", 'C': "22P03"}, again, insert},
		"a malformed row":        {map[byte]string{'V': "ERROR", 'C': "22P04"}, again, insert},
		"the protocol":           {map[byte]string{'V': "ERROR", 'C': "08P01"}, again, insert},
		"the end of a server":    {map[byte]string{'V': "FATAL", 'C': "08P01"}, again, !insert}, // As a lost connection.
		"a plan that is old":     {map[byte]string{'V': "ERROR", 'C': "0A000", 'R': "RevalidateCachedQuery"}, again, !insert},
		"a deadlock":             {map[byte]string{'V': "ERROR", 'C': "40P01"}, again, !insert},
		"a row that exists":      {map[byte]string{'V': "ERROR", 'C': "23505", 'n': "orders_pkey"}, !again, !insert},
		"a response that is odd": {nil, again, insert}, // As a lost connection.
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				var log bytes.Buffer
				runsAgain, inserts := store.CheckRefusal(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), test.fields)
				for range 3 {
					is.Equal(runsAgain(), test.again)
					is.Equal(inserts(), test.inserts)
					time.Sleep(time.Hour - time.Nanosecond)
					is.Equal(inserts(), test.inserts)
					time.Sleep(time.Nanosecond)
					is.True(!inserts())
				}
				is.Equal(strings.Count(log.String(), "written by INSERT"), map[bool]int{true: 1}[test.inserts])
			})
		})
	}
}

// TestRowsAndAPause checks that rows which wait to be sent are sent when a pause of prepared statements begins, with
// statements that need not be prepared.
func TestRowsAndAPause(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	sell(t, s, 1)
	runs := 0
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		runs++
		if err := sale(ctx, tx, 2, several); err != nil {
			return err
		}
		store.Pause(s)
		return store.ExecIn(ctx, tx, "DEALLOCATE ALL")
	}))
	is.Equal(runs, 1)
	is.True(!store.Copies(s))
	is.Equal(prepared(t, pool), 0)
	is.Equal(len(lines(t, s, 2)), several)
}

// TestRefusedRows checks that a transaction whose rows the database refuses keeps nothing, reports the constraint, and
// leaves the connection as it was, however many rows follow the one that was refused.
func TestRefusedRows(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	sell(t, s, 1)
	session := func() (id int) {
		is.NoErr(pool.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&id))
		return id
	}
	first := session()
	for _, rows := range []int{1, 900, 4000} {
		admissions := make([]driver.Admission, rows)
		for i := range admissions {
			admissions[i] = driver.Admission{
				CompanyID: company, OrderNumber: 99, Line: i + 1, ID: uuid.New(), LineID: uuid.New(), OrderID: number(9),
				EventID: event.ID, Tier: "Regular", Batch: 1, Title: strings.Repeat("é", 400),
			}
		}
		err := update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
			fact := driver.Fact{CompanyID: company, At: minute(1), ID: number(rows), Type: driver.FactOrderCreated}
			if err := tx.AppendFacts(ctx, []driver.Fact{fact, fact}); err != nil {
				return err
			}
			return tx.AppendAdmissions(ctx, admissions)
		})
		broken, ok := errors.AsType[*driver.ConstraintError](err)
		is.True(ok)
		is.Equal(broken.Constraint, "outbox_pkey")
		is.Equal(session(), first)
		is.Equal(store.Copies(s), copiesHere())
	}
	sell(t, s, 2)
	is.Equal(len(lines(t, s, 2)), several)
	is.Equal(session(), first)
}

const (
	ready   = "Z\x00\x00\x00\x05I"
	asks    = "G\x00\x00\x00\x09\x01\x00\x01\x00\x01"
	copied  = "C\x00\x00\x00\x0bCOPY 1\x00"
	notice  = "N\x00\x00\x00\x10SNOTICE\x00Mm\x00\x00"
	exists  = "E\x00\x00\x00\x16SERROR\x00C23505\x00Mm\x00\x00"
	failing = "E\x00\x00\x00\x16SFATAL\x00C57P01\x00Mm\x00\x00"
)

// TestResponsesToRows checks what the responses to a message mean, and whether the connection can be used after them.
func TestResponsesToRows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		responses, refused string
		ok, usable         bool
	}{
		"committed":                     {asks + copied + asks + copied + notice + copied + ready, "", true, true},
		"refused":                       {asks + exists + ready, "23505", false, true},
		"the first error counts":        {exists + failing, "23505", false, false},
		"ended by the server":           {asks + failing, "57P01", false, false},
		"ended, then refused":           {failing + ready, "57P01", false, false},
		"refused before it ended":       {"E\x00\x00\x00\x16SFATAL\x00C08P01\x00Mm\x00\x00", "08P01", false, false},
		"shut down after the end":       {asks + copied + ready + failing, "", true, false},
		"a notice after the end":        {asks + copied + ready + notice, "", true, true},
		"a notice that is cut off":      {asks + copied + ready + notice[:9], "", true, false},
		"two ends":                      {ready + ready, "", false, false},
		"nothing":                       {"", "", false, false},
		"cut off":                       {asks + copied, "", false, false},
		"a message of another protocol": {asks + "H\x00\x00\x00\x05I" + ready, "", false, false},
		"a length that is too small":    {asks + "C\x00\x00\x00\x03" + ready, "", false, false},
		"an error that is too long":     {"E\x7f\xff\xff\xff" + ready, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			state, usable, err := store.ReadResponses([]byte(test.responses))
			is.Equal(err == nil, test.ok)
			is.Equal(usable, test.usable)
			is.Equal(state, test.refused)
		})
	}
}

// FuzzResponsesToRows checks that responses which report success end, with no error before, and that a connection stays
// usable only if all of them were read.
func FuzzResponsesToRows(f *testing.F) {
	f.Add([]byte(asks + copied + notice + ready))
	f.Add([]byte(asks + exists + ready))
	f.Add([]byte(ready + failing))
	f.Fuzz(func(t *testing.T, responses []byte) {
		const buffer = 4096 // What comes after an end is read as far as it is there.
		responses = responses[:min(len(responses), buffer)]
		is := is.New(t)
		_, _, _ = store.ReadBoundRows(responses, 1) // It does not panic.
		state, usable, err := store.ReadResponses(responses)
		ended, refused, whole := false, false, true
		for rest := responses; len(rest) > 0; {
			const header = 5
			if len(rest) < header {
				whole = false
				break
			}
			size := int(binary.BigEndian.Uint32(rest[1:])) + 1
			if size < header || size > len(rest) {
				whole = false
				break
			}
			refused = refused || rest[0] == 'E' && !ended
			ended = ended || rest[0] == 'Z'
			rest = rest[size:]
		}
		is.True(err != nil || ended && !refused)
		is.True(!usable || ended && whole)
		is.True(err == nil || state != "" || !usable)
	})
}
