// Package race tells tests whether the race detector watches them. It makes everything several times slower, and finds
// nothing in what one goroutine does, so that a test which runs the same on several stores or hosts may leave some of
// them out under it. Whatever several goroutines do at once runs under it whole.
package race

import "hash/fnv"

// Some are those of items that a test runs on: all of them, and under the race detector one, which the test's name
// chooses, so that the rows of a table visit every item between them.
func Some[T any](name string, items []T) []T {
	if !Enabled {
		return items
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // It never fails.
	at := int(sum.Sum32()>>1) % len(items)
	return items[at : at+1]
}

// Every are each n-th of items under the race detector, the first among them, and else all.
func Every[T any](n int, items []T) []T {
	if !Enabled {
		return items
	}
	var some []T
	for i := 0; i < len(items); i += n {
		some = append(some, items[i])
	}
	return some
}
