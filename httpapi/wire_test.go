package httpapi_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
)

// newServer starts a server set up as the package documentation says. It ends with the test. Then every answer that
// went over its wire is checked against the document.
func newServer(tb testing.TB, svc *ticketing.Service, config *httpapi.Config) *httptest.Server {
	tb.Helper()
	return new(wire).serve(tb, svc, config)
}

// wire is a listener that records what goes over its connections: answers of handlers, and those of net/http itself.
type wire struct {
	net.Listener
	prefix  string
	invents bool // The store returns errors that no rule gives, which no document has.

	mu          sync.Mutex
	connections []*connection
}

func (w *wire) serve(tb testing.TB, svc *ticketing.Service, config *httpapi.Config) *httptest.Server {
	tb.Helper()
	server := httptest.NewUnstartedServer(httpapi.New(svc, config))
	w.Listener, w.prefix = server.Listener, contracttest.PrefixOf(config)
	server.Listener = httpapi.Listener(w)
	server.Config.MaxHeaderBytes = 32 << 10
	server.Config.DisableGeneralOptionsHandler = true
	server.Start()
	tb.Cleanup(func() {
		server.Close()
		for _, c := range w.connections {
			if err := w.hold(c); err != nil {
				tb.Error(err)
			}
		}
	})
	return server
}

func (w *wire) Accept() (net.Conn, error) {
	conn, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connections = append(w.connections, c)
	return c, nil
}

// connection is a connection of a wire, and what went over it.
type connection struct {
	net.Conn

	mu       sync.Mutex
	asked    bytes.Buffer
	answered bytes.Buffer
	gone     bool // The client went away: the last answer may be cut off.
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked.Write(p[:n])
	return n, err
}

func (c *connection) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered.Write(p[:n])
	c.gone = c.gone || err != nil
	return n, err
}

// CloseWrite lets a client that is still sending read the server's answer.
func (c *connection) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// hold checks each answer of a connection against the document, together with its request, up to the first wrong one.
func (w *wire) hold(c *connection) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, answered := bufio.NewReader(&c.asked), bufio.NewReader(&c.answered)
	for {
		r, err := http.ReadRequest(asked)
		if err == nil {
			_, _ = io.Copy(io.Discard, r.Body) // The server may have read less of it.
		} else {
			r = new(http.Request) // The request is unknown.
		}
		a, err := readAnswer(answered, r)
		if errors.Is(err, io.EOF) || c.gone && errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err == nil {
			err = contracttest.Held(w.prefix, r, a, !w.invents)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w\n%v", r.Method, r.RequestURI, err, a)
		}
	}
}

