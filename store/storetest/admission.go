package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func admissionKinds() []record {
	kept := newAdmission(eventA, 7, 1)
	ref := driver.AdmissionRef{CompanyID: companyA, ID: kept.ID}
	changed := kept
	changed.Voided, changed.ValidationID, changed.ValidatedAt, changed.Location = true, id(60), at(61), awkward
	holds := func(found driver.Admission, lines ...driver.Admission) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("Admissions", []driver.Admission{found}).
					from(tx.Admissions(ctx, []driver.AdmissionRef{ref})),
				want("OrderLines", lines).
					from(tx.OrderLines(ctx, []driver.OrderNumber{{CompanyID: companyA, Number: 7}})),
			)
		}
	}
	put := func(admission driver.Admission) writes {
		return func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendAdmissions(ctx, []driver.Admission{admission})
		}
	}
	sameLine, sameID := newAdmission(eventA, 7, 2), newAdmission(eventA, 7, 2)
	sameLine.Line, sameID.ID = kept.Line, kept.ID
	return []record{{
		name: "admissions", create: put(kept), created: holds(kept, kept), absent: holds(driver.Admission{}),
		change: func(ctx context.Context, tx driver.Tx) error {
			if err := want("LockAdmissions", 1).
				from(count(tx.LockAdmissions(ctx, []driver.AdmissionRef{ref}))); err != nil {
				return err
			}
			// Everything but the validation and Voided must stay unchanged.
			other := changed
			other.Title, other.UnitPrice, other.Tier, other.Batch, other.LineID = "other", 1, "other", 9, id(62)
			return tx.UpdateAdmissions(ctx, []driver.Admission{other})
		},
		changed: holds(changed, changed),
		taken:   map[string]writes{"line": put(sameLine), "id": put(sameID)},
	}}
}

func admissionChecks() []Check {
	return []Check{
		{"admissions/answers are aligned and of their company", grounded(admissionsAligned)},
		{"admissions/lines of orders are in order", grounded(orderLines)},
		{"admissions/a validation is taken back", grounded(validationCleared)},
		{"buyers/new and known ones", grounded(buyersPut)},
	}
}

func appendAdmissions(ctx context.Context, s driver.Store, admissions ...driver.Admission) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendAdmissions(ctx, admissions) })
	if err != nil {
		return fmt.Errorf("append admissions: %w", err)
	}
	return nil
}

func admissionsAligned(ctx context.Context, s driver.Store) error {
	a, b := newAdmission(eventA, 1, 1), newAdmission(eventB, 2, 1)
	if err := appendAdmissions(ctx, s, a, b); err != nil {
		return err
	}
	refs := []driver.AdmissionRef{
		{CompanyID: companyB, ID: b.ID},
		{CompanyID: companyA, ID: b.ID},
		{CompanyID: companyA, ID: a.ID},
		{},
	}
	answer := []driver.Admission{b, {}, a, {}}
	err := everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps and out of order", answer).from(tx.Admissions(ctx, refs)),
			want("none", []driver.Admission(nil)).from(tx.Admissions(ctx, nil)),
		)
	})
	if err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return want("locked", answer).from(tx.LockAdmissions(ctx, refs))
	})
}

func orderLines(ctx context.Context, s driver.Store) error {
	line := newAdmission
	err := appendAdmissions(ctx, s, line(eventA, 9, 2), line(eventA, 10, 1), line(eventA, 9, 10), line(eventB, 1, 1),
		line(eventA, 9, 1), line(eventA, 8, 1))
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("of three orders, one without lines", []driver.Admission{
				line(eventA, 9, 1), line(eventA, 9, 2), line(eventA, 9, 10), line(eventA, 10, 1), line(eventB, 1, 1),
			}).from(tx.OrderLines(ctx, []driver.OrderNumber{
				{CompanyID: companyB, Number: 1},
				{CompanyID: companyA, Number: 10},
				{CompanyID: companyA, Number: 11},
				{CompanyID: companyA, Number: 9},
			})),
			want("of another company's order", []driver.Admission(nil)).
				from(tx.OrderLines(ctx, []driver.OrderNumber{{CompanyID: companyB, Number: 9}})),
			want("of none", []driver.Admission(nil)).from(tx.OrderLines(ctx, nil)),
		)
	})
}

// validationCleared sets and clears the validation of several admissions at once: a zero id and a zero time are kept as
// none.
func validationCleared(ctx context.Context, s driver.Store) error {
	first, second := newAdmission(eventA, 1, 1), newAdmission(eventB, 1, 2)
	if err := appendAdmissions(ctx, s, first, second); err != nil {
		return err
	}
	for _, set := range []func(a *driver.Admission){
		func(a *driver.Admission) { a.ValidationID, a.ValidatedAt, a.Location = id(60), at(61), "gate" },
		func(a *driver.Admission) {
			a.ValidationID, a.ValidatedAt, a.Location = uuid.Nil, time.Time{}, ""
			a.Voided = true
		},
		func(a *driver.Admission) { a.Voided = false },
	} {
		set(&first)
		set(&second)
		second.Location += "2"
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return tx.UpdateAdmissions(ctx, []driver.Admission{second, first})
		})
		if err != nil {
			return err
		}
		err = everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("changed", []driver.Admission{first, second}).from(tx.Admissions(ctx,
				[]driver.AdmissionRef{{CompanyID: companyA, ID: first.ID}, {CompanyID: companyB, ID: second.ID}}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func buyersPut(ctx context.Context, s driver.Store) error {
	put := func(buyers ...driver.Buyer) error {
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.PutBuyers(ctx, buyers) })
		if err != nil {
			return fmt.Errorf("put buyers: %w", err)
		}
		return nil
	}
	ada, bob := newBuyer(companyA, "ada@example.com"), newBuyer(companyB, "bob@example.com")
	if err := put(ada, bob); err != nil {
		return err
	}
	known := ada
	known.Fullname, known.Phone, known.CreatedAt, known.UpdatedAt = "", "+1", at(70), at(71)
	foreign := newBuyer(companyB, ada.Email)
	foreign.Fullname = "foreign"
	if err := put(foreign, known, bob); err != nil {
		return err
	}
	known.CreatedAt = ada.CreatedAt
	holds := func(ctx context.Context, tx driver.ReadTx) error {
		return want("buyers", []driver.Buyer{bob, {}, known, foreign, {}}).from(tx.Buyers(ctx, []driver.BuyerRef{
			{CompanyID: companyB, Email: bob.Email},
			{CompanyID: companyA, Email: bob.Email},
			{CompanyID: companyA, Email: ada.Email},
			{CompanyID: companyB, Email: ada.Email},
			{CompanyID: companyA, Email: "nobody@example.com"},
		}))
	}
	if err := everywhere(ctx, s, holds); err != nil {
		return err
	}
	err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.PutBuyers(ctx, []driver.Buyer{ada, newBuyer(companyA, "nobody@example.com")})
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, holds)
}
