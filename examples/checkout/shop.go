package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
)

const (
	// quotes is how often one call prices a cart whose tickets other buyers take first.
	quotes = 3
	// tries is how often one call sends a cart while an earlier request with its key is in progress.
	tries = 6
	// patience is how long a buyer waits at most.
	patience = 75 * time.Second
)

// Shop sells carts.
type Shop struct {
	api   *client.Client
	carts *Carts
	log   *slog.Logger
}

// NewShop returns a shop that sells through the API at an address. A nil transport is [http.DefaultTransport].
func NewShop(baseURL, apiKey string, transport http.RoundTripper, carts *Carts, log *slog.Logger) (*Shop, error) {
	api, err := connect(baseURL, apiKey, transport, log)
	if err != nil {
		return nil, err
	}
	return &Shop{api: api, carts: carts, log: log}, nil
}

// Purchase is a request of the browser.
type Purchase struct {
	CartID  string    `json:"cartId"`
	EventID uuid.UUID `json:"eventId"`
	Buyer   Buyer     `json:"buyer"`
	Lines   []Line    `json:"lines"`
	// AgreedTotal is the total that the buyer has seen and accepted.
	AgreedTotal string `json:"agreedTotal"`
}

// Buyer receives the tickets. The shop passes a buyer on and never logs one.
type Buyer struct {
	Email    string `json:"email"`
	Fullname string `json:"fullname,omitempty"`
	Phone    string `json:"phone,omitempty"`
}

// Line is a number of tickets of one tier.
type Line struct {
	Tier     string `json:"tier"`
	Quantity int    `json:"quantity"`
}

