package ticketing_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// rateCounter counts how often entries of commission schedules are read.
type rateCounter struct {
	driver.Store

	reads atomic.Int64
}

func (c *rateCounter) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return c.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return fn(ctx, countedRates{tx, c}) })
}

type countedRates struct {
	driver.ReadTx

	counter *rateCounter
}

func (c countedRates) Rates(ctx context.Context, refs []driver.RateRef) ([]driver.Rate, error) {
	c.counter.reads.Add(1)
	return c.ReadTx.Rates(ctx, refs)
}

// TestOrdersReadAnEntryOfTheScheduleOnce checks that the entry of a commission schedule that an order names, which
// never changes, is read once. Later orders and pages show the same entry. A new entry is read for the orders that name
// it.
func TestOrdersReadAnEntryOfTheScheduleOnce(t *testing.T) {
	t.Parallel()
	for _, store := range storesFor(t) {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			counter := &rateCounter{Store: store.Open(t)}
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: counter})
			event := shop.Event(t)
			shop.Inventory(t, event.ID, "VIP", 100_00, 10)
			sold := shop.Sell(t, event.ID, "VIP", 1)
			read := func(want ticketing.Order) {
				t.Helper()
				order, err := shop.GetOrder(t.Context(), shop.Caller, want.ID)
				is.NoErr(err)
				is.Equal(show(t, order), show(t, want))
			}
			read(sold)
			is.Equal(counter.reads.Load(), int64(1))
			read(sold)
			page, err := shop.ListOrders(t.Context(), shop.Caller, ticketing.OrderFilter{})
			is.NoErr(err)
			is.Equal(show(t, page.Items[0]), show(t, sold))
			is.Equal(counter.reads.Load(), int64(1))

			rate, err := shop.Staff.ScheduleCommission(t.Context(), shop.Company.ID, ticketing.CommissionParams{
				Rate: rateOf(t, "7", money.Percent), EffectiveFrom: new(shop.Clock.Now()),
			})
			is.NoErr(err)
			later := shop.Sell(t, event.ID, "VIP", 1)
			is.Equal(later.Commission.Rate.ID, rate.ID)
			page, err = shop.ListOrders(t.Context(), shop.Caller, ticketing.OrderFilter{})
			is.NoErr(err)
			is.Equal([]string{show(t, page.Items[0]), show(t, page.Items[1])}, []string{show(t, later), show(t, sold)})
			read(later)
			is.Equal(counter.reads.Load(), int64(2))
		})
	}
}
