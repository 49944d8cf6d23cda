package ticketing

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// opCheckout scopes the idempotency keys of checkouts. Spent keys keep it forever, so it never changes.
const opCheckout = "checkouts.create"

// CheckoutParams are the members of section 4.7.
type CheckoutParams struct {
	EventID uuid.UUID
	Buyer   BuyerParams
	Lines   []CheckoutLineParams // 1 to 50, each with a different tier, at most 50 admissions in all
}

// BuyerParams describe the buyer. The email is trimmed and lower-cased. The name and the phone are trimmed and may be
// empty.
type BuyerParams struct {
	Email    string // at most 320 characters
	Fullname string // at most 200
	Phone    string // at most 50
}

// CheckoutLineParams buys admissions of one tier at the price that was quoted. A line is never sold at another price.
type CheckoutLineParams struct {
	Tier              string
	Quantity          int
	ExpectedUnitPrice money.Amount
	Currency          string // NGN
}

// LowBalance is the threshold of balance.low and of the dashboard's flag (section 2.9, item 4), in kobo.
const LowBalance money.Amount = 1000_00

// Limits of a buyer's texts, in characters (section 8).
const (
	maxBuyerEmail    = 320
	maxBuyerFullname = 200
	maxBuyerPhone    = 50
)

// Checkout sells admissions (section 4.7). It debits FLOAT by the gross, accrues the commission to EARNINGS, and writes
// the order and its facts, all or nothing. It needs COMPANY:checkout:create and an idempotency key.
//
// Concurrent checkouts of a company share a transaction; see [Grouping]. Each is decided on its own, in the order they
// arrived. The stock and the wallets are locked while they are decided, so nothing is oversold or overdrawn.
//
// Errors, in this order: IDEMPOTENCY_KEY_REQUIRED, INVALID_REQUEST, COMPANY_VERIFICATION_REQUIRED, CONFLICT for the
// key, NOT_FOUND, CONFLICT on an event that is not published, INVENTORY_UNAVAILABLE where a tier has too few admissions
// at the expected price, COMMISSION_RATE_UNAVAILABLE, CHECKOUT_UNAVAILABLE, INSUFFICIENT_FLOAT. A refused checkout
// leaves nothing in the store, and its key stays unspent. [ErrBusy] means that nothing was written, and the same call
// may be made again.
func (s *Service) Checkout(ctx context.Context, caller Caller, key string, params CheckoutParams) (Order, error) {
	return runKeyed(ctx, s, s.checkouts, caller, key, params, normaliseCheckout)
}

// newCheckouts returns the operation that sells admissions. A checkout counts towards its group with its number of
// admissions, because each of them is a row to write. Only a checkout asks for a current verification: it is the one
// operation that sells (section 4.7, rule 1).
func newCheckouts(s *Service, g Grouping) *operation[CheckoutParams, Order] {
	op := &operation[CheckoutParams, Order]{
		name: opCheckout, grant: GrantCheckoutCreate, verified: true, apply: s.sell,
		reads: s.announceTerms, locks: s.saleLocks, replay: replayOrders, hasFact: func(*Order) bool { return true },
	}
	if s.telemetry.measures {
		op.kept = s.telemetry.sold
	}
	return op.grouped(s, g, groupAdmissions, func(p CheckoutParams) int {
		admissions := 0
		for _, line := range p.Lines {
			admissions += line.Quantity
		}
		return admissions
	})
}

// normaliseCheckout checks the params and brings them into the form that is compared for idempotency: trimmed texts, a
// lower-cased email and lines in the order of their tiers (section 4.11, rule 3). That is also the order of the order's
// lines. It clones the lines, so that the caller's slice stays as it is.
func normaliseCheckout(v *violations, p CheckoutParams) CheckoutParams {
	p.Buyer.Email = requiredEmail(v, "buyer.email", p.Buyer.Email, maxBuyerEmail)
	p.Buyer.Fullname = trimmedText(v, "buyer.fullname", p.Buyer.Fullname, maxBuyerFullname, false)
	p.Buyer.Phone = trimmedText(v, "buyer.phone", p.Buyer.Phone, maxBuyerPhone, false)
	checkLines(v, p.Lines, func(l CheckoutLineParams) (string, int) { return l.Tier, l.Quantity })
	for i, line := range p.Lines {
		if line.ExpectedUnitPrice < 0 || line.ExpectedUnitPrice > money.MaxInput {
			v.add(indexed("lines", i)+".expectedUnitPrice", "must be from 0 to 999999999999.99")
		}
		checkCurrency(v, indexed("lines", i)+".currency", line.Currency)
	}
	// Two requests that differ in the order of their lines are the same input.
	p.Lines = slices.Clone(p.Lines)
	slices.SortFunc(p.Lines, func(a, b CheckoutLineParams) int { return strings.Compare(a.Tier, b.Tier) })
	return p
}

// gross returns the cost of the whole checkout in kobo. It cannot overflow: 50 admissions at the highest price are far
// below the largest amount.
func (p CheckoutParams) gross() money.Amount {
	var gross money.Amount
	for _, line := range p.Lines {
		gross += line.ExpectedUnitPrice * money.Amount(line.Quantity)
	}
	return gross
}
