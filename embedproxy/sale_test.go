package embedproxy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// sale is a proxy over the API, whose answers are checked against the contract's document.
type sale struct {
	*shop
	company *ticketingtest.Shop
	lose    atomic.Int64 // how many answers of checkouts to lose after the sale
}

// embedGrants are the grants of an embed key.
var embedGrants = []ticketing.Grant{
	ticketing.GrantEventRead, ticketing.GrantInventoryRead, ticketing.GrantCheckoutCreate,
}

// eachSale runs a test on a remote API and on one in the process.
func eachSale(t *testing.T, test func(t *testing.T, s *sale)) {
	t.Helper()
	for _, way := range []string{"Remote", "Local"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := &sale{company: ticketingtest.New(t, nil)}
			var upstream embedproxy.Upstream
			if way == "Remote" {
				server := httptest.NewServer(s.losing(contracttest.New(t.Error, s.company.Service, &httpapi.Config{RateLimit: -1})))
				t.Cleanup(server.Close)
				is := is.New(t)
				issued, err := s.company.Staff.IssueAPIKey(t.Context(), s.company.Company.ID, "embed", embedGrants)
				is.NoErr(err)
				upstream, err = embedproxy.Remote(t.Context(), server.URL+httpapi.DefaultPrefix, issued.Key, nil)
				is.NoErr(err)
			} else {
				upstream = embedproxy.Local(s.losing(contracttest.New(t.Error, s.company.Service, &httpapi.Config{
					RateLimit: -1,
					Caller: func(*http.Request) (ticketing.Caller, error) {
						return ticketing.TrustedCaller(s.company.Company.ID, embedGrants...), nil
					},
				})))
			}
			s.shop = open(t, upstream, nil)
			test(t, s)
		})
	}
}

// losing makes some checkouts whose answer is lost.
func (s *sale) losing(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/checkouts") && s.lose.Add(-1) >= 0 {
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	})
}

// orders returns the orders in the database.
func (s *sale) orders(t *testing.T) []ticketing.Order {
	t.Helper()
	page, err := s.company.ListOrders(t.Context(), s.company.Caller, ticketing.OrderFilter{})
	is.New(t).NoErr(err)
	return page.Items
}

// data returns the data of a success.
func data[T any](t *testing.T, got answer, status int) T {
	t.Helper()
	if got.status != status {
		t.Fatalf("status %d, want %d: %s", got.status, status, got.body)
	}
	var envelope struct{ Data T }
	is.New(t).NoErr(json.Unmarshal([]byte(got.body), &envelope))
	return envelope.Data
}

// buying returns a checkout of two of a tier.
func buying(event ticketing.Event, key string) string {
	return `{"operation":"checkout.create","payload":{"eventId":"` + event.ID.String() +
		`","buyer":{"email":"Ada@Example.com","fullname":"Ada"},"lines":[{"tier":"VIP","quantity":2,` +
		`"expectedUnitPrice":"150","currency":"NGN"}],"idempotencyKey":"` + key + `"}}`
}

// on returns an operation on an event.
func on(operation string, event ticketing.Event, more string) string {
	return `{"operation":"` + operation + `","payload":{"eventId":"` + event.ID.String() + `"` + more + `}}`
}

