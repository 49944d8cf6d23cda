package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

const (
	// salesSums are the columns of a sum that are added up, each under its own name.
	salesSums = `sum(orders) AS orders, sum(admissions) AS admissions, sum(gross) AS gross,
	sum(commission) AS commission, sum(refunded) AS refunded, sum(reversed) AS reversed, sum(admitted) AS admitted`
	salesColumns = `company_id, event_id, tier, at, orders, admissions, gross, commission, refunded, reversed,
	admitted`
	openProgress = "ticketing_sales_progress_open"
	minBounds    = 2 // of a time
)

func scanSales(row rowSet, s *driver.SalesSum) error {
	ref := []any{(*id)(&s.CompanyID), (*id)(&s.EventID), &s.Tier, (*moment)(&s.At)}
	return row.Scan(append(ref, figuresOf(s)...)...)
}

// figuresOf returns the destinations to which the columns of a sum after its reference are scanned.
func figuresOf(s *driver.SalesSum) []any {
	return []any{
		&s.Orders, &s.Admissions, (*int64)(&s.Gross), (*int64)(&s.Commission), (*int64)(&s.Refunded),
		(*int64)(&s.Reversed), &s.Admitted,
	}
}

// allTime is the time that is kept for the sum of all time: the zero time in milliseconds, before every interval.
const allTime int64 = -62_135_596_800_000

// since returns the beginning of a period in milliseconds, and that of the first interval for the zero time.
func since(from time.Time) int64 { return max(from.UnixMilli(), allTime+1) }

// until returns the end of a period in milliseconds, and the end of time for the zero time.
func until(to time.Time) int64 {
	if to.IsZero() {
		return math.MaxInt64
	}
	return to.UnixMilli()
}

// salesTotals are the columns that scanSales reads after the time, added up.
const salesTotals = `CAST(sum(orders) AS BIGINT), CAST(sum(admissions) AS BIGINT), CAST(sum(gross) AS BIGINT),
	CAST(sum(commission) AS BIGINT), CAST(sum(refunded) AS BIGINT), CAST(sum(reversed) AS BIGINT),
	CAST(sum(admitted) AS BIGINT)`

// timeOf is the expression that returns the beginning of the period that a sum belongs to, by the bounds of a query.
// Consecutive periods of one length need one division. So a year of days needs a branch for each change of the clocks,
// where a join with the bounds would read the sums once for each day.
type timeOf []time.Time

func (bounds timeOf) appendTo(to *builder) {
	type run struct{ from, to, length int64 }
	var runs []run
	for i := range len(bounds) - 1 {
		from, end := bounds[i].UnixMilli(), bounds[i+1].UnixMilli()
		if last := len(runs) - 1; last >= 0 && runs[last].length == end-from {
			runs[last].to = end
			continue
		}
		runs = append(runs, run{from, end, end - from})
	}
	to.add("CASE")
	for _, one := range runs {
		to.add(" WHEN at < ? THEN ? + (at - ?) / ? * ?", one.to, one.from, one.from, one.length, one.length)
	}
	to.add(" END")
}

// SalesSums adds up the sums of a period. The database groups them, so that the size of the result does not grow with
// the sums of a day.
func (s *session) SalesSums(ctx context.Context, ask driver.SalesSumQuery) ([]driver.SalesSum, error) {
	if len(ask.Bounds) < minBounds {
		return nil, nil
	}
	tier := "tier = ''"
	if ask.Tiers {
		tier = "tier > ''"
	}
	scan := func(row rowSet, sum *driver.SalesSum) error {
		sum.CompanyID, sum.EventID = ask.CompanyID, ask.EventID
		return row.Scan(append([]any{&sum.Tier, (*moment)(&sum.At)}, figuresOf(sum)...)...)
	}
	return query(ctx, s, "SalesSums", scan,
		"SELECT tier, ?, "+salesTotals+`
		FROM ticketing_sales_sums WHERE company_id = ? AND event_id = ? AND `+tier+` AND at >= ? AND at < ?
		GROUP BY 1, 2 ORDER BY 1, 2`,
		timeOf(ask.Bounds), ask.CompanyID, ask.EventID, since(ask.Bounds[0]),
		ask.Bounds[len(ask.Bounds)-1].UnixMilli())
}

