package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type sales struct {
	byRef     map[driver.SalesSumRef]driver.SalesSum
	ofCompany map[uuid.UUID]*index[driver.SalesSumRef]
	progress  map[uuid.UUID]driver.SalesProgress
	uncounted *index[uuid.UUID]                 // the companies with orders to count
	ofBuyer   map[driver.BuyerRef]*index[int64] // the numbers of the buyer's orders in the index of buyers
}

func newSales() sales {
	return sales{
		byRef:     make(map[driver.SalesSumRef]driver.SalesSum),
		ofCompany: make(map[uuid.UUID]*index[driver.SalesSumRef]),
		progress:  make(map[uuid.UUID]driver.SalesProgress),
		uncounted: newIndex(compareIDs),
		ofBuyer:   make(map[driver.BuyerRef]*index[int64]),
	}
}

func newSalesRefs() *index[driver.SalesSumRef] {
	return newIndex(func(a, b driver.SalesSumRef) int {
		return cmp.Or(compareIDs(a.EventID, b.EventID), strings.Compare(a.Tier, b.Tier), a.At.Compare(b.At))
	})
}

// within returns the sums of a company's intervals for which a condition holds, by their keys.
func (s *sales) within(companyID uuid.UUID, from, to time.Time, holds func(driver.SalesSumRef) bool) []driver.SalesSum {
	of, ok := s.ofCompany[companyID]
	if !ok {
		return nil
	}
	var found []driver.SalesSum
	for _, ref := range of.keys {
		if !ref.At.IsZero() && !ref.At.Before(moment(from)) && (to.IsZero() || ref.At.Before(moment(to))) && holds(ref) {
			found = append(found, s.byRef[ref])
		}
	}
	return found
}

// added returns the sum of two sums, with the reference of the first.
func added(a, b driver.SalesSum) driver.SalesSum {
	a.Orders += b.Orders
	a.Admissions += b.Admissions
	a.Gross += b.Gross
	a.Commission += b.Commission
	a.Refunded += b.Refunded
	a.Reversed += b.Reversed
	a.Admitted += b.Admitted
	return a
}

func (r reading) SalesSums(ctx context.Context, query driver.SalesSumQuery) ([]driver.SalesSum, error) {
	return ask(ctx, r, func(s *state) []driver.SalesSum {
		last := len(query.Bounds) - 1
		if last < 1 {
			return nil
		}
		sums := s.sales.within(query.CompanyID, query.Bounds[0], query.Bounds[last], func(ref driver.SalesSumRef) bool {
			return ref.EventID == query.EventID && (ref.Tier != "") == query.Tiers
		})
		return totalsOf(sums, query.Bounds)
	})
}

// totalsOf adds up the sums between each two bounds. The sums come by event, tier and time.
func totalsOf(sums []driver.SalesSum, bounds []time.Time) []driver.SalesSum {
	var totals []driver.SalesSum
	for _, sum := range sums {
		next := sort.Search(len(bounds), func(i int) bool { return bounds[i].After(sum.At) })
		sum.At = moment(bounds[next-1])
		if last := len(totals) - 1; last >= 0 && totals[last].SalesSumRef == sum.SalesSumRef {
			totals[last] = added(totals[last], sum)
			continue
		}
		totals = append(totals, sum)
	}
	return totals
}

func (r reading) SalesTotals(
	ctx context.Context, companyID uuid.UUID, events []uuid.UUID, from, to time.Time,
) ([]driver.SalesSum, error) {
	return ask(ctx, r, func(s *state) []driver.SalesSum {
		return each(events, func(event uuid.UUID) driver.SalesSum {
			var total driver.SalesSum
			for _, sum := range s.sales.within(companyID, from, to, func(ref driver.SalesSumRef) bool {
				return ref.EventID == event && ref.Tier == ""
			}) {
				total.CompanyID, total.EventID = companyID, event
				total = added(total, sum)
			}
			return total
		})
	})
}

func (r reading) EventSums(ctx context.Context, events []driver.EventRef) ([]driver.SalesSum, error) {
	return ask(ctx, r, func(s *state) []driver.SalesSum {
		return each(events, func(event driver.EventRef) driver.SalesSum {
			return s.sales.byRef[driver.SalesSumRef{CompanyID: event.CompanyID, EventID: event.ID}]
		})
	})
}

// ofAll returns the sums of whole companies in a period, by company and time.
func (s *state) ofAll(from, to time.Time) []driver.SalesSum {
	var found []driver.SalesSum
	for _, company := range slices.SortedFunc(maps.Keys(s.sales.ofCompany), compareIDs) {
		if s.sales.progress[company].Uncounted != driver.SalesReset {
			found = append(found, s.sales.within(company, from, to, func(ref driver.SalesSumRef) bool {
				return ref.EventID == uuid.Nil && ref.Tier == ""
			})...)
		}
	}
	return found
}

