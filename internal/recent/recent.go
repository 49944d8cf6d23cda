// Package recent remembers what was found lately.
package recent

import (
	"cmp"
	"sync"
)

// DefaultLimit is the limit of a [Map] that has none set.
const DefaultLimit = 10_000

// Map remembers the latest values, in two generations. When the newer one is full it becomes the older one, and the
// older one is forgotten. That needs no list and no timer, and a look-up takes only a read lock. A Map is safe for
// concurrent use, and its zero value is empty.
type Map[K comparable, V any] struct {
	// Limit is how many values are remembered at least, and at most twice as many are. 0 is [DefaultLimit].
	Limit int

	mu           sync.RWMutex
	newer, older map[K]V
}

// Get returns a value of either generation. It does not move the value: only Add and Put renew a key, so a look-up
// needs no write lock.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if value, ok = m.newer[key]; !ok {
		value, ok = m.older[key]
	}
	return value, ok
}

// Has reports whether a key is remembered.
func (m *Map[K, V]) Has(key K) bool {
	_, ok := m.Get(key)
	return ok
}

// Add remembers a value. A key of the older generation moves to the newer one, so what is used stays. A key that is in
// the newer one keeps its value.
func (m *Map[K, V]) Add(key K, value V) {
	m.mu.RLock()
	_, newer := m.newer[key]
	m.mu.RUnlock()
	if newer {
		return
	}
	m.Put(key, value)
}

// Put remembers a value like Add, and replaces the value that a key has.
func (m *Map[K, V]) Put(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, newer := m.newer[key]; !newer && (m.newer == nil || len(m.newer) >= cmp.Or(m.Limit, DefaultLimit)) {
		// The older generation is forgotten.
		m.newer, m.older = make(map[K]V), m.newer
	}
	m.newer[key] = value
}

// Forget drops a key from both generations.
func (m *Map[K, V]) Forget(key K) {
	if !m.Has(key) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.newer, key)
	delete(m.older, key)
}