// SalesTotals adds up the sums of each event. It reads each event on its own, in the range of the period: for a list of
// events PostgreSQL would read the sums of all time.
func (s *session) SalesTotals(
	ctx context.Context, companyID uuid.UUID, events []uuid.UUID, from, to time.Time,
) ([]driver.SalesSum, error) {
	return findByRefs(events, func(t driver.SalesSum) uuid.UUID { return t.EventID },
		func(events []uuid.UUID) (all []driver.SalesSum, err error) {
			for some := range slices.Chunk(events, maxTotals) {
				part := strings.Repeat(" UNION ALL "+totalOfEvent, len(some))[len(" UNION ALL "):]
				var args []any
				for _, event := range some {
					args = append(args, companyID, event, since(from), until(to))
				}
				found, err := query(ctx, s, "SalesTotals", scanSales, part, args...)
				if err != nil {
					return nil, err
				}
				all = append(all, found...)
			}
			return all, nil
		})
}

// EventSums finds the sums of all time.
func (s *session) EventSums(ctx context.Context, events []driver.EventRef) ([]driver.SalesSum, error) {
	return findByRefs(events, func(t driver.SalesSum) driver.EventRef {
		return driver.EventRef{CompanyID: t.CompanyID, ID: t.EventID}
	},
		func(events []driver.EventRef) ([]driver.SalesSum, error) {
			return query(ctx, s, "EventSums", scanSales, "SELECT "+salesColumns+" FROM ?",
				keyedRows{table: "ticketing_sales_sums s", set: newSet("company_id, event_id, tier, at", events,
					func(event driver.EventRef) []any { return []any{event.CompanyID, event.ID, "", allTime} })})
		})
}

const (
	// maxTotals is how many events one statement reads: SQLite joins at most 500 queries.
	maxTotals    = 100
	totalOfEvent = `SELECT company_id, event_id, '', CAST(NULL AS BIGINT), ` + salesTotals + `
		FROM ticketing_sales_sums WHERE company_id = ? AND event_id = ? AND tier = '' AND at >= ? AND at < ?
		GROUP BY company_id, event_id`
)

// PlatformSums adds up the sums of each company in each period, and adds up the results by period and by company.
func (s *session) PlatformSums(
	ctx context.Context, bounds []time.Time, sellers int,
) (all driver.PlatformTotals, err error) {
	if len(bounds) < minBounds {
		return all, nil
	}
	scan := func(row rowSet, sum *driver.SalesSum) error {
		return row.Scan(append([]any{(*id)(&sum.CompanyID), (*moment)(&sum.At)}, figuresOf(sum)...)...)
	}
	found, err := query(ctx, s, "PlatformSums", scan, "WITH sums AS MATERIALIZED ("+
		s.store.engine.traits().platformSums+`)
		SELECT CAST(NULL AS UUID), at, `+salesTotals+` FROM sums GROUP BY at
		UNION ALL SELECT * FROM (SELECT company_id, CAST(NULL AS BIGINT), `+salesTotals+` FROM sums
			GROUP BY company_id ORDER BY sum(gross) DESC, company_id LIMIT ?) AS sellers`,
		timeOf(bounds), uuid.Nil, since(bounds[0]), bounds[len(bounds)-1].UnixMilli(), driver.SalesReset, max(sellers, 0))
	if err != nil {
		return all, err
	}
	for _, sum := range found {
		if sum.CompanyID == uuid.Nil {
			all.Periods = append(all.Periods, sum)
		} else {
			all.Sellers = append(all.Sellers, sum)
		}
	}
	// The order within a union is not kept.
	slices.SortFunc(all.Periods, func(a, b driver.SalesSum) int { return a.At.Compare(b.At) })
	slices.SortFunc(all.Sellers, func(a, b driver.SalesSum) int {
		return cmp.Or(cmp.Compare(b.Gross, a.Gross), slices.Compare(a.CompanyID[:], b.CompanyID[:]))
	})
	return all, nil
}

// ListSalesSums returns a page of a company's sums, by their keys.
func (s *session) ListSalesSums(
	ctx context.Context, after driver.SalesSumRef, limit int,
) ([]driver.SalesSum, error) {
	return query(ctx, s, "ListSalesSums", scanSales,
		"SELECT "+salesColumns+` FROM ticketing_sales_sums WHERE company_id = ? AND (event_id, tier, at) > (?, ?, ?)
		ORDER BY event_id, tier, at LIMIT ?`,
		after.CompanyID, after.EventID, after.Tier, after.At.UnixMilli(), max(limit, 0))
}

func scanProgress(row rowSet, p *driver.SalesProgress) error {
	return row.Scan((*id)(&p.CompanyID), &p.Uncounted)
}

