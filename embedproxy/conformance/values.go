package conformance

import (
	"context"
	"net/http"
	"strings"
)

// valueChecks returns the checks of single values in upstream bodies.
func valueChecks() []step {
	return []step{
		{"7", "an event in the list that is not published is rejected", checkListStatus},
		{"7", "money of another format is rejected", checkMoney},
		{"7", "another currency is rejected", checkCurrency},
		{"7", "an order whose gross is not floatDebited is rejected", checkGross},
		{"7", "timestamps that do not parse are rejected", checkTimestamps},
		{"7", "image and logo URLs that are not HTTPS, or have credentials or a fragment, are rejected", checkURLs},
		{"7", "quantities outside of 0 to 1,000,000 are rejected", checkQuantities},
		{"7", "quotes without lines or with 51 are rejected", checkQuoteLines},
		{"7", "lists of 101 events or 51 tiers are rejected", checkListLengths},
		{"7", "request ids outside of the safe set are rejected", checkUpstreamIDs},
		{"7", "cursors outside of 1 to 512 characters of A-Z a-z 0-9 _ - are rejected", checkCursors},
		{"7", "error codes and messages of another form are rejected", checkErrorForms},
	}
}

// rejectsValues expects that each of the values at a path of an upstream body is rejected.
func (c *check) rejectsValues(ctx context.Context, of upstreamBody, path string, values ...any) {
	for _, value := range values {
		name := path + " " + short(encode(value))
		c.rejects(ctx, of, name, of.reply(marked(with(of.body, path, value))))
	}
}

func checkListStatus(ctx context.Context, c *check) {
	of := listBody()
	for _, status := range unpublished() {
		c.rejectsValues(ctx, of, "data.0.status", status)
		mixed := eventPage(sampleEvent(), with(sampleEvent(), "status", status))
		c.rejects(ctx, of, "a second event "+status, ok(marked(mixed)))
	}
}

// moneyPaths returns the paths of the amounts in an upstream body.
func moneyPaths(body any) []string {
	var paths []string
	walk(body, "", func(path string, value any) {
		if of, ok := value.(object); ok && of["currency"] != nil && of["amount"] != nil {
			paths = append(paths, path)
		}
	})
	return paths
}

func checkMoney(ctx context.Context, c *check) {
	c.rejectsValues(ctx, inventoryBody(), "data.0.unitPrice.amount",
		"", "5000", "5000.0", "5000.000", "-5000.00", "+5000.00", "5e3", "NaN", "Infinity", "05000.00", " 5000.00",
		"5000.00 ", "5,000.00", ".50", "5000.", "0x10.00", "9999999999999999.00", "\u0665.00", "5000.00\n", 5000)
	for _, of := range []upstreamBody{quoteBody(), orderBody()} {
		for _, path := range moneyPaths(of.body) {
			for _, amount := range []string{"-1.00", "1.5", "1.005", "1e3"} {
				body := with(of.body, path+".amount", amount)
				if path == "data.gross" || path == "data.floatDebited" {
					body = with(with(of.body, "data.gross.amount", amount), "data.floatDebited.amount", amount)
				}
				c.rejects(ctx, of, path+".amount "+amount, of.reply(marked(body)))
			}
		}
	}
}

func checkCurrency(ctx context.Context, c *check) {
	for _, of := range []upstreamBody{inventoryBody(), quoteBody(), orderBody()} {
		for _, path := range moneyPaths(of.body) {
			c.rejectsValues(ctx, of, path+".currency", "USD")
		}
	}
	c.rejectsValues(ctx, inventoryBody(), "data.0.unitPrice.currency", "ngn", "", "NGN ")
	c.rejectsValues(ctx, quoteBody(), "data.currency", "USD", "ngn")
}

func checkGross(ctx context.Context, c *check) {
	c.rejectsValues(ctx, orderBody(), "data.floatDebited.amount", "4999.99", "5000.01", "0.00", "500000.00")
	c.rejectsValues(ctx, orderBody(), "data.gross.amount", "4999.99", "50000.00")
}

