package conformance

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// rejectionChecks returns the checks of upstream replies that cannot be read.
func rejectionChecks() []step {
	return []step{
		{"9", "a body that is no JSON envelope is rejected", checkUnreadable},
		{"9", "a failure without the error envelope is rejected", checkUnreadableFailures},
		{"9", "a body of 10 MB is rejected", checkHuge},
		{"9", "a redirect is rejected and not followed", checkRedirects},
		{"9", "the request id of the rejection is the proxy's own", checkOwnID},
		{"9", "a body that is cut off is rejected", checkCut},
		{"9", "a connection that ends without a reply is a failure", checkSilent},
		{"9", "an upstream that does not reply is given up", checkSlow},
	}
}

func checkUnreadable(ctx context.Context, c *check) {
	for _, of := range upstreamBodies() {
		right := string(encode(marked(of.body)))
		for name, body := range map[string]string{
			"an empty body":   "",
			"HTML":            "<!doctype html><title>" + mark + "</title>",
			"a text":          mark,
			"half a body":     right[:len(right)/2],
			"data after it":   right + right,
			"text after it":   right + mark,
			"null":            "null",
			"a list":          "[" + right + "]",
			"a string":        strconv.Quote(mark),
			"an empty object": "{}",
			"the data alone":  string(encode(of.body["data"])),
			"the error":       string(encode(marked(errorBody("CONFLICT", mark)))),
			"invalid UTF-8":   strings.Replace(right, "object", "object\xff", 1),
		} {
			c.rejects(ctx, of, name, &reply{status: of.reply(nil).status, body: []byte(body)})
		}
		html := (&reply{status: of.reply(nil).status, body: []byte("<title>" + mark + "</title>")}).
			withHeader("Content-Type", "text/html")
		c.rejects(ctx, of, "HTML of that type", html)
	}
}

func checkUnreadableFailures(ctx context.Context, c *check) {
	html := map[string]string{"Content-Type": "text/html"}
	for _, of := range upstreamBodies() {
		for _, status := range []int{400, 403, 404, 409, 429, 500, 502, 503} {
			c.rejects(ctx, of, fmt.Sprintf("%d and HTML", status),
				&reply{status: status, header: html, body: []byte("<h1>" + mark + "</h1>")})
		}
		c.rejects(ctx, of, "500 and an empty body", &reply{status: 500})
		c.rejects(ctx, of, "500 and the right body", &reply{status: 500, body: encode(marked(of.body))})
		c.rejects(ctx, of, "500 and JSON of another form", &reply{status: 500, body: []byte(`{"message":"` + mark + `"}`)})
	}
}

func checkHuge(ctx context.Context, c *check) {
	huge := bytes.Repeat([]byte(mark), 10<<20/len(mark))
	for _, of := range []upstreamBody{listBody(), orderBody()} {
		before, after, _ := bytes.Cut(encode(marked(with(of.body, "zq7unknown", "HUGE"))), []byte("HUGE"))
		body := &reply{status: of.reply(nil).status, body: bytes.Join([][]byte{before, after}, huge)}
		c.rejects(ctx, of, "10 MB of an unknown member", body)
	}
}

func checkRedirects(ctx context.Context, c *check) {
	for _, of := range upstreamBodies() {
		for _, status := range []int{301, 302, 303, 307, 308} {
			moved := (&reply{status: status, body: encode(marked(of.body))}).withHeader("Location", Prefix+"/"+mark)
			got := c.rejects(ctx, of, strconv.Itoa(status), moved)
			for _, call := range got.calls {
				if strings.Contains(call.path, mark) {
					c.failf("%s, %s returns %d: want the redirect not followed, got %s", of.operation, of.route, status, call)
				}
			}
		}
	}
}

func checkOwnID(ctx context.Context, c *check) {
	for _, of := range upstreamBodies() {
		const id = "of-the-browser"
		q := request{body: operation(of.operation, of.payload), header: map[string]string{"X-Request-Id": id}}
		text := &reply{status: of.reply(nil).status, body: []byte(mark)}
		got := c.send(ctx, q, on(of.route, of.nth, text))
		if !of.reached(got.calls) {
			continue
		}
		about := fmt.Sprintf("%s with X-Request-Id: %s, %s with a text", of.operation, id, of.route)
		if got.code() == rejection && got.requestID() == id {
			c.failf("%s: want a meta.requestId that the proxy generated, got that of the browser", about)
		}
	}
}

func checkCut(ctx context.Context, c *check) {
	if c.config.InProcess {
		c.skipped = inProcess
		return
	}
	for _, of := range upstreamBodies() {
		cut := of.reply(marked(of.body))
		cut.fault = faultCut
		c.rejects(ctx, of, "half a body and the end of the connection", cut)
	}
}

// expectGivenUp expects a failure that says that the upstream did not answer.
func (c *check) expectGivenUp(about string, got result) {
	if got.err != nil || got.status < 502 || got.status > 504 {
		c.failf("%s: want a status from 502 to 504, got %s", about, got.saw())
		return
	}
	if said := errorEnvelope(got); said != "" {
		c.failf("%s: %s", about, said)
	}
	if strings.Contains(string(got.body), c.upstreamAddress()) {
		c.failf("%s: want a generic message, got %s", about, got.saw())
	}
}

// upstreamAddress returns the address that calls are sent to, or else their path.
func (c *check) upstreamAddress() string {
	if c.config.Listener == nil {
		return Prefix
	}
	return c.config.Listener.Addr().String()
}

func checkSilent(ctx context.Context, c *check) {
	if c.config.InProcess {
		c.skipped = inProcess
		return
	}
	for _, of := range upstreamBodies() {
		got := c.sendPayload(ctx, of.operation, of.payload, from(of.route, of.nth, &reply{fault: faultSilent}))
		if !of.reached(got.calls) {
			continue
		}
		c.expectGivenUp(fmt.Sprintf("%s, %s without a reply", of.operation, of.route), got)
		c.expectSameCheckout(got)
	}
}

// expectSameCheckout expects that all checkouts have the same key and body. Section 7 lets a client repeat one like
// that.
func (c *check) expectSameCheckout(got result) {
	first, _ := checkoutOf(got.calls)
	for _, call := range got.calls {
		if of, _ := routeOf(call.method, call.path); of == routeCheckout &&
			(call.header.Get("Idempotency-Key") != first.header.Get("Idempotency-Key") || !bytes.Equal(call.body, first.body)) {
			c.failf("checkout.create, %s without a reply: want it repeated with the same key and body, or not at all",
				routeCheckout)
		}
	}
}

func checkSlow(ctx context.Context, c *check) {
	switch {
	case c.config.InProcess:
		c.skipped = inProcess
		return
	case c.config.Slow <= 0:
		c.skipped = `not asked for: "--slow 20s" (Slow in Go) waits so long for the proxy to give up`
		return
	}
	for _, of := range []upstreamBody{listBody(), orderBody()} {
		bounded, cancel := context.WithTimeout(ctx, c.config.Slow)
		got := c.sendPayload(bounded, of.operation, of.payload, from(of.route, of.nth, &reply{fault: faultHold}))
		cancel()
		if ctx.Err() != nil {
			return
		}
		c.expectGivenUp(fmt.Sprintf("%s, %s without a reply within %s", of.operation, of.route, c.config.Slow), got)
	}
}
