package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
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

func claim(keys ...string) ticketing.Entrance {
	in := ticketing.Entrance{Share: []uuid.UUID{companyA}}
	for _, key := range keys {
		in.Claim = append(in.Claim, resultRef(companyA, key))
	}
	return in
}

func freeKey(ctx context.Context, s ticketing.Store) error {
	for _, keys := range [][]string{nil, {"one"}, {"two", "three"}} {
		err := s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
			return want("claim what is free", make([]bool, len(keys))).from(tx.Enter(ctx, claim(keys...)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// claims enters for nothing but to see which keys are in flight, and does not wait for ever.
func claims(ctx context.Context, s ticketing.Store, in ticketing.Entrance) (inFlight []bool, err error) {
	soon, cancel := context.WithTimeout(ctx, patience/4)
	defer cancel()
	err = s.Update(soon, func(ctx context.Context, tx ticketing.Tx) error {
		inFlight, err = tx.Enter(ctx, in)
		return err
	})
	return inFlight, err
}

func allInFlight(ctx context.Context, s ticketing.Store) error {
	held := claim("one", "two")
	return enter(ctx, s, held, func(inner context.Context, tx ticketing.Tx) error {
		if err := tx.CreateCategory(inner, categoryRecord(id(10), "open")); err != nil {
			return err
		}
		for _, in := range []ticketing.Entrance{
			claim("one"), claim("two", "one"),
			// Not even the gate is waited for.
			{Close: []uuid.UUID{companyA}, Claim: held.Claim},
		} {
			all := slices.Repeat([]bool{true}, len(in.Claim))
			if err := want("claim what is in flight", all).from(claims(ctx, s, in)); err != nil {
				return err
			}
		}
		// What began nothing has claimed nothing, and let nothing go.
		if err := want("claim once more", []bool{true}).from(claims(ctx, s, claim("two"))); err != nil {
			return err
		}
		return want("the one that is open", []string{"open"}).from(slugs(inner, tx))
	})
}

// partlyInFlight claims one key of two while another Update holds it. Where writers wait for each other the second
// answers after the first has ended, and where it came too late for that it is tried again.
func partlyInFlight(ctx context.Context, s ticketing.Store) error {
	for n, pause := 10, window; pause < patience/4; n, pause = n+1, 2*pause {
		inFlight, err := partly(ctx, s, n, pause)
		if err != nil {
			return err
		}
		if slices.Equal(inFlight, []bool{false, true}) {
			return s.View(ctx, func(ctx context.Context, tx ticketing.ReadTx) error {
				return want("written by an Update of which one key was in flight",
					[]ticketing.CategoryRecord{categoryRecord(id(n), fmt.Sprint("slug-", n))},
				).from(tx.Categories(ctx, []uuid.UUID{id(n)}))
			})
		}
		if !slices.Equal(inFlight, []bool{false, false}) {
			return fmt.Errorf("got %v, want only the second key in flight", inFlight)
		}
	}
	return errors.New("a key that another Update holds is never in flight")
}

func partly(ctx context.Context, s ticketing.Store, n int, pause time.Duration) ([]bool, error) {
	var inFlight []bool
	var second <-chan error
	err := enter(ctx, s, claim("held"), func(context.Context, ticketing.Tx) error {
		done := make(chan error, 1)
		second = done
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			done <- s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
				var err error
				if inFlight, err = tx.Enter(ctx, claim("free", "held")); err != nil {
					return err
				}
				return tx.CreateCategory(ctx, categoryRecord(id(n), fmt.Sprint("slug-", n)))
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

func claimEnds(ctx context.Context, s ticketing.Store) error {
	for name, end := range endings() {
		end(ctx, s, claim("one", "two"))
		err := want("claim a key after "+name, []bool{false, false}).from(claims(ctx, s, claim("two", "one")))
		if err != nil {
			return err
		}
	}
	return nil
}

func claimScope(ctx context.Context, s ticketing.Store) error {
	elsewhere := []ticketing.ResultRef{
		{CompanyID: companyB, Operation: "checkouts.create", Key: "one"},
		{CompanyID: companyA, Operation: "events.create", Key: "one"},
		{CompanyID: companyA, Operation: "checkouts.create", Key: "One"},
	}
	all := slices.Concat(claim("one").Claim, elsewhere)
	err := want("keys that differ in one member", make([]bool, len(all))).
		from(claims(ctx, s, ticketing.Entrance{Claim: all}))
	return err
}
