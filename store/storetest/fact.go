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

func outboxKinds() []record {
	kept := newFact(companyA, 10, at(0))
	holds := func(listed ...driver.Fact) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			var due []driver.DueWork
			if len(listed) > 0 {
				due = []driver.DueWork{{Kind: driver.WorkDispatch, CompanyID: companyA, Since: kept.At}}
			}
			return errors.Join(
				want("ListFacts", listed).from(tx.ListFacts(ctx, companyA, driver.Position{}, 9)),
				want("DueWork", due).from(tx.DueWork(ctx, driver.WorkQuery{
					At: at(1), After: []driver.DueWork{{Kind: driver.WorkDispatch}}, Limit: 9,
				})),
			)
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendFacts(ctx, []driver.Fact{kept})
	}
	return []record{{
		name: "facts", create: create, created: holds(kept), absent: holds(),
		taken: map[string]writes{"id": create},
	}}
}

func outboxChecks() []Check {
	return []Check{
		{"facts/list is in order and in pages", grounded(factsListed)},
		{"facts/a lease keeps others away until it runs out", grounded(factsLeased)},
		{"facts/what is handled is not leased again", grounded(factsCompleted)},
		{"facts/a lease is taken back", grounded(leaseTakenBack)},
		{"facts/a fact is leased once", grounded(factsLeasedOnce)},
		{"facts/companies that have something due", grounded(companiesDue)},
		{"facts/go from dispatch to publication", grounded(factsDispatched)},
		{"facts/are taken by one at a time", grounded(factsTakenOnce)},
		{"facts/old ones that are handled are removed", grounded(factsPruned)},
	}
}

// appendFacts appends facts that are dispatched.
func appendFacts(ctx context.Context, s driver.Store, facts ...driver.Fact) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(tx.AppendFacts(ctx, facts), tx.DispatchFacts(ctx, facts, false))
	})
	if err != nil {
		return fmt.Errorf("append facts: %w", err)
	}
	return nil
}

// lease leases facts of company A, at a time and for one second.
func lease(ctx context.Context, s driver.Store, when time.Time, limit int) ([]driver.Fact, error) {
	var taken []driver.Fact
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		var err error
		taken, err = tx.LeaseFacts(ctx, companyA, when, when.Add(time.Second), limit)
		return err
	})
	return taken, err
}

func complete(ctx context.Context, s driver.Store, facts ...driver.Fact) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.CompleteFacts(ctx, facts) })
	if err != nil {
		return fmt.Errorf("complete facts: %w", err)
	}
	return nil
}

// someFacts returns four facts of company A in order; the middle ones share a time.
func someFacts() []driver.Fact {
	facts := []driver.Fact{
		newFact(companyA, 19, at(1)), newFact(companyA, 12, at(2)), newFact(companyA, 13, at(2)),
		newFact(companyA, 11, at(3)),
	}
	facts[0].Type, facts[1].Type = driver.FactTicketValidated, driver.FactTicketEmail
	return facts
}

func factsListed(ctx context.Context, s driver.Store) error {
	facts := someFacts()
	other := newFact(companyB, 12, at(2))
	if err := appendFacts(ctx, s, facts[3], facts[2], other, facts[0], facts[1]); err != nil {
		return err
	}
	if err := complete(ctx, s, facts[1]); err != nil {
		return err
	}
	if _, err := lease(ctx, s, at(9), 1); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		err := pages(facts, func(after *driver.Fact, limit int) ([]driver.Fact, error) {
			var from driver.Position
			if after != nil {
				from = driver.Position{At: after.At, ID: after.ID}
			}
			return tx.ListFacts(ctx, companyA, from, limit)
		})
		return errors.Join(err,
			want("of another company", []driver.Fact{other}).from(tx.ListFacts(ctx, companyB, driver.Position{}, 9)),
			want("of no company", []driver.Fact(nil)).from(tx.ListFacts(ctx, id(90), driver.Position{}, 9)),
		)
	})
}

func factsLeased(ctx context.Context, s driver.Store) error {
	facts := someFacts()
	if err := appendFacts(ctx, s, append([]driver.Fact{newFact(companyB, 10, at(0))}, facts...)...); err != nil {
		return err
	}
	now := at(100)
	return errors.Join(
		want("the oldest two", facts[:2]).from(lease(ctx, s, now, 2)),
		want("the rest", facts[2:]).from(lease(ctx, s, now.Add(500*time.Millisecond), 9)),
		want("while all are leased", []driver.Fact(nil)).from(lease(ctx, s, now.Add(999*time.Millisecond), 9)),
		want("when the first lease ran out", facts[:2]).from(lease(ctx, s, now.Add(1001*time.Millisecond), 9)),
		want("when the second lease ran out", facts[2:]).from(lease(ctx, s, now.Add(1501*time.Millisecond), 9)),
	)
}

