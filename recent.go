package ticketing

import (
	"sync"

	"github.com/google/uuid"
)

// recentLimit is how many values are remembered at least, and half of how many at most.
const recentLimit = 10_000

// recent remembers what was found lately. The older half is forgotten when the newer one is full.
type recent[K comparable, V any] struct {
	mu           sync.RWMutex
	newer, older map[K]V
}

// recentIDs are ids of which something was found lately: keys that authenticated. They say how a call travels, and
// nothing of what is true: that is looked up each time.
type recentIDs = recent[uuid.UUID, struct{}]

func (r *recent[K, V]) get(key K) (value V, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if value, ok = r.newer[key]; !ok {
		value, ok = r.older[key]
	}
	return value, ok
}

func (r *recent[K, V]) has(key K) bool {
	_, ok := r.get(key)
	return ok
}

// add remembers a value, and one of the older half for longer.
func (r *recent[K, V]) add(key K, value V) {
	r.mu.RLock()
	_, newer := r.newer[key]
	r.mu.RUnlock()
	if newer {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newer == nil || len(r.newer) >= recentLimit {
		r.newer, r.older = make(map[K]V), r.newer
	}
	r.newer[key] = value
}

// forget drops a key.
func (r *recent[K, V]) forget(key K) {
	if !r.has(key) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.newer, key)
	delete(r.older, key)
}
