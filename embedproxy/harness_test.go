package embedproxy_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy"
)

// The ids of the scripted API.
const (
	eventID     = "6f1c8e0e-5a52-4f6c-9d0c-2f6f2b7f3a11"
	otherID     = "0b1d9f52-9b1e-4d39-8a55-7f1df1f0c9aa"
	orderID     = "9a4f3c61-3f0e-4b53-8a41-d1a5f6e7b822"
	lineID      = "1d2c3b4a-5f6e-4a7b-8c9d-0e1f2a3b4c5d"
	admissionID = "2e3d4c5b-6a7f-4b8c-9d0e-1f2a3b4c5d6e"
	rateID      = "3f4e5d6c-7b8a-4c9d-8e1f-2a3b4c5d6e7f"
	categoryID  = "4a5f6e7d-8c9b-4d0e-9f2a-3b4c5d6e7f8a"
)

// The valid answers of the scripted API. Only bareEvent has nulls.
const (
	goodMeta  = `{"requestId":"upstream-1"}`
	goodMoney = `{"amount":"5000.00","currency":"NGN"}`

	goodEvent = `{"id":"` + eventID + `","object":"event","title":"Jazz <night>","description":"Two\nsets",` +
		`"status":"PUBLISHED","schedule":{"date":"2026-12-31","startsAt":"19:00","endsAt":"23:30",` +
		`"timezone":"Africa/Lagos"},"location":{"name":"Lagos","venue":"Terra Kulture"},` +
		`"imageUrl":"https://img.example.com/a.png?w=1","organizerName":"Adire","category":{"id":"` + categoryID +
		`","name":"Music","slug":"music"},"ticketCategories":["GENERAL_ADMISSION","VIP"],` +
		`"createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"2026-01-02T03:04:05.678Z"}`
	bareEvent = `{"id":"` + eventID + `","object":"event","title":"Jazz","description":null,` +
		`"status":"PUBLISHED","schedule":{"date":null,"startsAt":null,"endsAt":null,"timezone":null},` +
		`"location":{"name":null,"venue":null},"imageUrl":"https://img.example.com/a.png","organizerName":null,` +
		`"category":null,"ticketCategories":[],` +
		`"createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"2026-01-02T03:04:05.678Z"}`

	goodTier = `{"object":"inventory_tier","tier":"VIP","status":"AVAILABLE","availableQuantity":10,` +
		`"totalAdmissions":20,"unitPrice":` + goodMoney + `}`

	goodQuote = `{"object":"pricing_quote","eventId":"` + eventID + `","currency":"NGN","lines":[{"tier":"VIP",` +
		`"quantity":2,"unitPrice":` + goodMoney + `,"subtotal":{"amount":"10000.00","currency":"NGN"},` +
		`"availableAtPrice":7}],"total":{"amount":"10000.00","currency":"NGN"},"quotedAt":"2026-01-02T03:04:05.678Z"}`

	goodOrder = `{"id":"` + orderID + `","object":"order","eventId":"` + eventID + `","status":"CONFIRMED","gross":` +
		goodMoney + `,"floatDebited":` + goodMoney + `,"commission":{"amount":{"amount":"125.00","currency":"NGN"},` +
		`"rate":{"id":"` + rateID + `","value":"2.5","unit":"PERCENT"}},"balances":{"floatBefore":` + goodMoney +
		`,"floatAfter":` + goodMoney + `,"earningsBefore":` + goodMoney + `,"earningsAfter":` + goodMoney +
		`},"buyer":{"email":"secret-buyer@example.com","fullname":"Ada","phone":"+234"},"branding":{"brandName":"Adire",` +
		`"logoUrl":"https://adire.example.com/l.png","primaryColor":"#0011FF","accentColor":"#AABBCC",` +
		`"checkoutFooter":"Bye","ticketFooter":"T","emailFooter":"E","supportEmail":"help@example.com",` +
		`"emailMode":"SERVICE_SENDER"},"lines":[{"id":"` + lineID + `","admissionId":"` + admissionID +
		`","title":"Seat","tier":"VIP","unitPrice":` + goodMoney + `}],"confirmedAt":"2026-01-02T03:04:05.678Z",` +
		`"createdAt":"2026-01-02T03:04:05.678Z"}`

	goodPage = `{"data":[` + goodEvent + `],"meta":{"requestId":"upstream-1","page":{"hasMore":true,` +
		`"nextCursor":"aZ0_-"}}}`
	goodProof     = `{"data":` + goodEvent + `,"meta":` + goodMeta + `}`
	goodInventory = `{"data":[` + goodTier + `],"meta":` + goodMeta + `}`
	goodQuoted    = `{"data":` + goodQuote + `,"meta":` + goodMeta + `}`
	goodSold      = `{"data":` + goodOrder + `,"meta":` + goodMeta + `}`
	goodRefusal   = `{"error":{"code":"CONFLICT","message":"No.","details":{"a":[{"b":1}]}},"meta":` + goodMeta + `}`
)

