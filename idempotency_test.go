package ticketing_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestIdempotencyKeysHaveBounds checks Sections 4.1 and 8: an idempotency key, on both sides of every limit, for every
// operation. A violation of the key is reported before those of the body.
func TestIdempotencyKeysHaveBounds(t *testing.T) {
	t.Parallel()
	const (
		none = ticketing.CodeIdempotencyKeyRequired
		bad  = ticketing.CodeInvalidRequest
	)
	keys := map[string]ticketing.Code{
		"": none, "1234567": bad, "12345678": "", strings.Repeat("k", 128): "", strings.Repeat("k", 129): bad,
		"a.b_c:d-e": "", "Z......9": "", ".1234567": bad, "-1234567": bad, ":1234567": bad, "_1234567": bad,
		"1234567 ": bad, " 12345678": bad, "1234/678": bad, "1234567é": bad, "12345678\n": bad, "1234\x00678": bad,
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event, order := ready(t, shop)
		for key, want := range keys {
			is.New(t).Equal(code(ticketing.CheckIdempotencyKey(key)), want)
			for _, operation := range keyedOperations(shop.Service, event, order) {
				if _, err := operation.call(t.Context(), shop.Caller, key); code(err) != want {
					t.Errorf("%s with %q: %v", operation.name, key, err)
				}
			}
			if want == "" {
				continue
			}
			_, err := shop.CreateEvent(t.Context(), shop.Caller, key, ticketing.CreateEventParams{})
			is.New(t).Equal(code(err), want)
			is.New(t).True(want == none || strings.HasPrefix(said(err), "Idempotency-Key: "))
		}
		// It is also reported before a missing verification.
		is := is.New(t)
		_, err := shop.Staff.RevokeVerification(t.Context(), shop.Company.ID)
		is.NoErr(err)
		_, err = shop.Checkout(t.Context(), shop.Caller, "", ticketing.CheckoutParams{})
		is.Equal(code(err), none)
		_, err = shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketing.CheckoutParams{})
		is.Equal(code(err), bad)
	})
}

// TestReplayIsByteForByte checks Section 4.11, item 3: a replay returns the original result, byte for byte, whatever
// has happened since. It does so any number of times and has no further effect.
func TestReplayIsByteForByte(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ctx := t.Context()
		event, order := ready(t, shop)
		operations := keyedOperations(shop.Service, event, order)
		keys, want := make([]string, len(operations)), make([]string, len(operations))
		var made ticketing.Event
		for i, operation := range operations {
			keys[i] = shop.Key()
			result, err := operation.call(ctx, shop.Caller, keys[i])
			is.NoErr(err)
			want[i] = show(t, result)
			if created, ok := result.(ticketing.Event); ok {
				made = created
			}
		}
		replay := func(what string, service *ticketing.Service, caller ticketing.Caller) {
			t.Helper()
			before := holdings(t, shop)
			for i, operation := range keyedOperations(service, event, order) {
				result, err := operation.call(ctx, caller, keys[i])
				if err != nil {
					t.Fatalf("%s %s: %v", operation.name, what, err)
				}
				if got := show(t, result); got != want[i] {
					t.Errorf("%s %s: %s, not %s", operation.name, what, got, want[i])
				}
			}
			is.Equal(holdings(t, shop), before)
		}
		replay("at once", shop.Service, shop.Caller)
		shop.Clock.Advance(time.Hour)
		replay("an hour later", shop.Service, shop.Caller)

		patch(t, shop, made.ID, ticketing.UpdateEventParams{Title: of("New"), TicketCategories: of([]string{"Balcony"})})
		_, err := shop.UpdateInventory(ctx, shop.Caller, event.ID, "VIP", ticketing.UpdateInventoryParams{
			UnitPrice: of(money.Amount(9)), Currency: of("NGN"), IsFree: of(false), Status: of(ticketing.InventoryPaused),
		})
		is.NoErr(err)
		replay("after the resource changed", shop.Service, shop.Caller)

		_, err = shop.Staff.UpdateBranding(ctx, shop.Company.ID, ticketing.UpdateBrandingParams{BrandName: of("New")})
		is.NoErr(err)
		_, err = shop.Staff.ScheduleCommission(ctx, shop.Company.ID, ticketing.CommissionParams{
			Rate: rateOf(t, "100", money.Percent),
		})
		is.NoErr(err)
		replay("after branding and rate changed", shop.Service, shop.Caller)

		_, err = shop.CancelEvent(ctx, shop.Caller, event.ID)
		is.NoErr(err)
		_, err = shop.CancelEvent(ctx, shop.Caller, made.ID)
		is.NoErr(err)
		replay("after the event was cancelled", shop.Service, shop.Caller)

		again := shop.Reopen(t)
		replay("after a restart", again.Service, shop.Caller)

		rotated, err := shop.Staff.RotateAPIKey(ctx, shop.Caller.KeyID())
		is.NoErr(err)
		_, err = shop.Staff.RevokeAPIKey(ctx, shop.Caller.KeyID())
		is.NoErr(err)
		successor, err := again.Authenticate(ctx, rotated.Key)
		is.NoErr(err)
		replay("after the key was rotated", again.Service, successor)
		replay("by a trusted caller", shop.Service, shop.With(ticketing.AllGrants()...))
	})
}

