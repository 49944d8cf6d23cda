package ratewindow_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/ratewindow"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A window begins with a client's first request, and what is over the limit waits for its end.
func TestWindow(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	limit := ratewindow.Limit{Counter: ratewindow.NewMemory(ratewindow.Window), Requests: 2}
	take := func(after time.Duration, client string) int {
		retryAfter, err := limit.Take(t.Context(), client, "", start.Add(after))
		is.NoErr(err)
		return retryAfter
	}
	is.Equal(take(0, "a"), 0)
	is.Equal(take(30*time.Second, "b"), 0)
	is.Equal(take(59*time.Second, "a"), 0)
	is.Equal(take(59*time.Second+500*time.Millisecond, "a"), 1)
	is.Equal(take(ratewindow.Window, "a"), 0) // the next window
	is.Equal(take(ratewindow.Window, "b"), 0)
	is.Equal(take(ratewindow.Window, "b"), 30)
}

// A wider network may make eight times the requests of a client, also where that number overflows an int.
func TestWiderNetwork(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	counter := ratewindow.NewMemory(ratewindow.Window)
	limit := ratewindow.Limit{Counter: counter, Requests: 1}
	for i := range 9 {
		retryAfter, err := limit.Take(t.Context(), string(rune('a'+i)), "wide", start)
		is.NoErr(err)
		is.Equal(retryAfter > 0, i == 8)
	}
	limit.Requests = math.MaxInt
	retryAfter, err := limit.Take(t.Context(), "a", "wide", start)
	is.NoErr(err)
	is.Equal(retryAfter, 0)
}

type broken struct{}

func (broken) Count(context.Context, string, time.Time) (int, time.Time, error) {
	return 0, time.Time{}, errors.New("no connection")
}

// What cannot be counted may pass, and the error is returned.
func TestCounterFails(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	retryAfter, err := ratewindow.Limit{Counter: broken{}, Requests: 1}.Take(t.Context(), "a", "wide", start)
	is.Equal(retryAfter, 0)
	is.True(err != nil)
	retryAfter, err = ratewindow.Limit{Counter: broken{}, Requests: -1}.Take(t.Context(), "a", "wide", start)
	is.Equal(retryAfter, 0)
	is.NoErr(err) // Nothing is counted without a limit.
}