// What a browser sends.
const (
	postList      = `{"operation":"events.list","payload":{"limit":7,"cursor":"aZ0_-"}}`
	postInventory = `{"operation":"events.inventory","payload":{"eventId":"` + eventID + `"}}`
	postQuote     = `{"operation":"pricing.quote","payload":{"eventId":"` + eventID +
		`","lines":[{"tier":"VIP","quantity":2}]}}`
	postCheckout = `{"operation":"checkout.create","payload":{"eventId":"` + eventID +
		`","buyer":{"email":"Ada@Example.com","fullname":" Ada ","phone":"+234"},"lines":[{"tier":"VIP","quantity":1,` +
		`"expectedUnitPrice":"5000.00","currency":"NGN"}],"idempotencyKey":"cart-1001"}}`
)

// posts are the four operations and the routes of the API that they call, in order.
var posts = []struct {
	name, body string
	routes     []string
}{
	{"list", postList, []string{routeList}},
	{"inventory", postInventory, []string{routeEvent, routeInventory, routeEvent}},
	{"quote", postQuote, []string{routeEvent, routeQuote}},
	{"checkout", postCheckout, []string{routeEvent, routeCheckout}},
}

const (
	routeList      = "GET /events"
	routeEvent     = "GET /events/" + eventID
	routeInventory = "GET /events/" + eventID + "/inventory"
	routeQuote     = "POST /pricing/quote"
	routeCheckout  = "POST /checkouts"
)

const embedKey = "svc_live.embed.secret-of-the-key"

// script is an API that answers as a test says, and otherwise with a valid answer. The zero script is ready.
type script struct {
	mu       sync.Mutex
	answers  map[string]http.HandlerFunc // by route
	requests []sent
}

// sent is a request that the API got.
type sent struct {
	route, query, body, address string
	header                      http.Header
}

// on makes the API answer a route by a function.
func (s *script) on(route string, answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[string]http.HandlerFunc{}
	}
	s.answers[route] = answer
}

// send makes the API answer a route with a status and a body.
func (s *script) send(route string, status int, body string) {
	s.on(route, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, status, body) })
}

func sendJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// got returns the requests since its last call.
func (s *script) got() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.requests
	s.requests = nil
	return got
}

// routes returns the routes of the requests since the last call of routes or got.
func (s *script) routes() []string {
	var routes []string
	for _, request := range s.got() {
		routes = append(routes, request.route)
	}
	return routes
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	route := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), "/api/public/v1")
	s.mu.Lock()
	s.requests = append(s.requests, sent{
		route: route, query: r.URL.RawQuery, body: string(body), address: r.RemoteAddr, header: r.Header.Clone(),
	})
	answer := s.answers[route]
	s.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case route == "GET /openapi.json":
		sendJSON(w, 200, `{"openapi":"3.1.0","info":{"title":"Service Public API","version":"1"}}`)
	case r.URL.RawQuery == "limit=0" && route == routeList, string(body) == "{}" && route == routeQuote,
		string(body) == "{}" && route == routeCheckout:
		sendJSON(w, 400, `{"error":{"code":"INVALID_REQUEST","message":"No."},"meta":`+goodMeta+`}`)
	case route == routeList:
		sendJSON(w, 200, goodPage)
	case route == routeEvent:
		sendJSON(w, 200, goodProof)
	case route == routeInventory:
		sendJSON(w, 200, goodInventory)
	case route == routeQuote:
		sendJSON(w, 200, goodQuoted)
	case route == routeCheckout:
		sendJSON(w, 201, goodSold)
	default:
		sendJSON(w, 403, `{"error":{"code":"PERMISSION_DENIED","message":"No."},"meta":`+goodMeta+`}`)
	}
}

// remote returns a scripted API over HTTP.
func (s *script) remote(tb testing.TB, config *embedproxy.RemoteConfig) embedproxy.Upstream {
	tb.Helper()
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	upstream, err := embedproxy.Remote(tb.Context(), server.URL+"/api/public/v1", embedKey, config)
	is.New(tb).NoErr(err)
	s.got()
	return upstream
}

// eachWay runs a test over HTTP and in the process.
func eachWay(t *testing.T, test func(t *testing.T, api *script, upstream embedproxy.Upstream)) {
	t.Helper()
	t.Run("Remote", func(t *testing.T) {
		t.Parallel()
		api := &script{}
		test(t, api, api.remote(t, nil))
	})
	t.Run("Local", func(t *testing.T) {
		t.Parallel()
		api := &script{}
		test(t, api, embedproxy.Local(api))
	})
}

// shop is a proxy that is served over HTTP.
type shop struct {
	url string
	log *logBook
}

