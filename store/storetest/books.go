package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

func bookChecks() []Check {
	return []Check{
		{"books/sold orders are in order and in pages", grounded(soldOrdersListed)},
		{"books/sold admissions are in order and in pages", grounded(soldAdmissionsListed)},
		{"books/fundings are aligned and of their company", grounded(fundingsAligned)},
		{"books/spent keys are listed by their outcome", grounded(subjectsListed)},
		{"books/records of no company are found", grounded(straysFound)},
	}
}

func soldOrdersListed(ctx context.Context, s driver.Store) error {
	// Numbers have gaps, and are inserted out of order.
	sold := []driver.Order{
		newOrder(eventA, 1), newOrder(eventA, 4), newOrder(eventA, 5), newOrder(eventA, 900),
	}
	sold[1].Status, sold[2].Status = driver.OrderCancelled, driver.OrderRefunded
	if err := appendOrders(ctx, s, sold[3], sold[0], sold[2], newOrder(eventB, 3), sold[1]); err != nil {
		return err
	}
	numbers := make([]int64, len(sold))
	for i := range sold {
		sold[i].BuyerEmail, sold[i].BuyerFullname, sold[i].BuyerPhone = "", "", ""
		numbers[i] = sold[i].Number
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		err := pages(numbers, func(after *int64, limit int) ([]int64, error) {
			query := driver.SoldQuery{CompanyID: companyA, Limit: limit}
			if after != nil {
				query.After = driver.SoldPlace{Number: *after, Line: 7}
			}
			found, err := tx.ListSoldOrders(ctx, query)
			listed := make([]int64, len(found))
			for i, order := range found {
				listed[i] = order.Number
			}
			return listed, err
		})
		return errors.Join(
			err,
			want("all but the buyers", sold).
				from(tx.ListSoldOrders(ctx, driver.SoldQuery{CompanyID: companyA, Limit: 9})),
			want("up to one", sold[:3]).
				from(tx.ListSoldOrders(ctx, driver.SoldQuery{CompanyID: companyA, Last: 5, Limit: 9})),
			want("up to none", []driver.Order(nil)).from(tx.ListSoldOrders(ctx, driver.SoldQuery{
				CompanyID: companyA, After: driver.SoldPlace{Number: 5}, Last: 899, Limit: 9,
			})),
			want("of no company", []driver.Order(nil)).
				from(tx.ListSoldOrders(ctx, driver.SoldQuery{CompanyID: id(9), Limit: 9})),
		)
	})
}

func soldAdmissionsListed(ctx context.Context, s driver.Store) error {
	// Orders of one and of several lines, with one line validated and one void. The orders themselves do not exist.
	var sold []driver.Admission
	for _, of := range []struct {
		order int64
		lines int
	}{{order: 2, lines: 3}, {order: 3, lines: 1}, {order: 700, lines: 2}} {
		for line := range of.lines {
			sold = append(sold, newAdmission(eventA, of.order, line+1))
		}
	}
	sold[1].Voided = true
	sold[3].ValidationID, sold[3].ValidatedAt, sold[3].Location = id(60), at(61), awkward
	mixed := []driver.Admission{
		sold[5], sold[0], sold[3], newAdmission(eventB, 2, 1), sold[2], sold[4], sold[1],
	}
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendAdmissions(ctx, mixed) })
	if err != nil {
		return fmt.Errorf("append admissions: %w", err)
	}
	places := make([]driver.SoldPlace, len(sold))
	for i := range sold {
		sold[i].LineID, sold[i].Title, sold[i].Location = uuid.Nil, "", ""
		places[i] = driver.SoldPlace{Number: sold[i].OrderNumber, Line: sold[i].Line}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		err := pages(places, func(after *driver.SoldPlace, limit int) ([]driver.SoldPlace, error) {
			query := driver.SoldQuery{CompanyID: companyA, Limit: limit}
			if after != nil {
				query.After = *after
			}
			found, err := tx.ListSoldAdmissions(ctx, query)
			listed := make([]driver.SoldPlace, len(found))
			for i, admission := range found {
				listed[i] = driver.SoldPlace{Number: admission.OrderNumber, Line: admission.Line}
			}
			return listed, err
		})
		return errors.Join(
			err,
			want("the sums of the books", sold).
				from(tx.ListSoldAdmissions(ctx, driver.SoldQuery{CompanyID: companyA, Limit: 9})),
			want("a part", sold[2:4]).from(tx.ListSoldAdmissions(ctx, driver.SoldQuery{
				CompanyID: companyA, After: places[1], Last: 3, Limit: 9,
			})),
			want("of no company", []driver.Admission(nil)).
				from(tx.ListSoldAdmissions(ctx, driver.SoldQuery{CompanyID: id(9), Limit: 9})),
		)
	})
}

