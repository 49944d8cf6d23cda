package ticketingtest_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/ticketingtest"
)

func TestClockStandsStillUntilItIsMoved(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	clock := ticketingtest.NewClock(time.Time{})
	is.Equal(clock.Now(), ticketingtest.Opening)
	is.Equal(clock.Now(), ticketingtest.Opening)
	clock.Advance(time.Hour)
	is.Equal(clock.Now(), ticketingtest.Opening.Add(time.Hour))
	clock.Advance(-2 * time.Hour)
	is.Equal(clock.Now(), ticketingtest.Opening.Add(-time.Hour))
	noon := time.Date(2027, time.January, 1, 12, 0, 0, 0, time.UTC)
	clock.Set(noon)
	is.Equal(clock.Now(), noon)
	is.Equal(ticketingtest.NewClock(noon).Now(), noon)
}
