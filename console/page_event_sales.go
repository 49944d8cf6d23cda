package console

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/walltime"
	"github.com/floatgate/ticketing/money"
)

// leastDays is how many days the chart of an event's sales has at least, since a single bar shows nothing.
const leastDays = 7

// eventSales is what an event has sold, and how many people were admitted.
type eventSales struct {
	Zone  string                 `json:"zone"`
	Total ticketing.SalesFigures `json:"total"`
	// Days are of each tier: the last 30 days of the event, or those since its first sale.
	Days ticketing.SalesReport `json:"days"`
	// Hours are those of the day or the two days of the event. They are nil before it.
	Hours *ticketing.SalesReport `json:"hours"`

	Charts  []chart `json:"-"`
	Partial bool    `json:"-"` // sales of these days may not be counted yet
	Whole   bool    `json:"-"` // all orders of the total are counted
}

// loadEventSales reads the sales of an event, all parts concurrently.
func loadEventSales(ctx context.Context, c *call, event ticketing.Event) (*eventSales, error) {
	zone, err := c.eventZone(event.Schedule)
	if err != nil {
		return nil, err
	}
	shown := &eventSales{Zone: zone.String()}
	last := c.now.In(zone)
	at, scheduled := timesOf(event.Schedule)
	var hours period
	if scheduled {
		begins, ends := at.moments()
		hours = newPeriod(begins.In(zone), ends.In(zone), true)
		if hours.end.Before(c.now) {
			last = ends.In(zone)
		}
	}
	days := newPeriod(last.AddDate(0, 0, 1-reportDays), last, false)
	reads := []func(context.Context) error{func(ctx context.Context) error {
		totals, err := c.eventTotals(ctx, []uuid.UUID{event.ID})
		if err == nil {
			shown.Total = totals.Items[0]
			shown.Whole = isWhole(event, totals)
		}
		return err
	}, func(ctx context.Context) (err error) {
		shown.Days, err = days.sales(ctx, c, event.ID, true)
		return err
	}}
	if scheduled && !c.now.Before(hours.from()) {
		shown.Hours = new(ticketing.SalesReport)
		reads = append(reads, func(ctx context.Context) (err error) {
			*shown.Hours, err = hours.sales(ctx, c, event.ID, false)
			return err
		})
	}
	if err := together(ctx, reads...); err != nil {
		return nil, err
	}
	days = days.since(firstRow(shown.Days.Items), leastDays)
	shown.Partial = shown.Days.CompleteFrom != nil && shown.Days.CompleteFrom.After(days.from())
	if len(shown.Days.Items) > 0 || event.Status != ticketing.EventDraft {
		shown.Charts = append(shown.Charts, days.salesChart(shown.Days))
	}
	if shown.Hours != nil {
		shown.Charts = append(shown.Charts, hours.admissionsChart(*shown.Hours))
	}
	return shown, nil
}

// eventZone returns the zone of days and hours on the page of an event: that of the query, or else that of the event.
func (c *call) eventZone(schedule ticketing.Schedule) (*time.Location, error) {
	if at, ok := timesOf(schedule); ok && c.query("tz") == "" {
		return at.zone, nil
	}
	return c.queryZone()
}

// eventTotals returns what events of the company sold, in their order.
func (c *call) eventTotals(ctx context.Context, events []uuid.UUID) (ticketing.EventSalesReport, error) {
	return c.operator.EventSales(ctx, c.companyID, events, ticketing.Period{})
}

// isWhole reports whether all orders of an event are counted. Some of an older event may be missing.
func isWhole(event ticketing.Event, totals ticketing.EventSalesReport) bool {
	return totals.CompleteFrom == nil || event.CreatedAt.After(totals.CompleteFrom.Time)
}

// moments returns when the event begins and ends. Where clocks show a time twice, it begins at the earlier and ends at
// the later one.
func (t localTimes) moments() (begins, ends time.Time) {
	moment := func(wall time.Time, last bool) time.Time {
		all := walltime.Moments(wall, t.zone)
		switch {
		case len(all) == 0: // Clocks skip it.
			return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, t.zone)
		case last:
			return all[len(all)-1]
		}
		return all[0]
	}
	return moment(t.start, false), moment(t.end, true)
}

// since returns the end of a period, from the interval of a time on, with at least so many intervals. Without a time it
// has exactly these.
func (p period) since(at time.Time, least int) period {
	first := max(len(p.starts)-least, 0)
	if !at.IsZero() {
		first = min(first, p.index(at))
	}
	p.starts = p.starts[first:]
	return p
}

// firstRow returns when the first interval of a report begins, and the zero time for an empty one.
func firstRow(rows []ticketing.SalesRow) time.Time {
	var first time.Time
	for _, row := range rows {
		if first.IsZero() || row.From.Before(first) {
			first = row.From.Time
		}
	}
	return first
}

// shownEvent is an event of the list, with what it has sold as far as the person may see it.
type shownEvent struct {
	ticketing.Event

	Stock *ticketing.EventStock `json:"stock,omitempty"`
	Gross *money.Amount         `json:"gross,omitempty"` // also nil while orders of the event are counted
}

// showEvents adds to the events of a list what they have sold, with one read of each kind.
func showEvents(ctx context.Context, c *call, events []ticketing.Event) ([]shownEvent, error) {
	shown, ids := make([]shownEvent, len(events)), make([]uuid.UUID, len(events))
	for i, event := range events {
		shown[i].Event, ids[i] = event, event.ID
	}
	var reads []func(context.Context) error
	if c.require(ticketing.GrantInventoryRead) == nil {
		reads = append(reads, func(ctx context.Context) error {
			stock, err := c.console.svc.CountStock(ctx, c.caller, ids)
			for i := range stock {
				shown[i].Stock = &stock[i]
			}
			return err
		})
	}
	if holds(c.actor, ticketing.PermissionWalletRead) {
		reads = append(reads, func(ctx context.Context) error {
			totals, err := c.eventTotals(ctx, ids)
			for i := range totals.Items {
				if isWhole(shown[i].Event, totals) {
					shown[i].Gross = &totals.Items[i].Gross
				}
			}
			return err
		})
	}
	return shown, together(ctx, reads...)
}