func fundingsAligned(ctx context.Context, s driver.Store) error {
	a, b, other := newFloatCredit(companyA, "PSK-1"), newFloatCredit(companyA, "PSK-2"), newFloatCredit(companyB, "PSK-1")
	b.Amount, other.Sequence = 1, 7
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(tx.AppendFloatCredit(ctx, a), tx.AppendFloatCredit(ctx, b), tx.AppendFloatCredit(ctx, other))
	})
	if err != nil {
		return fmt.Errorf("append fundings: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []driver.FloatCredit{b, {}, a, b}).
				from(tx.FloatCredits(ctx, companyA, []string{"PSK-2", "psk-1", "PSK-1", "PSK-2"})),
			want("one of another company", []driver.FloatCredit{other}).
				from(tx.FloatCredits(ctx, companyB, []string{"PSK-1"})),
			want("none", []driver.FloatCredit(nil)).from(tx.FloatCredits(ctx, companyA, nil)),
		)
	})
}

func subjectsListed(ctx context.Context, s driver.Store) error {
	const operation, outcome = "admissions.validate", "ADMITTED"
	var spent []driver.IdempotencyResult
	spend := func(key string, subject int, changes ...func(r *driver.IdempotencyResult)) {
		result := newResult(companyA, key)
		result.Operation, result.Outcome, result.Subject = operation, outcome, id(subject)
		for _, change := range changes {
			change(&result)
		}
		spent = append(spent, result)
	}
	spend("key-1", 30)
	spend("key-2", 32)
	spend("key-3", 32)
	spend("key-4", 31)
	spend("key-5", 31)
	spend("key-6", 31)
	spend("key-7", 30, func(r *driver.IdempotencyResult) { r.Outcome = "ALREADY_VALIDATED" })
	spend("key-8", 30, func(r *driver.IdempotencyResult) { r.Operation = "checkouts.create" })
	spend("key-9", 30, func(r *driver.IdempotencyResult) { r.CompanyID = companyB })
	if err := share(ctx, s, appendResults(spent...)); err != nil {
		return fmt.Errorf("spend keys: %w", err)
	}
	all := []driver.KeySubject{
		{Key: "key-1", Subject: id(30)},
		{Key: "key-2", Subject: id(32)},
		{Key: "key-3", Subject: id(32)},
		{Key: "key-4", Subject: id(31)},
		{Key: "key-5", Subject: id(31)},
		{Key: "key-6", Subject: id(31)},
	}
	none := []driver.KeySubject(nil)
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		query := driver.SubjectQuery{CompanyID: companyA, Operation: operation, Outcome: outcome, Limit: 9}
		part, without, foreign := query, query, query
		part.After, part.Limit = "key-2", 2
		without.Outcome, foreign.CompanyID = "", companyB
		return errors.Join(
			want("all", all).from(tx.ListSubjects(ctx, query)),
			want("a part", all[2:4]).from(tx.ListSubjects(ctx, part)),
			want("of another outcome", none).from(tx.ListSubjects(ctx, without)),
			want("of another company", []driver.KeySubject{{Key: "key-9", Subject: id(30)}}).
				from(tx.ListSubjects(ctx, foreign)),
		)
	})
}

func straysFound(ctx context.Context, s driver.Store) error {
	order, admission := newOrder(eventA, 1), newAdmission(eventA, 1, 1)
	entry := ledger.Entry{
		CompanyID: id(902), Wallet: ledger.Float, Sequence: 1, Kind: ledger.FloatCredit, Amount: 1, After: 1,
		Reference: "stray", At: at(1),
	}
	order.CompanyID, admission.CompanyID = id(901), id(903)
	spent := newResult(id(900), "key-1")
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			tx.AppendOrders(ctx, []driver.Order{order, newOrder(eventB, 3)}),
			tx.AppendAdmissions(ctx, []driver.Admission{admission}),
			tx.AppendEntries(ctx, []ledger.Entry{entry}),
			tx.AppendResults(ctx, []driver.IdempotencyResult{spent}),
			tx.AppendOrderEnding(ctx, driver.OrderEnding{
				CompanyID: id(904), Number: 1, OrderID: id(30), Status: driver.OrderCancelled, Reason: "stray", At: at(1),
			}),
		)
	})
	if err != nil {
		return fmt.Errorf("append records of no company: %w", err)
	}
	strays := []uuid.UUID{id(900), id(901), id(902), id(903), id(904)}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", strays).from(tx.OrphanCompanies(ctx, 9)),
			want("the first", strays[:2]).from(tx.OrphanCompanies(ctx, 2)),
		)
	})
}
