package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// A code that no retry helps ends the call at once. The cart can be bought after the cause is repaired.
func TestRefusalsThatStop(t *testing.T) {
	t.Parallel()
	inWorld(t, func(is *is.I, w *world) {
		ctx := w.t.Context()
		_, err := w.Staff.RevokeVerification(ctx, w.Company.ID)
		is.NoErr(err)
		got := w.buy(w.shop(), "10000.00")
		is.Equal(got.status, http.StatusConflict)
		is.Equal(got.Error.Code, string(ticketing.CodeVerificationRequired))
		is.Equal(len(w.sent), 1)
		is.True(strings.Contains(w.log.String(), "level=ERROR")) // an operator sees it
		_, err = w.Staff.ApproveVerification(ctx, w.Company.ID, ticketing.ApprovalParams{})
		is.NoErr(err)
		is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
		is.Equal(len(w.sold()), 1)
	})
}

// After a refusal that proves that nothing was sold, the cart is priced again, and the buyer is asked again.
func TestRefusedCartIsPricedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(is *is.I, w *world) {
		is.Equal(w.buy(w.shop(), "10000.00").Error.Code, "INSUFFICIENT_FLOAT")
		w.faults = []fault{w.repriced(price + 100)}
		w.shop().Resume(w.t.Context())
		is.Equal(len(w.sent), 1) // The cart is not open.
		is.Equal(w.buy(w.shop(), "10000.00").Error.Code, "PRICE_CHANGED")
		is.Equal(len(w.sold()), 0)
	}, refuse(http.StatusConflict, ticketing.CodeInsufficientFloat, ""))
}

// The failures that section 7, rule 4 names are logged at level ERROR, and no others.
func TestAlarms(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault fault
		alarm bool
	}{
		"401":                           {refuse(401, ticketing.CodeAuthenticationFailed, ""), true},
		"403":                           {refuse(403, ticketing.CodePermissionDenied, ""), true},
		"401 of a proxy":                {page(401), true},
		"COMPANY_VERIFICATION_REQUIRED": {refuse(409, ticketing.CodeVerificationRequired, ""), true},
		"COMMISSION_RATE_UNAVAILABLE":   {refuse(409, ticketing.CodeCommissionUnavailable, ""), true},
		"INSUFFICIENT_FLOAT":            {refuse(409, ticketing.CodeInsufficientFloat, ""), true},
		"CHECKOUT_UNAVAILABLE":          {refuse(409, ticketing.CodeCheckoutUnavailable, ""), true},
		"400":                           {refuse(400, ticketing.CodeInvalidRequest, ""), false},
		"404":                           {refuse(404, ticketing.CodeNotFound, ""), false},
		"CONFLICT":                      {conflicts, false},
		"INVENTORY_UNAVAILABLE":         {refuse(409, ticketing.CodeInventoryUnavailable, ""), false},
		"429":                           {refuse(429, ticketing.CodeRateLimited, "1"), false},
		"500":                           {failed, false},
		"no answer":                     {brokenConnection, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				w.buy(w.shop(), "10000.00")
				is.Equal(strings.Contains(w.log.String(), "level=ERROR"), tt.alarm)
				is.Equal(strings.Contains(w.log.String(), "level=WARN"), !tt.alarm)
			}, tt.fault)
		})
	}
}

// A refusal after an attempt without an answer proves nothing: only the identical request returns the order.
func TestRefusalAfterALostAnswerIsNoProof(t *testing.T) {
	t.Parallel()
	refused := refuse(http.StatusConflict, ticketing.CodeVerificationRequired, "")
	tests := map[string]struct {
		faults []fault
		calls  int // of which the last is refused
	}{
		"at once":          {[]fault{brokenConnection, refused}, 1},
		"after a conflict": {[]fault{brokenConnection, conflicts, refused}, 1},
		"after a gateway":  {[]fault{afterCommit(gateway), refused}, 1},
		"after a cut":      {[]fault{halfAnswer, refused}, 1},
		"of a later call":  {append(slices.Repeat([]fault{brokenConnection}, 6), refused), 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				var got answer
				for range tt.calls {
					got = w.buy(w.shop(), "10000.00")
				}
				is.Equal(got.status, http.StatusConflict)
				is.Equal(got.Error.Code, string(ticketing.CodeVerificationRequired))
				is.Equal(len(w.sold()), 1)
				w.reprice(price + 100) // What was bought keeps its price.
				is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
				is.Equal(len(w.sold()), 1)
				is.Equal(len(slices.Compact(w.sent)), 1)
			}, tt.faults...)
		})
	}
}

