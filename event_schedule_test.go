package ticketing_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ticketingtest"
)

func utc(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	is.New(t).NoErr(err)
	return at
}

// status reads an event's status.
func status(t testing.TB, shop *ticketingtest.Shop, event ticketing.Event) ticketing.EventStatus {
	t.Helper()
	found, err := shop.GetEvent(t.Context(), shop.Caller, event.ID)
	is.New(t).NoErr(err)
	return found.Status
}

// endAt sets the clock and ends the events that are due. It returns their number.
func endAt(t testing.TB, shop *ticketingtest.Shop, at time.Time) int {
	t.Helper()
	shop.Clock.Set(at)
	ended, err := shop.EndEvents(t.Context())
	is.New(t).NoErr(err)
	return ended
}

// TestEventEndsAtItsScheduledEnd checks that a published event ends at its scheduled end in its own time zone, not a
// millisecond before, and once.
func TestEventEndsAtItsScheduledEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                     string
		date, starts, ends, zone string
		want                     string // UTC
	}{
		{
			name: "east of Greenwich", date: "2026-12-21", starts: "19:00", ends: "23:30", zone: "Africa/Lagos",
			want: "2026-12-21 22:30",
		},
		{
			name: "far east", date: "2026-12-21", starts: "09:00", ends: "13:30", zone: "Pacific/Kiritimati",
			want: "2026-12-20 23:30",
		},
		{
			name: "far west", date: "2026-12-21", starts: "09:00", ends: "23:30", zone: "Pacific/Pago_Pago",
			want: "2026-12-22 10:30",
		},
		{
			name: "quarter hours", date: "2026-12-21", starts: "09:00", ends: "12:00", zone: "Asia/Kathmandu",
			want: "2026-12-21 06:15",
		},
		{
			name: "over midnight", date: "2026-12-31", starts: "22:00", ends: "04:00", zone: "Africa/Lagos",
			want: "2027-01-01 03:00",
		},
		{name: "a whole day", date: "2026-12-21", starts: "10:00", ends: "10:00", zone: "UTC", want: "2026-12-22 10:00"},
		{name: "a minute", date: "2026-12-21", starts: "10:00", ends: "10:01", zone: "UTC", want: "2026-12-21 10:01"},
		{name: "until midnight", date: "2026-12-21", starts: "10:00", ends: "00:00", zone: "UTC", want: "2026-12-22 00:00"},
		{name: "leap day", date: "2028-02-28", starts: "22:00", ends: "01:00", zone: "UTC", want: "2028-02-29 01:00"},
		{
			name: "winter time", date: "2027-01-15", starts: "10:00", ends: "12:00", zone: "Europe/London",
			want: "2027-01-15 12:00",
		},
		{
			name: "summer time", date: "2027-07-15", starts: "10:00", ends: "12:00", zone: "Europe/London",
			want: "2027-07-15 11:00",
		},
		{
			name: "the night clocks go forward", date: "2027-03-27", starts: "22:00", ends: "05:00", zone: "Europe/London",
			want: "2027-03-28 04:00",
		},
		{
			name: "the night clocks go back", date: "2027-10-30", starts: "22:00", ends: "05:00", zone: "Europe/London",
			want: "2027-10-31 05:00",
		},
		// A time that clocks skip is read with the offset before the change. Of a time that they show twice, the second
		// counts.
		{
			name: "an end that New York passes over", date: "2027-03-14", starts: "01:45", ends: "02:30",
			zone: "America/New_York", want: "2027-03-14 07:30",
		},
		{
			name: "an end that Berlin passes over", date: "2027-03-27", starts: "23:00", ends: "02:30", zone: "Europe/Berlin",
			want: "2027-03-28 01:30",
		},
		{
			name: "an end that Lord Howe passes over", date: "2027-10-03", starts: "01:00", ends: "02:15",
			zone: "Australia/Lord_Howe", want: "2027-10-02 15:45",
		},
		{
			name: "an end that New York has twice", date: "2027-11-07", starts: "00:30", ends: "01:30", zone: "America/New_York",
			want: "2027-11-07 06:30",
		},
		{
			name: "an end that Sydney has twice", date: "2027-04-03", starts: "22:00", ends: "02:30", zone: "Australia/Sydney",
			want: "2027-04-03 16:30",
		},
		{
			name: "a start that Berlin passes over", date: "2027-03-28", starts: "02:30", ends: "03:30", zone: "Europe/Berlin",
			want: "2027-03-28 01:30",
		},
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		for _, test := range tests {
			is := is.New(t)
			shop.Clock.Set(ticketingtest.Opening)
			event := shop.Event(t, func(p *ticketing.CreateEventParams) {
				p.Date, p.StartsAt, p.EndsAt, p.Timezone = test.date, test.starts, test.ends, test.zone
			})
			end := utc(t, test.want)
			is.Equal(endAt(t, shop, end.Add(-time.Millisecond)), 0) // The events of earlier rows have ended.
			is.Equal(status(t, shop, event), ticketing.EventPublished)
			is.Equal(endAt(t, shop, end), 1)
			found, err := shop.GetEvent(t.Context(), shop.Caller, event.ID)
			is.NoErr(err)
			want := event
			want.Status, want.UpdatedAt = ticketing.EventEnded, ticketing.Time{Time: end}
			is.Equal(found, want)
			is.Equal(endAt(t, shop, end), 0)
		}
	})
}

