package ticketing_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestInventoryTierOnTheWire checks Section 2.4: the JSON of a tier.
func TestInventoryTierOnTheWire(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t, with("a/b%"))
		is.Equal(show(t, shop.Inventory(t, event.ID, "a/b%", 150_05, 2)), `{"object":"inventory_tier","tier":"a/b%",`+
			`"status":"AVAILABLE","availableQuantity":2,"totalAdmissions":2,"unitPrice":{"amount":"150.05","currency":"NGN"}}`)
		is.Equal(show(t, shop.Inventory(t, event.ID, "VIP", 0, 1)), `{"object":"inventory_tier","tier":"VIP",`+
			`"status":"AVAILABLE","availableQuantity":1,"totalAdmissions":1,"unitPrice":{"amount":"0.00","currency":"NGN"}}`)
		shop.Sell(t, event.ID, "VIP", 1)
		listed, err := shop.ListInventory(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		is.Equal(show(t, listed), `[{"object":"inventory_tier","tier":"VIP","status":"SOLD_OUT","availableQuantity":0,`+
			`"totalAdmissions":1,"unitPrice":null},{"object":"inventory_tier","tier":"a/b%","status":"AVAILABLE",`+
			`"availableQuantity":2,"totalAdmissions":2,"unitPrice":{"amount":"150.05","currency":"NGN"}}]`)
	})
}

// TestTiersAreListedInOrder checks that a tier is listed once it has had an admission, even if none is left. Tiers are
// sorted by code point.
func TestTiersAreListedInOrder(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t, with("zebra", "Zebra crossing", "über", "𝔘", "\uff5e"))
		listed, err := shop.ListInventory(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		is.Equal(show(t, listed), "[]")
		for _, name := range []string{"𝔘", "zebra", "VIP", "\uff5e", "über", "Zebra crossing", "EARLY_BIRD"} {
			shop.Inventory(t, event.ID, name, 1_00, 1)
		}
		_, err = shop.CancelInventory(t.Context(), shop.Caller, event.ID, "zebra")
		is.NoErr(err)
		listed, err = shop.ListInventory(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		names := make([]string, len(listed))
		for i, tier := range listed {
			names[i] = tier.Tier
		}
		is.Equal(names, []string{"EARLY_BIRD", "VIP", "Zebra crossing", "zebra", "über", "\uff5e", "𝔘"})
	})
}