// An answer that leaves open whether a cart was sold is neither forwarded nor logged (section 4.12, rules 8 to 10). The
// cart is kept, since it may have been sold.
func TestAnswersThatDoNotSay(t *testing.T) {
	t.Parallel()
	const unreadable, pending = "502 INVALID_UPSTREAM_RESPONSE", "503 CHECKOUT_PENDING"
	tests := map[string]struct {
		fault fault
		sent  int
		want  string
	}{
		"a page instead of an order": {afterCommit(page(http.StatusOK)), 6, unreadable},
		"half an order":              {halfAnswer, 6, unreadable},
		"an order of no time":        {otherTime, 6, unreadable},
		"an order of another debit":  {otherDebit, 1, unreadable},
		"a gateway":                  {afterCommit(gateway), 6, pending},
		"500":                        {afterCommit(failed), 6, pending},
		"a page that forbids":        {afterCommit(page(http.StatusForbidden)), 1, pending},
		"a page that leads on":       {afterCommit(page(http.StatusFound)), 1, pending},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				w.faults = slices.Repeat([]fault{tt.fault}, tt.sent)
				got := w.buy(w.shop(), "10000.00")
				is.Equal(strconv.Itoa(got.status)+" "+got.Error.Code, tt.want)
				is.Equal(got.header.Get("Cache-Control"), "no-store")
				is.True(got.Meta.RequestID != "")
				is.Equal(len(w.sent), tt.sent)
				for _, rejected := range []string{"welcome", "floatDebited", buyer, "Ada"} {
					is.True(!strings.Contains(got.body+w.log.String(), rejected))
				}
				w.reprice(price + 100) // What was bought keeps its price.
				w.shop().Resume(w.t.Context())
				is.Equal(len(slices.Compact(w.sent)), 1)
				is.Equal(len(w.sent), tt.sent+1)
				is.Equal(len(w.sold()), 1)
			})
		})
	}
}

type lineFunc func(r *http.Request) (*http.Response, error)

func (f lineFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A shop whose API is unreachable, or is not the API of the contract, says so, and sells when the API is back.
func TestNoAPI(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line   lineFunc
		status int
		code   string
		level  string
	}{
		"nobody there": {
			func(*http.Request) (*http.Response, error) { return nil, errLine }, http.StatusServiceUnavailable,
			"CHECKOUT_PENDING", "level=WARN",
		},
		"something else there": {
			func(*http.Request) (*http.Response, error) { return made(http.StatusOK, "", "<html>shop</html>"), nil },
			http.StatusBadGateway, "INVALID_UPSTREAM_RESPONSE", "level=ERROR",
		},
		"nothing of the contract there": {
			func(*http.Request) (*http.Response, error) {
				return made(http.StatusNotFound, "", "<html>shop</html>"), nil
			},
			http.StatusBadGateway, "INVALID_UPSTREAM_RESPONSE", "level=ERROR",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				shop := w.open(tt.line)
				for _, got := range []answer{
					post(w.t, shop, "/quote", `{"eventId":"`+w.event.String()+`","lines":[{"tier":"VIP","quantity":1}]}`, ""),
					w.buy(shop, "10000.00"),
				} {
					is.Equal(got.status, tt.status)
					is.Equal(got.Error.Code, tt.code)
				}
				is.True(strings.Contains(w.log.String(), tt.level))
				is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
				is.Equal(len(w.sold()), 1)
			})
		})
	}
}

// The browser gets the members of an order that section 4.12, rule 6 names and no others; the log holds no key and no
// buyer.
func TestNothingPrivateLeaves(t *testing.T) {
	t.Parallel()
	inWorld(t, func(is *is.I, w *world) {
		got := w.buy(w.shop(), "10000.00")
		is.Equal(got.status, http.StatusOK)
		var order map[string]any
		is.NoErr(json.Unmarshal(got.Data, &order))
		is.Equal(members(order), "branding confirmedAt eventId gross id lines object status")
		is.Equal(members(order["branding"].(map[string]any)), "accentColor brandName checkoutFooter logoUrl primaryColor")
		line := order["lines"].([]any)[0].(map[string]any)
		is.Equal(members(line), "admissionId id tier title unitPrice")
		is.True(!strings.Contains(got.body, buyer))

		// A refusal that quotes the buyer is shown without the quote.
		w.faults = []fault{refuse(http.StatusBadRequest, ticketing.CodeInvalidRequest, "")}
		got = post(w.t, w.shop(), "/checkout", w.cart("cart-0002", buyerName, "10000.00"), "")
		is.Equal(got.status, http.StatusBadRequest)
		is.True(!strings.Contains(got.body, "Ada"))
		w.faults = slices.Repeat([]fault{neverArrived}, 6)
		post(w.t, w.shop(), "/checkout", w.cart("cart-0003", buyerName, "10000.00"), "")
		w.faults = []fault{refuse(http.StatusBadRequest, ticketing.CodeInvalidRequest, "")}
		w.shop().Resume(w.t.Context())

		log := w.log.String()
		is.True(strings.Contains(log, "code=RATE_LIMITED"))
		is.True(strings.Contains(log, "status=400 code=INVALID_REQUEST"))
		is.True(strings.Contains(log, errLine.Error()))
		is.True(!strings.Contains(log, buyer) && !strings.Contains(log, "Ada") && !strings.Contains(log, "Obi"))
		is.True(!strings.Contains(log, w.key) && !strings.Contains(log, strings.Split(w.key, ".")[2]))
	}, gateway, afterCommit(failed), refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "1"))
}

