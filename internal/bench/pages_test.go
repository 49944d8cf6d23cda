package bench_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/bench"
)

// A bench of checkouts beside pages fails if a page had another status than 200, which it names, or if no checkout
// succeeded on a side.
func TestFindsFailedPagesBesideCheckouts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.NoErr(bench.JudgeRush("/account", nil, 1))
	err := bench.JudgeRush("/account", map[string]int64{"500 INTERNAL_ERROR": 2}, 1)
	is.Equal(err.Error(), "pages failed: /account: 2 500 INTERNAL_ERROR")
	is.Equal(bench.JudgeRush("/account", nil, 0).Error(), "no call succeeded: none")
}
