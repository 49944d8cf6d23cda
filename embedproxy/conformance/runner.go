package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// runner is the state of a run.
type runner struct {
	config   Config
	proxy    *url.URL
	upstream *Upstream
	client   *http.Client
	logf     func(format string, args ...any)

	checks   []Check
	secrets  map[string]bool // the credentials that the proxy sent to the upstream
	badCalls []string        // calls whose credential is malformed
	leaks    []string        // requests whose answer has a credential
	refusals refusals
}

// refusals are what is wrong with the proxy's refusals of upstream replies, sorted by the kind of fault.
type refusals struct{ status, form, content, stored []string }

// step is a check to make.
type step struct {
	rule, name string
	make       func(ctx context.Context, c *check)
}

// take makes a check. It returns an error if ctx ended.
func (r *runner) take(ctx context.Context, s step) error {
	c := &check{runner: r}
	s.make(ctx, c)
	if err := ctx.Err(); err != nil {
		return err
	}
	result := Check{Rule: s.rule, Name: s.name, Status: Passed}
	switch {
	case len(c.failures) > 0:
		result.Status, result.Got = Failed, summary(c.failures)
	case c.skipped != "":
		result.Status, result.Got = Skipped, c.skipped
	}
	result.Got = r.redact(result.Got)
	r.checks = append(r.checks, result)
	return nil
}

// shownFailures is how many failures of a check are reported.
const shownFailures = 5

func summary(failures []string) string {
	shown := failures
	if len(shown) > shownFailures {
		shown = append(slices.Clone(shown[:shownFailures]),
			fmt.Sprintf("and %d more like these", len(failures)-shownFailures))
	}
	return strings.Join(shown, "\n")
}

// redact removes the credentials that the proxy used.
func (r *runner) redact(text string) string {
	for secret := range r.secrets {
		text = strings.ReplaceAll(text, secret, "[key]")
	}
	return text
}

// byRule sorts checks by their rule, and keeps the order of those of one rule.
func byRule(checks []Check) []Check {
	slices.SortStableFunc(checks, func(a, b Check) int { return cmp.Compare(ruleNumber(a.Rule), ruleNumber(b.Rule)) })
	return checks
}

// ruleNumber returns the number of a rule. The table of operations comes before all rules.
func ruleNumber(rule string) int {
	n, _ := strconv.Atoi(rule)
	return n
}

// check is a check in progress.
type check struct {
	*runner

	failures []string
	skipped  string
	settle   time.Duration // how long to wait for calls after the answer
}

func (c *check) failf(format string, args ...any) {
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
}

// request is a request of the browser.
type request struct {
	name    string // a description of what is sent; defaults to the body
	method  string // defaults to POST
	query   string
	body    []byte
	header  map[string]string // replaces headers of a browser; an empty value removes one
	session http.Header       // defaults to that of the configuration
}

// String returns a description of the request.
func (q request) String() string {
	if q.name != "" {
		return q.name
	}
	return short(q.body)
}

// answer is what the proxy returned to the browser.
type answer struct {
	status int
	header http.Header
	body   []byte
	value  any // the decoded body; nil if it is no JSON
}

// requestID returns meta.requestId.
func (a answer) requestID() string {
	id, _ := at(a.value, "meta.requestId").(string)
	return id
}

func (a answer) code() string {
	code, _ := at(a.value, "error.code").(string)
	return code
}

// String returns the status and the beginning of the body.
func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, short(a.body)) }

// result is the outcome of a request.
type result struct {
	answer

	calls []call
	err   error // no answer came
}

// saw returns a description of the answer.
func (r result) saw() string {
	if r.err != nil {
		return "no answer (" + r.err.Error() + ")"
	}
	return r.String()
}

// shownBytes is how much of a body is reported.
const shownBytes = 120

// short returns the beginning of a text in printable ASCII.
func short(text []byte) string {
	quoted := strconv.QuoteToASCII(string(text[:min(len(text), shownBytes)]))
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if len(text) > shownBytes || len(quoted) > shownBytes {
		return quoted[:min(len(quoted), shownBytes)] + "…"
	}
	return quoted
}

// sent returns a description of the calls.
func sent(calls []call) string {
	if len(calls) == 0 {
		return "no call"
	}
	said := make([]string, len(calls))
	for i, c := range calls {
		said[i] = c.String()
	}
	return strings.Join(said, ", ")
}

const (
	maxAnswerBytes = 32 << 20
	limitTries     = 4                // how often a request is sent that the proxy's rate limit refuses
	longestLimit   = 61 * time.Second // the longest wait for the proxy's rate limit
)

// send sends a request while the upstream follows a script. It repeats a request that the proxy's rate limit refused.
func (c *check) send(ctx context.Context, q request, with script) result {
	for try := 1; ; try++ {
		c.upstream.begin(with)
		got, err := c.post(ctx, q)
		if c.settle > 0 {
			_ = sleep(ctx, c.settle) // The next request fails if ctx ended.
		}
		calls := c.upstream.recorded()
		c.upstream.end()
		c.observe(q, calls, got)
		if err != nil || got.status != http.StatusTooManyRequests || len(calls) > 0 || try == limitTries {
			return result{answer: got, calls: calls, err: err}
		}
		wait := retryAfter(got.header)
		c.logf("the proxy limits requests: waiting %s. Raise its limits for this run", wait)
		if sleep(ctx, wait) != nil {
			return result{answer: got, calls: calls, err: ctx.Err()}
		}
	}
}

// sendPayload sends an operation while the upstream follows a script.
func (c *check) sendPayload(ctx context.Context, name string, payload any, with script) result {
	return c.send(ctx, request{body: operation(name, payload)}, with)
}

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 1
	}
	return min(time.Duration(seconds)*time.Second, longestLimit)
}

