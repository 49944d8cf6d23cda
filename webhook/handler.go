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

// Secrets returns the secrets that verify signatures now: the current one, and the next one during a rotation. It is
// called for every request, also for unsigned ones, so it should be fast. After an error the handler responds 500, so
// that the sender tries again.
type Secrets func(ctx context.Context) ([]string, error)

// FixedSecrets returns Secrets that never change.
func FixedSecrets(secrets ...string) Secrets {
	secrets = slices.Clone(secrets)
	return func(context.Context) ([]string, error) { return secrets, nil }
}

// HandlerConfig holds the options of a [Handler]. A nil *HandlerConfig, and every zero field, means the default.
type HandlerConfig struct {
	// Clock returns the time that signatures are compared with. Defaults to time.Now.
	Clock func() time.Time
	// OnError is called with every request that was not accepted, and with the reason. The error is one of [Receive],
	// or one that begins with "webhook: secrets: " or "webhook: accept: " and wraps the error of that function. After a
	// panic it is "webhook: accept panicked with a " and the type of the value, since the value's text may hold a body.
	// OnError is then called in the goroutine and on the stack of the panic, so that runtime/debug.Stack shows where.
	// The texts of this package hold nothing of the request's body and no secret. Defaults to none.
	OnError func(r *http.Request, err error)
}

// Handler receives webhooks. It calls accept with each verified delivery and responds, with no body that matters:
//
//	204  accept returned nil: the event is stored, or was stored before
//	400  the signature or the body is not as section 6.4 requires, or does not match
//	405  the method is not POST
//	413  the body has more than MaxBody bytes
//	500  accept failed or panicked, or there are no secrets: the sender is to try again
//
// 2xx is sent only after accept has returned, and the sender waits 10 s for it: store the event and its work durably,
// and do the work afterwards. Deliveries come concurrently, more than once, and in any order. Make accept safe for that
// by a uniqueness constraint on the event's id, in the transaction that stores the work. Accept and ignore an event of
// an unknown type: after an error it would be sent seven more times.
//
// The context is that of the request, and ends when the sender hangs up. A panic with [http.ErrAbortHandler] passes
// through, as in any handler. The server around it sets the timeouts: give http.Server a ReadTimeout.
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

// accepted calls accept with a delivery, and responds if that fails. It reports whether accept succeeded.
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

// fail responds to a request that failed because of the receiver.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	h.OnError(r, err)
	http.Error(w, "not accepted, try again", http.StatusInternalServerError)
}

// refuse responds to a request that failed because of the sender. Its texts are errors of this package, which hold
// nothing of the request.
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
