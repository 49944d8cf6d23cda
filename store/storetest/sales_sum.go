package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// quarter returns the beginning of the n-th quarter of an hour.
func quarter(n int) time.Time {
	return at(0).Truncate(driver.SalesInterval).Add(time.Duration(n) * driver.SalesInterval)
}

// newSum returns a sum in which every member has a different value.
func newSum(companyID, eventID uuid.UUID, tier string, n int) driver.SalesSum {
	return driver.SalesSum{
		SalesSumRef: driver.SalesSumRef{CompanyID: companyID, EventID: eventID, Tier: tier, At: quarter(n)},
		Orders:      1, Admissions: 1 << 40, Gross: 1 << 50, Commission: 3, Refunded: 4, Reversed: 5, Admitted: 6,
	}
}

func addSales(sums ...driver.SalesSum) writes {
	return func(ctx context.Context, tx driver.Tx) error { return tx.AddSales(ctx, sums) }
}

func putProgress(progress driver.SalesProgress) writes {
	return func(ctx context.Context, tx driver.Tx) error { return tx.PutSalesProgress(ctx, progress) }
}

func salesKinds() []record {
	sum := newSum(companyA, eventA.ID, awkward, 1)
	sums := func(listed ...driver.SalesSum) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("SalesSums", listed).from(tx.SalesSums(ctx, driver.SalesSumQuery{
					CompanyID: companyA, EventID: eventA.ID, Tiers: true, Bounds: []time.Time{quarter(1), quarter(2)},
				})),
				want("ListSalesSums", listed).from(tx.ListSalesSums(ctx, driver.SalesSumRef{CompanyID: companyA}, 9)),
			)
		}
	}
	progress := driver.SalesProgress{CompanyID: companyA, Uncounted: 1 << 40}
	holds := func(found driver.SalesProgress) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			var due []driver.DueWork
			if found.Uncounted > 0 {
				due = []driver.DueWork{{Kind: driver.WorkCount, CompanyID: companyA}}
			}
			return errors.Join(
				want("SalesProgress", []driver.SalesProgress{{}, found}).
					from(tx.SalesProgress(ctx, []uuid.UUID{companyB, companyA})),
				want("DueWork", due).from(tx.DueWork(ctx, driver.WorkQuery{
					At: at(0), After: []driver.DueWork{{Kind: driver.WorkCount}}, Limit: 9,
				})),
			)
		}
	}
	return []record{
		{name: "sums of sales", create: addSales(sum), created: sums(sum), absent: sums()},
		{
			name: "progress of sums", create: putProgress(progress), created: holds(progress),
			absent: holds(driver.SalesProgress{}),
		},
	}
}

func salesChecks() []Check {
	return []Check{
		{"sums of sales/are added to", grounded(salesAdded)},
		{"sums of sales/list is in order, in pages and of its period", grounded(salesListed)},
		{"sums of sales/totals of events are aligned", grounded(salesTotals)},
		{"sums of sales/those of all companies are added up", grounded(platformSums)},
		{"sums of sales/a wrong one is refused", grounded(salesRefused)},
		{"sums of sales/those of a company are removed", grounded(salesRemoved)},
		{"progress of sums/is locked and replaced", grounded(progressReplaced)},
		{"progress of sums/companies with orders to count", grounded(countDue)},
		{"facts/those that are not dispatched are listed", grounded(undispatchedListed)},
	}
}

