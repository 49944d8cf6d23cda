package console_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// flakySender is a receiver that refuses every third webhook.
type flakySender struct{ asked atomic.Int64 }

func (f *flakySender) Post(context.Context, ticketing.WebhookRequest) (int, error) {
	if f.asked.Add(1)%3 == 0 {
		return http.StatusInternalServerError, nil
	}
	return http.StatusOK, nil
}

// busyConsole is the console of a company whose lists have more than a page.
type busyConsole struct {
	url, secret string // of a session of the owner
	company     string // the path of its overview
}

func newBusyConsole(b *testing.B) busyConsole {
	b.Helper()
	ok, books := is.New(b), ticketingtest.New(b, nil)
	svc, err := ticketing.New(books.Store, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: books.Clock.Now, Sender: new(flakySender),
	})
	ok.NoErr(err)
	staff := svc.As(ticketing.Staff("test"))
	_, err = staff.CreateWebhookEndpoint(b.Context(), books.Company.ID, ticketing.WebhookEndpointParams{
		URL: "https://hooks.example.com/in", Events: []ticketing.FactType{ticketing.FactOrderCreated},
	})
	ok.NoErr(err)
	event := books.Event(b)
	books.Inventory(b, event.ID, "VIP", 150_00, 200)
	for range 120 {
		books.Sell(b, event.ID, "VIP", 1)
	}
	_, err = svc.SendWebhooks(b.Context())
	ok.NoErr(err)
	var first ticketing.Member
	for n := range 120 {
		member, err := staff.AddMember(b.Context(), books.Company.ID, ticketing.AddMemberParams{
			Email: fmt.Sprintf("person-%d@example.com", n), Name: fmt.Sprintf("Person %d", n), Role: ticketing.RoleOwner,
		})
		ok.NoErr(err)
		if n == 0 {
			first = member
		}
	}
	in, err := svc.Accounts().SignIn(b.Context(), first.UserID, ticketing.SignInPasskey, ticketing.Client{Browser: "test"})
	ok.NoErr(err)
	handler, err := console.New(svc, &console.Config{Clock: books.Clock.Now})
	ok.NoErr(err)
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("/blank", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("blank")) })
	mux.HandleFunc("/least", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!doctype html><title>Least</title><p>A page of one word.</p>"))
	})
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	return busyConsole{server.URL, in.Secret, "/business/" + books.Company.ID.String()}
}

// paint is the result of one visit to a page.
type paint struct {
	first float64 // ms from the click to the first contentful paint
	shift float64 // how much of the page shifted
	bytes float64 // transferred, without headers
}

// visit opens a page in a browser without a cache, or after another page of the console.
func (c busyConsole) visit(b *testing.B, browser browsertest.Browser, path string, cold bool) paint {
	b.Helper()
	ok := is.New(b)
	p := browser.Open(b, c.url+"/blank", browsertest.Desktop)
	_, err := chromedp.Call(p.Context(), network.SetCookie, network.SetCookieParams{
		Name: "ticketing", Value: c.secret, URL: c.url,
	})
	ok.NoErr(err)
	if !cold {
		p.Do(chromedp.Navigate(c.url + "/account"))
		p.Wait(`document.readyState === "complete"`)
	}
	slow := func(times float64) {
		_, err := chromedp.Call(p.Context(), emulation.SetCPUThrottlingRate,
			emulation.SetCPUThrottlingRateParams{Rate: times})
		ok.NoErr(err)
	}
	slow(4)
	p.Do(chromedp.Navigate(c.url + path))
	p.Wait(`document.readyState === "complete" && performance.getEntriesByName("first-contentful-paint").length === 1`)
	if at := p.Text(`location.pathname + location.search`); at != path {
		b.Fatalf("%s led to %s", path, at)
	}
	p.Text(`(() => {
		window.shift = 0
		new PerformanceObserver(list => list.getEntries().forEach(e => window.shift += e.value))
			.observe({ type: "layout-shift", buffered: true })
		requestIdleCallback(() => requestAnimationFrame(() => requestAnimationFrame(() => window.seen = true)))
	})()`)
	p.Wait(`window.seen === true`)
	slow(1) // Slowing a page down takes processor time, also in the rounds after it.
	got := strings.Fields(p.Text(`[
		performance.getEntriesByName("first-contentful-paint")[0].startTime, window.shift,
		[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
			.reduce((sum, e) => sum + (e.transferSize ? e.encodedBodySize : 0), 0),
	].join(" ")`))
	p.Do(chromedp.Navigate("about:blank"))
	var numbers [3]float64
	for n := range numbers {
		numbers[n], err = strconv.ParseFloat(got[n], 64)
		ok.NoErr(err)
	}
	return paint{numbers[0], numbers[1], numbers[2]}
}

// BenchmarkFirstPaint measures pages of a company on a processor that is slowed four times: how long after the click
// the first content is painted, how much of the page shifts, and what is transferred. A cold visit is one with an empty
// cache; a warm one follows another page. The first page has a few words and no stylesheet, and shows what the browser
// itself takes. The lists have their 25 rows, the last one 100. The times mean little on a machine that is otherwise
// busy.
func BenchmarkFirstPaint(b *testing.B) {
	browser := browsertest.New(b)
	c := newBusyConsole(b)
	for _, page := range []struct{ name, path string }{
		{"least", "/least"},
		{"overview", c.company},
		{"members", c.company + "/members"},
		{"deliveries", c.company + "/webhooks/deliveries"},
		{"audit", c.company + "/audit"},
		{"audit-of-100", c.company + "/audit?limit=100"},
	} {
		for _, cold := range []bool{true, false} {
			b.Run(page.name+map[bool]string{true: "/cold", false: "/warm"}[cold], func(b *testing.B) {
				var first []float64
				var most paint
				for b.Loop() {
					one := c.visit(b, browser, page.path, cold)
					first = append(first, one.first)
					most.shift, most.bytes = max(most.shift, one.shift), max(most.bytes, one.bytes)
				}
				slices.Sort(first)
				b.ReportMetric(first[len(first)/2], "ms-median")
				b.ReportMetric(first[0], "ms-least")
				b.ReportMetric(first[len(first)-1], "ms-most")
				b.ReportMetric(most.shift, "shift")
				b.ReportMetric(most.bytes, "bytes")
			})
		}
	}
}
