package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

// discard is a response that drops what is written.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkLayer measures what the HTTP layer itself costs: "handler" minus "service", which makes the same calls of
// the service. For comparison "bare" is an httprouter handler that writes the same bytes.
func BenchmarkLayer(b *testing.B) {
	d := deploy(b, nil)
	event := d.newEvent(b, "PUBLISHED")
	d.stock(b, event, "VIP", "10.00", 100)
	eventID, err := ticketing.ParseID(event)
	is.New(b).NoErr(err)
	quoted := `{"eventId":"` + event + `","lines":[{"tier":"VIP","quantity":2}]}`
	for _, bench := range []struct {
		name, method, path, body string
		call                     func(ticketing.Caller) error
	}{
		{
			name: "get event", method: http.MethodGet, path: "/events/" + event,
			call: func(c ticketing.Caller) error { _, err := d.svc.GetEvent(b.Context(), c, eventID); return err },
		},
		{
			name: "quote", method: http.MethodPost, path: "/pricing/quote", body: quoted,
			call: func(c ticketing.Caller) error {
				_, err := d.svc.Quote(b.Context(), c, ticketing.QuoteParams{
					EventID: eventID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 2}},
				})
				return err
			},
		},
	} {
		answered := d.call(b, bench.method, bench.path, d.key, nil, bench.body)
		is.New(b).Equal(answered.status, http.StatusOK)
		router := httprouter.New()
		router.Handle(bench.method, httpapi.DefaultPrefix+"/*path",
			func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, answered.body)
			})
		handler := newHandler(b, d.svc, &httpapi.Config{RateLimit: 1 << 30})
		b.Run(bench.name+"/bare", func(b *testing.B) { serveAgain(b, router, d.key, bench.method, bench.path, bench.body) })
		b.Run(bench.name+"/handler",
			func(b *testing.B) { serveAgain(b, handler, d.key, bench.method, bench.path, bench.body) })
		b.Run(bench.name+"/service", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				caller, err := d.svc.Authenticate(b.Context(), d.key)
				if err == nil {
					err = bench.call(caller)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func serveAgain(b *testing.B, handler http.Handler, key, method, path, body string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, "http://x"+httpapi.DefaultPrefix+path, http.NoBody)
	is.New(b).NoErr(err)
	r.RemoteAddr = "203.0.113.1:1"
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("X-Request-Id", uuid.NewString())
	r.Header.Set("Content-Type", "application/json")
	w := &discard{header: http.Header{}}
	reader := strings.NewReader(body)
	r.ContentLength = int64(len(body))
	r.Body = io.NopCloser(reader)
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		clear(w.header)
		handler.ServeHTTP(w, r)
	}
}
