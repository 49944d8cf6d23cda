package storetest

import (
	"context"
	"errors"

	"github.com/floatgate/ticketing"
)

// Rerun is a store that runs the fn of every Update twice: once for nothing, taking all of it back, and then for real,
// as a store does after a passing failure. What fn leaves behind from its first run shows.
func Rerun(s ticketing.Store) ticketing.Store {
	if durable, ok := s.(ticketing.DurableStore); ok {
		return durableRerun{rerun{s}, durable}
	}
	return rerun{s}
}

type rerun struct{ ticketing.Store }

// durableRerun keeps what a durable store tells of itself.
type durableRerun struct {
	rerun

	durable ticketing.DurableStore
}

func (r durableRerun) Durable() bool { return r.durable.Durable() }

var errAgain = errors.New("storetest: run again")

// Update runs fn, takes all of it back, and runs it again. A panic of the first run goes on.
func (r rerun) Update(ctx context.Context, fn func(ctx context.Context, tx ticketing.Tx) error) error {
	err := r.Store.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		// What fn says the first time, a failed commit would have made void.
		_ = fn(ctx, tx)
		return errAgain
	})
	if !errors.Is(err, errAgain) {
		return err
	}
	return r.Store.Update(ctx, fn)
}
