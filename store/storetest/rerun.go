package storetest

import (
	"context"
	"errors"

	"github.com/floatgate/ticketing/driver"
)

// Rerun returns a store that runs the fn of every Update twice, as a store does after a transient failure. It rolls
// back the first run and keeps the second. So a test finds everything that fn keeps from its first run.
func Rerun(s driver.Store) driver.Store {
	if durable, ok := s.(driver.DurableStore); ok {
		return durableRerun{rerun{s}, durable}
	}
	return rerun{s}
}

type rerun struct{ driver.Store }

// durableRerun is durable if its store is.
type durableRerun struct {
	rerun

	durable driver.DurableStore
}

func (r durableRerun) Durable() bool { return r.durable.Durable() }

var errAgain = errors.New("storetest: run again")

// Update runs fn, rolls it back, and runs it again. It does not recover a panic of the first run.
func (r rerun) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	err := r.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		// The result of the first run is ignored: a failed commit would discard it.
		_ = fn(ctx, tx)
		return errAgain
	})
	if !errors.Is(err, errAgain) {
		return err
	}
	return r.Store.Update(ctx, fn)
}
