package conformance

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// headerChecks returns the checks of what the proxy sends with its calls.
func headerChecks() []step {
	return []step{
		{"3", "X-Request-Id of the browser is forwarded with each call", checkRequestID},
		{"3", "a malformed or missing X-Request-Id is replaced", checkBadRequestID},
	}
}

func checkRequestID(ctx context.Context, c *check) {
	for i, of := range payloads() {
		for _, id := range []string{"check:" + strconv.Itoa(i), "A", "9" + strings.Repeat("a.b_c-:x", 15) + "1234567"} {
			q := request{body: operation(of.operation, of.payload), header: map[string]string{"X-Request-Id": id}}
			got := c.send(ctx, q, nil)
			for _, call := range got.calls {
				if ids := call.header.Values("X-Request-Id"); len(ids) != 1 || ids[0] != id {
					c.failf("sent %s with X-Request-Id: %s: want it with %s, got %q", q, id, call, ids)
				}
			}
			if got.err != nil || got.requestID() != id {
				c.failf("sent %s with X-Request-Id: %s: want it as meta.requestId, got %s", q, id, got.saw())
			}
		}
	}
	const id = "a-failure"
	q := request{body: operation(opCheckout, checkoutPayload()), header: map[string]string{"X-Request-Id": id}}
	conflict := failure(http.StatusConflict, "CONFLICT", "Idempotent request is still processing")
	if got := c.send(ctx, q, on(routeCheckout, 1, conflict)); got.err != nil || got.requestID() != id {
		c.failf("sent %s with X-Request-Id: %s, refused with 409: want it as meta.requestId, got %s", q, id, got.saw())
	}
}

func checkBadRequestID(ctx context.Context, c *check) {
	for _, of := range payloads() {
		for _, id := range []string{
			"", strings.Repeat("a", 129), "-a", ".a", "a b", "a/b", "<b>", "a,b", "\u00e4", `a"b`, "a;b",
		} {
			q := request{body: operation(of.operation, of.payload), header: map[string]string{"X-Request-Id": id}}
			got := c.send(ctx, q, nil)
			for _, call := range got.calls {
				ids := call.header.Values("X-Request-Id")
				if len(ids) > 1 || (len(ids) == 1 && !isSafeID(ids[0])) {
					c.failf("sent %s with X-Request-Id: %s: want a new one with %s, got %s",
						q, short([]byte(id)), call, short([]byte(strings.Join(ids, ", "))))
				}
			}
			if got.err != nil || !isSafeID(got.requestID()) {
				c.failf("sent %s with X-Request-Id: %s: want a new one as meta.requestId, got %s",
					q, short([]byte(id)), got.saw())
			}
		}
	}
}

// finalChecks returns the checks of the run as a whole, and the check of the limit, which may end the run.
func finalChecks() []step {
	return []step{
		{"3", "each call has Authorization: Bearer with the same API key", checkAuthorization},
		{"3", "the API key is in no answer", checkLeaks},
		{"2", "the proxy limits requests by itself", checkRateLimit},
		{"9", "a rejection is 502 INVALID_UPSTREAM_RESPONSE", func(_ context.Context, c *check) {
			c.failures = c.refusals.status
		}},
		{"9", "a rejection has the error envelope alone", func(_ context.Context, c *check) {
			c.failures = c.refusals.form
		}},
		{"9", "a rejection has Cache-Control: no-store", func(_ context.Context, c *check) {
			c.failures = c.refusals.stored
		}},
		{"9", "nothing of a rejected body is returned", func(_ context.Context, c *check) {
			c.failures = c.refusals.content
		}},
		{"9", "nothing of a rejected body is logged", checkLogs},
	}
}

const inProcess = "the proxy calls the upstream without a network"

func checkAuthorization(_ context.Context, c *check) {
	switch {
	case c.config.InProcess:
		c.skipped = inProcess
	case len(c.badCalls) > 0:
		c.failf("%d calls: want Authorization: Bearer svc_live.ID.SECRET, got another or none, first with %s",
			len(c.badCalls), c.badCalls[0])
	case len(c.secrets) > 1:
		c.failf("all calls: want one API key, got %d", len(c.secrets))
	}
}

func checkLeaks(_ context.Context, c *check) {
	if c.config.InProcess {
		c.skipped = inProcess
		return
	}
	for _, leak := range c.leaks {
		c.failf("sent %s: want no API key in the answer, got it", leak)
	}
}

func checkLogs(_ context.Context, c *check) {
	c.skipped = `cannot be seen from outside: search the proxy's log for "` + markPrefix + `", which must not be there`
}
