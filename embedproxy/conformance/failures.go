package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// failureChecks returns the checks of upstream failures.
func failureChecks() []step {
	return []step{
		{"8", "each failure keeps its status, code and message", checkFailures},
		{"8", "details of a failure are left out", checkDetails},
		{"8", "codes and messages of the longest form are kept", checkLongestFailure},
		{"8", "a failed checkout is not sent once more", checkOneAttempt},
		{"8", "Retry-After is kept", checkRetryAfter},
		{"8", "a refusal of the proxy's own has the same form", checkOwnRefusal},
	}
}

// upstreamFailure is a failure of section 7.
type upstreamFailure struct {
	status int
	code   string
}

// generalFailures returns the failures of every operation.
func generalFailures() []upstreamFailure {
	return []upstreamFailure{
		{400, "INVALID_REQUEST"},
		{401, "AUTHENTICATION_FAILED"},
		{403, "PERMISSION_DENIED"},
		{404, "NOT_FOUND"},
		{409, "CONFLICT"},
		{429, "RATE_LIMITED"},
		{500, "INTERNAL_ERROR"},
		{502, "INTERNAL_ERROR"},
		{503, "INTERNAL_ERROR"},
		{504, "INTERNAL_ERROR"},
		{422, "CODE_OF_A_LATER_VERSION"},
	}
}

// failuresOf returns the failures of a route.
func failuresOf(of route) []upstreamFailure {
	failures := generalFailures()
	switch of {
	case routeList:
		return append(failures, upstreamFailure{400, "INVALID_CURSOR"})
	case routeQuote:
		return append(failures, upstreamFailure{409, "PRICING_UNAVAILABLE"})
	case routeCheckout:
		for _, code := range []string{
			"INVENTORY_UNAVAILABLE", "PRICING_UNAVAILABLE", "COMMISSION_RATE_UNAVAILABLE", "INSUFFICIENT_FLOAT",
			"CHECKOUT_UNAVAILABLE", "COMPANY_VERIFICATION_REQUIRED",
		} {
			failures = append(failures, upstreamFailure{409, code})
		}
		return append(failures, upstreamFailure{400, "IDEMPOTENCY_KEY_REQUIRED"})
	default:
		return failures
	}
}

// keeps expects that the browser gets a failure as the upstream sent it.
func (c *check) keeps(ctx context.Context, of upstreamBody, status int, code, message string, answer *reply) {
	got := c.sendPayload(ctx, of.operation, of.payload, on(of.route, of.nth, answer))
	if !of.reached(got.calls) {
		return
	}
	about := fmt.Sprintf("%s, %s returns %d %s", of.operation, of.route, status, code)
	want := errorBody(code, message)
	want["meta"] = object{"requestId": got.requestID()}
	switch said := difference(canonical(want), got.value, ""); {
	case got.err != nil || got.status != status:
		c.failf("%s: want status %d, got %s", about, status, got.saw())
	case said != "":
		c.failf("%s: want { error: { code, message }, meta: { requestId } } of it, got another body: %s", about, said)
	case !isSafeID(got.requestID()):
		c.failf("%s: want a meta.requestId of 1 to 128 characters of the safe set, got %s", about, got.saw())
	}
}

func checkFailures(ctx context.Context, c *check) {
	for _, of := range upstreamBodies() {
		for _, failed := range failuresOf(of.route) {
			message := "It did not work: " + failed.code
			c.keeps(ctx, of, failed.status, failed.code, message, failure(failed.status, failed.code, message))
		}
	}
}

func checkDetails(ctx context.Context, c *check) {
	for _, of := range upstreamBodies() {
		body := errorBody("INVALID_REQUEST", "Invalid.")
		body["error"] = object{
			"code": "INVALID_REQUEST", "message": "Invalid.",
			"details": object{"violations": list{object{"message": privateMark}}},
		}
		c.keeps(ctx, of, http.StatusBadRequest, "INVALID_REQUEST", "Invalid.",
			&reply{status: http.StatusBadRequest, body: encode(body)})
	}
}

func checkLongestFailure(ctx context.Context, c *check) {
	code, message := "Z"+strings.Repeat("_9", 49)+"A", strings.Repeat("\u00e4", 2000)
	c.keeps(ctx, orderBody(), http.StatusConflict, code, message, failure(http.StatusConflict, code, message))
	c.keeps(ctx, listBody(), http.StatusConflict, "Z", "z", failure(http.StatusConflict, "Z", "z"))
}

func checkOneAttempt(ctx context.Context, c *check) {
	for _, failed := range []upstreamFailure{
		{409, "CONFLICT"}, {429, "RATE_LIMITED"}, {500, "INTERNAL_ERROR"}, {503, "INTERNAL_ERROR"},
	} {
		q := request{body: operation(opCheckout, checkoutPayload())}
		got := c.send(ctx, q, on(routeCheckout, 1, failure(failed.status, failed.code, "It did not work.")))
		posts := 0
		for _, call := range got.calls {
			if of, _ := routeOf(call.method, call.path); of == routeCheckout {
				posts++
			}
		}
		if posts != 1 || got.status != failed.status {
			c.failf("checkout.create, %s returns %d %s: want that status after one POST, got %s after %d",
				routeCheckout, failed.status, failed.code, got.saw(), posts)
		}
	}
}

func checkRetryAfter(ctx context.Context, c *check) {
	for _, of := range upstreamBodies() {
		limited := failure(http.StatusTooManyRequests, "RATE_LIMITED", "Too many requests.").withHeader("Retry-After", "17")
		got := c.sendPayload(ctx, of.operation, of.payload, on(of.route, of.nth, limited))
		if of.reached(got.calls) && got.header.Get("Retry-After") != "17" {
			c.skipped = fmt.Sprintf("%s, %s returns 429 with Retry-After: 17: the answer has %s. The contract leaves it open, "+
				"but a browser then does not know how long to wait", of.operation, of.route,
				strconv.Quote(got.header.Get("Retry-After")))
			return
		}
	}
}

func checkOwnRefusal(ctx context.Context, c *check) {
	q := request{body: operation(opInventory, object{})}
	if said := errorEnvelope(c.send(ctx, q, nil)); said != "" {
		c.failf("sent %s: %s", q, said)
	}
}