func factsCompleted(ctx context.Context, s driver.Store) error {
	facts := someFacts()
	if err := appendFacts(ctx, s, facts...); err != nil {
		return err
	}
	if err := want("all", facts).from(lease(ctx, s, at(100), 9)); err != nil {
		return err
	}
	if err := complete(ctx, s, facts[2], facts[0]); err != nil {
		return err
	}
	later := at(100).Add(time.Hour)
	if err := want("those not handled", []driver.Fact{facts[1], facts[3]}).from(lease(ctx, s, later, 9)); err != nil {
		return err
	}
	// A fact that another worker handled meanwhile is no error.
	if err := complete(ctx, s, facts...); err != nil {
		return err
	}
	return errors.Join(
		want("when all are handled", []driver.Fact(nil)).from(lease(ctx, s, later.Add(time.Hour), 9)),
		everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("handled facts", facts).from(tx.ListFacts(ctx, companyA, driver.Position{}, 9))
		}),
	)
}

func leaseTakenBack(ctx context.Context, s driver.Store) error {
	facts := someFacts()
	if err := appendFacts(ctx, s, facts...); err != nil {
		return err
	}
	err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		taken, err := tx.LeaseFacts(ctx, companyA, at(100), at(9000), 9)
		if err := want("leased", facts).from(taken, err); err != nil {
			return err
		}
		again, err := tx.LeaseFacts(ctx, companyA, at(100), at(9000), 9)
		if err := want("leased again", []driver.Fact(nil)).from(again, err); err != nil {
			return err
		}
		return tx.CompleteFacts(ctx, taken[:2])
	})
	if err != nil {
		return err
	}
	waiting := func(ctx context.Context, tx driver.ReadTx) ([]uuid.UUID, error) {
		return companiesToTell(ctx, tx, at(100), 9)
	}
	return errors.Join(
		want("companies", []uuid.UUID{companyA}).from(read(ctx, s, waiting)),
		want("after an Update that failed", facts).from(lease(ctx, s, at(100), 9)),
	)
}

// factsLeasedOnce leases concurrently: no fact is leased twice.
func factsLeasedOnce(ctx context.Context, s driver.Store) error {
	var facts []driver.Fact
	for i := range 30 {
		facts = append(facts, newFact(companyA, 100+i, at(i)))
	}
	if err := appendFacts(ctx, s, facts...); err != nil {
		return err
	}
	all, err := takenAtOnce(ctx, func(limit int) ([]driver.Fact, error) { return lease(ctx, s, at(100), limit) })
	slices.SortFunc(all, func(a, b driver.Fact) int { return a.At.Compare(b.At) })
	return want("leased by anybody", facts).from(all, err)
}

// companiesToTell returns the companies with facts to publish at a time.
func companiesToTell(ctx context.Context, tx driver.ReadTx, when time.Time, limit int) ([]uuid.UUID, error) {
	work, err := tx.DueWork(ctx, driver.WorkQuery{
		At: when, After: []driver.DueWork{{Kind: driver.WorkPublish}}, Limit: limit,
	})
	var companies []uuid.UUID
	for _, due := range work {
		companies = append(companies, due.CompanyID)
	}
	return companies, err
}

func companiesDue(ctx context.Context, s driver.Store) error {
	due := func(when time.Time, limit int) ([]uuid.UUID, error) {
		return read(ctx, s, func(ctx context.Context, tx driver.ReadTx) ([]uuid.UUID, error) {
			return companiesToTell(ctx, tx, when, limit)
		})
	}
	if err := want("of nothing", []uuid.UUID(nil)).from(due(at(100), 9)); err != nil {
		return err
	}
	a, b := []driver.Fact{newFact(companyA, 10, at(0)), newFact(companyA, 11, at(1))}, newFact(companyB, 10, at(2))
	if err := appendFacts(ctx, s, a[0], a[1], b); err != nil {
		return err
	}
	now := at(100)
	step := func(expected string, companies ...uuid.UUID) func() error {
		return func() error { return want(expected, companies).from(due(now, 9)) }
	}
	leases := func(limit int) func() error {
		return func() error {
			_, err := lease(ctx, s, now, limit)
			return err
		}
	}
	return steps(
		step("both", companyA, companyB),
		func() error { return want("at most one", 1).from(count(due(now, 1))) },
		leases(1), step("one of two facts is leased", companyA, companyB),
		leases(1), step("all of one company are leased", companyB),
		func() error { now = now.Add(1001 * time.Millisecond); return nil },
		step("the leases ran out", companyA, companyB),
		func() error { return complete(ctx, s, a...) }, step("all of one company are handled", companyB),
		func() error { return complete(ctx, s, b) }, step("all are handled"),
		func() error { return appendFacts(ctx, s, newFact(companyA, 12, at(3))) }, step("a new one", companyA),
	)
}

