package bench_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/bench"
)

// The books contain every acknowledged order and validation. Any others come from failed calls.
func TestJudgesTheBooks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                         string
		orders, acknowledged, failed int64
		right                        bool
	}{
		{"all is there", 10, 10, 0, true},
		{"one was lost", 9, 10, 0, false},
		{"one was lost, and a failed call makes up for none", 9, 10, 5, false},
		{"one has no outcome", 11, 10, 0, false},
		{"a failed call sold", 11, 10, 1, true},
		{"more than the failed calls sold", 12, 10, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			is.Equal(len(bench.JudgeBooks(test.orders, test.acknowledged, test.failed)) == 0, test.right)
			is.Equal(len(bench.JudgeScans(test.orders, test.acknowledged, test.failed)) == 0, test.right)
		})
	}
}