func salesAdded(ctx context.Context, s driver.Store) error {
	of, other := newSum(companyA, eventA.ID, "VIP", 1), newSum(companyA, uuid.Nil, "", 1)
	sum := driver.SalesSum{
		SalesSumRef: of.SalesSumRef, Orders: 11, Admissions: of.Admissions + 20, Gross: of.Gross + 30, Commission: 43,
		Refunded: 54, Reversed: 65, Admitted: 76,
	}
	more := driver.SalesSum{
		SalesSumRef: of.SalesSumRef, Orders: 10, Admissions: 20, Gross: 30, Commission: 40, Refunded: 50, Reversed: 60,
		Admitted: 70,
	}
	lists := func(sums ...driver.SalesSum) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("sums", sums).from(tx.ListSalesSums(ctx, driver.SalesSumRef{CompanyID: companyA}, 9))
		})
	}
	return steps(
		func() error { return update(ctx, s, addSales(of)) },
		func() error { return lists(of) },
		func() error { return failing(ctx, s, addSales(other, more)) },
		func() error { return lists(of) },
		func() error { return update(ctx, s, addSales(other, more)) },
		func() error { return lists(other, sum) },
		func() error { return update(ctx, s, addSales()) },
		func() error { return lists(other, sum) },
	)
}

func salesListed(ctx context.Context, s driver.Store) error {
	second := id(70)
	sums := []driver.SalesSum{
		newSum(companyA, uuid.Nil, "", 1), newSum(companyA, uuid.Nil, "", 2), newSum(companyA, uuid.Nil, "", 9),
		newSum(companyA, eventA.ID, "", 2), newSum(companyA, eventA.ID, "", 3),
		newSum(companyA, eventA.ID, "B", 1), newSum(companyA, eventA.ID, "B", 3), newSum(companyA, eventA.ID, "a", 2),
		{SalesSumRef: driver.SalesSumRef{CompanyID: companyA, EventID: second}, Orders: 1}, // of all time
		newSum(companyA, second, "", 2),
	}
	order := []int{8, 2, 9, 5, 0, 7, 3, 1, 6, 4}
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, i := range order {
			if err := tx.AddSales(ctx, []driver.SalesSum{sums[i]}); err != nil {
				return err
			}
		}
		return tx.AddSales(ctx, []driver.SalesSum{newSum(companyB, eventA.ID, "", 2)})
	})
	if err != nil {
		return err
	}
	// of returns a query for the totals between bounds.
	of := func(tiers bool, eventID uuid.UUID, bounds ...int) driver.SalesSumQuery {
		query := driver.SalesSumQuery{CompanyID: companyA, EventID: eventID, Tiers: tiers}
		for _, n := range bounds {
			query.Bounds = append(query.Bounds, quarter(n))
		}
		return query
	}
	// total is the total of sums, at the bound where their period begins.
	total := func(at int, of ...driver.SalesSum) driver.SalesSum {
		sum := driver.SalesSum{SalesSumRef: of[0].SalesSumRef}
		sum.At = quarter(at)
		for _, one := range of {
			sum.Orders += one.Orders
			sum.Admissions += one.Admissions
			sum.Gross += one.Gross
			sum.Commission += one.Commission
			sum.Refunded += one.Refunded
			sum.Reversed += one.Reversed
			sum.Admitted += one.Admitted
		}
		return sum
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		refs := make([]driver.SalesSumRef, len(sums))
		for i, sum := range sums {
			refs[i] = sum.SalesSumRef
		}
		return errors.Join(
			want("the event", sums[3:5]).from(tx.SalesSums(ctx, of(false, eventA.ID, 0, 1, 2, 3, 4))),
			want("from and to", sums[1:2]).from(tx.SalesSums(ctx, of(false, uuid.Nil, 2, 9))),
			want("times of several lengths", []driver.SalesSum{total(-7, sums[0]), total(2, sums[1]), total(8, sums[2])}).
				from(tx.SalesSums(ctx, of(false, uuid.Nil, -7, 2, 5, 8, 11, 13))),
			want("the total of a time", []driver.SalesSum{total(0, sums[0:2]...), total(8, sums[2])}).
				from(tx.SalesSums(ctx, of(false, uuid.Nil, -4, 0, 4, 8, 12))),
			want("the tiers", []driver.SalesSum{total(1, sums[5:7]...), total(1, sums[7])}).
				from(tx.SalesSums(ctx, of(true, eventA.ID, 1, 4))),
			want("the tiers of an interval", sums[7:8]).from(tx.SalesSums(ctx, of(true, eventA.ID, 2, 3))),
			want("no event", []driver.SalesSum(nil)).from(tx.SalesSums(ctx, of(false, id(90), 0, 99))),
			want("no time", []driver.SalesSum(nil)).from(tx.SalesSums(ctx, of(false, eventA.ID, 3))),
			pages(refs, func(after *driver.SalesSumRef, limit int) ([]driver.SalesSumRef, error) {
				from := driver.SalesSumRef{CompanyID: companyA}
				if after != nil {
					from = *after
				}
				found, err := tx.ListSalesSums(ctx, from, limit)
				listed := make([]driver.SalesSumRef, len(found))
				for i, sum := range found {
					listed[i] = sum.SalesSumRef
				}
				return listed, err
			}),
		)
	})
}

