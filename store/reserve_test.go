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

// Calls that run by themselves leave connections to groups, and both leave some to the background work. Who waits for one
// has it when one is given back, or is told in time that the database is busy.
func TestConnectionsAreReserved(t *testing.T) {
	t.Parallel()
	const busy = 50 * time.Millisecond
	for _, test := range []struct {
		name                 string
		dsn                  func(t *testing.T) string
		config               store.Config
		requests, groups, of int // connections that each may have when it is the first, and that there are
	}{
		{
			"postgres", func(t *testing.T) string { t.Helper(); return pgtest.Database(t) },
			store.Config{Connections: 16, BusyTimeout: busy},
			10, 14, 16,
		},
		{
			"sqlite", func(t *testing.T) string { t.Helper(); return "sqlite:" + filepath.Join(t.TempDir(), "t.db") },
			store.Config{BusyTimeout: busy},
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
			read := func(purpose ticketing.Purpose) error {
				return db.View(ticketing.WithPurpose(t.Context(), purpose), func(ctx context.Context, tx ticketing.ReadTx) error {
					_, err := tx.SecretNames(ctx)
					return err
				})
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
					<-entered
				}
			}
			hold(ticketing.PurposeRequest, test.requests)
			is.True(errors.Is(read(ticketing.PurposeRequest), ticketing.ErrBusy))
			is.NoErr(read(ticketing.PurposeGroup))
			hold(ticketing.PurposeGroup, test.groups-test.requests)
			is.True(errors.Is(read(ticketing.PurposeGroup), ticketing.ErrBusy))
			is.NoErr(read(ticketing.PurposeBackground))
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
