package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Two users. Most checks keep records of the first.
var (
	userA = id(10)
	userB = id(20)
)

// owned describes records of users, any number for each, that are put and removed.
type owned[R any] struct {
	name string
	// one returns the n-th record of a user, made at a time. Records are ordered by n.
	one func(userID uuid.UUID, n, madeAt int) R
	// other changes every field but the key. made gives it the time of creation of another record.
	other func(record R) R
	made  func(record, like R) R

	put    func(ctx context.Context, tx driver.Tx, record R) error
	remove func(ctx context.Context, tx driver.Tx, userID uuid.UUID, records []R) error
	find   func(ctx context.Context, tx driver.ReadTx, records []R) ([]R, error)
	list   func(ctx context.Context, tx driver.ReadTx, userID uuid.UUID, limit int) ([]R, error)
	// newestFirst is set if the list is in the reverse order of time and id.
	newestFirst bool
}

func (o owned[R]) kind() record {
	one := o.one(userA, 1, 3)
	holds := func(found R, listed ...R) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			kept, findErr := o.find(ctx, tx, []R{one})
			list, listErr := o.list(ctx, tx, userA, 9)
			return errors.Join(want("find", []R{found}).from(kept, findErr), want("list", listed).from(list, listErr))
		}
	}
	var none R
	return record{name: o.name, create: o.puts(one), created: holds(one, one), absent: holds(none)}
}

func (o owned[R]) checks() []Check {
	return []Check{
		{o.name + "/answers are aligned and of their user", grounded(o.aligned)},
		{o.name + "/list is in order and of its user", grounded(o.listed)},
		{o.name + "/one is replaced but for its time of creation", grounded(o.replaced)},
		{o.name + "/those that are removed are gone, and no others", grounded(o.removed)},
	}
}

func (o owned[R]) puts(records ...R) writes {
	return func(ctx context.Context, tx driver.Tx) error {
		for _, record := range records {
			if err := o.put(ctx, tx, record); err != nil {
				return err
			}
		}
		return nil
	}
}

func (o owned[R]) removes(userID uuid.UUID, records ...R) writes {
	return func(ctx context.Context, tx driver.Tx) error { return o.remove(ctx, tx, userID, records) }
}

func (o owned[R]) aligned(ctx context.Context, s driver.Store) error {
	a, b, c := o.one(userA, 1, 3), o.one(userB, 1, 4), o.one(userB, 2, 5)
	if err := update(ctx, s, o.puts(c, a, b)); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		var none R
		found, err := o.find(ctx, tx, []R{b, o.one(userA, 2, 5), a, c, b, o.one(id(90), 1, 3)})
		one, oneErr := o.find(ctx, tx, []R{c})
		nothing, nothingErr := o.find(ctx, tx, nil)
		return errors.Join(
			want("with gaps and out of order", []R{b, none, a, c, b, none}).from(found, err),
			want("one", []R{c}).from(one, oneErr),
			want("none", []R(nil)).from(nothing, nothingErr),
		)
	})
}

// listed has records with the same time, and a record whose id is not in the order of the times.
func (o owned[R]) listed(ctx context.Context, s driver.Store) error {
	all := []R{o.one(userA, 5, 3), o.one(userA, 1, 4), o.one(userA, 2, 4), o.one(userA, 3, 4), o.one(userA, 4, 6)}
	err := update(ctx, s, o.puts(all[3], all[0], all[4], all[1], o.one(userB, 1, 5), all[2]))
	if err != nil {
		return err
	}
	if o.newestFirst {
		slices.Reverse(all)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		var errs []error
		for _, limit := range []int{9, 5, 3, 1, 0} {
			list, err := o.list(ctx, tx, userA, limit)
			errs = append(errs, want(fmt.Sprintf("%d at most", limit), all[:min(limit, len(all))]).from(list, err))
		}
		none, err := o.list(ctx, tx, id(90), 9)
		return errors.Join(append(errs, want("of none", []R(nil)).from(none, err))...)
	})
}

func (o owned[R]) replaced(ctx context.Context, s driver.Store) error {
	first, beside := o.one(userA, 1, 3), o.one(userB, 1, 3)
	changed := o.other(first)
	kept := o.made(changed, first)
	holds := func(what string, record R) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				found, err := o.find(ctx, tx, []R{first, beside})
				list, listErr := o.list(ctx, tx, userA, 9)
				return errors.Join(
					want(what, []R{record, beside}).from(found, err), want(what+", listed", []R{record}).from(list, listErr),
				)
			})
		}
	}
	return steps(
		func() error { return update(ctx, s, o.puts(first, beside)) },
		func() error { return failing(ctx, s, o.puts(changed)) },
		holds("in an Update that failed", first),
		func() error { return update(ctx, s, o.puts(changed)) },
		holds("replaced", kept),
		func() error { return update(ctx, s, o.puts(first)) },
		holds("replaced again", first),
	)
}

// removed removes records along with one that never existed, and tries to remove one of another user.
func (o owned[R]) removed(ctx context.Context, s driver.Store) error {
	a, b, c, beside := o.one(userA, 1, 3), o.one(userA, 2, 4), o.one(userA, 3, 5), o.one(userB, 1, 3)
	holds := func(what string, listed ...R) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				list, err := o.list(ctx, tx, userA, 9)
				other, otherErr := o.list(ctx, tx, userB, 9)
				return errors.Join(
					want(what, listed).from(list, err), want(what+", of another", []R{beside}).from(other, otherErr),
				)
			})
		}
	}
	all := []R{a, b, c}
	if o.newestFirst {
		slices.Reverse(all)
	}
	again := o.other(a)
	return steps(
		func() error { return update(ctx, s, o.puts(a, b, c, beside)) },
		func() error { return failing(ctx, s, o.removes(userA, a, b)) },
		holds("in an Update that failed", all...),
		func() error { return update(ctx, s, o.removes(userA)) },
		holds("without any", all...),
		func() error { return update(ctx, s, o.removes(userA, a, o.one(userA, 5, 3), c)) },
		holds("after two were removed", b),
		func() error { return update(ctx, s, o.removes(userB, b)) },
		holds("by another user", b),
		func() error { return update(ctx, s, o.removes(userA, a, b)) },
		holds("after all were removed"),
		func() error { return update(ctx, s, o.puts(again)) },
		holds("made again", again), // With its own time of creation.
	)
}

func accountKinds() []record {
	return []record{ownedSessions().kind(), ownedTokens().kind(), ownedPasskeys().kind(), staffKind()}
}

func accountChecks() []Check {
	return slices.Concat(ownedSessions().checks(), ownedTokens().checks(), ownedPasskeys().checks(), []Check{
		{"sessions/the latest use is kept", grounded(sessionsTouched)},
		{"sessions/their users were last seen", grounded(usersSeen)},
		{"sessions/one that has ended stays ended", grounded(endedSessions)},
		{"sessions/the latest of several uses at once is kept", grounded(sessionsTouchedAtOnce)},
		{"sessions/are sound", grounded(sessionsSound)},
		{"sign-in tokens/are sound", grounded(tokensSound)},
		{"sign-in tokens/one that leads nowhere and was not used", grounded(plainTokens)},
		{"passkeys/are sound", grounded(passkeysSound)},
		{"passkeys/one that was not used", grounded(plainPasskeys)},
	}, staffChecks())
}
