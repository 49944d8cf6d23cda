package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// together runs a function several times concurrently and waits for all of them.
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

// takenAtOnce returns what several workers take from a queue concurrently, a few at a time, until nothing is left.
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
	// This call returns a row that was skipped while another worker had it locked.
	rest, err := take(99)
	return append(slices.Concat(taken[:]...), rest...), err
}
