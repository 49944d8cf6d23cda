package ticketing

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// SalesInterval is the length of the rows of a [SalesReport].
type SalesInterval string

// The intervals of a report: an hour or a calendar day of its zone.
const (
	SalesHourly SalesInterval = "HOUR"
	SalesDaily  SalesInterval = "DAY"
)

// The most intervals that a report covers, with and without sales, and the most events of [Operator.EventSales].
const (
	MaxSalesHours  = 800
	MaxSalesDays   = 400
	MaxSalesEvents = 1000
)

// SalesFigures are what was sold, paid back and admitted in an interval.
type SalesFigures struct {
	Orders     int64        `json:"orders"`     // by the time of the sale; of a tier: orders with an admission of it
	Admissions int64        `json:"admissions"` // that were sold, by the time of the sale
	Gross      money.Amount `json:"gross"`      // of the orders
	Commission money.Amount `json:"commission"` // of the orders; 0.00 for a tier: it belongs to an order
	Refunded   money.Amount `json:"refunded"`   // the gross that was paid back, by the time of the refund
	Reversed   money.Amount `json:"reversed"`   // the commission that was taken back, by the time of the refund
	Admitted   int64        `json:"admitted"`   // by the time of the validation
}

// add adds a sum to the figures.
func (f *SalesFigures) add(sum driver.SalesSum) {
	f.Orders += sum.Orders
	f.Admissions += sum.Admissions
	f.Gross += sum.Gross
	f.Commission += sum.Commission
	f.Refunded += sum.Refunded
	f.Reversed += sum.Reversed
	f.Admitted += sum.Admitted
}

// SalesRow is one interval of a report. A day in which the clocks change has 23 or 25 hours.
type SalesRow struct {
	SalesFigures

	Tier *string `json:"tier"` // nil: the event or the company as a whole
	From Time    `json:"from"`
	To   Time    `json:"to"` // the end, which is the From of the next interval
}

// SalesReport is the sales of a company or an event, by hour or by day. An interval without sales, refunds and
// admissions has no row.
type SalesReport struct {
	Items []SalesRow   `json:"items"` // by tier, then oldest first
	Total SalesFigures `json:"total"` // of the company or the event as a whole: an order may have several tiers
	// CompleteFrom is the time from which on all sales are counted. Nothing of an earlier order is counted yet, neither
	// its sale nor a later refund. It is nil if every order is counted. At the beginning of [Operator.RebuildSales] it is
	// after the newest order, and the report is empty. New orders are counted when their facts are dispatched, usually
	// within a second.
	CompleteFrom *Time `json:"completeFrom"`
}

// SalesFilter selects what a report shows.
type SalesFilter struct {
	EventID uuid.UUID // zero: the company as a whole; an event that the company does not have gives an empty report
	Tiers   bool      // rows for each tier of the event instead of the event as a whole; it needs an event
	// From and To are widened to whole intervals. From is required. A zero To includes the newest sale.
	From, To time.Time
	Interval SalesInterval  // HOUR or DAY; defaults to DAY
	Zone     *time.Location // whose hours and days they are; defaults to UTC
}

// intervals returns the ends of the intervals of a filter, with the beginning of the first one.
func (f SalesFilter) intervals(v *violations, now time.Time) []time.Time {
	zone, to := f.Zone, f.To
	if zone == nil {
		zone = time.UTC
	}
	if to.IsZero() {
		to = now.Add(time.Millisecond)
	}
	checkYear(v, "from", f.From)
	checkYear(v, "to", to)
	begin, next, most := beginOfDay, endOfDay, MaxSalesDays
	switch f.Interval {
	case "", SalesDaily:
	case SalesHourly:
		begin, next, most = beginOfHour, endOfHour, MaxSalesHours
	default:
		v.add("interval", "must be HOUR or DAY")
	}
	if f.Tiers && f.EventID == uuid.Nil {
		v.add("tiers", "must be of an event")
	}
	if !f.From.Before(to) {
		v.add("to", "must be later than from")
	}
	if len(*v) > 0 {
		return nil
	}
	ends := []time.Time{begin(f.From.In(zone))}
	for last := ends[0]; last.Before(to); ends = append(ends, last) {
		if len(ends) > most {
			v.add("to", fmt.Sprintf("must be at most %d intervals after from", most))
			return nil
		}
		last = next(last)
	}
	return ends
}

