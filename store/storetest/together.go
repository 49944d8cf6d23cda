package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// together runs something several times at once and waits for all of it.
func together(ctx context.Context, times int, run func(n int) error) error {
	var running []<-chan error
	for n := range times {
		running = append(running, start(func() error { return run(n) }))
	}
	var errs []error
	for _, done := range running {
		err, waitErr := wait(ctx, "Updates at once", done)
		errs = append(errs, err, waitErr)
	}
	return errors.Join(errs...)
}

// takenAtOnce is what several sides take from a queue at once, a few at a time, until nothing is left.
func takenAtOnce[T any](ctx context.Context, take func(limit int) ([]T, error)) ([]T, error) {
	var taken [8][]T
	err := together(ctx, len(taken), func(n int) error {
		for {
			some, err := take(3)
			if err != nil || len(some) == 0 {
				return err
			}
			taken[n] = append(taken[n], some...)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("take at once: %w", err)
	}
	// What was passed over while another took it is there for the next.
	rest, err := take(99)
	return append(slices.Concat(taken[:]...), rest...), err
}
