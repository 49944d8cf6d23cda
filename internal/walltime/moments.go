package walltime

import "time"

// Moments returns the moments at which clocks in a zone show the date and time that wall shows in UTC, earliest first:
// one, two where clocks are set back, and none where they are set forward past it. As in [Latest], a zone must not
// change twice in three days.
func Moments(wall time.Time, zone *time.Location) []time.Time {
	var shown []time.Time
	for _, near := range []time.Time{wall.Add(-36 * time.Hour), wall.Add(36 * time.Hour)} {
		_, offset := near.In(zone).Zone()
		moment := wall.Add(-time.Duration(offset) * time.Second)
		if _, actual := moment.In(zone).Zone(); actual != offset || len(shown) > 0 && shown[0].Equal(moment) {
			continue
		}
		shown = append(shown, moment)
	}
	// Clocks that are set back show a time first with the offset from before, which is the larger one.
	return shown
}
