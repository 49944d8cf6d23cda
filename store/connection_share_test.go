package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/store"
)

// TestConnectionsAreReserved checks that calls that run by themselves leave connections to groups, and that both leave
// some to the background work. The reserved ones are available at once, a call beyond its share fails with ErrBusy in
// time, and every slot is returned.
func TestConnectionsAreReserved(t *testing.T) {
	t.Parallel()
	// Long enough to connect while other tests keep the machine busy.
	const patience = 2 * time.Second
	for _, test := range []struct {
		name   string
		dsn    func(t *testing.T) string
		config store.Config
		// requests and groups are the connections that each may use if it comes first, of those that there are.
		requests, groups, of int
	}{
		{
			"postgres", func(t *testing.T) string { t.Helper(); return pgtest.Database(t) },
			store.Config{Connections: 16, BusyTimeout: patience},
			10, 14, 16,
		},
		{
			"sqlite", func(t *testing.T) string { t.Helper(); return "sqlite:" + filepath.Join(t.TempDir(), "t.db") },
			store.Config{BusyTimeout: patience},
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
			read := func(ctx context.Context, purpose driver.Purpose) error {
				return db.View(driver.WithPurpose(ctx, purpose), func(ctx context.Context, tx driver.ReadTx) error {
					_, err := tx.SecretNames(ctx)
					return err
				})
			}
			release := make(chan struct{})
			ended := make(chan error, test.of)
			hold := func(purpose driver.Purpose, n int) {
				entered := make(chan struct{})
				for range n {
					go func() {
						ctx := driver.WithPurpose(t.Context(), purpose)
						ended <- db.Snapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
							if _, err := tx.SecretNames(ctx); err != nil { // The first read takes the connection.
								return err
							}
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
			hold(driver.PurposeRequest, test.requests)
			is.True(errors.Is(read(t.Context(), driver.PurposeRequest), driver.ErrBusy))
			is.NoErr(read(t.Context(), driver.PurposeGroup))
			hold(driver.PurposeGroup, test.groups-test.requests)
			is.True(errors.Is(read(t.Context(), driver.PurposeGroup), driver.ErrBusy))
			is.NoErr(read(t.Context(), driver.PurposeBackground))
			is.Equal(db.Connections().InUse, test.groups)
			close(release)
			for range test.groups {
				is.NoErr(<-ended)
			}
			// Every slot was returned.
			release = make(chan struct{})
			hold(driver.PurposeRequest, test.requests)
			hold(driver.PurposeBackground, test.of-test.requests)
			close(release)
			for range test.of {
				is.NoErr(<-ended)
			}
		})
	}
}