// TestReplayNeedsAuthority checks Section 4.7: key, grant and verification are checked before a replay. Only a checkout
// requires the verification.
func TestReplayNeedsAuthority(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := ready(t, shop)
		operations := keyedOperations(shop.Service, event, order)
		keys := make([]string, len(operations))
		results := make([]string, len(operations))
		for i, operation := range operations {
			keys[i] = shop.Key()
			result, err := operation.call(t.Context(), shop.Caller, keys[i])
			is.NoErr(err)
			results[i] = show(t, result)
		}
		codes := func(caller ticketing.Caller) (found []ticketing.Code) {
			for i, operation := range operations {
				_, err := operation.call(t.Context(), caller, keys[i])
				found = append(found, code(err))
			}
			return found
		}
		const denied = ticketing.CodePermissionDenied
		_, err := shop.Staff.RevokeVerification(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.Equal(codes(shop.Caller), []ticketing.Code{"", "", ticketing.CodeVerificationRequired, ""})
		_, err = shop.Staff.GrantGrace(t.Context(), shop.Company.ID, shop.Clock.Now().Add(time.Hour))
		is.NoErr(err)
		is.Equal(codes(shop.Caller), []ticketing.Code{"", "", "", ""})
		_, err = shop.Staff.RevokeAPIKey(t.Context(), shop.Caller.KeyID())
		is.NoErr(err)
		is.Equal(codes(shop.Caller), []ticketing.Code{denied, denied, denied, denied})
		_, err = shop.Staff.SuspendCompany(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.Equal(codes(shop.With(ticketing.AllGrants()...)), []ticketing.Code{denied, denied, denied, denied})
		// Restored authority gives access to the original result again.
		_, err = shop.Staff.ActivateCompany(t.Context(), shop.Company.ID)
		is.NoErr(err)
		for i, operation := range operations {
			result, err := operation.call(t.Context(), shop.With(ticketing.AllGrants()...), keys[i])
			is.NoErr(err)
			is.Equal(show(t, result), results[i])
		}
	})
}

// TestKeysArePerCompanyAndOperation checks Section 4.11, item 2: keys are scoped to a company and an operation.
func TestKeysArePerCompanyAndOperation(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		other := shop.Neighbour(t)
		event, order := ready(t, shop)
		otherEvent, otherOrder := ready(t, other)
		const key = "one-key-for-everything"
		var ids []uuid.UUID
		for _, of := range []struct {
			shop  *ticketingtest.Shop
			event ticketing.Event
			order ticketing.Order
		}{{shop, event, order}, {other, otherEvent, otherOrder}} {
			for _, operation := range keyedOperations(of.shop.Service, of.event, of.order) {
				result, err := operation.call(t.Context(), of.shop.Caller, key)
				is.NoErr(err)
				switch result := result.(type) {
				case ticketing.Event:
					ids = append(ids, result.ID)
				case ticketing.Order:
					ids = append(ids, result.ID)
				case ticketing.TicketValidation:
					ids = append(ids, result.ID)
				}
			}
		}
		is.Equal(len(ids), 6)
		is.Equal(len(slices.CompactFunc(slices.SortedFunc(slices.Values(ids), func(a, b uuid.UUID) int {
			return strings.Compare(a.String(), b.String())
		}), func(a, b uuid.UUID) bool { return a == b })), 6)
	})
}