// TestTierShowsWhatItsAdmissionsAre checks the table of tier statuses, prices and counts, as Section 3.2 and the
// decisions on it define it.
func TestTierShowsWhatItsAdmissionsAre(t *testing.T) {
	t.Parallel()
	const (
		available = ticketing.InventoryAvailable
		paused    = ticketing.InventoryPaused
		soldOut   = ticketing.InventorySoldOut
		gone      = ticketing.InventoryCancelled
	)
	type shop = *ticketingtest.Shop
	type step = func(*testing.T, shop, uuid.UUID)
	add := func(price money.Amount, quantity int, changes ...func(*ticketing.CreateInventoryParams)) step {
		return func(t *testing.T, s shop, id uuid.UUID) { s.Inventory(t, id, "VIP", price, quantity, changes...) }
	}
	sell := func(quantity int) step {
		return func(t *testing.T, s shop, id uuid.UUID) { s.Sell(t, id, "VIP", quantity) }
	}
	change := func(params ticketing.UpdateInventoryParams) step {
		return func(t *testing.T, s shop, id uuid.UUID) {
			_, err := s.UpdateInventory(t.Context(), s.Caller, id, "VIP", params)
			is.New(t).NoErr(err)
		}
	}
	cancel := func(t *testing.T, s shop, id uuid.UUID) {
		_, err := s.CancelInventory(t.Context(), s.Caller, id, "VIP")
		is.New(t).NoErr(err)
	}
	price := func(amount money.Amount) ticketing.UpdateInventoryParams {
		return ticketing.UpdateInventoryParams{UnitPrice: &amount, Currency: of("NGN"), IsFree: of(amount == 0)}
	}
	pause := change(ticketing.UpdateInventoryParams{Status: of(paused)})
	release := change(ticketing.UpdateInventoryParams{Status: of(available)})
	tests := []struct {
		name      string
		steps     []step
		status    ticketing.InventoryStatus
		available int64
		total     int64
		price     money.Amount // -1: null
	}{
		{"on sale", []step{add(100, 3)}, available, 3, 3, 100},
		{"paused", []step{add(100, 3, ticketingtest.Paused)}, paused, 0, 3, 100},
		{"lowest price is on sale", []step{add(200, 1), add(100, 2), add(300, 1)}, available, 4, 4, 100},
		{"lowest price is paused", []step{add(200, 1), add(100, 2, ticketingtest.Paused)}, available, 1, 3, 100},
		{"lowest price is sold", []step{add(200, 1), add(100, 2), sell(2)}, available, 1, 3, 200},
		{"sold out", []step{add(100, 2), sell(2)}, soldOut, 0, 2, -1},
		{"only paused is left", []step{add(100, 2), sell(2), add(300, 1, ticketingtest.Paused)}, paused, 0, 3, 300},
		{"cancelled", []step{add(100, 3), sell(1), cancel}, gone, 0, 3, -1},
		{"cancelled when paused", []step{add(100, 3), pause, cancel}, gone, 0, 3, -1},
		{"on sale after a cancellation", []step{add(100, 3), cancel, add(100, 2)}, available, 2, 5, 100},
		{"sold out after a cancellation", []step{add(100, 3), cancel, add(100, 2), sell(2)}, soldOut, 0, 5, -1},
		{"cancelled again", []step{add(100, 3), cancel, add(100, 2), sell(1), cancel}, gone, 0, 5, -1},
		{"paused and released", []step{add(100, 3), pause, release}, available, 3, 3, 100},
		{
			"a new price for all that is unsold",
			[]step{add(100, 3), sell(1), add(200, 2, ticketingtest.Paused), change(price(0))},
			available, 2, 5, 0,
		},
		{
			"price and status", []step{add(100, 3), change(ticketing.UpdateInventoryParams{
				UnitPrice: of(money.Amount(50)), Currency: of("NGN"), IsFree: of(false), Status: of(paused),
			})}, paused, 0, 3, 50,
		},
	}
	onShops(t, nil, func(t *testing.T, s *ticketingtest.Shop) {
		for _, test := range tests {
			event := s.Event(t)
			for _, step := range test.steps {
				step(t, s, event.ID)
			}
			want := ticketing.InventoryTier{
				Object: "inventory_tier", Tier: "VIP", Status: test.status, AvailableQuantity: test.available,
				TotalAdmissions: test.total, UnitPrice: &test.price,
			}
			if test.price < 0 {
				want.UnitPrice = nil
			}
			is := is.New(t)
			if got := tiers(t, s, event.ID)["VIP"]; show(t, got) != show(t, want) {
				t.Errorf("%s: %s, not %s", test.name, show(t, got), show(t, want))
			}
			// A tier with nothing on sale or paused can be neither changed nor cancelled (Section 3.2).
			if test.price < 0 {
				_, err := s.UpdateInventory(t.Context(), s.Caller, event.ID, "VIP",
					ticketing.UpdateInventoryParams{Status: of(paused)})
				is.Equal(code(err), ticketing.CodeConflict)
				_, err = s.CancelInventory(t.Context(), s.Caller, event.ID, "VIP")
				is.Equal(code(err), ticketing.CodeConflict)
			}
		}
	})
}

// TestInventoryOnADraftIsPaused checks Section 3.2: AVAILABLE inventory of a draft is PAUSED. A change returns the tier
// as it is after the change.
func TestInventoryOnADraftIsPaused(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t, ticketingtest.Draft)
		want := ticketing.InventoryTier{
			Object: "inventory_tier", Tier: "VIP", Status: ticketing.InventoryPaused, TotalAdmissions: 2,
			UnitPrice: of(money.Amount(100)),
		}
		is.Equal(show(t, shop.Inventory(t, event.ID, "VIP", 100, 2)), show(t, want))
		changed, err := shop.UpdateInventory(t.Context(), shop.Caller, event.ID, "VIP",
			ticketing.UpdateInventoryParams{Status: of(ticketing.InventoryAvailable)})
		is.NoErr(err)
		want.Status, want.AvailableQuantity = ticketing.InventoryAvailable, 2
		is.Equal(show(t, changed), show(t, want))
		removed, err := shop.CancelInventory(t.Context(), shop.Caller, event.ID, "VIP")
		is.NoErr(err)
		want.Status, want.AvailableQuantity, want.UnitPrice = ticketing.InventoryCancelled, 0, nil
		is.Equal(show(t, removed), show(t, want))
	})
}

