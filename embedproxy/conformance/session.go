package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// sessionChecks returns the checks of sessions and of requests from other sites.
func sessionChecks() []step {
	return []step{
		{"2", "without a session nothing is served", checkNoSession},
		{"2", "a made-up session is refused", checkForgedSession},
		{"2", "a request of another site is refused", checkCrossSite},
		{"2", "another origin may not read or send by CORS", checkCORS},
	}
}

func checkNoSession(ctx context.Context, c *check) {
	for _, of := range payloads() {
		q := request{
			name: of.operation + " without a session", body: operation(of.operation, of.payload), session: http.Header{},
		}
		c.expectUnauthorized(q, c.send(ctx, q, nil))
	}
}

func (c *check) expectUnauthorized(q request, got result) {
	if len(got.calls) > 0 || got.err != nil ||
		(got.status != http.StatusUnauthorized && got.status != http.StatusForbidden) {
		c.failf("sent %s: want 401 or 403 without an upstream call, got %s and %s", q, got.saw(), sent(got.calls))
	}
}

func checkForgedSession(ctx context.Context, c *check) {
	if len(c.config.Header) == 0 {
		c.skipped = "no header of a session was given"
		return
	}
	forged := c.config.Header.Clone()
	names := []string{"Cookie", "Authorization"}
	if forged.Get("Cookie") == "" && forged.Get("Authorization") == "" {
		names = names[:0]
		for name := range forged {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if value := forged.Get(name); value != "" {
			forged.Set(name, forge(value))
		}
	}
	for _, of := range payloads() {
		q := request{
			name: of.operation + " with a made-up session", body: operation(of.operation, of.payload), session: forged,
		}
		c.expectUnauthorized(q, c.send(ctx, q, nil))
	}
}

// forge returns the value of a header with each credential replaced: the values of cookies, or the last word.
func forge(value string) string {
	const made = "0123456789abcdef0123456789abcdef"
	cookies := strings.Split(value, ";")
	for i, cookie := range cookies {
		switch name, _, ok := strings.Cut(cookie, "="); {
		case ok:
			cookies[i] = name + "=" + made
		default:
			scheme, _, ok := strings.Cut(strings.TrimSpace(cookie), " ")
			if cookies[i] = made; ok {
				cookies[i] = scheme + " " + made
			}
		}
	}
	return strings.Join(cookies, ";")
}

// noCookie is the reason for skipping a check of other sites.
const noCookie = "the session is no cookie, so other sites cannot send it"

// cookieAlone returns what a browser adds by itself to a request from another site, or nil.
func (c *check) cookieAlone() http.Header {
	if cookie := c.config.Header.Values("Cookie"); len(cookie) > 0 {
		return http.Header{"Cookie": cookie}
	}
	return nil
}

func checkCrossSite(ctx context.Context, c *check) {
	session := c.cookieAlone()
	if session == nil {
		c.skipped = noCookie
		return
	}
	for _, from := range []map[string]string{
		{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
		{"Origin": "https://evil.example", "Sec-Fetch-Site": ""}, // an older browser
		{"Origin": "null", "Sec-Fetch-Site": "cross-site"},
		{"Origin": "https://sub." + c.proxy.Host, "Sec-Fetch-Site": "same-site"},
	} {
		for _, media := range []string{"application/json", "text/plain"} {
			header := map[string]string{"Content-Type": media}
			maps.Copy(header, from)
			for _, of := range payloads() {
				q := request{
					name: fmt.Sprintf("%s of Origin %s with Sec-Fetch-Site %q as %s",
						of.operation, from["Origin"], from["Sec-Fetch-Site"], media),
					body: operation(of.operation, of.payload), session: session, header: header,
				}
				c.expectRefused(q, c.send(ctx, q, nil))
			}
		}
	}
}

func checkCORS(ctx context.Context, c *check) {
	session := c.cookieAlone()
	if session == nil {
		c.skipped = noCookie
		return
	}
	for _, q := range []request{
		{name: "a preflight of https://evil.example", method: http.MethodOptions, header: map[string]string{
			"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "",
			"Access-Control-Request-Method": http.MethodPost, "Access-Control-Request-Headers": "content-type",
		}},
		{
			name: "events.list of https://evil.example", body: operation(opList, object{}), session: session,
			header: map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
		},
	} {
		got := c.send(ctx, q, nil)
		if allowed := got.header.Get("Access-Control-Allow-Origin"); allowed == "*" || allowed == "https://evil.example" {
			c.failf("sent %s: want no Access-Control-Allow-Origin for it, got %s", q, allowed)
		}
	}
}

// maxBurst is how many requests the check of the limit sends.
const maxBurst = 1000

func checkRateLimit(ctx context.Context, c *check) {
	if !c.config.Limits {
		c.skipped = `not asked for: "--limits" (Limits in Go) sends requests until the proxy limits them`
		return
	}
	q := request{body: operation(opList, object{})}
	for range maxBurst {
		c.upstream.begin(nil)
		got, err := c.post(ctx, q)
		calls := c.upstream.recorded()
		c.upstream.end()
		switch {
		case err != nil:
			c.failf("sent %s many times: want 429, got no answer (%v)", q, err)
			return
		case got.status == http.StatusTooManyRequests && len(calls) > 0:
			c.failf("sent %s many times: want 429 without an upstream call, got %s", q, sent(calls))
			return
		case got.status == http.StatusTooManyRequests:
			return
		}
	}
	c.failf("sent %s %d times: want 429 at last, got none", q, maxBurst)
}
