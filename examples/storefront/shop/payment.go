package shop

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/money"
)

// payments has what was paid. A real shop hands the buyer to its payment provider, learns from the provider what was
// paid, and has it in a database. Here a button pays, and the memory is bounded.
//
// One payment buys at most one order:
//
//   - A payment is bound to the idempotency key of a purchase, and to its event, lines and prices. The browser repeats
//     a checkout whose answer was lost with the same key: that needs no second payment, and cannot become another
//     basket.
//   - One checkout of a payment is on its way at a time. So its answer says what became of the payment.
//   - A payment that may have bought an order stays with its key and its buyer.
//
// A payment without an order is a credit of its session, from which the next purchase is paid first. It becomes one if
// the checkout is refused for good, such as for tickets that are gone, and if no checkout is sent for UnusedAfter.
type payments struct {
	clock func() time.Time

	mu       sync.Mutex
	accounts map[string]*account // by the session
}

// account is what a session has paid.
type account struct {
	credit   money.Amount
	payments map[string]*payment // by the idempotency key
	used     time.Time
}

// payment is what was paid for a purchase.
type payment struct {
	basket  digest
	total   money.Amount
	used    time.Time
	bought  outcome
	sending bool                  // A checkout is on its way.
	buyer   ticketing.BuyerParams // of the last checkout that was sent
}

// outcome is what a payment has bought.
type outcome int

const (
	nothing   outcome = iota
	uncertain         // The answer of a checkout was lost: it may have made an order.
	anOrder
)

// UnusedAfter is how long a payment waits for its checkout. The buyer may have closed the page in between.
const UnusedAfter = 10 * time.Minute

// The limits of the shop's memory.
const (
	maxAccounts = 10_000
	maxPayments = 20 // of a session
)

// digest identifies the event, the lines and the prices of a purchase, in any order of the lines.
type digest [sha256.Size]byte

func digestOf(eventID uuid.UUID, lines []ticketing.CheckoutLineParams) digest {
	sorted := slices.SortedFunc(slices.Values(lines), func(a, b ticketing.CheckoutLineParams) int {
		return strings.Compare(a.Tier, b.Tier)
	})
	text, err := json.Marshal([]any{eventID, sorted})
	if err != nil {
		panic(err) // Texts and numbers always encode.
	}
	return sha256.Sum256(text)
}

func newPayments(clock func() time.Time) *payments {
	return &payments{clock: clock, accounts: make(map[string]*account)}
}

// pay takes a payment if the buyer has agreed to it or the credit covers it, and otherwise returns what is due: the
// total less the credit.
func (p *payments) pay(session, key string, basket digest, total money.Amount, agreed bool) (money.Amount, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	of := p.accounts[session]
	if of == nil {
		of = &account{payments: make(map[string]*payment)}
	}
	of.used = now
	of.reclaim(now)
	if paid := of.payments[key]; paid != nil {
		if paid.basket != basket {
			return 0, errOtherBasket
		}
		paid.used = now
		return 0, nil // A repeat needs no second payment.
	}
	if due := max(0, total-of.credit); due > 0 && !agreed {
		return due, nil
	}
	if !of.makeRoom() || p.accounts[session] == nil && !p.makeRoom() {
		return 0, errNoRoom
	}
	of.credit = max(0, of.credit-total)
	of.payments[key] = &payment{basket: basket, total: total, used: now}
	p.accounts[session] = of
	return 0, nil
}

var (
	errOtherBasket = errors.New("shop: something else was paid for under this key")
	errNoRoom      = errors.New("shop: no payment can be taken now")
)