func checkTimestamps(ctx context.Context, c *check) {
	for _, of := range []struct {
		body  upstreamBody
		paths string
	}{
		{listBody(), "data.0.createdAt data.0.updatedAt"},
		{eventBody(opQuote, quotePayload()), "data.createdAt data.updatedAt"},
		{quoteBody(), "data.quotedAt"},
		{orderBody(), "data.confirmedAt data.createdAt"},
	} {
		for path := range strings.FieldsSeq(of.paths) {
			c.rejectsValues(ctx, of.body, path, "", "yesterday", "2031-13-45T99:99:99.000Z", "1931234567")
		}
	}
}

func checkURLs(ctx context.Context, c *check) {
	bad := []any{
		"", "http://images.example.com/a.jpg", "ftp://images.example.com/a.jpg", "javascript:alert(1)",
		"data:image/png;base64,AAAA", "//images.example.com/a.jpg", "/a.jpg", "a.jpg", "https://",
		"https://user:pass@images.example.com/a.jpg", "https://user@images.example.com/a.jpg",
		"https://images.example.com/a.jpg#top",
	}
	c.rejectsValues(ctx, listBody(), "data.0.imageUrl", bad...)
	c.rejectsValues(ctx, eventBody(opQuote, quotePayload()), "data.imageUrl", bad...)
	c.rejectsValues(ctx, orderBody(), "data.branding.logoUrl", bad...)
}

func checkQuantities(ctx context.Context, c *check) {
	for _, path := range []string{"data.0.availableQuantity", "data.0.totalAdmissions"} {
		c.rejectsValues(ctx, inventoryBody(), path, -1, 1_000_001, 1.5, 1e300, "1")
	}
}

func checkQuoteLines(ctx context.Context, c *check) {
	of := quoteBody()
	c.rejects(ctx, of, "no line", ok(marked(with(of.body, "data.lines", list{}))))
	lines := named(repeat(with(at(of.body, "data.lines.0"), "quantity", 1), 51))
	c.rejects(ctx, of, "51 lines", ok(marked(with(of.body, "data.lines", lines))))
}

func checkListLengths(ctx context.Context, c *check) {
	c.rejects(ctx, listBody(), "101 events", ok(marked(eventPage(repeat(sampleEvent(), 101)...))))
	c.rejects(ctx, inventoryBody(), "51 tiers", ok(marked(single(named(repeat(sampleTiers()[0], 51))))))
}

func checkUpstreamIDs(ctx context.Context, c *check) {
	bad := []any{
		"", strings.Repeat("z", 129), "-zq7id", "zq7 id", "zq7/id", "<b>zq7</b>", "zq7id\n", "zq7\u00e4",
	}
	for _, of := range upstreamBodies() {
		c.rejectsValues(ctx, of, "meta.requestId", bad...)
	}
	for _, id := range bad {
		body := with(errorBody("CONFLICT", mark), "meta.requestId", id)
		c.rejects(ctx, orderBody(), "an error with requestId "+short(encode(id)),
			&reply{status: http.StatusConflict, body: encode(body)})
	}
}

func checkCursors(ctx context.Context, c *check) {
	c.rejectsValues(ctx, listBody(), "meta.page.nextCursor",
		"", strings.Repeat("a", 513), "zq7/a", "zq7+a", "zq7=", "zq7 a", "zq7.a", "zq7\u00e4", "zq7\n")
}

func checkErrorForms(ctx context.Context, c *check) {
	forms := map[string][]any{
		"error.code": {
			"", "conflict", "1CONFLICT", "_CONFLICT", "CONFLICT-1", "CON FLICT", "C" + strings.Repeat("O", 100),
			"CONFLICT\n", 409, nil,
		},
		"error.message":  {"", strings.Repeat("z", 2001), 409, nil},
		"meta.requestId": {409, nil},
		"error":          {"zq7", nil, list{}},
	}
	for _, of := range []upstreamBody{listBody(), eventBody(opInventory, inventoryPayload()), quoteBody(), orderBody()} {
		body := with(errorBody("CONFLICT", mark), "meta.requestId", markPrefix+"-upstream-id")
		for path, values := range forms {
			for _, value := range values {
				c.rejects(ctx, of, "an error with "+path+" "+short(encode(value)),
					&reply{status: http.StatusConflict, body: encode(with(body, path, value))})
			}
		}
		for _, path := range []string{"error", "error.code", "error.message", "meta", "meta.requestId"} {
			c.rejects(ctx, of, "an error without "+path,
				&reply{status: http.StatusConflict, body: encode(without(body, path))})
		}
	}
}
