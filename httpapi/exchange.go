package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/safename"
	"github.com/floatgate/ticketing/internal/slot"
)

// exchange is one request and the state of its handling.
type exchange struct {
	http.ResponseWriter // for the router's handles, which take one

	api        *api
	r          *http.Request
	id         string
	began      time.Time
	op         *operation // nil until the path and method are known
	document   *document  // nil if the path is that of an operation
	params     httprouter.Params
	caller     ticketing.Caller
	retryAfter int // seconds; 0: no such header
}

// ServeHTTP serves a request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, api: a, r: r, id: a.requestID(r), began: a.now()}
	status, code, body := x.answer(r.Context())
	if code == "" && x.document != nil {
		status = x.sendDocument()
	} else {
		x.send(status, code, body)
	}
	x.report(r.Context(), status, code)
}

// requestID returns the caller's id if the header is sent once and well-formed, else a new id (section 4.1).
func (a *api) requestID(r *http.Request) string {
	if sent := r.Header["X-Request-Id"]; len(sent) == 1 && safename.Valid(sent[0], 1, 128) {
		return sent[0]
	}
	return a.newID()
}

// answer builds the whole answer before it sends a byte, so that it can still report any failure.
func (x *exchange) answer(ctx context.Context) (status int, code ticketing.Code, body []byte) {
	body, err := x.serve(ctx)
	if err == nil {
		return x.op.status, "", body
	}
	refusal, status := x.refusal(ctx, err)
	return status, refusal.Code, encodeError(refusal, x.id)
}

// serve runs the request and encodes its result. It turns a panic into an error.
func (x *exchange) serve(ctx context.Context) (body []byte, err error) {
	defer func() { recovered(recover(), &err) }()
	// The company's slots bound the encoding of a page, too, but not the sending of it to a slow client.
	ctx, done := slot.Hold(ctx)
	defer done()
	res, err := x.run(ctx)
	if err != nil || x.document != nil {
		return nil, err
	}
	return encodeResult(res, x.id)
}

// run makes the checks that do not need the operation, in the order of the package comment, and runs the operation.
func (x *exchange) run(ctx context.Context) (result, error) {
	if err := x.count(ctx); err != nil {
		return result{}, err
	}
	if !x.find() {
		return result{}, errUnknownPath
	}
	if x.document != nil {
		return result{}, nil
	}
	caller, err := x.api.caller(ctx, x.r)
	if err != nil {
		return result{}, err
	}
	x.caller = caller
	res, err := x.perform(ctx)
	if err != nil {
		return x.confirm(ctx, err)
	}
	return res, nil
}

// recovered makes a panic an error. value is what recover returned.
func recovered(value any, err *error) {
	switch value {
	case nil:
	case http.ErrAbortHandler:
		panic(value)
	default:
		*err = newPanicError(value)
	}
}

// confirm decides about a request that is refused with an error. The caller may be one that was remembered, so its key
// is looked up first unless the operation has read it. What is wrong with the key comes before what is wrong with the
// request, and so does the grant.
func (x *exchange) confirm(ctx context.Context, refusal error) (result, error) {
	if errors.Is(refusal, ticketing.CodeAuthenticationFailed) {
		x.caller = ticketing.Caller{} // The key was looked up, and is nobody's.
		return result{}, refusal
	}
	// Without a database or a caller, a look-up would only wait once more.
	if ctx.Err() != nil || errors.Is(refusal, ticketing.ErrUnavailable) {
		return result{}, refusal
	}
	remembered := x.caller
	caller, err := x.api.svc.Confirm(ctx, remembered)
	x.caller = caller
	if err != nil {
		return result{}, err
	}
	if err := caller.Require(x.op.grant); err != nil {
		return result{}, err
	}
	// The key got the grant since. Nothing was read of the request without it.
	if remembered.Require(x.op.grant) != nil {
		return x.perform(ctx)
	}
	return result{}, refusal
}

// perform checks the grant, reads the request and runs the operation. It turns a panic into an error, which run treats
// like any other.
func (x *exchange) perform(ctx context.Context) (res result, err error) {
	defer func() { recovered(recover(), &err) }()
	if err := x.caller.Require(x.op.grant); err != nil {
		return result{}, err
	}
	q := &request{exchange: x}
	if x.op.keyed {
		if err := q.readKey(); err != nil {
			return result{}, err
		}
	}
	return x.op.run(ctx, x.api.svc, q)
}

// keyHolder returns the holder of the request's API key. It may be one that is remembered, so run confirms it before it
// refuses a request.
func (a *api) keyHolder(ctx context.Context, r *http.Request) (ticketing.Caller, error) {
	return a.svc.Identify(ctx, bearer(r.Header))
}

// bearer returns the key of the Authorization header. It returns "" if the header was not sent exactly once or has
// another scheme: the answer never says what is wrong with a credential (section 5).
func bearer(header http.Header) string {
	sent := header["Authorization"]
	if len(sent) != 1 {
		return ""
	}
	scheme, key, _ := strings.Cut(sent[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return key
}

// send writes the answer. For a HEAD, net/http leaves the body out.
func (x *exchange) send(status int, code ticketing.Code, body []byte) {
	header := x.Header()
	values := [...]string{x.id, contentType, "no-store", "nosniff"}
	header["X-Request-Id"] = values[0:1:1]
	header["Content-Type"] = values[1:2:2]
	header["Cache-Control"] = values[2:3:3]
	header["X-Content-Type-Options"] = values[3:4:4]
	header.Set("Content-Length", strconv.Itoa(len(body))) // for HEAD, too
	if code == ticketing.CodeAuthenticationFailed {
		header.Set("WWW-Authenticate", "Bearer")
	}
	if x.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(x.retryAfter))
	}
	x.WriteHeader(status)
	_, _ = x.Write(body) // The client is gone; there is nobody to report an error to.
}
