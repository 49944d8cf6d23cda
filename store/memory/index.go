package memory

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// index is a sorted list of keys without duplicates.
type index[K any] struct {
	keys    []K
	compare func(a, b K) int
}

func newIndex[K any](compare func(a, b K) int) *index[K] { return &index[K]{compare: compare} }

// add inserts a key that is not in the index.
func (x *index[K]) add(u *undo, key K) {
	x.insert(key)
	u.add(func() { x.remove(key) })
}

// drop removes a key that is in the index.
func (x *index[K]) drop(u *undo, key K) {
	x.remove(key)
	u.add(func() { x.insert(key) })
}

func (x *index[K]) insert(key K) {
	at, _ := x.search(key)
	x.keys = slices.Insert(x.keys, at, key)
}

func (x *index[K]) remove(key K) {
	at, found := x.search(key)
	switch {
	case !found:
	case at == 0:
		// Keys that are handled oldest first are removed at the front. That costs the same however many keys follow.
		x.keys = x.keys[1:]
	default:
		x.keys = slices.Delete(x.keys, at, at+1)
	}
}

func (x *index[K]) search(key K) (int, bool) {
	// Nearly all keys are added in order, after the last one.
	if n := len(x.keys); n == 0 || x.compare(x.keys[n-1], key) < 0 {
		return n, false
	}
	return slices.BinarySearchFunc(x.keys, key, x.compare)
}

// after returns the keys after key in order, at most limit of them.
func (x *index[K]) after(key K, limit int) []K {
	from, found := x.search(key)
	if found {
		from++
	}
	return x.keys[from:min(from+max(limit, 0), len(x.keys))]
}

// first returns the first keys, at most limit of them.
func (x *index[K]) first(limit int) []K { return x.keys[:min(max(limit, 0), len(x.keys))] }

// below returns the keys before key, in order.
func (x *index[K]) below(key K) []K {
	to, _ := x.search(key)
	return x.keys[:to]
}

// lists holds one list of all keys, and one for each status.
type lists[K any, S comparable] struct {
	all     *index[K]
	parts   map[S]*index[K]
	compare func(a, b K) int
}

func newLists[K any, S comparable](compare func(a, b K) int) *lists[K, S] {
	return &lists[K, S]{all: newIndex(compare), parts: make(map[S]*index[K]), compare: compare}
}

func (l *lists[K, S]) part(status S) *index[K] {
	return need(l.parts, status, func() *index[K] { return newIndex(l.compare) })
}

func (l *lists[K, S]) add(u *undo, key K, status S) {
	l.all.add(u, key)
	l.part(status).add(u, key)
}

// move moves a key from the list of one status to the list of another.
func (l *lists[K, S]) move(u *undo, key K, from, to S) {
	if from != to {
		l.part(from).drop(u, key)
		l.part(to).add(u, key)
	}
}

// last merges the ends of sorted lists. It returns at most limit keys, highest first.
func last[K any](ends [][]K, limit int, compare func(a, b K) int) []K {
	found := make([]K, 0, max(min(limit, total(ends)), 0))
	for len(found) < limit {
		highest := -1
		for i, end := range ends {
			if len(end) > 0 && (highest < 0 || compare(end[len(end)-1], ends[highest][len(ends[highest])-1]) > 0) {
				highest = i
			}
		}
		if highest < 0 {
			break
		}
		end := ends[highest]
		found = append(found, end[len(end)-1])
		ends[highest] = end[:len(end)-1]
	}
	return found
}

func total[K any](ends [][]K) int {
	n := 0
	for _, end := range ends {
		n += len(end)
	}
	return n
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

func comparePositions(a, b driver.Position) int {
	return cmp.Or(a.At.Compare(b.At), compareIDs(a.ID, b.ID))
}
