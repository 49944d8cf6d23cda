package conformance

import (
	"bytes"
	"context"
	"net/http"
	"slices"
)

// retryChecks returns the checks of a checkout that the browser repeats.
func retryChecks() []step {
	return []step{
		{"10", "a checkout can be repeated with the same key after a rejected answer", checkRepeated},
	}
}

func checkRepeated(ctx context.Context, c *check) {
	of := orderBody()
	q := request{body: operation(opCheckout, checkoutPayload())}
	unreadable := created(marked(without(of.body, "data.floatDebited")))
	first := c.send(ctx, q, on(routeCheckout, 1, unreadable))
	second := c.send(ctx, q, nil)
	lost, _ := checkoutOf(first.calls)
	again, ok := checkoutOf(second.calls)
	switch {
	case !ok:
		c.failf("sent %s again: want POST /checkouts, got %s", q, sent(second.calls))
	case !slices.Equal(lost.header.Values("Idempotency-Key"), again.header.Values("Idempotency-Key")):
		c.failf("sent %s again: want the same Idempotency-Key, got %q", q, again.header.Values("Idempotency-Key"))
	case !bytes.Equal(lost.body, again.body):
		c.failf("sent %s again: want the same upstream body, got %s", q, short(again.body))
	}
	if c.expectStatus(q, second, http.StatusOK, http.StatusCreated); at(second.value, "data.floatDebited") != nil {
		c.failf("sent %s again: want the projected order, got one with floatDebited", q)
	}
}
