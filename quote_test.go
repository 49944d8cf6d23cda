package ticketing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// quoteOf requests a quote for lines.
func quoteOf(
	t testing.TB, shop *ticketingtest.Shop, eventID uuid.UUID, lines ...ticketing.QuoteLineParams,
) (ticketing.Quote, error) {
	t.Helper()
	return shop.Quote(t.Context(), shop.Caller, ticketing.QuoteParams{EventID: eventID, Lines: lines})
}

// TestQuoteOnTheWire checks Section 2.5: the JSON of a quote. Its lines are in lexicographic order, and not in that of
// the request.
func TestQuoteOnTheWire(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t, with("balcony"))
		shop.Inventory(t, event.ID, "VIP", 150_00, 10)
		shop.Inventory(t, event.ID, "balcony", 0, 2)
		shop.Inventory(t, event.ID, "REGULAR", 33_33, 3)
		shop.Clock.Advance(time.Second + 1_999_999)
		quote, err := quoteOf(t, shop, event.ID, ticketing.QuoteLineParams{Tier: "balcony", Quantity: 1},
			ticketing.QuoteLineParams{Tier: "VIP", Quantity: 2}, ticketing.QuoteLineParams{Tier: "REGULAR", Quantity: 3})
		is.NoErr(err)
		amount := func(text string) string { return `{"amount":"` + text + `","currency":"NGN"}` }
		is.Equal(show(t, quote), `{"object":"pricing_quote","eventId":"`+event.ID.String()+`","currency":"NGN","lines":[`+
			`{"tier":"REGULAR","quantity":3,"unitPrice":`+amount("33.33")+`,"subtotal":`+
			amount("99.99")+`,"availableAtPrice":3},`+
			`{"tier":"VIP","quantity":2,"unitPrice":`+amount("150.00")+`,"subtotal":`+
			amount("300.00")+`,"availableAtPrice":10},`+
			`{"tier":"balcony","quantity":1,"unitPrice":`+amount("0.00")+`,"subtotal":`+
			amount("0.00")+`,"availableAtPrice":2}],`+
			`"total":`+amount("399.99")+`,"quotedAt":"2026-11-21T09:30:01.001Z"}`)
		// A quote reserves nothing (Section 4.6).
		is.Equal(tiers(t, shop, event.ID)["balcony"].AvailableQuantity, int64(2))
	})
}

// TestQuoteFindsOnePrice checks Section 4.6: the price is the lowest at which the tier alone fills the quantity. Prices
// are never mixed.
func TestQuoteFindsOnePrice(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 300, 10)
		shop.Inventory(t, event.ID, "VIP", 100, 2)
		shop.Inventory(t, event.ID, "VIP", 200, 3)
		shop.Inventory(t, event.ID, "VIP", 100, 1, func(p *ticketing.CreateInventoryParams) { p.Title = "Of another batch" })
		shop.Inventory(t, event.ID, "VIP", 50, 20, ticketingtest.Paused)
		shop.Inventory(t, event.ID, "REGULAR", 10, 50)
		for _, test := range []struct {
			quantity  int
			price     money.Amount // 0: PRICING_UNAVAILABLE
			available int64
		}{{1, 100, 3}, {3, 100, 3}, {4, 300, 10}, {10, 300, 10}, {11, 0, 0}, {16, 0, 0}} {
			is := is.New(t)
			quote, err := quoteOf(t, shop, event.ID, ticketing.QuoteLineParams{Tier: "VIP", Quantity: test.quantity})
			if test.price == 0 {
				is.Equal(code(err), ticketing.CodePricingUnavailable)
				continue
			}
			is.NoErr(err)
			is.Equal(quote.Lines, []ticketing.QuoteLine{{
				Tier: "VIP", Quantity: test.quantity, UnitPrice: test.price,
				Subtotal: test.price * money.Amount(test.quantity), AvailableAtPrice: test.available,
			}})
			is.Equal(quote.Total, quote.Lines[0].Subtotal)
		}
	})
}

