package console

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// platformMoneyPath is the page of the money of all companies.
const platformMoneyPath = "/platform/money"

// platformMoneyPages returns the page of what companies sold, and what they hold.
func platformMoneyPages() []page {
	return []page{{
		path: platformMoneyPath, scope: scopePlatform, title: "Money", nav: "Money", icon: "chart",
		permissions: companyReads(ticketing.PermissionWalletRead), template: "platform-money.html",
		query: moneyFilters(), load: loadPlatformMoney, live: []ticketing.WatchTopic{ticketing.WatchSales},
	}}
}

// moneyFilters returns the members of the query that select a period.
func moneyFilters() []string { return withZone([]string{"interval", "since", "until"}) }

// platformMoney is what all companies sold in a period, and what those that sold most hold now.
type platformMoney struct {
	ticketing.PlatformSales

	Zone     string  `json:"-"`
	Period   string  `json:"-"` // in words
	Filters  []field `json:"-"`
	Filtered bool    `json:"-"`
	Chart    chart   `json:"-"`
}

// loadPlatformMoney reads all companies together: the number of queries does not grow with their number.
func loadPlatformMoney(ctx context.Context, c *call) (view, error) {
	covered, err := moneyPeriod(c)
	if err != nil {
		return view{}, err
	}
	sold, err := c.operator.PlatformSales(ctx, covered.filter(), ticketing.MaxPageLimit)
	if err != nil {
		return view{}, err
	}
	shown := platformMoney{
		PlatformSales: sold, Zone: covered.zone.String(), Period: "in the last 30 days, including today",
		Filters: append([]field{intervalFilter(c)}, dayFilters(c)...), Filtered: isFiltered(c, moneyFilters()...),
	}
	if isFiltered(c, "interval", "since", "until") {
		const layout = "2 January 2006"
		first, last := covered.from().In(covered.zone), covered.end.Add(-1).In(covered.zone)
		if shown.Period = "on " + first.Format(layout); !dayOf(first).Equal(dayOf(last)) {
			shown.Period = "from " + first.Format(layout) + " to " + last.Format(layout)
		}
	}
	shown.Chart = covered.salesChart(ticketing.SalesReport{Items: sold.Items, Total: sold.Total})
	shown.Chart.Empty = "Gross sales of all companies appear here."
	return view{data: shown, still: covered.over(c.now)}, nil
}

// moneyPeriod reads the period of the query.
func moneyPeriod(c *call) (period, error) {
	zone, err := c.queryZone()
	if err != nil {
		return period{}, err
	}
	return c.reportPeriod(zone)
}

// ReportOf returns the address of the report of a company, of the same period as this page.
func (f *frame) ReportOf(companyID uuid.UUID) string {
	path := f.Path(reportsPath, "companyId", companyID)
	if _, query, ok := strings.Cut(f.With(), "?"); ok {
		path += "?" + query
	}
	return path
}
