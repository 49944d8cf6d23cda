package embedproxy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/clientaddr"
	"github.com/floatgate/ticketing/internal/ratewindow"
	"github.com/floatgate/ticketing/internal/strictjson"
)

const contentType = "application/json; charset=utf-8"

// exchange is one request of a browser and the state of its handling.
type exchange struct {
	*proxy

	w         http.ResponseWriter
	r         *http.Request
	id        string
	began     time.Time
	operation string     // empty until the body was read
	buyer     netip.Addr // invalid: the connection has no address
	session   string
}

// ServeHTTP serves a request.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{proxy: p, w: w, r: r, buyer: p.addresses.Client(r)}
	ctx, cancel := context.WithTimeout(r.Context(), p.config.Timeout)
	defer cancel()
	done, err := x.serve(ctx)
	reporting := context.WithoutCancel(r.Context()) // The browser may be gone by then.
	if err == nil {
		x.send(done, "")
		x.report(reporting, Answer{Status: done.status, RequestID: done.requestID})
		return
	}
	shown := x.failure(r.Context(), err)
	x.send(success{
		status: shown.status, requestID: shown.requestID,
		body: encode(failureBody{
			Error: failureError{Code: shown.code, Message: shown.message}, Meta: meta{RequestID: shown.requestID},
		}),
	}, shown.retryAfter)
	x.report(reporting, Answer{Status: shown.status, Code: shown.code, RequestID: shown.requestID})
}

// requestID returns the browser's id if it is sent once and well-formed, else a new one.
func (x *exchange) requestID() string {
	if sent := x.r.Header["X-Request-Id"]; len(sent) == 1 && isRequestID(sent[0]) {
		return sent[0]
	}
	return x.newID()
}

func (x *exchange) newID() string {
	if id := x.config.NewRequestID(); isRequestID(id) {
		return id
	}
	return uuid.NewString() // The API would replace a malformed id.
}

// serve runs the request. It turns a panic into an error, also a panic of a hook that returns no error.
func (x *exchange) serve(ctx context.Context) (done success, err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			panic(v)
		default:
			done, err = success{}, newPanicError(v)
		}
		if x.id == "" {
			x.id = uuid.NewString() // NewRequestID panicked.
		}
	}()
	x.id = x.requestID()
	x.began = x.config.Clock()
	done, err = x.run(ctx)
	if rejected, ok := errors.AsType[*rejection](err); ok {
		// The API may have used the id that the proxy sent, so a rejection gets another id.
		rejected.requestID = x.newID()
	}
	return done, err
}

// run makes the checks, in the order of the package comment.
func (x *exchange) run(ctx context.Context) (success, error) {
	if x.r.Method != http.MethodPost {
		return success{}, &failure{
			status: http.StatusMethodNotAllowed, code: "METHOD_NOT_ALLOWED", message: "The method must be POST.",
		}
	}
	if err := x.limitAddress(ctx, x.ofAddress.requests, "requests"); err != nil {
		return success{}, err
	}
	if err := x.origins.Check(x.r); err != nil {
		return success{}, &failure{
			status: http.StatusForbidden, code: "PERMISSION_DENIED", message: "The request comes from another origin.",
		}
	}
	if err := x.authenticate(); err != nil {
		return success{}, err
	}
	if err := x.limitSession(ctx, x.ofSession.requests, "requests"); err != nil {
		return success{}, err
	}
	work, err := x.read()
	if err != nil {
		return success{}, err
	}
	if work.checkout {
		if err := x.limitAddress(ctx, x.ofAddress.checkouts, "checkouts"); err != nil {
			return success{}, err
		}
		if err := x.limitSession(ctx, x.ofSession.checkouts, "checkouts"); err != nil {
			return success{}, err
		}
	}
	return work.run(ctx, x)
}

