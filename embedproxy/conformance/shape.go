package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// shapeChecks returns the checks of the form of upstream bodies, and of what the browser gets for valid ones.
func shapeChecks() []step {
	return []step{
		{"5", "events.list gives the events of the browser's schema", checkListProjection},
		{"5", "events.inventory gives the tiers", checkInventoryProjection},
		{"5", "pricing.quote gives the quote", checkQuoteProjection},
		{"5", "each member of a page of events is checked, and no other accepted", checkListShape},
		{"5", "each member of the event that proves is checked, and no other accepted", checkEventShape},
		{"5", "each member of a tier is checked, and no other accepted", checkInventoryShape},
		{"5", "each member of a quote is checked, and no other accepted", checkQuoteShape},
		{"5", "each member of an order is checked, and no other accepted", checkOrderShape},
		{"5", "hasMore and nextCursor agree", checkPageMembers},
		{"5", "a value outside of its list of values is rejected", checkEnums},
		{"5", "a name that is there twice in an upstream body is rejected", checkUpstreamDuplicates},
	}
}

// upstreamBody is a valid body of a route, and the operation that reads it.
type upstreamBody struct {
	route     route
	nth       int // which call of the route; 0 for all
	operation string
	payload   object
	body      object
	nullable  []string
}

func (b upstreamBody) reply(body any) *reply {
	if b.route == routeCheckout {
		return created(body)
	}
	return ok(body)
}

// eventNullable returns the paths within an event that may be null.
func eventNullable(event string) []string {
	var paths []string
	for _, path := range []string{
		"description", "schedule.date", "schedule.startsAt", "schedule.endsAt", "schedule.timezone", "location.name",
		"location.venue", "organizerName", "category",
	} {
		paths = append(paths, event+"."+path)
	}
	return paths
}

func listBody() upstreamBody {
	return upstreamBody{routeList, 0, opList, listPayload(), eventPage(sampleEvent()), eventNullable("data.0")}
}

func eventBody(name string, payload object) upstreamBody {
	return upstreamBody{routeEvent, 1, name, payload, single(sampleEvent()), eventNullable("data")}
}

func inventoryBody() upstreamBody {
	return upstreamBody{
		routeInventory, 0, opInventory, inventoryPayload(), single(sampleTiers()), []string{"data.0.unitPrice"},
	}
}

func quoteBody() upstreamBody {
	return upstreamBody{routeQuote, 0, opQuote, quotePayload(), single(sampleQuote()), nil}
}

func orderBody() upstreamBody {
	return upstreamBody{routeCheckout, 0, opCheckout, checkoutPayload(), single(sampleOrder()), []string{
		"data.buyer.fullname", "data.buyer.phone", "data.branding.logoUrl", "data.branding.checkoutFooter",
		"data.branding.ticketFooter", "data.branding.emailFooter", "data.branding.supportEmail",
	}}
}

// upstreamBodies returns a valid body of each route.
func upstreamBodies() []upstreamBody {
	return []upstreamBody{
		listBody(), eventBody(opInventory, inventoryPayload()), inventoryBody(),
		eventBody(opQuote, quotePayload()), quoteBody(),
		eventBody(opCheckout, checkoutPayload()), orderBody(),
	}
}

// reached reports whether the proxy made the call that a script was for. A missing call fails the check of the table of
// operations, and not each check of its reply.
func (b upstreamBody) reached(calls []call) bool {
	n := 0
	for _, call := range calls {
		if of, _ := routeOf(call.method, call.path); of == b.route {
			n++
		}
	}
	return n >= max(b.nth, 1)
}

// rejects expects that the proxy rejects a reply that replaces the valid one.
func (c *check) rejects(ctx context.Context, of upstreamBody, fault string, answer *reply) result {
	got := c.sendPayload(ctx, of.operation, of.payload, on(of.route, of.nth, answer))
	if !of.reached(got.calls) {
		return got
	}
	about := fmt.Sprintf("%s, %s with %s", of.operation, of.route, fault)
	c.expectRejected(about, got, answer)
	if _, posted := checkoutOf(got.calls); posted && of.route == routeEvent {
		c.failf("%s: want no POST /checkouts, got one", about)
	}
	return got
}