// open serves a proxy. Without a config there are no limits, each request has the session of its cookie, and anyone may
// buy.
func open(tb testing.TB, upstream embedproxy.Upstream, change func(*embedproxy.Config)) *shop {
	tb.Helper()
	s := &shop{log: &logBook{}}
	config := embedproxy.Config{
		Session: func(r *http.Request) (string, error) {
			cookie, err := r.Cookie("session")
			if err != nil {
				return "", embedproxy.ErrNoSession
			}
			return cookie.Value, nil
		},
		MayBuy: embedproxy.AnyoneMayBuy, RequestsPerMinute: -1, CheckoutsPerMinute: -1,
		Logger: slog.New(slog.NewJSONHandler(s.log, nil)),
	}
	if change != nil {
		change(&config)
	}
	proxy, err := embedproxy.New(upstream, &config)
	is.New(tb).NoErr(err)
	server := httptest.NewServer(proxy)
	tb.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// browser sends requests as a browser on the shop's page does.
var browser = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// answer is what the browser got.
type answer struct {
	status int
	header http.Header
	body   string
}

// post posts a body with the headers of a same-origin request. A header with the value "-" is left out.
func (s *shop) post(tb testing.TB, body string, headers ...string) answer {
	tb.Helper()
	a, err := s.send(tb, http.MethodPost, body, headers...)
	is.New(tb).NoErr(err)
	return a
}

func (s *shop) send(tb testing.TB, method, body string, headers ...string) (answer, error) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), method, s.url+"/shop/tickets", strings.NewReader(body))
	is.New(tb).NoErr(err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Cookie", "session=s1")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Del(headers[i])
		if headers[i+1] != "-" {
			request.Header[headers[i]] = strings.Split(headers[i+1], "|")
		}
	}
	response, err := browser.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	a := answer{status: response.StatusCode, header: response.Header, body: string(read)}
	if err == nil {
		a.check(tb)
	}
	return a, err
}

// check checks what every answer must have.
func (a answer) check(tb testing.TB) {
	tb.Helper()
	is := is.New(tb)
	is.Equal(a.header.Get("Content-Type"), "application/json; charset=utf-8")
	is.Equal(a.header.Get("Cache-Control"), "no-store")
	is.Equal(a.header.Get("X-Content-Type-Options"), "nosniff")
	var body struct {
		Meta struct{ RequestID string }
	}
	is.NoErr(json.Unmarshal([]byte(a.body), &body))
	is.Equal(a.header["X-Request-Id"], []string{body.Meta.RequestID})
	is.True(body.Meta.RequestID != "")
	// Nothing private of an order, and nothing of a key, is in any answer.
	for _, private := range []string{"floatDebited", "secret", "balances", "commission", "createdAt", "details"} {
		if strings.Contains(a.body, private) {
			tb.Errorf("%q is in the answer %s", private, a.body)
		}
	}
}

// id returns the request id.
func (a answer) id() string { return a.header.Get("X-Request-Id") }

// failed checks a failure: its status, its code, and that it has nothing else but a message, which it returns.
func (a answer) failed(tb testing.TB, status int, code string) string {
	tb.Helper()
	if a.status != status {
		tb.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	var body struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
		Meta struct {
			RequestID string `json:"requestId"`
		} `json:"meta"`
	}
	decoder := json.NewDecoder(strings.NewReader(a.body))
	decoder.DisallowUnknownFields()
	is := is.New(tb)
	is.NoErr(decoder.Decode(&body))
	is.Equal(body.Error.Code, code)
	is.True(body.Error.Message != "")
	return body.Error.Message
}

// ok checks a success: its status, and its body exactly.
func (a answer) ok(tb testing.TB, status int, body string) {
	tb.Helper()
	if a.status != status || a.body != body {
		tb.Fatalf("status %d, want %d:\n got %s\nwant %s", a.status, status, a.body, body)
	}
	is.New(tb).Equal(a.header.Get("Retry-After"), "")
}

// logBook records the log.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// lines returns the entries.
func (b *logBook) lines(tb testing.TB) []map[string]any {
	tb.Helper()
	var found []map[string]any
	for line := range strings.Lines(b.String()) {
		var entry map[string]any
		is.New(tb).NoErr(json.Unmarshal([]byte(line), &entry))
		found = append(found, entry)
	}
	return found
}

// handler returns a proxy without limits for a test that calls it in the process.
func handler(tb testing.TB, upstream embedproxy.Upstream) http.Handler {
	tb.Helper()
	proxy, err := embedproxy.New(upstream, &embedproxy.Config{
		Session: func(*http.Request) (string, error) { return "s1", nil }, MayBuy: embedproxy.AnyoneMayBuy,
		RequestsPerMinute: -1, CheckoutsPerMinute: -1,
	})
	is.New(tb).NoErr(err)
	return proxy
}

// serve posts a body in the process.
func serve(tb testing.TB, proxy http.Handler, body []byte) answer {
	tb.Helper()
	request := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/shop", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	proxy.ServeHTTP(w, request)
	return answer{status: w.Code, header: w.Header(), body: w.Body.String()}
}
