package console

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// countedWithin is how long the dispatch may take to count a sale.
const countedWithin = time.Hour

// period is a run of hours or of days of a zone.
type period struct {
	hourly bool
	zone   *time.Location
	starts []time.Time // of each interval
	end    time.Time   // of the last one
}

// newPeriod returns the intervals of the days from first to last, both as any time of the day in their zone.
func newPeriod(first, last time.Time, hourly bool) period {
	p := period{hourly: hourly, zone: first.Location()}
	year, month, day := first.Date()
	p.end = beginOfDay(last.Year(), last.Month(), last.Day()+1, p.zone)
	for i := 0; len(p.starts) <= maxPoints; i++ {
		at := beginOfDay(year, month, day+i, p.zone)
		if hourly {
			at = beginOfDay(year, month, day, p.zone).Add(time.Duration(i) * time.Hour)
		}
		if !at.Before(p.end) {
			break
		}
		p.starts = append(p.starts, at)
	}
	return p
}

// beginOfDay returns the first moment of a day in a zone. If the clocks skip midnight, the day begins later.
func beginOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	at := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if at.Hour() >= 12 { // It is the hour before the change, which belongs to the day before.
		_, at = at.ZoneBounds()
	}
	return at
}

// from returns the beginning of the period.
func (p period) from() time.Time { return p.starts[0] }

// over reports whether the period has ended, and nothing is counted in it any more.
func (p period) over(now time.Time) bool { return p.end.Before(now.Add(-countedWithin)) }

// index returns the interval of a time.
func (p period) index(at time.Time) int {
	return max(sort.Search(len(p.starts), func(i int) bool { return p.starts[i].After(at) })-1, 0)
}

// endOf returns the end of an interval.
func (p period) endOf(i int) time.Time {
	if i+1 < len(p.starts) {
		return p.starts[i+1]
	}
	return p.end
}

// label names an interval. The label of a day in which the clocks change has its length.
func (p period) label(i int) string {
	at := p.starts[i].In(p.zone)
	if p.hourly {
		return at.Format("2 Jan 2006, 15:04 MST")
	}
	text := at.Format("2 Jan 2006")
	if long := p.endOf(i).Sub(at); long != 24*time.Hour {
		text += fmt.Sprintf(" (%g hours)", long.Hours())
	}
	return text
}

// labels names all intervals.
func (p period) labels() []string {
	all := make([]string, len(p.starts))
	for i := range all {
		all[i] = p.label(i)
	}
	return all
}

// times returns short names of the first interval, the one in the middle and the last, for an axis.
func (p period) times() []string {
	last := len(p.starts) - 1
	layout := "2 Jan"
	switch {
	case p.hourly:
		layout = "2 Jan 15:04"
	case p.starts[0].In(p.zone).Year() != p.starts[last].In(p.zone).Year():
		layout = "2 Jan 2006"
	}
	all := []string{p.starts[0].In(p.zone).Format(layout)}
	if last > 1 {
		all = append(all, p.starts[last/2].In(p.zone).Format(layout))
	}
	if last > 0 {
		all = append(all, p.starts[last].In(p.zone).Format(layout))
	}
	return all
}

// unit returns what an interval is called.
func (p period) unit() string {
	if p.hourly {
		return "Hour"
	}
	return "Day"
}

// summary returns the text alternative of a chart of the period.
func (p period) summary(of string) string {
	return fmt.Sprintf("%s by %s, from %s to %s.", of, strings.ToLower(p.unit()), p.label(0), p.label(len(p.starts)-1))
}

// filter returns the filter of what was sold in the period.
func (p period) filter() ticketing.SalesFilter {
	filter := ticketing.SalesFilter{From: p.from(), To: p.end, Interval: ticketing.SalesDaily, Zone: p.zone}
	if p.hourly {
		filter.Interval = ticketing.SalesHourly
	}
	return filter
}

