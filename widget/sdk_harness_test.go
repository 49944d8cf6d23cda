package widget_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/widget"
)

// site is a page of a host over TLS, and the web origin that it loads the SDK from.
type site struct {
	browser browsertest.Browser
	host    string // the origin of the page
	web     string // the origin of the SDK

	mu      sync.Mutex
	reports []string // what a Content-Security-Policy has reported
}

// sitePage is how a page of a host is made.
type sitePage struct {
	policy string           // its Content-Security-Policy, where WEB stands for the web origin; empty: none
	frame  string           // the script of the frame's document, in place of the SDK's own document
	served http.HandlerFunc // answers POST requests
}

// newSite serves a page with an empty element #tickets, and the SDK.
func newSite(t *testing.T, about sitePage) *site {
	t.Helper()
	authority := browsertest.Trusted(t)
	s := &site{browser: browsertest.New(t)}
	s.web = authority.Server(t, fakeFrame(about.frame, widget.New(nil)))
	s.host = authority.Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/report":
			text, _ := io.ReadAll(r.Body)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.reports = append(s.reports, string(text))
		case r.Method == http.MethodPost:
			about.served(w, r)
		default:
			if about.policy != "" {
				policy := strings.ReplaceAll(about.policy, "WEB", s.web)
				w.Header().Set("Content-Security-Policy", policy+"; report-uri /report")
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="data:,">
				<div id="tickets"></div><div id="more"></div><script src="%s"></script></html>`, s.web+widget.ScriptPath)
		}
	}))
	return s
}

// fakeFrame serves another document in place of the frame's.
func fakeFrame(script string, sdk http.Handler) http.Handler {
	if script == "" {
		return sdk
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != widget.FramePath {
			sdk.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Frame</title><script>"+script+"</script>")
	})
}

// open opens the page of the host.
func (s *site) open(t *testing.T) *browsertest.Page {
	t.Helper()
	p := s.browser.Open(t, s.host, browsertest.Desktop)
	p.OwnOrigins(s.web)
	return p
}

// reported returns what policies have reported.
func (s *site) reported() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.reports, "\n")
}

// evaluated returns the value of a JavaScript expression in a document.
func evaluated[T any](t *testing.T, f interface{ Text(string) string }, expression string) (value T) {
	t.Helper()
	is.New(t).NoErr(json.Unmarshal([]byte(f.Text("JSON.stringify(await ("+expression+"))")), &value))
	return value
}

// asJSON returns a value as a JavaScript expression.
func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	is.New(t).NoErr(err)
	return string(text)
}

// The envelopes that a proxy answers the four operations, whole.
const (
	eventID   = "0d6f2b7e-8a47-4c4e-9d1b-5f6a7b8c9d01"
	someMoney = `{"amount":"5000.00","currency":"NGN"}`
	eventsOf  = `{"data":[{"id":"` + eventID + `","object":"event","title":"Ọ̀ṣun Night","description":"Drums",
		"status":"PUBLISHED","schedule":{"date":"2026-12-01","startsAt":"19:00","endsAt":"23:30","timezone":"Africa/Lagos"},
		"location":{"name":"Lagos","venue":"Hall 1"},"imageUrl":"https://img.example/a.png?w=2","organizerName":"Adire",
		"category":{"id":"` + eventID + `","name":"Music","slug":"music"},"ticketCategories":["GENERAL_ADMISSION"]}],
		"meta":{"requestId":"req-1","page":{"hasMore":true,"nextCursor":"abc_-1"}}}`
	tiersOf = `{"data":[{"object":"inventory_tier","tier":"GENERAL_ADMISSION","status":"AVAILABLE","availableQuantity":7,
		"totalAdmissions":100,"unitPrice":` + someMoney + `}],"meta":{"requestId":"req-2"}}`
	quoteOf = `{"data":{"object":"pricing_quote","eventId":"` + eventID + `","currency":"NGN",
		"lines":[{"tier":"GENERAL_ADMISSION","quantity":1,"unitPrice":` + someMoney + `,"subtotal":` + someMoney + `,
		"availableAtPrice":7}],"total":` + someMoney + `,"quotedAt":"2026-11-23T08:00:00.000Z"},"meta":{"requestId":"req-3"}}`
	orderOf = `{"data":{"id":"` + eventID + `","object":"order","eventId":"` + eventID + `","status":"CONFIRMED",
		"gross":` + someMoney + `,"branding":{"brandName":"Adire","logoUrl":"https://img.example/logo.png",
		"primaryColor":"#112233","accentColor":"#AABBCC","checkoutFooter":"Thanks"},"lines":[{"id":"` + eventID + `",
		"admissionId":"` + eventID + `","title":"Ọ̀ṣun Night","tier":"GENERAL_ADMISSION","unitPrice":` + someMoney + `}],
		"confirmedAt":"2026-11-23T08:00:00.000Z"},"meta":{"requestId":"req-4"}}`
)

// operations are the four operations, each with a payload and the envelope of its answer.
var operations = []struct{ name, payload, envelope string }{
	{"events.list", `{"limit":10}`, eventsOf},
	{"events.inventory", `{"eventId":"` + eventID + `"}`, tiersOf},
	{"pricing.quote", `{"eventId":"` + eventID + `","lines":[{"tier":"GENERAL_ADMISSION","quantity":1}]}`, quoteOf},
	{"checkout.create", `{"eventId":"` + eventID + `","buyer":{"email":"ada@example.com"},"lines":[{
		"tier":"GENERAL_ADMISSION","quantity":1,"expectedUnitPrice":"5000.00","currency":"NGN"}],
		"idempotencyKey":"cart-0001"}`, orderOf},
}

// plainServer serves a host that has the SDK itself, without TLS.
func plainServer(t *testing.T, other http.Handler) string {
	t.Helper()
	server := httptest.NewServer(widget.New(&widget.Config{Other: other}))
	t.Cleanup(server.Close)
	return server.URL
}