// beginOfDay returns the beginning of the day of a time, in its zone. Clocks that change at midnight skip it or have it
// twice, so it looks for the first quarter of an hour with the date.
func beginOfDay(t time.Time) time.Time {
	year, month, day := t.Date()
	return firstOfDate(t.Location(), year, month, day)
}

// endOfDay returns the beginning of the day after that of a time.
func endOfDay(t time.Time) time.Time {
	year, month, day := t.Date()
	return firstOfDate(t.Location(), year, month, day+1)
}

// firstOfDate returns the first quarter of an hour of a date in a zone, or of a later one where the zone skips the
// date.
func firstOfDate(zone *time.Location, year int, month time.Month, day int) time.Time {
	// The calendar in UTC has every date, so it normalizes a day beyond the month, and compares.
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	year, month, day = date.Date()
	const shift = 3 * time.Hour // more than any change of clocks at midnight
	at := time.Date(year, month, day, 0, 0, 0, 0, zone).Add(-shift).Truncate(driver.SalesInterval)
	for {
		year, month, day := at.Date()
		if !time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Before(date) {
			return at
		}
		at = at.Add(driver.SalesInterval)
	}
}

// beginOfHour returns the beginning of the hour of a time, in its zone. A change of clocks by half an hour begins one.
func beginOfHour(t time.Time) time.Time {
	quarter := t.Truncate(driver.SalesInterval)
	begin := quarter.Add(-time.Duration(quarter.Minute()) * time.Minute)
	if changed, _ := quarter.ZoneBounds(); begin.Before(changed) {
		return changed
	}
	return begin
}

// endOfHour returns the beginning of the hour after that of a time.
func endOfHour(t time.Time) time.Time {
	end := t.Add(time.Duration(60-t.Minute()) * time.Minute)
	if _, changes := t.ZoneBounds(); !changes.IsZero() && changes.Before(end) {
		return changes
	}
	return end
}

// Sales returns what a company or one of its events sold, by hour or by day. It needs COMPANY:wallet:read.
//
// Days are those of the zone, also where the clocks change or where midnight is at half an hour of UTC. It is
// INVALID_REQUEST for more than [MaxSalesDays] days or [MaxSalesHours] hours, a To that is not later than From, another
// interval, and tiers without an event.
func (o Operator) Sales(ctx context.Context, companyID uuid.UUID, filter SalesFilter) (SalesReport, error) {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return SalesReport{}, err
	}
	var v violations
	ends := filter.intervals(&v, o.s.now())
	if err := v.err(); err != nil {
		return SalesReport{}, err
	}
	from, to := ends[0], ends[len(ends)-1]
	var report SalesReport
	err := o.snapshot(ctx, PermissionWalletRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			complete, meaningful, err := salesCompleteFrom(ctx, tx, companyID)
			report = SalesReport{Items: []SalesRow{}, CompleteFrom: complete}
			if err != nil || !meaningful {
				return err
			}
			sums, err := tx.SalesSums(ctx, driver.SalesSumQuery{
				CompanyID: companyID, EventID: filter.EventID, Tiers: filter.Tiers, Bounds: ends,
			})
			if err != nil {
				return err
			}
			report.Items = salesRows(sums, ends)
			total, err := firstRecord(tx.SalesTotals(ctx, companyID, []uuid.UUID{filter.EventID}, from, to))
			report.Total.add(total)
			return err
		})
	if err != nil {
		return SalesReport{}, err
	}
	return report, nil
}

// salesRows returns the rows of totals, each of which begins with one of the intervals.
func salesRows(totals []driver.SalesSum, ends []time.Time) []SalesRow {
	rows := make([]SalesRow, len(totals))
	for i, total := range totals {
		next := sort.Search(len(ends), func(i int) bool { return ends[i].After(total.At) })
		rows[i] = SalesRow{
			Tier: optional(total.Tier), From: Time{Time: total.At.UTC()}, To: Time{Time: ends[next].UTC()},
		}
		rows[i].add(total)
	}
	return rows
}

