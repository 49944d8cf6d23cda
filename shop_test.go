package ticketing_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ticketingtest"
)

// onShops runs a test on each store with a company that is ready to sell. The books are verified when the test ends.
func onShops(t *testing.T, config *ticketingtest.Config, test func(t *testing.T, shop *ticketingtest.Shop)) {
	t.Helper()
	for _, store := range storesFor(t) {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			test(t, openShop(t, store, config))
		})
	}
}

func openShop(t testing.TB, store testdb.Store, config *ticketingtest.Config) *ticketingtest.Shop {
	t.Helper()
	var c ticketingtest.Config
	if config != nil {
		c = *config
	}
	c.Store = store.Open(t)
	return ticketingtest.New(t, &c)
}

// show returns the JSON that a client gets.
func show(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	is.New(t).NoErr(err)
	return string(text)
}

// tiers returns the tiers of an event by name.
func tiers(t testing.TB, shop *ticketingtest.Shop, eventID uuid.UUID) map[string]ticketing.InventoryTier {
	t.Helper()
	listed, err := shop.ListInventory(t.Context(), shop.Caller, eventID)
	is.New(t).NoErr(err)
	named := make(map[string]ticketing.InventoryTier, len(listed))
	for _, tier := range listed {
		named[tier.Tier] = tier
	}
	return named
}

// patch changes an event. The change has to succeed.
func patch(
	t testing.TB, shop *ticketingtest.Shop, eventID uuid.UUID, params ticketing.UpdateEventParams,
) ticketing.Event {
	t.Helper()
	event, err := shop.UpdateEvent(t.Context(), shop.Caller, eventID, params)
	is.New(t).NoErr(err)
	return event
}

// publish makes a draft published, and unpublish makes a published event a draft.
func publish(t testing.TB, shop *ticketingtest.Shop, eventID uuid.UUID) ticketing.Event {
	t.Helper()
	return patch(t, shop, eventID, ticketing.UpdateEventParams{Status: of(ticketing.EventPublished)})
}

func unpublish(t testing.TB, shop *ticketingtest.Shop, eventID uuid.UUID) ticketing.Event {
	t.Helper()
	return patch(t, shop, eventID, ticketing.UpdateEventParams{Status: of(ticketing.EventDraft)})
}

// cancelled returns an event that was cancelled, and ended one that was ended.
func cancelled(t testing.TB, shop *ticketingtest.Shop) ticketing.Event {
	t.Helper()
	event, err := shop.CancelEvent(t.Context(), shop.Caller, shop.Event(t).ID)
	is.New(t).NoErr(err)
	return event
}

func ended(t testing.TB, shop *ticketingtest.Shop) ticketing.Event {
	t.Helper()
	event, err := shop.Staff.EndEvent(t.Context(), shop.Event(t).ID)
	is.New(t).NoErr(err)
	return event
}

// kept is what a store has of a company, which a refused request must leave unchanged.
type kept struct {
	Float, Earnings int64 // sequences
	Orders          int
	Facts           int
	Stock           []driver.StockTotal
	Wallets         ticketing.Wallets
}

func holdings(t testing.TB, shop *ticketingtest.Shop) kept {
	t.Helper()
	id := shop.Company.ID
	found := kept{Wallets: shop.Wallets(t)}
	is.New(t).NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		wallets, err := tx.Wallets(ctx, []driver.WalletRef{
			{CompanyID: id, Wallet: "FLOAT"}, {CompanyID: id, Wallet: "EARNINGS"},
		})
		if err != nil {
			return err
		}
		found.Float, found.Earnings = wallets[0].Sequence, wallets[1].Sequence
		orders, err := tx.ListOrders(ctx, driver.OrderQuery{CompanyID: id, Limit: 1000})
		if err != nil {
			return err
		}
		facts, err := tx.ListFacts(ctx, id, driver.Position{}, 1000)
		if err != nil {
			return err
		}
		found.Orders, found.Facts = len(orders), len(facts)
		found.Stock, err = tx.StockTotals(ctx, id)
		return err
	}))
	return found
}
