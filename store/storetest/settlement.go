package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

func settlementRecord(companyID uuid.UUID, number int64, status ticketing.SettlementStatus) ticketing.SettlementRecord {
	return ticketing.SettlementRecord{
		CompanyID: companyID, Number: number, ID: id(200_000 + int(number)), Amount: money.MaxBalance, Status: status,
		BankAccount: 1, RequestedAt: at(100 - int(number)),
	}
}

// accounted keeps the bank accounts that settlements are paid to.
func accounted(ctx context.Context, tx ticketing.Tx) error {
	return steps(
		func() error { return tx.AppendBankAccount(ctx, bankAccountRecord(companyA, 1)) },
		func() error { return tx.AppendBankAccount(ctx, bankAccountRecord(companyB, 1)) },
	)
}

func settlementKinds() []record {
	kept := settlementRecord(companyA, 7, ticketing.SettlementPending)
	changed := kept
	changed.Status, changed.Reason, changed.DecidedAt = ticketing.SettlementRejected, awkward, at(101)
	changed.RefundSequence = 9
	holds := func(found, open ticketing.SettlementRecord, listed ...ticketing.SettlementRecord) reads {
		return func(ctx context.Context, tx ticketing.ReadTx) error {
			query := ticketing.SettlementQuery{CompanyID: companyA, Limit: 9}
			oldest := query
			oldest.OldestFirst = true
			return errors.Join(
				want("Settlements", []ticketing.SettlementRecord{found}).
					from(tx.Settlements(ctx, []ticketing.SettlementRef{{CompanyID: companyA, ID: kept.ID}})),
				want("FindSettlement", found).from(tx.FindSettlement(ctx, kept.ID)),
				want("OpenSettlement", open).from(tx.OpenSettlement(ctx, companyA)),
				want("ListSettlements", listed).from(tx.ListSettlements(ctx, query)),
				want("ListSettlements, oldest first", listed).from(tx.ListSettlements(ctx, oldest)),
			)
		}
	}
	put := func(settlement ticketing.SettlementRecord) writes {
		return func(ctx context.Context, tx ticketing.Tx) error { return tx.CreateSettlement(ctx, settlement) }
	}
	sameNumber := settlementRecord(companyA, 8, ticketing.SettlementCompleted)
	sameID, second := sameNumber, settlementRecord(companyA, 8, ticketing.SettlementApproved)
	sameNumber.Number, sameID.ID = kept.Number, kept.ID
	return []record{{
		name: "settlements",
		create: func(ctx context.Context, tx ticketing.Tx) error {
			if err := accounted(ctx, tx); err != nil {
				return err
			}
			return tx.CreateSettlement(ctx, kept)
		},
		created: holds(kept, kept, kept), absent: holds(ticketing.SettlementRecord{}, ticketing.SettlementRecord{}),
		change: func(ctx context.Context, tx ticketing.Tx) error {
			// All but the decision is left alone.
			other := changed
			other.Amount, other.BankAccount, other.RequestedAt, other.Number = 1, 2, at(102), 8
			return tx.UpdateSettlement(ctx, other)
		},
		changed: holds(changed, ticketing.SettlementRecord{}, changed),
		taken:   map[string]writes{"number": put(sameNumber), "id": put(sameID), "place of the open one": put(second)},
	}}
}

func settlementChecks() []Check {
	return []Check{
		{"settlements/answers are aligned and of their company", grounded(settlementsAligned)},
		{"settlements/one is open at a time", grounded(settlementsOpen)},
		{"settlements/EARNINGS gets back what it gave before", grounded(settlementsGivenBack)},
		{"settlements/list is in order and in pages", grounded(settlementsListed)},
		{"settlements/are decided once", grounded(settlementsDecided)},
	}
}

func createSettlements(ctx context.Context, s ticketing.Store, settlements ...ticketing.SettlementRecord) error {
	err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		for _, settlement := range settlements {
			if err := tx.CreateSettlement(ctx, settlement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create settlements: %w", err)
	}
	return nil
}

func settlementsAligned(ctx context.Context, s ticketing.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	// Of two companies, settlements may have the same number.
	a, b := settlementRecord(companyA, 1, ticketing.SettlementPending), settlementRecord(companyB, 1, ticketing.SettlementPending)
	b.ID = id(300)
	if err := createSettlements(ctx, s, a, b); err != nil {
		return err
	}
	err := everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []ticketing.SettlementRecord{b, {}, a, {}, b}).
				from(tx.Settlements(ctx, []ticketing.SettlementRef{
					{CompanyID: companyB, ID: b.ID},
					{CompanyID: companyA, ID: b.ID},
					{CompanyID: companyA, ID: a.ID},
					{},
					{CompanyID: companyB, ID: b.ID},
				})),
			want("none", []ticketing.SettlementRecord(nil)).from(tx.Settlements(ctx, nil)),
			want("by id alone", b).from(tx.FindSettlement(ctx, b.ID)),
			want("by an unknown id", ticketing.SettlementRecord{}).from(tx.FindSettlement(ctx, id(90))),
			want("open of another company", b).from(tx.OpenSettlement(ctx, companyB)),
			want("open of nobody", ticketing.SettlementRecord{}).from(tx.OpenSettlement(ctx, uuid.Nil)),
		)
	})
	if err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		return errors.Join(
			want("locked", a).from(tx.LockSettlement(ctx, ticketing.SettlementRef{CompanyID: companyA, ID: a.ID})),
			want("locked of another company", ticketing.SettlementRecord{}).
				from(tx.LockSettlement(ctx, ticketing.SettlementRef{CompanyID: companyA, ID: b.ID})),
		)
	})
}