// readAnswer reads the next answer of a connection: [io.EOF] if there is none, [io.ErrUnexpectedEOF] if it is cut off.
func readAnswer(answered *bufio.Reader, r *http.Request) (contracttest.Answer, error) {
	if _, err := answered.Peek(1); err != nil {
		return contracttest.Answer{}, err
	}
	response, err := http.ReadResponse(answered, r)
	if err != nil {
		return contracttest.Answer{}, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusContinue {
		return readAnswer(answered, r) // the one that follows
	}
	body, err := io.ReadAll(response.Body)
	a := contracttest.Answer{Status: response.StatusCode, Header: response.Header, Body: string(body)}
	if err == nil {
		err = a.Measured(r.Method)
	}
	return a, err
}

// newHandler returns a handler whose every answer is checked against the document, without a network. Benchmarks get
// the bare handler, since they must not measure the check.
func newHandler(tb testing.TB, svc *ticketing.Service, config *httpapi.Config) http.Handler {
	tb.Helper()
	if _, measured := tb.(*testing.B); measured {
		return httpapi.New(svc, config)
	}
	return contracttest.New(tb.Error, svc, config)
}

// statusOf returns the status of a handler's answer.
func statusOf(handler http.Handler, r *http.Request) int { return answerTo(r, handler).status }

// served returns a handler's answer, checked against the document.
func served(tb testing.TB, handler http.Handler, prefix string, r *http.Request) answer {
	tb.Helper()
	a := answerTo(r, handler)
	if err := contracttest.Held(prefix, r, a.sent(), true); err != nil {
		tb.Errorf("%s %s: %v\n%v", r.Method, r.RequestURI, err, a)
	}
	return a
}

func answerTo(r *http.Request, handler http.Handler) answer {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	a := answer{status: w.Code, header: w.Result().Header, body: w.Body.String()}
	if r.Method == http.MethodHead {
		a.body = "" // net/http leaves it out.
	}
	return a
}

// The wire must find a wrong answer, wherever on a connection it is, and know which request it belongs to.
func TestWireFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	const (
		id   = "X-Request-Id: r\r\n"
		head = "Content-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n" +
			"X-Content-Type-Options: nosniff\r\n" + id
		empty  = `{"data":[],"meta":{"requestId":"r"}}`
		away   = `{"error":{"code":"NOT_FOUND","message":"x"},"meta":{"requestId":"r"}}`
		prefix = "/v1"
	)
	told := func(status, head, body string) string {
		return "HTTP/1.1 " + status + "\r\n" + head + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	asked := func(line, body string) string {
		return line + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	tiers, nowhere := asked("GET /v1/events/"+someID+"/inventory", ""), asked("POST /v1/nowhere", "{}")
	good, lost := told("200 OK", head, empty), told("404 Not Found", head, away)
	for _, test := range []struct {
		name            string
		asked, answered string
		gone, right     bool
	}{
		{name: "nothing", right: true},
		{name: "no answer", asked: tiers, right: true},
		{name: "one", asked: tiers, answered: good, right: true},
		{name: "many", asked: tiers + nowhere + tiers, answered: good + lost + good, right: true},
		{name: "the last is another's", asked: tiers + nowhere + nowhere, answered: good + lost + good},
		{name: "to whom nobody asked", asked: nowhere, answered: lost + good},
		{name: "after a body that was not read", asked: nowhere[:len(nowhere)-1], answered: lost, right: true},
		{name: "after what cannot be read", asked: "hello\r\n\r\n", answered: lost, right: true},
		{name: "a success to what cannot be read", asked: "hello\r\n\r\n", answered: good},
		{name: "after an interim one", asked: nowhere, answered: "HTTP/1.1 100 Continue\r\n\r\n" + lost, right: true},
		{name: "no interim one", asked: nowhere, answered: "HTTP/1.1 103 Early Hints\r\n\r\n" + lost},
		{name: "cut off", asked: tiers, answered: good[:len(good)-1]},
		{name: "cut off in its head", asked: tiers, answered: good[:20]},
		{name: "cut off by the client", asked: tiers, answered: good[:len(good)-1], gone: true, right: true},
		{name: "no answer at all", asked: tiers, answered: "hello\r\n\r\n", gone: true},
		{name: "longer than it says", asked: tiers, answered: good + "}"},
		{name: "without a length", asked: tiers, answered: strings.Replace(good, "Content-Length", "X-Length", 1)},
		{
			name: "in chunks", asked: tiers,
			answered: "HTTP/1.1 404 Not Found\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		},
		{
			name: "to HEAD", asked: strings.Replace(tiers, "GET", "HEAD", 1), answered: strings.TrimSuffix(good, empty),
			right: true,
		},
		{name: "a header twice", asked: tiers, answered: told("200 OK", head+id, empty)},
		{name: "a new header", asked: tiers, answered: told("200 OK", head+"X-New: 1\r\n", empty)},
		{name: "a new header of nothing", asked: nowhere, answered: told("404 Not Found", head+"X-New: 1\r\n", away)},
		{name: "another type", asked: tiers, answered: strings.Replace(good, "; charset=utf-8", "", 1)},
		{name: "a challenge", asked: nowhere, answered: told("404 Not Found", head+"WWW-Authenticate: Bearer\r\n", away)},
		{
			name: "no challenge", asked: tiers,
			answered: told("401 Unauthorized", head, strings.Replace(away, "NOT_FOUND", "AUTHENTICATION_FAILED", 1)),
		},
		{name: "another id", asked: tiers, answered: strings.Replace(good, `"r"`, `"s"`, 1)},
		{name: "a refusal that is a success", asked: nowhere, answered: told("404 Not Found", head, empty)},
		{name: "another member", asked: tiers, answered: told("200 OK", head, strings.Replace(empty, `[]`, `[{}]`, 1))},
		{name: "no document", asked: asked("GET /v1/guide", ""), answered: good},
		{name: "no guide", asked: asked("GET /v1/guide", ""), answered: lost, right: true},
		{
			name: "a status of its own", asked: asked("DELETE /v1/nowhere", ""),
			answered: told("405 Method Not Allowed", head, away),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := &connection{gone: test.gone}
			c.asked.WriteString(test.asked)
			c.answered.WriteString(test.answered)
			err := (&wire{prefix: prefix}).hold(c)
			if (err == nil) != test.right {
				t.Error(err)
			}
		})
	}
}

// No test bypasses the document, in any package: contracttest makes the handlers of the API, and checks their answers
// against it. The exceptions are the handlers of this wire and of benchmarks, those of examples, one that panics, and
// those of tests that check or measure each answer themselves.
func TestEveryAnswerIsHeldAgainstTheDocument(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	made := make(map[string]int)
	tree := os.DirFS("..")
	is.NoErr(fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir // no package
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		if n := strings.Count(string(text), "httpapi.New"+"(") + strings.Count(string(text), ".Config"+".Handler"); n > 0 {
			made[path] = n
		}
		return err
	}))
	is.Equal(made, map[string]int{
		"httpapi/wire_test.go": 2, "httpapi/example_test.go": 2, "httpapi/exchange_test.go": 1,
		"httpapi/document_test.go": 1, "httpapi/fuzz_test.go": 1, "httpapi/harness_test.go": 1,
		"httpapi/openapi_probe_test.go": 1,
		"httpapi/crowd_test.go":         1,
		"embedproxy/bench_test.go":      1, "embedproxy/example_test.go": 1, "examples/readme_test.go": 1,
		"examples/library_test.go": 1,
		"examples/embed_test.go":   1,
		// These serve a console.
		"console/audit_export_test.go": 2, "console/page_branding_mail_test.go": 1, "console/download_test.go": 1,
		"console/live_test.go": 1, "console/passkey_test.go": 1, "console/arrival_browser_test.go": 6,
	})
}
