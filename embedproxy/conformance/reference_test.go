package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	referenceKey  = "svc_live.reference.0123456789"
	referenceHost = "http://upstream.test"
)

// reference is a small proxy that can be broken on purpose: flaw says how.
type reference struct {
	flaw     string
	upstream http.RoundTripper
	base     string // of the upstream

	limit   int           // of requests in a minute; 0 is none
	timeout time.Duration // of an upstream call; 0 is none

	mu       sync.Mutex
	requests int
	until    time.Time // of the minute
	keys     map[string]bool
}

// exchange is one request of a browser.
type exchange struct {
	*reference

	browser *http.Request
	id      string
	last    []byte // the last upstream body
	details any
}

// refusal is an error that the browser gets.
type refusal struct {
	status        int
	code, message string
	requestID     string // defaults to that of the request
	retryAfter    string
}

func (r *refusal) Error() string { return r.code }

func refuse(status int, code, message string) *refusal {
	return &refusal{status: status, code: code, message: message}
}

var (
	errUpstream = errors.New("unreadable upstream response")
	methodFlaws = map[string]bool{"any method": true}
	safe        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)
)

// maxUpstream is the longest upstream body that the reference reads.
const maxUpstream = 1 << 20

func (p *reference) has(flaw string) bool { return p.flaw == flaw }

func (p *reference) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	x := &exchange{reference: p, browser: req}
	x.id = req.Header.Get("X-Request-Id")
	if !safe.MatchString(x.id) && (x.id == "" || !p.has("request id taken as it is")) {
		x.id = uuid.NewString()
	}
	if p.has("request id always its own") {
		x.id = uuid.NewString()
	}
	status, value, err := x.run()
	switch failed := (*refusal)(nil); {
	case errors.As(err, &failed):
	case err != nil && p.has("upstream failures as 500"):
		err = refuse(500, "INTERNAL_ERROR", "An unexpected error occurred.")
	case err != nil:
		no := refuse(502, "INVALID_UPSTREAM_RESPONSE", "The service gave no valid answer.")
		no.requestID = uuid.NewString()
		if p.has("rejection with the id of the browser") {
			no.requestID = x.id
		}
		if p.has("rejection with the body") {
			no.message = err.Error() + string(x.last)
		}
		err = no
	}
	x.write(w, status, value, err)
}

