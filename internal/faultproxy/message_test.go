package faultproxy_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/pgtest"
)

// fixture is a database with a connection through a proxy and a direct one.
type fixture struct {
	proxy           *faultproxy.Proxy
	through, direct *sql.DB
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	dsn, err := url.Parse(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := faultproxy.New(t, dsn.Host)
	through := *dsn
	through.Host = proxy.Addr()
	f := fixture{proxy: proxy, through: open(t, through.String()), direct: open(t, dsn.String())}
	if _, err := f.direct.ExecContext(t.Context(), "CREATE TABLE rows (text text)"); err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	t.Cleanup(func() { db.Close() })
	return db
}

// count returns how many rows are committed.
func (f fixture) count(t *testing.T) (n int) {
	t.Helper()
	if err := f.direct.QueryRowContext(t.Context(), "SELECT count(*) FROM rows").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// insert inserts a row in a transaction, through the proxy.
func (f fixture) insert(ctx context.Context) error {
	tx, err := f.through.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO rows VALUES ('x')"); err != nil {
		return err
	}
	return tx.Commit()
}

func isCommit(m faultproxy.Message) bool { return strings.EqualFold(m.SQL(), "COMMIT") }

// The connection is lost at each message of a transaction, before or after the message is forwarded. The client gets an
// error, and the row exists exactly if COMMIT reached the server. The next transaction succeeds.
func TestTransactionCutAtEachMessage(t *testing.T) {
	t.Parallel()
	committed := func(m faultproxy.Message) bool {
		return m.Backend && m.Type == 'C' && strings.HasPrefix(string(m.Payload), "COMMIT")
	}
	statement := func(begin string) func(m faultproxy.Message) bool {
		return func(m faultproxy.Message) bool { return strings.HasPrefix(m.SQL(), begin) }
	}
	for _, test := range []struct {
		name   string
		at     func(m faultproxy.Message) bool
		action faultproxy.Action
		rows   int
	}{
		{"start-up not sent", func(m faultproxy.Message) bool { return m.Type == 0 }, faultproxy.Cut, 0},
		{"BEGIN not sent", statement("BEGIN"), faultproxy.Cut, 0},
		{"BEGIN not answered", statement("BEGIN"), faultproxy.PassAndCut, 0},
		{"INSERT not sent", statement("INSERT"), faultproxy.Cut, 0},
		{"INSERT not answered", statement("INSERT"), faultproxy.PassAndCut, 0},
		{"COMMIT not sent", isCommit, faultproxy.Cut, 0},
		{"COMMIT not answered", isCommit, faultproxy.PassAndCut, 1},
		{"answer of COMMIT lost", committed, faultproxy.Cut, 1},
		{"lost after half of the answer", committed, faultproxy.PassAndCut, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			f := newFixture(t)
			var once sync.Once
			f.proxy.OnMessage(func(m faultproxy.Message) faultproxy.Action {
				action := faultproxy.Pass
				if test.at(m) {
					once.Do(func() { action = test.action })
				}
				return action
			})
			// If no connection could be made, database/sql tries another one. It does not retry a transaction that has
			// begun.
			conn, err := f.through.Conn(t.Context())
			if err == nil {
				_, err = conn.ExecContext(t.Context(), "BEGIN")
			}
			if err == nil {
				_, err = conn.ExecContext(t.Context(), "INSERT INTO rows VALUES ('x')")
			}
			if err == nil {
				_, err = conn.ExecContext(t.Context(), "COMMIT")
			}
			is.True(err != nil)
			if conn != nil {
				conn.Close()
			}
			eventually(t, func() bool { return f.count(t) == test.rows && f.idle(t) })
			is.Equal(f.count(t), test.rows)
			is.NoErr(f.insert(t.Context()))
			is.Equal(f.count(t), test.rows+1)
		})
	}
}

// idle reports whether no other connection than this one works on the database.
func (f fixture) idle(t *testing.T) bool {
	t.Helper()
	var n int
	if err := f.direct.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n == 0
}

