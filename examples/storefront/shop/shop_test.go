package shop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/examples/storefront/shop"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// website is a shop over a company that is ready to sell, with one event at 5,000.00 a ticket.
type website struct {
	company *ticketingtest.Shop
	event   uuid.UUID
	handler http.Handler
	cookie  *http.Cookie

	alerts chan error // the state of an alert's context, for each
}

// open opens a website. Faults are between the proxy and the API.
func open(t *testing.T, config shop.Config, faults func(http.Handler) http.Handler) *website {
	t.Helper()
	is := is.New(t)
	w := &website{company: ticketingtest.New(t, nil), alerts: make(chan error)}
	w.event = w.company.Event(t).ID
	w.company.Inventory(t, w.event, "VIP", 5_000_00, 4)
	api := contracttest.New(t.Error, w.company.Service, &httpapi.Config{
		RateLimit: -1, Caller: func(*http.Request) (ticketing.Caller, error) {
			return w.company.With(
				ticketing.GrantEventRead, ticketing.GrantInventoryRead, ticketing.GrantCheckoutCreate,
			), nil
		},
	})
	if faults != nil {
		api = faults(api)
	}
	config.Upstream, config.Clock = embedproxy.Local(api), w.company.Clock.Now
	if config.WebOrigin == "" {
		config.WebOrigin = "https://tickets.example"
	}
	config.Alert = func(ctx context.Context) {
		_, bounded := ctx.Deadline()
		is.True(bounded)
		w.alerts <- ctx.Err()
	}
	var err error
	w.handler, err = shop.New(config)
	is.NoErr(err)
	answer := w.send(t, http.MethodGet, "/", nil)
	is.Equal(answer.Code, http.StatusOK)
	w.cookie = answer.Result().Cookies()[0]
	return w
}

// send sends a request as the browser of a session does.
func (w *website) send(t *testing.T, method, path string, body any) *httptest.ResponseRecorder {
	t.Helper()
	return w.sendIn(t.Context(), t, method, path, body)
}

func (w *website) sendIn(
	ctx context.Context, t *testing.T, method, path string, body any,
) *httptest.ResponseRecorder {
	t.Helper()
	text, err := json.Marshal(body)
	is.New(t).NoErr(err)
	request := httptest.NewRequestWithContext(ctx, method, "https://shop.example"+path, bytes.NewReader(text))
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if w.cookie != nil {
		request.AddCookie(w.cookie)
	}
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, request)
	return answer
}

type object = map[string]any

// basket is what a purchase of some tickets sends.
func (w *website) basket(key string, quantity int) object {
	return object{"idempotencyKey": "purchase-" + key, "eventId": w.event, "lines": []object{{
		"tier": "VIP", "quantity": quantity, "expectedUnitPrice": "5000.00", "currency": "NGN",
	}}}
}

// pay asks what is due, or pays.
func (w *website) pay(t *testing.T, key string, quantity int, agreed bool) (status int, answer string) {
	t.Helper()
	body := w.basket(key, quantity)
	body["agreed"] = agreed
	got := w.send(t, http.MethodPost, "/pay", body)
	return got.Code, strings.TrimSpace(got.Body.String())
}

// buy sends a checkout, and returns its status and the code of a refusal.
func (w *website) buy(t *testing.T, key string, quantity int) (status int, code string) {
	t.Helper()
	return w.buyWith(t.Context(), t, key, quantity, "ada@example.com")
}

// buyWith is buy in a context, for a buyer.
func (w *website) buyWith(
	ctx context.Context, t *testing.T, key string, quantity int, email string,
) (status int, code string) {
	t.Helper()
	payload := w.basket(key, quantity)
	payload["buyer"] = object{"email": email}
	got := w.sendIn(ctx, t, http.MethodPost, "/tickets", object{"operation": "checkout.create", "payload": payload})
	var answer struct{ Error struct{ Code string } }
	is.New(t).NoErr(json.Unmarshal(got.Body.Bytes(), &answer))
	return got.Code, answer.Error.Code
}

// orders returns the number of the company's orders.
func (w *website) orders(t *testing.T) int {
	t.Helper()
	page, err := w.company.ListOrders(t.Context(), w.company.Caller, ticketing.OrderFilter{})
	is.New(t).NoErr(err)
	return len(page.Items)
}

const paid = `{"paid":true,"due":"0.00"}`

// Nothing is sold that is not paid: not another basket under a paid key, nor a paid basket under another key or in
// another session. A paid purchase is one order, however often it is sent.
func TestOnlyWhatIsPaid(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{}, nil)
	refused := func(key string, quantity int) {
		t.Helper()
		status, code := w.buy(t, key, quantity)
		is.Equal(status, http.StatusPaymentRequired)
		is.Equal(code, "PAYMENT_REQUIRED")
	}
	refused("a", 1)
	status, answer := w.pay(t, "a", 1, false)
	is.Equal(status, http.StatusOK)
	is.Equal(answer, `{"paid":false,"due":"5000.00"}`)
	refused("a", 1) // Asking pays nothing.
	_, answer = w.pay(t, "a", 1, true)
	is.Equal(answer, paid)
	refused("a", 2)
	refused("b", 1)
	status, _ = w.pay(t, "a", 2, true)
	is.Equal(status, http.StatusConflict)
	own := w.cookie
	w.cookie = nil
	status, code := w.buy(t, "a", 1)
	is.Equal(status, http.StatusUnauthorized)
	is.Equal(code, "AUTHENTICATION_FAILED")
	w.cookie = w.send(t, http.MethodGet, "/", nil).Result().Cookies()[0]
	refused("a", 1)
	w.cookie = own
	is.Equal(w.orders(t), 0)
	for range 3 {
		_, answer = w.pay(t, "a", 1, false) // A retry needs no second payment.
		is.Equal(answer, paid)
		status, _ = w.buy(t, "a", 1)
		is.Equal(status, http.StatusCreated)
	}
	is.Equal(w.orders(t), 1)
}

