package shop_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/examples/storefront/shop"
)

// checkouts answers the checkouts that reach the API by a function, if there is one.
type checkouts struct {
	mu     sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request, api http.Handler)
}

func (c *checkouts) use(answer func(http.ResponseWriter, *http.Request, http.Handler)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
}

func (c *checkouts) before(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		answer := c.answer
		c.mu.Unlock()
		if answer != nil && strings.HasSuffix(r.URL.Path, "/checkouts") {
			answer(w, r, api)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// refusing returns an API that refuses without having done anything.
func refusing(status int, code string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":{"code":"`+code+`","message":"No."},"meta":{"requestId":"r1"}}`)
	}
}

// losing sells, and loses the answer.
func losing(w http.ResponseWriter, r *http.Request, api http.Handler) {
	api.ServeHTTP(httptest.NewRecorder(), r)
	w.WriteHeader(http.StatusBadGateway)
}

// credited reports whether the session has a credit for one ticket, and not for two.
func (w *website) credited(t *testing.T) bool {
	t.Helper()
	_, one := w.pay(t, "other", 2, false)
	return one == `{"paid":false,"due":"5000.00"}`
}

// While a checkout of a payment is on its way, another of it is not sent. So what becomes of the other says nothing of
// the payment, and one payment buys one order.
func TestOneCheckoutAtATime(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &checkouts{}
	w := open(t, shop.Config{}, api.before)
	w.pay(t, "a", 1, true)
	arrived, proceed := make(chan struct{}), make(chan struct{})
	api.use(func(w http.ResponseWriter, r *http.Request, handler http.Handler) {
		close(arrived)
		<-proceed
		handler.ServeHTTP(w, r)
	})
	sold := make(chan int)
	go func() {
		status, _ := w.buy(t, "a", 1)
		sold <- status
	}()
	<-arrived
	api.use(nil)
	// The proxy accepts this address, and the API refuses it.
	for _, email := range []string{"a..b@example.com", "ada@example.com", "eve@example.com"} {
		status, code := w.buyWith(t.Context(), t, "a", 1, email)
		is.Equal(status, http.StatusConflict)
		is.Equal(code, "CONFLICT")
	}
	// Nor does a refusal on the way to the API.
	_, err := w.company.CancelEvent(t.Context(), w.company.Caller, w.event)
	is.NoErr(err)
	is.True(!w.credited(t))
	status, _ := w.buy(t, "a", 1)
	is.Equal(status, http.StatusNotFound)
	is.True(!w.credited(t))
	close(proceed)
	is.Equal(<-sold, http.StatusConflict) // The event is not published, which is final now.
	is.True(w.credited(t))
	is.Equal(w.orders(t), 0)
}

// However many checkouts of a payment are sent at once, for whichever buyers, they make one order, or the payment is a
// credit.
func TestManyCheckoutsAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{}, nil)
	w.pay(t, "a", 1, true)
	var all sync.WaitGroup
	for _, email := range []string{"ada@example.com", "a..b@example.com", "eve@example.com", "ada@example.com"} {
		all.Go(func() { w.buyWith(t.Context(), t, "a", 1, email) })
	}
	all.Wait()
	is.Equal(w.credited(t), w.orders(t) == 0)
}

// A purchase that may be an order, or is one, is for its buyer alone.
func TestBuyerOfAPayment(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &checkouts{}
	w := open(t, shop.Config{}, api.before)
	w.pay(t, "a", 1, true)
	api.use(losing)
	status, _ := w.buy(t, "a", 1)
	is.Equal(status, http.StatusBadGateway)
	api.use(nil)
	status, _ = w.buyWith(t.Context(), t, "a", 1, "eve@example.com")
	is.Equal(status, http.StatusPaymentRequired)
	status, _ = w.buyWith(t.Context(), t, "a", 1, " Ada@Example.com ")
	is.Equal(status, http.StatusCreated)
	status, _ = w.buyWith(t.Context(), t, "a", 1, "eve@example.com")
	is.Equal(status, http.StatusPaymentRequired)
	is.True(!w.credited(t))
	is.Equal(w.orders(t), 1)
}

