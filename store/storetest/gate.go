package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func gateChecks() []Check {
	return []Check{
		{"gate/a sharer waits for the exclusive holder", grounded(sharerWaits)},
		{"gate/an exclusive Update waits for sharers", grounded(exclusiveWaits)},
		{"gate/it opens again whatever the end", grounded(gateOpens)},
	}
}

func sharerWaits(ctx context.Context, s driver.Store) error {
	suspended := newCompany(companyA)
	suspended.Status = driver.CompanySuspended
	var sharer <-chan error
	err := update(ctx, s, func(inner context.Context, tx driver.Tx) error {
		if err := tx.UpdateCompany(inner, suspended); err != nil {
			return err
		}
		done := make(chan error, 1)
		sharer = done
		entered := make(chan struct{})
		go func() {
			done <- share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				defer close(entered)
				return want("what was changed while the gate was held exclusively", []driver.Company{suspended}).
					from(tx.Companies(ctx, []uuid.UUID{companyA}))
			})
		}()
		if _, early := linger(entered, window); early {
			return errors.New("an Update shared a gate that was held exclusively")
		}
		return nil
	})
	if err != nil {
		return err
	}
	err, waitErr := wait(ctx, "an Update that waits for an exclusively held gate", sharer)
	return errors.Join(err, waitErr)
}

func exclusiveWaits(ctx context.Context, s driver.Store) error {
	var exclusive <-chan error
	var ended atomic.Bool
	err := share(ctx, s, func(inner context.Context, tx driver.Tx) error {
		done := make(chan error, 1)
		exclusive = done
		entered := make(chan struct{})
		go func() {
			done <- update(ctx, s, func(context.Context, driver.Tx) error {
				defer close(entered)
				return that(ended.Load(), "an Update took a gate exclusively that another shares")
			})
		}()
		linger(entered, window)
		// Set this before the Update ends, since its end lets the other Update take the gate.
		ended.Store(true)
		return want("what is guarded", []driver.Company{newCompany(companyA)}).
			from(tx.Companies(inner, []uuid.UUID{companyA}))
	})
	if err != nil {
		return err
	}
	err, waitErr := wait(ctx, "an Update that takes a gate exclusively", exclusive)
	return errors.Join(err, waitErr)
}

func gateOpens(ctx context.Context, s driver.Store) error {
	for name, end := range endings() {
		end(ctx, s, driver.BeginOptions{Exclusive: []uuid.UUID{companyA, companyB}})
		soon, cancel := context.WithTimeout(ctx, patience/4)
		err := update(soon, s, func(context.Context, driver.Tx) error { return nil })
		cancel()
		if err != nil {
			return fmt.Errorf("take a gate exclusively after %s: %w", name, err)
		}
	}
	return nil
}

// endings returns the ways in which an Update can end.
func endings() map[string]func(ctx context.Context, s driver.Store, in driver.BeginOptions) {
	return map[string]func(context.Context, driver.Store, driver.BeginOptions){
		"a commit": func(ctx context.Context, s driver.Store, in driver.BeginOptions) {
			_ = enter(ctx, s, in, func(context.Context, driver.Tx) error { return nil })
		},
		"an error": func(ctx context.Context, s driver.Store, in driver.BeginOptions) {
			_ = enter(ctx, s, in, func(context.Context, driver.Tx) error { return errOwn })
		},
		"a swallowed error": func(ctx context.Context, s driver.Store, in driver.BeginOptions) {
			_ = enter(ctx, s, in, func(ctx context.Context, tx driver.Tx) error {
				_ = tx.UpdateCategory(ctx, newCategory(id(99), "missing"))
				return nil
			})
		},
		"a panic": func(ctx context.Context, s driver.Store, in driver.BeginOptions) {
			defer func() { _ = recover() }()
			_ = enter(ctx, s, in, func(context.Context, driver.Tx) error { panic(errOwn) })
		},
	}
}