func salesTotals(ctx context.Context, s driver.Store) error {
	of := newSum(companyA, eventA.ID, "", 1)
	err := update(ctx, s, addSales(newSum(companyA, uuid.Nil, "", 1), of, newSum(companyA, eventA.ID, "", 2),
		newSum(companyA, eventA.ID, "", 3), newSum(companyA, eventA.ID, "VIP", 1)))
	if err != nil {
		return err
	}
	total := func(event uuid.UUID, n int64) driver.SalesSum {
		amount := money.Amount(n)
		return driver.SalesSum{
			SalesSumRef: driver.SalesSumRef{CompanyID: companyA, EventID: event},
			Orders:      n, Admissions: n * of.Admissions, Gross: of.Gross * amount, Commission: 3 * amount,
			Refunded: 4 * amount, Reversed: 5 * amount, Admitted: 6 * n,
		}
	}
	events := []uuid.UUID{eventA.ID, id(90), uuid.Nil, eventA.ID}
	// The sum of all time is kept separately. No total of intervals contains it.
	ever := total(eventA.ID, 7)
	theirs, everyone := ever, total(uuid.Nil, 1)
	everyone.CompanyID = uuid.Nil
	theirs.SalesSumRef = driver.SalesSumRef{CompanyID: companyB, EventID: eventB.ID}
	if err := update(ctx, s, addSales(ever, theirs)); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("of all time", []driver.SalesSum{total(eventA.ID, 3), {}, total(uuid.Nil, 1), total(eventA.ID, 3)}).
				from(tx.SalesTotals(ctx, companyA, events, time.Time{}, time.Time{})),
			want("of a period", []driver.SalesSum{total(eventA.ID, 2)}).
				from(tx.SalesTotals(ctx, companyA, events[:1], quarter(1), quarter(3))),
			want("to a time", []driver.SalesSum{total(eventA.ID, 2)}).
				from(tx.SalesTotals(ctx, companyA, events[:1], time.Time{}, quarter(3))),
			want("of nothing", []driver.SalesSum(nil)).
				from(tx.SalesTotals(ctx, companyA, nil, time.Time{}, time.Time{})),
			want("the sums of all time", []driver.SalesSum{ever, {}, {}, theirs, ever}).
				from(tx.EventSums(ctx, []driver.EventRef{
					eventA, {CompanyID: companyA, ID: id(90)}, {CompanyID: companyB, ID: eventA.ID}, eventB, eventA,
				})),
			want("the intervals from the beginning", []driver.SalesSum{{
				SalesSumRef: driver.SalesSumRef{CompanyID: companyA, EventID: eventA.ID}, Orders: 3,
				Admissions: 3 * of.Admissions, Gross: 3 * of.Gross, Commission: 9, Refunded: 12, Reversed: 15, Admitted: 18,
			}}).from(tx.SalesSums(ctx, driver.SalesSumQuery{
				CompanyID: companyA, EventID: eventA.ID, Bounds: []time.Time{{}, quarter(9)},
			})),
			want("those of another company", []driver.SalesSum{{}}).
				from(tx.EventSums(ctx, []driver.EventRef{{CompanyID: companyB, ID: eventA.ID}})),
			want("those of no events", []driver.SalesSum(nil)).from(tx.EventSums(ctx, nil)),
			want("the totals of all companies", driver.PlatformTotals{
				Periods: []driver.SalesSum{everyone}, Sellers: []driver.SalesSum{total(uuid.Nil, 1)},
			}).from(tx.PlatformSums(ctx, []time.Time{{}, quarter(9)}, 9)),
		)
	})
}

