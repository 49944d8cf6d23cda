package store_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
)

// TestGatesAreTakenInOneOrder checks that a transaction takes its gates in the order of their numbers, whether it
// shares a gate or not. Two transactions then never wait for each other.
func TestGatesAreTakenInOneOrder(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	taken := regexp.MustCompile(`pg_advisory_xact_lock(_shared)?\(n\)::text FROM unnest\('\{([-0-9,]*)\}'`)
	gate := func(company uuid.UUID) int64 {
		text := store.LockStatement(driver.BeginOptions{Exclusive: []uuid.UUID{company}})
		number, err := strconv.ParseInt(taken.FindStringSubmatch(text)[2], 10, 64)
		is.NoErr(err)
		return number
	}
	zeroFirst, zeroLast := 0, 0
	for range 50 {
		companies := []uuid.UUID{uuid.New(), uuid.New(), uuid.Nil}
		for _, in := range []driver.BeginOptions{
			{Exclusive: companies[:1], Shared: companies[2:]},
			{Exclusive: companies[:2], Shared: companies[2:]},
			{Exclusive: companies[2:], Shared: companies[:2]},
			{Exclusive: []uuid.UUID{companies[0], uuid.Nil}},
			{Shared: []uuid.UUID{companies[0], uuid.Nil}},
			{Exclusive: companies[:2], Shared: companies},
		} {
			var numbers []int64
			for _, part := range taken.FindAllStringSubmatch(store.LockStatement(in), -1) {
				for number := range strings.SplitSeq(part[2], ",") {
					n, err := strconv.ParseInt(number, 10, 64)
					is.NoErr(err)
					numbers = append(numbers, n)
					isExclusive := slices.ContainsFunc(in.Exclusive, func(c uuid.UUID) bool { return gate(c) == n })
					is.Equal(part[1] == "", isExclusive)
				}
			}
			is.True(slices.IsSorted(numbers))
			is.Equal(len(numbers), len(in.Exclusive)+len(in.Shared))
		}
		if gate(uuid.Nil) < gate(companies[0]) {
			zeroFirst++
		} else {
			zeroLast++
		}
	}
	is.True(zeroFirst > 0 && zeroLast > 0) // Both orders were tried.
}
