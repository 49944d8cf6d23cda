package walltime_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/walltime"
)

func TestMomentsAreThoseThatClocksShow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, wall, zone string
		want             []string
	}{
		{name: "a zone without changes", wall: "2030-12-24T19:00", zone: "Africa/Lagos", want: []string{"2030-12-24T18:00"}},
		{name: "half an hour", wall: "2030-12-24T19:00", zone: "Asia/Kolkata", want: []string{"2030-12-24T13:30"}},
		{name: "three quarters", wall: "2030-12-24T19:00", zone: "Asia/Kathmandu", want: []string{"2030-12-24T13:15"}},
		{
			name: "shown twice", wall: "2030-10-27T02:30", zone: "Europe/Berlin",
			want: []string{"2030-10-27T00:30", "2030-10-27T01:30"},
		},
		{
			name: "shown twice by half an hour", wall: "2030-04-07T01:45", zone: "Australia/Lord_Howe",
			want: []string{"2030-04-06T14:45", "2030-04-06T15:15"},
		},
		{name: "skipped", wall: "2030-03-31T02:30", zone: "Europe/Berlin"},
		{name: "before the gap", wall: "2030-03-31T01:59", zone: "Europe/Berlin", want: []string{"2030-03-31T00:59"}},
		{name: "after the gap", wall: "2030-03-31T03:00", zone: "Europe/Berlin", want: []string{"2030-03-31T01:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			const layout = "2006-01-02T15:04"
			wall, err := time.Parse(layout, tt.wall)
			is.NoErr(err)
			zone, err := time.LoadLocation(tt.zone)
			is.NoErr(err)
			var got []string
			for _, moment := range walltime.Moments(wall, zone) {
				got = append(got, moment.UTC().Format(layout))
			}
			is.Equal(got, tt.want)
		})
	}
}
