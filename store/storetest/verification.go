package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func newCase(companyID uuid.UUID, number int64) driver.VerificationCase {
	return driver.VerificationCase{
		CompanyID: companyID, Number: number, Status: driver.VerificationUnverified,
		Facts: driver.VerificationFacts{
			LegalName: awkward, RegistrationNumber: "RC 1", Country: "NG", Address: awkward + "\nLagos",
			ContactName: awkward, ContactEmail: "ada@example.com", ContactPhone: "+234",
		},
		CreatedAt: at(14), UpdatedAt: at(15),
	}
}

func caseKinds() []record {
	draft := newCase(companyA, 1)
	holds := func(listed ...driver.VerificationCase) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return want("ListVerificationCases", listed).from(tx.ListVerificationCases(ctx, companyA, 9))
		}
	}
	return []record{{
		name: "verification cases", created: holds(draft), absent: holds(),
		create: func(ctx context.Context, tx driver.Tx) error { return tx.PutVerificationCase(ctx, draft) },
	}}
}

func caseChecks() []Check {
	return []Check{
		{"verification cases/a case is put again", grounded(casePutAgain)},
		{"verification cases/list is in order and of its company", grounded(casesListed)},
	}
}

func casePutAgain(ctx context.Context, s driver.Store) error {
	draft := newCase(companyA, 1)
	decided := draft
	decided.Status, decided.Reason, decided.Facts = driver.VerificationRejected, awkward, driver.VerificationFacts{
		LegalName: "a", RegistrationNumber: "b", Country: "GH", Address: "c", ContactName: "d",
		ContactEmail: "e@example.com", ContactPhone: "f",
	}
	decided.SubmittedAt, decided.DecidedAt, decided.CreatedAt, decided.UpdatedAt = at(20), at(21), at(22), at(23)
	keep := func(record driver.VerificationCase) writes {
		return func(ctx context.Context, tx driver.Tx) error { return tx.PutVerificationCase(ctx, record) }
	}
	lists := func(record driver.VerificationCase) error {
		record.CreatedAt = draft.CreatedAt // The first one stays.
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("list", []driver.VerificationCase{record}).
				from(tx.ListVerificationCases(ctx, companyA, 9))
		})
	}
	return steps(
		func() error { return update(ctx, s, keep(draft)) },
		func() error { return failing(ctx, s, keep(decided)) },
		func() error { return lists(draft) },
		func() error { return update(ctx, s, keep(decided)) },
		func() error { return lists(decided) },
	)
}

func casesListed(ctx context.Context, s driver.Store) error {
	one, two, ten := newCase(companyA, 1), newCase(companyA, 2), newCase(companyA, 10)
	other := newCase(companyB, 3)
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, record := range []driver.VerificationCase{two, other, ten, one} {
			if err := tx.PutVerificationCase(ctx, record); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("put: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("whole", []driver.VerificationCase{ten, two, one}).
				from(tx.ListVerificationCases(ctx, companyA, 3)),
			want("the newest", []driver.VerificationCase{ten}).from(tx.ListVerificationCases(ctx, companyA, 1)),
			want("of the other company", []driver.VerificationCase{other}).
				from(tx.ListVerificationCases(ctx, companyB, 9)),
			want("of none", []driver.VerificationCase(nil)).from(tx.ListVerificationCases(ctx, id(90), 9)),
		)
	})
}
