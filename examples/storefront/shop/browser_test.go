package shop_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/examples/storefront/shop"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
	"github.com/floatgate/ticketing/widget"
)

// fault is what happens to a checkout between the proxy and the API.
type fault func(w http.ResponseWriter, r *http.Request, api http.Handler)

// lostAnswer lets the API sell, and loses its answer.
func lostAnswer(_ http.ResponseWriter, r *http.Request, api http.Handler) {
	api.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler) // The connection breaks.
}

// lostRequest breaks the connection before the API sees the request.
func lostRequest(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// processing is the answer while an earlier request with the same key is in progress.
func processing(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusConflict)
	_, _ = io.WriteString(w, `{"error":{"code":"CONFLICT","message":"Idempotent request is still processing."},`+
		`"meta":{"requestId":"r1"}}`)
}

// inBrowser is a shop in a browser, over HTTPS, with the API at another origin.
type inBrowser struct {
	company *ticketingtest.Shop
	page    *browsertest.Page
	widget  browsertest.Frame
	origin  string
}

// visit opens a page of a shop. The first checkouts meet these faults.
func visit(
	t *testing.T, browser browsertest.Browser, authority *browsertest.Authority, path string, faults ...fault,
) *inBrowser {
	t.Helper()
	is := is.New(t)
	s := &inBrowser{company: ticketingtest.New(t, nil)}
	var mu sync.Mutex
	api := contracttest.New(t.Error, s.company.Service, &httpapi.Config{RateLimit: -1})
	web := authority.Server(t, widget.New(&widget.Config{
		Other: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var next fault
			// A checkout without a key is one of those with which Remote finds out what the embed key holds.
			if strings.HasSuffix(r.URL.Path, "/checkouts") && r.Header.Get("Idempotency-Key") != "" {
				mu.Lock()
				if len(faults) > 0 {
					next, faults = faults[0], faults[1:]
				}
				mu.Unlock()
			}
			if next == nil {
				api.ServeHTTP(w, r)
				return
			}
			next(w, r, api)
		}),
	}))
	key, err := s.company.Staff.IssueAPIKey(t.Context(), s.company.Company.ID, "shop", []ticketing.Grant{
		ticketing.GrantEventRead, ticketing.GrantInventoryRead, ticketing.GrantCheckoutCreate,
	})
	is.NoErr(err)
	upstream, err := embedproxy.Remote(t.Context(), web+httpapi.DefaultPrefix, key.Key, &embedproxy.RemoteConfig{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS12}},
	})
	is.NoErr(err)
	handler, err := shop.New(shop.Config{Upstream: upstream, WebOrigin: web, Secure: true})
	is.NoErr(err)
	s.origin = authority.Server(t, handler)
	event := s.company.Event(t, func(p *ticketing.CreateEventParams) { p.ImageURL = s.origin + "/picture.svg" })
	s.company.Inventory(t, event.ID, "VIP", 5_000_00, 100)
	s.page = browser.Open(t, s.origin+path, browsertest.Desktop)
	s.page.OwnOrigins(web)
	s.enter()
	return s
}

// enter finds the widget, in the page or in its frame.
func (s *inBrowser) enter() {
	s.widget = s.page.Frame
	if s.page.Text(`location.pathname`) == "/frame" {
		s.widget = s.page.Frame.Frame(`document.querySelector("#tickets iframe")`)
	}
}

// press clicks on a button of the widget.
func (s *inBrowser) press(name string) { s.widget.Role("button", name).Click() }

// order fills the basket with a ticket, and goes as far as the button that buys.
func (s *inBrowser) order() browsertest.Element {
	s.press("Lagos Night")
	s.press("^Add one ticket")
	s.press("^Continue$")
	s.widget.Role("textbox", "^Email").Type("ada@example.com")
	return s.widget.Role("button", "^Buy for ₦5,000$")
}

// pay returns the button of the payment.
func (s *inBrowser) pay() browsertest.Element {
	return s.page.Role("button", `^Pay ₦5,000 \(demo\)$`)
}

