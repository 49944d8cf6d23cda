package conformance

import (
	"context"
	"net/http"
	"time"
)

// publicationChecks returns the checks that the proxy serves published events only.
func publicationChecks() []step {
	return []step{
		{"4", "an event that is not published is not served", checkUnpublished},
		{"4", "an event that is not found is not served", checkNotFound},
		{"4", "an event with another id proves nothing", checkAnotherEvent},
		{"4", "inventory is discarded when the publication changed", checkChanged},
		{"4", "no check follows a checkout", checkNothingAfter},
	}
}

// unpublished returns the statuses of events that are not published.
func unpublished() []string { return []string{"DRAFT", "ENDED", "CANCELLED"} }

func eventReply(status string) *reply { return ok(single(with(sampleEvent(), "status", status))) }

// expectNotServed expects an error, and that the proxy only read the event, once.
func (c *check) expectNotServed(about string, q request, got result) {
	if len(got.calls) != 1 {
		c.failf("%s, sent %s: want the read of the event alone, got %s", about, q, sent(got.calls))
	}
	c.expectNoData(about, q, got)
}

// expectNoData expects an error.
func (c *check) expectNoData(about string, q request, got result) {
	if got.err != nil || got.status < 400 || at(got.value, "data") != nil {
		c.failf("%s, sent %s: want an error, got %s", about, q, got.saw())
	}
}

func checkUnpublished(ctx context.Context, c *check) {
	for _, of := range payloads()[1:] {
		for _, status := range unpublished() {
			q := request{body: operation(of.operation, of.payload)}
			c.expectNotServed("event "+status, q, c.send(ctx, q, on(routeEvent, 0, eventReply(status))))
		}
	}
}

func checkNotFound(ctx context.Context, c *check) {
	for _, of := range payloads()[1:] {
		q := request{body: operation(of.operation, of.payload)}
		missing := failure(http.StatusNotFound, "NOT_FOUND", "Event not found.")
		c.expectNotServed("event not found", q, c.send(ctx, q, on(routeEvent, 0, missing)))
	}
}

func checkAnotherEvent(ctx context.Context, c *check) {
	for _, of := range payloads()[1:] {
		q := request{body: operation(of.operation, of.payload)}
		other := ok(single(with(sampleEvent(), "id", orderID)))
		c.expectNotServed("event with another id", q, c.send(ctx, q, on(routeEvent, 0, other)))
	}
}

func checkChanged(ctx context.Context, c *check) {
	q := request{body: operation(opInventory, inventoryPayload())}
	second := func(about string, answer *reply) {
		got := c.send(ctx, q, on(routeEvent, 2, answer))
		if len(got.calls) != 3 {
			c.failf("%s after the inventory, sent %s: want three reads, got %s", about, q, sent(got.calls))
		}
		c.expectNoData(about+" after the inventory", q, got)
	}
	for _, status := range unpublished() {
		second("event "+status, eventReply(status))
	}
	second("event not found", failure(http.StatusNotFound, "NOT_FOUND", "Event not found."))
	second("internal error", failure(http.StatusInternalServerError, "INTERNAL_ERROR", "An unexpected error occurred."))
	second("event that is no JSON", &reply{status: http.StatusOK, body: []byte("<h1>" + mark + "</h1>")})
	second("event with another id", ok(single(with(sampleEvent(), "id", orderID))))
	second("event with an unknown member", ok(single(with(sampleEvent(), "zq7unknown", mark))))
}

// afterCheckout is how long the check waits for calls after the answer to a checkout.
const afterCheckout = 100 * time.Millisecond

func checkNothingAfter(ctx context.Context, c *check) {
	q := request{body: operation(opCheckout, checkoutPayload())}
	c.settle = afterCheckout
	calls := c.send(ctx, q, nil).calls
	for i, call := range calls {
		if of, _ := routeOf(call.method, call.path); of == routeCheckout {
			if after := calls[i+1:]; len(after) > 0 {
				c.failf("sent %s: want no call after %s, got %s", q, routeCheckout, sent(after))
			}
			break
		}
	}
	c.settle = 0

	// The event ends while the order is made.
	ended := c.send(ctx, q, on(routeEvent, 2, eventReply("ENDED")))
	c.expectStatus(q, ended, http.StatusOK, http.StatusCreated)
}
