package embedproxy

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// Purchase is a checkout that was not sent yet. Its form is valid, and its event was published a moment ago.
type Purchase struct {
	Session        string // of this purchase and of its repeats
	IdempotencyKey string // of this purchase, and of its repeats
	EventID        uuid.UUID
	Buyer          ticketing.BuyerParams          // the email in lower case, all trimmed
	Lines          []ticketing.CheckoutLineParams // 1 to 50, each of another tier, at most 50 admissions in all
	Request        *http.Request                  // the browser's; its body was already read
}

// Total returns what the purchase costs if it succeeds: a checkout at other prices than these fails. It may exceed
// [money.MaxInput].
func (p Purchase) Total() money.Amount {
	var total money.Amount
	for _, line := range p.Lines {
		total += line.ExpectedUnitPrice * money.Amount(line.Quantity) // Far below the largest amount.
	}
	return total
}

// AnyoneMayBuy is a [Config.MayBuy] that refuses nobody. Each buyer then spends the company's FLOAT without having
// paid. Use it for shops whose events are all free, and for demonstrations.
func AnyoneMayBuy(context.Context, Purchase) error { return nil }

// ErrNoSession is the error that [Config.Session] returns for a request without a session. The browser gets a 401.
var ErrNoSession = errors.New("embedproxy: no session")

// ErrPaymentRequired is the error that [Config.MayBuy] returns for a purchase that is not paid. The browser gets a 402.
// It may try again with the same idempotency key after the payment.
var ErrPaymentRequired = errors.New("embedproxy: payment required")

// Refusal is an error of [Config.MayBuy] that the browser gets to see.
//
//nolint:errname // It is a decision of the shop, and an error only on its way.
type Refusal struct {
	Status  int    // 400 to 499
	Code    string // an upper-case letter, then at most 99 upper-case letters, digits and underscores
	Message string // 1 to 2000 characters
}

// Error returns the code with the message.
func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// failure returns the answer of a refusal, or false if it is malformed.
func (r *Refusal) failure() (*failure, bool) {
	if r.Status < http.StatusBadRequest || r.Status > 499 || !isCode(r.Code) || !isMessage(r.Message) {
		return nil, false
	}
	return &failure{status: r.Status, code: r.Code, message: r.Message}, true
}
