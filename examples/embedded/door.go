package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// door is the till. The host authenticates its staff in front of it.
type door struct {
	svc  *ticketing.Service
	shop shop
	log  *slog.Logger
}

// ServeHTTP sells at the price that the till shows. The till makes a key for each sale and sends it with each retry, so
// that repeated clicks sell once.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	price, err := money.Parse(r.FormValue("unitPrice"))
	quantity, notNumber := strconv.Atoi(r.FormValue("quantity"))
	if err != nil || notNumber != nil {
		http.Error(w, "quantity is a number, unitPrice an amount such as 15000.00", http.StatusBadRequest)
		return
	}
	caller := ticketing.TrustedCaller(d.shop.companyID, ticketing.GrantCheckoutCreate)
	order, err := d.svc.Checkout(r.Context(), caller, r.Header.Get("Idempotency-Key"), ticketing.CheckoutParams{
		EventID: d.shop.eventID,
		Buyer:   ticketing.BuyerParams{Email: r.FormValue("email")},
		Lines: []ticketing.CheckoutLineParams{{
			Tier: r.FormValue("tier"), Quantity: quantity, ExpectedUnitPrice: price, Currency: money.Currency,
		}},
	})
	if err != nil {
		d.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"order": order.ID, "total": order.Gross}) // The till may have gone.
}

// refuse sends a refusal to the till, and logs any other error. After a 500 or 503 the till may try the same sale
// again, with the same key.
func (d *door) refuse(w http.ResponseWriter, r *http.Request, err error) {
	refused, ok := errors.AsType[*ticketing.Error](err)
	if !ok {
		d.log.ErrorContext(r.Context(), "a sale at the door failed", slog.Any("error", err))
		status := http.StatusInternalServerError
		if errors.Is(err, ticketing.ErrBusy) || errors.Is(err, ticketing.ErrUnavailable) {
			w.Header().Set("Retry-After", "1")
			status = http.StatusServiceUnavailable
		}
		http.Error(w, "Something went wrong. Try the same sale again.", status)
		return
	}
	http.Error(w, refused.Error(), statusOf(refused.Code))
}

// statusOf returns the HTTP status of a refusal. The default is for codes that depend on the state: a price that has
// changed, a tier that is sold out, a float that is used up.
func statusOf(code ticketing.Code) int {
	switch code {
	case ticketing.CodeInvalidRequest, ticketing.CodeIdempotencyKeyRequired:
		return http.StatusBadRequest
	case ticketing.CodeAuthenticationFailed:
		return http.StatusUnauthorized
	case ticketing.CodePermissionDenied:
		return http.StatusForbidden
	case ticketing.CodeNotFound:
		return http.StatusNotFound
	case ticketing.CodeInternal:
		return http.StatusInternalServerError
	default:
		return http.StatusConflict
	}
}
