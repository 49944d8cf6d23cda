package bench

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

const (
	// dispatchedFacts is how many facts a call marks. An order has one fact.
	dispatchedFacts = 20
	// firstDispatches is how many calls the first slice has facts for, for each second of it.
	firstDispatches = 500
)

var errNothingToDispatch = errors.New("there was no fact to dispatch")

// dispatchSome marks some of a company's oldest facts as dispatched. It runs the statements that a server's worker runs
// for a company without endpoints, except those that count the sales: these stay uncounted.
func dispatchSome(ctx context.Context, store driver.Store, company uuid.UUID) error {
	return store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}}); err != nil {
			return err
		}
		facts, err := tx.TakeFacts(ctx, company, dispatchedFacts)
		if err != nil {
			return err
		}
		if len(facts) == 0 {
			return errNothingToDispatch
		}
		if _, err := tx.Companies(ctx, []uuid.UUID{company}); err != nil {
			return err
		}
		left := driver.SalesProgress{CompanyID: company, Uncounted: math.MaxInt32}
		if err := tx.PutSalesProgress(ctx, left); err != nil {
			return err
		}
		return tx.DispatchFacts(ctx, facts, true)
	})
}

// sellToDispatch sells until there are enough facts to dispatch for a slice.
func (b *bench) sellToDispatch(ctx context.Context, slice time.Duration) error {
	const margin = 2
	calls := int64(max(firstDispatches, margin*b.fastest)*(slice+ramp(slice)).Seconds()) + int64(b.Clients)
	missing := calls*dispatchedFacts - b.undispatched
	if missing <= 0 {
		return nil
	}
	return b.sell(ctx, int(missing), 1, "selling what is dispatched", func(int, ticketing.Order) {})
}