// TestInventoryMembersHaveBounds checks Sections 4.5 and 8: the members of a create, on both sides of every limit.
func TestInventoryMembersHaveBounds(t *testing.T) {
	t.Parallel()
	type params = ticketing.CreateInventoryParams
	const priced = "isFree: must be true for a price of 0 and false for any other"
	tests := []struct {
		name   string
		change func(*params)
		want   string
	}{
		{name: "one", change: func(p *params) { p.Quantity = 1 }},
		{name: "a thousand", change: func(p *params) { p.Quantity = 1000 }},
		{name: "none", change: func(p *params) { p.Quantity = 0 }, want: "quantity: must be from 1 to 1000"},
		{name: "fewer", change: func(p *params) { p.Quantity = -1 }, want: "quantity: must be from 1 to 1000"},
		{name: "too many", change: func(p *params) { p.Quantity = 1001 }, want: "quantity: must be from 1 to 1000"},
		{name: "dearest", change: func(p *params) { p.UnitPrice = money.MaxInput }},
		{
			name: "too dear", change: func(p *params) { p.UnitPrice = money.MaxInput + 1 },
			want: "unitPrice: must be from 0 to 999999999999.99",
		},
		{
			name: "negative", change: func(p *params) { p.UnitPrice = -1 }, want: "unitPrice: must be from 0 to 999999999999.99",
		},
		{name: "free", change: func(p *params) { p.UnitPrice, p.IsFree = 0, true }},
		{name: "free and priced", change: func(p *params) { p.IsFree = true }, want: priced},
		{name: "neither", change: func(p *params) { p.UnitPrice = 0 }, want: priced},
		{name: "currency", change: func(p *params) { p.Currency = "USD" }, want: "currency: must be NGN"},
		{name: "case of currency", change: func(p *params) { p.Currency = "ngn" }, want: "currency: must be NGN"},
		{name: "longest title", change: func(p *params) { p.Title = wide(200) }},
		{
			name: "title too long", change: func(p *params) { p.Title = wide(201) },
			want: "title: must be at most 200 characters",
		},
		{name: "blank title", change: func(p *params) { p.Title = " " }, want: "title: must not be empty"},
		{
			name: "title of lines", change: func(p *params) { p.Title = "a\nb" },
			want: "title: must not contain control characters",
		},
		{name: "longest description", change: func(p *params) { p.Description = wide(1998) + "\n." }},
		{
			name: "description too long", change: func(p *params) { p.Description = wide(2001) },
			want: "description: must be at most 2000 characters",
		},
		{name: "paused", change: ticketingtest.Paused},
		{name: "sold out", change: func(p *params) { p.Status = "SOLD_OUT" }, want: "status: must be AVAILABLE or PAUSED"},
		{name: "cancelled", change: func(p *params) { p.Status = "CANCELLED" }, want: "status: must be AVAILABLE or PAUSED"},
		{name: "no status", change: func(p *params) { p.Status = "" }, want: "status: must be AVAILABLE or PAUSED"},
		{name: "no tier", change: func(p *params) { p.Tier = "" }, want: "tier: must not be empty"},
		{
			name: "another tier", change: func(p *params) { p.Tier = "Balcony" },
			want: "tier: must be a ticket category of the event",
		},
		{
			name: "case of the tier", change: func(p *params) { p.Tier = "vip" },
			want: "tier: must be a ticket category of the event",
		},
		{
			name: "space in the tier", change: func(p *params) { p.Tier = "VIP " },
			want: "tier: must be a ticket category of the event",
		},
		{
			name: "tier too long in blanks", change: func(p *params) { p.Tier = strings.Repeat(" ", 61) },
			want: "tier: must be at most 60 characters",
		},
		{name: "long tier", change: func(p *params) { p.Tier = wide(61) }, want: "tier: must be at most 60 characters"},
		{name: "custom tier", change: func(p *params) { p.Tier = "Ọba" }},
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event := shop.Event(t, with("Ọba"))
		for _, test := range tests {
			is := is.New(t)
			params := ticketingtest.InventoryParams("VIP", 100, 5)
			test.change(&params)
			before := holdings(t, shop)
			_, err := shop.CreateInventory(t.Context(), shop.Caller, event.ID, shop.Key(), params)
			is.Equal(said(err), test.want)
			if test.want != "" {
				is.Equal(code(err), ticketing.CodeInvalidRequest)
				is.Equal(holdings(t, shop), before)
			}
		}
	})
}