func platformSums(ctx context.Context, s driver.Store) error {
	of := newSum(companyB, uuid.Nil, "", 1)
	rich := driver.SalesSum{SalesSumRef: driver.SalesSumRef{CompanyID: companyB, At: quarter(2)}, Gross: 1}
	err := update(ctx, s, addSales(
		newSum(companyA, uuid.Nil, "", 1), newSum(companyA, uuid.Nil, "", 3), newSum(companyA, uuid.Nil, "", 9),
		newSum(companyA, eventA.ID, "", 1), newSum(companyA, eventA.ID, "VIP", 1),
	))
	if err != nil {
		return err
	}
	if err := update(ctx, s, addSales(of, newSum(companyB, uuid.Nil, "", 3), rich)); err != nil {
		return err
	}
	total := func(ref driver.SalesSumRef, n int64, more money.Amount) driver.SalesSum {
		amount := money.Amount(n)
		return driver.SalesSum{
			SalesSumRef: ref, Orders: n, Admissions: n * of.Admissions, Gross: of.Gross*amount + more, Commission: 3 * amount,
			Refunded: 4 * amount, Reversed: 5 * amount, Admitted: 6 * n,
		}
	}
	when := func(n int) driver.SalesSumRef { return driver.SalesSumRef{At: quarter(n)} }
	a, b := driver.SalesSumRef{CompanyID: companyA}, driver.SalesSumRef{CompanyID: companyB}
	bounds := []time.Time{quarter(0), quarter(1), quarter(3), quarter(5)}
	look := func(rows []driver.SalesSum, sellers ...driver.SalesSum) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return errors.Join(
					want("by time and by gross", driver.PlatformTotals{Periods: rows, Sellers: sellers}).
						from(tx.PlatformSums(ctx, bounds, 9)),
					want("the first", driver.PlatformTotals{Periods: rows, Sellers: sellers[:1]}).
						from(tx.PlatformSums(ctx, bounds, 1)),
					want("by no time", driver.PlatformTotals{}).from(tx.PlatformSums(ctx, bounds[:1], 9)),
					want("of no time", driver.PlatformTotals{}).
						from(tx.PlatformSums(ctx, []time.Time{quarter(90), quarter(91)}, 9)),
				)
			})
		}
	}
	return steps(
		look([]driver.SalesSum{total(when(1), 2, 1), total(when(3), 2, 0)}, total(b, 2, 1), total(a, 2, 0)),
		func() error {
			return update(ctx, s, putProgress(driver.SalesProgress{CompanyID: companyB, Uncounted: driver.SalesReset}))
		},
		look([]driver.SalesSum{total(when(1), 1, 0), total(when(3), 1, 0)}, total(a, 2, 0)),
	)
}

func salesRefused(ctx context.Context, s driver.Store) error {
	late, negative := newSum(companyA, uuid.Nil, "", 1), newSum(companyA, uuid.Nil, "", 1)
	late.At = late.At.Add(time.Minute)
	negative.Reversed = -1
	return errors.Join(
		refuses("a minute that begins no interval", update(ctx, s, addSales(late))),
		refuses("an amount below zero", update(ctx, s, addSales(negative))),
		refuses("progress below zero",
			update(ctx, s, putProgress(driver.SalesProgress{CompanyID: companyA, Uncounted: -1}))),
	)
}

