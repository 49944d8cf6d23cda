// Package search says how far tests search. Some rules hold at every statement of every change, or for whatever is done
// in whatever order: to look everywhere takes minutes. "go test ./..." looks at a part, so that each change and each way
// to fail has its turn. Where TICKETING_TEST_SEARCH is set, as in the step search of .ci/run, tests look everywhere, for as
// many seconds as it says, and begin at a place that RAPID_SEED chooses.
package search

import (
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

const variable = "TICKETING_TEST_SEARCH"

// Everywhere reports whether tests search everywhere.
func Everywhere() bool { return os.Getenv(variable) != "" }

// Over reports whether the time to search everywhere is over. What has begun is brought to its end.
func Over() bool {
	seconds, err := strconv.Atoi(os.Getenv(variable))
	return err == nil && time.Since(begun()) > time.Duration(seconds)*time.Second
}

var begun = sync.OnceValue(time.Now) // When it is asked for first.

// Every returns each n-th of items, the first of them the one at first modulo n. Where tests search everywhere it returns
// all, in another order for each seed.
func Every[T any](n, first int, items []T) []T {
	if Everywhere() {
		seed, _ := strconv.ParseUint(os.Getenv("RAPID_SEED"), 10, 64) // 0 where there is none.
		at := int(seed % uint64(len(items)))                          //nolint:gosec // Less than a length.
		return slices.Concat(items[at:], items[:at])
	}
	var some []T
	for i := first % n; i < len(items); i += n {
		some = append(some, items[i])
	}
	return some
}

// Turn returns a number from 0 to less than n that a test's name chooses, so that the rows of a table take turns.
func Turn(name string, n int) int {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // It never fails.
	return int(sum.Sum32()>>1) % n
}
