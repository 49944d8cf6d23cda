package walltime_test

import (
	"testing"
	"time"

	_ "time/tzdata" // On machines that have no zones.

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/walltime"
)

func TestLatestIsTheLastMomentThatClocksShow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, wall, zone, want string }{
		{name: "a zone without changes", wall: "2030-12-24T19:00", zone: "Africa/Lagos", want: "2030-12-24T18:00"},
		{name: "in winter", wall: "2030-12-24T19:00", zone: "Europe/Berlin", want: "2030-12-24T18:00"},
		{name: "in summer", wall: "2030-06-24T19:00", zone: "Europe/Berlin", want: "2030-06-24T17:00"},
		{name: "shown twice", wall: "2030-10-27T02:30", zone: "Europe/Berlin", want: "2030-10-27T01:30"},
		{name: "skipped", wall: "2030-03-31T02:30", zone: "Europe/Berlin", want: "2030-03-31T01:30"},
		{name: "skipped, west", wall: "2030-03-10T02:30", zone: "America/New_York", want: "2030-03-10T07:30"},
		{name: "a day that was left out", wall: "2011-12-30T12:00", zone: "Pacific/Apia", want: "2011-12-30T22:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			const layout = "2006-01-02T15:04"
			wall, err := time.Parse(layout, tt.wall)
			is.NoErr(err)
			zone, err := time.LoadLocation(tt.zone)
			is.NoErr(err)
			is.Equal(walltime.Latest(wall, zone).UTC().Format(layout), tt.want)
		})
	}
}