func (x *exchange) authenticate() error {
	id, err := x.config.Session(x.r)
	switch {
	case err != nil && !errors.Is(err, ErrNoSession):
		return &hookError{hook: "Session", err: err}
	case err != nil || id == "":
		return &failure{
			status: http.StatusUnauthorized, code: "AUTHENTICATION_FAILED", message: "There is no session of the shop.",
		}
	}
	x.session = id
	return nil
}

// mayBuy calls the hook.
func (x *exchange) mayBuy(ctx context.Context, b basket) error {
	err := x.config.MayBuy(ctx, Purchase{
		Session: x.session, IdempotencyKey: b.key, EventID: b.eventID, Buyer: b.buyer,
		Lines: slices.Clone(b.lines), Request: x.r, // A hook that changes its lines must not change the call to the API.
	})
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrPaymentRequired) {
		return &failure{
			status: http.StatusPaymentRequired, code: "PAYMENT_REQUIRED", message: "This purchase is not paid yet.",
		}
	}
	if refused, ok := errors.AsType[*Refusal](err); ok {
		if shown, ok := refused.failure(); ok {
			return shown
		}
	}
	return &hookError{hook: "MayBuy", err: err}
}

// read reads the body.
func (x *exchange) read() (task, error) {
	var r strictjson.Reader
	body := r.Body(x.w, x.r, x.config.MaxBodyBytes, false)
	name := strictjson.Required(body, "operation", strictjson.Text)
	op := x.operations[name]
	var work task
	if op == nil {
		r.Refuse("operation", "must be events.list, events.inventory, pricing.quote or checkout.create")
	} else {
		x.operation = name
		work = strictjson.Required(body, "payload", strictjson.Fields(op))
	}
	if violations := r.Violations(); len(violations) > 0 {
		return task{}, &failure{
			status: http.StatusBadRequest, code: "INVALID_REQUEST", message: violations[0],
		}
	}
	return work, nil
}

// limitAddress returns RATE_LIMITED if the address is over a limit.
func (x *exchange) limitAddress(ctx context.Context, limit ratewindow.Limit, what string) error {
	client, wider := x.r.RemoteAddr, ""
	if x.buyer.IsValid() {
		client, wider = clientaddr.Keys(x.buyer)
	}
	if wider != "" {
		wider = what + " of address " + wider
	}
	return x.limit(ctx, limit, what+" of address "+client, wider)
}

// limitSession returns RATE_LIMITED if the session is over a limit. The counter gets a digest, because the id of a
// session is commonly a secret.
func (x *exchange) limitSession(ctx context.Context, limit ratewindow.Limit, what string) error {
	if limit.Requests < 0 {
		return nil
	}
	digest := sha256.Sum256([]byte(x.session))
	return x.limit(ctx, limit, what+" of session "+base64.RawURLEncoding.EncodeToString(digest[:]), "")
}

func (x *exchange) limit(ctx context.Context, limit ratewindow.Limit, key, wider string) error {
	retryAfter, err := limit.Take(ctx, key, wider, x.config.Clock())
	if err != nil {
		x.config.Logger.LogAttrs(ctx, slog.LevelError, "rate limit not counted",
			slog.String("requestId", x.id), slog.String("error", err.Error()))
	}
	if retryAfter == 0 {
		return nil
	}
	return &failure{
		status: http.StatusTooManyRequests, code: "RATE_LIMITED", message: "Too many requests. Try again later.",
		retryAfter: strconv.Itoa(retryAfter),
	}
}

// send writes the answer.
func (x *exchange) send(done success, retryAfter string) {
	header := x.w.Header()
	header.Set("X-Request-Id", done.requestID)
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(done.body)))
	if retryAfter != "" {
		header.Set("Retry-After", retryAfter)
	}
	if done.status == http.StatusMethodNotAllowed {
		header.Set("Allow", http.MethodPost)
	}
	x.w.WriteHeader(done.status)
	_, _ = x.w.Write(done.body) // The browser is gone; there is nobody to report an error to.
	if x.config.OnAnswer != nil {
		_ = http.NewResponseController(x.w).Flush() // So that the browser does not wait for the hook.
	}
}
