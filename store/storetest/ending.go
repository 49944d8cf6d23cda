package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func endingChecks() []Check {
	return []Check{
		{"ending/calls on a finished transaction fail", callsAfterEnd},
		{"ending/Begin is called once", enterOnce},
		{"ending/a cancelled context begins nothing", cancelledBeginsNothing},
		{"ending/a context cancelled while it waits ends the wait", cancelledWhileWaiting},
	}
}

func callsAfterEnd(ctx context.Context, s driver.Store) error {
	var view, snapshot driver.ReadTx
	var done, failed driver.Tx
	err := errors.Join(
		s.View(ctx, func(_ context.Context, tx driver.ReadTx) error { view = tx; return nil }),
		s.Snapshot(ctx, func(_ context.Context, tx driver.ReadTx) error { snapshot = tx; return nil }),
		update(ctx, s, func(_ context.Context, tx driver.Tx) error { done = tx; return nil }),
	)
	if err != nil {
		return fmt.Errorf("transactions that do nothing: %w", err)
	}
	_ = update(ctx, s, func(_ context.Context, tx driver.Tx) error { failed = tx; return errOwn })
	for name, tx := range map[string]driver.ReadTx{
		"View": view, "Snapshot": snapshot, "Update": done, "Update that failed": failed,
	} {
		if _, err := tx.SecretNames(ctx); err == nil {
			return fmt.Errorf("a finished %s still answers", name)
		}
	}
	for name, tx := range map[string]driver.Tx{"Update": done, "Update that failed": failed} {
		if err := tx.CreateCategory(ctx, newCategory(category, "late")); err == nil {
			return fmt.Errorf("a finished %s still writes", name)
		}
		if _, err := tx.Begin(ctx, driver.BeginOptions{}); err == nil {
			return fmt.Errorf("a finished %s can be entered", name)
		}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("written after the end", []driver.Category(nil)).from(tx.ListCategories(ctx, "", 9))
	})
}

func enterOnce(ctx context.Context, s driver.Store) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		_, err := tx.Begin(ctx, driver.BeginOptions{})
		return err
	})
	if err == nil {
		return errors.New("a transaction was entered twice")
	}
	return update(ctx, s, groundIn)
}

func cancelledBeginsNothing(ctx context.Context, s driver.Store) error {
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for range 20 { // The result must not depend on chance.
		err := update(cancelled, s, groundIn)
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("in an Update: got %w, want context.Canceled", orNone(err))
		}
	}
	read := func(ctx context.Context, tx driver.ReadTx) error {
		_, err := tx.Companies(ctx, []uuid.UUID{companyA})
		return err
	}
	if err := s.View(cancelled, read); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("in a View: got %w, want context.Canceled", orNone(err))
	}
	if err := s.Snapshot(cancelled, read); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("in a Snapshot: got %w, want context.Canceled", orNone(err))
	}
	return nothingKept(ctx, s)
}

// cancelledWhileWaiting takes a gate exclusively twice at once: the second Update waits until its context ends.
func cancelledWhileWaiting(ctx context.Context, s driver.Store) error {
	err := update(ctx, s, func(context.Context, driver.Tx) error {
		waiting, cancel := context.WithTimeout(ctx, window)
		defer cancel()
		second := start(func() error { return update(waiting, s, groundIn) })
		err, waitErr := wait(ctx, "an Update whose context ended while it waited for a gate", second)
		if waitErr != nil {
			return waitErr
		}
		if err == nil {
			return errors.New("an Update entered a gate that was held exclusively")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return nothingKept(ctx, s)
}
