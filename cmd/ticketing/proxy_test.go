package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/internal/race"
)

const proxyKey = "svc_live.0d7d1cfb-3a5e-4d55-8a6c-2f4f3a1b9c77.c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"

// checkProxy runs "proxy check" of a proxy that starts when the upstream listens, as one that needs it at its start.
func checkProxy(
	t *testing.T, dir string, proxy func(upstream string) http.Handler, args ...string,
) (did outcome, upstream string) {
	t.Helper()
	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	stderr, written := io.Pipe()
	var stdout bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		defer written.Close()
		env := map[string]string{"TICKETING_DATABASE": "sqlite:" + dir + "/none.db"}
		ended <- program.Run(t.Context(), append([]string{
			"proxy", "check", "--listen", "127.0.0.1:0", "--proxy", "http://" + listener.Addr().String() + "/tickets",
			"--header", "Cookie: session=7f3c0d9e",
		}, args...), func(name string) string { return env[name] }, strings.NewReader(""), &stdout, written)
	}()
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	must(t, err)
	_, address, _ := strings.Cut(first, "http://")
	upstream = "http://" + strings.TrimRight(address, "\"}\n")
	server := httptest.NewUnstartedServer(proxy(upstream))
	must(t, server.Listener.Close())
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	rest, err := io.ReadAll(lines)
	must(t, err)
	return outcome{status: <-ended, stdout: stdout.String(), stderr: first + string(rest)}, upstream
}

// A proxy that observes the contract passes: status 0, a line for each check, and no database.
func TestProxyCheck(t *testing.T) {
	t.Parallel()
	race.Leave(t, "requests that are sent one after the other")
	right := func(upstream string) http.Handler {
		api, err := embedproxy.Remote(t.Context(), upstream, proxyKey, nil)
		must(t, err)
		proxy, err := embedproxy.New(api, &embedproxy.Config{
			Session: func(r *http.Request) (string, error) {
				cookie, err := r.Cookie("session")
				if err != nil || cookie.Value != "7f3c0d9e" {
					return "", embedproxy.ErrNoSession
				}
				return cookie.Value, nil
			},
			MayBuy: embedproxy.AnyoneMayBuy, RequestsPerMinute: -1, CheckoutsPerMinute: -1,
		})
		must(t, err)
		return proxy
	}
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		dir := t.TempDir()
		did, upstream := checkProxy(t, dir, right)
		is.Equal(did.status, 0)
		is.True(strings.HasPrefix(did.stderr, "the proxy is to call "+upstream+"\n"))
		is.True(strings.HasSuffix(upstream, "/api/public/v1"))
		is.True(strings.Contains(did.stdout, "\nRule 7\n"))
		is.True(strings.Contains(did.stdout, "\n  ok       money of another format is rejected\n"))
		is.True(strings.Contains(did.stdout, " passed, 0 failed, "))
		expectColumns(t, did.stdout)
		left, err := os.ReadDir(dir)
		is.NoErr(err)
		is.Equal(len(left), 0)
	})
	t.Run("JSON", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		did, upstream := checkProxy(t, t.TempDir(), right, "--json")
		is.Equal(did.status, 0)
		is.Equal(did.stderr, `{"upstream":"`+upstream+`"}`+"\n")
		var report struct {
			OK     bool
			Checks []struct{ Rule, Name, Status, Got string }
		}
		decodeJSON(t, did.stdout, &report)
		is.True(report.OK)
		is.True(len(report.Checks) > 50)
		is.Equal(report.Checks[0].Rule, "operations")
		is.Equal(report.Checks[0].Status, "PASSED")
	})
}

// A proxy that breaks rules fails with their numbers, and status 1. The lines fit a terminal, and have no key.
func TestProxyCheckFails(t *testing.T) {
	t.Parallel()
	race.Leave(t, "requests that are sent one after the other")
	broken := func(upstream string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			call, err := http.NewRequestWithContext(r.Context(), http.MethodGet, upstream+"/events", nil)
			if err != nil {
				return
			}
			call.Header.Set("Authorization", "Bearer "+proxyKey)
			response, err := http.DefaultClient.Do(call)
			if err != nil {
				return
			}
			defer response.Body.Close()
			w.Header().Set("X-Debug", proxyKey)
			_, _ = io.Copy(w, response.Body)
		})
	}
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		did, _ := checkProxy(t, t.TempDir(), broken)
		is.Equal(did.status, 1)
		is.True(strings.Contains(did.stdout, "\n  FAILED   the API key is in no answer\n"))
		is.True(strings.Contains(did.stderr, "ticketing: the proxy breaks the contract: "))
		is.True(!strings.Contains(did.stdout+did.stderr, proxyKey))
		expectColumns(t, did.stdout)
	})
	t.Run("JSON", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		did, _ := checkProxy(t, t.TempDir(), broken, "--json")
		is.Equal(did.status, 1)
		var report struct {
			OK     bool
			Checks []struct{ Rule, Status, Got string }
		}
		decodeJSON(t, did.stdout, &report)
		is.True(!report.OK)
		failed := map[string]bool{}
		for _, check := range report.Checks {
			if check.Status == "FAILED" {
				failed[check.Rule] = true
				is.True(check.Got != "")
			}
		}
		for _, rule := range []string{"operations", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"} {
			is.True(failed[rule])
		}
		_, last, _ := strings.Cut(did.stderr, "\n")
		code, _ := refused(t, last)
		is.Equal(code, "PROXY_NOT_CONFORMANT")
		is.True(json.Valid([]byte(did.stdout)))
	})
}

// expectColumns fails the test if a line is wider than a terminal.
func expectColumns(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
		}
	}
}

// An address that another program has, and a session that the proxy refuses, are errors that say what to do.
func TestProxyCheckRefused(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := &shell{t: t, dir: t.TempDir(), env: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	code, message := sh.refusal("proxy", "check", "--proxy", server.URL, "--listen", server.Listener.Addr().String())
	is.Equal(code, "ADDRESS_IN_USE")
	is.True(strings.Contains(message, "--listen"))
	did := sh.run("proxy", "check", "--proxy", server.URL, "--listen", "127.0.0.1:0")
	is.Equal(did.status, 1)
	is.Equal(did.stdout, "")
	is.True(strings.Contains(did.stderr, "ticketing: the proxy refused the session (401): give the header of a valid one"))
}

// Ctrl-C ends the command while it waits for the proxy.
func TestProxyCheckInterrupted(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	stderr, written := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		defer written.Close()
		ended <- program.Run(ctx, []string{
			"proxy", "check", "--proxy", "http://127.0.0.1:1/", "--listen", "127.0.0.1:0", "--wait", "10m",
		}, func(string) string { return "" }, strings.NewReader(""), io.Discard, written)
	}()
	lines := bufio.NewScanner(stderr)
	var last string
	for lines.Scan() {
		if last = lines.Text(); strings.HasPrefix(last, "waiting for the proxy") {
			cancel()
		}
	}
	cancel()
	is.Equal(<-ended, 1)
	is.Equal(last, "ticketing: interrupted")
}
