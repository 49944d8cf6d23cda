package store_test

import (
	"context"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/testdb"
)

// TestSnapshotBeginsWithItsFirstRead checks that a Snapshot sends one message for each read and one to end, that it
// takes no connection before its first read, and that it finds another connection where those of the pool are dead.
func TestSnapshotBeginsWithItsFirstRead(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn, err := url.Parse(testdb.DSN(t))
	is.NoErr(err)
	proxy := faultproxy.New(t, dsn.Host)
	dsn.Host = proxy.Addr()
	var sent atomic.Int64
	proxy.OnMessage(func(m faultproxy.Message) faultproxy.Action {
		if m.SQL() != "" {
			sent.Add(1)
		}
		return faultproxy.Pass
	})
	s := testdb.Open(t, dsn.String(), nil)
	is.Equal(len(names(t, s)), 0) // The schema is checked by now.
	read := func(ctx context.Context, tx driver.ReadTx) {
		_, err := tx.SecretNames(ctx)
		is.NoErr(err)
	}
	for reads := range 3 {
		sent.Store(0)
		is.NoErr(s.Snapshot(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			is.Equal(s.Connections().InUse, 0)
			for range reads {
				read(ctx, tx)
				is.Equal(s.Connections().InUse, 1)
			}
			return nil
		}))
		is.Equal(s.Connections().InUse, 0)
		is.Equal(sent.Load(), int64([]int{0, 2, 3}[reads])) // reads
	}
	proxy.Cut()
	is.NoErr(s.Snapshot(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		read(ctx, tx)
		return nil
	}))
	// A read that fails leaves no transaction.
	gone, cancel := context.WithCancel(t.Context())
	is.True(s.Snapshot(gone, func(ctx context.Context, tx driver.ReadTx) error {
		cancel()
		_, err := tx.SecretNames(ctx)
		return err
	}) != nil)
	is.Equal(s.Connections().InUse, 0)
}
