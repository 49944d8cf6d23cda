package ticketing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// MaxAdmissions is the most admissions that one quote or checkout may be for (section 8).
const MaxAdmissions = 50

// Quote is what an order would cost now (section 2.5). It reserves nothing: a later checkout repeats the price as its
// expectedUnitPrice and fails with INVENTORY_UNAVAILABLE if that no longer holds. A quote has no id and is kept
// nowhere. The price that a checkout repeats is all that connects the two.
type Quote struct {
	Object   string       `json:"object"` // always "pricing_quote"
	EventID  uuid.UUID    `json:"eventId"`
	Currency string       `json:"currency"`
	Lines    []QuoteLine  `json:"lines"` // by tier, in lexicographic order of code points
	Total    money.Amount `json:"total"`
	QuotedAt Time         `json:"quotedAt"`
}

// QuoteLine is one tier of a quote, at one exact price. Lines are matched by tier, never by position. A tier may be on
// sale at several prices: the others are not shown.
type QuoteLine struct {
	Tier             string       `json:"tier"`
	Quantity         int          `json:"quantity"`
	UnitPrice        money.Amount `json:"unitPrice"`
	Subtotal         money.Amount `json:"subtotal"`
	AvailableAtPrice int64        `json:"availableAtPrice"` // on sale at UnitPrice in this tier, at least Quantity
}

// QuoteParams are the members of section 4.6.
type QuoteParams struct {
	EventID uuid.UUID
	Lines   []QuoteLineParams // 1 to 50, each of another tier, at most 50 admissions in total
}

// QuoteLineParams requests admissions of one tier.
type QuoteLineParams struct {
	Tier     string
	Quantity int
}

// Quote prices lines at one exact unit price for each tier: the lowest price at which that tier alone can fill the
// whole quantity (section 4.6). Prices are never mixed within a line. It reserves nothing. It needs
// COMPANY:inventory:read.
//
// Event status and prices are of one moment. Errors: INVALID_REQUEST, NOT_FOUND, and PRICING_UNAVAILABLE. The last one
// is also for an event that is not published, and for a tier that is unknown or has nothing on sale.
func (s *Service) Quote(ctx context.Context, caller Caller, params QuoteParams) (Quote, error) {
	if err := caller.Require(GrantInventoryRead); err != nil {
		return Quote{}, err
	}
	var v violations
	lines := slices.Clone(params.Lines)
	// The lines are a copy, because they are sorted below and the caller's slice must not change.
	checkLines(&v, lines, func(l QuoteLineParams) (string, int) { return l.Tier, l.Quantity })
	if err := v.err(); err != nil {
		return Quote{}, err
	}
	// Lines are returned in canonical order, not in that of the request (section 2.5).
	slices.SortFunc(lines, func(a, b QuoteLineParams) int { return strings.Compare(a.Tier, b.Tier) })
	tiers := make([]string, len(lines))
	for i, line := range lines {
		tiers[i] = line.Tier
	}
	prices, err := s.quotes.do(ctx, s, caller, priceQuery{eventID: params.EventID, tiers: tiers})
	if err != nil {
		return Quote{}, err
	}
	// The quote is priced outside the transaction: it reserves nothing, so nothing has to stay as it was read.
	quote := Quote{
		Object: "pricing_quote", EventID: params.EventID, Currency: money.Currency,
		Lines: make([]QuoteLine, len(lines)), QuotedAt: Time{Time: s.now()},
	}
	for i, line := range lines {
		if quote.Lines[i], err = line.price(prices.Bands); err != nil {
			return Quote{}, err
		}
		quote.Total += quote.Lines[i].Subtotal // At most 50 admissions of a trillion: far below the largest amount.
	}
	return quote, nil
}

// priceQuery is what a quote reads: the prices of some tiers of an event.
type priceQuery struct {
	eventID uuid.UUID
	tiers   []string // sorted
}

