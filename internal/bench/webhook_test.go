package bench_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/bench"
)

// A bench of webhooks fails if an event did not arrive, if it was reported as delivered but did not arrive, or if it
// was forged.
func TestFindsLostDeliveries(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(len(bench.JudgeDeliveries(10, 10, 10, 10, 0)), 0)
	for _, counts := range [][4]int64{{9, 10, 10, 0}, {10, 9, 10, 0}, {10, 10, 9, 0}, {10, 10, 10, 1}, {11, 10, 10, 0}} {
		is.Equal(len(bench.JudgeDeliveries(10, counts[0], counts[1], counts[2], counts[3])), 1)
	}
}
