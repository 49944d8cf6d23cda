package shop

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// The limits of POST /pay.
const (
	maxPayBody    = 64 << 10
	maxTier       = 60 // characters
	paysPerMinute = 30 // of a session, and of an address
)

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

// payAnswer says whether a purchase is paid, and otherwise how much is due.
type payAnswer struct {
	Paid bool   `json:"paid"`
	Due  string `json:"due"`
}

// pay says what is due for a purchase, or takes the payment.
func (s *shop) pay(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "The method must be POST.")
		return
	}
	if !s.within(w, s.addresses, s.network(r).String()) {
		return
	}
	session, err := s.sessions.find(r)
	if err != nil {
		refuse(w, http.StatusUnauthorized, "AUTHENTICATION_FAILED", "There is no session of the shop.")
		return
	}
	if !s.within(w, s.visitors, session) {
		return
	}
	request, lines, ok := readPayRequest(w, r)
	if !ok {
		refuse(w, http.StatusBadRequest, "INVALID_REQUEST", "The request is invalid.")
		return
	}
	var total money.Amount
	for _, line := range lines {
		total += line.ExpectedUnitPrice * money.Amount(line.Quantity) // Far below the largest amount.
	}
	basket := digestOf(request.EventID, lines)
	due, err := s.payments.pay(session, request.IdempotencyKey, basket, total, request.Agreed)
	switch {
	case err == nil:
		answer(w, http.StatusOK, payAnswer{Paid: due == 0, Due: due.String()})
	case errors.Is(err, errOtherBasket):
		refuse(w, http.StatusConflict, "PAYMENT_CONFLICT", "Something else was paid for under this key.")
	default:
		refuse(w, http.StatusServiceUnavailable, "PAYMENT_UNAVAILABLE", "No payment can be taken now.")
	}
}

// within counts a request of a client. If there are too many, it refuses this one and returns false.
func (s *shop) within(w http.ResponseWriter, of *limit, client string) bool {
	wait := of.take(client, s.config.Clock())
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		refuse(w, http.StatusTooManyRequests, string(ticketing.CodeRateLimited), "Too many requests. Try again later.")
	}
	return wait == 0
}

// readPayRequest reads a purchase that is to be paid. Nothing may be paid for that the proxy would refuse.
func readPayRequest(w http.ResponseWriter, r *http.Request) (payRequest, []ticketing.CheckoutLineParams, bool) {
	var request payRequest
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return request, nil, false
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPayBody))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&request) != nil || ticketing.CheckIdempotencyKey(request.IdempotencyKey) != nil {
		return request, nil, false
	}
	admissions, tiers := 0, make(map[string]bool)
	var lines []ticketing.CheckoutLineParams
	for _, sent := range request.Lines {
		price, err := money.Parse(sent.ExpectedUnitPrice)
		if err != nil || price < 0 || sent.Currency != money.Currency || tiers[sent.Tier] || sent.Quantity < 1 ||
			sent.Quantity > ticketing.MaxAdmissions || sent.Tier == "" || utf8.RuneCountInString(sent.Tier) > maxTier {
			return request, nil, false
		}
		tiers[sent.Tier] = true
		admissions += sent.Quantity
		lines = append(lines, ticketing.CheckoutLineParams{
			Tier: sent.Tier, Quantity: sent.Quantity, ExpectedUnitPrice: price, Currency: sent.Currency,
		})
	}
	return request, lines, admissions >= 1 && admissions <= ticketing.MaxAdmissions
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
