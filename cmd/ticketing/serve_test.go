package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/contracttest"
)

const prefix = "/api/public/v1"

// serve starts a server that listens on a free port.
func (s *shell) serve(args ...string) (p *process, origin string) {
	s.t.Helper()
	p = s.start(append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	origin = p.listening()
	return p, origin
}

// The server serves health and metrics beside the API, without a key. The API answers for every other path.
func TestServerReportsItself(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.serve("--log-format", "json")
	for _, path := range []string{"/healthz", "/readyz"} {
		status, body := get(t, origin+path)
		is.Equal(status, http.StatusOK)
		is.Equal(body, "ok\n")
	}
	status, _ := send(t, http.MethodGet, origin+prefix+"/events/"+shop.eventID, shop.key, "", "")
	is.Equal(status, http.StatusOK)
	status, body := get(t, origin+prefix+"/events")
	is.Equal(status, http.StatusUnauthorized)
	is.True(strings.Contains(body, "AUTHENTICATION_FAILED"))
	for _, path := range []string{"/x", "/healthz/", "//healthz", "/metrics/x"} {
		status, body := get(t, origin+path)
		is.Equal(status, http.StatusNotFound)
		is.True(strings.Contains(body, `"code":"NOT_FOUND"`))
	}
	status, body = send(t, http.MethodPost, origin+"/healthz", "", "", "{}")
	is.Equal(status, http.StatusNotFound)
	is.True(strings.Contains(body, `"code":"NOT_FOUND"`))

	status, body = get(t, origin+"/metrics")
	is.Equal(status, http.StatusOK)
	for _, want := range []string{
		`ticketing_http_requests_total{code="",method="GET",route="/events/:eventId",status="200"} 1`,
		`ticketing_http_requests_total{code="AUTHENTICATION_FAILED",method="GET",route="/events",status="401"} 1`,
		`ticketing_http_requests_total{code="NOT_FOUND",method="",route="",status="404"} 5`,
		`ticketing_http_request_duration_seconds_count{class="2xx",method="GET",route="/events/:eventId"} 1`,
		"ticketing_build_info{", "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing in\n%s", want, body)
		}
	}
	is.True(!strings.Contains(body, shop.companyID))

	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	lines := strings.Split(strings.TrimSpace(p.errors()), "\n")
	is.True(regexp.MustCompile(`^listening on http://127\.0\.0\.1:[0-9]+$`).MatchString(lines[0]))
	for _, line := range lines[1:] {
		is.True(json.Valid([]byte(line))) // The remaining lines are log entries.
	}
	is.True(!strings.Contains(p.errors(), shop.key))
}

// A request that is not valid HTTP also gets the contract's error envelope.
func TestUnreadableRequest(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	_, origin := newShell(t).with("TICKETING_DATABASE", "memory:").serve()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(origin, "http://"))
	is.NoErr(err)
	defer func() { _ = connection.Close() }()
	is.NoErr(connection.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(connection, "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n")
	is.NoErr(err)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	is.NoErr(err)
	defer func() { is.NoErr(response.Body.Close()) }()
	contracttest.Hold(t.Error, new(http.Request), response)
	answer, err := io.ReadAll(response.Body)
	is.NoErr(err)
	is.Equal(response.StatusCode, http.StatusBadRequest)
	is.True(strings.Contains(string(answer), `"code":"INVALID_REQUEST"`))
}

// The flags take effect on the API.
func TestServeFlags(t *testing.T) {
	t.Parallel()
	leftOut(t)
	sh := newShell(t).with("TICKETING_DATABASE", "memory:")
	t.Run("rate limit", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		_, origin := sh.serve("--rate-limit", "2")
		statuses := []int{}
		for range 3 {
			status, _ := get(t, origin+prefix+"/events")
			statuses = append(statuses, status)
		}
		is.Equal(statuses, []int{401, 401, 429})
		status, _ := get(t, origin+"/healthz")
		is.Equal(status, http.StatusOK) // It is not a request to the API.
	})
	t.Run("no rate limit", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		_, origin := sh.serve("--rate-limit", "0", "--log-level", "error")
		for range 110 {
			status, _ := get(t, origin+prefix+"/events")
			is.Equal(status, http.StatusUnauthorized)
		}
	})
	t.Run("trusted proxies", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		_, origin := sh.serve("--rate-limit", "1", "--trusted-proxies", "127.0.0.1,10.0.0.0/8")
		for i := range 5 {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+prefix+"/events", http.NoBody)
			is.NoErr(err)
			request.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d, 10.0.0.1", i))
			response, err := wire(t).RoundTrip(request)
			is.NoErr(err)
			is.NoErr(response.Body.Close())
			is.Equal(response.StatusCode, http.StatusUnauthorized) // Each is a separate client.
		}
	})
	t.Run("webhook flags", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		p, _ := sh.serve("--webhook-allow-private")
		p.signal(syscall.SIGTERM)
		is.Equal(p.wait(), 0)
		is.True(strings.Contains(p.errors(), "--webhook-allow-private is for development only"))
	})
}