// mayBuy is the proxy's hook: a session may buy what it has paid for under this key.
func (p *payments) mayBuy(ctx context.Context, purchase embedproxy.Purchase) error {
	attempt, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return errors.New("shop: the proxy is served without settle")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	of, paid := p.find(purchase.Session, purchase.IdempotencyKey)
	switch {
	case paid == nil || paid.basket != digestOf(purchase.EventID, purchase.Lines):
		return embedproxy.ErrPaymentRequired
	case paid.bought != nothing && paid.buyer != purchase.Buyer:
		return embedproxy.ErrPaymentRequired // It is, or may be, the order of another buyer.
	case paid.sending:
		// The widget waits a little after this code, and repeats.
		return &embedproxy.Refusal{
			Status: http.StatusConflict, Code: string(ticketing.CodeConflict), Message: "The purchase is still processing.",
		}
	}
	paid.sending, paid.buyer, paid.used = true, purchase.Buyer, p.clock()
	of.used = paid.used
	attempt.session, attempt.key, attempt.sent = purchase.Session, purchase.IdempotencyKey, true
	return nil
}

// ended records what became of a checkout.
func (p *payments) ended(a *attempt, status int, code string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of, paid := p.find(a.session, a.key)
	if paid == nil {
		return
	}
	if a.sent {
		paid.sending = false
	}
	switch {
	case paid.sending || paid.bought == anOrder: // Another checkout decides, or the order stands.
	case a.sent && status == http.StatusCreated:
		paid.bought = anOrder
	case status == http.StatusPaymentRequired || status == http.StatusTooManyRequests: // The browser may try again.
	case isRefusal(status) && paid.bought == nothing, a.sent && isRefusal(status) && provesNoOrder(code):
		of.release(a.key)
	case a.sent:
		paid.bought = uncertain
	}
}

// isRefusal reports whether a status means that its own checkout made no order.
func isRefusal(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusRequestTimeout
}

// provesNoOrder reports whether the API refuses with a code only once it knows that no checkout before made an order
// under the same key. It refuses with the other codes before it looks for one.
func provesNoOrder(code string) bool {
	switch ticketing.Code(code) {
	case ticketing.CodeNotFound, ticketing.CodeInventoryUnavailable, ticketing.CodeCommissionUnavailable,
		ticketing.CodeCheckoutUnavailable, ticketing.CodeInsufficientFloat:
		return true
	default:
		return false
	}
}

// find returns the account of a session and its payment under a key. Either is nil if there is none.
func (p *payments) find(session, key string) (*account, *payment) {
	of := p.accounts[session]
	if of == nil {
		return nil, nil
	}
	return of, of.payments[key]
}

// release makes a payment a credit.
func (a *account) release(key string) {
	a.credit += a.payments[key].total
	delete(a.payments, key)
}

// reclaim makes credits of the payments that were not used in time.
func (a *account) reclaim(now time.Time) {
	for key, paid := range a.payments {
		if paid.bought == nothing && !paid.sending && now.Sub(paid.used) >= UnusedAfter {
			a.release(key)
		}
	}
}

// makeRoom forgets the oldest payment that has bought its order, if there are too many. It reports whether there is
// room for another.
func (a *account) makeRoom() bool {
	if len(a.payments) < maxPayments {
		return true
	}
	var oldest string
	for key, paid := range a.payments {
		if paid.bought == anOrder && !paid.sending && (oldest == "" || paid.used.Before(a.payments[oldest].used)) {
			oldest = key
		}
	}
	delete(a.payments, oldest)
	return oldest != ""
}

// makeRoom forgets the account that was idle for longest, if there are too many. It reports whether there is room for
// another.
func (p *payments) makeRoom() bool {
	if len(p.accounts) < maxAccounts {
		return true
	}
	var oldest string
	for session, of := range p.accounts {
		if (oldest == "" || of.used.Before(p.accounts[oldest].used)) && !of.sending() {
			oldest = session
		}
	}
	delete(p.accounts, oldest)
	return oldest != ""
}

// sending reports whether a checkout of the account is on its way.
func (a *account) sending() bool {
	for _, paid := range a.payments {
		if paid.sending {
			return true
		}
	}
	return false
}
