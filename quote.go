package ticketing

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// MaxAdmissions is how many admissions one quote or checkout may be for (section 8).
const MaxAdmissions = 50

// Quote is what an order would cost now. It reserves nothing (section 2.5).
type Quote struct {
	Object   string       `json:"object"` // "pricing_quote"
	EventID  uuid.UUID    `json:"eventId"`
	Currency string       `json:"currency"`
	Lines    []QuoteLine  `json:"lines"` // by tier, lexicographically
	Total    money.Amount `json:"total"`
	QuotedAt Time         `json:"quotedAt"`
}

// QuoteLine is one tier of a quote, at one exact price.
type QuoteLine struct {
	Tier             string       `json:"tier"`
	Quantity         int          `json:"quantity"`
	UnitPrice        money.Amount `json:"unitPrice"`
	Subtotal         money.Amount `json:"subtotal"`
	AvailableAtPrice int64        `json:"availableAtPrice"`
}

// QuoteParams are the members of section 4.6.
type QuoteParams struct {
	EventID uuid.UUID
	Lines   []QuoteParamsLine // 1 to 50, each of another tier, 50 admissions at most in all
}

// QuoteParamsLine asks for admissions of one tier.
type QuoteParamsLine struct {
	Tier     string
	Quantity int
}

// Quote prices lines at one exact unit price for each tier: the lowest at which that tier alone can fill the whole
// quantity (section 4.6). It reserves nothing. It needs COMPANY:inventory:read.
//
// Errors: INVALID_REQUEST, NOT_FOUND, PRICING_UNAVAILABLE (an event that is not published, too).
func (s *Service) Quote(ctx context.Context, caller Caller, params QuoteParams) (Quote, error) {
	if err := caller.Require(GrantInventoryRead); err != nil {
		return Quote{}, err
	}
	var v violations
	lines := slices.Clone(params.Lines)
	checkLines(&v, lines, func(l QuoteParamsLine) (string, int) { return l.Tier, l.Quantity })
	if err := v.err(); err != nil {
		return Quote{}, err
	}
	slices.SortFunc(lines, func(a, b QuoteParamsLine) int { return strings.Compare(a.Tier, b.Tier) })
	tiers := make([]string, len(lines))
	for i, line := range lines {
		tiers[i] = line.Tier
	}
	var bands []PriceBand
	err := s.read(ctx, "quotes.create", caller, func(ctx context.Context, tx ReadTx) error {
		event, err := findEvent(ctx, tx, EventRef{CompanyID: caller.companyID, ID: params.EventID})
		if err != nil {
			return err
		}
		if event.Status != EventPublished {
			return errPricingUnavailable
		}
		bands, err = tx.PriceBands(ctx, event.ref(), tiers)
		return err
	})
	if err != nil {
		return Quote{}, err
	}
	quote := Quote{
		Object: "pricing_quote", EventID: params.EventID, Currency: money.Currency,
		Lines: make([]QuoteLine, len(lines)), QuotedAt: Time{s.now()},
	}
	for i, line := range lines {
		if quote.Lines[i], err = line.price(bands); err != nil {
			return Quote{}, err
		}
		quote.Total += quote.Lines[i].Subtotal // At most 50 admissions of a trillion: far below the largest amount.
	}
	return quote, nil
}

var errPricingUnavailable = &Error{
	Code: CodePricingUnavailable, Message: "The quantity is not available at one exact unit price.",
}

// price finds the first of the tier's bands, which come by price, that fills the line.
func (l QuoteParamsLine) price(bands []PriceBand) (QuoteLine, error) {
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

// checkLines holds what quotes and checkouts ask of their lines alike (sections 4.6 and 4.7).
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
		total += min(max(quantity, 0), MaxAdmissions+1)
	}
	if total > MaxAdmissions {
		v.add("lines", "must be for at most 50 admissions in all")
	}
}
