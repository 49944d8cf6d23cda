package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	goclient "github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
)

// The contract holds on PostgreSQL as in memory. The document and the pages are the same on both, and so are the many
// requests that are refused before a store is asked for more than the key.
func TestOnPostgres(t *testing.T) {
	t.Parallel()
	only := ""
	if race.Enabled { // Calls that one client makes one after the other have run in memory.
		only = "Crowd|Concurrency|Slow|GoesAway"
	}
	testdb.Again(t, only, "^(Example|Fuzz|TestOpenAPI|TestBrowser|TestBodyMembers|TestViolationsOfTheDocument)")
}

// deployment is a server of the API over the chosen store, with one company that is ready to sell.
type deployment struct {
	svc     *ticketing.Service
	staff   ticketing.Operator
	server  *httptest.Server
	company uuid.UUID
	key     string // with all grants
	log     *logBook
	wire    *wire

	mu      sync.Mutex
	clients map[[2]string]*goclient.Client // by address and key
}

// deploy starts a server that ends with the test. Without a config there is no rate limit.
func deploy(tb testing.TB, config *httpapi.Config) *deployment {
	tb.Helper()
	return deployOn(tb, testdb.Chosen(tb), config)
}

func deployOn(tb testing.TB, store driver.Store, config *httpapi.Config) *deployment {
	tb.Helper()
	is := is.New(tb)
	at := &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), step: time.Millisecond}
	svc, err := ticketing.New(store, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: at.now,
	})
	is.NoErr(err)
	d := &deployment{svc: svc, staff: svc.As(ticketing.Staff("test")), log: &logBook{}, wire: &wire{}}
	c := httpapi.Config{RateLimit: -1}
	if config != nil {
		c = *config
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewJSONHandler(d.log, nil))
	}
	d.server = d.wire.serve(tb, svc, &c)
	d.company = d.newCompany(tb)
	d.key = d.issue(tb, d.company, ticketing.AllGrants()...)
	return d
}

// newCompany creates a verified company with 1,000,000.00 of FLOAT and a commission of 250 basis points.
func (d *deployment) newCompany(tb testing.TB) uuid.UUID {
	tb.Helper()
	is := is.New(tb)
	ctx := tb.Context()
	company, err := d.staff.CreateCompany(ctx, "Lagos Live")
	is.NoErr(err)
	_, err = d.staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{})
	is.NoErr(err)
	rate, err := money.ParseRate("250", money.BasisPoints)
	is.NoErr(err)
	_, err = d.staff.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate})
	is.NoErr(err)
	_, err = d.staff.CreditFloat(ctx, company.ID, "funding-1", 100_000_000)
	is.NoErr(err)
	return company.ID
}

func (d *deployment) issue(tb testing.TB, company uuid.UUID, grants ...ticketing.Grant) string {
	tb.Helper()
	issued, err := d.staff.IssueAPIKey(tb.Context(), company, "test", grants)
	is.New(tb).NoErr(err)
	return issued.Key
}

func (d *deployment) revoke(tb testing.TB, key string) {
	tb.Helper()
	is := is.New(tb)
	keyID, err := ticketing.ParseID(strings.Split(key, ".")[1])
	is.NoErr(err)
	_, err = d.staff.RevokeAPIKey(tb.Context(), keyID)
	is.NoErr(err)
}

// api returns the Go client with the deployment's key. It retries nothing: a test sees every failure.
func (d *deployment) api(tb testing.TB) *goclient.Client {
	tb.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	to := [2]string{d.server.URL + httpapi.DefaultPrefix, d.key}
	if d.clients[to] == nil {
		api, err := goclient.New(to[0], to[1], &goclient.Config{Attempts: 1})
		is.New(tb).NoErr(err)
		if d.clients == nil {
			d.clients = make(map[[2]string]*goclient.Client)
		}
		d.clients[to] = api
	}
	return d.clients[to]
}

// handler returns the API for a test that serves it itself, under the default prefix. Its answers do not go through a
// wire, so they are checked against the document here.
func (d *deployment) handler(tb testing.TB) http.Handler {
	tb.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := served(tb, d.server.Config.Handler, httpapi.DefaultPrefix, r)
		maps.Copy(w.Header(), a.header)
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	})
}

// headers are the headers of a request besides Authorization; a name may be repeated.
type headers [][2]string

// keyed returns an Idempotency-Key header.
func keyed(key string) headers { return headers{{"Idempotency-Key", key}} }

