package bench_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/internal/bench"
)

// A quantile is at most one percent above the true one. It is never below it, nor above the largest latency.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		logarithms := rapid.Float64Range(math.Log(2e3), math.Log(3e12))
		latencies := rapid.SliceOfN(rapid.Map(logarithms, func(log float64) time.Duration {
			return time.Duration(math.Exp(log))
		}), 1, 200).Draw(t, "latencies")
		parts := []float64{0.5, 0.95, 0.99, 1}
		got, most, err := bench.Quantiles(latencies, parts...)
		is.NoErr(err)
		slices.Sort(latencies)
		is.Equal(most, latencies[len(latencies)-1])
		for i, part := range parts {
			exact := latencies[int(math.Ceil(part*float64(len(latencies))))-1]
			is.True(got[i] >= exact-1) // A bucket's edge is a whole number of nanoseconds.
			is.True(float64(got[i]) <= 1.0101*float64(exact)+1)
			is.True(got[i] <= most)
		}
	})
}
