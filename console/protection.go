package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/safename"
)

// policy is the Content-Security-Policy of every page. A page that shows remote pictures adds their origins.
const (
	policyBefore = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:"
	policyAfter  = "; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

// documentPolicy is that of a document that is not a page of ours, such as a mail.
const documentPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// servesHost reports whether the request is for the console's host. Without an origin these are localhost and
// 127.0.0.1, which protects against DNS rebinding.
func (c *console) servesHost(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	if c.origin != nil {
		return withoutDefaultPort(c.origin.Scheme, host) == c.origin.Host
	}
	name := host
	if only, _, err := net.SplitHostPort(host); err == nil {
		name = only
	}
	return name == "localhost" || name == "127.0.0.1"
}

// isSecure reports whether browsers use https with the console.
func (c *console) isSecure(r *http.Request) bool {
	if c.origin != nil {
		return c.origin.Scheme == "https"
	}
	return schemeOf(r) == "https"
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

func withoutDefaultPort(scheme, host string) string {
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.IsLoopback()
}

func isRequestID(text string) bool { return safename.Valid(text, 1, 128) }

var errCrossOrigin = &ticketing.Error{
	Code: ticketing.CodePermissionDenied, Message: "This request does not come from a page of this site.",
}

// checkOrigin refuses a request from elsewhere that changes something. CrossOriginProtection compares the host of
// Origin but not its scheme, so Origin is compared here, too. "null" is an origin like any other.
func (c *console) checkOrigin(r *http.Request) error {
	if isSafe(r.Method) {
		return nil
	}
	if err := c.protection.Check(r); err != nil {
		return errCrossOrigin
	}
	sent := r.Header["Origin"]
	if len(sent) > 1 || len(sent) == 1 && sent[0] != c.originOf(r) {
		return errCrossOrigin
	}
	return nil
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// setPolicies sets the headers that every response has.
func (x *exchange) setPolicies(a answer) {
	header := x.w.Header()
	policy := strings.Join(append([]string{policyBefore}, a.images...), " ") + policyAfter
	if a.document {
		policy = documentPolicy
	}
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "same-origin") // With "no-referrer" browsers send "Origin: null" with forms.
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("X-Request-Id", x.id)
	if x.isSecure(x.r) && !isLoopback(hostName(x.originOf(x.r))) {
		header.Set("Strict-Transport-Security", "max-age=63072000")
	}
}

// hostName returns the host of an origin, without its port.
func hostName(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	if only, _, err := net.SplitHostPort(host); err == nil {
		return only
	}
	return host
}
