package embedproxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store/memory"
)

// A platform serves a company's shop in its own process, without an API key. The shop takes the money for a purchase
// before it allows the purchase.
func ExampleNew() {
	ctx := context.Background()
	svc, err := ticketing.New(memory.New(), nil)
	if err != nil {
		panic(err)
	}
	company, err := svc.As(ticketing.Staff("example")).CreateCompany(ctx, "Adire Concerts")
	if err != nil {
		panic(err)
	}
	caller := ticketing.TrustedCaller(company.ID, ticketing.GrantEventRead, ticketing.GrantInventoryRead,
		ticketing.GrantCheckoutCreate)
	api := httpapi.New(svc, &httpapi.Config{
		RateLimit: -1, // The proxy has limits of its own.
		Caller:    func(*http.Request) (ticketing.Caller, error) { return caller, nil },
	})

	paid := map[string]string{"cart-1001": "300.00"} // by idempotency key, from the shop's own records
	proxy, err := embedproxy.New(embedproxy.Local(api), &embedproxy.Config{
		Session: func(r *http.Request) (string, error) {
			cookie, err := r.Cookie("session")
			if err != nil {
				return "", embedproxy.ErrNoSession
			}
			return cookie.Value, nil // A shop looks it up among its sessions.
		},
		MayBuy: func(_ context.Context, p embedproxy.Purchase) error {
			if paid[p.IdempotencyKey] != p.Total().String() {
				return embedproxy.ErrPaymentRequired
			}
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/shop/tickets", proxy)

	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/shop/tickets",
		strings.NewReader(`{"operation": "events.list", "payload": {"limit": 10}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Request-Id", "page-1")
	r.AddCookie(&http.Cookie{Name: "session", Value: "s1"})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output:
	// 200 {"data":[],"meta":{"requestId":"page-1","page":{"hasMore":false,"nextCursor":null}}}
}

// A shop on a server of its own calls the API over HTTP, with a key that holds the three grants of an embed key.
func ExampleRemote() {
	api := &script{} // the API of a platform
	server := httptest.NewServer(api)
	defer server.Close()

	upstream, err := embedproxy.Remote(context.Background(), server.URL+"/api/public/v1", "svc_live.id.secret",
		&embedproxy.RemoteConfig{ForwardAddress: true})
	if err != nil {
		panic(err)
	}
	_, err = embedproxy.New(upstream, nil)
	fmt.Println(err)
	// Output:
	// embedproxy: Config.Session is required: without it anybody could buy
}
