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
		{"verification cases/submitted ones of all companies, longest waiting first", grounded(casesWaiting)},
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

func casesWaiting(ctx context.Context, s driver.Store) error {
	// Three share a time, and the ids do not ascend with the times.
	order := []place{{4, 10}, {3, 20}, {5, 20}, {6, 20}, {1, 30}, {2, 40}}
	put := func(cases ...driver.VerificationCase) writes {
		return func(ctx context.Context, tx driver.Tx) error {
			for _, record := range cases {
				if err := tx.PutVerificationCase(ctx, record); err != nil {
					return err
				}
			}
			return nil
		}
	}
	var waiting []driver.VerificationCase
	for i, place := range order {
		decided, submitted := newCase(id(place.id), int64(i+1)), newCase(id(place.id), int64(i+2))
		decided.Status, decided.SubmittedAt, decided.DecidedAt = driver.VerificationApproved, at(1), at(2)
		submitted.Status, submitted.SubmittedAt = driver.VerificationSubmitted, at(place.ms)
		waiting = append(waiting, decided, submitted)
	}
	draft := newCase(id(7), 1)
	lists := func(order []place) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return pages(order, func(after *place, limit int) ([]place, error) {
					var from driver.Position
					if after != nil {
						from = after.position()
					}
					found, err := tx.ListSubmittedCases(ctx, from, limit)
					return placesOf(found, err, func(c driver.VerificationCase) (time.Time, uuid.UUID) {
						return c.SubmittedAt, c.CompanyID
					})
				})
			})
		}
	}
	rejected := waiting[3]
	rejected.Status, rejected.DecidedAt = driver.VerificationRejected, at(50)
	again := waiting[1]
	again.SubmittedAt = at(60)
	return steps(
		func() error { return failing(ctx, s, put(waiting...)) },
		lists(nil),
		func() error { return update(ctx, s, put(append(waiting, draft)...)) },
		lists(order),
		func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want("the case", []driver.VerificationCase{waiting[1]}).
					from(tx.ListSubmittedCases(ctx, driver.Position{}, 1))
			})
		},
		func() error { return failing(ctx, s, put(rejected)) },
		lists(order),
		func() error { return update(ctx, s, put(rejected, again)) },
		lists(append(slices.Clone(order[2:]), place{4, 60})),
	)
}
