package ticketingtest

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"
)

// NewIDs returns a source of ids for [ticketing.Config].NewID: UUIDs of version 4 that look random and are the same in
// every run with one seed. Services that share a store must also share the source, since two sources with one seed
// return the same ids. It is safe for concurrent use; the order of the ids among the goroutines is then not fixed.
func NewIDs(seed uint64) func() uuid.UUID {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, seed)) // Repeatable ids are the purpose.
	return func() uuid.UUID {
		mu.Lock()
		defer mu.Unlock()
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[:8], source.Uint64())
		binary.BigEndian.PutUint64(id[8:], source.Uint64())
		id[6] = id[6]&0x0f | 0x40 // Version 4.
		id[8] = id[8]&0x3f | 0x80 // The variant of RFC 4122.
		return id
	}
}
