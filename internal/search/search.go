// Package search says how far tests search. Some rules hold at every statement of every change, or for whatever is done
// in whatever order: to look everywhere takes minutes. "go test ./..." looks at a part, so that each change and each way
// to fail has its turn; where TICKETING_TEST_SEARCH is set, as in the step search of .ci/run, tests look everywhere.
package search

import (
	"hash/fnv"
	"os"
)

// Everywhere reports whether tests search everywhere.
func Everywhere() bool { return os.Getenv("TICKETING_TEST_SEARCH") != "" }

// Every returns each n-th of items, the first of them the one at first modulo n, and all where tests search everywhere.
func Every[T any](n, first int, items []T) []T {
	if Everywhere() {
		return items
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
