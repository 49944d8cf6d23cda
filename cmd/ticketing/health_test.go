package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"
)

// operator returns the origin at which a running server serves health and metrics.
func (p *process) operator() string {
	p.t.Helper()
	found := regexp.MustCompile(`(?m)^health and metrics on (http://127\.0\.0\.1:[0-9]+)$`).FindStringSubmatch(p.errors())
	if found == nil {
		p.t.Fatalf("health and metrics are nowhere:\n%s", p.errors())
	}
	return found[1]
}

// dial opens a connection that is closed at the end of the test.
func dial(t *testing.T, origin string) net.Conn {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(origin, "http://"))
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	must(t, connection.SetDeadline(time.Now().Add(patience)))
	return connection
}

// ask sends a GET request with the unmodified target on a connection.
func ask(t *testing.T, connection net.Conn, target string) {
	t.Helper()
	_, err := fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: tickets.example\r\n\r\n", target)
	must(t, err)
}

// answered reads the response to a GET on a connection.
func answered(t *testing.T, connection net.Conn) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	must(t, err)
	response, err := http.ReadResponse(bufio.NewReader(connection), request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(text)
}

// Health and metrics are served only at their exact paths, and at no other spelling of them: a proxy that hides them
// from the public compares paths.
func TestHealthIsAtItsExactPathsAlone(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	_, origin := newShell(t).with("TICKETING_DATABASE", "memory:").serve()
	for _, target := range []string{
		"/%6detrics", "/%72eadyz", "/%68ealthz", "/metric%73", "//metrics", "/metrics/", "/./metrics", "/x/../metrics",
		"/%2e/metrics", "/Metrics", "/metrics%20", "/metrics;x", "/metrics%3f", "http://tickets.example/metrics",
		"http://tickets.example/readyz",
	} {
		connection := dial(t, origin)
		ask(t, connection, target)
		status, body := answered(t, connection)
		if status != http.StatusNotFound || !strings.Contains(body, `"code":"NOT_FOUND"`) {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	for _, target := range []string{"/healthz", "/readyz", "/metrics", "/metrics?name%5B%5D=go_goroutines"} {
		connection := dial(t, origin)
		ask(t, connection, target)
		status, _ := answered(t, connection)
		is.Equal(status, http.StatusOK)
	}
}

// With --operator-addr, health and metrics are served on a separate listener only. While the server drains, the process
// is alive and not ready.
func TestOperatorListener(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.serve("--operator-addr", "127.0.0.1:0")
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		status, body := get(t, origin+path)
		is.Equal(status, http.StatusNotFound)
		is.True(strings.Contains(body, `"code":"NOT_FOUND"`))
		connection := dial(t, p.operator())
		ask(t, connection, path)
		status, _ = answered(t, connection)
		is.Equal(status, http.StatusOK)
	}
	for _, target := range []string{prefix + "/events", "/", "/%6detrics"} {
		connection := dial(t, p.operator())
		ask(t, connection, target)
		status, body := answered(t, connection)
		is.Equal(status, http.StatusNotFound)
		is.Equal(body, "404 page not found\n")
	}

	inFlight := shop.begin(t, origin, "drain-0001")
	p.signal(syscall.SIGTERM)
	is.True(closes(t.Context(), strings.TrimPrefix(origin, "http://")))
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		connection := dial(t, p.operator())
		ask(t, connection, path)
		status, _ := answered(t, connection)
		is.Equal(status, want)
	}
	status, _ := inFlight.finish()
	is.Equal(status, http.StatusCreated)
	is.Equal(p.wait(), 0)
}

// A taken or malformed address of --operator-addr is refused, with the name of the flag, before the database is
// touched.
func TestOperatorListenerOnATakenPort(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer func() { is.NoErr(listener.Close()) }()
	sh := newShell(t).with("TICKETING_DATABASE", "")
	sh = sh.with("TICKETING_DATABASE", "sqlite:"+filepath.Join(sh.dir, "untouched.db"))
	code, message := sh.refusal("serve", "--addr", "127.0.0.1:0", "--operator-addr", listener.Addr().String())
	is.Equal(code, "ADDRESS_IN_USE")
	is.True(strings.Contains(message, "choose another address with --operator-addr"))
	code, message = sh.refusal("serve", "--addr", "127.0.0.1:0", "--operator-addr", "9090")
	is.Equal(code, "INVALID_REQUEST")
	is.True(strings.Contains(message, "--operator-addr: must be HOST:PORT"))
	_, err = os.Stat(filepath.Join(sh.dir, "untouched.db"))
	is.True(os.IsNotExist(err))
}