func (c *check) rejectsVariants(ctx context.Context, of upstreamBody, variants []variant) {
	for _, v := range variants {
		c.rejects(ctx, of, v.name, of.reply(marked(v.body)))
	}
}

// marked returns a body with a mark as its request id. No answer may then contain that id.
func marked(body any) any {
	if at(body, "meta.requestId") == idPlaceholder {
		return with(body, "meta.requestId", markPrefix+"-upstream-id")
	}
	return body
}

func (c *check) checkShape(ctx context.Context, of upstreamBody) {
	c.rejectsVariants(ctx, of, shapeFaults(of.body, of.nullable...))
}

func checkListShape(ctx context.Context, c *check)      { c.checkShape(ctx, listBody()) }
func checkInventoryShape(ctx context.Context, c *check) { c.checkShape(ctx, inventoryBody()) }
func checkQuoteShape(ctx context.Context, c *check)     { c.checkShape(ctx, quoteBody()) }
func checkOrderShape(ctx context.Context, c *check)     { c.checkShape(ctx, orderBody()) }

func checkEventShape(ctx context.Context, c *check) {
	c.checkShape(ctx, eventBody(opQuote, quotePayload()))
	for _, of := range []upstreamBody{
		eventBody(opInventory, inventoryPayload()), eventBody(opCheckout, checkoutPayload()),
	} {
		c.rejectsVariants(ctx, of, []variant{
			{"data.zq7unknown added", with(of.body, "data.zq7unknown", mark)},
			{"data.location.zq7unknown added", with(of.body, "data.location.zq7unknown", mark)},
			{"data.title missing", without(of.body, "data.title")},
			{"data.status missing", without(of.body, "data.status")},
		})
	}
}

func checkPageMembers(ctx context.Context, c *check) {
	of := listBody()
	c.rejectsVariants(ctx, of, []variant{
		{"hasMore true and nextCursor null", with(of.body, "meta.page.nextCursor", nil)},
		{"hasMore false and a nextCursor", with(of.body, "meta.page.hasMore", false)},
	})
	for _, of := range []upstreamBody{inventoryBody(), quoteBody(), orderBody()} {
		c.rejectsVariants(ctx, of, []variant{
			{"meta.page", with(of.body, "meta.page", object{"hasMore": false, "nextCursor": nil})},
		})
	}
}

func checkEnums(ctx context.Context, c *check) {
	other := markPrefix + "other"
	for _, of := range []struct {
		body  upstreamBody
		paths string
	}{
		{listBody(), "data.0.object data.0.status"},
		{eventBody(opQuote, quotePayload()), "data.object"},
		{inventoryBody(), "data.0.object data.0.status"},
		{quoteBody(), "data.object"},
		{orderBody(), "data.object data.status data.commission.rate.unit data.branding.emailMode"},
	} {
		for path := range strings.FieldsSeq(of.paths) {
			c.rejectsVariants(ctx, of.body, []variant{{path + " unknown", with(of.body.body, path, other)}})
		}
	}
	c.rejectsVariants(ctx, orderBody(), []variant{
		{"no line", with(orderBody().body, "data.lines", list{})},
		{"51 lines", with(orderBody().body, "data.lines", repeat(at(orderBody().body, "data.lines.0"), 51))},
	})
}

func checkUpstreamDuplicates(ctx context.Context, c *check) {
	for _, of := range upstreamBodies() {
		body := strings.Replace(string(encode(marked(of.body))), `"object":`, `"object":"zq7other","object":`, 1)
		c.rejects(ctx, of, "object twice", &reply{status: of.reply(nil).status, body: []byte(body)})
		body = strings.Replace(string(encode(marked(of.body))), `"meta":`, `"meta":{},"meta":`, 1)
		c.rejects(ctx, of, "meta twice", &reply{status: of.reply(nil).status, body: []byte(body)})
	}
}