// TestQuoteWhereNothingIsOnSale checks that PRICING_UNAVAILABLE is also the error for an event that is not published,
// and for a tier that is unknown or has nothing on sale.
func TestQuoteWhereNothingIsOnSale(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100, 1)
		shop.Inventory(t, event.ID, "REGULAR", 100, 1, ticketingtest.Paused)
		shop.Inventory(t, event.ID, "STUDENT", 100, 1)
		shop.Sell(t, event.ID, "STUDENT", 1)
		draft := shop.Event(t)
		shop.Inventory(t, draft.ID, "VIP", 100, 1)
		unpublish(t, shop, draft.ID)
		_, err := shop.UpdateInventory(t.Context(), shop.Caller, draft.ID, "VIP",
			ticketing.UpdateInventoryParams{Status: of(ticketing.InventoryAvailable)})
		is.New(t).NoErr(err)
		over := shop.Event(t)
		shop.Inventory(t, over.ID, "VIP", 100, 1)
		_, err = shop.Staff.EndEvent(t.Context(), over.ID)
		is.New(t).NoErr(err)
		for name, test := range map[string]struct {
			event uuid.UUID
			tiers []string
		}{
			"draft": {draft.ID, []string{"VIP"}}, "ended": {over.ID, []string{"VIP"}},
			"cancelled": {cancelled(t, shop).ID, []string{"VIP"}}, "unknown": {event.ID, []string{"Balcony"}},
			"case": {event.ID, []string{"vip"}}, "space": {event.ID, []string{"VIP "}},
			"without admissions": {event.ID, []string{"VVIP"}}, "paused": {event.ID, []string{"REGULAR"}},
			"sold out": {event.ID, []string{"STUDENT"}}, "one of two": {event.ID, []string{"VIP", "REGULAR"}},
		} {
			var lines []ticketing.QuoteLineParams
			for _, tier := range test.tiers {
				lines = append(lines, ticketing.QuoteLineParams{Tier: tier, Quantity: 1})
			}
			_, err := quoteOf(t, shop, test.event, lines...)
			if code(err) != ticketing.CodePricingUnavailable {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// lineTest is a case of the lines of a quote or checkout, with the violations.
type lineTest struct {
	name  string
	lines []ticketing.QuoteLineParams
	want  string
}

// lineTests returns the limits of lines, on both sides (Sections 4.6, 4.7 and 8).
func lineTests() []lineTest {
	line := func(tier string, quantity int) ticketing.QuoteLineParams {
		return ticketing.QuoteLineParams{Tier: tier, Quantity: quantity}
	}
	many := func(n int) (lines []ticketing.QuoteLineParams) {
		for i := range n {
			lines = append(lines, line(fmt.Sprintf("Row %02d", i), 1))
		}
		return lines
	}
	type lines = []ticketing.QuoteLineParams
	const (
		total = "lines: must be for at most 50 admissions in all"
		count = "lines: must be 1 to 50 lines"
		least = "lines[0].quantity: must be at least 1"
	)
	return []lineTest{
		{name: "one", lines: lines{line("VIP", 1)}},
		{name: "fifty of one", lines: lines{line("VIP", 50)}},
		{name: "fifty of two", lines: lines{line("VIP", 49), line("REGULAR", 1)}},
		{name: "fifty lines", lines: many(50)},
		{name: "no lines", want: count},
		{name: "fifty-one lines", lines: many(51), want: count},
		{name: "fifty-one of one", lines: lines{line("VIP", 51)}, want: total},
		{name: "fifty-one of two", lines: lines{line("VIP", 50), line("REGULAR", 1)}, want: total},
		{name: "so many that they overflow", lines: lines{line("VIP", 1<<62), line("REGULAR", 1<<62)}, want: total},
		{name: "none of one", lines: lines{line("VIP", 0)}, want: least},
		{name: "less than none", lines: lines{line("VIP", -1), line("REGULAR", 51)}, want: least + "; " + total},
		{
			name: "one tier twice", lines: lines{line("VIP", 1), line("VIP", 1)},
			want: "lines[1].tier: must not be that of another line",
		},
		{name: "no tier", lines: lines{line("", 1)}, want: "lines[0].tier: must not be empty"},
		{name: "longest tier", lines: lines{line(wide(60), 1)}},
		{
			name: "tier too long in blanks", lines: lines{line("VIP"+strings.Repeat(" ", 58), 1)},
			want: "lines[0].tier: must be at most 60 characters",
		},
		{
			name: "tier with a line break", lines: lines{line("VIP\n", 1)},
			want: "lines[0].tier: must not contain control characters",
		},
		{name: "tier too long", lines: lines{line(wide(61), 1)}, want: "lines[0].tier: must be at most 60 characters"},
		{
			name: "tier of control characters", lines: lines{line("a\x00", 1)},
			want: "lines[0].tier: must not contain control characters",
		},
	}
}

func TestQuoteLinesHaveBounds(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		categories := []string{wide(60)}
		for i := range 43 {
			categories = append(categories, fmt.Sprintf("Row %02d", i))
		}
		event := shop.Event(t, with(categories...))
		for _, tier := range event.TicketCategories {
			shop.Inventory(t, event.ID, tier, 100, 50)
		}
		for _, test := range lineTests() {
			_, err := quoteOf(t, shop, event.ID, test.lines...)
			if test.name == "fifty lines" { // An event cannot have fifty custom tiers, so some are unknown.
				is.New(t).Equal(code(err), ticketing.CodePricingUnavailable)
				continue
			}
			if said(err) != test.want {
				t.Errorf("%s: %v", test.name, err)
			}
		}
		// This quotes every tier that an event can have.
		var all []ticketing.QuoteLineParams
		for _, tier := range event.TicketCategories {
			all = append(all, ticketing.QuoteLineParams{Tier: tier, Quantity: 1})
		}
		quote, err := quoteOf(t, shop, event.ID, all...)
		is.New(t).NoErr(err)
		is.New(t).Equal(len(quote.Lines), ticketing.MaxTicketCategories)
	})
}

// TestQuoteOfTheLargestTotal checks that the total of a quote may exceed the largest money input (Section 2.1).
func TestQuoteOfTheLargestTotal(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", money.MaxInput, 50)
		quote, err := quoteOf(t, shop, event.ID, ticketing.QuoteLineParams{Tier: "VIP", Quantity: 50})
		is.NoErr(err)
		is.Equal(quote.Total.String(), "49999999999999.50")
	})
}