// readPriceLists reads the prices of quotes, in one message where the store can. Calls of equal tiers share the list,
// which none of them changes.
//
// Status and prices come from one statement, so a quote never has the prices of a moment at which the event was not on
// sale.
func readPriceLists(
	ctx context.Context, tx driver.ReadTx, calls []*readCall[priceQuery, driver.PriceList],
) error {
	type query struct {
		event driver.EventRef
		tiers string
	}
	places := make(map[query]int, len(calls))
	of := make([]int, len(calls)) // places in queries
	var queries []driver.PriceQuery
	for i, c := range calls {
		event := driver.EventRef{CompanyID: c.caller.companyID, ID: c.params.eventID}
		// The text of the tiers is one that no others have.
		key := query{event, fmt.Sprintf("%q", c.params.tiers)}
		place, known := places[key]
		if !known {
			place = len(queries)
			places[key] = place
			queries = append(queries, driver.PriceQuery{EventRef: event, Tiers: c.params.tiers})
		}
		of[i] = place
	}
	lists, err := priceLists(ctx, tx, queries)
	if err != nil {
		return err
	}
	for i, c := range calls {
		c.result = lists[of[i]]
		switch c.result.EventStatus {
		case "":
			c.err = errEventNotFound
		case EventPublished:
		default:
			c.err = errPricingUnavailable
		}
	}
	return nil
}

// priceLists reads several price lists, in one statement or at least in one message where the store can.
func priceLists(
	ctx context.Context, tx driver.ReadTx, queries []driver.PriceQuery,
) ([]driver.PriceList, error) {
	if reader, ok := tx.(driver.PriceReader); ok && len(queries) > 1 {
		return reader.PriceLists(ctx, queries)
	}
	announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
		for _, q := range queries {
			_, _ = tx.PriceList(ctx, q.EventRef, q.Tiers)
		}
	})
	lists := make([]driver.PriceList, len(queries))
	for i, q := range queries {
		var err error
		if lists[i], err = tx.PriceList(ctx, q.EventRef, q.Tiers); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// errPricingUnavailable has the client quote again, for example for a smaller quantity (section 7, rule 3).
var errPricingUnavailable = &Error{
	Code: CodePricingUnavailable, Message: "The quantity is not available at one exact unit price.",
}

// price prices a line from the first band of its tier that has enough admissions. Bands are ordered by price, so that
// one is the cheapest that can fill the line alone. A cheaper band that is too small is passed over: two prices are
// never mixed in a line (section 4.6).
//
// A sale may take the admissions of a band before the checkout comes. The checkout is then refused, and the client
// quotes again.
func (l QuoteLineParams) price(bands []driver.PriceBand) (QuoteLine, error) {
	for _, band := range bands {
		if band.Tier == l.Tier && band.Available >= int64(l.Quantity) {
			return QuoteLine{
				Tier: l.Tier, Quantity: l.Quantity, UnitPrice: band.UnitPrice,
				Subtotal: band.UnitPrice * money.Amount(l.Quantity), AvailableAtPrice: band.Available,
			}, nil
		}
	}
	return QuoteLine{}, errPricingUnavailable
}

// checkLines checks what quotes and checkouts require of their lines alike (sections 4.6 and 4.7). The number of lines
// and the total quantity are both limited to 50. With more lines nothing else is checked, since every line would add to
// the response.
func checkLines[L any](v *violations, lines []L, of func(L) (tier string, quantity int)) {
	if len(lines) == 0 || len(lines) > MaxAdmissions {
		v.add("lines", "must be 1 to 50 lines")
		return
	}
	seen := make(map[string]bool, len(lines))
	total := 0
	for i, line := range lines {
		tier, quantity := of(line)
		tierName(v, indexed("lines", i)+".tier", tier)
		if seen[tier] {
			v.add(indexed("lines", i)+".tier", "must not be that of another line")
		}
		seen[tier] = true
		if quantity < 1 {
			v.add(indexed("lines", i)+".quantity", "must be at least 1")
		}
		// A quantity beyond the limit counts as just beyond it, so the sum cannot overflow.
		total += min(max(quantity, 0), MaxAdmissions+1)
	}
	if total > MaxAdmissions {
		v.add("lines", "must be for at most 50 admissions in all")
	}
}