var (
	errCartChanged = refusal(http.StatusConflict, "CART_CHANGED", "This cart was checked out with other content.")

	cartID = regexp.MustCompile(`^[A-Za-z0-9_-]{8,64}$`)
	// Totals may be longer than what money.Parse accepts.
	amount = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})\.[0-9]{2}$`)
)

// refusal returns a refusal of the shop itself, in the form of a refusal of the API.
func refusal(status int, code ticketing.Code, message string) error {
	return &client.Error{Status: status, Refusal: &ticketing.Error{Code: code, Message: message}}
}

// PriceError means that the lines cost more now than the total that the buyer accepted.
type PriceError struct{ Quote ticketing.Quote }

func (e *PriceError) Error() string { return "the price has risen to " + e.Quote.Total.String() }

func (p Purchase) check() error {
	switch {
	case !cartID.MatchString(p.CartID):
		return refusal(http.StatusBadRequest, ticketing.CodeInvalidRequest,
			"cartId: must be 8 to 64 characters of A-Z a-z 0-9 _ -")
	case !amount.MatchString(p.AgreedTotal):
		return refusal(http.StatusBadRequest, ticketing.CodeInvalidRequest,
			"agreedTotal: must be an amount such as 5000.00")
	}
	return nil
}

// Quote returns the prices of lines.
func (s *Shop) Quote(ctx context.Context, eventID uuid.UUID, lines []Line) (ticketing.Quote, error) {
	params := ticketing.QuoteParams{EventID: eventID}
	for _, line := range lines {
		params.Lines = append(params.Lines, ticketing.QuoteLineParams(line))
	}
	quote, err := s.api.Quote(ctx, params)
	if err != nil {
		return ticketing.Quote{}, s.ended(ctx, "quote", err)
	}
	return quote, nil
}

// Checkout buys a cart once, however often it is called: the second call of a cart returns the order of the first.
// After [ErrPending] call it again; it sends the same request.
func (s *Shop) Checkout(ctx context.Context, purchase Purchase) (ticketing.Order, error) {
	if err := purchase.check(); err != nil {
		return ticketing.Order{}, err
	}
	defer s.carts.Lock(purchase.CartID)()
	cart, err := s.carts.Get(purchase)
	if err != nil {
		return ticketing.Order{}, err
	}
	if !cart.Purchase.same(purchase) {
		return ticketing.Order{}, errCartChanged
	}
	cart.Purchase.AgreedTotal = purchase.AgreedTotal
	for turn := 1; ; turn++ {
		sent := cart.Params != nil // by an earlier call, and perhaps accepted
		if !sent {
			if err := s.price(ctx, &cart); err != nil {
				return ticketing.Order{}, err
			}
		}
		order, err := s.buy(ctx, &cart, sent)
		if !errors.Is(err, ticketing.CodeInventoryUnavailable) || turn == quotes {
			return order, err
		}
	}
}

// price quotes a cart and sets its Params to buy at that price, if the buyer has agreed to as much.
func (s *Shop) price(ctx context.Context, cart *Cart) error {
	quote, err := s.Quote(ctx, cart.Purchase.EventID, cart.Purchase.Lines)
	if err != nil {
		return err
	}
	if dearer(quote.Total.String(), cart.Purchase.AgreedTotal) {
		return &PriceError{Quote: quote}
	}
	cart.Params = &ticketing.CheckoutParams{
		EventID: cart.Purchase.EventID, Buyer: ticketing.BuyerParams(cart.Purchase.Buyer),
	}
	for _, line := range quote.Lines {
		cart.Params.Lines = append(cart.Params.Lines, ticketing.CheckoutLineParams{
			Tier: line.Tier, Quantity: line.Quantity, ExpectedUnitPrice: line.UnitPrice, Currency: quote.Currency,
		})
	}
	return nil
}

// buy checks a cart out under its key. It stores key and parameters on disk first.
func (s *Shop) buy(ctx context.Context, cart *Cart, sent bool) (ticketing.Order, error) {
	if err := s.carts.Put(*cart); err != nil {
		return ticketing.Order{}, err
	}
	order, err := s.send(ctx, *cart)
	if err != nil && final(err, sent) {
		// Nothing was sold, so the cart may be priced again. It keeps its key: a late request of this call could not become a
		// second order.
		cart.Params = nil
		return ticketing.Order{}, errors.Join(err, s.carts.Put(*cart))
	}
	if err != nil {
		return ticketing.Order{}, err
	}
	cart.Sold = true
	return order, s.carts.Put(*cart)
}

// final reports whether a refusal proves that the cart was not sold. INVENTORY_UNAVAILABLE does: the API returns the
// order of a used key before it looks at the stock. Every other refusal says nothing about calls that got no answer.
func final(err error, sentBefore bool) bool {
	if errors.Is(err, ticketing.CodeInventoryUnavailable) {
		return true
	}
	open := errors.Is(err, client.ErrAmbiguous) || errors.Is(err, ErrPending) || errors.Is(err, ticketing.CodeConflict)
	return !sentBefore && !open
}

// send makes the call of a cart. The client retries it where that may help, except after CONFLICT: that is the answer
// while the first request is in progress, and also for conflicts that stay. A conflict that stays is returned after the
// last try.
func (s *Shop) send(ctx context.Context, cart Cart) (ticketing.Order, error) {
	doubt := false
	for try := 1; ; try++ {
		order, err := s.api.Checkout(ctx, cart.Key, *cart.Params)
		if err == nil && (order.Status != ticketing.OrderConfirmed || order.Gross != order.FloatDebited) {
			err = fmt.Errorf("%w: %w", client.ErrAmbiguous, client.ErrAnswer) // Section 4.12, rule 7.
		}
		if err == nil {
			return order, nil
		}
		switch {
		case errors.Is(err, client.ErrAmbiguous):
			doubt = true
		case doubt:
			err = fmt.Errorf("%w: %w", client.ErrAmbiguous, err) // A later refusal does not settle an earlier try.
		}
		err = s.ended(ctx, "checkout", err)
		if !errors.Is(err, ticketing.CodeConflict) || try == tries {
			return ticketing.Order{}, err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ticketing.Order{}, err
		}
	}
}

// Resume finishes the carts whose answers were lost when the shop last stopped.
func (s *Shop) Resume(ctx context.Context) {
	carts, err := s.carts.Open()
	for _, cart := range carts {
		if _, err := s.Checkout(ctx, cart.Purchase); err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "a cart is still open",
				append(loggable(err), slog.String("cart", cart.Purchase.CartID))...)
		}
	}
	if err != nil {
		s.log.ErrorContext(ctx, "open carts were not found", slog.Any("error", err))
	}
}

// same reports whether two purchases buy the same, regardless of the agreed total.
func (p Purchase) same(other Purchase) bool {
	p.AgreedTotal, other.AgreedTotal = "", ""
	return reflect.DeepEqual(p, other)
}

// dearer reports whether a is more than b. Amounts are as the contract writes them: no leading zero, and two decimals.
func dearer(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) > 0
}
