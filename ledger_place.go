package ticketing

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// A ledgerPlace is where a time falls in the chain of a wallet.
type ledgerPlace struct {
	sequence int64        // of the last entry before the time; 0: none is
	balance  money.Amount // after that entry
}

// placeReads is how many entries a search for places reads at a time, if there are few places. More reads at a time
// make fewer rounds: two times in a million entries take four.
const placeReads = 64

// ledgerPlaces returns where times fall in the chain of a wallet, in the order of the times. Times along a chain never
// decrease, so it narrows the chain down for all times at once: each entry that it reads narrows down every time. It
// runs in any transaction that reads: the wallet record bounds it, and entries never change. It begins with what is
// known of the chain, if known is not nil. A gap in the chain is [ErrLedgerBroken].
func ledgerPlaces(
	ctx context.Context, tx driver.WalletReader, known *knownPlaces, wallet driver.Wallet, times []time.Time,
) ([]ledgerPlace, error) {
	ranges := make([]placeRange, len(times))
	for i, at := range times {
		ranges[i] = newPlaceRange(wallet, at)
	}
	chain := known.narrow(wallet, ranges)
	newest := chainEnd{wallet.Sequence, wallet.Hash}
	unchecked := chain.end.sequence > 0 && chain.end.sequence <= wallet.Sequence && chain.end != newest
	for {
		probes := placeProbes(wallet, ranges, 0)
		if unchecked {
			probes = append(probes, chain.end.sequence)
			slices.Sort(probes)
			probes = slices.Compact(probes)
		}
		if len(probes) == 0 {
			break
		}
		entries, err := placeEntries(ctx, tx, wallet, probes)
		if err != nil {
			return nil, err
		}
		if unchecked && !chain.end.isAmong(entries) {
			known.forget(wallet.Ref())
			return ledgerPlaces(ctx, tx, known, wallet, times)
		}
		unchecked = false
		for i := range ranges {
			ranges[i].narrow(entries)
		}
	}
	if chain.end.sequence <= wallet.Sequence {
		known.add(wallet.Ref(), chain, ranges, newest)
	}
	found := make([]ledgerPlace, len(ranges))
	for i, r := range ranges {
		found[i] = r.highest
	}
	return found, nil
}

// nearEnd is how far from the end of a chain entryBefore looks first. What waits for the dispatch is rarely further
// back, and the newest entries are in the memory of the database, where those of a whole chain are not.
const nearEnd = 1 << 13

// entryBefore returns the sequence of an entry of a wallet before a time, zero if there is none. At most within entries
// that are before the time follow it, so that a long chain takes fewer reads than its place. A time near the end of the
// chain takes the fewest. within is from 1 to nearEnd.
func entryBefore(
	ctx context.Context, tx driver.WalletReader, wallet driver.Wallet, at time.Time, within int64,
) (int64, error) {
	ranges := []placeRange{newPlaceRange(wallet, at)}
	var probes []int64
	if ranges[0].lowest < wallet.Sequence {
		for back := within; back < wallet.Sequence && back <= nearEnd; back *= 2 {
			probes = append(probes, wallet.Sequence-back)
		}
		slices.Reverse(probes)
	}
	for ; len(probes) > 0; probes = placeProbes(wallet, ranges, within) {
		entries, err := placeEntries(ctx, tx, wallet, probes)
		if err != nil {
			return 0, err
		}
		ranges[0].narrow(entries)
	}
	return ranges[0].lowest, nil
}

// A placeRange is where the last entry before a time can be: from lowest to that of highest.
type placeRange struct {
	at      time.Time
	lowest  int64
	highest ledgerPlace
	// The entry at the lowest end, and the one after the highest; zero: no entry is that end.
	first, last knownEntry
}

// newPlaceRange returns the range of a time in a chain of which nothing was read.
func newPlaceRange(wallet driver.Wallet, at time.Time) placeRange {
	r := placeRange{at: at, highest: ledgerPlace{wallet.Sequence, wallet.Balance}}
	// The whole chain is before the time: this is the usual case for a period that ends now.
	if wallet.LastAt.Before(at) {
		r.lowest = wallet.Sequence
	}
	return r
}