// repeat returns a list of n times a value.
func repeat(value any, n int) list {
	values := make(list, n)
	for i := range values {
		values[i] = copyOf(value)
	}
	return values
}

// names returns n names of tiers.
func names(n int) list {
	tiers := make(list, n)
	for i := range tiers {
		tiers[i] = fmt.Sprintf("TIER_%02d", i)
	}
	return tiers
}

// named gives each of the lines or tiers a different name.
func named(lines list) list {
	tiers := names(len(lines))
	for i, line := range lines {
		lines[i] = with(line, "tier", tiers[i])
	}
	return lines
}

// gives expects that the browser gets this for a valid upstream body.
func (c *check) gives(ctx context.Context, of upstreamBody, body, want any) {
	q := request{body: operation(of.operation, of.payload)}
	got := c.send(ctx, q, on(of.route, of.nth, of.reply(body)))
	statuses := []int{http.StatusOK}
	if of.route == routeCheckout {
		statuses = append(statuses, http.StatusCreated)
	}
	c.expectAnswer(q, got, statuses, want)
}

// nulls returns a resource with null wherever null is allowed.
func nulls(value any, paths []string, prefix string) any {
	for _, path := range paths {
		value = with(value, strings.TrimPrefix(path, prefix), nil)
	}
	return value
}

func checkListProjection(ctx context.Context, c *check) {
	of := listBody()
	give := func(last bool, events ...any) {
		page := eventPage(events...)
		seen := make(list, len(events))
		for i, event := range events {
			event, _ := event.(object)
			seen[i] = browserEvent(event)
		}
		want := with(page, "data", seen)
		if last {
			end := object{"hasMore": false, "nextCursor": nil}
			page, _ = with(page, "meta.page", end).(object)
			want = with(want, "meta.page", end)
		}
		c.gives(ctx, of, page, want)
	}
	event := sampleEvent()
	empty := nulls(event, eventNullable("data"), "data.")
	full := with(with(event, "title", strings.Repeat("\u00e4", 200)), "ticketCategories", names(50))
	give(false, event)
	give(true, event, empty)
	give(true)
	give(true, full, with(event, "ticketCategories", list{}),
		with(event, "imageUrl", "https://user.example:8443/a%20b?c=@d"))
	give(false, repeat(event, 100)...)
	long := with(eventPage(event), "meta.page.nextCursor", strings.Repeat("aZ09_-xx", 64))
	c.gives(ctx, of, long, with(long, "data", list{browserEvent(event)}))
}

func checkInventoryProjection(ctx context.Context, c *check) {
	of := inventoryBody()
	tier := at(of.body, "data.0")
	for _, tiers := range []list{
		sampleTiers(),
		{},
		{with(tier, "status", "PAUSED"), with(with(tier, "status", "CANCELLED"), "unitPrice", nil)},
		{with(with(tier, "availableQuantity", 1_000_000), "totalAdmissions", 1_000_000)},
		{with(tier, "unitPrice", money("999999999999.99")), with(tier, "unitPrice", money("0.00"))},
		named(repeat(tier, 50)),
	} {
		c.gives(ctx, of, single(tiers), single(tiers))
	}
}

func checkQuoteProjection(ctx context.Context, c *check) {
	of := quoteBody()
	quote := at(of.body, "data")
	// lines returns the quote with n lines of one price.
	lines := func(n, quantity, available int, unitPrice, subtotal, total string) any {
		line := object{
			"tier": "", "quantity": quantity, "unitPrice": money(unitPrice), "subtotal": money(subtotal),
			"availableAtPrice": available,
		}
		return with(with(quote, "lines", named(repeat(line, n))), "total", money(total))
	}
	for _, data := range []any{
		quote,
		lines(50, 1, 1, "5000.00", "5000.00", "250000.00"),
		lines(1, 50, 1_000_000, "0.00", "0.00", "0.00"),
		lines(1, 50, 50, "999999999999.99", "49999999999999.50", "49999999999999.50"),
	} {
		c.gives(ctx, of, single(data), single(data))
	}
}
