package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

func admissionKinds() []record {
	kept := admissionRecord(eventA, 7, 1)
	ref := ticketing.AdmissionRef{CompanyID: companyA, ID: kept.ID}
	changed := kept
	changed.Voided, changed.ValidationID, changed.ValidatedAt, changed.Location = true, id(60), at(61), awkward
	holds := func(found ticketing.AdmissionRecord, lines ...ticketing.AdmissionRecord) reads {
		return func(ctx context.Context, tx ticketing.ReadTx) error {
			return errors.Join(
				want("Admissions", []ticketing.AdmissionRecord{found}).
					from(tx.Admissions(ctx, []ticketing.AdmissionRef{ref})),
				want("OrderLines", lines).
					from(tx.OrderLines(ctx, []ticketing.OrderNumber{{CompanyID: companyA, Number: 7}})),
			)
		}
	}
	put := func(admission ticketing.AdmissionRecord) writes {
		return func(ctx context.Context, tx ticketing.Tx) error {
			return tx.AppendAdmissions(ctx, []ticketing.AdmissionRecord{admission})
		}
	}
	sameLine, sameID := admissionRecord(eventA, 7, 2), admissionRecord(eventA, 7, 2)
	sameLine.Line, sameID.ID = kept.Line, kept.ID
	return []record{{
		name: "admissions", create: put(kept), created: holds(kept, kept), absent: holds(ticketing.AdmissionRecord{}),
		change: func(ctx context.Context, tx ticketing.Tx) error {
			if err := want("LockAdmissions", 1).
				from(count(tx.LockAdmissions(ctx, []ticketing.AdmissionRef{ref}))); err != nil {
				return err
			}
			// All but the validation and Voided is left alone.
			other := changed
			other.Title, other.UnitPrice, other.Tier, other.Batch, other.LineID = "other", 1, "other", 9, id(62)
			return tx.UpdateAdmissions(ctx, []ticketing.AdmissionRecord{other})
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

func appendAdmissions(ctx context.Context, s ticketing.Store, admissions ...ticketing.AdmissionRecord) error {
	err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.AppendAdmissions(ctx, admissions) })
	if err != nil {
		return fmt.Errorf("append admissions: %w", err)
	}
	return nil
}

func admissionsAligned(ctx context.Context, s ticketing.Store) error {
	a, b := admissionRecord(eventA, 1, 1), admissionRecord(eventB, 2, 1)
	if err := appendAdmissions(ctx, s, a, b); err != nil {
		return err
	}
	refs := []ticketing.AdmissionRef{
		{CompanyID: companyB, ID: b.ID},
		{CompanyID: companyA, ID: b.ID},
		{CompanyID: companyA, ID: a.ID},
		{},
	}
	answer := []ticketing.AdmissionRecord{b, {}, a, {}}
	err := everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return errors.Join(
			want("with gaps and out of order", answer).from(tx.Admissions(ctx, refs)),
			want("none", []ticketing.AdmissionRecord(nil)).from(tx.Admissions(ctx, nil)),
		)
	})
	if err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		return want("locked", answer).from(tx.LockAdmissions(ctx, refs))
	})
}

func orderLines(ctx context.Context, s ticketing.Store) error {
	line := admissionRecord
	err := appendAdmissions(ctx, s, line(eventA, 9, 2), line(eventA, 10, 1), line(eventA, 9, 10), line(eventB, 1, 1),
		line(eventA, 9, 1), line(eventA, 8, 1))
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return errors.Join(
			want("of three orders, one without lines", []ticketing.AdmissionRecord{
				line(eventA, 9, 1), line(eventA, 9, 2), line(eventA, 9, 10), line(eventA, 10, 1), line(eventB, 1, 1),
			}).from(tx.OrderLines(ctx, []ticketing.OrderNumber{
				{CompanyID: companyB, Number: 1},
				{CompanyID: companyA, Number: 10},
				{CompanyID: companyA, Number: 11},
				{CompanyID: companyA, Number: 9},
			})),
			want("of another company's order", []ticketing.AdmissionRecord(nil)).
				from(tx.OrderLines(ctx, []ticketing.OrderNumber{{CompanyID: companyB, Number: 9}})),
			want("of none", []ticketing.AdmissionRecord(nil)).from(tx.OrderLines(ctx, nil)),
		)
	})
}

// validationCleared changes several at once, to and fro: a zero id and a zero time are kept as none.
func validationCleared(ctx context.Context, s ticketing.Store) error {
	first, second := admissionRecord(eventA, 1, 1), admissionRecord(eventB, 1, 2)
	if err := appendAdmissions(ctx, s, first, second); err != nil {
		return err
	}
	for _, set := range []func(a *ticketing.AdmissionRecord){
		func(a *ticketing.AdmissionRecord) { a.ValidationID, a.ValidatedAt, a.Location = id(60), at(61), "gate" },
		func(a *ticketing.AdmissionRecord) {
			a.ValidationID, a.ValidatedAt, a.Location = uuid.Nil, time.Time{}, ""
			a.Voided = true
		},
		func(a *ticketing.AdmissionRecord) { a.Voided = false },
	} {
		set(&first)
		set(&second)
		second.Location += "2"
		err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
			return tx.UpdateAdmissions(ctx, []ticketing.AdmissionRecord{second, first})
		})
		if err != nil {
			return err
		}
		err = everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
			return want("changed", []ticketing.AdmissionRecord{first, second}).from(tx.Admissions(ctx,
				[]ticketing.AdmissionRef{{CompanyID: companyA, ID: first.ID}, {CompanyID: companyB, ID: second.ID}}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func buyersPut(ctx context.Context, s ticketing.Store) error {
	put := func(buyers ...ticketing.BuyerRecord) error {
		err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.PutBuyers(ctx, buyers) })
		if err != nil {
			return fmt.Errorf("put buyers: %w", err)
		}
		return nil
	}
	ada, bob := buyerRecord(companyA, "ada@example.com"), buyerRecord(companyB, "bob@example.com")
	if err := put(ada, bob); err != nil {
		return err
	}
	known := ada
	known.Fullname, known.Phone, known.CreatedAt, known.UpdatedAt = "", "+1", at(70), at(71)
	foreign := buyerRecord(companyB, ada.Email)
	foreign.Fullname = "foreign"
	if err := put(foreign, known, bob); err != nil {
		return err
	}
	known.CreatedAt = ada.CreatedAt
	holds := func(ctx context.Context, tx ticketing.ReadTx) error {
		return want("buyers", []ticketing.BuyerRecord{bob, {}, known, foreign, {}}).from(tx.Buyers(ctx, []ticketing.BuyerRef{
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
	err := failing(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		return tx.PutBuyers(ctx, []ticketing.BuyerRecord{ada, buyerRecord(companyA, "nobody@example.com")})
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, holds)
}
