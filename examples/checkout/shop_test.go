package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	checkout "github.com/floatgate/ticketing/examples/checkout"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
)

const (
	buyer = "ada@example.com"
	price = money.Amount(5_000_00)
	stock = 10
)

// fault is what becomes of one request to POST /checkouts on its way to the API and back.
type fault func(w http.ResponseWriter, r *http.Request, api http.Handler)

// lostAnswer lets the API commit and then says nothing until the client has given up.
func lostAnswer(_ http.ResponseWriter, r *http.Request, api http.Handler) {
	// The server sees a client leave only when the body was read to its end, which the API does.
	api.ServeHTTP(httptest.NewRecorder(), r)
	<-r.Context().Done()
}

// brokenConnection lets the API commit and then cuts the line.
func brokenConnection(_ http.ResponseWriter, r *http.Request, api http.Handler) {
	api.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// neverArrived cuts the line before the API sees anything.
func neverArrived(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// halfAnswer lets the API commit and cuts the answer short.
func halfAnswer(w http.ResponseWriter, r *http.Request, api http.Handler) {
	recorded := httptest.NewRecorder()
	api.ServeHTTP(recorded, r)
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes()[:recorded.Body.Len()/2])
}

// failedAfterCommit lets the API commit and answers 500.
func failedAfterCommit(w http.ResponseWriter, r *http.Request, api http.Handler) {
	api.ServeHTTP(httptest.NewRecorder(), r)
	refuse(http.StatusInternalServerError, ticketing.CodeInternal, "")(w, r, api)
}

// refuse answers without asking the API.
func refuse(status int, code ticketing.Code, retryAfter string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":{"code":"`+string(code)+`","message":"No."},"meta":{"requestId":"r"}}`)
	}
}

// gateway is an answer of something on the way that speaks no contract.
func gateway(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, "<html>bad gateway</html>")
}

// world is an API with a company ready to sell, a line to it that can be faulty, and a shop.
type world struct {
	t       *testing.T
	svc     *ticketing.Service
	company uuid.UUID
	event   uuid.UUID
	caller  ticketing.Caller
	key     string
	api     *httptest.Server
	dir     string
	log     *bytes.Buffer

	mu     sync.Mutex
	faults []fault
	sent   []string // key and body of each checkout, as it arrived
	waits  []time.Duration
}

func newWorld(t *testing.T, faults ...fault) *world {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	svc, err := ticketing.New(memory.New(), nil)
	is.NoErr(err)
	op := svc.As(ticketing.Staff("test"))
	company, err := op.CreateCompany(ctx, "Lagos Live")
	is.NoErr(err)
	_, err = op.ApproveVerification(ctx, company.ID, time.Time{})
	is.NoErr(err)
	rate, err := money.ParseRate("250", money.BasisPoints)
	is.NoErr(err)
	_, err = op.ScheduleCommission(ctx, company.ID, rate, time.Time{})
	is.NoErr(err)
	_, err = op.CreditFloat(ctx, company.ID, 1_000_000_00, "settlement-0001")
	is.NoErr(err)
	issued, err := op.IssueAPIKey(ctx, company.ID, "storefront", []ticketing.Grant{
		ticketing.GrantInventoryRead, ticketing.GrantCheckoutCreate,
	})
	is.NoErr(err)
	caller := ticketing.TrustedCaller(company.ID, ticketing.AllGrants()...)
	event, err := svc.CreateEvent(ctx, caller, "event-0001", ticketing.CreateEventParams{
		Title: "Highlife Night", Date: time.Now().AddDate(0, 1, 0).Format(time.DateOnly), StartsAt: "19:00", EndsAt: "23:00",
		Timezone: "Africa/Lagos", ImageURL: "https://images.example/a.jpg", Status: ticketing.EventPublished,
	})
	is.NoErr(err)
	_, err = svc.CreateInventory(ctx, caller, event.ID, "batch-0001", ticketing.CreateInventoryParams{
		Tier: "VIP", Title: "VIP", UnitPrice: price, Currency: money.Currency, Quantity: stock,
		Status: ticketing.InventoryAvailable,
	})
	is.NoErr(err)
	w := &world{
		t: t, svc: svc, company: company.ID, event: event.ID, caller: caller, key: issued.Key, dir: t.TempDir(),
		log: new(bytes.Buffer), faults: faults,
	}
	handler := httpapi.New(svc, &httpapi.Config{RateLimit: -1})
	w.api = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != httpapi.DefaultPrefix+"/checkouts" {
			handler.ServeHTTP(rw, r)
			return
		}
		w.arrive(r)(rw, r, handler)
	}))
	t.Cleanup(w.api.Close)
	return w
}

