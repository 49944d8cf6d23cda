package shop

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/money"
)

// Payments. A real shop hands the buyer to its payment provider, and learns from the provider what was paid. Here a
// button pays.
//
// A payment is bound to the idempotency key of a purchase, and to its event, lines and prices. The browser repeats a
// checkout whose answer was lost with the same key: that needs no second payment, and cannot become another basket.
//
// If the checkout is refused for good, such as for tickets that are gone, the payment becomes a credit of the session,
// from which its next purchase is paid first. While it is open whether an order was made, the payment stays where it
// is.
type payments struct {
	mu       sync.Mutex
	accounts map[string]*account // by the session
}

// account is what a session has paid.
type account struct {
	credit   money.Amount
	payments map[string]*payment // by the idempotency key
}

// payment is what was paid for a purchase.
type payment struct {
	eventID uuid.UUID
	lines   []ticketing.CheckoutLine
	total   money.Amount
	open    bool // An earlier checkout may have made an order.
}

// The limits of the shop's memory.
const (
	maxAccounts = 10_000
	maxPayments = 100 // of a session
	maxPayBody  = 64 << 10
)

func newPayments() *payments { return &payments{accounts: make(map[string]*account)} }

// mayBuy is the proxy's hook: a session may buy what it has paid for under this key.
func (p *payments) mayBuy(ctx context.Context, purchase embedproxy.Purchase) error {
	if attempt, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		attempt.session, attempt.key = purchase.Session, purchase.IdempotencyKey
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	account := p.accounts[purchase.Session]
	if account == nil {
		return embedproxy.ErrPaymentRequired
	}
	paid := account.payments[purchase.IdempotencyKey]
	if paid == nil || !paid.isFor(purchase.EventID, purchase.Lines) {
		return embedproxy.ErrPaymentRequired
	}
	return nil
}

// isFor reports whether a payment is for these lines of an event, in any order.
func (p *payment) isFor(eventID uuid.UUID, lines []ticketing.CheckoutLine) bool {
	return p.eventID == eventID && slices.Equal(sorted(p.lines), sorted(lines))
}

func sorted(lines []ticketing.CheckoutLine) []ticketing.CheckoutLine {
	return slices.SortedFunc(slices.Values(lines), func(a, b ticketing.CheckoutLine) int {
		return strings.Compare(a.Tier, b.Tier)
	})
}

// payRequest is the body of POST /pay: the payload of the checkout that follows, without the buyer, and whether the
// buyer has agreed to pay.
type payRequest struct {
	IdempotencyKey string    `json:"idempotencyKey"`
	EventID        uuid.UUID `json:"eventId"`
	Lines          []payLine `json:"lines"`
	Agreed         bool      `json:"agreed"`
}

type payLine struct {
	Tier              string `json:"tier"`
	Quantity          int    `json:"quantity"`
	ExpectedUnitPrice string `json:"expectedUnitPrice"`
	Currency          string `json:"currency"`
}

// payAnswer says whether a purchase is paid, and otherwise how much is due: the total less the credit.
type payAnswer struct {
	Paid bool   `json:"paid"`
	Due  string `json:"due"`
}

// pay says what is due for a purchase, or takes the payment.
func (s *shop) pay(w http.ResponseWriter, r *http.Request) {
	session, err := s.sessions.find(r)
	if err != nil {
		refuse(w, http.StatusUnauthorized, "AUTHENTICATION_FAILED", "There is no session of the shop.")
		return
	}
	bought, key, agreed, ok := readPurchase(w, r)
	if !ok {
		refuse(w, http.StatusBadRequest, "INVALID_REQUEST", "The request is invalid.")
		return
	}
	due, status := s.payments.pay(session, key, bought, agreed)
	switch status {
	case http.StatusOK:
		answer(w, status, payAnswer{Paid: due == 0, Due: due.String()})
	case http.StatusConflict:
		refuse(w, status, "PAYMENT_CONFLICT", "Something else was paid for under this key.")
	default:
		refuse(w, status, "PAYMENT_UNAVAILABLE", "No payment can be taken now.")
	}
}

// readPurchase reads a purchase that is to be paid.
func readPurchase(w http.ResponseWriter, r *http.Request) (bought *payment, key string, agreed, ok bool) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, "", false, false
	}
	var request payRequest
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPayBody))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&request) != nil {
		return nil, "", false, false
	}
	if len(request.IdempotencyKey) < 1 || len(request.IdempotencyKey) > 200 || len(request.Lines) < 1 ||
		len(request.Lines) > 50 {
		return nil, "", false, false
	}
	bought = &payment{eventID: request.EventID}
	for _, line := range request.Lines {
		price, err := money.Parse(line.ExpectedUnitPrice)
		if err != nil || price < 0 || line.Quantity < 1 || line.Quantity > 50 || line.Currency != money.Currency {
			return nil, "", false, false
		}
		bought.lines = append(bought.lines, ticketing.CheckoutLine{
			Tier: line.Tier, Quantity: line.Quantity, ExpectedUnitPrice: price, Currency: line.Currency,
		})
		bought.total += price * money.Amount(line.Quantity)
	}
	return bought, request.IdempotencyKey, request.Agreed, true
}

// pay takes a payment if the buyer has agreed to it or the credit covers it, and otherwise returns what is due.
func (p *payments) pay(session, key string, bought *payment, agreed bool) (due money.Amount, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.accounts[session]
	if of == nil {
		of = &account{payments: make(map[string]*payment)}
	}
	if paid := of.payments[key]; paid != nil {
		if !paid.isFor(bought.eventID, bought.lines) {
			return 0, http.StatusConflict
		}
		return 0, http.StatusOK // A retry needs no second payment.
	}
	if due = max(0, bought.total-of.credit); due > 0 && !agreed {
		return due, http.StatusOK
	}
	if len(p.accounts) >= maxAccounts && p.accounts[session] == nil || len(of.payments) >= maxPayments {
		return 0, http.StatusServiceUnavailable
	}
	of.credit = max(0, of.credit-bought.total)
	of.payments[key] = bought
	p.accounts[session] = of
	return 0, http.StatusOK
}

// ended records what became of the checkout of a payment.
func (p *payments) ended(session, key string, status int, code string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.accounts[session]
	if of == nil || of.payments[key] == nil {
		return
	}
	paid := of.payments[key]
	switch {
	case status == http.StatusCreated:
		paid.open = true // Whatever follows: the order stands.
	case code == string(ticketing.CodeInventoryUnavailable) || isFinal(status, code) && !paid.open:
		of.credit += paid.total
		delete(of.payments, key)
	case !isFinal(status, code):
		paid.open = true
	}
}

// isFinal reports whether a refusal proves that its own attempt made no order, and that a repeat makes none.
func isFinal(status int, code string) bool {
	return status >= 400 && status < 500 && status != http.StatusPaymentRequired &&
		status != http.StatusRequestTimeout && status != http.StatusTooManyRequests &&
		code != string(ticketing.CodeConflict)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
