package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/bench"
)

// A slice lasts half a second, or long enough for five consecutive calls. It never lasts longer than ten seconds, nor
// longer than the run. The slices of a run are equal and add up to its length.
func TestSlices(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		run, median, length time.Duration
		slices              int
	}{
		{10 * time.Second, 0, 500 * time.Millisecond, 20},
		{10 * time.Second, 100 * time.Millisecond, 500 * time.Millisecond, 20},
		{10 * time.Second, 500 * time.Millisecond, 2500 * time.Millisecond, 4},
		{10 * time.Second, time.Minute, 10 * time.Second, 1},
		{time.Minute, time.Minute, 10 * time.Second, 6},
		{60 * time.Millisecond, 0, 60 * time.Millisecond, 1},
	} {
		t.Run(fmt.Sprint(test.run, test.median), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			lengths := bench.Slices(test.run, test.median)
			is.Equal(len(lengths), test.slices)
			for _, length := range lengths {
				is.Equal(length, test.length)
			}
		})
	}
}