// TestSameInputIsReplayedAndOtherInputConflicts checks Section 4.11, items 3 and 4: which inputs are the same after
// normalization, and which are not.
func TestSameInputIsReplayedAndOtherInputConflicts(t *testing.T) {
	t.Parallel()
	type (
		event     = ticketing.CreateEventParams
		inventory = ticketing.CreateInventoryParams
		checkout  = ticketing.CheckoutParams
	)
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		ctx := t.Context()
		category, err := shop.Staff.CreateCategory(ctx, "Live music", "live-music")
		is.New(t).NoErr(err)
		on := shop.Event(t)
		second := shop.Event(t)
		shop.Inventory(t, on.ID, "REGULAR", 1_00, 1000)
		shop.Inventory(t, on.ID, "VIP", 1_00, 1000)

		base := ticketingtest.EventParams()
		base.Description, base.OrganizerName = "Text", "Adire"
		base.TicketCategories = []string{"Balcony"}
		for name, test := range map[string]struct {
			change func(*event)
			same   bool
		}{
			"nothing": {func(*event) {}, true},
			"spaces around texts": {
				func(p *event) { p.Title, p.Description, p.Venue = " Lagos Night ", "Text\n", p.Venue+" " }, true,
			},
			"spaces in categories": {func(p *event) { p.TicketCategories = []string{" Balcony "} }, true},
			"title":                {func(p *event) { p.Title = "Other" }, false},
			"case of the title":    {func(p *event) { p.Title = "lagos night" }, false},
			"description":          {func(p *event) { p.Description = "" }, false},
			"date":                 {func(p *event) { p.Date = "2026-12-22" }, false},
			"start":                {func(p *event) { p.StartsAt = "19:01" }, false},
			"end":                  {func(p *event) { p.EndsAt = "23:31" }, false},
			"time zone":            {func(p *event) { p.Timezone = "Africa/Accra" }, false},
			"location":             {func(p *event) { p.Location = "" }, false},
			"venue":                {func(p *event) { p.Venue = "Other" }, false},
			"image":                {func(p *event) { p.ImageURL += "?a" }, false},
			"organizer":            {func(p *event) { p.OrganizerName = "Other" }, false},
			"category":             {func(p *event) { p.CategoryID = category.ID }, false},
			"more categories": {
				func(p *event) { p.TicketCategories = append(slices.Clone(p.TicketCategories), "Aisle") }, false,
			},
			"no categories": {func(p *event) { p.TicketCategories = nil }, false},
			"status":        {func(p *event) { p.Status = ticketing.EventDraft }, false},
		} {
			key, other := shop.Key(), base
			first, err := shop.CreateEvent(ctx, shop.Caller, key, base)
			is.New(t).NoErr(err)
			test.change(&other)
			again, err := shop.CreateEvent(ctx, shop.Caller, key, other)
			judge(t, "event: "+name, test.same, show(t, first), show(t, again), err)
		}
		// Absent and null are the same.
		key, without := shop.Key(), base
		without.TicketCategories = nil
		first, err := shop.CreateEvent(ctx, shop.Caller, key, without)
		is.New(t).NoErr(err)
		without.TicketCategories = []string{}
		again, err := shop.CreateEvent(ctx, shop.Caller, key, without)
		judge(t, "event: empty categories", true, show(t, first), show(t, again), err)

		for name, test := range map[string]struct {
			change func(*inventory)
			event  uuid.UUID
			same   bool
		}{
			"nothing":       {func(*inventory) {}, on.ID, true},
			"spaces":        {func(p *inventory) { p.Title, p.Description = " VIP ", " " }, on.ID, true},
			"another event": {func(*inventory) {}, second.ID, false},
			"tier":          {func(p *inventory) { p.Tier = "REGULAR" }, on.ID, false},
			"title":         {func(p *inventory) { p.Title = "Other" }, on.ID, false},
			"description":   {func(p *inventory) { p.Description = "Other" }, on.ID, false},
			"price":         {func(p *inventory) { p.UnitPrice++ }, on.ID, false},
			"free":          {func(p *inventory) { p.UnitPrice, p.IsFree = 0, true }, on.ID, false},
			"quantity":      {func(p *inventory) { p.Quantity++ }, on.ID, false},
			"status":        {func(p *inventory) { p.Status = ticketing.InventoryPaused }, on.ID, false},
		} {
			key, other := shop.Key(), ticketingtest.InventoryParams("VIP", 7_00, 3)
			first, err := shop.CreateInventory(ctx, shop.Caller, on.ID, key, other)
			is.New(t).NoErr(err)
			test.change(&other)
			again, err := shop.CreateInventory(ctx, shop.Caller, test.event, key, other)
			judge(t, "inventory: "+name, test.same, show(t, first), show(t, again), err)
		}

		basket := ticketingtest.Basket(on.ID, "VIP", 1_00, 2)
		basket.Buyer.Fullname, basket.Buyer.Phone = "Ada Obi", "+1"
		basket.Lines = append(basket.Lines,
			ticketing.CheckoutLineParams{Tier: "REGULAR", Quantity: 1, ExpectedUnitPrice: 1_00, Currency: "NGN"})
		for name, test := range map[string]struct {
			change func(*checkout)
			same   bool
		}{
			"nothing":           {func(*checkout) {}, true},
			"case of the email": {func(p *checkout) { p.Buyer.Email = " ADA@example.com" }, true},
			"spaces":            {func(p *checkout) { p.Buyer.Fullname, p.Buyer.Phone = " Ada Obi ", "+1 " }, true},
			"order of lines":    {func(p *checkout) { slices.Reverse(p.Lines) }, true},
			"event":             {func(p *checkout) { p.EventID = second.ID }, false},
			"email":             {func(p *checkout) { p.Buyer.Email = "other@example.com" }, false},
			"name":              {func(p *checkout) { p.Buyer.Fullname = "" }, false},
			"phone":             {func(p *checkout) { p.Buyer.Phone = "+2" }, false},
			"quantity":          {func(p *checkout) { p.Lines[0].Quantity++ }, false},
			"price":             {func(p *checkout) { p.Lines[0].ExpectedUnitPrice++ }, false},
			"tier":              {func(p *checkout) { p.Lines[0].Tier = "STUDENT" }, false},
			"a line less":       {func(p *checkout) { p.Lines = p.Lines[:1] }, false},
		} {
			key, other := shop.Key(), basket
			first, err := shop.Checkout(ctx, shop.Caller, key, basket)
			is.New(t).NoErr(err)
			other.Lines = slices.Clone(basket.Lines)
			test.change(&other)
			lines := slices.Clone(other.Lines)
			again, err := shop.Checkout(ctx, shop.Caller, key, other)
			judge(t, "checkout: "+name, test.same, show(t, first), show(t, again), err)
			is.New(t).Equal(other.Lines, lines) // The caller's slice stays as it was.
		}
	})
}