// call sends one request. The path is sent unchanged, relative to the base URL; an empty key sends no Authorization. A
// body is sent as application/json unless the headers name a Content-Type.
func (d *deployment) call(tb testing.TB, method, path, key string, with headers, body string) answer {
	tb.Helper()
	target, err := url.Parse(d.server.URL)
	is.New(tb).NoErr(err)
	target.Opaque = httpapi.DefaultPrefix + path
	if at := strings.IndexByte(target.Opaque, '?'); at >= 0 {
		target.Opaque, target.RawQuery = target.Opaque[:at], target.Opaque[at+1:]
	}
	r := (&http.Request{Method: method, URL: target, Header: http.Header{}}).WithContext(tb.Context())
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", "application/json")
	}
	for i, h := range with {
		if first := slices.IndexFunc(with, func(o [2]string) bool { return o[0] == h[0] }); first == i {
			r.Header.Del(h[0])
		}
		if h[1] != "-" { // "-" removes the header
			r.Header.Add(h[0], h[1])
		}
	}
	response, err := client.Do(r)
	is.New(tb).NoErr(err)
	return read(tb, response)
}

var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// raw sends bytes that no client library would send.
func (d *deployment) raw(tb testing.TB, text string) answer {
	tb.Helper()
	is := is.New(tb)
	conn, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", d.server.Listener.Addr().String())
	is.NoErr(err)
	defer conn.Close()
	is.NoErr(conn.SetDeadline(time.Now().Add(10 * time.Second)))
	_, err = io.WriteString(conn, text)
	is.NoErr(err)
	method, _, _ := strings.Cut(text, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	is.NoErr(err)
	return read(tb, response)
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   string
	closes bool // the connection
}

// String shows an answer in the message of a failed test.
func (a answer) String() string { return a.sent().String() }

// sent returns the answer in the form that is checked against the document.
func (a answer) sent() contracttest.Answer {
	return contracttest.Answer{Status: a.status, Header: a.header, Body: a.body}
}

// read reads an answer. What holds for every answer is checked where it goes over the wire.
func read(tb testing.TB, response *http.Response) answer {
	tb.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	is.New(tb).NoErr(err)
	return answer{status: response.StatusCode, header: response.Header, body: string(body), closes: response.Close}
}

// code returns the code of a refusal, and "" for a success.
func (a answer) code() ticketing.Code {
	var envelope struct{ Error struct{ Code ticketing.Code } }
	_ = json.Unmarshal([]byte(a.body), &envelope)
	return envelope.Error.Code
}

// data returns the resource of a success, as it was sent.
func (a answer) data(tb testing.TB) string {
	tb.Helper()
	var envelope struct{ Data json.RawMessage }
	is.New(tb).NoErr(json.Unmarshal([]byte(a.body), &envelope))
	return string(envelope.Data)
}

// text returns a string of the answer by its path of names.
func (a answer) text(tb testing.TB, path ...string) string {
	tb.Helper()
	var value any
	is.New(tb).NoErr(json.Unmarshal([]byte(a.body), &value))
	for _, name := range path {
		if items, ok := value.([]any); ok {
			value = items[0]
		}
		value = value.(map[string]any)[name]
	}
	s, _ := value.(string)
	return s
}

// ok checks a success: its status and its whole resource, where "<uuid>", "<time>" and "<text>" match any.
func (a answer) ok(tb testing.TB, status int, data string) {
	tb.Helper()
	is := is.New(tb)
	if a.status != status {
		tb.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	a.matches(tb, `{"data":`+data+`,"meta":{"requestId":"<text>"}}`)
	is.Equal(a.header.Get("Retry-After"), "")
}

// page checks a page of a listing: its resources and whether more follows.
func (a answer) page(tb testing.TB, data string, hasMore bool) {
	tb.Helper()
	is.New(tb).Equal(a.status, http.StatusOK)
	next := `null`
	if hasMore {
		next = `"<text>"`
	}
	a.matches(tb,
		fmt.Sprintf(`{"data":%s,"meta":{"requestId":"<text>","page":{"hasMore":%t,"nextCursor":%s}}}`, data, hasMore, next))
}

// refused checks an error: status, code, the whole envelope, and the beginnings of its violations in order.
func (a answer) refused(tb testing.TB, status int, code ticketing.Code, violations ...string) {
	tb.Helper()
	if a.status != status {
		tb.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	var body struct {
		Error struct {
			Code    ticketing.Code
			Details struct{ Violations []ticketing.Violation }
		}
	}
	is := is.New(tb)
	is.NoErr(json.Unmarshal([]byte(a.body), &body))
	details := ""
	if code == ticketing.CodeInvalidRequest {
		is.True(len(body.Error.Details.Violations) > 0)
		if len(violations) > 0 && len(violations) != len(body.Error.Details.Violations) {
			tb.Fatalf("violations %v, want %q", body.Error.Details.Violations, violations)
		}
		texts := make([]string, len(body.Error.Details.Violations))
		for i, v := range body.Error.Details.Violations {
			texts[i] = `{"message":"<text>"}`
			if len(violations) > 0 && !strings.HasPrefix(v.Message, violations[i]) {
				tb.Fatalf("violation %q, want %q", v.Message, violations[i])
			}
			if !violationForm.MatchString(v.Message) {
				tb.Fatalf("violation %q begins with no path", v.Message)
			}
		}
		details = `,"details":{"violations":[` + strings.Join(texts, ",") + `]}`
	}
	message := "<text>"
	if code == ticketing.CodeInternal {
		message = "An unexpected error occurred."
	}
	a.matches(tb,
		fmt.Sprintf(`{"error":{"code":%q,"message":%q%s},"meta":{"requestId":"<text>"}}`, code, message, details))
}

var violationForm = regexp.MustCompile(`(?s)^.+: .+$`)

// matches checks a whole body.
func (a answer) matches(tb testing.TB, want string) {
	tb.Helper()
	var got, wanted any
	is := is.New(tb)
	is.NoErr(json.Unmarshal([]byte(a.body), &got))
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		tb.Fatalf("the test wants no JSON: %v\n%s", err, want)
	}
	if problem := differ("", got, wanted); problem != "" {
		tb.Fatalf("%s\n got %s\nwant %s", problem, a.body, want)
	}
}

var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// differ returns where two JSON values differ, or "".
func differ(path string, got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok || len(object) != len(want) {
			return fmt.Sprintf("%s: members %v, want %v", path, got, slices.Sorted(maps.Keys(want)))
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			value, ok := object[name]
			if !ok {
				return path + "." + name + " is missing"
			}
			if problem := differ(path+"."+name, value, want[name]); problem != "" {
				return problem
			}
		}
		return ""
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			return fmt.Sprintf("%s: %v, want %d items", path, got, len(want))
		}
		for i := range want {
			if problem := differ(fmt.Sprintf("%s[%d]", path, i), items[i], want[i]); problem != "" {
				return problem
			}
		}
		return ""
	case string:
		s, ok := got.(string)
		_, notID := ticketing.ParseID(s)
		switch {
		case ok && want == "<text>" && s != "",
			ok && want == "<time>" && timeForm.MatchString(s),
			ok && want == "<uuid>" && notID == nil && s == strings.ToLower(s):
			return ""
		}
	}
	if got != want {
		return fmt.Sprintf("%s: %v, want %v", path, got, want)
	}
	return ""
}

