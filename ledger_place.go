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
// decrease, so it halves the chain for all times at once: each entry that it reads narrows down every time. It runs in
// any transaction that reads: the wallet record bounds it, and entries never change. A gap in the chain is
// [ErrLedgerBroken].
func ledgerPlaces(
	ctx context.Context, tx driver.WalletReader, wallet driver.Wallet, times []time.Time,
) ([]ledgerPlace, error) {
	found, _, err := narrowPlaces(ctx, tx, wallet, times, 0)
	return found, err
}

// entryBefore returns the sequence of an entry of a wallet before a time, zero if there is none. At most within entries
// that are before the time follow it, so that a long chain takes fewer reads than its place.
func entryBefore(
	ctx context.Context, tx driver.WalletReader, wallet driver.Wallet, at time.Time, within int64,
) (int64, error) {
	_, lowest, err := narrowPlaces(ctx, tx, wallet, []time.Time{at}, within)
	if err != nil {
		return 0, err
	}
	return lowest[0], nil
}

// narrowPlaces returns sequences between which the last entry before each time is: from lowest to that of found. They
// are at most within apart.
func narrowPlaces(
	ctx context.Context, tx driver.WalletReader, wallet driver.Wallet, times []time.Time, within int64,
) (found []ledgerPlace, lowest []int64, err error) {
	found, lowest = make([]ledgerPlace, len(times)), make([]int64, len(times))
	for i, at := range times {
		found[i] = ledgerPlace{wallet.Sequence, wallet.Balance}
		// The whole chain is before the time: this is the usual case for a period that ends now.
		if wallet.LastAt.Before(at) {
			lowest[i] = wallet.Sequence
		}
	}
	for {
		probes := placeProbes(wallet, lowest, found, within)
		if len(probes) == 0 {
			return found, lowest, nil
		}
		entries, err := tx.Entries(ctx, probes)
		if err != nil {
			return nil, nil, err
		}
		for i, entry := range entries {
			if entry.Sequence != probes[i].Sequence {
				return nil, nil, fmt.Errorf("%w: %s has no entry %d", ErrLedgerBroken, wallet.Kind, probes[i].Sequence)
			}
		}
		for i, at := range times {
			narrowPlace(&lowest[i], &found[i], entries, at)
		}
	}
}

// placeProbes returns the entries to read next, by sequence: some of each range that is still wider than within.
func placeProbes(wallet driver.Wallet, lowest []int64, found []ledgerPlace, within int64) []driver.EntryRef {
	type span struct{ lowest, highest int64 }
	var spans []span
	for i, low := range lowest {
		if low+within < found[i].sequence {
			spans = append(spans, span{low, found[i].sequence})
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
	}
	slices.Sort(sequences)
	sequences = slices.Compact(sequences)
	refs := make([]driver.EntryRef, len(sequences))
	for i, sequence := range sequences {
		refs[i] = driver.EntryRef{WalletRef: wallet.Ref(), Sequence: sequence}
	}
	return refs
}

// narrowPlace narrows the range of a time by entries, which are in their order.
func narrowPlace(lowest *int64, found *ledgerPlace, entries []ledger.Entry, at time.Time) {
	first := sort.Search(len(entries), func(i int) bool { return !entries[i].At.Before(at) })
	if first > 0 {
		*lowest = max(*lowest, entries[first-1].Sequence)
	}
	if first < len(entries) && entries[first].Sequence <= found.sequence {
		*found = ledgerPlace{entries[first].Sequence - 1, entries[first].Before}
	}
}

// periodScope returns the part of a cursor's scope that names a period, whose times are in milliseconds.
func periodScope(from, to time.Time) string { return fmt.Sprint(from.UnixMilli(), "/", to.UnixMilli()) }

// entriesOf returns the sequences of the entries of a wallet that are in a period: those above the first result, up to
// the second. A zero time is no end.
func entriesOf(
	ctx context.Context, tx driver.WalletReader, wallet driver.Wallet, from, to time.Time,
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
	places, err := ledgerPlaces(ctx, tx, wallet, times)
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