// arrive notes a checkout and tells what becomes of it.
func (w *world) arrive(r *http.Request) fault {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, r.Header.Get("Idempotency-Key")+" "+string(body))
	if len(w.faults) == 0 {
		return func(rw http.ResponseWriter, r *http.Request, api http.Handler) { api.ServeHTTP(rw, r) }
	}
	next := w.faults[0]
	w.faults = w.faults[1:]
	return next
}

// shop starts a shop on the world's folder of carts, as after a restart.
func (w *world) shop() *checkout.Shop {
	w.t.Helper()
	carts, err := checkout.OpenCarts(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(&locked{w: w.log, mu: &w.mu}, nil))
	client := checkout.NewClient(w.api.URL+httpapi.DefaultPrefix, w.key, logger)
	client.AttemptTimeout = 250 * time.Millisecond
	client.Wait = func(ctx context.Context, d time.Duration) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waits = append(w.waits, d)
		return ctx.Err()
	}
	return &checkout.Shop{API: client, Carts: carts, Log: logger}
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
	body   string
	Data   json.RawMessage
	Error  struct{ Code, Message string }
	Quote  checkout.Quote
}

// buy posts the one cart to a shop, as a browser does.
func (w *world) buy(shop *checkout.Shop, agreed string) answer {
	w.t.Helper()
	body, err := json.Marshal(checkout.Purchase{
		CartID: "cart-0001", EventID: w.event.String(), Buyer: checkout.Buyer{Email: buyer, Fullname: "Ada Obi"},
		Lines: []checkout.Line{{Tier: "VIP", Quantity: 2}}, AgreedTotal: agreed,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return post(w.t, shop, "/checkout", string(body))
}

func post(t *testing.T, shop *checkout.Shop, path, body string) answer {
	t.Helper()
	recorded := httptest.NewRecorder()
	shop.Handler().ServeHTTP(recorded, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path,
		strings.NewReader(body)))
	got := answer{status: recorded.Code, body: recorded.Body.String()}
	if err := json.Unmarshal(recorded.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, got.body)
	}
	return got
}

// sold are the company's orders.
func (w *world) sold() []ticketing.Order {
	w.t.Helper()
	page, err := w.svc.ListOrders(w.t.Context(), w.caller, ticketing.OrderFilter{})
	if err != nil {
		w.t.Fatal(err)
	}
	return page.Items
}

// A cart is one order, whatever happens on the line, and the money moves once.
func TestOneOrderWhateverTheLineDoes(t *testing.T) {
	t.Parallel()
	tests := map[string][]fault{
		"nothing":                 nil,
		"the answer is lost":      {lostAnswer},
		"the line breaks":         {brokenConnection, brokenConnection},
		"the request is lost":     {neverArrived},
		"the answer is cut short": {halfAnswer},
		"500 after the commit":    {failedAfterCommit},
		"500 before":              {refuse(http.StatusInternalServerError, ticketing.CodeInternal, "")},
		"429":                     {refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "1")},
		"a gateway":               {gateway},
		"an original in flight":   {refuse(http.StatusConflict, ticketing.CodeConflict, "")},
		"all of it": {
			neverArrived, refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "2"), failedAfterCommit, lostAnswer,
			gateway,
		},
	}
	for name, faults := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := newWorld(t, faults...)
			got := w.buy(w.shop(), "10000.00")
			is.Equal(got.status, http.StatusOK)
			orders := w.sold()
			is.Equal(len(orders), 1)
			is.Equal(orders[0].Gross, 2*price)
			is.Equal(orders[0].Balances.FloatAfter, 1_000_000_00-2*price)
			is.True(strings.Contains(got.body, orders[0].ID.String()))
			is.Equal(len(w.sent), len(faults)+1)
			for _, sent := range w.sent {
				is.Equal(sent, w.sent[0]) // the identical body and key
			}
		})
	}
}