func progressOf(p driver.SalesProgress) uuid.UUID { return p.CompanyID }

// SalesProgress finds how far the sums of companies are complete.
func (s *session) SalesProgress(ctx context.Context, companies []uuid.UUID) ([]driver.SalesProgress, error) {
	return findByRefs(companies, progressOf, func(companies []uuid.UUID) ([]driver.SalesProgress, error) {
		return query(ctx, s, "SalesProgress", scanProgress,
			"SELECT company_id, uncounted FROM ticketing_sales_progress WHERE ?", inIDs("company_id", companies))
	})
}

// LockSalesProgress reads the progress of a company and locks it against other writers.
func (tx *transaction) LockSalesProgress(ctx context.Context, companyID uuid.UUID) (driver.SalesProgress, error) {
	return firstRow(query(ctx, &tx.session, "LockSalesProgress", scanProgress, "SELECT company_id, uncounted FROM ?",
		keyedRows{table: "ticketing_sales_progress p", lock: true, set: set{
			columns: []string{"company_id"}, rows: columnOf([]uuid.UUID{companyID}),
		}}))
}

// PutSalesProgress inserts or updates the progress of a company.
func (tx *transaction) PutSalesProgress(ctx context.Context, p driver.SalesProgress) error {
	return tx.put(ctx, "PutSalesProgress", "ticketing_sales_progress",
		newSet("company_id, uncounted", []driver.SalesProgress{p}, func(p driver.SalesProgress) []any {
			return []any{p.CompanyID, p.Uncounted}
		}), " ON CONFLICT (company_id) DO UPDATE SET uncounted = excluded.uncounted")
}

// AddSales inserts sums, or adds to those that exist.
func (tx *transaction) AddSales(ctx context.Context, sums []driver.SalesSum) error {
	return inParts(sums, func(sums []driver.SalesSum) error {
		return tx.put(ctx, "AddSales", "ticketing_sales_sums", newSet(salesColumns, sums, func(s driver.SalesSum) []any {
			return []any{
				s.CompanyID, s.EventID, s.Tier, s.At.UnixMilli(), s.Orders, s.Admissions, int64(s.Gross),
				int64(s.Commission), int64(s.Refunded), int64(s.Reversed), s.Admitted,
			}
		}), ` ON CONFLICT (company_id, event_id, tier, at) DO UPDATE SET
			orders = ticketing_sales_sums.orders + excluded.orders,
			admissions = ticketing_sales_sums.admissions + excluded.admissions,
			gross = ticketing_sales_sums.gross + excluded.gross,
			commission = ticketing_sales_sums.commission + excluded.commission,
			refunded = ticketing_sales_sums.refunded + excluded.refunded,
			reversed = ticketing_sales_sums.reversed + excluded.reversed,
			admitted = ticketing_sales_sums.admitted + excluded.admitted`)
	})
}

// DeleteSalesSums deletes the first sums of a company.
func (tx *transaction) DeleteSalesSums(ctx context.Context, companyID uuid.UUID, limit int) (int, error) {
	return tx.prune(ctx, "DeleteSalesSums", "ticketing_sales_sums", "event_id, tier, at", companyID, limit,
		func(sums *bun.SelectQuery) *bun.SelectQuery { return sums })
}

// PutBuyerOrders inserts entries of the index of buyers that do not exist yet.
func (tx *transaction) PutBuyerOrders(ctx context.Context, entries []driver.BuyerOrder) error {
	return inParts(entries, func(entries []driver.BuyerOrder) error {
		return tx.put(ctx, "PutBuyerOrders", "ticketing_buyer_orders",
			newSet("company_id, email, number", entries, func(e driver.BuyerOrder) []any {
				return []any{e.CompanyID, e.Email, e.Number}
			}), " ON CONFLICT (company_id, email, number) DO NOTHING")
	})
}

// DeleteBuyerOrders deletes entries of a buyer.
func (tx *transaction) DeleteBuyerOrders(ctx context.Context, buyer driver.BuyerRef, numbers []int64) error {
	return inParts(numbers, func(numbers []int64) error {
		return tx.exec(ctx, "DeleteBuyerOrders",
			"DELETE FROM ticketing_buyer_orders WHERE company_id = ? AND email = ? AND ?",
			buyer.CompanyID, buyer.Email, inRows(set{columns: []string{"number"}, rows: columnOf(numbers)}))
	})
}
