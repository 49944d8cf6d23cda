package console //nolint:testpackage // It is used by pages alone.

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// No more than maxTogether run at a time, and all of them run.
func TestTogetherIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, ran atomic.Int64
		next := make(chan struct{})
		functions := make([]func(context.Context) error, 2*maxTogether+1)
		for i := range functions {
			functions[i] = func(context.Context) error {
				running.Add(1)
				<-next
				running.Add(-1)
				ran.Add(1)
				return nil
			}
		}
		done := make(chan error)
		go func() { done <- together(t.Context(), functions...) }()
		for left := len(functions); left > 0; left-- {
			synctest.Wait()
			if got, want := running.Load(), int64(min(left, maxTogether)); got != want {
				t.Errorf("%d run with %d left, want %d", got, left, want)
			}
			next <- struct{}{}
		}
		if err := <-done; err != nil || ran.Load() != int64(len(functions)) {
			t.Errorf("%d ran, with %v", ran.Load(), err)
		}
	})
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
