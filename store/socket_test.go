package store_test

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// A URL may name the folder of a server's Unix socket, as libpq takes it, with the port that is in the socket's name,
// or the socket itself.
func TestOpenTakesASocket(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server, err := url.Parse(testdb.FreshDSN(t))
	is.NoErr(err)
	folder := shortFolder(t)
	for _, port := range []string{"5432", "6543"} {
		forward(t, "unix", filepath.Join(folder, ".s.PGSQL."+port), server.Host)
	}
	for _, test := range []struct{ host, query string }{
		{"", "host=" + folder},
		{"", "port=6543&host=" + folder},
		{":6543", "application_name=shop&host=" + folder},
		{"", "host=" + folder + "/.s.PGSQL.6543"},
	} {
		at := *server
		at.Host, at.RawQuery = test.host, test.query
		s, err := store.Open(t.Context(), at.String(), nil)
		is.NoErr(err)
		is.NoErr(s.Migrate(t.Context()))
		is.NoErr(s.Close())
	}
}

// shortFolder returns a folder for sockets. The path of one has at most 104 to 108 bytes.
func shortFolder(tb testing.TB) string {
	tb.Helper()
	is := is.New(tb)
	folder, err := os.MkdirTemp("", "pg") //nolint:usetesting // It would have the name of the test.
	is.NoErr(err)
	tb.Cleanup(func() { is.NoErr(os.RemoveAll(folder)) })
	return folder
}

// forward lets connections to a socket or a port lead to a server. It returns the address of the socket or the port.
func forward(tb testing.TB, network, at, addr string) string {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), network, at)
	is.New(tb).NoErr(err)
	tb.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			backend, err := new(net.Dialer).DialContext(tb.Context(), "tcp", addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(backend, client) // Either end may close first.
				_ = backend.Close()
			}()
			go func() {
				_, _ = io.Copy(client, backend)
				_ = client.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// The URL of a node has all that the URL of the database has, but for the host, or the socket and its port.
func TestNodeURL(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://shop@db:6000/live?sslmode=require",
		"postgres://shop@/live?host=/var/run/postgresql&port=6000&sslmode=require",
	} {
		node, err := store.NodeURL(dsn, "10.0.0.2:5432")
		is.New(t).NoErr(err)
		is.New(t).Equal(node, "postgres://shop@10.0.0.2:5432/live?sslmode=require")
	}
}