func salesRemoved(ctx context.Context, s driver.Store) error {
	kept := newSum(companyB, uuid.Nil, "", 1)
	gone := []driver.SalesSum{
		newSum(companyA, uuid.Nil, "", 1), newSum(companyA, eventA.ID, "", 3), newSum(companyA, eventA.ID, "VIP", 2),
	}
	remove := func(limit, removed int) writes {
		return func(ctx context.Context, tx driver.Tx) error {
			return want("DeleteSalesSums", removed).from(tx.DeleteSalesSums(ctx, companyA, limit))
		}
	}
	lists := func(company uuid.UUID, sums ...driver.SalesSum) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("sums", sums).from(tx.ListSalesSums(ctx, driver.SalesSumRef{CompanyID: company}, 9))
		})
	}
	return steps(
		func() error { return update(ctx, s, addSales(append(gone, kept)...)) },
		func() error { return failing(ctx, s, remove(9, 3)) },
		func() error { return lists(companyA, gone...) },
		func() error { return update(ctx, s, remove(0, 0)) },
		func() error { return update(ctx, s, remove(2, 2)) },
		func() error { return lists(companyA, gone[2]) },
		func() error { return update(ctx, s, remove(9, 1)) },
		func() error { return lists(companyA) },
		func() error { return lists(companyB, kept) },
		func() error { return update(ctx, s, remove(9, 0)) },
		func() error { return update(ctx, s, addSales(gone...)) },
		func() error { return lists(companyA, gone...) },
	)
}

func progressReplaced(ctx context.Context, s driver.Store) error {
	locks := func(found driver.SalesProgress) error {
		return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return want("LockSalesProgress", found).from(tx.LockSalesProgress(ctx, companyA))
		})
	}
	first, second := driver.SalesProgress{CompanyID: companyA, Uncounted: 9}, driver.SalesProgress{CompanyID: companyA}
	return steps(
		func() error { return locks(driver.SalesProgress{}) },
		func() error { return update(ctx, s, putProgress(first)) },
		func() error { return locks(first) },
		func() error { return failing(ctx, s, putProgress(second)) },
		func() error { return locks(first) },
		func() error { return update(ctx, s, putProgress(second)) },
		func() error { return locks(second) },
		func() error { return update(ctx, s, putProgress(first)) },
		func() error { return locks(first) },
	)
}

func countDue(ctx context.Context, s driver.Store) error {
	work := func(company uuid.UUID) driver.DueWork {
		return driver.DueWork{Kind: driver.WorkCount, CompanyID: company}
	}
	is := func(what string, limit int, after driver.DueWork, wanted ...driver.DueWork) error {
		return want(what, wanted).from(read(ctx, s, due(at(0), limit, after)))
	}
	put := func(company uuid.UUID, uncounted int64) func() error {
		return func() error {
			return update(ctx, s, putProgress(driver.SalesProgress{CompanyID: company, Uncounted: uncounted}))
		}
	}
	a, b, all := work(companyA), work(companyB), driver.DueWork{Kind: driver.WorkCount}
	return steps(
		put(companyB, 7), put(companyA, 1),
		func() error { return is("both", 9, all, a, b) },
		func() error { return is("the first", 1, all, a) },
		func() error { return is("after the first", 9, a, b) },
		put(companyA, 0), put(companyB, 6),
		func() error { return is("the one that is left", 9, all, b) },
		put(companyB, 0),
		func() error { return is("none", 9, all) },
	)
}

func undispatchedListed(ctx context.Context, s driver.Store) error {
	waiting := []driver.Fact{newFact(companyA, 11, at(1)), newFact(companyA, 10, at(2)), newFact(companyA, 12, at(2))}
	err := errors.Join(
		appendFacts(ctx, s, newFact(companyA, 20, at(0)), newFact(companyA, 21, at(2))),
		share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendFacts(ctx, []driver.Fact{waiting[2], newFact(companyB, 13, at(1)), waiting[0], waiting[1]})
		}),
	)
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return pages(waiting, func(after *driver.Fact, limit int) ([]driver.Fact, error) {
			var from driver.Position
			if after != nil {
				from = after.Position()
			}
			return tx.UndispatchedFacts(ctx, companyA, from, limit)
		})
	})
}
