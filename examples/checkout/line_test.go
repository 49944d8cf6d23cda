package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	checkout "github.com/floatgate/ticketing/examples/checkout"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

const (
	buyer     = "ada@example.com"
	buyerName = "Ada \"<Obi>\" & Sọ̀ns\u2028" // many of its characters are escaped in JSON
	price     = money.Amount(5_000_00)
	stock     = 10
	origin    = "http://tickets.example" + httpapi.DefaultPrefix
)

// fault is what happens to one request to POST /checkouts on its way to the API and back.
type fault func(r *http.Request, api func() *http.Response) (*http.Response, error)

var errLine = errors.New("connection reset by peer")

// lostAnswer lets the API commit, and returns no answer until the client has given up.
func lostAnswer(r *http.Request, api func() *http.Response) (*http.Response, error) {
	api()
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// brokenConnection lets the API commit, and then fails.
func brokenConnection(_ *http.Request, api func() *http.Response) (*http.Response, error) {
	api()
	return nil, errLine
}

// neverArrived fails before the API sees anything.
func neverArrived(*http.Request, func() *http.Response) (*http.Response, error) { return nil, errLine }

// halfAnswer lets the API commit, and cuts the answer short.
func halfAnswer(_ *http.Request, api func() *http.Response) (*http.Response, error) {
	return altered(api, func(body string) string { return body[:len(body)/2] }), nil
}

// otherDebit lets the API commit, and returns an order with another debit.
func otherDebit(_ *http.Request, api func() *http.Response) (*http.Response, error) {
	return altered(api, func(body string) string {
		return strings.Replace(body, `"floatDebited":{"amount":"1`, `"floatDebited":{"amount":"2`, 1)
	}), nil
}

// otherTime lets the API commit, and returns an order whose time is malformed.
func otherTime(_ *http.Request, api func() *http.Response) (*http.Response, error) {
	return altered(api, func(body string) string {
		return strings.Replace(body, `"confirmedAt":"`, `"confirmedAt":"Ada `, 1)
	}), nil
}

func altered(api func() *http.Response, alter func(string) string) *http.Response {
	answered := api()
	body, _ := io.ReadAll(answered.Body)
	return made(answered.StatusCode, "", alter(string(body)))
}

// afterCommit lets the API commit, and then applies another fault.
func afterCommit(otherwise fault) fault {
	return func(r *http.Request, api func() *http.Response) (*http.Response, error) {
		api()
		return otherwise(r, api)
	}
}

// refuse returns a fault that responds without calling the API.
func refuse(status int, code ticketing.Code, retryAfter string) fault {
	return func(*http.Request, func() *http.Response) (*http.Response, error) {
		return made(status, retryAfter, `{"error":{"code":"`+string(code)+`","message":"No.","details":{"violations":[
			{"message":"buyer.fullname: was Ada"}]}},"meta":{"requestId":"r"}}`), nil
	}
}

// page returns a fault that responds with the page of a server that is not the API.
func page(status int) fault {
	return func(*http.Request, func() *http.Response) (*http.Response, error) {
		return made(status, "", "<html>welcome to the gateway</html>"), nil
	}
}

func made(status int, retryAfter, body string) *http.Response {
	w := httptest.NewRecorder()
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	_, _ = w.WriteString(body)
	return w.Result()
}

var (
	gateway   = page(http.StatusBadGateway)
	failed    = refuse(http.StatusInternalServerError, ticketing.CodeInternal, "")
	conflicts = refuse(http.StatusConflict, ticketing.CodeConflict, "")
)

// world is an API with a company ready to sell, a transport to it that may fail, and a shop.
type world struct {
	*ticketingtest.Shop

	t     *testing.T
	event uuid.UUID
	key   string // with no more grants than the shop needs
	api   http.Handler
	dir   string
	log   bytes.Buffer

	mu     sync.Mutex
	faults []fault
	sent   []string // key and body of each checkout, as it arrived
	at     []time.Time
	ids    []string // the X-Request-Id of every request
}

func newWorld(t *testing.T, faults ...fault) *world {
	t.Helper()
	w := &world{Shop: ticketingtest.New(t, nil), t: t, dir: t.TempDir(), faults: faults}
	issued, err := w.Staff.IssueAPIKey(t.Context(), w.Company.ID, "storefront", []ticketing.Grant{
		ticketing.GrantInventoryRead, ticketing.GrantCheckoutCreate,
	})
	is.New(t).NoErr(err)
	w.key, w.event = issued.Key, w.Event(t).ID
	w.Inventory(t, w.event, "VIP", price, stock)
	w.api = contracttest.New(t.Error, w.Service, &httpapi.Config{RateLimit: -1})
	return w
}

// inWorld runs a test in a world with its own clock, on which waits take no time.
func inWorld(t *testing.T, test func(is *is.I, w *world), faults ...fault) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(is.New(t), newWorld(t, faults...)) })
}

