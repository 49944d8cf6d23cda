package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestRunWaitsForTheDatabase checks that a Run that begins while the database is away waits for it and logs that. When
// the database is back, it does the pending work.
func TestRunWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	location, err := url.Parse(dsn)
	is.NoErr(err)
	shop := newShop(t, postgres(t, dsn, nil))
	ready(t, shop) // Its facts are pending.
	proxy := faultproxy.New(t, location.Host)
	log := new(lockedLog)
	var facts ticketingtest.Facts
	far, err := ticketing.New(testdb.Open(t, through(dsn, location.Host, proxy.Addr()), nil), &ticketing.Config{
		SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, OnFact: facts.OnFact,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	is.NoErr(err)
	is.NoErr(far.Ready(t.Context()))

	proxy.Refuse(true)
	proxy.Cut()
	end := running(t, far)
	eventually(t, func() bool {
		return strings.Count(log.String(), `level=WARN msg="background work waits for the database"`) >= 2
	})
	is.Equal(len(facts.All()), 0)
	proxy.Refuse(false)
	_, err = facts.Wait(t.Context(), 3)
	is.NoErr(err)
	end()
}

// awayStore is a store whose database is away.
type awayStore struct {
	driver.Store

	err   error
	tries []time.Duration // since the first attempt
	first time.Time
}

func (s *awayStore) View(context.Context, func(context.Context, driver.ReadTx) error) error {
	if s.first.IsZero() {
		s.first = time.Now()
	}
	s.tries = append(s.tries, time.Since(s.first))
	return fmt.Errorf("view: %w", s.err)
}

// TestRunTriesAgainAtItsOwnTimes checks that Run retries within 5 seconds while the database is away or busy, never
// without a wait, and at other times than another process. It returns when its context ends.
func TestRunTriesAgainAtItsOwnTimes(t *testing.T) {
	t.Parallel()
	for _, away := range []error{ticketing.ErrUnavailable, ticketing.ErrBusy} {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			var tries [2][]time.Duration
			for i := range tries {
				on := &awayStore{Store: memory.New(), err: away}
				svc, err := ticketing.New(on, &ticketing.Config{SecretKeys: [][]byte{secretKey('k')}, Clock: time.Now})
				is.NoErr(err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				is.NoErr(svc.Run(ctx))
				cancel()
				is.Equal(time.Since(on.first), time.Hour)
				for i, at := range on.tries[1:] {
					wait := at - on.tries[i]
					is.True(wait >= 50*time.Millisecond && wait <= 5*time.Second)
				}
				is.True(on.tries[1] <= 100*time.Millisecond) // A short outage causes a short wait only.
				tries[i] = on.tries
			}
			is.True(len(tries[0]) <= 1500) // On average there are at most two attempts in 5 seconds.
			is.True(!slices.Equal(tries[0], tries[1]))
		})
	}
}

// TestRunWaitsAfterItWasReady checks that Run waits after any failure once the service was ready. So a listening server
// does not end because its tables are being changed.
func TestRunWaitsAfterItWasReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		on := &brokenStore{Store: memory.New()}
		svc, err := ticketing.New(on, &ticketing.Config{SecretKeys: [][]byte{secretKey('k')}, Clock: time.Now})
		is.NoErr(err)
		is.NoErr(svc.Ready(t.Context()))
		on.broken = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		is.NoErr(svc.Run(ctx))
		is.True(ctx.Err() != nil) // Run returned only then.
		is.True(on.tries > 10)
	})
}

// brokenStore is a store whose tables are missing while it is broken.
type brokenStore struct {
	driver.Store

	broken bool
	tries  int
}

func (s *brokenStore) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	if s.broken {
		s.tries++
		return errors.New("no such table")
	}
	return s.Store.View(ctx, fn)
}

// TestRunFailsAtOnce checks that Run fails at once for an error that does not end by waiting.
func TestRunFailsAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	run := func(on driver.Store, key byte) error {
		svc, err := ticketing.New(on, &ticketing.Config{SecretKeys: [][]byte{secretKey(key)}})
		is.NoErr(err)
		return svc.Run(t.Context())
	}
	shop := ticketingtest.New(t, nil)
	is.True(errors.Is(run(shop.Store, 'x'), ticketing.ErrSecretKeys))
	empty, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "empty.db"), nil)
	is.NoErr(err)
	defer func() { is.NoErr(empty.Close()) }()
	is.True(errors.Is(run(empty, 'k'), store.ErrNotMigrated))
	strange := errors.New("strange")
	is.True(errors.Is(run(&awayStore{Store: memory.New(), err: strange}, 'k'), strange))
}