// A browser finds an event, reads its tiers, gets a price and buys. It gets the same data as the service has.
func TestSale(t *testing.T) {
	t.Parallel()
	eachSale(t, func(t *testing.T, s *sale) {
		is := is.New(t)
		var listed []ticketing.Event
		for range 3 {
			listed = append(listed, s.company.Event(t))
		}
		draft := s.company.Event(t, ticketingtest.Draft)
		event := listed[2]
		s.company.Inventory(t, event.ID, "VIP", 150_00, 10)

		// Two pages, newest first, without the draft.
		type page struct {
			Data []ticketing.Event
			Meta struct {
				Page struct {
					HasMore    bool
					NextCursor string
				}
			}
		}
		var first, second page
		got := s.post(t, `{"operation":"events.list","payload":{"limit":2}}`)
		is.NoErr(json.Unmarshal([]byte(got.body), &first))
		is.Equal(len(first.Data), 2)
		is.Equal(first.Data[0].ID, event.ID)
		is.True(first.Meta.Page.HasMore)
		got = s.post(t, `{"operation":"events.list","payload":{"limit":2,"cursor":"`+first.Meta.Page.NextCursor+`"}}`)
		is.NoErr(json.Unmarshal([]byte(got.body), &second))
		is.Equal(len(second.Data), 1)
		is.True(!second.Meta.Page.HasMore)
		s.post(t, `{"operation":"events.list","payload":{"cursor":"AAAA"}}`).failed(t, 400, "INVALID_CURSOR")

		tiers := data[[]ticketing.InventoryTier](t, s.post(t, on("events.inventory", event, "")), 200)
		is.Equal(len(tiers), 1)
		is.Equal(tiers[0].AvailableQuantity, int64(10))
		quote := data[ticketing.Quote](t,
			s.post(t, on("pricing.quote", event, `,"lines":[{"tier":"VIP","quantity":2}]`)), 200)
		is.Equal(quote.Total.String(), "300.00")
		s.post(t, on("pricing.quote", event, `,"lines":[{"tier":"VIP","quantity":11}]`)).failed(t, 409, "PRICING_UNAVAILABLE")

		bought := data[ticketing.Order](t, s.post(t, buying(event, "cart-1001")), 201)
		orders := s.orders(t)
		is.Equal(len(orders), 1)
		is.Equal(orders[0].ID, bought.ID)
		is.Equal(orders[0].Buyer.Email, "ada@example.com")
		is.Equal(bought.Gross, orders[0].Gross)
		is.Equal(len(bought.Lines), 2)
		is.Equal(bought.Lines[0], orders[0].Lines[0])

		// Neither a draft nor an event of another company is found.
		foreign := s.company.Neighbour(t).Event(t)
		for _, hidden := range []ticketing.Event{draft, foreign} {
			s.post(t, on("events.inventory", hidden, "")).failed(t, 404, "NOT_FOUND")
			s.post(t, on("pricing.quote", hidden, `,"lines":[{"tier":"VIP","quantity":2}]`)).failed(t, 404, "NOT_FOUND")
			s.post(t, buying(hidden, "cart-1002")).failed(t, 404, "NOT_FOUND")
		}
		is.Equal(len(s.orders(t)), 1)
		is.Equal(s.log.String(), "")
	})
}

// A double click, a repeat and a lost answer make one order. Another basket under the key is a conflict.
func TestOneOrderForAKey(t *testing.T) {
	t.Parallel()
	eachSale(t, func(t *testing.T, s *sale) {
		is := is.New(t)
		event := s.company.Event(t)
		s.company.Inventory(t, event.ID, "VIP", 150_00, 10)
		s.lose.Store(1)
		s.post(t, buying(event, "cart-lost")).failed(t, 502, "INVALID_UPSTREAM_RESPONSE")
		is.Equal(len(s.orders(t)), 1)
		first := data[ticketing.Order](t, s.post(t, buying(event, "cart-lost")), 201)
		is.Equal(len(s.orders(t)), 1)
		is.Equal(s.orders(t)[0].ID, first.ID)

		var clicks sync.WaitGroup
		var sold atomic.Int64
		for range 8 {
			clicks.Go(func() {
				switch got := s.post(t, buying(event, "cart-clicked")); got.status {
				case 201:
					sold.Add(1)
				case 409:
					if !strings.Contains(got.body, "Idempotent request is still processing") {
						t.Error(got.body)
					}
				default:
					t.Error(got.body)
				}
			})
		}
		clicks.Wait()
		is.True(sold.Load() >= 1)
		is.Equal(len(s.orders(t)), 2)
		other := strings.Replace(buying(event, "cart-clicked"), `"quantity":2`, `"quantity":1`, 1)
		s.post(t, other).failed(t, 409, "CONFLICT")
		is.Equal(len(s.orders(t)), 2)
	})
}

