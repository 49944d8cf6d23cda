package memory

import (
	"slices"

	"github.com/floatgate/ticketing/driver"
)

// undo holds the functions that undo a transaction's changes. They run in reverse order.
type undo []func()

func (u *undo) add(back func()) { *u = append(*u, back) }

func (u *undo) run() {
	for _, back := range slices.Backward(*u) {
		back()
	}
	*u = nil
}

// put stores a value under a key.
func put[K comparable, V any](u *undo, table map[K]V, key K, value V) {
	old, had := table[key]
	table[key] = value
	u.add(func() {
		if had {
			table[key] = old
			return
		}
		delete(table, key)
	})
}

// take removes the value of a key.
func take[K comparable, V any](u *undo, table map[K]V, key K) {
	old, had := table[key]
	delete(table, key)
	u.add(func() {
		if had {
			table[key] = old
		}
	})
}

// set changes a variable.
func set[V any](u *undo, variable *V, value V) {
	old := *variable
	*variable = value
	u.add(func() { *variable = old })
}

// create stores a new value under a key, unless the key is taken.
func create[K comparable, V any](u *undo, table map[K]V, key K, value V, constraint string) error {
	if _, taken := table[key]; taken {
		return broken(constraint)
	}
	put(u, table, key, value)
	return nil
}

// need returns the value of a key, and creates it if there is none. An empty value is equivalent to none, so creating
// it is not undone.
func need[K comparable, V any](table map[K]*V, key K, fresh func() *V) *V {
	found, ok := table[key]
	if !ok {
		found = fresh()
		table[key] = found
	}
	return found
}

func broken(constraint string) error { return &driver.ConstraintError{Constraint: constraint} }

// check returns an error that names the constraint, unless the constraint holds.
func check(holds bool, constraint string) error {
	if holds {
		return nil
	}
	return broken(constraint)
}
