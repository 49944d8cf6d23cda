// Package search determines how thoroughly tests search. Some rules hold at every statement of every change, or for any
// operations in any order, and an exhaustive search takes minutes. "go test ./..." searches a part, chosen so that each
// change and each way to fail is included. If TICKETING_TEST_SEARCH is set, as in the step search of .ci/run, tests
// search everywhere, for as many seconds as it says. RAPID_SEED determines where they start.
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

// Over reports whether the time to search everywhere is over. Tests complete what they have begun.
func Over() bool {
	seconds, err := strconv.Atoi(os.Getenv(variable))
	return err == nil && time.Since(begun()) > time.Duration(seconds)*time.Second
}

var begun = sync.OnceValue(time.Now) // When it is first called.

// Every returns each n-th of items, starting with the one at first modulo n. If tests search everywhere, it returns all
// items, rotated by the seed.
func Every[T any](n, first int, items []T) []T {
	if Everywhere() {
		seed, _ := strconv.ParseUint(os.Getenv("RAPID_SEED"), 10, 64) // 0 if there is none.
		at := int(seed % uint64(len(items)))                          //nolint:gosec // Less than a length.
		return slices.Concat(items[at:], items[:at])
	}
	var some []T
	for i := first % n; i < len(items); i += n {
		some = append(some, items[i])
	}
	return some
}

// Turn returns a number from 0 to less than n that depends on a test's name, so that the rows of a table take turns.
func Turn(name string, n int) int {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // It never fails.
	return int(sum.Sum32()>>1) % n
}