// A shop that gave up, or was stopped, finds its order with the same cart; so does the resumption at its start.
func TestCartSurvivesTheShop(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w *world){
		"the buyer asks again": func(w *world) {
			if got := w.buy(w.shop(), "10000.00"); got.status != http.StatusOK {
				w.t.Errorf("got %d: %s", got.status, got.body)
			}
		},
		"the shop resumes": func(w *world) { w.shop().Resume(w.t.Context()) },
	}
	for name, again := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := newWorld(t, brokenConnection, brokenConnection, brokenConnection, gateway, gateway, neverArrived)
			got := w.buy(w.shop(), "10000.00")
			is.Equal(got.status, http.StatusServiceUnavailable)
			is.Equal(got.Error.Code, "CHECKOUT_PENDING")
			again(w)
			is.Equal(len(w.sold()), 1)
			is.Equal(w.sent[len(w.sent)-1], w.sent[0])
			before := len(w.sent)
			w.shop().Resume(t.Context())
			is.Equal(len(w.sent), before) // nothing is open any more
		})
	}
}

// Ten clicks on one cart are one order.
func TestImpatientBuyerBuysOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t)
	shop := w.shop()
	answers := make([]answer, 10)
	var clicks sync.WaitGroup
	for i := range answers {
		clicks.Go(func() { answers[i] = w.buy(shop, "10000.00") })
	}
	clicks.Wait()
	for _, got := range answers {
		is.Equal(got.status, http.StatusOK)
		is.Equal(got.body, answers[0].body)
	}
	is.Equal(len(w.sold()), 1)
}

// A wait is never shorter than Retry-After, and otherwise random within a bound that doubles up to a cap.
func TestWaitsBetweenAttempts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	busy := refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "7")
	w := newWorld(t, busy, neverArrived, neverArrived, neverArrived, neverArrived)
	is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
	is.Equal(len(w.waits), 5)
	is.True(w.waits[0] >= 7*time.Second)
	for i, d := range w.waits[1:] {
		longest := min(250*time.Millisecond<<(i+1), 5*time.Second) + time.Millisecond
		is.True(0 < d && d <= longest)
	}
}

// A server that asks for a longer pause than a buyer can bear is not asked again meanwhile.
func TestLongRetryAfterEndsTheCall(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, strconv.Itoa(3600)))
	got := w.buy(w.shop(), "10000.00")
	is.Equal(got.status, http.StatusTooManyRequests)
	is.Equal(len(w.sent), 1)
	is.Equal(len(w.sold()), 0)
}

// reprice lets the price change between the quote and the checkout.
func (w *world) reprice(to money.Amount) fault {
	return func(rw http.ResponseWriter, r *http.Request, api http.Handler) {
		currency, free := money.Currency, false
		_, err := w.svc.UpdateInventory(r.Context(), w.caller, w.event, "VIP", ticketing.UpdateInventoryParams{
			UnitPrice: &to, Currency: &currency, IsFree: &free,
		})
		if err != nil {
			w.t.Error(err)
		}
		api.ServeHTTP(rw, r)
	}
}

// INVENTORY_UNAVAILABLE is quoted again: a lower price is taken, for a higher one the buyer is asked.
func TestPriceMovesBetweenQuoteAndCheckout(t *testing.T) {
	t.Parallel()
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		w := newWorld(t)
		w.faults = []fault{w.reprice(price - 100)}
		is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
		is.Equal(w.sold()[0].Gross, 2*(price-100))
	})
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		w := newWorld(t)
		w.faults = []fault{w.reprice(price + 100)}
		got := w.buy(w.shop(), "10000.00")
		is.Equal(got.status, http.StatusConflict)
		is.Equal(got.Error.Code, "PRICE_CHANGED")
		is.Equal(got.Quote.Total.Amount, "10002.00")
		is.Equal(len(w.sold()), 0)
		w.shop().Resume(t.Context())
		is.Equal(len(w.sold()), 0) // nobody buys while the buyer thinks
		is.Equal(w.buy(w.shop(), "10002.00").status, http.StatusOK)
		is.Equal(len(w.sold()), 1)
	})
}