// A quote in the browser has a fixed form, too.
func TestQuoteInTheBrowser(t *testing.T) {
	t.Parallel()
	inWorld(t, func(is *is.I, w *world) {
		got := post(w.t, w.shop(), "/quote", `{"eventId":"`+w.event.String()+`","lines":[{"tier":"VIP","quantity":2}]}`, "")
		is.Equal(strings.TrimSpace(got.body), `{"data":{"eventId":"`+w.event.String()+`","lines":[{"tier":"VIP",`+
			`"quantity":2,`+
			`"unitPrice":{"amount":"5000.00","currency":"NGN"},"subtotal":{"amount":"10000.00","currency":"NGN"}}],`+
			`"total":{"amount":"10000.00","currency":"NGN"}}}`)
	})
}

// A request has one id: the browser's if it is safe, else the shop's. The API gets it, and a failed call returns it.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		id    string
		taken bool
	}{
		"safe":     {"page-7:a_b.c", true},
		"none":     {"", false},
		"unsafe":   {"a b", false},
		"too long": {strings.Repeat("a", 129), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				got := post(w.t, w.shop(), "/quote", `{"eventId":"`+uuid.NewString()+`","lines":[{"tier":"VIP","quantity":1}]}`,
					tt.id)
				is.Equal(got.Error.Code, "NOT_FOUND")
				is.Equal(got.Meta.RequestID == tt.id, tt.taken)
				is.True(got.Meta.RequestID != "")
				is.Equal(got.header.Get("X-Request-Id"), got.Meta.RequestID)
				for _, id := range w.ids {
					is.Equal(id, got.Meta.RequestID)
				}
				is.Equal(len(w.ids), 2) // the document and the quote
				is.True(strings.Contains(w.log.String(), "requestId="+got.Meta.RequestID))
			})
		})
	}
}

// A request that the shop or the API does not accept is refused with what is wrong, and sells nothing.
func TestRequestsThatAreNoCart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.shop()
	carts := 0
	but := func(part, instead string) string {
		carts++
		return strings.Replace(w.cart(fmt.Sprintf("cart-%04d", carts), buyerName, "10000.00"), part, instead, 1)
	}
	quote := func(eventID string, quantity int) string {
		return fmt.Sprintf(`{"eventId":%q,"lines":[{"tier":"VIP","quantity":%d}]}`, eventID, quantity)
	}
	tests := map[string]struct {
		path, body string
		status     int
		code       string
	}{
		"no JSON":                {"/checkout", `{`, 400, "INVALID_REQUEST"},
		"an unknown member":      {"/checkout", but(`{`, `{"url":"https://evil.example",`), 400, "INVALID_REQUEST"},
		"a path for a cart":      {"/checkout", but(`"cart-`, `"../../etc/`), 400, "INVALID_REQUEST"},
		"a short name of a cart": {"/checkout", but(`"cart-`, `"c`), 400, "INVALID_REQUEST"},
		"no total":               {"/checkout", but("10000.00", ""), 400, "INVALID_REQUEST"},
		"a total of one decimal": {"/checkout", but("10000.00", "10000.0"), 400, "INVALID_REQUEST"},
		"no event":               {"/checkout", but(w.event.String(), uuid.Nil.String()), 400, "INVALID_REQUEST"},
		"no email":               {"/checkout", but(buyer, "ada"), 400, "INVALID_REQUEST"},
		"too much":               {"/checkout", but(buyer, strings.Repeat("a", 32<<10)), 400, "INVALID_REQUEST"},
		"an id of no event":      {"/quote", quote("7", 1), 400, "INVALID_REQUEST"},
		"an unknown event":       {"/quote", quote(uuid.NewString(), 1), 404, "NOT_FOUND"},
		"no lines":               {"/quote", `{"eventId":"` + w.event.String() + `","lines":[]}`, 400, "INVALID_REQUEST"},
		"more than is on sale":   {"/quote", quote(w.event.String(), stock+1), 409, "PRICING_UNAVAILABLE"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			got := post(t, shop, tt.path, tt.body, "")
			is.Equal(got.status, tt.status)
			is.Equal(got.Error.Code, tt.code)
			is.Equal(len(w.sold()), 0)
		})
	}
}

// A cart keeps the content that it was first checked out with.
func TestCartKeepsItsContent(t *testing.T) {
	t.Parallel()
	inWorld(t, func(is *is.I, w *world) {
		is.Equal(w.buy(w.shop(), "10000.00").status, http.StatusOK)
		got := post(w.t, w.shop(), "/checkout", `{"cartId":"cart-0001","eventId":"`+w.event.String()+
			`","buyer":{"email":"eve@example.com"},"lines":[{"tier":"VIP","quantity":2}],"agreedTotal":"10000.00"}`, "")
		is.Equal(got.status, http.StatusConflict)
		is.Equal(got.Error.Code, "CART_CHANGED")
		is.Equal(len(w.sold()), 1)
	})
}

func members(object map[string]any) string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