// TestInventoryPatchHasBounds checks Section 4.5: a PATCH has at least one change, and a price comes with its currency
// and isFree.
func TestInventoryPatchHasBounds(t *testing.T) {
	t.Parallel()
	amount, currency, free, status := of(money.Amount(50)), of("NGN"), of(false), of(ticketing.InventoryPaused)
	const together = "unitPrice: a change of price needs unitPrice, currency and isFree together"
	type params = ticketing.UpdateInventoryParams
	tests := []struct {
		params params
		want   string
	}{
		{params: params{Status: status}},
		{params: params{UnitPrice: amount, Currency: currency, IsFree: free}},
		{params: params{UnitPrice: amount, Currency: currency, IsFree: free, Status: status}},
		{params: params{}, want: "body: must change at least one member"},
		{params: params{UnitPrice: amount}, want: together},
		{params: params{Currency: currency}, want: together},
		{params: params{IsFree: free}, want: together},
		{params: params{UnitPrice: amount, Currency: currency, Status: status}, want: together},
		{params: params{UnitPrice: amount, IsFree: free}, want: together},
		{params: params{Currency: currency, IsFree: free}, want: together},
		{
			params: params{UnitPrice: amount, Currency: currency, IsFree: of(true)},
			want:   "isFree: must be true for a price of 0 and false for any other",
		},
		{
			params: params{UnitPrice: of(money.MaxInput + 1), Currency: currency, IsFree: free},
			want:   "unitPrice: must be from 0 to 999999999999.99",
		},
		{params: params{UnitPrice: amount, Currency: of("USD"), IsFree: free}, want: "currency: must be NGN"},
		{params: params{Status: of(ticketing.InventorySoldOut)}, want: "status: must be AVAILABLE or PAUSED"},
		{params: params{Status: of(ticketing.InventoryCancelled)}, want: "status: must be AVAILABLE or PAUSED"},
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100, 5)
		for _, test := range tests {
			_, err := shop.UpdateInventory(t.Context(), shop.Caller, event.ID, "VIP", test.params)
			is.New(t).Equal(said(err), test.want)
		}
	})
}

// TestUnknownAndEmptyTiers checks tiers without admissions. A tier that the event does not have is 400 in a create, and
// 404 in a PATCH and a DELETE. A tier of the event without an admission is 409.
func TestUnknownAndEmptyTiers(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		pause := ticketing.UpdateInventoryParams{Status: of(ticketing.InventoryPaused)}
		for tier, want := range map[string]ticketing.Code{
			"Balcony": ticketing.CodeNotFound, "vip": ticketing.CodeNotFound, " VIP": ticketing.CodeNotFound,
			"VIP": ticketing.CodeConflict, "": ticketing.CodeInvalidRequest,
		} {
			_, err := shop.UpdateInventory(t.Context(), shop.Caller, event.ID, tier, pause)
			is.Equal(code(err), want)
			_, err = shop.CancelInventory(t.Context(), shop.Caller, event.ID, tier)
			is.Equal(code(err), want)
		}
		is.Equal(len(tiers(t, shop, event.ID)), 0) // A request creates no tier.
	})
}

// TestEqualCreatesGrowTheNewestBatch checks that a create equal to its tier's newest batch grows that batch, and that
// any other adds a batch after it.
func TestEqualCreatesGrowTheNewestBatch(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		batches := func() (found []int64) {
			is.NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
				if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
					return err
				}
				open, err := tx.LockOpenBatches(ctx, driver.EventRef{CompanyID: shop.Company.ID, ID: event.ID}, []string{"VIP"})
				found = nil
				for _, batch := range open {
					found = append(found, batch.Quantity)
				}
				return err
			}))
			return found
		}
		shop.Inventory(t, event.ID, "VIP", 100, 2)
		shop.Inventory(t, event.ID, "VIP", 100, 3)
		is.Equal(batches(), []int64{5})
		shop.Inventory(t, event.ID, "VIP", 200, 1)
		shop.Inventory(t, event.ID, "VIP", 100, 1)
		shop.Inventory(t, event.ID, "VIP", 100, 1, ticketingtest.Paused)
		shop.Inventory(t, event.ID, "VIP", 100, 1, func(p *ticketing.CreateInventoryParams) { p.Title = "Other" })
		shop.Inventory(t, event.ID, "VIP", 100, 1,
			func(p *ticketing.CreateInventoryParams) { p.Title, p.Description = "Other", "With a view" })
		is.Equal(batches(), []int64{5, 1, 1, 1, 1, 1})
		shop.Sell(t, event.ID, "VIP", 5) // The oldest batch is sold out and no longer open.
		is.Equal(batches(), []int64{1, 1, 1, 1, 1})
	})
}

