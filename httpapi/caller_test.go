package httpapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

const notUsable = "The API key is missing, malformed, revoked or not usable."

// A host that says who calls takes the place of the API key: its caller's company and grants hold, whatever the
// Authorization header says, and its errors are answered as the contract has it.
func TestCallerOfTheHost(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	event := d.newEvent(t, "PUBLISHED")
	caller := ticketing.TrustedCaller(d.company, ticketing.GrantEventRead)
	for _, test := range []struct {
		name   string
		caller ticketing.Caller
		err    error
		path   string
		status int
		code   ticketing.Code
	}{
		{name: "granted", caller: caller, path: "/events/" + event, status: http.StatusOK},
		{
			name: "not granted", caller: caller, path: "/events/" + event + "/inventory", status: http.StatusForbidden,
			code: ticketing.CodePermissionDenied,
		},
		{
			name: "nobody", path: "/events/" + event, status: http.StatusUnauthorized,
			code: ticketing.CodeAuthenticationFailed,
		},
		{
			name: "refused", err: &ticketing.Error{Code: ticketing.CodeAuthenticationFailed, Message: notUsable},
			path: "/events/" + event, status: http.StatusUnauthorized, code: ticketing.CodeAuthenticationFailed,
		},
		{
			name: "broken", err: errors.New("sessions: connection refused"), path: "/events/" + event,
			status: http.StatusInternalServerError, code: ticketing.CodeInternal,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			handler := newHandler(t, d.svc, &httpapi.Config{
				RateLimit: -1, Caller: func(*http.Request) (ticketing.Caller, error) { return test.caller, test.err },
			})
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x"+httpapi.DefaultPrefix+test.path, nil)
			is.NoErr(err)
			r.Header.Set("Authorization", "Bearer "+d.key)
			answered := answerTo(r, handler)
			is.Equal(answered.status, test.status)
			is.True(test.code == "" || strings.Contains(answered.body, `"code":"`+string(test.code)+`"`))
			is.True(!strings.Contains(answered.body, "connection refused"))
		})
	}
}
