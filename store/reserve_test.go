package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/store"
)

// Calls that run by themselves leave connections to groups, and both leave some to the background work. What they leave is
// had at once, beyond it they wait, and every place comes back.
func TestConnectionsAreReserved(t *testing.T) {
	t.Parallel()
	const moment = 50 * time.Millisecond
	for _, test := range []struct {
		name                 string
		dsn                  func(t *testing.T) string
		config               store.Config
		requests, groups, of int // connections that each may have when it is the first, and that there are
	}{
		{
			"postgres", func(t *testing.T) string { t.Helper(); return pgtest.Database(t) },
			store.Config{Connections: 16},
			10, 14, 16,
		},
		{
			"sqlite", func(t *testing.T) string { t.Helper(); return "sqlite:" + filepath.Join(t.TempDir(), "t.db") },
			store.Config{},
			4, 5, 6,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			db, err := store.Open(t.Context(), test.dsn(t), &test.config)
			is.NoErr(err)
			defer func() { is.NoErr(db.Close()) }()
			is.NoErr(db.Migrate(t.Context()))
			read := func(ctx context.Context, purpose ticketing.Purpose) error {
				return db.View(ticketing.WithPurpose(ctx, purpose), func(ctx context.Context, tx ticketing.ReadTx) error {
					_, err := tx.SecretNames(ctx)
					return err
				})
			}
			waits := func(purpose ticketing.Purpose) bool {
				ctx, cancel := context.WithTimeout(t.Context(), moment)
				defer cancel()
				return errors.Is(read(ctx, purpose), context.DeadlineExceeded)
			}
			release := make(chan struct{})
			ended := make(chan error, test.of)
			hold := func(purpose ticketing.Purpose, n int) {
				entered := make(chan struct{})
				for range n {
					go func() {
						ctx := ticketing.WithPurpose(t.Context(), purpose)
						ended <- db.Snapshot(ctx, func(context.Context, ticketing.ReadTx) error {
							entered <- struct{}{}
							<-release
							return nil
						})
					}()
					select {
					case <-entered:
					case err := <-ended:
						t.Fatal(err)
					}
				}
			}
			hold(ticketing.PurposeRequest, test.requests)
			is.True(waits(ticketing.PurposeRequest))
			is.NoErr(read(t.Context(), ticketing.PurposeGroup))
			hold(ticketing.PurposeGroup, test.groups-test.requests)
			is.True(waits(ticketing.PurposeGroup))
			is.NoErr(read(t.Context(), ticketing.PurposeBackground))
			is.Equal(db.Connections().InUse, test.groups)
			close(release)
			for range test.groups {
				is.NoErr(<-ended)
			}
			release = make(chan struct{}) // Every place came back.
			hold(ticketing.PurposeRequest, test.requests)
			hold(ticketing.PurposeBackground, test.of-test.requests)
			close(release)
			for range test.of {
				is.NoErr(<-ended)
			}
		})
	}
}
