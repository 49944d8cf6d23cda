package httpapi_test

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/browsertest"
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

// Over TLS, too, a request that net/http refuses itself gets the envelope, after a handshake with HTTP/1.1 alone. A
// client that speaks plain HTTP to the port gets it in plain HTTP, whatever it has sent.
func TestListenerOverTLS(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	authority := browsertest.NewAuthority(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	is.NoErr(err)
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}),
		DisableGeneralOptionsHandler: true, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() {
		_ = server.Serve(httpapi.Listener(tls.NewListener(listener, &tls.Config{
			Certificates: []tls.Certificate{authority.Certificate(t)}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"},
		})))
	}()
	t.Cleanup(func() { _ = server.Close() })
	secure := &tls.Dialer{Config: &tls.Config{
		RootCAs: authority.Pool(), ServerName: "localhost", NextProtos: []string{"h2", "http/1.1"},
	}}
	for _, test := range []struct {
		name, request string
		plain         bool
		status        int
		says          string
	}{
		{name: "well-formed", request: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", status: http.StatusNoContent},
		{name: "malformed escape", request: "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", says: "cannot be read"},
		{name: "no Host", request: "GET / HTTP/1.1\r\n\r\n", says: "cannot be read"},
		{name: "no HTTP", request: "hello\r\n\r\n", says: "cannot be read"},
		{
			name: "header too long", says: "header is too long",
			request: "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n",
		},
		{
			name: "plain HTTP", plain: true, says: "in plain HTTP, and this port speaks HTTPS alone",
			request: "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		},
		{
			name: "plain HTTP with a large body", plain: true, says: "in plain HTTP, and this port speaks HTTPS alone",
			request: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 204800\r\n\r\n" + strings.Repeat("a", 204800),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			dial := secure.DialContext
			if test.plain {
				dial = new(net.Dialer).DialContext
			}
			connection, err := dial(t.Context(), "tcp", listener.Addr().String())
			is.NoErr(err)
			defer connection.Close()
			is.NoErr(connection.SetDeadline(time.Now().Add(10 * time.Second)))
			if encrypted, ok := connection.(*tls.Conn); ok {
				is.Equal(encrypted.ConnectionState().NegotiatedProtocol, "http/1.1")
			}
			_, err = io.WriteString(connection, test.request)
			is.NoErr(err)
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			is.NoErr(err)
			a := read(t, response)
			is.Equal(a.status, cmp.Or(test.status, http.StatusBadRequest))
			if test.says != "" {
				is.True(strings.HasPrefix(a.body, `{"error":{"code":"INVALID_REQUEST","message":`))
				is.True(strings.Contains(a.body, test.says))
				is.Equal(len(a.header.Get("X-Request-Id")), 36)
				is.True(a.closes)
			}
		})
	}
}
