package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/money"
)

// BrowserOrder holds the members of an order that a browser is shown (section 4.12, rule 6). No other member leaves the
// server: no buyer, no commission, no balances.
type BrowserOrder struct {
	ID          uuid.UUID             `json:"id"`
	Object      string                `json:"object"`
	EventID     uuid.UUID             `json:"eventId"`
	Status      ticketing.OrderStatus `json:"status"`
	Gross       money.Amount          `json:"gross"`
	Branding    BrowserBranding       `json:"branding"`
	Lines       []BrowserOrderLine    `json:"lines"`
	ConfirmedAt ticketing.Time        `json:"confirmedAt"`
}

// BrowserBranding is the public part of an order's branding. Its texts come from the tenant: escape them in a page.
type BrowserBranding struct {
	BrandName      string  `json:"brandName"`
	LogoURL        *string `json:"logoUrl"`
	PrimaryColor   string  `json:"primaryColor"`
	AccentColor    string  `json:"accentColor"`
	CheckoutFooter *string `json:"checkoutFooter"`
}

// BrowserOrderLine is one admission of an order.
type BrowserOrderLine struct {
	ID          uuid.UUID    `json:"id"`
	AdmissionID uuid.UUID    `json:"admissionId"`
	Title       string       `json:"title"`
	Tier        string       `json:"tier"`
	UnitPrice   money.Amount `json:"unitPrice"`
}

func browserOrder(order ticketing.Order) BrowserOrder {
	shown := BrowserOrder{
		ID: order.ID, Object: order.Object, EventID: order.EventID, Status: order.Status, Gross: order.Gross,
		Branding: BrowserBranding{
			BrandName: order.Branding.BrandName, LogoURL: order.Branding.LogoURL, PrimaryColor: order.Branding.PrimaryColor,
			AccentColor: order.Branding.AccentColor, CheckoutFooter: order.Branding.CheckoutFooter,
		},
		ConfirmedAt: order.ConfirmedAt,
	}
	for _, line := range order.Lines {
		shown.Lines = append(shown.Lines, BrowserOrderLine(line)) // A new member would not compile.
	}
	return shown
}

// BrowserQuote is what the lines cost now. It reserves nothing.
type BrowserQuote struct {
	EventID uuid.UUID          `json:"eventId"`
	Lines   []BrowserQuoteLine `json:"lines"`
	Total   money.Amount       `json:"total"`
}

// BrowserQuoteLine is a line of a quote. Lines are in the order of their tiers, not in that of the request.
type BrowserQuoteLine struct {
	Tier      string       `json:"tier"`
	Quantity  int          `json:"quantity"`
	UnitPrice money.Amount `json:"unitPrice"`
	Subtotal  money.Amount `json:"subtotal"`
}

func browserQuote(quote ticketing.Quote) BrowserQuote {
	shown := BrowserQuote{EventID: quote.EventID, Total: quote.Total}
	for _, line := range quote.Lines {
		shown.Lines = append(shown.Lines, BrowserQuoteLine{line.Tier, line.Quantity, line.UnitPrice, line.Subtotal})
	}
	return shown
}

const (
	// maxRequest is more than fifty lines and a buyer need.
	maxRequest = 32 << 10

	headerRequestID = "X-Request-Id"
)

var requestID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// Handler returns the handler of the browser's requests. A request has one id from the browser to the API and back.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /quote", s.quote)
	mux.HandleFunc("POST /checkout", s.checkout)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !requestID.MatchString(id) {
			id = uuid.NewString()
		}
		w.Header().Set(headerRequestID, id)
		mux.ServeHTTP(w, r.WithContext(client.WithRequestID(r.Context(), id)))
	})
}

func (s *Shop) quote(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		EventID uuid.UUID `json:"eventId"`
		Lines   []Line    `json:"lines"`
	}
	if !read(w, r, &asked) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	quote, err := s.Quote(ctx, asked.EventID, asked.Lines)
	s.answer(w, r, browserQuote(quote), err)
}

func (s *Shop) checkout(w http.ResponseWriter, r *http.Request) {
	var asked Purchase
	if !read(w, r, &asked) {
		return
	}
	// A buyer who closes the page does not interrupt a purchase that has begun.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
	defer cancel()
	order, err := s.Checkout(ctx, asked)
	s.answer(w, r, browserOrder(order), err)
}

// answer writes the result of a request. A refusal of the API keeps its status, code and message.
func (s *Shop) answer(w http.ResponseWriter, r *http.Request, data any, err error) {
	if err == nil {
		write(w, http.StatusOK, map[string]any{"data": data})
		return
	}
	refused, told := errors.AsType[*client.Error](err)
	dearer, risen := errors.AsType[*PriceError](err)
	switch {
	case risen:
		write(w, http.StatusConflict, map[string]any{
			"error": map[string]string{"code": "PRICE_CHANGED", "message": "The price has risen."},
			"quote": browserQuote(dearer.Quote),
		})
	case errors.Is(err, client.ErrAnswer), errors.Is(err, client.ErrContract):
		fail(w, http.StatusBadGateway, "INVALID_UPSTREAM_RESPONSE", "The ticketing service gave no readable answer.")
	case errors.Is(err, ErrPending):
		w.Header().Set("Retry-After", "5")
		fail(w, http.StatusServiceUnavailable, "CHECKOUT_PENDING", "Not known yet. Send the same cart again.")
	case told:
		fail(w, refused.Status, refused.Refusal.Code, refused.Refusal.Message)
	default:
		s.log.ErrorContext(r.Context(), "a request failed", slog.String("path", r.URL.Path), slog.Any("error", err))
		fail(w, http.StatusInternalServerError, ticketing.CodeInternal, "An unexpected error occurred.")
	}
}

// read decodes a request and refuses members that it does not know. It reports whether it succeeded.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		fail(w, http.StatusBadRequest, ticketing.CodeInvalidRequest, "The request is no JSON of this shop.")
		return false
	}
	return true
}

func fail(w http.ResponseWriter, status int, code ticketing.Code, message string) {
	write(w, status, map[string]any{
		"error": map[string]string{"code": string(code), "message": message},
		"meta":  map[string]string{"requestId": w.Header().Get(headerRequestID)},
	})
}

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // The browser may have gone.
}
