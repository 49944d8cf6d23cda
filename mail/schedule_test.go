package mail_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/mail"
)

func TestADateIsInWordsAndInTheEventsZone(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for _, tt := range []struct {
		name                         string
		date, startsAt, endsAt, zone string
		want                         string
	}{
		{
			name: "an evening in Lagos", date: "2030-12-24", startsAt: "19:00", endsAt: "23:00", zone: "Africa/Lagos",
			want: "Tuesday, 24 December 2030, 19:00 to 23:00 West Africa Time (UTC+01:00)",
		},
		{
			name: "a night has the day of its end",
			date: "2030-12-31", startsAt: "22:00", endsAt: "04:00", zone: "Africa/Lagos",
			want: "Tuesday, 31 December 2030, 22:00 to Wednesday, 1 January 2031, 04:00 West Africa Time (UTC+01:00)",
		},
		{
			name: "an end that equals the start is a day later",
			date: "2030-12-24", startsAt: "19:00", endsAt: "19:00", zone: "Africa/Nairobi",
			want: "Tuesday, 24 December 2030, 19:00 to Wednesday, 25 December 2030, 19:00 East Africa Time (UTC+03:00)",
		},
		{
			name: "in summer", date: "2030-07-01", startsAt: "19:00", endsAt: "23:00", zone: "Europe/London",
			want: "Monday, 1 July 2030, 19:00 to 23:00 British Summer Time (UTC+01:00)",
		},
		{
			name: "in winter", date: "2030-01-01", startsAt: "19:00", endsAt: "23:00", zone: "Europe/London",
			want: "Tuesday, 1 January 2030, 19:00 to 23:00 Greenwich Mean Time (UTC)",
		},
		{
			name: "daylight saving in winter, as the data of Ireland has it",
			date: "2030-01-01", startsAt: "19:00", endsAt: "23:00", zone: "Europe/Dublin",
			want: "Tuesday, 1 January 2030, 19:00 to 23:00 Greenwich Mean Time (UTC)",
		},
		{
			name: "Irish summer", date: "2030-07-01", startsAt: "19:00", endsAt: "23:00", zone: "Europe/Dublin",
			want: "Monday, 1 July 2030, 19:00 to 23:00 Irish Standard Time (UTC+01:00)",
		},
		{
			name: "west of Greenwich, with half an hour",
			date: "2030-01-01", startsAt: "19:00", endsAt: "23:00", zone: "America/St_Johns",
			want: "Tuesday, 1 January 2030, 19:00 to 23:00 Newfoundland Standard Time (UTC-03:30)",
		},
		{
			name: "a zone without a long name",
			date: "2030-07-01", startsAt: "19:00", endsAt: "23:00", zone: "Africa/Casablanca",
			want: "Monday, 1 July 2030, 19:00 to 23:00 Africa/Casablanca (UTC+01:00)",
		},
		{
			name: "an offset of long ago has no name",
			date: "1900-07-01", startsAt: "19:00", endsAt: "23:00", zone: "Africa/Nairobi",
			want: "Sunday, 1 July 1900, 19:00 to 23:00 Africa/Nairobi (UTC+02:27)",
		},
		{
			name: "clocks are set back during the event",
			date: "2030-10-26", startsAt: "22:00", endsAt: "04:00", zone: "Europe/Berlin",
			want: "Saturday, 26 October 2030, 22:00 Central European Summer Time (UTC+02:00) to " +
				"Sunday, 27 October 2030, 04:00 Central European Standard Time (UTC+01:00)",
		},
		{
			name: "a start that clocks skip is an hour later, when the service takes it to be",
			date: "2030-03-31", startsAt: "02:30", endsAt: "05:00", zone: "Europe/Berlin",
			want: "Sunday, 31 March 2030, 03:30 to 05:00 Central European Summer Time (UTC+02:00)",
		},
		{
			name: "an end that is before a start that clocks skip is left out",
			date: "2030-03-31", startsAt: "02:30", endsAt: "03:15", zone: "Europe/Berlin",
			want: "Sunday, 31 March 2030, 03:30 Central European Summer Time (UTC+02:00)",
		},
		{
			name: "without an end", date: "2030-12-24", startsAt: "19:00", zone: "Africa/Lagos",
			want: "Tuesday, 24 December 2030, 19:00 West Africa Time (UTC+01:00)",
		},
		{
			name: "without a zone", date: "2030-12-24", startsAt: "19:00", endsAt: "23:00",
			want: "Tuesday, 24 December 2030, 19:00 to 23:00",
		},
		{name: "a date alone", date: "2030-12-24", zone: "Africa/Lagos", want: "Tuesday, 24 December 2030"},
		{name: "no start", date: "2030-12-24", endsAt: "23:00", want: "Tuesday, 24 December 2030"},
		{name: "no date", startsAt: "19:00", endsAt: "23:00", zone: "Africa/Lagos"},
		{name: "nothing"},
		{name: "no calendar day", date: "2030-02-30", startsAt: "19:00", zone: "Africa/Lagos"},
		{
			name: "a zone that depends on the machine",
			date: "2030-12-24", startsAt: "19:00", endsAt: "23:00", zone: "Local",
			want: "Tuesday, 24 December 2030, 19:00 to 23:00",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			tickets := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 1)...)
			tickets.Event.Schedule = schedule(tt.date, tt.startsAt, tt.endsAt, tt.zone)
			made := render(is, renderer, tickets)
			_, line, found := strings.Cut(made.Text, "\nWhen: ")
			is.Equal(found, tt.want != "")
			line, _, _ = strings.Cut(line, "\n")
			if found {
				is.Equal(line, tt.want)
			}
			is.Equal(strings.Contains(textOf(parseHTML(is, made.HTML)), tt.want), true)
		})
	}
}

// TestEveryZoneIsNamedOrNamesItself renders a date in January and in July in each zone of the list.
func TestEveryZoneIsNamedOrNamesItself(t *testing.T) {
	t.Parallel()
	race.Leave(t, "the names of all zones")
	is := is.New(t)
	renderer := mail.NewRenderer()
	list, err := os.ReadFile("../zones.txt")
	is.NoErr(err)
	named := 0
	for zone := range strings.FieldsSeq(string(list)) {
		for _, date := range []string{"2030-01-15", "2030-07-15"} {
			tickets := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 1)...)
			tickets.Event.Schedule = schedule(date, "19:00", "", zone)
			_, words, _ := strings.Cut(render(is, renderer, tickets).Text, "2030, 19:00 ")
			words, _, _ = strings.Cut(words, "\n")
			name, offset, found := strings.Cut(words, " (UTC")
			is.True(found)
			at, err := time.Parse(time.DateOnly, date)
			is.NoErr(err)
			location, err := time.LoadLocation(zone)
			is.NoErr(err)
			want := at.Add(18 * time.Hour).In(location).Format("-07:00")
			if want == "+00:00" {
				want = ""
			}
			is.Equal(offset, want+")")
			if name != zone {
				named++
				is.True(strings.HasSuffix(name, " Time")) // a long name, or the zone's own
			}
		}
	}
	is.True(named > 1000)
}