// take takes undispatched facts of company A, and calls then with them.
func take(
	ctx context.Context, s driver.Store, limit int,
	then func(ctx context.Context, tx driver.Tx, taken []driver.Fact) error,
) ([]driver.Fact, error) {
	var taken []driver.Fact
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		var err error
		if taken, err = tx.TakeFacts(ctx, companyA, limit); err != nil || then == nil {
			return err
		}
		return then(ctx, tx, taken)
	})
	return taken, err
}

func factsDispatched(ctx context.Context, s driver.Store) error {
	facts := someFacts()
	other := newFact(companyB, 12, at(2))
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendFacts(ctx, []driver.Fact{facts[3], facts[2], other, facts[0], facts[1]})
	})
	if err != nil {
		return err
	}
	dispatch := func(handled bool) func(context.Context, driver.Tx, []driver.Fact) error {
		return func(ctx context.Context, tx driver.Tx, taken []driver.Fact) error {
			return tx.DispatchFacts(ctx, taken, handled)
		}
	}
	none := []driver.Fact(nil)
	return steps(
		func() error { return want("leased before dispatch", none).from(lease(ctx, s, at(100), 9)) },
		// A fact that was taken and not dispatched can be taken again.
		func() error { return want("taken", facts[:3]).from(take(ctx, s, 3, nil)) },
		func() error {
			err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.DispatchFacts(ctx, facts, false)
			})
			return errors.Join(err, want("leased after an Update that failed", none).from(lease(ctx, s, at(100), 9)))
		},
		func() error { return want("taken to be published", facts[:2]).from(take(ctx, s, 2, dispatch(false))) },
		func() error { return want("taken to nobody", facts[2:3]).from(take(ctx, s, 1, dispatch(true))) },
		func() error { return want("leased", facts[:2]).from(lease(ctx, s, at(100), 9)) },
		func() error { return complete(ctx, s, facts[0]) },
		// A fact that is handled stays so.
		func() error {
			return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.DispatchFacts(ctx, facts[:3], false)
			})
		},
		func() error { return want("leased again", facts[1:2]).from(lease(ctx, s, at(9000), 9)) },
		func() error { return want("the last one", facts[3:]).from(take(ctx, s, 9, dispatch(true))) },
		func() error { return want("no more", none).from(take(ctx, s, 9, nil)) },
		func() error {
			return misses("dispatch what is missing", share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.DispatchFacts(ctx, []driver.Fact{newFact(companyA, 90, at(90))}, false)
			}))
		},
	)
}

// factsTakenOnce takes and dispatches concurrently: no fact is taken twice.
func factsTakenOnce(ctx context.Context, s driver.Store) error {
	var facts []driver.Fact
	for i := range 30 {
		facts = append(facts, newFact(companyA, 100+i, at(i)))
	}
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendFacts(ctx, facts) })
	if err != nil {
		return err
	}
	dispatch := func(ctx context.Context, tx driver.Tx, taken []driver.Fact) error {
		return tx.DispatchFacts(ctx, taken, false)
	}
	all, err := takenAtOnce(ctx, func(limit int) ([]driver.Fact, error) { return take(ctx, s, limit, dispatch) })
	slices.SortFunc(all, func(a, b driver.Fact) int { return a.At.Compare(b.At) })
	return want("taken by anybody", facts).from(all, err)
}

func factsPruned(ctx context.Context, s driver.Store) error {
	var facts []driver.Fact
	for i := range 6 {
		facts = append(facts, newFact(companyA, 10+i, at(i)))
	}
	other := newFact(companyB, 10, at(0))
	// The third waits for dispatch. The fourth and those after it must stay because of it.
	err := errors.Join(
		appendFacts(ctx, s, facts[0], facts[1], facts[3], facts[4], facts[5], other),
		share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendFacts(ctx, facts[2:3]) }),
		complete(ctx, s, facts[0], facts[1], facts[3], facts[4], facts[5], other),
	)
	if err != nil {
		return err
	}
	prune := func(limit int) (pruned int, err error) {
		err = share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			pruned, err = tx.PruneFacts(ctx, companyA, at(5), limit)
			return err
		})
		return pruned, err
	}
	left := func(left ...driver.Fact) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("left", left).from(tx.ListFacts(ctx, companyA, driver.Position{}, 9)),
				want("of another company", []driver.Fact{other}).from(tx.ListFacts(ctx, companyB, driver.Position{}, 9)),
			)
		})
	}
	err = failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return want("removed in an Update that fails", 2).from(tx.PruneFacts(ctx, companyA, at(5), 9))
	})
	return errors.Join(err,
		left(facts...),
		want("what is older than the first that waits", 2).from(prune(9)), left(facts[2:]...),
		want("none that is newer", 0).from(prune(9)),
		share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.DispatchFacts(ctx, facts[2:3], false) }),
		want("none that was not published", 0).from(prune(9)), left(facts[2:]...),
		share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.CompleteFacts(ctx, facts[2:3]) }),
		want("the oldest two", 2).from(prune(2)), left(facts[4:]...),
		want("the rest", 1).from(prune(9)), left(facts[5]),
		want("no more", 0).from(prune(9)),
	)
}
