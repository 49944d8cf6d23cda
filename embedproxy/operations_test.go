package embedproxy_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy"
)

// What a browser gets for the valid answers.
const (
	shownEvent = `{"id":"` + eventID + `","object":"event","title":"Jazz <night>","description":"Two\nsets",` +
		`"status":"PUBLISHED","schedule":{"date":"2026-12-31","startsAt":"19:00","endsAt":"23:30",` +
		`"timezone":"Africa/Lagos"},"location":{"name":"Lagos","venue":"Terra Kulture"},` +
		`"imageUrl":"https://img.example.com/a.png?w=1","organizerName":"Adire","category":{"id":"` + categoryID +
		`","name":"Music","slug":"music"},"ticketCategories":["GENERAL_ADMISSION","VIP"]}`
	shownPage = `{"data":[` + shownEvent + `],"meta":{"requestId":"upstream-1","page":{"hasMore":true,` +
		`"nextCursor":"aZ0_-"}}}`
	shownOrder = `{"id":"` + orderID + `","object":"order","eventId":"` + eventID + `","status":"CONFIRMED","gross":` +
		goodMoney + `,"branding":{"brandName":"Adire","logoUrl":"https://adire.example.com/l.png",` +
		`"primaryColor":"#0011FF","accentColor":"#AABBCC","checkoutFooter":"Bye"},"lines":[{"id":"` + lineID +
		`","admissionId":"` + admissionID + `","title":"Seat","tier":"VIP","unitPrice":` + goodMoney +
		`}],"confirmedAt":"2026-01-02T03:04:05.678Z"}`
)

// Each operation makes the calls of section 4.12, with a key and a request id, and shows only what a browser may see.
func TestOperations(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, api *script, upstream embedproxy.Upstream) {
		is := is.New(t)
		shop := open(t, upstream, nil)

		shop.post(t, postList, "X-Request-Id", "browser-1").ok(t, 200, shownPage)
		got := api.got()
		is.Equal(len(got), 1)
		is.Equal(got[0].query, "status=PUBLISHED&limit=7&cursor=aZ0_-")
		is.Equal(got[0].header["X-Request-Id"], []string{"browser-1"})
		is.Equal(got[0].header["Accept"], []string{"application/json"})

		shop.post(t, `{"payload":{},"operation":"events.list"}`).ok(t, 200, shownPage)
		is.Equal(api.got()[0].query, "status=PUBLISHED")

		shop.post(t, postInventory).ok(t, 200, goodInventory)
		is.Equal(api.routes(), []string{routeEvent, routeInventory, routeEvent})

		shop.post(t, postQuote).ok(t, 200, goodQuoted)
		got = api.got()
		is.Equal(len(got), 2)
		is.Equal(got[0].route, routeEvent)
		is.Equal(got[1].route, routeQuote)
		is.Equal(got[1].body, `{"eventId":"`+eventID+`","lines":[{"tier":"VIP","quantity":2}]}`)
		is.Equal(got[1].header["Content-Type"], []string{"application/json"})
		is.Equal(got[1].header["Idempotency-Key"], nil)

		shop.post(t, postCheckout, "X-Request-Id", "browser-2").ok(t, 201, `{"data":`+shownOrder+`,"meta":`+goodMeta+`}`)
		got = api.got()
		is.Equal(len(got), 2) // There is no proof after it.
		is.Equal(got[0].route, routeEvent)
		is.Equal(got[1].route, routeCheckout)
		is.Equal(got[1].body, `{"eventId":"`+eventID+`","buyer":{"email":"ada@example.com","fullname":"Ada","phone":"+234"},`+
			`"lines":[{"tier":"VIP","quantity":1,"expectedUnitPrice":"5000.00","currency":"NGN"}]}`)
		is.Equal(got[1].header["Idempotency-Key"], []string{"cart-1001"})
		for _, call := range got {
			is.Equal(call.header["X-Request-Id"], []string{"browser-2"})
		}
		is.Equal(shop.log.String(), "")
	})
}

// Only the key is sent to the API, and no header of the browser.
func TestHeadersOfTheBrowserStay(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	shop.post(t, postCheckout, "Authorization", "Bearer mine", "X-Api-Key", "mine", "X-Forwarded-For", "203.0.113.9",
		"Idempotency-Key", "mine-1001", "X-Tenant", "other", "X-Request-Id", "bad id")
	for _, call := range api.got() {
		names := []string{"Accept", "Authorization", "User-Agent", "X-Request-Id", "Accept-Encoding"}
		if call.route == routeCheckout {
			names = append(names, "Content-Length", "Content-Type", "Idempotency-Key")
		}
		for name := range call.header {
			if !slices.Contains(names, name) {
				t.Errorf("%s has %s", call.route, name)
			}
		}
		is.Equal(call.header["Authorization"], []string{"Bearer " + embedKey})
		is.True(!strings.Contains(call.header.Get("X-Request-Id"), "bad id"))
	}
}

