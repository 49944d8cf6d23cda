package console //nolint:testpackage // It is used by acts alone.

import (
	"context"
	"errors"
	"testing"

	"github.com/floatgate/ticketing"
)

// The second of two equal calls waits for the first, and gets its result.
func TestKeyedCallWaitsForItsEqual(t *testing.T) {
	t.Parallel()
	asked := 0
	got, err := runKeyed(t.Context(), "the event", func() (string, error) {
		if asked++; asked < 3 {
			return "", conflicted("Idempotent request is still processing")
		}
		return "made", nil
	})
	if got != "made" || err != nil || asked != 3 {
		t.Errorf("got %q, %v after %d calls", got, err, asked)
	}
	ctx, leave := context.WithCancel(t.Context())
	_, err = runKeyed(ctx, "the event", func() (string, error) {
		leave()
		return "", conflicted("Idempotent request is still processing")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v for somebody who left", err)
	}
	_, err = runKeyed(t.Context(), "the event", func() (string, error) {
		return "", conflicted("The event has ended.")
	})
	if refused := (*ticketing.Error)(nil); !errors.As(err, &refused) || refused.Message != "The event has ended." {
		t.Errorf("got %v, want the refusal", err)
	}
}
