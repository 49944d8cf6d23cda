package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// window is how long a check waits for a store to break a promise that only time can break. A slow store that keeps its
// promises never fails.
const window = 30 * time.Millisecond

// expectation is the result that a call must return.
type expectation[T any] struct {
	what string
	want T
}

// want begins an expectation; from compares it with the result of a call.
func want[T any](what string, value T) expectation[T] { return expectation[T]{what, value} }

func (e expectation[T]) from(got T, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", e.what, err)
	}
	if found := difference(e.what, reflect.ValueOf(got), reflect.ValueOf(e.want)); found != "" {
		return errors.New(found)
	}
	return nil
}

// difference describes where two results differ, and is empty if they do not. An empty list equals nil, and a time must
// be in UTC.
func difference(where string, got, want reflect.Value) string {
	switch got.Kind() { //nolint:exhaustive // Records are made of nothing else.
	case reflect.Slice:
		for i := range min(got.Len(), want.Len()) {
			if found := difference(fmt.Sprintf("%s[%d]", where, i), got.Index(i), want.Index(i)); found != "" {
				return found
			}
		}
		if got.Len() != want.Len() {
			return fmt.Sprintf("%s: got %d, want %d of them", where, got.Len(), want.Len())
		}
		return ""
	case reflect.Struct:
		if at, ok := reflect.TypeAssert[time.Time](got); ok {
			expected, _ := reflect.TypeAssert[time.Time](want)
			if at.Equal(expected) && at.Location() == time.UTC {
				return ""
			}
			return unlike(where, got, want)
		}
		for i := range got.NumField() {
			if !got.Type().Field(i).IsExported() {
				break
			}
			found := difference(where+"."+got.Type().Field(i).Name, got.Field(i), want.Field(i))
			if found != "" || i == got.NumField()-1 {
				return found
			}
		}
	}
	if got.Equal(want) {
		return ""
	}
	return unlike(where, got, want)
}

func unlike(where string, got, want reflect.Value) string {
	return fmt.Sprintf("%s: got %.99s, want %.99s", where, shown(got), shown(want))
}

func shown(value reflect.Value) string {
	if value.Kind() == reflect.String {
		return strconv.Quote(value.String())
	}
	return fmt.Sprint(value)
}

// that returns an error unless the condition holds.
func that(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// steps runs functions one after the other, until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// refuses returns an error unless err is a broken constraint.
func refuses(what string, err error) error {
	if constraint, ok := errors.AsType[*driver.ConstraintError](err); ok {
		return that(constraint.Constraint != "", "%s: the constraint has no name", what)
	}
	return fmt.Errorf("%s: got %w, want a ConstraintError", what, orNone(err))
}

// misses returns an error unless err is [driver.ErrNotFound].
func misses(what string, err error) error {
	return that(errors.Is(err, driver.ErrNotFound), "%s: got %v, want ErrNotFound", what, err)
}

func orNone(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

type (
	reads  = func(ctx context.Context, tx driver.ReadTx) error
	writes = func(ctx context.Context, tx driver.Tx) error
)

// update runs fn in an Update that holds the gates of both companies exclusively.
func update(ctx context.Context, s driver.Store, fn writes) error {
	return enter(ctx, s, driver.BeginOptions{Exclusive: []uuid.UUID{companyA, companyB}}, fn)
}

// share runs fn in an Update that shares the gates of both companies.
func share(ctx context.Context, s driver.Store, fn writes) error {
	return enter(ctx, s, driver.BeginOptions{Shared: []uuid.UUID{companyA, companyB}}, fn)
}

func enter(ctx context.Context, s driver.Store, in driver.BeginOptions, fn writes) error {
	return s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, in); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// everywhere reads in a View, a Snapshot and an Update.
func everywhere(ctx context.Context, s driver.Store, read reads) error {
	if err := s.View(ctx, read); err != nil {
		return fmt.Errorf("in a View: %w", err)
	}
	if err := s.Snapshot(ctx, read); err != nil {
		return fmt.Errorf("in a Snapshot: %w", err)
	}
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return read(ctx, tx) })
	if err != nil {
		return fmt.Errorf("in an Update: %w", err)
	}
	return nil
}

// wait receives from a channel, but waits no longer than the context.
func wait[T any](ctx context.Context, what string, from <-chan T) (T, error) {
	select {
	case value := <-from:
		return value, nil
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%s: %w", what, ctx.Err())
	}
}

// start runs a function concurrently with the check.
func start(run func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	return done
}

// linger waits for a result, but no longer than atMost.
func linger[T any](done <-chan T, atMost time.Duration) (T, bool) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case value := <-done:
		return value, true
	case <-timer.C:
		var none T
		return none, false
	}
}
