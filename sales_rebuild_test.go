package ticketing_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// lockedStore has somebody who holds a lock for long at the first and the third change.
type lockedStore struct {
	driver.Store

	changes atomic.Int64
}

func (s *lockedStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	if n := s.changes.Add(1); n == 1 || n == 3 {
		return driver.ErrBusy
	}
	return s.Store.Update(ctx, fn)
}

// TestARebuildWaitsForLocks checks that a company whose lock is held for long delays the rebuild of all, and does not
// end it half-way.
func TestARebuildWaitsForLocks(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.verified(t)
		e.unverified(t)
		kept := e.store
		locked := &lockedStore{Store: kept}
		e.store = locked
		svc := e.service(t, secretKey('a'))
		e.store = kept
		rebuilt, err := svc.As(ticketing.Staff("test")).RebuildSales(t.Context(), uuid.Nil)
		is.NoErr(err)
		is.Equal(rebuilt.Companies, 2)
		is.True(locked.changes.Load() >= 2+4) // Each company is reset and counted.
	})
}
