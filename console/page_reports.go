package console

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const (
	reportsPath = "/business/{companyId}/reports"

	// reportDays is how many days a report covers by default, including today.
	reportDays = 30
)

// reportsPage returns the page of what a company sold, and of its float, over time.
func reportsPage() page {
	return page{
		group: groupMoney,
		path:  reportsPath, scope: scopeCompany, title: "Reports", nav: "Reports", icon: "chart",
		permissions: []ticketing.Permission{ticketing.PermissionWalletRead}, template: "reports.html",
		query: append(reportFilters(), eventNameQuery), load: loadReports,
		live: []ticketing.WatchTopic{ticketing.WatchMoney},
	}
}

// reportFilters returns the members of the query that select what a report covers.
func reportFilters() []string { return withZone([]string{"interval", "event", "since", "until"}) }

// report is what the page shows.
type report struct {
	Interval ticketing.SalesInterval `json:"interval"`
	Zone     string                  `json:"zone"`
	EventID  *uuid.UUID              `json:"eventId"` // nil: the company as a whole
	// Sales are of each interval. The report of an event has them of each tier.
	Sales ticketing.SalesReport `json:"sales"`
	// Float is at the end of each interval. It is nil for an event.
	Float []balanceAt `json:"float,omitempty"`

	// Events are those to choose from: the newest, or those that a search found.
	Events []namedEvent `json:"events"`

	From     time.Time `json:"-"`
	Search   string    `json:"-"` // for an event
	Event    string    `json:"-"` // the title of the chosen one
	Filters  []field   `json:"-"`
	Exported []field   `json:"-"` // the filters of the file
	Filtered bool      `json:"-"`
	Charts   []chart   `json:"-"`
}

// Partial reports whether sales of the period may not be counted yet.
func (r report) Partial() bool {
	return r.Sales.CompleteFrom != nil && r.Sales.CompleteFrom.After(r.From)
}

func loadReports(ctx context.Context, c *call) (view, error) {
	zone, err := c.queryZone()
	if err != nil {
		return view{}, err
	}
	eventID, err := c.queryID("event")
	if err != nil {
		return view{}, err
	}
	period, err := c.reportPeriod(zone)
	if err != nil {
		return view{}, err
	}
	shown := report{
		Interval: ticketing.SalesDaily, Zone: zone.String(), From: period.from(),
		Filtered: isFiltered(c, append(reportFilters(), eventNameQuery)...),
	}
	if period.hourly {
		shown.Interval = ticketing.SalesHourly
	}
	var events eventChoice
	reads := []func(context.Context) error{func(ctx context.Context) error {
		var err error
		shown.Sales, err = period.sales(ctx, c, eventID, eventID != uuid.Nil)
		return err
	}, func(ctx context.Context) (err error) {
		if !c.exchange.refreshes() {
			events, err = loadEventChoice(ctx, c, eventID)
		}
		return err
	}}
	if eventID == uuid.Nil {
		reads = append(reads, func(ctx context.Context) error {
			var err error
			shown.Float, err = period.floats(ctx, c)
			return err
		})
	} else {
		shown.EventID = &eventID
	}
	if err := together(ctx, reads...); err != nil {
		return view{}, err
	}
	shown.Events, shown.Search = events.Events, events.Search
	if eventID != uuid.Nil {
		shown.Event = events.field.chosen()
	}
	shown.Exported = slices.Concat([]field{intervalFilter(c)}, dayFilters(c), []field{events.field})
	shown.Filters = append(slices.Clone(shown.Exported), typedFilter(c, eventNameQuery, "Event name", "search"))
	shown.Charts = []chart{period.salesChart(shown.Sales), period.admissionsChart(shown.Sales)}
	if shown.Float != nil {
		shown.Charts = append(shown.Charts, period.floatChart(shown.Float))
	}
	return view{data: shown, still: period.over(c.now)}, nil
}

// intervalFilter returns the choice of how long an interval of a report is.
func intervalFilter(c *call) field {
	return chosenFilter(c, "interval", "By", option{Value: "", Label: "Day"}, option{Value: "HOUR", Label: "Hour"})
}

// reportPeriod reads the period of a report: days of the zone, including the last one, without days in the future.
func (c *call) reportPeriod(zone *time.Location) (period, error) {
	hourly := false
	switch c.query("interval") {
	case "", string(ticketing.SalesDaily):
	case string(ticketing.SalesHourly):
		hourly = true
	default:
		return period{}, invalid("interval: must be HOUR or DAY")
	}
	today := c.now.In(zone)
	last, err := c.queryDay("until", zone, today)
	if err != nil {
		return period{}, err
	}
	if last.After(today) {
		last = today
	}
	days := reportDays
	if hourly {
		days = 2
	}
	first, err := c.queryDay("since", zone, last.AddDate(0, 0, 1-days))
	if err != nil {
		return period{}, err
	}
	if dayOf(first).After(dayOf(last)) {
		return period{}, invalid("since: must not be later than until, and not to come")
	}
	covered := newPeriod(first, last, hourly)
	if len(covered.starts) > maxPoints {
		return period{}, invalid("until: must be at most 400 days after since, or 400 hours")
	}
	return covered, nil
}

// dayOf returns the day of a time, as one that can be compared with another.
func dayOf(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
}

// queryDay reads a member of the query that is a day, as a time of that day in a zone.
func (c *call) queryDay(name string, zone *time.Location, otherwise time.Time) (time.Time, error) {
	text := c.query(name)
	if text == "" {
		return otherwise, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1900 {
		return time.Time{}, invalid(name + ": must be a day since 1900, such as 2026-11-23")
	}
	// No zone changes its clocks at noon.
	return time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, zone), nil
}