// placeEntries reads entries of a wallet by their sequences.
func placeEntries(
	ctx context.Context, tx driver.WalletReader, wallet driver.Wallet, sequences []int64,
) ([]ledger.Entry, error) {
	refs := make([]driver.EntryRef, len(sequences))
	for i, sequence := range sequences {
		refs[i] = driver.EntryRef{WalletRef: wallet.Ref(), Sequence: sequence}
	}
	entries, err := tx.Entries(ctx, refs)
	if err != nil {
		return nil, err
	}
	for i, entry := range entries {
		if entry.Sequence != sequences[i] {
			return nil, fmt.Errorf("%w: %s has no entry %d", ErrLedgerBroken, wallet.Kind, sequences[i])
		}
	}
	return entries, nil
}

// placeProbes returns the sequences of the entries to read next: some of each range that is still wider than within.
func placeProbes(wallet driver.Wallet, ranges []placeRange, within int64) []int64 {
	type span struct{ lowest, highest int64 }
	var spans []span
	for _, r := range ranges {
		if r.lowest+within < r.highest.sequence {
			spans = append(spans, span{r.lowest, r.highest.sequence})
		}
	}
	spans = distinct(spans)
	var sequences []int64
	for _, s := range spans {
		// The entry after a sequence decides whether the place is at the sequence or after it.
		count := s.highest - s.lowest
		reads := min(max(placeReads/int64(len(spans)), 1), count)
		for n := range reads {
			sequences = append(sequences, s.lowest+1+count*(2*n+1)/(2*reads))
		}
		// Many times are near the end of the chain, and so near that even the last of these reads is far before them.
		if s.highest == wallet.Sequence {
			for back := int64(1); back < count/(2*reads); back *= 2 {
				sequences = append(sequences, s.highest+1-back)
			}
		}
	}
	slices.Sort(sequences)
	return slices.Compact(sequences)
}

// narrow narrows the range by entries, which are in their order.
func (r *placeRange) narrow(entries []ledger.Entry) {
	at := sort.Search(len(entries), func(i int) bool { return !entries[i].At.Before(r.at) })
	if at > 0 {
		r.begin(knownEntry{entries[at-1].Sequence, entries[at-1].At, entries[at-1].Before})
	}
	if at < len(entries) {
		r.end(knownEntry{entries[at].Sequence, entries[at].At, entries[at].Before})
	}
}

// begin narrows the range by an entry before its time.
func (r *placeRange) begin(entry knownEntry) {
	if entry.sequence > r.lowest {
		r.lowest, r.first = entry.sequence, entry
	}
}

// end narrows the range by an entry that is not before its time.
func (r *placeRange) end(entry knownEntry) {
	if entry.sequence <= r.highest.sequence {
		r.highest, r.last = ledgerPlace{entry.sequence - 1, entry.before}, entry
	}
}

// periodScope returns the part of a cursor's scope that names a period, whose times are in milliseconds.
func periodScope(from, to time.Time) string { return fmt.Sprint(from.UnixMilli(), "/", to.UnixMilli()) }

// entriesOf returns the sequences of the entries of a wallet that are in a period: those above the first result, up to
// the second. A zero time is no end.
func entriesOf(
	ctx context.Context, tx driver.WalletReader, known *knownPlaces, wallet driver.Wallet, from, to time.Time,
) (above, last int64, err error) {
	above, last = 0, wallet.Sequence
	var times []time.Time
	for _, at := range []time.Time{from, to} {
		if !at.IsZero() {
			times = append(times, at)
		}
	}
	if len(times) == 0 {
		return above, last, nil
	}
	places, err := ledgerPlaces(ctx, tx, known, wallet, times)
	if err != nil {
		return 0, 0, err
	}
	if !from.IsZero() {
		above = places[0].sequence
	}
	if !to.IsZero() {
		last = places[len(places)-1].sequence
	}
	return above, last, nil
}