func settlementsOpen(ctx context.Context, s ticketing.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	done := []ticketing.SettlementStatus{
		ticketing.SettlementCompleted, ticketing.SettlementRejected, ticketing.SettlementFailed,
	}
	number := int64(0)
	next := func(status ticketing.SettlementStatus) ticketing.SettlementRecord {
		number++
		return settlementRecord(companyA, number, status)
	}
	for _, status := range done {
		if err := createSettlements(ctx, s, next(status)); err != nil {
			return err
		}
	}
	for i, status := range []ticketing.SettlementStatus{
		ticketing.SettlementPending, ticketing.SettlementProcessing, ticketing.SettlementApproved,
	} {
		open := next(status)
		if err := createSettlements(ctx, s, open); err != nil {
			return err
		}
		err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
			return want("open", open).from(tx.OpenSettlement(ctx, companyA))
		})
		if err != nil {
			return err
		}
		for _, second := range []ticketing.SettlementStatus{
			ticketing.SettlementPending, ticketing.SettlementProcessing, ticketing.SettlementApproved,
		} {
			err := createSettlements(ctx, s, next(second))
			if err := refuses(fmt.Sprintf("a %s one beside one that is %s", second, status), err); err != nil {
				return err
			}
		}
		// One that is done makes room for another, and cannot come back beside it.
		open.Status = done[i]
		err = share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.UpdateSettlement(ctx, open) })
		if err != nil {
			return err
		}
	}
	last := next(ticketing.SettlementPending)
	if err := createSettlements(ctx, s, last); err != nil {
		return err
	}
	back := settlementRecord(companyA, 1, ticketing.SettlementProcessing)
	err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.UpdateSettlement(ctx, back) })
	return refuses("one that is open again beside another", err)
}

func settlementsListed(ctx context.Context, s ticketing.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	var numbers []int64
	for i := range 7 {
		// Numbers have gaps, and times run against them: the number alone is the order.
		settlement := settlementRecord(companyA, int64(3*i+1), ticketing.SettlementCompleted)
		other := settlementRecord(companyB, int64(3*i+2), ticketing.SettlementCompleted)
		if err := createSettlements(ctx, s, settlement, other); err != nil {
			return err
		}
		numbers = append(numbers, settlement.Number)
	}
	newest := slices.Clone(numbers)
	slices.Reverse(newest)
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		for oldestFirst, order := range map[bool][]int64{true: numbers, false: newest} {
			err := pages(order, func(after *int64, limit int) ([]int64, error) {
				query := ticketing.SettlementQuery{CompanyID: companyA, OldestFirst: oldestFirst, Limit: limit}
				if after != nil {
					query.Beyond = *after
				}
				found, err := tx.ListSettlements(ctx, query)
				listed := make([]int64, len(found))
				for i, settlement := range found {
					listed[i] = settlement.Number
				}
				return listed, err
			})
			if err != nil {
				return fmt.Errorf("oldest first %v: %w", oldestFirst, err)
			}
		}
		return nil
	})
}

// settlementsGivenBack has EARNINGS get a settlement back in a movement that is not behind its debit.
func settlementsGivenBack(ctx context.Context, s ticketing.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	pending := settlementRecord(companyA, 7, ticketing.SettlementPending)
	if err := createSettlements(ctx, s, pending); err != nil {
		return err
	}
	rejected := pending
	rejected.Status, rejected.DecidedAt = ticketing.SettlementRejected, at(101)
	for _, sequence := range []int64{6, 7} {
		rejected.RefundSequence = sequence
		err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.UpdateSettlement(ctx, rejected) })
		if err := refuses(fmt.Sprintf("given back in %d, debited in 7", sequence), err); err != nil {
			return err
		}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return want("the settlement", pending).from(tx.FindSettlement(ctx, pending.ID))
	})
}

// settlementsDecided has many decide about one settlement at once: one finds it PENDING.
func settlementsDecided(ctx context.Context, s ticketing.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	pending := settlementRecord(companyA, 1, ticketing.SettlementPending)
	if err := createSettlements(ctx, s, pending); err != nil {
		return err
	}
	const deciders = 8
	var won [deciders]bool
	err := together(ctx, deciders, func(n int) error {
		return share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
			found, err := tx.LockSettlement(ctx, ticketing.SettlementRef{CompanyID: companyA, ID: pending.ID})
			won[n] = err == nil && found.Status == ticketing.SettlementPending
			if !won[n] {
				return err
			}
			found.Status, found.DecidedAt = ticketing.SettlementCompleted, at(n)
			return tx.UpdateSettlement(ctx, found)
		})
	})
	if err != nil {
		return fmt.Errorf("decide at once: %w", err)
	}
	decided := 0
	for _, one := range won {
		if one {
			decided++
		}
	}
	return that(decided == 1, "%d of %d found the settlement pending", decided, deciders)
}