// TestWhichEventsEndByThemselves checks that an event ends by itself only if its end is after the time at which it was
// last published or rescheduled.
func TestWhichEventsEndByThemselves(t *testing.T) {
	t.Parallel()
	after := utc(t, "2026-12-22 00:00") // The event of EventParams ends on 2026-12-21 at 22:30 UTC.
	type shop = *ticketingtest.Shop
	tests := []struct {
		name string
		make func(t *testing.T, s shop) ticketing.Event
		want ticketing.EventStatus
	}{
		{
			name: "published before its end",
			make: func(t *testing.T, s shop) ticketing.Event { return publish(t, s, s.Event(t, ticketingtest.Draft).ID) },
			want: ticketing.EventEnded,
		},
		{
			name: "draft",
			make: func(t *testing.T, s shop) ticketing.Event { return s.Event(t, ticketingtest.Draft) },
			want: ticketing.EventDraft,
		},
		{
			name: "draft again",
			make: func(t *testing.T, s shop) ticketing.Event { return unpublish(t, s, s.Event(t).ID) },
			want: ticketing.EventDraft,
		},
		{
			name: "created past its end",
			make: func(t *testing.T, s shop) ticketing.Event {
				return s.Event(t, func(p *ticketing.CreateEventParams) { p.Date = "2026-11-01" })
			},
			want: ticketing.EventPublished,
		},
		{
			name: "published past its end",
			make: func(t *testing.T, s shop) ticketing.Event {
				event := s.Event(t, ticketingtest.Draft)
				s.Clock.Set(utc(t, "2026-12-21 22:30"))
				return publish(t, s, event.ID)
			},
			want: ticketing.EventPublished,
		},
		{
			name: "cancelled",
			make: func(t *testing.T, s shop) ticketing.Event { return cancelled(t, s) },
			want: ticketing.EventCancelled,
		},
		{
			name: "rescheduled to a later end",
			make: func(t *testing.T, s shop) ticketing.Event {
				return patch(t, s, s.Event(t).ID, ticketing.UpdateEventParams{EndsAt: of("03:00")}) // 02:00 UTC of the next day
			},
			want: ticketing.EventPublished,
		},
		{
			name: "rescheduled to an earlier end",
			make: func(t *testing.T, s shop) ticketing.Event {
				event := s.Event(t, func(p *ticketing.CreateEventParams) { p.Date = "2027-01-01" })
				return patch(t, s, event.ID, ticketing.UpdateEventParams{Date: of("2026-12-21")})
			},
			want: ticketing.EventEnded,
		},
		{
			name: "moved to another time zone",
			make: func(t *testing.T, s shop) ticketing.Event {
				return patch(t, s, s.Event(t).ID, ticketing.UpdateEventParams{Timezone: of("America/Lima")}) // 04:30 UTC
			},
			want: ticketing.EventPublished,
		},
		{
			name: "rescheduled into the past",
			make: func(t *testing.T, s shop) ticketing.Event {
				return patch(t, s, s.Event(t).ID, ticketing.UpdateEventParams{Date: of("2026-11-01")})
			},
			want: ticketing.EventPublished,
		},
		{
			name: "rescheduled out of the past",
			make: func(t *testing.T, s shop) ticketing.Event {
				event := s.Event(t, func(p *ticketing.CreateEventParams) { p.Date = "2026-11-01" })
				return patch(t, s, event.ID, ticketing.UpdateEventParams{Date: of("2026-12-21")})
			},
			want: ticketing.EventEnded,
		},
		{
			name: "a PATCH that repeats the schedule past the end",
			make: func(t *testing.T, s shop) ticketing.Event {
				event := s.Event(t)
				s.Clock.Set(utc(t, "2026-12-21 23:00"))
				return patch(t, s, event.ID, ticketing.UpdateEventParams{
					Title: of("Still on"), Date: event.Schedule.Date, StartsAt: event.Schedule.StartsAt,
					EndsAt: event.Schedule.EndsAt, Timezone: event.Schedule.Timezone, Status: of(ticketing.EventPublished),
				})
			},
			want: ticketing.EventEnded,
		},
		{
			name: "published again past the end",
			make: func(t *testing.T, s shop) ticketing.Event {
				event := s.Event(t)
				s.Clock.Set(utc(t, "2026-12-21 23:00"))
				unpublish(t, s, event.ID)
				return publish(t, s, event.ID)
			},
			want: ticketing.EventPublished,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onShops(t, nil, func(t *testing.T, s *ticketingtest.Shop) {
				is := is.New(t)
				event := test.make(t, s)
				want := 0
				if test.want == ticketing.EventEnded {
					want = 1
				}
				is.Equal(endAt(t, s, after), want)
				is.Equal(status(t, s, event), test.want)
			})
		})
	}
}

