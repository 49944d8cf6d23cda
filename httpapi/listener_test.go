package httpapi_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// A request that net/http refuses before any handler sees it gets the envelope, too, and the connection ends.
func TestListenerAnswersWhatCannotBeReadWithTheEnvelope(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	body := regexp.MustCompile(`^\{"error":\{"code":"INVALID_REQUEST","message":"The request is invalid\.","details":` +
		`\{"violations":\[\{"message":"request: [^"]+"\}\]\}\},"meta":\{"requestId":"[0-9a-f-]{36}"\}\}$`)
	for _, test := range []struct {
		name    string
		request string
	}{
		{name: "malformed escape", request: "GET /api/public/v1/events/%zz HTTP/1.1\r\nHost: x\r\n\r\n"},
		{name: "no Host", request: "GET /api/public/v1/events HTTP/1.1\r\n\r\n"},
		{name: "unknown Expect", request: "GET /api/public/v1/events HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n"},
		{name: "no HTTP", request: "hello\r\n\r\n"},
		{name: "unknown version", request: "GET / HTTP/7.0\r\nHost: x\r\n\r\n"},
		{name: "header too long", request: "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n"},
		{name: "unknown transfer encoding", request: "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			a := d.raw(t, test.request)
			is.Equal(a.status, http.StatusBadRequest)
			is.True(body.MatchString(a.body))
			is.True(a.closes)
		})
	}
}