// What a refusal says of a payment, alone and after a checkout whose answer was lost.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status        int
		code          string
		credit, after bool // after a lost answer
	}{
		{400, "INVALID_REQUEST", true, false},
		{401, "AUTHENTICATION_FAILED", true, false},
		{403, "PERMISSION_DENIED", true, false},
		{404, "NOT_FOUND", true, true},
		{408, "TIMEOUT", false, false},
		{409, "CONFLICT", true, false},
		{409, "COMPANY_VERIFICATION_REQUIRED", true, false},
		{409, "INVENTORY_UNAVAILABLE", true, true},
		{409, "COMMISSION_RATE_UNAVAILABLE", true, true},
		{409, "CHECKOUT_UNAVAILABLE", true, true},
		{409, "INSUFFICIENT_FLOAT", true, true},
		{429, "RATE_LIMITED", false, false},
		{500, "INTERNAL_ERROR", false, false},
		{503, "NOT_FOUND", false, false},
	} {
		t.Run(strconv.Itoa(test.status)+" "+test.code, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			for _, lost := range []bool{false, true} {
				api := &checkouts{}
				w := open(t, shop.Config{}, api.before)
				w.pay(t, "a", 1, true)
				want := test.credit
				if lost {
					want = test.after
					api.use(refusing(http.StatusInternalServerError, "INTERNAL_ERROR"))
					w.buy(t, "a", 1)
				}
				api.use(refusing(test.status, test.code))
				status, code := w.buy(t, "a", 1)
				if status != http.StatusBadGateway {
					is.Equal(status, test.status)
					is.Equal(code, test.code)
				}
				is.Equal(w.credited(t), want) // lost
			}
		})
	}
}

// Refusals that decide nothing, before and after, do not keep a final one from making a credit.
func TestRefusalsThatDecideNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &checkouts{}
	w := open(t, shop.Config{}, api.before)
	w.pay(t, "a", 1, true)
	status, _ := w.buy(t, "a", 2) // Not what was paid.
	is.Equal(status, http.StatusPaymentRequired)
	api.use(refusing(http.StatusTooManyRequests, "RATE_LIMITED"))
	status, _ = w.buy(t, "a", 1)
	is.Equal(status, http.StatusTooManyRequests)
	is.True(!w.credited(t))
	api.use(refusing(http.StatusConflict, "CONFLICT"))
	w.buy(t, "a", 1)
	is.True(w.credited(t))
	// The same purchase may be paid from the credit, and made.
	api.use(nil)
	_, answer := w.pay(t, "a", 1, false)
	is.Equal(answer, paid)
	status, _ = w.buy(t, "a", 1)
	is.Equal(status, http.StatusCreated)
	is.True(!w.credited(t))
}

// A payment whose event ended before the checkout is a credit: nothing was sent. If a checkout before may have made an
// order, it is not.
func TestEventThatEnded(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		is := is.New(t)
		api := &checkouts{}
		w := open(t, shop.Config{}, api.before)
		w.pay(t, "a", 1, true)
		if lost {
			api.use(losing)
			w.buy(t, "a", 1)
		}
		_, err := w.company.CancelEvent(t.Context(), w.company.Caller, w.event)
		is.NoErr(err)
		status, code := w.buy(t, "a", 1)
		is.Equal(status, http.StatusNotFound)
		is.Equal(code, "NOT_FOUND")
		is.Equal(w.credited(t), !lost)
	}
}

// A payment whose checkout never comes is a credit after a while.
func TestUnusedPayment(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{}, nil)
	w.pay(t, "a", 1, true)
	w.company.Clock.Advance(shop.UnusedAfter - time.Second)
	is.True(!w.credited(t))
	w.company.Clock.Advance(time.Second)
	is.True(w.credited(t))
	status, _ := w.buy(t, "a", 1)
	is.Equal(status, http.StatusPaymentRequired)
}

// Nothing can be paid for that the proxy refuses.
func TestWhatCanBePaid(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{}, nil)
	line := func(tier string, quantity int) object {
		return object{"tier": tier, "quantity": quantity, "expectedUnitPrice": "5000.00", "currency": "NGN"}
	}
	for _, test := range []struct {
		name, key string
		lines     []object
		status    int
	}{
		{"good", "purchase-a", []object{line("VIP", 25), line(strings.Repeat("₦", 60), 25)}, 200},
		{"a short key", "a", []object{line("VIP", 1)}, 400},
		{"a long key", strings.Repeat("a", 129), []object{line("VIP", 1)}, 400},
		{"another key", "purchase a", []object{line("VIP", 1)}, 400},
		{"no lines", "purchase-a", nil, 400},
		{"a long tier", "purchase-a", []object{line(strings.Repeat("a", 61), 1)}, 400},
		{"no tier", "purchase-a", []object{line("", 1)}, 400},
		{"a tier twice", "purchase-a", []object{line("VIP", 1), line("VIP", 2)}, 400},
		{"too many", "purchase-a", []object{line("VIP", 26), line("Regular", 25)}, 400},
		{"none", "purchase-a", []object{line("VIP", 0)}, 400},
	} {
		got := w.send(t, http.MethodPost, "/pay", object{
			"idempotencyKey": test.key, "eventId": w.event, "lines": test.lines, "agreed": false,
		})
		if got.Code != test.status {
			t.Errorf("%s: status %d, want %d", test.name, got.Code, test.status)
		}
		is.Equal(got.Header().Get("Content-Type"), "application/json")
	}
}