// RoundTrip records each checkout, and applies the next of the faults to it.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	served := r.Clone(r.Context())
	served.Body, served.RequestURI = io.NopCloser(bytes.NewReader(body)), r.URL.RequestURI()
	api := func() *http.Response {
		answered := httptest.NewRecorder()
		w.api.ServeHTTP(answered, served)
		return answered.Result()
	}
	w.mu.Lock()
	w.ids = append(w.ids, r.Header.Get("X-Request-Id"))
	if r.URL.Path != httpapi.DefaultPrefix+"/checkouts" {
		w.mu.Unlock()
		return api(), nil
	}
	w.sent = append(w.sent, r.Header.Get("Idempotency-Key")+" "+string(body))
	w.at = append(w.at, time.Now())
	become := fault(func(*http.Request, func() *http.Response) (*http.Response, error) { return api(), nil })
	if len(w.faults) > 0 {
		become, w.faults = w.faults[0], w.faults[1:]
	}
	w.mu.Unlock()
	return become(r, api)
}

// reprice changes the price of unsold admissions.
func (w *world) reprice(to money.Amount) {
	w.t.Helper()
	currency, free := money.Currency, false
	_, err := w.UpdateInventory(w.t.Context(), w.Caller, w.event, "VIP", ticketing.UpdateInventoryParams{
		UnitPrice: &to, Currency: &currency, IsFree: &free,
	})
	if err != nil {
		w.t.Error(err)
	}
}

// repriced returns a fault that changes the price between the quote and the checkout.
func (w *world) repriced(to money.Amount) fault {
	return func(_ *http.Request, api func() *http.Response) (*http.Response, error) {
		w.reprice(to)
		return api(), nil
	}
}

// waits returns the times between the checkouts that arrived.
func (w *world) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(w.at); i++ {
		waits = append(waits, w.at[i].Sub(w.at[i-1]))
	}
	return waits
}

// shop starts a shop on the world's folder of carts, as after a restart.
func (w *world) shop() *checkout.Shop {
	w.t.Helper()
	return w.open(w)
}

// open starts a shop with another transport.
func (w *world) open(line http.RoundTripper) *checkout.Shop {
	w.t.Helper()
	carts, err := checkout.OpenCarts(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(&locked{w: &w.log, mu: &w.mu}, nil))
	shop, err := checkout.NewShop(origin, w.key, line, carts, logger)
	if err != nil {
		w.t.Fatal(err)
	}
	return shop
}

type locked struct {
	w  io.Writer
	mu *sync.Mutex
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// answer is what the browser gets.
type answer struct {
	status int
	header http.Header
	body   string
	Data   json.RawMessage
	Error  struct{ Code, Message string }
	Meta   struct{ RequestID string }
	Quote  checkout.BrowserQuote
}

// cart returns the body of a purchase.
func (w *world) cart(id, fullname, agreed string) string {
	w.t.Helper()
	body, err := json.Marshal(checkout.Purchase{
		CartID: id, EventID: w.event, Buyer: checkout.Buyer{Email: buyer, Fullname: fullname},
		Lines: []checkout.Line{{Tier: "VIP", Quantity: 2}}, AgreedTotal: agreed,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(body)
}

// buy posts the cart cart-0001 to a shop, as a browser does.
func (w *world) buy(shop *checkout.Shop, agreed string) answer {
	w.t.Helper()
	return post(w.t, shop, "/checkout", w.cart("cart-0001", buyerName, agreed), "")
}

func post(t *testing.T, shop *checkout.Shop, path, body, requestID string) answer {
	t.Helper()
	recorded := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	request.Header.Set("X-Request-Id", requestID)
	shop.Handler().ServeHTTP(recorded, request)
	got := answer{status: recorded.Code, header: recorded.Header(), body: recorded.Body.String()}
	if err := json.Unmarshal(recorded.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, got.body)
	}
	return got
}

// sold returns the company's orders.
func (w *world) sold() []ticketing.Order {
	w.t.Helper()
	page, err := w.ListOrders(w.t.Context(), w.Caller, ticketing.OrderFilter{})
	if err != nil {
		w.t.Fatal(err)
	}
	return page.Items
}
