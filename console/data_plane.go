package console

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// onDataPlane returns an act on the data plane with refusals in words for a person: those of the service mention an API
// key.
func onDataPlane[P any](
	run func(context.Context, *call, P) (outcome, error),
) func(context.Context, *call, P) (outcome, error) {
	return func(ctx context.Context, c *call, params P) (outcome, error) {
		done, err := run(ctx, c, params)
		if !errors.Is(err, ticketing.CodePermissionDenied) {
			return done, err
		}
		if c.company.Status == ticketing.CompanySuspended {
			return done, conflicted("The company is suspended: its events and tickets cannot be changed.")
		}
		return done, &ticketing.Error{
			Code: ticketing.CodePermissionDenied, Message: "Your role in this company no longer allows this.",
		}
	}
}

// The beginnings of two refusals that only their messages distinguish from other conflicts (section 4.11, rule 4).
const (
	stillProcessing = "Idempotent request is still processing"
	keyReused       = "The idempotency key was used"
)

// isConflict reports whether an error is a conflict whose message begins with a text.
func isConflict(err error, begin string) bool {
	refused, ok := errors.AsType[*ticketing.Error](err)
	return ok && refused.Code == ticketing.CodeConflict && strings.HasPrefix(refused.Message, begin)
}

// The wait for the first of two equal calls.
const (
	keyTries = 30
	keyPause = 100 * time.Millisecond
)

// runKeyed runs an operation with an idempotency key. After a double click a browser shows the response to the second
// click. So a call whose equal is still running waits for it and gets its result.
func runKeyed[T any](ctx context.Context, what string, run func() (T, error)) (T, error) {
	result, err := run()
	for range keyTries {
		if !isConflict(err, stillProcessing) {
			break
		}
		select {
		case <-ctx.Done():
			return result, ctx.Err()
		case <-time.After(keyPause):
		}
		result, err = run()
	}
	if isConflict(err, keyReused) {
		err = conflicted("This form was sent before with other values. Check whether " + what +
			" already exists. To create this one as well, press the button again.")
	}
	return result, err
}

// Key returns the idempotency key of a form that creates something, for its field "idempotencyKey". It changes each
// time the form is shown. A refused form keeps its key unless the key was the reason.
func (f *form) Key() string {
	if f.Refused() && (f.refused.refusal.Code != ticketing.CodeConflict ||
		isConflict(f.refused.refusal, stillProcessing)) {
		if key := f.refused.values.Get("idempotencyKey"); ticketing.CheckIdempotencyKey(key) == nil {
			return key
		}
	}
	return uuid.NewString()
}

// readConfirmed reads the confirmation box of a form for what cannot be undone. A program has no box to tick.
func readConfirmed(m *members) none {
	if confirmed := m.boolean("confirmed"); m.object == nil && !confirmed {
		m.reader.Refuse("confirmed", "tick the box: this cannot be undone")
	}
	return none{}
}
