package httpapi_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store/memory"
)

// What net/http refuses before any handler sees it is answered with the envelope, too, and the connection ends.
func TestListenerAnswersWhatCannotBeReadWithTheEnvelope(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	svc, err := ticketing.New(memory.New(), nil)
	is.NoErr(err)
	server := httptest.NewUnstartedServer(httpapi.New(svc, nil))
	server.Listener = httpapi.Listener(server.Listener)
	server.Config.MaxHeaderBytes = 4096
	server.Start()
	t.Cleanup(server.Close)
	body := regexp.MustCompile(`^\{"error":\{"code":"INVALID_REQUEST","message":"The request is invalid\.","details":` +
		`\{"violations":\[\{"message":"request: [^"]+"\}\]\}\},"meta":\{"requestId":"([0-9a-f-]{36})"\}\}$`)
	for _, test := range []struct {
		name    string
		request string
	}{
		{name: "malformed escape", request: "GET /api/public/v1/events/%zz HTTP/1.1\r\nHost: x\r\n\r\n"},
		{name: "no Host", request: "GET /api/public/v1/events HTTP/1.1\r\n\r\n"},
		{name: "unknown Expect", request: "GET /api/public/v1/events HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n"},
		{name: "no HTTP", request: "hello\r\n\r\n"},
		{name: "unknown version", request: "GET / HTTP/7.0\r\nHost: x\r\n\r\n"},
		{name: "header too long", request: "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 16384) + "\r\n\r\n"},
		{name: "unknown transfer encoding", request: "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			client, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			is.NoErr(err)
			defer client.Close()
			_, err = io.WriteString(client, test.request)
			is.NoErr(err)
			answer, err := http.ReadResponse(bufio.NewReader(client), nil)
			is.NoErr(err)
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			is.NoErr(err)
			is.Equal(answer.StatusCode, http.StatusBadRequest)
			is.Equal(answer.Header.Get("Content-Type"), "application/json; charset=utf-8")
			is.Equal(answer.Header.Get("Cache-Control"), "no-store")
			found := body.FindStringSubmatch(string(text))
			is.True(found != nil)
			answerOf(answer, text).documented(t, "", "") // Of no operation: nobody could tell which.
			is.Equal(found[1], answer.Header.Get("X-Request-Id"))
			is.True(answer.Close)
		})
	}
}
