package console

import (
	"cmp"
	"html/template"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/walltime"
)

const (
	// homeZone is the zone of the pages, by its name.
	homeZone = "Africa/Lagos"
	// zoneQuery is the member of the query with the zone whose days and times a page shows.
	zoneQuery = "tz"
)

// withZone returns the members of a query that select days, and the one for their zone.
func withZone(names []string) []string { return append(names, zoneQuery) }

// queryZone reads the zone whose days and hours a page shows.
func (c *call) queryZone() (*time.Location, error) {
	name := cmp.Or(c.query(zoneQuery), homeZone)
	zone, err := time.LoadLocation(name)
	if err != nil || !ticketing.IsTimezone(name) {
		return nil, invalid("tz: must be the name of a time zone, such as " + homeZone)
	}
	return zone, nil
}

// zoneFilter returns the choice of a zone. A zone of the query that is missing from it is added.
func zoneFilter(c *call) field {
	zones := []option{{Value: "", Label: "Lagos"}}
	for _, name := range []string{
		"UTC", "Africa/Accra", "Africa/Cairo", "Africa/Johannesburg", "Africa/Nairobi", "America/New_York",
		"America/Los_Angeles", "Asia/Dubai", "Asia/Kolkata", "Europe/Berlin", "Europe/London",
	} {
		zones = append(zones, option{Value: name, Label: name})
	}
	chosen := chosenFilter(c, zoneQuery, "Time zone", zones...)
	for _, one := range chosen.Options {
		if one.Chosen {
			return chosen
		}
	}
	chosen.Options = append(chosen.Options, option{Value: chosen.Value, Label: chosen.Value, Chosen: true})
	return chosen
}

// dayFilters returns the filters of a list by days, and the choice of their zone.
func dayFilters(c *call) []field {
	return []field{typedFilter(c, "since", "From", "date"), typedFilter(c, "until", "To", "date"), zoneFilter(c)}
}

// period reads the members since and until of the query: days, or times of clocks in the zone of the query, or moments.
// If until is a day, all of that day is included.
func (c *call) period() (since, until time.Time, err error) {
	zone, err := c.queryZone()
	if err != nil {
		return since, until, err
	}
	if since, _, err = c.queryTime("since", zone); err != nil {
		return since, until, err
	}
	from, after, err := c.queryTime("until", zone)
	return since, cmp.Or(after, from), err
}

// queryTime reads a member of the query that is a day or a time, and the zero time if it was not sent. For a day it
// returns the beginning of that day and of the next one. A time that clocks show twice is the earlier one.
func (c *call) queryTime(name string, zone *time.Location) (at, next time.Time, err error) {
	text := c.query(name)
	if text == "" {
		return at, next, nil
	}
	if at, err = time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), next, nil
	}
	wall, err := parseLocal(text, time.UTC) // as clocks show it
	switch {
	case err != nil:
		return at, next, invalid(name + ": " + err.Error())
	case len(text) == len(time.DateOnly):
		year, month, day := wall.Date()
		return beginOfDay(year, month, day, zone).UTC(), beginOfDay(year, month, day+1, zone).UTC(), nil
	}
	moments := walltime.Moments(wall, zone)
	if len(moments) == 0 {
		return at, next, invalid(name + ": there is no such time in " + zone.String() +
			", because clocks are set forward past it")
	}
	return moments[0].UTC(), next, nil
}

// shown returns the zone in which the page shows times: that of its query, or else that of the pages.
func (f *frame) shown() *time.Location {
	if f.zone == nil {
		f.zone = shownZone()
		if f.call != nil && f.query(zoneQuery) != "" {
			if zone, err := f.queryZone(); err == nil {
				f.zone = zone
			}
		}
	}
	return f.zone
}

// Ago is the function "ago" in the zone of the page.
func (f *frame) Ago(value any) template.HTML { return showAgo(value, f.now, f.shown()) }

// Moment is the function "moment" in the zone of the page.
func (f *frame) Moment(value any) template.HTML { return showMoment(value, f.shown()) }
