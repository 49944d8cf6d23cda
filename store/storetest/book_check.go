package storetest

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func newBookCheck(companyID uuid.UUID, ms int) driver.BookCheck {
	return driver.BookCheck{CompanyID: companyID, VerifiedAt: at(ms), Entries: 1 << 40, Problems: 3}
}

func putBookChecks(checks ...driver.BookCheck) writes {
	return func(ctx context.Context, tx driver.Tx) error { return tx.PutBookChecks(ctx, checks) }
}

func bookCheckKinds() []record {
	kept := newBookCheck(companyA, 20)
	holds := func(found driver.BookCheck) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return want("BookChecks", []driver.BookCheck{found}).from(tx.BookChecks(ctx, []uuid.UUID{companyA}))
		}
	}
	return []record{{
		name: "book checks", create: putBookChecks(kept), created: holds(kept), absent: holds(driver.BookCheck{}),
	}}
}

func verifiedBookChecks() []Check {
	return []Check{
		{"book checks/answers are aligned", grounded(bookChecksAligned)},
		{"book checks/the latest one is kept", grounded(latestBookCheck)},
	}
}

func bookChecksAligned(ctx context.Context, s driver.Store) error {
	a, b := newBookCheck(companyA, 20), newBookCheck(companyB, 30)
	if err := update(ctx, s, putBookChecks(b, a)); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []driver.BookCheck{b, {}, a, b}).
				from(tx.BookChecks(ctx, []uuid.UUID{companyB, id(90), companyA, companyB})),
			want("none", []driver.BookCheck(nil)).from(tx.BookChecks(ctx, nil)),
		)
	})
}

func latestBookCheck(ctx context.Context, s driver.Store) error {
	first, later, other := newBookCheck(companyA, 20), newBookCheck(companyA, 30), newBookCheck(companyB, 20)
	later.Entries, later.Problems = 7, 0
	again := later
	again.Problems = 5
	holds := func(kept driver.BookCheck) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("the latest", []driver.BookCheck{kept, other}).
				from(tx.BookChecks(ctx, []uuid.UUID{companyA, companyB}))
		})
	}
	return steps(
		func() error { return update(ctx, s, putBookChecks(first, other)) },
		func() error { return failing(ctx, s, putBookChecks(later)) },
		func() error { return holds(first) },
		func() error { return update(ctx, s, putBookChecks(later)) },
		func() error { return holds(later) },
		func() error { return update(ctx, s, putBookChecks(first)) },
		func() error { return holds(later) },
		func() error { return update(ctx, s, putBookChecks(again)) },
		func() error { return holds(again) },
	)
}
