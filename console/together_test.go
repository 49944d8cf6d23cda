package console //nolint:testpackage // It is used by pages alone.

import (
	"context"
	"errors"
	"testing"
)

// The functions run at the same time: each of two waits for the other. An error of one ends the context of the others
// and is what the caller gets.
func TestTogether(t *testing.T) {
	meet := make(chan struct{})
	err := together(t.Context(),
		func(context.Context) error { meet <- struct{}{}; return nil },
		func(context.Context) error { <-meet; return nil })
	if err != nil {
		t.Errorf("two that wait for each other: %v", err)
	}
	failed := errors.New("failed")
	err = together(t.Context(),
		func(context.Context) error { return failed },
		func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	if !errors.Is(err, failed) {
		t.Errorf("got %v, want the first error", err)
	}
}

// A panic is an error with its stack, and the process goes on.
func TestTogetherPanics(t *testing.T) {
	err := together(t.Context(), func(context.Context) error {
		panic("broken")
	})
	if p, ok := errors.AsType[*panicError](err); !ok || p.stack == "" {
		t.Errorf("got %v, want a panic with its stack", err)
	}
}