// confirmed waits for the order.
func (s *inBrowser) confirmed() { s.widget.Role("heading", "^Your order is confirmed$") }

// reload loads the page once more.
func (s *inBrowser) reload() {
	s.page.Do(chromedp.Reload())
	s.enter()
}

// Whatever a buyer does and however often, and whatever becomes of the answers, a purchase is one order.
func TestOneOrder(t *testing.T) {
	t.Parallel()
	authority := browsertest.Trusted(t)
	browser := browsertest.New(t)
	const doubt, check = "^We don't know yet", "^Check again$"
	for name, test := range map[string]struct {
		faults []fault
		buy    func(t *testing.T, s *inBrowser)
	}{
		"double clicks": {buy: func(_ *testing.T, s *inBrowser) {
			s.order().DoubleClick()
			s.pay().DoubleClick()
			s.confirmed()
		}},
		"lost answer": {faults: []fault{lostAnswer}, buy: func(_ *testing.T, s *inBrowser) {
			s.order().Click()
			s.pay().Click()
			s.widget.Role("heading", doubt)
			s.press(check)
			s.confirmed()
		}},
		"lost answer, reload": {faults: []fault{lostAnswer}, buy: func(_ *testing.T, s *inBrowser) {
			s.order().Click()
			s.pay().Click()
			s.widget.Role("heading", doubt)
			s.reload()
			s.widget.Role("heading", doubt)
			s.press(check)
			s.confirmed()
		}},
		"lost request, reload before the payment": {faults: []fault{lostRequest}, buy: func(_ *testing.T, s *inBrowser) {
			s.order().Click()
			s.pay()
			s.reload()
			s.press(check)
			s.pay().Click()
			s.widget.Role("heading", doubt)
			s.press(check)
			s.confirmed()
		}},
		"still processing": {faults: []fault{processing, processing}, buy: func(_ *testing.T, s *inBrowser) {
			s.order().Click()
			s.pay().Click()
			s.confirmed()
		}},
		"cancelled, then paid": {buy: func(_ *testing.T, s *inBrowser) {
			s.order().Click()
			s.page.Role("button", "^Cancel$").Click()
			s.widget.Role("button", "^Buy for ₦5,000$").Click()
			s.pay().Click()
			s.confirmed()
		}},
		"back and forward": {buy: func(_ *testing.T, s *inBrowser) {
			s.order().Click()
			s.pay().Click()
			s.confirmed()
			s.page.Do(chromedp.Navigate(s.origin+"/icon.svg"), chromedp.NavigateBack())
			s.enter()
			s.widget.Role("region", "^Tickets")
			s.reload()
			s.widget.Role("heading", "^Events$")
		}},
		"two tabs": {faults: []fault{lostAnswer}, buy: func(_ *testing.T, s *inBrowser) {
			s.order().Click()
			s.pay().Click()
			s.widget.Role("heading", doubt)
			// A browser copies the storage of a session into a tab that it duplicates.
			kept := s.page.Text(`JSON.stringify({ ...sessionStorage })`)
			copied := *s
			copied.page = s.page.Tab(s.origin+"/icon.svg", browsertest.Desktop)
			copied.page.Text(`Object.assign(sessionStorage, ` + kept + `)`)
			copied.page.Do(chromedp.Navigate(s.origin + "/"))
			copied.enter()
			copied.press(check)
			copied.confirmed()
			s.press(check)
			s.confirmed()
		}},
	} {
		for _, path := range []string{"/", "/frame"} {
			if path == "/frame" && name == "two tabs" {
				continue // The storage is that of the frame's origin.
			}
			t.Run(name+" "+path, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				s := visit(t, browser, authority, path, test.faults...)
				test.buy(t, s)
				orders, err := s.company.ListOrders(t.Context(), s.company.Caller, ticketing.OrderFilter{})
				is.NoErr(err)
				is.Equal(len(orders.Items), 1)
				is.Equal(orders.Items[0].Gross, money.Amount(5_000_00))
				is.Equal(s.page.PolicyViolations(), nil)
				is.Equal(s.page.Elsewhere(), []string{})
			})
		}
	}
}