// eventually polls until ask returns true. A server does not announce when it notices that its client has gone.
func eventually(t *testing.T, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !ask() {
		select {
		case <-ctx.Done():
			t.Fatal("it never happened")
		case <-ticker.C:
		}
	}
}

// The observer sees the messages of both sides, in order, from the start-up on. It also sees those on connections that
// were open before it was set. Of a message longer than MaxPayload it sees the beginning. All messages arrive complete.
func TestMessages(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	f := newFixture(t)
	f.through.SetMaxOpenConns(1)
	var mu sync.Mutex
	var all []faultproxy.Message
	record := func(m faultproxy.Message) faultproxy.Action {
		mu.Lock()
		defer mu.Unlock()
		m.Payload = append([]byte(nil), m.Payload...)
		all = append(all, m)
		return faultproxy.Pass
	}
	f.proxy.OnMessage(record)
	is.NoErr(f.insert(t.Context()))
	f.proxy.OnMessage(nil)
	is.NoErr(f.insert(t.Context()))
	f.proxy.OnMessage(record)

	const length = 3 << 20
	var got string
	long := strings.Repeat("long", length/4)
	is.NoErr(f.through.QueryRowContext(t.Context(), "SELECT '"+long+"'").Scan(&got))
	is.True(got == long)

	mu.Lock()
	defer mu.Unlock()
	is.True(!all[0].Backend)
	is.Equal(all[0].Type, byte(0))
	is.True(strings.Contains(string(all[0].Payload), "user\x00"))
	is.Equal(all[1].Type, byte('R')) // AuthenticationOk
	is.True(all[1].Backend)
	var statements []string
	longest := faultproxy.Message{}
	for _, m := range all {
		is.Equal(m.Connection, 1)
		if m.SQL() != "" {
			word, _, _ := strings.Cut(m.SQL(), " ")
			statements = append(statements, word)
		}
		if m.Backend && m.Length > longest.Length {
			longest = m
		}
	}
	is.Equal(statements, []string{"BEGIN", "INSERT", "COMMIT", "SELECT"})
	is.Equal(longest.Type, byte('D'))
	is.Equal(longest.Length, 2+4+length) // one column, its length
	is.Equal(len(longest.Payload), faultproxy.MaxPayload)
}

// A client that requests encryption is declined, and continues without it.
func TestEncryptionIsDeclined(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := dial(t, f.proxy)
	const tls, gss = "\x00\x00\x00\x08\x04\xd2\x16\x2f", "\x00\x00\x00\x08\x04\xd2\x16\x30"
	c.say(gss)
	c.hear("N")
	c.say(tls)
	c.hear("N")
	c.say("\x00\x00\x00\x26\x00\x03\x00\x00user\x00nobody\x00database\x00nowhere\x00\x00")
	c.hear("R") // The server answers, in clear text.
}

// An observer may block: a test does something before a COMMIT reaches the server.
func TestObserverWaits(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	f := newFixture(t)
	arrived, goOn := make(chan struct{}), make(chan struct{})
	f.proxy.OnMessage(func(m faultproxy.Message) faultproxy.Action {
		if isCommit(m) {
			close(arrived)
			<-goOn
		}
		return faultproxy.Pass
	})
	answer := make(chan error)
	go func() { answer <- f.insert(t.Context()) }()
	<-arrived
	is.Equal(f.count(t), 0)
	close(goOn)
	is.NoErr(<-answer)
	is.Equal(f.count(t), 1)
}

// A PassAndCut message longer than MaxPayload arrives completely.
func TestPassAndCutOfALongMessage(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	f := newFixture(t)
	f.proxy.OnMessage(func(m faultproxy.Message) faultproxy.Action {
		if strings.HasPrefix(m.SQL(), "INSERT") {
			return faultproxy.PassAndCut
		}
		return faultproxy.Pass
	})
	_, err := f.through.ExecContext(t.Context(), "INSERT INTO rows VALUES ('"+strings.Repeat("x", 1<<20)+"')")
	is.True(err != nil)
	eventually(t, func() bool { return f.count(t) == 1 })
}