// Port 0 picks a free port. A taken port is reported with the flag that helps, before the database is touched.
func TestServeOnATakenPort(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer func() { is.NoErr(listener.Close()) }()
	sh := newShellWithoutFile(t)
	for _, command := range []string{"serve", "demo"} {
		did := sh.run(command, "--addr", listener.Addr().String())
		is.Equal(did.status, 1)
		is.True(strings.Contains(did.stderr, "choose another address with --addr"))
		code, _ := sh.refusal(command, "--addr", listener.Addr().String())
		is.Equal(code, "ADDRESS_IN_USE")
	}
	_, err = os.Stat(filepath.Join(sh.dir, "t.db"))
	is.True(os.IsNotExist(err))
}

// --no-migrate refuses tables that are not up to date, and serves those that are.
func TestServeWithoutMigrating(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newEmptyShell(t)
	did := sh.run("serve", "--addr", "127.0.0.1:0", "--no-migrate")
	is.Equal(did.status, 1)
	is.True(strings.Contains(did.stderr, `run "ticketing migrate"`))
	code, _ := sh.refusal("serve", "--addr", "127.0.0.1:0", "--no-migrate")
	is.Equal(code, "NOT_MIGRATED")
	left, err := os.ReadDir(sh.dir)
	is.NoErr(err)
	is.Equal(len(left), 0)
	is.Equal(sh.run("migrate").status, 0)
	p, _ := sh.serve("--no-migrate")
	p.signal(syscall.SIGINT)
	is.Equal(p.wait(), 0)
}

// half is a checkout whose body the server has not received.
type half struct {
	t          *testing.T
	connection net.Conn
	answers    *bufio.Reader
	request    *http.Request
	body       string
}

// begin sends a checkout without its body.
func (s shop) begin(t *testing.T, origin, idempotencyKey string) *half {
	t.Helper()
	is := is.New(t)
	address := strings.TrimPrefix(origin, "http://")
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	is.NoErr(err)
	t.Cleanup(func() { _ = connection.Close() })
	is.NoErr(connection.SetDeadline(time.Now().Add(patience)))
	body := s.checkout()
	_, err = fmt.Fprintf(connection, "POST %s/checkouts HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nIdempotency-Key: %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		prefix, address, s.key, idempotencyKey, len(body))
	is.NoErr(err)
	answers := bufio.NewReader(connection)
	line, err := answers.ReadString('\n')
	is.NoErr(err)
	is.True(strings.Contains(line, "100 Continue")) // The server waits for the body.
	_, err = answers.ReadString('\n')
	is.NoErr(err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+prefix+"/checkouts", http.NoBody)
	is.NoErr(err)
	return &half{t: t, connection: connection, answers: answers, request: request, body: body}
}

// finish sends the body and returns the status and the id of the order.
func (h *half) finish() (status int, orderID string) {
	h.t.Helper()
	is := is.New(h.t)
	_, err := io.WriteString(h.connection, h.body)
	is.NoErr(err)
	response, err := http.ReadResponse(h.answers, nil)
	is.NoErr(err)
	contracttest.Hold(h.t.Error, h.request, response)
	defer func() { _ = response.Body.Close() }()
	var answer struct{ Data struct{ ID string } }
	is.NoErr(json.NewDecoder(response.Body).Decode(&answer))
	return response.StatusCode, answer.Data.ID
}

// After SIGTERM the server accepts no new connection. The request in flight is answered and committed, and the exit
// status is 0.
func TestServerDrains(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.serve()
	inFlight := shop.begin(t, origin, "drain-0001")
	p.signal(syscall.SIGTERM)
	is.True(closes(t.Context(), strings.TrimPrefix(origin, "http://")))
	status, id := inFlight.finish()
	is.Equal(status, http.StatusCreated)
	is.Equal(p.wait(), 0)

	_, origin = sh.serve()
	_, err := shop.api(t, origin).GetOrder(t.Context(), uuid.MustParse(id))
	is.NoErr(err)
}

// A request that never arrives completely does not prevent a clean end of the server. It does no harm to a request that
// does arrive.
func TestServerDrainsDespiteASlowClient(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.serve()
	slow, whole := shop.begin(t, origin, "slow-0001"), shop.begin(t, origin, "whole-0001")
	_, err := io.WriteString(slow.connection, slow.body[:1])
	is.NoErr(err)
	// Its key is refused before its body is read.
	address := strings.TrimPrefix(origin, "http://")
	refused, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	is.NoErr(err)
	defer func() { _ = refused.Close() }()
	_, err = fmt.Fprintf(refused, "POST %s/checkouts HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{", prefix, address, "svc_live.unknown")
	is.NoErr(err)
	begun := time.Now()
	p.signal(syscall.SIGTERM)
	status, _ := whole.finish()
	is.Equal(status, http.StatusCreated)
	is.Equal(p.wait(), 0)
	is.True(time.Since(begun) < 15*time.Second) // Less than a drain would wait for requests in flight.
}

// Signals within one second count as one, such as those that timeout(1) sends to a process and its group. The same
// holds if the command returns in between, or the second signal would cut off its report.
func TestSignalsThatComeTogether(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]bool{"during the command": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				ctx, cancel := context.WithCancel(t.Context())
				var ended atomic.Bool
				onReturn := program.EndAtNext(ctx, func() { ended.Store(true) })
				time.Sleep(time.Hour)
				cancel()
				if returns {
					onReturn()
				}
				time.Sleep(time.Second - time.Nanosecond)
				synctest.Wait()
				is.True(!ended.Load())
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				is.True(ended.Load())
			})
		})
	}
}

