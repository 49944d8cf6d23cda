package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Prefix is the path at which an [Upstream] serves the API.
const Prefix = "/api/public/v1"

// Upstream is the public API that the proxy under test calls. It sells the tickets of one event. A check may make it
// return something else; otherwise it behaves as the API does for a key with the three grants of an embed key. It
// refuses an operation outside of them with 403 before anything else, and a malformed request with 400. It is safe for
// concurrent use.
type Upstream struct {
	mu        sync.Mutex
	inUse     bool // by a run
	recording bool
	script    script
	calls     []call
	active    int
	ids       int
	released  chan struct{} // closed at the end of a check, which ends a held reply
}

// NewUpstream returns an upstream.
func NewUpstream() *Upstream { return &Upstream{} }

// call is a request of the proxy, and the id of its reply.
type call struct {
	method, path string // path is without the prefix
	query        url.Values
	header       http.Header
	body         []byte
	replyID      string
	overlapped   bool // another call was in progress
}

// String returns method, path and query.
func (c call) String() string {
	text := c.method + " " + c.path
	if len(c.query) > 0 {
		text += "?" + c.query.Encode()
	}
	return short([]byte(text))
}

// fault is how a reply fails.
type fault int

const (
	faultNone   fault = iota
	faultSilent       // the connection ends before the reply
	faultCut          // the connection ends within the body
	faultHold         // no reply before the check ends
)

// reply is what the upstream returns.
type reply struct {
	status int
	header map[string]string
	body   []byte
	fault  fault
}

// script returns the reply to the nth call of its route in a check, from 1 on, or nil for the usual one.
type script func(route route, nth int) *reply

// route is an operation of the API.
type route string

const (
	routeList      route = "GET /events"
	routeEvent     route = "GET /events/{eventId}"
	routeInventory route = "GET /events/{eventId}/inventory"
	routeQuote     route = "POST /pricing/quote"
	routeCheckout  route = "POST /checkouts"
	routeDocument  route = "GET /openapi.json"
	routeDenied    route = "an operation that is not granted"
	routeUnknown   route = "no operation"
)

// routeOf returns the route of a call, and the event in its path.
func routeOf(method, path string) (of route, eventID string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) > 1 && parts[0] != "pricing" {
		eventID, parts[1] = parts[1], "*"
	}
	switch method + " /" + strings.Join(parts, "/") {
	case "GET /events":
		return routeList, ""
	case "GET /events/*":
		return routeEvent, eventID
	case "GET /events/*/inventory":
		return routeInventory, eventID
	case "POST /pricing/quote":
		return routeQuote, ""
	case "POST /checkouts":
		return routeCheckout, ""
	case "GET /openapi.json":
		return routeDocument, ""
	case "POST /events", "PATCH /events/*", "DELETE /events/*", "POST /events/*/inventory", "GET /orders",
		"GET /orders/*":
		return routeDenied, ""
	}
	if parts[0] == "events" && len(parts) > 3 {
		return routeDenied, ""
	}
	return routeUnknown, ""
}

// acquire makes the upstream that of one run, and reports whether it was free.
func (u *Upstream) acquire() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	free := !u.inUse
	u.inUse = true
	return free
}

func (u *Upstream) release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inUse = false
}

// begin starts a check: it records the calls, and takes replies from the script first.
func (u *Upstream) begin(with script) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.recording, u.script, u.calls, u.released = true, with, nil, make(chan struct{})
}

// recorded returns the calls since the check began.
func (u *Upstream) recorded() []call {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.calls)
}

// end ends a check.
func (u *Upstream) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.recording, u.script, u.calls = false, nil, nil
	close(u.released)
}

// maxCallBytes bounds what is read of a call's body.
const maxCallBytes = 1 << 20

// ServeHTTP serves the API.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxCallBytes))
	if err != nil {
		return // The proxy is gone.
	}
	path, ok := strings.CutPrefix(req.URL.EscapedPath(), Prefix)
	if !ok {
		path = "/-" + path // a path of no route
	}
	got := call{method: req.Method, path: path, query: req.URL.Query(), header: req.Header.Clone(), body: body}
	answer, released := u.record(&got)
	defer u.leave()
	answer.write(w, req, got.replyID, released)
}

// record records a call and returns the reply to it.
func (u *Upstream) record(got *call) (answer *reply, released <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ids++
	got.replyID = "upstream-" + strconv.Itoa(u.ids)
	if sent := got.header.Values("X-Request-Id"); len(sent) == 1 && isSafeID(sent[0]) {
		got.replyID = sent[0]
	}
	u.active++
	got.overlapped = u.active > 1
	of, _ := routeOf(got.method, got.path)
	if u.recording && of != routeDocument {
		u.calls = append(u.calls, *got)
		if u.script != nil {
			nth := 0
			for _, earlier := range u.calls {
				if other, _ := routeOf(earlier.method, earlier.path); other == of {
					nth++
				}
			}
			answer = u.script(of, nth)
		}
	}
	if answer == nil {
		answer = usual(*got, u.recording)
	}
	return answer, u.released
}