// An event that is not published, before or after the read, is NOT_FOUND, and nothing else is sent.
func TestNotPublished(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"DRAFT", "ENDED", "CANCELLED"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, api *script, upstream embedproxy.Upstream) {
				is := is.New(t)
				shop := open(t, upstream, func(c *embedproxy.Config) {
					c.MayBuy = func(context.Context, embedproxy.Purchase) error {
						t.Error("MayBuy was called for an event that is not published")
						return nil
					}
				})
				api.send(routeEvent, 200, strings.Replace(goodProof, "PUBLISHED", status, 1))
				for _, body := range []string{postInventory, postQuote, postCheckout} {
					shop.post(t, body).failed(t, 404, "NOT_FOUND")
					is.Equal(api.routes(), []string{routeEvent})
				}
				// It was published before the inventory was read, and not after.
				var calls atomic.Int64
				api.on(routeEvent, func(w http.ResponseWriter, _ *http.Request) {
					if calls.Add(1) == 1 {
						sendJSON(w, 200, goodProof)
						return
					}
					sendJSON(w, 200, strings.Replace(goodProof, "PUBLISHED", status, 1))
				})
				shop.post(t, postInventory).failed(t, 404, "NOT_FOUND")
				is.Equal(api.routes(), []string{routeEvent, routeInventory, routeEvent})
				is.Equal(shop.log.String(), "")
			})
		})
	}
}

// A refusal of the API keeps status, code, message, request id and Retry-After, at each call of each operation. Its
// details are dropped.
func TestFailuresAreKept(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, api *script, upstream embedproxy.Upstream) {
		shop := open(t, upstream, nil)
		for _, post := range posts {
			route := post.routes[len(post.routes)-1]
			for _, test := range []struct {
				status            int
				code, after, kept string
			}{
				{400, "INVALID_CURSOR", "", ""},
				{401, "AUTHENTICATION_FAILED", "", ""},
				{403, "PERMISSION_DENIED", "", ""},
				{404, "NOT_FOUND", "", ""},
				{409, "COMPANY_VERIFICATION_REQUIRED", "", ""},
				{418, "A", "<b>", ""},
				{429, "RATE_LIMITED", "17", "17"},
				{429, "RATE_LIMITED", "-1", ""},
				{500, "INTERNAL_ERROR", "", ""},
				{503, "INTERNAL_ERROR", "Wed, 21 Oct 2026 07:28:00 GMT", "Wed, 21 Oct 2026 07:28:00 GMT"},
			} {
				api.on(route, func(w http.ResponseWriter, _ *http.Request) {
					if test.after != "" {
						w.Header().Set("Retry-After", test.after)
					}
					w.Header().Set("X-Secret", "secret")
					sendJSON(w, test.status, strings.Replace(goodRefusal, "CONFLICT", test.code, 1))
				})
				got := shop.post(t, post.body)
				is := is.New(t)
				is.Equal(got.failed(t, test.status, test.code), "No.")
				is.Equal(got.id(), "upstream-1")
				is.Equal(got.header.Get("Retry-After"), test.kept)
				is.Equal(got.header.Get("X-Secret"), "")
			}
			api.on(route, nil)
		}
	})
}

// The log has one line for each failure that a shop can act on, and none for a buyer's failure.
func TestLog(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status      int
		code, level string
	}{
		{400, "INVALID_REQUEST", ""},
		{404, "NOT_FOUND", ""},
		{409, "INVENTORY_UNAVAILABLE", ""},
		{401, "AUTHENTICATION_FAILED", "ERROR"},
		{403, "PERMISSION_DENIED", "ERROR"},
		{409, "COMPANY_VERIFICATION_REQUIRED", "WARN"},
		{409, "INSUFFICIENT_FLOAT", "WARN"},
		{409, "COMMISSION_RATE_UNAVAILABLE", "WARN"},
		{409, "CHECKOUT_UNAVAILABLE", "WARN"},
		{429, "RATE_LIMITED", "WARN"},
		{500, "INTERNAL_ERROR", "ERROR"},
		{503, "INTERNAL_ERROR", "ERROR"},
	} {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			api := &script{}
			shop := open(t, embedproxy.Local(api), nil)
			api.send(routeCheckout, test.status, strings.Replace(goodRefusal, "CONFLICT", test.code, 1))
			shop.post(t, postCheckout).failed(t, test.status, test.code)
			lines := shop.log.lines(t)
			if test.level == "" {
				is.Equal(len(lines), 0)
				return
			}
			is.Equal(len(lines), 1)
			delete(lines[0], "time")
			is.Equal(lines[0], map[string]any{
				"level": test.level, "msg": "operation failed", "requestId": "upstream-1",
				"operation": "checkout.create", "status": float64(test.status), "code": test.code,
			})
		})
	}
}

// After the embed key was revoked, each buyer gets the same refusal. The log has it once a minute.
func TestLogOfARevokedKey(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api, at := &script{}, &clock{}
	shop := open(t, embedproxy.Local(api), func(c *embedproxy.Config) { c.Clock = at.now })
	api.send(routeList, 401, strings.Replace(goodRefusal, "CONFLICT", "AUTHENTICATION_FAILED", 1))
	for _, step := range []struct {
		after time.Duration
		lines int
	}{{0, 1}, {0, 1}, {time.Minute - 1, 1}, {1, 2}} {
		at.move(step.after)
		shop.post(t, postList).failed(t, 401, "AUTHENTICATION_FAILED")
		is.Equal(len(shop.log.lines(t)), step.lines)
	}
}
