package ticketing

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// recentLimit is how many of the latest values are remembered at least. At most twice as many are.
const recentLimit = 10_000

// recent remembers what was found lately, in two generations. When the newer one is full it becomes the older one, and
// the older one is forgotten. That needs no list and no timer, and a look-up takes only a read lock. A recent is safe
// for concurrent use, and its zero value is empty.
type recent[K comparable, V any] struct {
	mu           sync.RWMutex
	newer, older map[K]V
}

// recentIDs are ids that were found lately, such as those of API keys that authenticated. They decide only how a call
// is queued, never whether it is allowed: that is read from the store each time.
type recentIDs = recent[uuid.UUID, struct{}]

// get returns a value of either generation. It does not move the value: only add renews a key, so a look-up needs no
// write lock.
func (r *recent[K, V]) get(key K) (value V, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if value, ok = r.newer[key]; !ok {
		value, ok = r.older[key]
	}
	return value, ok
}

// has reports whether a key is remembered.
func (r *recent[K, V]) has(key K) bool {
	_, ok := r.get(key)
	return ok
}

// add remembers a value. A key of the older generation moves to the newer one, so what is used stays. A key that is in
// the newer one keeps its value.
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
		// The older generation is forgotten.
		r.newer, r.older = make(map[K]V), r.newer
	}
	r.newer[key] = value
}

// forget drops a key from both generations.
func (r *recent[K, V]) forget(key K) {
	if !r.has(key) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.newer, key)
	delete(r.older, key)
}

// rateCache remembers entries of commission schedules. It needs no invalidation: an entry never changes, and its id is
// never used again. Each process has one, for all companies.
type rateCache = recent[driver.RateRef, driver.Rate]

// cachedRates is a transaction that reads entries of commission schedules from memory where it can. Every order that is
// shown names one entry, and most orders of a company name the same one. It is used only to show orders: a sale reads
// the effective rate from the store.
type cachedRates struct {
	driver.ReadTx

	cache *rateCache
}

// Rates returns the entries in the order of refs. It reads those that are not cached in one query. An entry that does
// not exist is not remembered, because it may exist later.
func (c cachedRates) Rates(ctx context.Context, refs []driver.RateRef) ([]driver.Rate, error) {
	rates := make([]driver.Rate, len(refs))
	var missing []driver.RateRef
	var places []int
	for i, ref := range refs {
		rate, ok := c.cache.get(ref)
		if !ok {
			// The place of each missing entry keeps the order of refs.
			missing, places = append(missing, ref), append(places, i)
		}
		rates[i] = rate
	}
	if len(missing) == 0 {
		return rates, nil
	}
	found, err := c.ReadTx.Rates(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, rate := range found {
		rates[places[i]] = rate
		if rate.ID != uuid.Nil {
			c.cache.add(missing[i], rate)
		}
	}
	return rates, nil
}