// TestEndEventsEndsAllThatAreDue checks that EndEvents ends any number of events, of all companies.
func TestEndEventsEndsAllThatAreDue(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		const events = 250 // This is more than one read takes.
		other := shop.Neighbour(t)
		for range events / 2 {
			shop.Event(t)
			other.Event(t)
		}
		later := shop.Event(t, func(p *ticketing.CreateEventParams) { p.Date = "2026-12-23" })
		is.Equal(endAt(t, shop, utc(t, "2026-12-22 00:00")), events)
		is.Equal(status(t, shop, later), ticketing.EventPublished)
	})
}

// TestOperatorEndsAPublishedEvent checks that an operator ends a published event at once, whatever its schedule is, and
// no other event.
func TestOperatorEndsAPublishedEvent(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 150_00, 3)
		sold := shop.Sell(t, event.ID, "VIP", 1)
		shop.Clock.Advance(time.Minute)
		done, err := shop.Staff.EndEvent(t.Context(), event.ID)
		is.NoErr(err)
		want := event
		want.Status, want.UpdatedAt = ticketing.EventEnded, ticketing.Time{Time: shop.Clock.Now()}
		is.Equal(done, want)
		_, err = shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 150_00, 1))
		is.Equal(code(err), ticketing.CodeConflict)
		is.Equal(shop.Scan(t, event.ID, sold.Lines[0].AdmissionID).Outcome, ticketing.OutcomeAdmitted)

		for _, event := range []ticketing.Event{done, cancelled(t, shop), shop.Event(t, ticketingtest.Draft)} {
			_, err := shop.Staff.EndEvent(t.Context(), event.ID)
			is.Equal(code(err), ticketing.CodeConflict)
		}
		_, err = shop.Staff.EndEvent(t.Context(), shop.Company.ID)
		is.Equal(code(err), ticketing.CodeNotFound)
		_, err = shop.As(ticketing.Actor{Permissions: []ticketing.Permission{ticketing.PermissionWalletRead}}).
			EndEvent(t.Context(), event.ID)
		is.Equal(code(err), ticketing.CodePermissionDenied)
	})
}
