// Package walltime finds the moment at which clocks in a time zone show a date and a time.
package walltime

import "time"

// Latest returns the last moment at which clocks in a zone show the date and time that wall shows in UTC. Clocks that
// are set back show it twice, and the second time counts. Clocks that are set forward skip it; then the offset from
// before the change counts. It tries the offsets of 36 hours before and after, so a zone must not change twice in these
// three days.
func Latest(wall time.Time, zone *time.Location) time.Time {
	var shown, last time.Time
	for _, near := range []time.Time{wall.Add(-36 * time.Hour), wall.Add(36 * time.Hour)} {
		_, offset := near.In(zone).Zone()
		moment := wall.Add(-time.Duration(offset) * time.Second)
		if moment.After(last) || last.IsZero() {
			last = moment
		}
		_, actual := moment.In(zone).Zone()
		if actual == offset && moment.After(shown) {
			shown = moment
		}
	}
	if shown.IsZero() {
		return last
	}
	return shown
}
