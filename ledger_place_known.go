package ticketing

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/recent"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// knownPlaces remembers entries that searches for places ended at, so that the next search begins between them: a page
// that shows a month asks for the same times again and again. Entries never change. But a database that was restored
// may have others. So each search compares the end of what is known of a chain with the wallet record, or reads that
// entry: if it has the same hash, then so has every entry before it. A knownPlaces is safe for concurrent use; a nil
// one knows nothing.
type knownPlaces struct {
	chains recent.Map[driver.WalletRef, knownChain]
}

// knownChain is what is known of a chain: some entries, by sequence, none of which comes after the end.
type knownChain struct {
	entries []knownEntry
	end     chainEnd
}

type knownEntry struct {
	sequence int64
	at       time.Time
	before   money.Amount // the balance before it
}

// chainEnd is an entry with all that come before it.
type chainEnd struct {
	sequence int64
	hash     ledger.Hash
}

func (e chainEnd) isAmong(entries []ledger.Entry) bool {
	return slices.ContainsFunc(entries, func(entry ledger.Entry) bool {
		return entry.Sequence == e.sequence && entry.Hash == e.hash
	})
}

const (
	// knownChains is how many chains are remembered at least. At most twice as many are.
	knownChains = 500
	// knownEntries is how many entries of a chain are remembered at most.
	knownEntries = 512
)

func newKnownPlaces() *knownPlaces {
	return &knownPlaces{chains: recent.Map[driver.WalletRef, knownChain]{Limit: knownChains}}
}

// narrow narrows ranges by what is known of the chain of a wallet, and returns that. A wallet record that is older than
// what is known uses none of it.
func (k *knownPlaces) narrow(wallet driver.Wallet, ranges []placeRange) knownChain {
	if k == nil {
		return knownChain{}
	}
	chain, _ := k.chains.Get(wallet.Ref())
	if chain.end.sequence > wallet.Sequence {
		return chain
	}
	for i := range ranges {
		r := &ranges[i]
		at := sort.Search(len(chain.entries), func(i int) bool { return !chain.entries[i].at.Before(r.at) })
		if at > 0 {
			r.begin(chain.entries[at-1])
		}
		if at < len(chain.entries) {
			r.end(chain.entries[at])
		}
	}
	return chain
}

// add remembers the ends of ranges, which were found in a chain that ends with end. If all are too many, those of other
// searches are forgotten, and of more than are remembered the earliest.
func (k *knownPlaces) add(ref driver.WalletRef, chain knownChain, ranges []placeRange, end chainEnd) {
	if k == nil || end.sequence == 0 {
		return
	}
	bySequence := func(a, b knownEntry) int { return cmp.Compare(a.sequence, b.sequence) }
	var found []knownEntry
	for _, r := range ranges {
		for _, entry := range []knownEntry{r.first, r.last} {
			if entry.sequence > 0 {
				found = append(found, entry)
			}
		}
	}
	slices.SortFunc(found, bySequence)
	found = slices.CompactFunc(found, func(a, b knownEntry) bool { return a.sequence == b.sequence })
	added := slices.DeleteFunc(slices.Clone(found), func(entry knownEntry) bool {
		_, known := slices.BinarySearchFunc(chain.entries, entry, bySequence)
		return known
	})
	entries := chain.entries // Others may read them.
	switch {
	case len(added) == 0 && end == chain.end:
		return
	case len(entries)+len(added) <= knownEntries:
		entries = slices.Concat(entries, added)
		slices.SortFunc(entries, bySequence)
	default:
		entries = slices.Clone(found[max(len(found)-knownEntries, 0):])
	}
	k.chains.Put(ref, knownChain{entries, end})
}

func (k *knownPlaces) forget(ref driver.WalletRef) {
	if k != nil {
		k.chains.Forget(ref)
	}
}
