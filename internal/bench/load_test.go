package bench_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/bench"
)

// Calls that take longer than their slice are counted over the time that they took. So every side has a figure even on
// a busy machine.
func TestCountsSlowCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		for _, test := range []struct {
			name          string
			slice, call   time.Duration
			atLeast, most float64
		}{
			{"many within it", time.Second, 10 * time.Millisecond, 395, 405},
			{"one within it", time.Second, 600 * time.Millisecond, 4, 8},
			{"longer than it", 10 * time.Millisecond, time.Second, 3.9, 4.1},
		} {
			got, err := bench.Slice(t.Context(), test.slice, 4, func() { time.Sleep(test.call) })
			is.NoErr(err)
			t.Log(test.name, got)
			is.True(got >= test.atLeast && got <= test.most)
		}
	})
}
