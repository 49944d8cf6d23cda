package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

func newSettlement(companyID uuid.UUID, number int64, status driver.SettlementStatus) driver.Settlement {
	return driver.Settlement{
		CompanyID: companyID, Number: number, ID: id(200_000 + int(number)), Amount: money.MaxBalance, Status: status,
		BankAccount: 1, RequestedAt: at(100 - int(number)),
	}
}

// accounted appends the bank accounts that settlements are paid to.
func accounted(ctx context.Context, tx driver.Tx) error {
	return steps(
		func() error { return tx.AppendBankAccount(ctx, newBankAccount(companyA, 1)) },
		func() error { return tx.AppendBankAccount(ctx, newBankAccount(companyB, 1)) },
	)
}

func settlementKinds() []record {
	kept := newSettlement(companyA, 7, driver.SettlementPending)
	changed := kept
	changed.Status, changed.Reason, changed.DecidedAt = driver.SettlementRejected, awkward, at(101)
	changed.RefundSequence = 9
	holds := func(found, open driver.Settlement, listed ...driver.Settlement) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			query := driver.SettlementQuery{CompanyID: companyA, Limit: 9}
			oldest := query
			oldest.OldestFirst = true
			return errors.Join(
				want("Settlements", []driver.Settlement{found}).
					from(tx.Settlements(ctx, []driver.SettlementRef{{CompanyID: companyA, ID: kept.ID}})),
				want("FindSettlement", found).from(tx.FindSettlement(ctx, kept.ID)),
				want("OpenSettlement", open).from(tx.OpenSettlement(ctx, companyA)),
				want("ListSettlements", listed).from(tx.ListSettlements(ctx, query)),
				want("ListSettlements, oldest first", listed).from(tx.ListSettlements(ctx, oldest)),
			)
		}
	}
	put := func(settlement driver.Settlement) writes {
		return func(ctx context.Context, tx driver.Tx) error { return tx.CreateSettlement(ctx, settlement) }
	}
	sameNumber := newSettlement(companyA, 8, driver.SettlementCompleted)
	sameID, second := sameNumber, newSettlement(companyA, 8, driver.SettlementApproved)
	sameNumber.Number, sameID.ID = kept.Number, kept.ID
	return []record{{
		name: "settlements",
		create: func(ctx context.Context, tx driver.Tx) error {
			if err := accounted(ctx, tx); err != nil {
				return err
			}
			return tx.CreateSettlement(ctx, kept)
		},
		created: holds(kept, kept, kept), absent: holds(driver.Settlement{}, driver.Settlement{}),
		change: func(ctx context.Context, tx driver.Tx) error {
			// Everything but the decision must stay unchanged.
			other := changed
			other.Amount, other.BankAccount, other.RequestedAt, other.Number = 1, 2, at(102), 8
			return tx.UpdateSettlement(ctx, other)
		},
		changed: holds(changed, driver.Settlement{}, changed),
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
		{"settlements/open ones of all companies, oldest first", settlementsWaiting},
	}
}

func createSettlements(ctx context.Context, s driver.Store, settlements ...driver.Settlement) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
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

func settlementsAligned(ctx context.Context, s driver.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	// Settlements of two companies may have the same number.
	a, b := newSettlement(companyA, 1, driver.SettlementPending), newSettlement(companyB, 1, driver.SettlementPending)
	b.ID = id(300)
	if err := createSettlements(ctx, s, a, b); err != nil {
		return err
	}
	err := everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []driver.Settlement{b, {}, a, {}, b}).
				from(tx.Settlements(ctx, []driver.SettlementRef{
					{CompanyID: companyB, ID: b.ID},
					{CompanyID: companyA, ID: b.ID},
					{CompanyID: companyA, ID: a.ID},
					{},
					{CompanyID: companyB, ID: b.ID},
				})),
			want("none", []driver.Settlement(nil)).from(tx.Settlements(ctx, nil)),
			want("by id alone", b).from(tx.FindSettlement(ctx, b.ID)),
			want("by an unknown id", driver.Settlement{}).from(tx.FindSettlement(ctx, id(90))),
			want("open of another company", b).from(tx.OpenSettlement(ctx, companyB)),
			want("open of nobody", driver.Settlement{}).from(tx.OpenSettlement(ctx, uuid.Nil)),
		)
	})
	if err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			want("locked", a).from(tx.LockSettlement(ctx, driver.SettlementRef{CompanyID: companyA, ID: a.ID})),
			want("locked of another company", driver.Settlement{}).
				from(tx.LockSettlement(ctx, driver.SettlementRef{CompanyID: companyA, ID: b.ID})),
		)
	})
}

func settlementsOpen(ctx context.Context, s driver.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	done := []driver.SettlementStatus{
		driver.SettlementCompleted, driver.SettlementRejected, driver.SettlementFailed,
	}
	number := int64(0)
	next := func(status driver.SettlementStatus) driver.Settlement {
		number++
		return newSettlement(companyA, number, status)
	}
	for _, status := range done {
		if err := createSettlements(ctx, s, next(status)); err != nil {
			return err
		}
	}
	for i, status := range []driver.SettlementStatus{
		driver.SettlementPending, driver.SettlementProcessing, driver.SettlementApproved,
	} {
		open := next(status)
		if err := createSettlements(ctx, s, open); err != nil {
			return err
		}
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return want("open", open).from(tx.OpenSettlement(ctx, companyA))
		})
		if err != nil {
			return err
		}
		for _, second := range []driver.SettlementStatus{
			driver.SettlementPending, driver.SettlementProcessing, driver.SettlementApproved,
		} {
			err := createSettlements(ctx, s, next(second))
			if err := refuses(fmt.Sprintf("a %s one beside one that is %s", second, status), err); err != nil {
				return err
			}
		}
		// A final settlement allows another open one. It cannot be reopened next to it.
		open.Status = done[i]
		err = share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.UpdateSettlement(ctx, open) })
		if err != nil {
			return err
		}
	}
	last := next(driver.SettlementPending)
	if err := createSettlements(ctx, s, last); err != nil {
		return err
	}
	back := newSettlement(companyA, 1, driver.SettlementProcessing)
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.UpdateSettlement(ctx, back) })
	return refuses("one that is open again beside another", err)
}

