package ticketing

import (
	"cmp"
	"sync"

	"github.com/google/uuid"
)

// recentLimit is how many of the latest values are remembered at least. At most twice as many are.
const recentLimit = 10_000

// recent remembers what was found lately, in two generations. When the newer one is full it becomes the older one, and
// the older one is forgotten. That needs no list and no timer, and a look-up takes only a read lock. A recent is safe
// for concurrent use, and its zero value is empty.
type recent[K comparable, V any] struct {
	limit        int // how many are remembered at least; 0: recentLimit
	mu           sync.RWMutex
	newer, older map[K]V
}

// recentIDs are ids that were found lately, such as those of API keys that authenticated. They decide only how a call
// is queued, never whether it is allowed: that is read from the store each time.
type recentIDs = recent[uuid.UUID, struct{}]

// recentVersions are the numbers of the brandings that companies had lately. They are only assumed.
type recentVersions struct{ recent[uuid.UUID, int64] }

// note remembers the version of a company.
func (r *recentVersions) note(companyID uuid.UUID, version int64) {
	if known, ok := r.get(companyID); !ok || known != version {
		r.put(companyID, version)
	}
}

// aloneFor is how many transactions with sales of a company have to follow one another in this process, with no other
// movement between, before it counts as the only one that sells for the company.
const aloneFor = 8

// recentSales are where the FLOAT wallets of companies were after the last sales of this process. They decide only with
// which message the next sales lock.
type recentSales struct{ recent[uuid.UUID, lastSale] }

// lastSale is where a wallet was after the last transaction with sales of its company.
type lastSale struct {
	sequence int64
	alone    int // transactions before it that followed one another here, up to aloneFor
}

// note remembers a transaction, by the sequences of the wallets before and after it.
func (r *recentSales) note(before, after map[uuid.UUID]int64) {
	for company, sequence := range before {
		last, _ := r.get(company)
		alone := 0
		if last.sequence == sequence {
			alone = min(last.alone+1, aloneFor)
		}
		r.put(company, lastSale{after[company], alone})
	}
}

// isAlone reports whether the last transactions with sales of a company followed one another in this process.
func (r *recentSales) isAlone(companyID uuid.UUID) bool {
	last, _ := r.get(companyID)
	return last.alone >= aloneFor
}

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
	r.put(key, value)
}

// put remembers a value like add, and replaces the value that a key has.
func (r *recent[K, V]) put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, newer := r.newer[key]; !newer && (r.newer == nil || len(r.newer) >= cmp.Or(r.limit, recentLimit)) {
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