// clock is a time that tests move, and that moves by step at each reading.
type clock struct {
	mu   sync.Mutex
	at   time.Time
	step time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(c.step)
	return c.at
}

func (c *clock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

// logBook records the log.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// lines returns the entries with a message, as objects.
func (b *logBook) lines(tb testing.TB, message string) []map[string]any {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []map[string]any
	for line := range strings.Lines(b.text.String()) {
		var entry map[string]any
		is.New(tb).NoErr(json.Unmarshal([]byte(line), &entry))
		if entry["msg"] == message {
			found = append(found, entry)
		}
	}
	return found
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// failing is a store whose transactions fail or panic with the function that set gave it. It can run a function before
// a write.
type failing struct {
	driver.Store

	mu    sync.Mutex
	fail  func(context.Context) error
	first func(context.Context) error
}

// before sets a function that runs before the next write.
func (f *failing) before(first func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = first
}

func (f *failing) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	f.mu.Lock()
	first, fail := f.first, f.fail
	f.first = nil
	f.mu.Unlock()
	if fail != nil {
		if err := fail(ctx); err != nil {
			return err
		}
	}
	if first != nil {
		if err := first(ctx); err != nil {
			return err
		}
	}
	return f.Store.Update(ctx, fn)
}

func (f *failing) set(fail func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *failing) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail != nil {
		if err := fail(ctx); err != nil {
			return err
		}
	}
	return f.Store.View(ctx, fn)
}

// memberOf returns the JSON of a member of the resource.
func memberOf(tb testing.TB, a answer, name string) string {
	tb.Helper()
	var envelope struct{ Data map[string]json.RawMessage }
	is.New(tb).NoErr(json.Unmarshal([]byte(a.body), &envelope))
	return string(envelope.Data[name])
}