// A session pays 30 times a minute, and so does an address, behind a load balancer as well.
func TestLimitOfPayments(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, nil)
	first := w.cookie
	second := w.send(t, http.MethodGet, "/", nil) // It has a session already.
	is.Equal(len(second.Result().Cookies()), 0)
	w.cookie = nil
	other := w.send(t, http.MethodGet, "/", nil).Result().Cookies()[0]
	ask := func(cookie *http.Cookie, connection, forwarded string) *httptest.ResponseRecorder {
		t.Helper()
		text, err := json.Marshal(w.basket("a", 1))
		is.NoErr(err)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/pay", strings.NewReader(string(text)))
		request.Header.Set("Content-Type", "application/json")
		request.RemoteAddr = connection
		if forwarded != "" {
			request.Header.Set("X-Forwarded-For", forwarded)
		}
		request.AddCookie(cookie)
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, request)
		return answer
	}
	for range 30 {
		is.Equal(ask(first, "10.0.0.1:1", "203.0.113.9, 198.51.100.1").Code, 200)
	}
	limited := ask(first, "198.51.100.2:1", "")
	is.Equal(limited.Code, http.StatusTooManyRequests) // the session, from another address
	is.Equal(limited.Header().Get("Retry-After"), "60")
	is.True(strings.Contains(limited.Body.String(), `"code":"RATE_LIMITED"`))
	is.Equal(ask(other, "10.0.0.2:1", "203.0.113.7, 198.51.100.1, 10.0.0.3").Code, 429) // the address, in another session
	is.Equal(ask(other, "198.51.100.3:1", "198.51.100.1").Code, 200)                    // Nobody is trusted there.
	is.Equal(ask(other, "10.0.0.2:1", "").Code, 200)
	w.company.Clock.Advance(time.Minute)
	is.Equal(ask(first, "198.51.100.1:1", "").Code, 200)
	for n := range 30 {
		is.Equal(ask(other, "[2001:db8::"+strconv.Itoa(n)+"]:1", "").Code, 200)
	}
	is.Equal(ask(first, "[2001:db8::ffff]:1", "").Code, 429)
}

// A session that made many orders goes on buying.
func TestManyPurchases(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{}, nil)
	w.company.Inventory(t, w.event, "VIP", 5_000_00, 40)
	for n := range 25 {
		w.company.Clock.Advance(time.Minute)
		key := strconv.Itoa(n)
		status, answer := w.pay(t, key, 1, true)
		is.Equal(status, http.StatusOK)
		is.Equal(answer, paid)
		status, _ = w.buy(t, key, 1)
		is.Equal(status, http.StatusCreated)
	}
	is.Equal(w.orders(t), 25)
}

// With very many sessions, the one that was idle for longest is forgotten, and new buyers are served.
func TestManySessions(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, nil)
	w.pay(t, "a", 1, true)
	first := w.cookie
	for range 10_000 {
		w.company.Clock.Advance(time.Minute)
		w.cookie = nil
		w.cookie = w.send(t, http.MethodGet, "/", nil).Result().Cookies()[0]
		status, answer := w.pay(t, "b", 1, true)
		is.Equal(status, http.StatusOK)
		is.Equal(answer, paid)
	}
	status, _ := w.buy(t, "b", 1)
	is.Equal(status, http.StatusCreated)
	w.cookie = first
	status, _ = w.buy(t, "a", 1)
	is.Equal(status, http.StatusPaymentRequired)
}

// Every refusal is JSON, also of a method and of another website.
func TestRefusalsAreJSON(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := open(t, shop.Config{}, nil)
	for _, path := range []string{"/tickets", "/pay"} {
		got := w.send(t, http.MethodGet, path, nil)
		is.Equal(got.Code, http.StatusMethodNotAllowed)
		is.Equal(got.Header().Get("Allow"), "POST")
		is.True(strings.Contains(got.Body.String(), `"code":"METHOD_NOT_ALLOWED"`))
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("{}"))
		request.Header.Set("Sec-Fetch-Site", "cross-site")
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, request)
		is.Equal(answer.Code, http.StatusForbidden)
		is.True(strings.Contains(answer.Body.String(), `"code":"PERMISSION_DENIED"`))
	}
}