// If a company cannot sell, the failure has the API's code, and the shop's log has it.
func TestCompanyThatCannotSell(t *testing.T) {
	t.Parallel()
	eachSale(t, func(t *testing.T, s *sale) {
		is := is.New(t)
		event := s.company.Event(t)
		s.company.Inventory(t, event.ID, "VIP", 150_00, 10)
		_, err := s.company.Staff.RevokeVerification(t.Context(), s.company.Company.ID)
		is.NoErr(err)
		s.post(t, on("events.inventory", event, "")).check(t)
		s.post(t, buying(event, "cart-1001")).failed(t, 409, "COMPANY_VERIFICATION_REQUIRED")
		is.Equal(len(s.log.lines(t)), 1)
		is.Equal(len(s.orders(t)), 0)
	})
}

// The start of Remote names the grants that a key of the API lacks and those that it must not hold.
func TestGrantsOfARealKey(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	company := ticketingtest.New(t, nil)
	server := httptest.NewServer(contracttest.New(t.Error, company.Service, &httpapi.Config{RateLimit: -1}))
	t.Cleanup(server.Close)
	for _, grant := range ticketing.AllGrants() {
		neighbour := company.Neighbour(t)
		issued, err := neighbour.Staff.IssueAPIKey(t.Context(), neighbour.Company.ID, "one", []ticketing.Grant{grant})
		is.NoErr(err)
		_, err = embedproxy.Remote(t.Context(), server.URL+httpapi.DefaultPrefix, issued.Key, nil)
		var missing []string
		excess := "; it must not hold " + string(grant)
		for _, needed := range embedGrants {
			if needed == grant {
				excess = ""
				continue
			}
			missing = append(missing, string(needed))
		}
		is.Equal(err.Error(),
			"embedproxy: the API key is not an embed key: it lacks "+strings.Join(missing, ", ")+excess)
	}
	_, err := embedproxy.Remote(t.Context(), server.URL+httpapi.DefaultPrefix, company.APIKey, nil)
	is.Equal(err.Error(), "embedproxy: the API key is not an embed key: it must not hold COMPANY:event:manage, "+
		"COMPANY:inventory:manage, COMPANY:order:read, COMPANY:ticket:validate")
	_, err = embedproxy.Remote(t.Context(), server.URL+httpapi.DefaultPrefix, "svc_live.none.none", nil)
	is.True(strings.Contains(err.Error(), "refuses the API key"))
}

// If the buyer's address is forwarded, the API's limit applies to each buyer and not to the whole shop.
func TestLimitOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, forward := range []bool{false, true} {
		t.Run(fmt.Sprint(forward), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			company := ticketingtest.New(t, nil)
			here := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			server := httptest.NewServer(contracttest.New(t.Error, company.Service, &httpapi.Config{
				RateLimit: 10, TrustedProxies: here,
			}))
			t.Cleanup(server.Close)
			issued, err := company.Staff.IssueAPIKey(t.Context(), company.Company.ID, "embed", embedGrants)
			is.NoErr(err)
			upstream, err := embedproxy.Remote(t.Context(), server.URL+httpapi.DefaultPrefix, issued.Key,
				&embedproxy.RemoteConfig{ForwardAddress: forward})
			is.NoErr(err) // It made 8 requests.
			shop := open(t, upstream, func(c *embedproxy.Config) { c.TrustedProxies = here })
			passed := 0
			for n := range 20 {
				got := shop.post(t, `{"operation":"events.list","payload":{}}`, "X-Forwarded-For", fmt.Sprint("203.0.113.", n))
				if got.status == 200 {
					passed++
					continue
				}
				got.failed(t, 429, "RATE_LIMITED")
				is.True(got.header.Get("Retry-After") != "")
			}
			is.Equal(passed == 20, forward)
		})
	}
}

// AnyoneMayBuy refuses nobody.
func TestAnyoneMayBuy(t *testing.T) {
	t.Parallel()
	is.New(t).NoErr(embedproxy.AnyoneMayBuy(t.Context(), embedproxy.Purchase{}))
}
