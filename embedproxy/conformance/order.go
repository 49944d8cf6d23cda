package conformance

import (
	"context"
	"net/http"
	"strings"
)

// orderChecks returns the checks of the order that the browser gets.
func orderChecks() []step {
	return []step{
		{"6", "checkout.create gives the order of the browser's schema and nothing else", checkOrderProjection},
		{"6", "nothing private of an order is in the answer", checkPrivate},
	}
}

func checkOrderProjection(ctx context.Context, c *check) {
	of := orderBody()
	order := sampleOrder()
	gross := with(with(order, "gross", money("49999999999999.50")), "floatDebited", money("49999999999999.50"))
	for _, data := range []any{
		order,
		nulls(order, of.nullable, "data."),
		with(gross, "lines", repeat(with(at(order, "lines.0"), "unitPrice", money("999999999999.99")), 50)),
		with(order, "branding.logoUrl", "https://images.example.com/logo?v=2&of=a@b"),
		with(with(order, "commission.rate.unit", "PERCENT"), "commission.rate.value", "2.5"),
		with(with(order, "commission.rate.unit", "FRACTION"), "commission.rate.value", "0.025"),
	} {
		seen, _ := data.(object)
		c.gives(ctx, of, single(data), single(browserOrder(seen)))
	}
}

func checkPrivate(ctx context.Context, c *check) {
	q := request{body: operation(opCheckout, checkoutPayload())}
	got := c.send(ctx, q, nil)
	c.expectStatus(q, got, http.StatusOK, http.StatusCreated)
	for _, text := range []string{
		privateMark, "floatDebited", "commission", "balances", "buyer", "createdAt", "emailMode", "supportEmail",
		"ticketFooter", "emailFooter", rateID, "895000.00", checkoutKey,
	} {
		if strings.Contains(string(got.body), text) || headerHas(got.header, text) {
			c.failf("sent %s: want nothing private in the answer, got %q in it", q, text)
		}
	}
}
