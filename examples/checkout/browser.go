package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
)

// BrowserOrder is all of an order that a browser is shown (section 4.12, rule 6). What is not named here does not
// leave: no buyer, no commission, no balances.
type BrowserOrder struct {
	ID          string             `json:"id"`
	Object      string             `json:"object"`
	EventID     string             `json:"eventId"`
	Status      string             `json:"status"`
	Gross       Money              `json:"gross"`
	Branding    BrowserBranding    `json:"branding"`
	Lines       []BrowserOrderLine `json:"lines"`
	ConfirmedAt string             `json:"confirmedAt"`
}

// BrowserBranding is the public part of an order's branding. Its texts are the tenant's: escape them in a page.
type BrowserBranding struct {
	BrandName      string  `json:"brandName"`
	LogoURL        *string `json:"logoUrl"`
	PrimaryColor   string  `json:"primaryColor"`
	AccentColor    string  `json:"accentColor"`
	CheckoutFooter *string `json:"checkoutFooter"`
}

// BrowserOrderLine is one admission of an order.
type BrowserOrderLine struct {
	ID          string `json:"id"`
	AdmissionID string `json:"admissionId"`
	Title       string `json:"title"`
	Tier        string `json:"tier"`
	UnitPrice   Money  `json:"unitPrice"`
}

// maxRequest is more than fifty lines and a buyer take.
const maxRequest = 32 << 10

// Handler serves the browser.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /quote", func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			EventID string `json:"eventId"`
			Lines   []Line `json:"lines"`
		}
		if !read(w, r, &asked) {
			return
		}
		quote, err := s.Quote(r.Context(), asked.EventID, asked.Lines)
		s.answer(w, r, quote, err)
	})
	mux.HandleFunc("POST /checkout", func(w http.ResponseWriter, r *http.Request) {
		var asked Purchase
		if !read(w, r, &asked) {
			return
		}
		// A buyer who closes the page does not tear a purchase that has begun.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
		defer cancel()
		order, err := s.Checkout(ctx, asked)
		s.answer(w, r, order.BrowserOrder, err)
	})
	return mux
}

// answer tells the browser what became of its request. A failure of the API keeps its status, code and message.
func (s *Shop) answer(w http.ResponseWriter, r *http.Request, data any, err error) {
	if err == nil {
		write(w, http.StatusOK, map[string]any{"data": data})
		return
	}
	refused, told := errors.AsType[*APIError](err)
	dearer, risen := errors.AsType[*PriceError](err)
	switch {
	case risen:
		write(w, http.StatusConflict, map[string]any{
			"error": map[string]string{"code": "PRICE_CHANGED", "message": "The price has risen."}, "quote": dearer.Quote,
		})
	case errors.Is(err, ErrAmbiguous):
		w.Header().Set("Retry-After", "5")
		fail(w, http.StatusServiceUnavailable, "CHECKOUT_PENDING", "Not known yet. Send the same cart again.", "")
	case errors.Is(err, ErrUnreadable):
		fail(w, http.StatusBadGateway, "INVALID_UPSTREAM_RESPONSE", "The ticketing service gave no readable answer.", "")
	case told:
		fail(w, refused.Status, refused.Code, refused.Message, refused.RequestID)
	default:
		s.Log.ErrorContext(r.Context(), "a request failed", slog.String("path", r.URL.Path), slog.Any("error", err))
		fail(w, http.StatusInternalServerError, "INTERNAL_ERROR", "An unexpected error occurred.", "")
	}
}

// read decodes a request and refuses what it does not know.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		fail(w, http.StatusBadRequest, "INVALID_REQUEST", "The request is no JSON of this shop.", "")
		return false
	}
	return true
}

func fail(w http.ResponseWriter, status int, code, message, requestID string) {
	write(w, status, map[string]any{
		"error": map[string]string{"code": code, "message": message}, "meta": map[string]string{"requestId": requestID},
	})
}

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // The browser may have gone.
}