// sales asks for what was sold in the period by the company of the page, or by an event and its tiers.
func (p period) sales(ctx context.Context, c *call, eventID uuid.UUID, tiers bool) (ticketing.SalesReport, error) {
	filter := p.filter()
	filter.EventID, filter.Tiers = eventID, tiers
	return c.operator.Sales(ctx, c.companyID, filter)
}

// salesChart draws the gross of a report, and of each tier where the report has tiers.
func (p period) salesChart(report ticketing.SalesReport) chart {
	drawn := chart{
		ID: "sales", Title: "Sales by " + strings.ToLower(p.unit()), Summary: p.summary("Sales"),
		Empty: "Gross sales in this period appear here.",
	}
	var lines []chartLine
	byName := map[string]int{}
	tiers := false
	for _, row := range report.Items {
		name := "Sales"
		if row.Tier != nil {
			name, tiers = formatTier(*row.Tier), true
		}
		number, known := byName[name]
		if !known {
			number = len(lines)
			byName[name], lines = number, append(lines, chartLine{name, make([]int64, len(p.starts))})
		}
		lines[number].values[p.index(row.From.Time)] += int64(row.Gross)
	}
	drawn.draw(moneyUnit(), p, lines)
	drawn.Columns, drawn.Names = []string{p.unit()}, 1
	if tiers {
		drawn.Columns, drawn.Names = append(drawn.Columns, "Category"), 2
	}
	drawn.Columns = append(drawn.Columns, "Orders", "Tickets", "Gross", "Refunded")
	for _, row := range report.Items {
		cells := []string{p.label(p.index(row.From.Time))}
		if tiers {
			cells = append(cells, formatTier(*row.Tier))
		}
		drawn.Rows = append(drawn.Rows, append(cells, formatCount(row.Orders), formatCount(row.Admissions),
			formatMoney(row.Gross), formatMoney(row.Refunded)))
	}
	return drawn
}

// admissionsChart draws how many people were admitted.
func (p period) admissionsChart(report ticketing.SalesReport) chart {
	drawn := chart{
		ID: "admissions", Title: "Admissions by " + strings.ToLower(p.unit()), Summary: p.summary("Admissions"),
		Empty:   "Tickets scanned at a gate in this period are counted here.",
		Columns: []string{p.unit(), "Admitted"}, Names: 1,
	}
	admitted := make([]int64, len(p.starts))
	for _, row := range report.Items {
		admitted[p.index(row.From.Time)] += row.Admitted
	}
	drawn.draw(countUnit(), p, []chartLine{{"Admitted", admitted}})
	for i, number := range admitted {
		if number > 0 {
			drawn.Rows = append(drawn.Rows, []string{p.label(i), formatCount(number)})
		}
	}
	return drawn
}

// balanceAt is the balance of a wallet at the end of an interval.
type balanceAt struct {
	At      ticketing.Time `json:"at"`
	Balance money.Amount   `json:"balance"`
}

// floats asks for the float at the end of each interval. The last one may be now.
func (p period) floats(ctx context.Context, c *call) ([]balanceAt, error) {
	times := make([]time.Time, len(p.starts))
	for i := range times {
		times[i] = p.endOf(i)
	}
	amounts, err := c.operator.Balances(ctx, c.companyID, ledger.Float, times)
	balances := make([]balanceAt, len(amounts))
	for i, amount := range amounts {
		balances[i] = balanceAt{ticketing.Time{Time: times[i].UTC()}, amount}
	}
	return balances, err
}

// floatChart draws the float at the end of each interval.
func (p period) floatChart(balances []balanceAt) chart {
	unit := strings.ToLower(p.unit())
	drawn := chart{
		ID: "float", Title: "Float at the end of each " + unit, Summary: p.summary("Float"),
		Empty:   "Float appears here when the platform credits your payment.",
		Columns: []string{p.unit(), "Float"}, Names: 1,
	}
	values := make([]int64, len(balances))
	for i, one := range balances {
		values[i] = int64(one.Balance)
		drawn.Rows = append(drawn.Rows, []string{p.label(i), formatMoney(one.Balance)})
	}
	drawn.draw(moneyUnit(), p, []chartLine{{"Float", values}})
	return drawn
}