func (u *Upstream) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.active--
}

// write sends a reply. A body with the placeholder gets the request id of the call.
func (a *reply) write(w http.ResponseWriter, req *http.Request, id string, released <-chan struct{}) {
	switch a.fault {
	case faultSilent:
		panic(http.ErrAbortHandler)
	case faultHold:
		select {
		case <-released:
		case <-req.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case faultNone, faultCut:
	}
	body := bytes.Replace(a.body, []byte(idPlaceholder), []byte(id), 1)
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("X-Request-Id", id)
	for name, value := range a.header {
		header.Set(name, value)
	}
	if a.fault == faultCut {
		header.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(a.status)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body)
}

// idPlaceholder stands in a body for the request id of the call.
const idPlaceholder = "{request-id}"

// usual returns the reply of the API to a call with an embed key. In a check it requires neither that key nor an
// idempotency key, so a missing one fails only the check that is about it.
func usual(got call, checking bool) *reply {
	of, event := routeOf(got.method, got.path)
	switch {
	case of == routeDocument:
		info := object{"title": "Service Public API", "version": "1"}
		return ok(object{"openapi": "3.1.0", "info": info, "paths": object{}})
	case got.header.Get("Authorization") == "" && !checking:
		return failure(http.StatusUnauthorized, "AUTHENTICATION_FAILED", "Authentication failed.")
	}
	switch of {
	case routeDenied:
		return failure(http.StatusForbidden, "PERMISSION_DENIED", "The API key lacks the grant.")
	case routeList:
		if !withinLimit(got.query) {
			return failure(http.StatusBadRequest, "INVALID_REQUEST", "limit: must be from 1 to 100")
		}
		return ok(eventPage(sampleEvent()))
	case routeEvent, routeInventory:
		if event != eventID {
			return failure(http.StatusNotFound, "NOT_FOUND", "Event not found.")
		}
		if of == routeEvent {
			return ok(single(sampleEvent()))
		}
		return ok(single(sampleTiers()))
	case routeQuote:
		if !hasMembers(got.body, "eventId", "lines") {
			return failure(http.StatusBadRequest, "INVALID_REQUEST", "eventId: is required")
		}
		return ok(single(sampleQuote()))
	case routeCheckout:
		if got.header.Get("Idempotency-Key") == "" && !checking {
			return failure(http.StatusBadRequest, "IDEMPOTENCY_KEY_REQUIRED", "Idempotency-Key is required.")
		}
		if !hasMembers(got.body, "eventId", "buyer", "lines") {
			return failure(http.StatusBadRequest, "INVALID_REQUEST", "eventId: is required")
		}
		return created(single(sampleOrder()))
	default:
		return failure(http.StatusNotFound, "NOT_FOUND", "Not found.")
	}
}

func withinLimit(query url.Values) bool {
	if !query.Has("limit") {
		return true
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	return err == nil && limit >= 1 && limit <= 100
}

// hasMembers reports whether a body is an object with these members.
func hasMembers(body []byte, names ...string) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return false
	}
	for _, name := range names {
		if _, ok := members[name]; !ok {
			return false
		}
	}
	return true
}

func ok(body any) *reply      { return &reply{status: http.StatusOK, body: encode(body)} }
func created(body any) *reply { return &reply{status: http.StatusCreated, body: encode(body)} }

// failure returns a reply with the error envelope.
func failure(status int, code, message string) *reply {
	return &reply{status: status, body: encode(errorBody(code, message))}
}

func errorBody(code, message any) object {
	return object{"error": object{"code": code, "message": message}, "meta": object{"requestId": idPlaceholder}}
}

// withHeader returns a copy of the reply with one more header.
func (a *reply) withHeader(name, value string) *reply {
	c := *a
	c.header = maps.Clone(a.header)
	if c.header == nil {
		c.header = map[string]string{}
	}
	c.header[name] = value
	return &c
}

// on returns the script with a reply to the nth call of a route; 0 stands for every call of it.
func on(of route, nth int, answer *reply) script {
	return func(called route, n int) *reply {
		if called == of && (nth == 0 || nth == n) {
			return answer
		}
		return nil
	}
}

// from returns the script with a reply to the nth call of a route and to each later one, since HTTP clients repeat a
// call by themselves where a connection ended.
func from(of route, nth int, answer *reply) script {
	return func(called route, n int) *reply {
		if called == of && n >= nth {
			return answer
		}
		return nil
	}
}

// encode returns the JSON of a value of this package.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("conformance: %v", err)) // All values are maps, lists, strings and numbers.
	}
	return text
}
