package embedproxy_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/ticketingtest"
)

// fixed is an API that returns fixed answers from memory.
type fixed struct{}

func (fixed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/public/v1")
	_, _ = io.Copy(io.Discard, r.Body)
	switch {
	case path == "/events":
		sendJSON(w, 200, goodPage)
	case path == "/pricing/quote":
		sendJSON(w, 200, goodQuoted)
	case path == "/checkouts":
		sendJSON(w, 201, goodSold)
	case strings.HasSuffix(path, "/inventory"):
		sendJSON(w, 200, goodInventory)
	default:
		sendJSON(w, 200, goodProof)
	}
}

// remoteOf returns a remote upstream whose calls go to an API over HTTP.
func remoteOf(b *testing.B, api http.Handler) embedproxy.Upstream {
	b.Helper()
	start := &script{}
	var started bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if started {
			api.ServeHTTP(w, r)
			return
		}
		start.ServeHTTP(w, r)
	}))
	b.Cleanup(server.Close)
	upstream, err := embedproxy.Remote(b.Context(), server.URL+"/api/public/v1", embedKey, nil)
	is.New(b).NoErr(err)
	started = true
	return upstream
}

// BenchmarkProxy measures a proxy that is served over HTTP, with an API that answers from memory. "op/s" counts the
// operations of eight concurrent browsers.
func BenchmarkProxy(b *testing.B) {
	for _, way := range []string{"remote", "local"} {
		for _, post := range posts {
			b.Run(way+"/"+post.name, func(b *testing.B) {
				api := fixed{}
				upstream := embedproxy.Local(api)
				if way == "remote" {
					upstream = remoteOf(b, api)
				}
				server := httptest.NewServer(handler(b, upstream))
				b.Cleanup(server.Close)
				b.SetParallelism(4) // for each of two cores
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := once(b.Context(), server.URL, post.body); err != nil {
							b.Error(err)
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
			})
		}
	}
}

// once posts one operation over a kept connection.
func once(ctx context.Context, url, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	return drain(request)
}

func drain(request *http.Request) error {
	response, err := browser.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	if response.StatusCode > 299 {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return err
}

// BenchmarkAdded measures what the proxy adds to one call of the API on loopback: the 95th percentile of a call through
// the proxy, less that of the same call without it. The two calls alternate.
func BenchmarkAdded(b *testing.B) {
	api := fixed{}
	direct := httptest.NewServer(api)
	b.Cleanup(direct.Close)
	proxy := httptest.NewServer(handler(b, remoteOf(b, api)))
	b.Cleanup(proxy.Close)
	var without, with []time.Duration
	for b.Loop() {
		began := time.Now()
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, direct.URL+"/api/public/v1/events", nil)
		if err == nil {
			err = drain(request)
		}
		between := time.Now()
		if err = cmp.Or(err, once(b.Context(), proxy.URL, postList)); err != nil {
			b.Fatal(err)
		}
		without, with = append(without, between.Sub(began)), append(with, time.Since(between))
	}
	b.ReportMetric(float64(share(with, 95)-share(without, 95))/float64(time.Millisecond), "p95-added-ms")
}

// share returns the duration that a percentage of calls does not exceed.
func share(of []time.Duration, percent int) time.Duration {
	slices.Sort(of)
	return of[len(of)*percent/100]
}

// BenchmarkLocal measures an operation over an API in the same process, and the same calls of that API without the
// proxy. "times" is the ratio of their medians.
func BenchmarkLocal(b *testing.B) {
	company := ticketingtest.New(b, nil)
	event := company.Event(b)
	for range 24 {
		company.Event(b)
	}
	company.Inventory(b, event.ID, "VIP", 150_00, 1000)
	api := httpapi.New(company.Service, &httpapi.Config{
		RateLimit: -1,
		Caller: func(*http.Request) (ticketing.Caller, error) {
			return ticketing.TrustedCaller(company.Company.ID, embedGrants...), nil
		},
	})
	proxy := handler(b, embedproxy.Local(api))
	path := "/events/" + event.ID.String()
	line := `"eventId":"` + event.ID.String() + `","lines":[{"tier":"VIP","quantity":1}]`
	for _, bench := range []struct {
		name  string
		calls [][3]string
		post  string
	}{
		{"list", [][3]string{{"GET", "/events?status=PUBLISHED"}}, `{"operation":"events.list","payload":{}}`},
		{
			"inventory",
			[][3]string{{"GET", path}, {"GET", path + "/inventory"}, {"GET", path}},
			on("events.inventory", event, ""),
		},
		{
			"quote",
			[][3]string{{"GET", path}, {"POST", "/pricing/quote", "{" + line + "}"}},
			`{"operation":"pricing.quote","payload":{` + line + `}}`,
		},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var calls, operations []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				for _, call := range bench.calls {
					serveOnce(b.Context(), api, call[0], httpapi.DefaultPrefix+call[1], call[2])
				}
				between := time.Now()
				serveOnce(b.Context(), proxy, http.MethodPost, "/", bench.post)
				calls, operations = append(calls, between.Sub(began)), append(operations, time.Since(between))
			}
			b.ReportMetric(float64(share(operations, 50))/float64(share(calls, 50)), "times")
		})
	}
	// Each checkout sells, so each of the two gets half of the keys.
	b.Run("checkout", func(b *testing.B) {
		var calls, operations []time.Duration
		for n := 0; b.Loop(); n++ {
			if n%450 == 0 {
				b.StopTimer()
				company.Inventory(b, event.ID, "VIP", 150_00, 1000)
				company.Credit(b, 1000*150_00)
				b.StartTimer()
			}
			body := `"eventId":"` + event.ID.String() + `","buyer":{"email":"ada@example.com"},"lines":[{"tier":"VIP",` +
				`"quantity":1,"expectedUnitPrice":"150.00","currency":"NGN"}]`
			key := fmt.Sprintf("bench-%08d", n)
			began := time.Now()
			serveOnce(b.Context(), api, "GET", httpapi.DefaultPrefix+path, "")
			serveOnce(b.Context(), api, "POST", httpapi.DefaultPrefix+"/checkouts", "{"+body+"}", "Idempotency-Key", "a"+key)
			between := time.Now()
			serveOnce(b.Context(), proxy, "POST", "/",
				`{"operation":"checkout.create","payload":{`+body+`,"idempotencyKey":"b`+key+`"}}`)
			calls, operations = append(calls, between.Sub(began)), append(operations, time.Since(between))
		}
		b.ReportMetric(float64(share(operations, 50))/float64(share(calls, 50)), "times")
	})
}

// kept is a response that is kept. It costs almost nothing.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header         { return k.header }
func (k *kept) Write(p []byte) (int, error) { return k.body.Write(p) }
func (k *kept) WriteHeader(status int)      { k.status = status }

func serveOnce(ctx context.Context, handler http.Handler, method, path, body string, headers ...string) {
	request, err := http.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.RemoteAddr = "203.0.113.9:1234"
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	k := &kept{header: http.Header{}}
	handler.ServeHTTP(k, request)
	if k.status > 299 {
		panic(fmt.Sprintf("status %d: %s", k.status, k.body.String()))
	}
}
