package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func claimChecks() []Check {
	return []Check{
		{"claims/a free key is not in flight", freeKey},
		{"claims/all in flight answers at once and begins nothing", allInFlight},
		{"claims/partly in flight goes on", partlyInFlight},
		{"claims/a key ends with its Update, whatever its end", claimEnds},
		{"claims/a key is claimed in its company and operation", claimScope},
	}
}

func claim(keys ...string) driver.BeginOptions {
	in := driver.BeginOptions{Shared: []uuid.UUID{companyA}}
	for _, key := range keys {
		in.Keys = append(in.Keys, resultRef(companyA, key))
	}
	return in
}

func freeKey(ctx context.Context, s driver.Store) error {
	for _, keys := range [][]string{nil, {"one"}, {"two", "three"}} {
		err := s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			return want("claim what is free", make([]bool, len(keys))).from(tx.Begin(ctx, claim(keys...)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// claims begins an Update only to see which keys are in flight. It does not wait for ever.
func claims(ctx context.Context, s driver.Store, in driver.BeginOptions) (inFlight []bool, err error) {
	soon, cancel := context.WithTimeout(ctx, patience/4)
	defer cancel()
	err = s.Update(soon, func(ctx context.Context, tx driver.Tx) error {
		inFlight, err = tx.Begin(ctx, in)
		return err
	})
	return inFlight, err
}

func allInFlight(ctx context.Context, s driver.Store) error {
	held := claim("one", "two")
	return enter(ctx, s, held, func(inner context.Context, tx driver.Tx) error {
		if err := tx.CreateCategory(inner, newCategory(id(10), "open")); err != nil {
			return err
		}
		for _, in := range []driver.BeginOptions{
			claim("one"), claim("two", "one"),
			// This must not even wait for the gate.
			{Exclusive: []uuid.UUID{companyA}, Keys: held.Keys},
		} {
			all := slices.Repeat([]bool{true}, len(in.Keys))
			if err := want("claim what is in flight", all).from(claims(ctx, s, in)); err != nil {
				return err
			}
		}
		// An Update that began nothing has neither claimed nor released a key.
		if err := want("claim once more", []bool{true}).from(claims(ctx, s, claim("two"))); err != nil {
			return err
		}
		return want("the one that is open", []string{"open"}).from(slugs(inner, tx))
	})
}

// partlyInFlight claims one key of two while another Update holds it. In a store whose writers wait for each other, the
// second Update returns after the first has ended. If it came too late to find the key in flight, the check is
// repeated.
func partlyInFlight(ctx context.Context, s driver.Store) error {
	for n, pause := 10, window; pause < patience/4; n, pause = n+1, 2*pause {
		inFlight, err := partly(ctx, s, n, pause)
		if err != nil {
			return err
		}
		if slices.Equal(inFlight, []bool{false, true}) {
			return s.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
				return want("written by an Update of which one key was in flight",
					[]driver.Category{newCategory(id(n), fmt.Sprint("slug-", n))},
				).from(tx.Categories(ctx, []uuid.UUID{id(n)}))
			})
		}
		if !slices.Equal(inFlight, []bool{false, false}) {
			return fmt.Errorf("got %v, want only the second key in flight", inFlight)
		}
	}
	return errors.New("a key that another Update holds is never in flight")
}

func partly(ctx context.Context, s driver.Store, n int, pause time.Duration) ([]bool, error) {
	var inFlight []bool
	var second <-chan error
	err := enter(ctx, s, claim("held"), func(context.Context, driver.Tx) error {
		done := make(chan error, 1)
		second = done
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			done <- s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
				var err error
				if inFlight, err = tx.Begin(ctx, claim("free", "held")); err != nil {
					return err
				}
				return tx.CreateCategory(ctx, newCategory(id(n), fmt.Sprint("slug-", n)))
			})
		}()
		linger(ended, pause)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err, waitErr := wait(ctx, "an Update of which one key is in flight", second)
	if err := errors.Join(err, waitErr); err != nil {
		return nil, fmt.Errorf("an Update of which one key is in flight: %w", err)
	}
	return inFlight, nil
}

func claimEnds(ctx context.Context, s driver.Store) error {
	for name, end := range endings() {
		end(ctx, s, claim("one", "two"))
		err := want("claim a key after "+name, []bool{false, false}).from(claims(ctx, s, claim("two", "one")))
		if err != nil {
			return err
		}
	}
	return nil
}

func claimScope(ctx context.Context, s driver.Store) error {
	elsewhere := []driver.IdempotencyKey{
		{CompanyID: companyB, Operation: "checkouts.create", Key: "one"},
		{CompanyID: companyA, Operation: "events.create", Key: "one"},
		{CompanyID: companyA, Operation: "checkouts.create", Key: "One"},
	}
	all := slices.Concat(claim("one").Keys, elsewhere)
	err := want("keys that differ in one member", make([]bool, len(all))).
		from(claims(ctx, s, driver.BeginOptions{Keys: all}))
	return err
}