// observe records the credentials of calls, and whether the answer has one.
func (r *runner) observe(q request, calls []call, got answer) {
	if r.secrets == nil {
		r.secrets = map[string]bool{}
	}
	for _, c := range calls {
		secret, ok := strings.CutPrefix(strings.Join(c.header.Values("Authorization"), ","), "Bearer ")
		if !ok || !keyForm.MatchString(secret) {
			r.badCalls = append(r.badCalls, c.String())
		}
		if secret != "" {
			r.secrets[secret] = true
		}
	}
	for secret := range r.secrets {
		if strings.Contains(string(got.body), secret) || headerHas(got.header, secret) {
			r.leaks = append(r.leaks, q.String())
		}
	}
}

func headerHas(header http.Header, text string) bool {
	for _, values := range header {
		for _, value := range values {
			if strings.Contains(value, text) {
				return true
			}
		}
	}
	return false
}

// post sends a request as a browser does.
func (r *runner) post(ctx context.Context, q request) (answer, error) {
	target := *r.proxy
	if q.query != "" {
		target.RawQuery = q.query
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(q.method, http.MethodPost), target.String(),
		strings.NewReader(string(q.body)))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", r.proxy.Scheme+"://"+r.proxy.Host)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Sec-Fetch-Mode", "cors")
	session := q.session
	if session == nil {
		session = r.config.Header
	}
	maps.Copy(req.Header, session.Clone())
	for name, value := range q.header {
		req.Header.Set(name, value)
		if value == "" {
			req.Header.Del(name)
		}
	}
	response, err := r.client.Do(req)
	if err != nil {
		return answer{}, withoutURL(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return answer{}, fmt.Errorf("read the response: %w", err)
	}
	got := answer{status: response.StatusCode, header: response.Header, body: body}
	if value, err := decode(body); err == nil {
		got.value = value
	}
	return got, nil
}

// expectRefused expects that the proxy itself refuses a request.
func (c *check) expectRefused(q request, got result) {
	switch {
	case len(got.calls) > 0:
		c.failf("sent %s: want a refusal without an upstream call, got %s", q, sent(got.calls))
	case errors.Is(got.err, context.DeadlineExceeded):
		c.failf("sent %s: want a refusal, got %s", q, got.saw())
	case got.err != nil:
		// The proxy closed the connection before all was sent.
	case got.status < 400 || got.status > 499:
		c.failf("sent %s: want a status from 400 to 499, got %s", q, got.saw())
	}
}

// expectAnswer expects a success with exactly this body. Of a request id it checks only the form.
func (c *check) expectAnswer(q request, got result, statuses []int, want any) {
	if got.err != nil || !slices.Contains(statuses, got.status) {
		c.failf("sent %s: want status %s, got %s", q, wanted(statuses), got.saw())
		return
	}
	id := got.requestID()
	if !isSafeID(id) {
		c.failf("sent %s: want a meta.requestId of 1 to 128 characters of the safe set, got %s", q, got.saw())
		return
	}
	want = canonical(with(want, "meta.requestId", id))
	if said := difference(want, got.value, ""); said != "" {
		c.failf("sent %s: want the projected answer, got another: %s", q, said)
	}
}

func wanted(statuses []int) string {
	said := make([]string, len(statuses))
	for i, status := range statuses {
		said[i] = strconv.Itoa(status)
	}
	return strings.Join(said, " or ")
}

// rejection is the code of the refusal of an upstream body.
const rejection = "INVALID_UPSTREAM_RESPONSE"

// expectRejected expects that the proxy rejects an upstream reply. The check fails if the proxy accepts the reply. The
// form of the refusal is recorded for the checks of rule 9.
func (c *check) expectRejected(about string, got result, answered *reply) {
	kept := answered.status >= 400 && got.status == answered.status && got.code() != rejection
	if got.err != nil || got.status < 400 || kept {
		c.failf("%s: want 502 %s, got %s", about, rejection, got.saw())
		return
	}
	if got.status != http.StatusBadGateway || got.code() != rejection {
		c.refusals.status = append(c.refusals.status,
			fmt.Sprintf("%s: want 502 %s, got %s", about, rejection, got.saw()))
	}
	if strings.Contains(string(got.body), markPrefix) || headerHas(got.header, markPrefix) {
		c.refusals.content = append(c.refusals.content,
			fmt.Sprintf("%s: want nothing of the body in the answer, got %s", about, got.saw()))
	}
	if said := errorEnvelope(got); said != "" {
		c.refusals.form = append(c.refusals.form, about+": "+said)
	}
	if !hasDirective(got.header, "no-store") {
		c.refusals.stored = append(c.refusals.stored,
			fmt.Sprintf("%s: want Cache-Control: no-store, got %q", about, got.header.Get("Cache-Control")))
	}
}

// errorEnvelope returns how an answer differs from { error: { code, message }, meta: { requestId } }, or "".
func errorEnvelope(got result) string {
	message, _ := at(got.value, "error.message").(string)
	want := errorBody(got.code(), message)
	want["meta"] = object{"requestId": got.requestID()}
	switch said := difference(canonical(want), got.value, ""); {
	case got.err != nil:
		return "want an answer, got " + got.saw()
	case said != "":
		return "want { error: { code, message }, meta: { requestId } } alone, got another body: " + said
	case !isCode(got.code()) || message == "":
		return "want an error code in upper case and a message, got " + got.saw()
	case !isSafeID(got.requestID()):
		return "want a meta.requestId of 1 to 128 characters of the safe set, got " + got.saw()
	}
	return ""
}

func hasDirective(header http.Header, directive string) bool {
	for part := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(part), directive) {
			return true
		}
	}
	return false
}