// Codes that no repetition helps end the call at once; the cart goes on when they are mended.
func TestRefusalsThatStop(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	w := newWorld(t)
	op := w.svc.As(ticketing.Staff("test"))
	_, err := op.RevokeVerification(ctx, w.company)
	is.NoErr(err)
	got := w.buy(w.shop(), "10000.00")
	is.Equal(got.status, http.StatusConflict)
	is.Equal(got.Error.Code, string(ticketing.CodeVerificationRequired))
	is.Equal(len(w.sent), 1)
	is.True(strings.Contains(w.log.String(), "level=ERROR")) // somebody is told
	_, err = op.ApproveVerification(ctx, w.company, time.Time{})
	is.NoErr(err)
	is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
	is.Equal(len(w.sold()), 1)
}

// After an attempt without an answer a refusal proves nothing: the identical request is what brings the order to light.
func TestRefusalAfterALostAnswerIsNoProof(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, brokenConnection, refuse(http.StatusConflict, ticketing.CodeVerificationRequired, ""))
	got := w.buy(w.shop(), "10000.00")
	is.Equal(got.Error.Code, string(ticketing.CodeVerificationRequired))
	is.Equal(len(w.sold()), 1)
	is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
	is.Equal(len(w.sold()), 1)
	is.Equal(w.sent[2], w.sent[0])
}

// The browser sees of an order what section 4.12, rule 6 names and nothing else; the log holds no key and no buyer.
func TestNothingPrivateLeaves(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, gateway, failedAfterCommit, refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "1"))
	got := w.buy(w.shop(), "10000.00")
	is.Equal(got.status, http.StatusOK)
	var order map[string]any
	is.NoErr(json.Unmarshal(got.Data, &order))
	is.Equal(members(order), "branding confirmedAt eventId gross id lines object status")
	is.Equal(members(order["branding"].(map[string]any)), "accentColor brandName checkoutFooter logoUrl primaryColor")
	line := order["lines"].([]any)[0].(map[string]any)
	is.Equal(members(line), "admissionId id tier title unitPrice")
	is.True(!strings.Contains(got.body, buyer))
	log := w.log.String()
	is.True(strings.Contains(log, "code=RATE_LIMITED"))
	is.True(!strings.Contains(log, buyer) && !strings.Contains(log, "Ada Obi"))
	is.True(!strings.Contains(log, w.key) && !strings.Contains(log, strings.Split(w.key, ".")[2]))
}

func TestRequestsThatAreNoCart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ path, body, code string }{
		"no JSON":              {"/checkout", `{`, "INVALID_REQUEST"},
		"an unknown member":    {"/checkout", `{"url":"https://evil.example"}`, "INVALID_REQUEST"},
		"a path for a cart":    {"/checkout", `{"cartId":"../../etc/passwd","agreedTotal":"1.00"}`, "INVALID_REQUEST"},
		"no total":             {"/checkout", `{"cartId":"cart-0001"}`, "INVALID_REQUEST"},
		"an unknown event":     {"/quote", `{"eventId":"` + uuid.NewString() + `","lines":[{"tier":"VIP","quantity":1}]}`, "NOT_FOUND"},
		"no lines":             {"/quote", `{"eventId":"` + uuid.NewString() + `","lines":[]}`, "INVALID_REQUEST"},
		"more than is on sale": {"/quote", `{"eventId":"$EVENT","lines":[{"tier":"VIP","quantity":11}]}`, "PRICING_UNAVAILABLE"},
	}
	w := newWorld(t)
	shop := w.shop()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			got := post(t, shop, tt.path, strings.ReplaceAll(tt.body, "$EVENT", w.event.String()))
			is.Equal(got.Error.Code, tt.code)
		})
	}
}

// A cart stands for what it was first checked out with.
func TestCartKeepsItsContent(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t)
	is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
	got := post(t, w.shop(), "/checkout", `{"cartId":"cart-0001","eventId":"`+w.event.String()+
		`","buyer":{"email":"eve@example.com"},"lines":[{"tier":"VIP","quantity":2}],"agreedTotal":"10000.00"}`)
	is.Equal(got.Error.Code, "CART_CHANGED")
	is.Equal(len(w.sold()), 1)
}

func members(object map[string]any) string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
