package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// Secrets answers with the secrets that signatures are verified with now: the current one, and the next one while a
// rotation is under way. It is asked for every request, also those that nobody signed, so it should have them at hand.
// An error is answered with 500, so that the sender tries again.
type Secrets func(ctx context.Context) ([]string, error)

// FixedSecrets are Secrets that stay as they are.
func FixedSecrets(secrets ...string) Secrets {
	secrets = slices.Clone(secrets)
	return func(context.Context) ([]string, error) { return secrets, nil }
}

// HandlerConfig are the choices of a [Handler]. A nil *HandlerConfig, and every zero field, means the default.
type HandlerConfig struct {
	// Clock tells the time that signatures are held against. Defaults to time.Now.
	Clock func() time.Time
	// OnError is told of every request that was not accepted and why: an error of [Receive], one that begins with
	// "webhook: secrets: " or "webhook: accept: " around one of those functions', or "webhook: accept panicked with a "
	// and the type of what it panicked with, whose text may hold a body; it is told in the goroutine and on the stack of
	// the panic, so that runtime/debug.Stack says where. Nothing of the request's body and no secret is in what this
	// package says. Defaults to telling nobody.
	OnError func(r *http.Request, err error)
}

// Handler receives webhooks. It hands each verified delivery to accept and answers, always without a body worth reading:
//
//	204  accept returned nil: the event is kept, or was kept before
//	400  the signature or the body is not as section 6.4 says, or does not match
//	405  the method is not POST
//	413  the body has more than MaxBody bytes
//	500  accept failed or panicked, or there are no secrets: the sender shall try again
//
// 2xx is sent only after accept has returned, and the sender waits 10 s for it: keep the event and its work durably and do
// the work afterwards. Deliveries come concurrently, more than once, and in any order, so accept must be safe for that:
// a uniqueness constraint on the event's id, in the transaction that keeps the work. An event of a type that accept does
// not know is accepted and forgotten; an error would bring it back seven times.
//
// The context is that of the request, and ends when the sender hangs up. A panic of [http.ErrAbortHandler] passes
// through, as in any handler. The server around it sets the time-outs: give http.Server a ReadTimeout.
func Handler(
	secrets Secrets, accept func(ctx context.Context, delivery Delivery) error, config *HandlerConfig,
) http.Handler {
	h := &handler{secrets: secrets, accept: accept}
	if config != nil {
		h.HandlerConfig = *config
	}
	if h.Clock == nil {
		h.Clock = time.Now
	}
	if h.OnError == nil {
		h.OnError = func(*http.Request, error) {}
	}
	return h
}

type handler struct {
	HandlerConfig

	secrets Secrets
	accept  func(ctx context.Context, delivery Delivery) error
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "webhooks are POSTed", http.StatusMethodNotAllowed)
		return
	}
	secrets, err := h.secrets(r.Context())
	if err != nil {
		h.fail(w, r, fmt.Errorf("webhook: secrets: %w", err))
		return
	}
	delivery, err := Receive(r, h.Clock(), secrets...)
	switch {
	case errors.Is(err, ErrSecret):
		h.fail(w, r, err)
	case err != nil:
		h.refuse(w, r, err)
	case h.accepted(w, r, delivery):
		w.WriteHeader(http.StatusNoContent)
	}
}

// accepted hands a delivery on, and answers where that fails.
func (h *handler) accepted(w http.ResponseWriter, r *http.Request, delivery Delivery) (ok bool) {
	defer func() {
		switch value := recover(); value {
		case nil:
		case http.ErrAbortHandler:
			panic(value)
		default:
			ok = false
			h.fail(w, r, fmt.Errorf("webhook: accept panicked with a %T", value))
		}
	}()
	if err := h.accept(r.Context(), delivery); err != nil {
		h.fail(w, r, fmt.Errorf("webhook: accept: %w", err))
		return false
	}
	return true
}

// fail answers for what is the receiver's own fault.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	h.OnError(r, err)
	http.Error(w, "not accepted, try again", http.StatusInternalServerError)
}

// refuse answers for what is the sender's. The text is that of this package's errors, which hold nothing of the request.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	h.OnError(r, err)
	status, text := http.StatusBadRequest, "the body could not be read"
	for _, known := range []error{ErrSignatureHeader, ErrTimestamp, ErrSignature, ErrEvent, ErrVersion, ErrMismatch} {
		if errors.Is(err, known) {
			text = known.Error()
		}
	}
	if errors.Is(err, ErrTooLarge) {
		status, text = http.StatusRequestEntityTooLarge, ErrTooLarge.Error()
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