func (r reading) PlatformSums(
	ctx context.Context, bounds []time.Time, sellers int,
) (driver.PlatformTotals, error) {
	return ask(ctx, r, func(s *state) driver.PlatformTotals {
		if len(bounds) <= 1 {
			return driver.PlatformTotals{}
		}
		sums := s.ofAll(bounds[0], bounds[len(bounds)-1])
		var all driver.PlatformTotals
		for _, sum := range sums {
			sum.At = time.Time{}
			if last := len(all.Sellers) - 1; last >= 0 && all.Sellers[last].CompanyID == sum.CompanyID {
				all.Sellers[last] = added(all.Sellers[last], sum)
				continue
			}
			all.Sellers = append(all.Sellers, sum)
		}
		slices.SortFunc(all.Sellers, func(a, b driver.SalesSum) int {
			return cmp.Or(cmp.Compare(b.Gross, a.Gross), compareIDs(a.CompanyID, b.CompanyID))
		})
		all.Sellers = all.Sellers[:min(max(sellers, 0), len(all.Sellers))]
		for i := range sums {
			sums[i].CompanyID = uuid.Nil
		}
		slices.SortStableFunc(sums, func(a, b driver.SalesSum) int { return a.At.Compare(b.At) })
		all.Periods = totalsOf(sums, bounds)
		return all
	})
}

func (r reading) ListSalesSums(
	ctx context.Context, after driver.SalesSumRef, limit int,
) ([]driver.SalesSum, error) {
	return ask(ctx, r, func(s *state) []driver.SalesSum {
		of, ok := s.sales.ofCompany[after.CompanyID]
		if !ok {
			return nil
		}
		after.At = moment(after.At)
		return each(of.after(after, limit), func(ref driver.SalesSumRef) driver.SalesSum { return s.sales.byRef[ref] })
	})
}

func (r reading) SalesProgress(ctx context.Context, companies []uuid.UUID) ([]driver.SalesProgress, error) {
	return ask(ctx, r, func(s *state) []driver.SalesProgress {
		return each(companies, func(id uuid.UUID) driver.SalesProgress { return s.sales.progress[id] })
	})
}

// LockSalesProgress only reads the progress, because there is no other writer.
func (tx *updating) LockSalesProgress(ctx context.Context, companyID uuid.UUID) (driver.SalesProgress, error) {
	return ask(ctx, tx.reading, func(s *state) driver.SalesProgress { return s.sales.progress[companyID] })
}

func (tx *updating) PutSalesProgress(ctx context.Context, progress driver.SalesProgress) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		if err := check(progress.Uncounted >= 0, "sales_progress_uncounted_check"); err != nil {
			return err
		}
		before := s.sales.progress[progress.CompanyID].Uncounted > 0
		put(u, s.sales.progress, progress.CompanyID, progress)
		switch {
		case progress.Uncounted > 0 && !before:
			s.sales.uncounted.add(u, progress.CompanyID)
		case progress.Uncounted == 0 && before:
			s.sales.uncounted.drop(u, progress.CompanyID)
		}
		return nil
	})
}

func (tx *updating) AddSales(ctx context.Context, sums []driver.SalesSum) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, sum := range sums {
			sum.At = moment(sum.At)
			lowest := min(sum.Orders, sum.Admissions, int64(sum.Gross), int64(sum.Commission), int64(sum.Refunded),
				int64(sum.Reversed), sum.Admitted)
			if err := check(lowest >= 0, "sales_sums_amounts_check"); err != nil {
				return err
			}
			ms := sum.At.UnixMilli()
			if err := check(ms%driver.SalesInterval.Milliseconds() == 0, "sales_sums_at_check"); err != nil {
				return err
			}
			kept, known := s.sales.byRef[sum.SalesSumRef]
			if !known {
				need(s.sales.ofCompany, sum.CompanyID, newSalesRefs).add(u, sum.SalesSumRef)
			}
			put(u, s.sales.byRef, sum.SalesSumRef, added(sum, kept))
		}
		return nil
	})
}

func (tx *updating) DeleteSalesSums(ctx context.Context, companyID uuid.UUID, limit int) (removed int, err error) {
	err = tx.write(ctx, func(s *state, u *undo) error {
		of, ok := s.sales.ofCompany[companyID]
		if !ok {
			return nil
		}
		removed = min(max(limit, 0), len(of.keys))
		for _, ref := range slices.Backward(slices.Clone(of.keys[:removed])) {
			of.drop(u, ref)
			take(u, s.sales.byRef, ref)
		}
		return nil
	})
	return removed, err
}

func (tx *updating) PutBuyerOrders(ctx context.Context, entries []driver.BuyerOrder) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, entry := range entries {
			of := need(s.sales.ofBuyer, driver.BuyerRef{CompanyID: entry.CompanyID, Email: entry.Email}, newNumbers)
			if _, known := of.search(entry.Number); !known {
				of.add(u, entry.Number)
			}
		}
		return nil
	})
}

func (tx *updating) DeleteBuyerOrders(ctx context.Context, buyer driver.BuyerRef, numbers []int64) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		of, ok := s.sales.ofBuyer[buyer]
		if !ok {
			return nil
		}
		for _, number := range numbers {
			if _, known := of.search(number); known {
				of.drop(u, number)
			}
		}
		return nil
	})
}