// After a command that no signal has ended, signals do what they do by default.
func TestSignalAfterTheCommand(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ended := false
	program.EndAtNext(t.Context(), func() { ended = true })()
	is.True(ended)
}

// A second signal ends the process, whatever is in flight, unless it arrives within a second of the first.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.serve()
	shop.begin(t, origin, "signal-0001")
	ended := make(chan int, 1)
	go func() { ended <- p.wait() }()
	for {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // The first may still be on its way.
		select {
		case status := <-ended:
			is.Equal(status, -1)                              // The signal ended it.
			is.True(!strings.Contains(p.errors(), "stopped")) // It did not drain.
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// The server ends with the context of its run, as on a signal.
func TestServerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	is.Equal(sh.runWith(ctx, "serve", "--addr", "127.0.0.1:0").status, 0)
}

// Commands and a server can use one database: the effect of a command applies to the next request.
func TestCommandsNextToAServer(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	_, origin := sh.serve()
	events := func() error {
		_, err := shop.api(t, origin).ListEvents(t.Context(), ticketing.EventFilter{})
		return err
	}
	is.NoErr(events())
	old, next := shop.key, sh.object("key", "rotate", strings.Split(shop.key, ".")[1])["key"].(string)
	shop.key = next
	is.NoErr(events())
	sh.object("key", "revoke", strings.Split(old, ".")[1])
	shop.key = old
	is.True(errors.Is(events(), ticketing.CodeAuthenticationFailed))

	shop.key = next
	buy := func(idempotencyKey string) error {
		_, err := shop.api(t, origin).Checkout(t.Context(), idempotencyKey, shop.basket())
		return err
	}
	is.NoErr(buy("beside-0001"))
	sh.object("kyb", "revoke", shop.companyID)
	is.True(errors.Is(buy("beside-0002"), ticketing.CodeVerificationRequired))
	sh.object("kyb", "approve", shop.companyID)
	sh.object("wallet", "suspend", shop.companyID, "--wallet", "FLOAT")
	is.True(errors.Is(buy("beside-0002"), ticketing.CodeCheckoutUnavailable))
	sh.object("wallet", "activate", shop.companyID, "--wallet", "FLOAT")
	is.NoErr(buy("beside-0002"))
	sh.object("company", "suspend", shop.companyID)
	is.True(errors.Is(events(), ticketing.CodeAuthenticationFailed))
	is.Equal(sh.object("ledger", "verify")["ok"], true)
}

// Stopping and starting again loses nothing.
func TestRestartKeepsEverything(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	all := func(origin string) []string {
		t.Helper()
		bodies := []string{}
		for _, path := range []string{"/events", "/events/" + shop.eventID + "/inventory", "/orders"} {
			status, body := send(t, http.MethodGet, origin+prefix+path, shop.key, "", "")
			is.Equal(status, http.StatusOK)
			data, _, _ := strings.Cut(body, `,"meta":`)
			bodies = append(bodies, data)
		}
		status, body := send(t, http.MethodPost, origin+prefix+"/checkouts", shop.key, "restart-0001", shop.checkout())
		is.Equal(status, http.StatusCreated)
		data, _, _ := strings.Cut(body, `,"meta":`)
		return append(bodies, data)
	}
	p, origin := sh.serve()
	all(origin)
	before := all(origin)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	_, origin = sh.serve()
	is.Equal(all(origin), before)
}

// /readyz is 200 only while the database works. /healthz remains 200.
func TestReadinessFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	_, origin := sh.serve()
	status, _ := get(t, origin+"/readyz")
	is.Equal(status, http.StatusOK)
	// Another program breaks the tables.
	sh.sql("ALTER TABLE ticketing_secrets RENAME TO elsewhere")
	status, body := get(t, origin+"/readyz")
	is.Equal(status, http.StatusServiceUnavailable)
	is.Equal(body, "unavailable\n")
	status, _ = get(t, origin+"/healthz")
	is.Equal(status, http.StatusOK)
	sh.sql("ALTER TABLE elsewhere RENAME TO ticketing_secrets")
	status, _ = get(t, origin+"/readyz")
	is.Equal(status, http.StatusOK)
}

// closes waits until nobody listens at an address, and reports whether that happened within patience.
func closes(ctx context.Context, address string) bool {
	for begun := time.Now(); time.Since(begun) < patience; {
		other, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return true
		}
		_ = other.Close()
	}
	return false
}