// TestABatchGrowsAfterItWasSoldOut checks that a batch that was sold out or cancelled and grows is on sale again, and
// that no sold admission is sold twice.
func TestABatchGrowsAfterItWasSoldOut(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100, 2)
		shop.Sell(t, event.ID, "VIP", 2)
		is.Equal(shop.Inventory(t, event.ID, "VIP", 100, 3).AvailableQuantity, int64(3))
		_, err := shop.CancelInventory(t.Context(), shop.Caller, event.ID, "VIP")
		is.NoErr(err)
		// The three cancelled admissions stay cancelled.
		is.Equal(shop.Inventory(t, event.ID, "VIP", 100, 1).AvailableQuantity, int64(1))
		shop.Sell(t, event.ID, "VIP", 1)
		is.Equal(show(t, tiers(t, shop, event.ID)["VIP"]), `{"object":"inventory_tier","tier":"VIP","status":"SOLD_OUT",`+
			`"availableQuantity":0,"totalAdmissions":6,"unitPrice":null}`)
	})
}

// TestAPriceChangeReachesWhatIsUnsold checks Section 4.5: a price change reaches everything unsold and nothing sold.
// The old price is no longer valid.
func TestAPriceChangeReachesWhatIsUnsold(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100, 2)
		shop.Inventory(t, event.ID, "VIP", 200, 2)
		sold := shop.Sell(t, event.ID, "VIP", 1)
		_, err := shop.UpdateInventory(t.Context(), shop.Caller, event.ID, "VIP", ticketing.UpdateInventoryParams{
			UnitPrice: of(money.Amount(300)), Currency: of("NGN"), IsFree: of(false),
		})
		is.NoErr(err)
		_, err = shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 100, 1))
		is.Equal(code(err), ticketing.CodeInventoryUnavailable)
		is.Equal(shop.Sell(t, event.ID, "VIP", 3).Gross, money.Amount(900))
		found, err := shop.GetOrder(t.Context(), shop.Caller, sold.ID)
		is.NoErr(err)
		is.Equal(found, sold)
	})
}

// full creates a tier with the given number of admissions, without a request for each thousand.
func full(t testing.TB, shop *ticketingtest.Shop, eventID uuid.UUID, tier string, admissions int64) {
	t.Helper()
	shop.Inventory(t, eventID, tier, 100, 1)
	ref := driver.EventRef{CompanyID: shop.Company.ID, ID: eventID}
	is.New(t).NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
			return err
		}
		record, err := tx.LockTier(ctx, ref, tier)
		if err != nil {
			return err
		}
		batches, err := tx.LockOpenBatches(ctx, ref, []string{tier})
		if err != nil {
			return err
		}
		record.Total, batches[0].Quantity = admissions, admissions
		if err := tx.UpdateBatches(ctx, batches); err != nil {
			return err
		}
		return tx.UpdateTiers(ctx, []driver.Tier{record})
	}))
}

// TestTierHasACap checks that a tier has at most 1,000,000 admissions, including sold and cancelled ones.
func TestTierHasACap(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		full(t, shop, event.ID, "VIP", ticketing.MaxTierAdmissions-1000)
		_, err := shop.CancelInventory(t.Context(), shop.Caller, event.ID, "VIP")
		is.NoErr(err)
		is.Equal(shop.Inventory(t, event.ID, "VIP", 100, 999).TotalAdmissions, int64(999_999))
		create := func(quantity int) error {
			_, err := shop.CreateInventory(t.Context(), shop.Caller, event.ID, shop.Key(),
				ticketingtest.InventoryParams("VIP", 100, quantity))
			return err
		}
		is.Equal(code(create(2)), ticketing.CodeConflict)
		is.NoErr(create(1))
		is.Equal(code(create(1)), ticketing.CodeConflict)
		is.Equal(tiers(t, shop, event.ID)["VIP"].TotalAdmissions, int64(1_000_000))
		// The limit is that of each tier.
		is.Equal(shop.Inventory(t, event.ID, "REGULAR", 100, 1000).TotalAdmissions, int64(1000))
	})
}

// TestConcurrentCreatesNeverPassTheCap checks that concurrent creates never take a tier past its limit, and that each
// adds exactly its quantity.
func TestConcurrentCreatesNeverPassTheCap(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		full(t, shop, event.ID, "VIP", ticketing.MaxTierAdmissions-5_000)
		codes := make([]ticketing.Code, 20)
		var done sync.WaitGroup
		for i := range codes {
			key := shop.Key()
			done.Go(func() {
				_, err := shop.CreateInventory(t.Context(), shop.Caller, event.ID, key,
					ticketingtest.InventoryParams("VIP", 100, 500))
				codes[i] = code(err)
			})
		}
		done.Wait()
		slices.Sort(codes)
		is.Equal(codes, slices.Concat(
			slices.Repeat([]ticketing.Code{""}, 10), slices.Repeat([]ticketing.Code{ticketing.CodeConflict}, 10)))
		is.Equal(tiers(t, shop, event.ID)["VIP"].TotalAdmissions, int64(1_000_000))
	})
}