func settlementsListed(ctx context.Context, s driver.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	var numbers []int64
	for i := range 7 {
		// Numbers have gaps, and times descend while numbers ascend: only the number determines the order.
		settlement := newSettlement(companyA, int64(3*i+1), driver.SettlementCompleted)
		other := newSettlement(companyB, int64(3*i+2), driver.SettlementCompleted)
		if err := createSettlements(ctx, s, settlement, other); err != nil {
			return err
		}
		numbers = append(numbers, settlement.Number)
	}
	newest := slices.Clone(numbers)
	slices.Reverse(newest)
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for oldestFirst, order := range map[bool][]int64{true: numbers, false: newest} {
			err := pages(order, func(after *int64, limit int) ([]int64, error) {
				query := driver.SettlementQuery{CompanyID: companyA, OldestFirst: oldestFirst, Limit: limit}
				if after != nil {
					query.After = *after
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

// settlementsGivenBack refunds a settlement to EARNINGS in an entry that is not after its debit.
func settlementsGivenBack(ctx context.Context, s driver.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	pending := newSettlement(companyA, 7, driver.SettlementPending)
	if err := createSettlements(ctx, s, pending); err != nil {
		return err
	}
	rejected := pending
	rejected.Status, rejected.DecidedAt = driver.SettlementRejected, at(101)
	for _, sequence := range []int64{6, 7} {
		rejected.RefundSequence = sequence
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.UpdateSettlement(ctx, rejected) })
		if err := refuses(fmt.Sprintf("given back in %d, debited in 7", sequence), err); err != nil {
			return err
		}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("the settlement", pending).from(tx.FindSettlement(ctx, pending.ID))
	})
}

// settlementsDecided decides about one settlement concurrently: exactly one Update finds it PENDING.
func settlementsDecided(ctx context.Context, s driver.Store) error {
	if err := update(ctx, s, accounted); err != nil {
		return err
	}
	pending := newSettlement(companyA, 1, driver.SettlementPending)
	if err := createSettlements(ctx, s, pending); err != nil {
		return err
	}
	const deciders = 8
	var won [deciders]bool
	err := together(ctx, deciders, func(n int) error {
		return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			found, err := tx.LockSettlement(ctx, driver.SettlementRef{CompanyID: companyA, ID: pending.ID})
			won[n] = err == nil && found.Status == driver.SettlementPending
			if !won[n] {
				return err
			}
			found.Status, found.DecidedAt = driver.SettlementCompleted, at(n)
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

func settlementsWaiting(ctx context.Context, s driver.Store) error {
	// Three share a time, and the ids do not ascend with the times.
	order := []place{{4, 10}, {3, 20}, {5, 20}, {6, 20}, {1, 30}, {2, 40}}
	statuses := []driver.SettlementStatus{
		driver.SettlementPending, driver.SettlementProcessing, driver.SettlementApproved,
		driver.SettlementCompleted, driver.SettlementRejected, driver.SettlementFailed,
	}
	var open, all []driver.Settlement
	for i, place := range order {
		for j, status := range statuses {
			if j < 3 && j != i%3 {
				continue
			}
			settlement := newSettlement(id(place.id), int64(j+1), status)
			settlement.ID, settlement.RequestedAt = id(1000+10*i+j), at(place.ms)
			if j < 3 {
				open = append(open, settlement)
			}
			all = append(all, settlement)
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error {
		for _, place := range order {
			if err := tx.CreateCompany(ctx, newCompany(id(place.id))); err != nil {
				return err
			}
			if err := tx.AppendBankAccount(ctx, newBankAccount(id(place.id), 1)); err != nil {
				return err
			}
		}
		for _, settlement := range all {
			if err := tx.CreateSettlement(ctx, settlement); err != nil {
				return err
			}
		}
		return nil
	}
	lists := func(order []place) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return pages(order, func(after *place, limit int) ([]place, error) {
					var from driver.Position
					if after != nil {
						from = after.position()
					}
					found, err := tx.ListOpenSettlements(ctx, from, limit)
					return placesOf(found, err, func(s driver.Settlement) (time.Time, uuid.UUID) {
						return s.RequestedAt, s.CompanyID
					})
				})
			})
		}
	}
	paid := open[1]
	paid.Status, paid.DecidedAt = driver.SettlementCompleted, at(50)
	pay := func(ctx context.Context, tx driver.Tx) error { return tx.UpdateSettlement(ctx, paid) }
	return steps(
		func() error { return failing(ctx, s, create) },
		lists(nil),
		func() error { return update(ctx, s, create) },
		lists(order),
		func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want("the settlements", open).from(tx.ListOpenSettlements(ctx, driver.Position{}, 9))
			})
		},
		func() error { return failing(ctx, s, pay) },
		lists(order),
		func() error { return update(ctx, s, pay) },
		lists(slices.Concat(order[:1], order[2:])),
	)
}
