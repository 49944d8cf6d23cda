package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// The metrics count the requests to the console by page, status and code, and not among those to the public API. What
// somebody typed into an address is not there.
func TestConsoleRequestsAreCounted(t *testing.T) {
	t.Parallel()
	leftOut(t)
	ok := is.New(t)
	_, origin := newShell(t).serve()
	browser := newVisitor(t)
	status, _, _ := browser.visit(origin + "/sign-in")
	ok.Equal(status, http.StatusOK)
	status, _, _ = browser.visit(origin + "/platform/ada@example.com")
	ok.Equal(status, http.StatusNotFound)
	status, _, _ = browser.visit(origin + "/api/v2/account")
	ok.Equal(status, http.StatusUnauthorized)
	_, metrics := get(t, origin+"/metrics")
	for _, want := range []string{
		`ticketing_console_requests_total{code="",method="GET",route="/sign-in",status="200"} 1`,
		`ticketing_console_requests_total{code="NOT_FOUND",method="GET",route="",status="404"} 1`,
		`ticketing_console_requests_total{code="SIGN_IN_REQUIRED",method="GET",route="/api/v2/account",status="401"} 1`,
		`ticketing_console_request_duration_seconds_count{class="2xx",method="GET",route="/sign-in"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%q is missing in\n%s", want, metrics)
		}
	}
	ok.True(!strings.Contains(metrics, "ada@example.com"))
	ok.True(!strings.Contains(metrics, "ticketing_http_requests_total{"))
}