// judge checks that a second request was a replay of the first if same is true, and a conflict otherwise.
func judge(t *testing.T, name string, same bool, first, again string, err error) {
	t.Helper()
	const reused = "The idempotency key was used with different input."
	switch {
	case same && (err != nil || again != first):
		t.Errorf("%s: %v, and %s, not %s", name, err, again, first)
	case !same && (code(err) != ticketing.CodeConflict || said(err) != reused):
		t.Errorf("%s: %v", name, err)
	}
}

// TestARefusedRequestSpendsNoKey checks that a refused request uses no key up, so another input may use it (Section
// 4.7).
func TestARefusedRequestSpendsNoKey(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := ready(t, shop)
		key := shop.Key()
		bad := ticketingtest.EventParams()
		bad.CategoryID = uuid.New()
		_, err := shop.CreateEvent(t.Context(), shop.Caller, key, bad)
		is.Equal(code(err), ticketing.CodeInvalidRequest)
		_, err = shop.CreateInventory(t.Context(), shop.Caller, event.ID, key, ticketingtest.InventoryParams("Balcony", 1, 1))
		is.Equal(code(err), ticketing.CodeInvalidRequest)
		_, err = shop.Checkout(t.Context(), shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", 1, 1))
		is.Equal(code(err), ticketing.CodeInventoryUnavailable)
		_, err = shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, uuid.New(), key, ticketing.ValidateParams{})
		is.Equal(code(err), ticketing.CodeNotFound)
		for _, operation := range keyedOperations(shop.Service, event, order) {
			_, err := operation.call(t.Context(), shop.Caller, key)
			is.NoErr(err)
		}
	})
}