func (x *exchange) write(w http.ResponseWriter, status int, value any, err error) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	failed, isRefusal := errors.AsType[*refusal](err)
	if !x.has("rejections may be stored") {
		header.Set("Cache-Control", "no-store")
	}
	if x.has("cors for anybody") {
		header.Set("Access-Control-Allow-Origin", x.browser.Header.Get("Origin"))
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	if isRefusal {
		id := failed.requestID
		if id == "" {
			id = x.id
		}
		if failed.retryAfter != "" && !x.has("no Retry-After") {
			header.Set("Retry-After", failed.retryAfter)
		}
		status = failed.status
		if status == 503 && x.has("another status of failures") {
			status = 502
		}
		message := failed.message
		if x.has("another message of failures") {
			message = "It did not work."
		}
		body := map[string]any{"code": failed.code, "message": message}
		if x.has("details of failures") && x.details != nil {
			body["details"] = x.details
		}
		value = map[string]any{"error": body, "meta": map[string]any{"requestId": id}}
		if x.has("a rejection with more") && failed.code == "INVALID_UPSTREAM_RESPONSE" {
			body["details"] = "none"
		}
		if x.has("a refusal of another form") && failed.requestID == "" && x.last == nil {
			value = map[string]any{"message": failed.message}
		}
	}
	if meta, ok := path(value, "meta").(map[string]any); ok && x.has("an answer with more") && !isRefusal {
		meta["of"] = "the upstream"
	}
	text, _ := json.Marshal(value)
	if x.has("key in the answer") {
		header.Set("X-Debug", referenceKey)
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (x *exchange) run() (status int, value any, err error) {
	req := x.browser
	if req.Method != http.MethodPost && !methodFlaws[x.flaw] {
		return 0, nil, refuse(405, "METHOD_NOT_ALLOWED", "Only POST is allowed.")
	}
	site := req.Header.Get("Sec-Fetch-Site")
	origin := req.Header.Get("Origin")
	foreign := site != "" && site != "same-origin" || origin != "" && origin != "http://"+req.Host
	if site == "same-site" && x.has("same site") || site == "" && x.has("no look at Origin") {
		foreign = false
	}
	if foreign && !x.has("other sites") {
		return 0, nil, refuse(403, "PERMISSION_DENIED", "Another site cannot do this.")
	}
	session, err := req.Cookie("session")
	switch {
	case x.has("no session needed"):
	case err != nil || (session.Value != "7f3c0d9e" && !x.has("any session")):
		return 0, nil, refuse(401, "AUTHENTICATION_FAILED", "Sign in first.")
	}
	if wait := x.limited(); wait > 0 {
		limited := refuse(429, "RATE_LIMITED", "Too many requests.")
		limited.retryAfter = fmt.Sprint(math.Ceil(wait.Seconds()))
		return 0, nil, limited
	}
	media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if (err != nil || media != "application/json") && !x.has("any content type") {
		return 0, nil, refuse(400, "INVALID_REQUEST", "The Content-Type must be application/json.")
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil || (len(raw) > 64<<10 && !x.has("any size")) {
		return 0, nil, refuse(413, "INVALID_REQUEST", "The body is too long.")
	}
	body, err := x.parse(raw, x.has("names twice"), x.has("data after the body"))
	members, _ := body.(map[string]any)
	name, _ := members["operation"].(string)
	if err == nil {
		_, err = record(x.lenient("operation", text(""), "payload", anything)).read(body)
	}
	check, known := x.operations()[name]
	if _, ok := members["payload"].(map[string]any); !ok && x.has("a payload of any form") {
		members = map[string]any{"payload": map[string]any{}}
	}
	if !known && x.has("a fifth operation") {
		name, check, known = "events.list", anything, true
		members = map[string]any{"payload": map[string]any{}}
	}
	if err == nil && known {
		members["payload"], err = check.read(members["payload"])
	}
	payload, isObject := members["payload"].(map[string]any)
	if err != nil || !known || !isObject || !x.sums(payload) {
		return 0, nil, refuse(400, "INVALID_REQUEST", "The request is none of the four operations.")
	}
	switch name {
	case "events.list":
		return x.list(payload)
	case "events.inventory":
		return x.inventory(payload)
	case "pricing.quote":
		return x.quote(payload)
	default:
		return x.checkout(payload)
	}
}

// limited counts a request, and returns how long to wait if it exceeds the limit.
func (p *reference) limited() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !time.Now().Before(p.until) {
		p.requests, p.until = 0, time.Now().Add(time.Minute)
	}
	if p.requests++; p.limit > 0 && p.requests > p.limit {
		return time.Until(p.until)
	}
	return 0
}

// parse parses JSON.
func (x *exchange) parse(raw []byte, twice, more bool) (any, error) {
	if !bytes.Equal(bytes.ToValidUTF8(raw, nil), raw) {
		return nil, errUpstream
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	value, err := parseValue(decoder, twice)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF && !more {
		return nil, errUpstream
	}
	return value, nil
}

func parseValue(decoder *json.Decoder, twice bool) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		members := map[string]any{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			if _, ok := members[name.(string)]; ok && !twice {
				return nil, errUpstream
			}
			if members[name.(string)], err = parseValue(decoder, twice); err != nil {
				return nil, err
			}
		}
		_, err := decoder.Token()
		return members, err
	case json.Delim('['):
		elements := []any{}
		for decoder.More() {
			element, err := parseValue(decoder, twice)
			if err != nil {
				return nil, err
			}
			elements = append(elements, element)
		}
		_, err := decoder.Token()
		return elements, err
	default:
		return token, nil
	}
}

// sums reports whether lines have unique tiers and at most 50 admissions.
func (x *exchange) sums(payload map[string]any) bool {
	lines, _ := payload["lines"].([]any)
	total, seen := int64(0), map[any]bool{}
	for _, line := range lines {
		members, _ := line.(map[string]any)
		number, _ := members["quantity"].(json.Number)
		quantity, _ := number.Int64()
		total += quantity
		if seen[members["tier"]] && !x.has("tiers twice") {
			return false
		}
		seen[members["tier"]] = true
	}
	return total <= 50 || x.has("any number of admissions")
}

func (x *exchange) operations() map[string]schema {
	limit, cursor, id := whole(1, 100), text(`[A-Za-z0-9_-]{1,512}`), uuidText
	price, key := text(`(0|[1-9][0-9]{0,11})(\.[0-9]{1,2})?`), text(`[A-Za-z0-9][A-Za-z0-9._:-]{7,127}`)
	quantity, tier := whole(1, 50), text(`.{1,60}`)
	switch x.flaw {
	case "any limit":
		limit = whole(math.MinInt64, math.MaxInt64)
	case "limits as texts":
		limit = anything
	case "any cursor":
		cursor = text("")
	case "any id":
		id = text("")
	case "any price":
		price = text("")
	case "any key":
		key = text("")
	case "null for what is missing":
		limit, cursor = maybe(limit), maybe(cursor)
	}
	line := x.lenient("tier", tier, "quantity", quantity)
	sold := x.lenient("tier", tier, "quantity", quantity, "expectedUnitPrice", price, "currency", text("NGN"))
	buyer := x.lenient("email", text(`.{1,320}`), "fullname?", text(`.{0,200}`), "phone?", text(`.{0,50}`))
	if x.has("any buyer") {
		buyer = x.lenient("email", text(""), "fullname?", text(""), "phone?", text(""))
	}
	return map[string]schema{
		"events.list":      record(x.lenient("limit?", limit, "cursor?", cursor)),
		"events.inventory": record(x.lenient("eventId", id)),
		"pricing.quote":    record(x.lenient("eventId", id, "lines", array(record(line), 1, 50))),
		"checkout.create": record(x.lenient(
			"eventId", id, "buyer", record(buyer), "lines", array(record(sold), 1, 50), "idempotencyKey", key)),
	}
}

// lenient returns the members of a record of the browser.
func (x *exchange) lenient(pairs ...any) members {
	of := membersOf(pairs...)
	of.unknown = x.has("unknown members")
	return of
}
