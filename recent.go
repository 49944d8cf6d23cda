package ticketing

import (
	"sync"

	"github.com/google/uuid"
)

// recentLimit is how many ids are remembered at least, and half of how many at most.
const recentLimit = 10_000

// recentIDs are ids of which something was found lately: keys that authenticated, companies with long pages. They say how
// a call travels, and nothing of what is true: that is looked up each time. The older half is forgotten when the newer
// one is full.
type recentIDs struct {
	mu           sync.RWMutex
	newer, older map[uuid.UUID]struct{}
}

func (r *recentIDs) has(id uuid.UUID) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, newer := r.newer[id]
	_, older := r.older[id]
	return newer || older
}

// add remembers an id, and one of the older half for longer.
func (r *recentIDs) add(id uuid.UUID) {
	r.mu.RLock()
	_, newer := r.newer[id]
	r.mu.RUnlock()
	if newer {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newer == nil || len(r.newer) >= recentLimit {
		r.newer, r.older = make(map[uuid.UUID]struct{}), r.newer
	}
	r.newer[id] = struct{}{}
}

// forget drops an id.
func (r *recentIDs) forget(id uuid.UUID) {
	if !r.has(id) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.newer, id)
	delete(r.older, id)
}
