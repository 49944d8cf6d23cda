package ticketing

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// CheckoutParams are the members of section 4.7.
type CheckoutParams struct {
	EventID uuid.UUID
	Buyer   BuyerParams
	Lines   []CheckoutLine // 1 to 50, each of another tier, 50 admissions at most in all
}

// BuyerParams say who buys. The email is trimmed and lower-cased; the rest is trimmed and may be empty.
type BuyerParams struct {
	Email    string // at most 320 characters
	Fullname string // at most 200
	Phone    string // at most 50
}

// CheckoutLine buys admissions of one tier at the price that was quoted.
type CheckoutLine struct {
	Tier              string
	Quantity          int
	ExpectedUnitPrice money.Amount
	Currency          string // NGN
}

// LowBalance is the threshold of balance.low and of the dashboard's flag (section 2.9, item 4).
const LowBalance money.Amount = 1000_00

const (
	maxBuyerEmail    = 320
	maxBuyerFullname = 200
	maxBuyerPhone    = 50
)

// Checkout sells admissions (section 4.7): it debits FLOAT, accrues the commission to EARNINGS, and writes the order
// and its facts, all or nothing. It needs COMPANY:checkout:create and an idempotency key.
//
// Errors, in this order: IDEMPOTENCY_KEY_REQUIRED, INVALID_REQUEST, COMPANY_VERIFICATION_REQUIRED, CONFLICT for the
// key, NOT_FOUND, CONFLICT on an event that is not published, INVENTORY_UNAVAILABLE where a tier has too few
// admissions at the expected price, COMMISSION_RATE_UNAVAILABLE, CHECKOUT_UNAVAILABLE, INSUFFICIENT_FLOAT. A refused
// checkout leaves nothing behind, and its key unspent.
func (s *Service) Checkout(ctx context.Context, caller Caller, key string, params CheckoutParams) (Order, error) {
	return do(ctx, s, s.checkouts, caller, key, params, normaliseCheckout)
}

func newCheckouts(s *Service, g Grouping) *operation[CheckoutParams, Order] {
	op := &operation[CheckoutParams, Order]{
		name: opCheckout, grant: GrantCheckoutCreate, verified: true, apply: s.sell, replay: recallOrders,
	}
	return op.grouped(s, g, groupAdmissions, func(p CheckoutParams) int {
		admissions := 0
		for _, line := range p.Lines {
			admissions += line.Quantity
		}
		return admissions
	})
}

func normaliseCheckout(v *violations, p CheckoutParams) CheckoutParams {
	p.Buyer.Email = requiredEmail(v, "buyer.email", p.Buyer.Email, maxBuyerEmail)
	p.Buyer.Fullname = text(v, "buyer.fullname", p.Buyer.Fullname, maxBuyerFullname, false)
	p.Buyer.Phone = text(v, "buyer.phone", p.Buyer.Phone, maxBuyerPhone, false)
	checkLines(v, p.Lines, func(l CheckoutLine) (string, int) { return l.Tier, l.Quantity })
	for i, line := range p.Lines {
		if line.ExpectedUnitPrice < 0 || line.ExpectedUnitPrice > money.MaxInput {
			v.add(indexed("lines", i)+".expectedUnitPrice", "must be from 0 to 999999999999.99")
		}
		checkCurrency(v, indexed("lines", i)+".currency", line.Currency)
	}
	p.Lines = slices.Clone(p.Lines)
	slices.SortFunc(p.Lines, func(a, b CheckoutLine) int { return strings.Compare(a.Tier, b.Tier) })
	return p
}

// gross is what the whole checkout costs: 50 admissions of a trillion are far below the largest amount.
func (p CheckoutParams) gross() money.Amount {
	var gross money.Amount
	for _, line := range p.Lines {
		gross += line.ExpectedUnitPrice * money.Amount(line.Quantity)
	}
	return gross
}