// A payment whose order is refused for good is a credit, from which the next purchase is paid first. A payment whose
// order may have been made, or was made, is not.
func TestCredit(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var lost bool
	w := open(t, shop.Config{}, func(api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if lost && strings.HasSuffix(r.URL.Path, "/checkouts") {
				api.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			api.ServeHTTP(w, r)
		})
	})
	w.company.Sell(t, w.event, "VIP", 2) // Two are left.
	is.Equal(w.orders(t), 1)
	w.pay(t, "a", 3, true)
	status, code := w.buy(t, "a", 3)
	is.Equal(status, http.StatusConflict)
	is.Equal(code, "INVENTORY_UNAVAILABLE")
	status, _ = w.buy(t, "a", 3)
	is.Equal(status, http.StatusPaymentRequired) // It is a credit by now.
	_, answer := w.pay(t, "b", 4, false)
	is.Equal(answer, `{"paid":false,"due":"5000.00"}`)
	_, answer = w.pay(t, "c", 1, false)
	is.Equal(answer, paid)
	lost = true
	status, _ = w.buy(t, "c", 1)
	is.Equal(status, http.StatusBadGateway)
	is.Equal(w.orders(t), 2) // It was made.
	lost = false
	_, err := w.company.Staff.RevokeVerification(t.Context(), w.company.Company.ID)
	is.NoErr(err)
	status, _ = w.buy(t, "c", 1)
	is.Equal(status, http.StatusConflict) // Nothing may be sold any more, which says nothing of the order.
	_, answer = w.pay(t, "d", 4, false)
	is.Equal(answer, `{"paid":false,"due":"10000.00"}`) // What is left of the credit, and nothing of "c".
}

// The administrator is alerted of a company that may not sell, once in ten minutes. The buyer does not read why.
func TestAlert(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{}, nil)
	_, err := w.company.Staff.RevokeVerification(t.Context(), w.company.Company.ID)
	is.NoErr(err)
	w.pay(t, "a", 1, true)
	for _, step := range []struct {
		after   time.Duration
		alerted bool
	}{{0, true}, {0, false}, {shop.AlertInterval - time.Second, false}, {time.Second, true}} {
		w.company.Clock.Advance(step.after)
		w.pay(t, "a", 1, true)
		ctx, leave := context.WithCancel(t.Context())
		status, code := w.buyWith(ctx, t, "a", 1, "ada@example.com")
		leave() // The browser may leave as soon as it has its answer.
		is.Equal(status, http.StatusConflict)
		is.Equal(code, "COMPANY_VERIFICATION_REQUIRED")
		if step.alerted {
			is.NoErr(<-w.alerts)
		}
	}
	select {
	case err := <-w.alerts:
		t.Error("there was one more alert", err)
	default:
	}
}

// Neither page allows a script or a style within it, another origin but the SDK's, or a frame around it. The frame is
// over HTTPS alone, and so is its cookie.
func TestPages(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const rest = "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for _, secure := range []bool{true, false} {
		w := open(t, shop.Config{Secure: secure, Pictures: []string{"https://img.example"}}, nil)
		is.Equal(w.cookie.Secure, secure)
		is.True(w.cookie.HttpOnly)
		is.Equal(w.cookie.SameSite, http.SameSiteLaxMode)
		page, frame := w.send(t, http.MethodGet, "/", nil), w.send(t, http.MethodGet, "/frame", nil)
		is.Equal(page.Header().Get("Content-Security-Policy"), "default-src 'none'; "+
			"script-src 'self' https://tickets.example; style-src 'self' https://tickets.example; frame-src 'none'; "+
			"connect-src 'self'; img-src 'self' https://img.example"+rest)
		is.Equal(frame.Header().Get("Content-Security-Policy"), "default-src 'none'; "+
			"script-src 'self' https://tickets.example; style-src 'self'; frame-src https://tickets.example; "+
			"connect-src 'self'; img-src 'self' https://img.example"+rest)
		is.True(strings.Contains(page.Body.String(), `<div id="tickets"></div>`))
		framed := strings.Contains(frame.Body.String(), `data-frame="https://tickets.example/embed/v1/events"`)
		is.Equal(framed, secure)
		is.Equal(strings.Contains(frame.Body.String(), "over HTTPS alone"), !secure)
		is.Equal(len(page.Result().Cookies()), 0)
	}
}

// Other sites cannot pay for a session, and a cookie that the shop did not sign is none.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{}, nil)
	post := func(header, value string) int {
		t.Helper()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://shop.example/pay", io.NopCloser(
			strings.NewReader(`{"idempotencyKey":"purchase-a","eventId":"`+w.event.String()+`","lines":[{"tier":"VIP",`+
				`"quantity":1,"expectedUnitPrice":"5000.00","currency":"NGN"}],"agreed":true}`)))
		request.Header.Set("Content-Type", "application/json")
		request.AddCookie(w.cookie)
		request.Header.Set(header, value)
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, request)
		return answer.Code
	}
	is.Equal(post("Sec-Fetch-Site", "cross-site"), http.StatusForbidden)
	is.Equal(post("Origin", "https://evil.example"), http.StatusForbidden)
	is.Equal(post("Content-Type", "text/plain"), http.StatusBadRequest)
	is.Equal(post("Sec-Fetch-Site", "same-origin"), http.StatusOK)
	w.cookie.Value = strings.Repeat("A", 26) + w.cookie.Value[26:]
	is.Equal(post("Sec-Fetch-Site", "same-origin"), http.StatusUnauthorized)
}