// salesCompleteFrom returns the time from which all sales of a company are in its sums, and nil if all ever are. It
// also reports whether the sums mean something: those of a company that is reset do not, and stand for none.
//
// It must be read at the same moment as the sums.
func salesCompleteFrom(
	ctx context.Context, tx driver.ReadTx, companyID uuid.UUID,
) (from *Time, meaningful bool, err error) {
	progress, err := firstRecord(tx.SalesProgress(ctx, []uuid.UUID{companyID}))
	if err != nil || progress.Uncounted == 0 {
		return nil, true, err
	}
	ref := driver.WalletRef{CompanyID: companyID, Wallet: ledger.Float}
	if progress.Uncounted == driver.SalesReset {
		float, err := firstRecord(tx.Wallets(ctx, []driver.WalletRef{ref}))
		if err != nil || float.Sequence == 0 {
			return nil, false, err
		}
		return afterMoment(float.LastAt), false, nil
	}
	entry, err := firstRecord(tx.Entries(ctx, []driver.EntryRef{{WalletRef: ref, Sequence: progress.Uncounted}}))
	if err != nil {
		return nil, false, err
	}
	if entry.Sequence == 0 {
		return nil, false, fmt.Errorf("%w: %s has no entry %d", ErrLedgerBroken, ref.Wallet, progress.Uncounted)
	}
	return afterMoment(entry.At), true, nil
}

// afterMoment returns the millisecond after a time, since another order may have the same time and a higher number.
func afterMoment(at time.Time) *Time { return &Time{Time: at.Add(time.Millisecond)} }

// EventSalesReport is the sales of several events in a period.
type EventSalesReport struct {
	Items []SalesFigures `json:"items"` // in the order of the events that were asked for
	// CompleteFrom is when the sales begin that are all counted, as in a [SalesReport].
	CompleteFrom *Time `json:"completeFrom"`
}

// EventSales returns the figures of each of a company's events, in the order of the events. The zero event is the
// company as a whole, and an event that it does not have has sold nothing. The period is widened to whole quarters of
// an hour. More than [MaxSalesEvents] events, and a To that is not later than From, are INVALID_REQUEST. It needs
// COMPANY:wallet:read.
func (o Operator) EventSales(
	ctx context.Context, companyID uuid.UUID, events []uuid.UUID, period Period,
) (EventSalesReport, error) {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return EventSalesReport{}, err
	}
	var v violations
	if len(events) > MaxSalesEvents {
		v.add("events", fmt.Sprintf("must be at most %d", MaxSalesEvents))
	}
	checkNamedPeriod(&v, "from", &period.From, "to", &period.To)
	if err := v.err(); err != nil {
		return EventSalesReport{}, err
	}
	from := period.From.Truncate(driver.SalesInterval)
	to := period.To
	if !to.IsZero() {
		to = to.Add(driver.SalesInterval - time.Millisecond).Truncate(driver.SalesInterval)
	}
	var report EventSalesReport
	// Figures and progress are those of one moment, so that no order is counted between the two.
	err := o.snapshot(ctx, PermissionWalletRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			complete, meaningful, err := salesCompleteFrom(ctx, tx, companyID)
			report = EventSalesReport{Items: make([]SalesFigures, len(events)), CompleteFrom: complete}
			if err != nil || !meaningful {
				return err
			}
			totals, err := eventTotals(ctx, tx, companyID, events, from, to)
			for i, total := range totals {
				report.Items[i].add(total)
			}
			return err
		})
	if err != nil {
		return EventSalesReport{}, err
	}
	return report, nil
}

// eventTotals returns the total of each event in a period. Those of all time are kept, but for the company as a whole.
func eventTotals(
	ctx context.Context, tx driver.ReadTx, companyID uuid.UUID, events []uuid.UUID, from, to time.Time,
) ([]driver.SalesSum, error) {
	if !from.IsZero() || !to.IsZero() || slices.Contains(events, uuid.Nil) {
		return tx.SalesTotals(ctx, companyID, events, from, to)
	}
	return tx.EventSums(ctx, eventRefs(companyID, events))
}

// eventRefs returns the references of events of a company.
func eventRefs(companyID uuid.UUID, events []uuid.UUID) []driver.EventRef {
	refs := make([]driver.EventRef, len(events))
	for i, event := range events {
		refs[i] = driver.EventRef{CompanyID: companyID, ID: event}
	}
	return refs
}
