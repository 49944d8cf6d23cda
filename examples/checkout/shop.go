package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"time"
)

const (
	// quotes is how often one call prices a cart that others are quicker to buy.
	quotes = 3
	// patience is how long a buyer is kept waiting.
	patience = 75 * time.Second
)

// Shop sells carts.
type Shop struct {
	API   *Client
	Carts *Carts
	Log   *slog.Logger
}

// Line is what a buyer wants of one tier.
type Line struct {
	Tier     string `json:"tier"`
	Quantity int    `json:"quantity"`
}

// Buyer is who gets the tickets. The shop passes a buyer on and never logs one.
type Buyer struct {
	Email    string `json:"email"`
	Fullname string `json:"fullname,omitempty"`
	Phone    string `json:"phone,omitempty"`
}

// Purchase is what the browser asks for.
type Purchase struct {
	CartID  string `json:"cartId"`
	EventID string `json:"eventId"`
	Buyer   Buyer  `json:"buyer"`
	Lines   []Line `json:"lines"`
	// AgreedTotal is the total that the buyer has seen and said yes to.
	AgreedTotal string `json:"agreedTotal"`
}

// Money is an amount as the contract writes it. The shop compares amounts and computes none.
type Money struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// Quote is what the lines cost now. It is no reservation.
type Quote struct {
	EventID string      `json:"eventId"`
	Lines   []QuoteLine `json:"lines"`
	Total   Money       `json:"total"`
}

// QuoteLine is a line of a quote. Lines come back in the order of their tiers, not in that of the request.
type QuoteLine struct {
	Tier      string `json:"tier"`
	Quantity  int    `json:"quantity"`
	UnitPrice Money  `json:"unitPrice"`
	Subtotal  Money  `json:"subtotal"`
}

// Order is what the shop reads of an order: what the browser is shown, and what it checks.
type Order struct {
	BrowserOrder

	FloatDebited Money `json:"floatDebited"`
}

var (
	errCartChanged = &APIError{
		Status: http.StatusConflict, Code: "CART_CHANGED", Message: "This cart was checked out with other content.",
	}
	cartID = regexp.MustCompile(`^[A-Za-z0-9_-]{8,64}$`)
	amount = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})\.[0-9]{2}$`)
)

// PriceError says that the lines cost more now than the buyer has said yes to.
type PriceError struct{ Quote Quote }

func (e *PriceError) Error() string { return "the price has risen to " + e.Quote.Total.Amount }

func (p Purchase) check() error {
	bad := func(message string) error {
		return &APIError{Status: http.StatusBadRequest, Code: "INVALID_REQUEST", Message: message}
	}
	switch {
	case !cartID.MatchString(p.CartID):
		return bad("cartId: must be 8 to 64 characters of A-Z a-z 0-9 _ -")
	case !amount.MatchString(p.AgreedTotal):
		return bad("agreedTotal: must be an amount such as 5000.00")
	}
	return nil
}

// Quote asks what lines cost.
func (s *Shop) Quote(ctx context.Context, eventID string, lines []Line) (Quote, error) {
	body, err := json.Marshal(map[string]any{"eventId": eventID, "lines": lines})
	if err != nil {
		return Quote{}, err
	}
	var quote Quote
	err = s.API.Do(ctx, http.MethodPost, "/pricing/quote", "", body, &quote)
	return quote, err
}

// Checkout buys a cart, once, however often it is called: the second call of a cart is answered with the order of the
// first. After [ErrAmbiguous] call it again; what is sent will be the same.
func (s *Shop) Checkout(ctx context.Context, purchase Purchase) (Order, error) {
	if err := purchase.check(); err != nil {
		return Order{}, err
	}
	defer s.Carts.Lock(purchase.CartID)()
	cart, err := s.Carts.Get(purchase)
	if err != nil {
		return Order{}, err
	}
	if !cart.Purchase.same(purchase) {
		return Order{}, errCartChanged
	}
	cart.Purchase.AgreedTotal = purchase.AgreedTotal
	for turn := 1; ; turn++ {
		sent := cart.Body != nil // by an earlier call, and perhaps accepted
		if !sent {
			if err := s.price(ctx, &cart); err != nil {
				return Order{}, err
			}
		}
		order, err := s.buy(ctx, &cart, sent)
		if refused, ok := errors.AsType[*APIError](err); !ok || refused.Code != codeInventoryUnavailable || turn == quotes {
			return order, err
		}
	}
}

// price quotes a cart and writes the body that buys it at that price, if the buyer has agreed to as much.
func (s *Shop) price(ctx context.Context, cart *Cart) error {
	quote, err := s.Quote(ctx, cart.Purchase.EventID, cart.Purchase.Lines)
	if err != nil {
		return err
	}
	if dearer(quote.Total.Amount, cart.Purchase.AgreedTotal) {
		return &PriceError{Quote: quote}
	}
	type line struct {
		Line

		ExpectedUnitPrice string `json:"expectedUnitPrice"`
		Currency          string `json:"currency"`
	}
	lines := make([]line, len(quote.Lines))
	for i, l := range quote.Lines {
		lines[i] = line{Line{l.Tier, l.Quantity}, l.UnitPrice.Amount, l.UnitPrice.Currency}
	}
	cart.Body, err = json.Marshal(map[string]any{
		"eventId": cart.Purchase.EventID, "buyer": cart.Purchase.Buyer, "lines": lines,
	})
	return err
}

// buy sends a cart's body with its key. Both are on disk before.
func (s *Shop) buy(ctx context.Context, cart *Cart, sent bool) (Order, error) {
	if err := s.Carts.Put(*cart); err != nil {
		return Order{}, err
	}
	var order Order
	err := s.API.Do(ctx, http.MethodPost, "/checkouts", cart.Key, cart.Body, &order)
	if refused, ok := errors.AsType[*APIError](err); ok && refused.final(sent) {
		// Nothing was sold, so the cart may be priced anew. It keeps its key: a late twin of this attempt could not
		// become a second order.
		cart.Body = nil
		return Order{}, errors.Join(err, s.Carts.Put(*cart))
	}
	if err != nil {
		return Order{}, err
	}
	if order.ID == "" || order.Status != "CONFIRMED" || order.Gross != order.FloatDebited || order.Gross.Currency != "NGN" {
		return Order{}, ErrUnreadable
	}
	cart.Sold = true
	return order, s.Carts.Put(*cart)
}

// final tells whether a refusal proves that the cart was not sold. A key that was spent would have been answered with
// its order before the stock is looked at; every other refusal says nothing about attempts that went unanswered.
func (e *APIError) final(sentBefore bool) bool {
	return e.Code == codeInventoryUnavailable || !e.Doubtful && !sentBefore && e.Code != codeConflict
}

// Resume finishes the carts whose answers were lost when the shop last stopped.
func (s *Shop) Resume(ctx context.Context) {
	carts, err := s.Carts.Open()
	for _, cart := range carts {
		if _, err := s.Checkout(ctx, cart.Purchase); err != nil {
			s.Log.WarnContext(ctx, "a cart is still open", slog.String("cart", cart.Purchase.CartID), slog.Any("error", err))
		}
	}
	if err != nil {
		s.Log.ErrorContext(ctx, "open carts were not found", slog.Any("error", err))
	}
}

// same tells whether two purchases buy the same, whatever total was agreed to.
func (p Purchase) same(other Purchase) bool {
	p.AgreedTotal, other.AgreedTotal = "", ""
	return reflect.DeepEqual(p, other)
}

// dearer compares two amounts as the contract writes them: no leading zero, two digits behind the point.
func dearer(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) > 0
}
