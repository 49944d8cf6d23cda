package console

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/walltime"
	"github.com/floatgate/ticketing/money"
)

// eventDetail is what the page of an event shows.
type eventDetail struct {
	Event ticketing.Event       `json:"event"`
	Tiers []ticketing.TierStock `json:"tiers"`
	// Sales are nil for a person who may not see the money of the company.
	Sales *eventSales `json:"sales,omitempty"`
}

func loadEvent(ctx context.Context, c *call) (view, error) {
	var shown eventDetail
	id := c.pathID("eventId")
	err := together(ctx, func(ctx context.Context) (err error) {
		shown.Event, err = c.console.svc.GetEvent(ctx, c.caller, id)
		return err
	}, func(ctx context.Context) (err error) {
		shown.Tiers, err = c.console.svc.ListStock(ctx, c.caller, id)
		return err
	})
	if err == nil && holds(c.actor, ticketing.PermissionWalletRead) {
		shown.Sales, err = loadEventSales(ctx, c, shown.Event)
	}
	return view{title: shown.Event.Title, data: shown}, err
}

// Open reports whether the event and its tiers can change.
func (d eventDetail) Open() bool { return isOpenEvent(d.Event) }

// Published reports whether the event sells.
func (d eventDetail) Published() bool { return d.Event.Status == ticketing.EventPublished }

// When returns when the event takes place, in words.
func (d eventDetail) When() string { return formatSchedule(d.Event.Schedule) }

// Clocks returns what a person should know about clocks that change during the event, and "" where they do not.
func (d eventDetail) Clocks() string { return clockNote(d.Event.Schedule) }

// Sold returns how many tickets of the event are sold.
func (d eventDetail) Sold() string {
	total := int64(0)
	for _, tier := range d.Tiers {
		total += tier.SoldQuantity
	}
	return formatCount(total)
}

// Free returns how many tickets of the event are on sale.
func (d eventDetail) Free() string {
	total := int64(0)
	for _, tier := range d.Tiers {
		total += tier.AvailableQuantity
	}
	return formatCount(total)
}

// Paused returns how many unsold tickets of the event are not on sale.
func (d eventDetail) Paused() string {
	total := int64(0)
	for _, tier := range d.Tiers {
		total += tier.PausedQuantity
	}
	return formatCount(total)
}

// Highest returns the highest price of a tier's unsold tickets, and nil if it is the lowest one, too, or is not known.
func (d eventDetail) Highest(tier ticketing.TierStock) *money.Amount {
	if tier.UnitPrice == nil || tier.MoreBatches {
		return nil
	}
	highest := *tier.UnitPrice
	for _, batch := range tier.Batches {
		if batch.Status != ticketing.InventoryCancelled && batch.Sold < batch.Quantity {
			highest = max(highest, batch.UnitPrice)
		}
	}
	if highest == *tier.UnitPrice {
		return nil
	}
	return &highest
}

// MoreBatches reports whether the event has batches that are not listed.
func (d eventDetail) MoreBatches() bool {
	return slices.ContainsFunc(d.Tiers, func(tier ticketing.TierStock) bool { return tier.MoreBatches })
}

// Listed returns how many batches are listed at most.
func (d eventDetail) Listed() string { return formatCount(int64(ticketing.MaxListedBatches)) }

// formatCount returns a number such as "1,000,000". It is an int64 or a pointer to one.
func formatCount(value any) string {
	n, isNumber := value.(int64)
	if pointer, isPointer := value.(*int64); isPointer && pointer != nil {
		n, isNumber = *pointer, true
	}
	if !isNumber {
		return "–"
	}
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func isOpenEvent(e ticketing.Event) bool {
	return e.Status == ticketing.EventDraft || e.Status == ticketing.EventPublished
}

// localTimes are the start and the end of a schedule as clocks at its place show them.
type localTimes struct {
	start, end time.Time // in UTC, which has no changes
	zone       *time.Location
	name       string // of the zone
}

// parseSchedule returns the times of a schedule. It reports false for one that is not complete or malformed.
func parseSchedule(date, startsAt, endsAt, timezone string) (localTimes, bool) {
	const layout = time.DateOnly + " 15:04"
	start, err := time.Parse(layout, date+" "+startsAt)
	end, endErr := time.Parse(layout, date+" "+endsAt)
	zone, zoneErr := time.LoadLocation(timezone)
	if err != nil || endErr != nil || zoneErr != nil || timezone == "" || timezone == "Local" {
		return localTimes{}, false
	}
	if !end.After(start) {
		end = end.AddDate(0, 0, 1)
	}
	return localTimes{start, end, zone, timezone}, true
}

// timesOf returns the times of an event's schedule.
func timesOf(s ticketing.Schedule) (localTimes, bool) {
	if s.Date == nil || s.StartsAt == nil || s.EndsAt == nil || s.Timezone == nil {
		return localTimes{}, false
	}
	return parseSchedule(*s.Date, *s.StartsAt, *s.EndsAt, *s.Timezone)
}

// formatSchedule returns when an event takes place, in its own zone: "Sat 1 May 2027, 18:00 to 23:00, Africa/Lagos".
func formatSchedule(s ticketing.Schedule) string {
	at, ok := timesOf(s)
	if !ok {
		return "–"
	}
	next := ""
	if at.end.Day() != at.start.Day() {
		next = " the next day"
	}
	return at.start.Format("Mon 2 Jan 2006, 15:04") + " to " + at.end.Format("15:04") + next + ", " + at.name
}

// check returns a violation for a time that clocks at the place skip.
func (t localTimes) check() error {
	for _, one := range []struct {
		field string
		wall  time.Time
	}{{"startsAt", t.start}, {"endsAt", t.end}} {
		if len(walltime.Moments(one.wall, t.zone)) == 0 {
			return invalid(one.field + ": there is no " + one.wall.Format("15:04") + " in " + t.name + " on " +
				one.wall.Format("2 January 2006"+", because clocks are set forward past it"))
		}
	}
	return nil
}

// clockNote says which of two moments counts if clocks show the start or the end of an event twice.
func clockNote(s ticketing.Schedule) string {
	at, ok := timesOf(s)
	if !ok {
		return ""
	}
	twice := func(wall time.Time) bool { return len(walltime.Moments(wall, at.zone)) > 1 }
	const set = "Clocks are set back, and show "
	switch {
	case twice(at.start) && twice(at.end):
		return set + "the start and the end twice. The event begins at the earlier and ends at the later one."
	case twice(at.start):
		return set + at.start.Format("15:04") + " twice. The event begins at the earlier one."
	case twice(at.end):
		return set + at.end.Format("15:04") + " twice. The event ends at the later one."
	}
	return ""
}
