package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

type wallets struct {
	byRef   map[driver.WalletRef]driver.Wallet
	entries map[driver.WalletRef]*[]ledger.Entry // the entry with sequence n is at index n-1
	credits map[creditRef]driver.FloatCredit
}

type creditRef struct {
	companyID uuid.UUID
	reference string
}

func newWallets() wallets {
	return wallets{
		byRef:   make(map[driver.WalletRef]driver.Wallet),
		entries: make(map[driver.WalletRef]*[]ledger.Entry),
		credits: make(map[creditRef]driver.FloatCredit),
	}
}

func (w *wallets) find(ref driver.WalletRef) driver.Wallet { return w.byRef[ref] }

func (w *wallets) locked(ref driver.WalletRef) driver.LockedWallet {
	wallet := driver.LockedWallet{Wallet: w.find(ref)}
	if entries, ok := w.entries[ref]; ok && len(*entries) > 0 {
		last := (*entries)[len(*entries)-1]
		wallet.Last = driver.LastEntry{Sequence: last.Sequence, After: last.After, Hash: last.Hash}
	}
	return wallet
}

func (w *wallets) list(query driver.LedgerQuery) []ledger.Entry {
	entries, ok := w.entries[query.WalletRef]
	if !ok {
		return nil
	}
	from := min(max(query.After, 0), int64(len(*entries)))
	behind := (*entries)[from:]
	if query.Last != 0 {
		behind = behind[:max(min(query.Last-from, int64(len(behind))), 0)]
	}
	return slices.Clone(behind[:min(max(query.Limit, 0), len(behind))])
}

func (w *wallets) entry(ref driver.EntryRef) ledger.Entry {
	entries, ok := w.entries[ref.WalletRef]
	if !ok || ref.Sequence < 1 || ref.Sequence > int64(len(*entries)) {
		return ledger.Entry{}
	}
	return (*entries)[ref.Sequence-1]
}

func (w *wallets) search(query driver.EntryQuery) []ledger.Entry {
	entries, ok := w.entries[query.WalletRef]
	if !ok {
		return nil
	}
	last := min(query.Before-1, int64(len(*entries)))
	var found []ledger.Entry
	for n := last; n > max(query.Above, 0) && len(found) < query.Limit; n-- {
		if entry := (*entries)[n-1]; len(query.Kinds) == 0 || slices.Contains(query.Kinds, entry.Kind) {
			found = append(found, entry)
		}
	}
	return found
}

func (w *wallets) append(u *undo, entry ledger.Entry) error {
	ref := driver.WalletRef{CompanyID: entry.CompanyID, Wallet: entry.Wallet}
	entries := need(w.entries, ref, func() *[]ledger.Entry { return new([]ledger.Entry) })
	next := int64(len(*entries)) + 1
	if entry.Sequence < next {
		return broken("ledger_entries_pkey")
	}
	if entry.Sequence > next {
		return broken("ledger_entries_sequence_check")
	}
	if err := check(entry.After == entry.Before+entry.Amount, "ledger_entries_after_check"); err != nil {
		return err
	}
	if err := check(entry.Before >= 0 && entry.After >= 0, "ledger_entries_balance_check"); err != nil {
		return err
	}
	entry.At = moment(entry.At)
	*entries = append(*entries, entry)
	u.add(func() { *entries = slices.Delete(*entries, int(next)-1, int(next)) })
	return nil
}

func (r reading) Wallets(ctx context.Context, refs []driver.WalletRef) ([]driver.Wallet, error) {
	return ask(ctx, r, func(s *state) []driver.Wallet { return each(refs, s.wallets.find) })
}

// LowestFloats sorts all wallets, as a database does.
func (r reading) LowestFloats(ctx context.Context, limit int) ([]driver.Wallet, error) {
	return ask(ctx, r, func(s *state) []driver.Wallet {
		var floats []driver.Wallet
		for ref, wallet := range s.wallets.byRef {
			if ref.Wallet == ledger.Float {
				floats = append(floats, wallet)
			}
		}
		slices.SortFunc(floats, func(a, b driver.Wallet) int {
			return cmp.Or(cmp.Compare(a.Balance, b.Balance), compareIDs(a.CompanyID, b.CompanyID))
		})
		return floats[:min(max(limit, 0), len(floats))]
	})
}

func (r reading) ListEntries(ctx context.Context, query driver.LedgerQuery) ([]ledger.Entry, error) {
	return ask(ctx, r, func(s *state) []ledger.Entry { return s.wallets.list(query) })
}

func (r reading) Entries(ctx context.Context, refs []driver.EntryRef) ([]ledger.Entry, error) {
	return ask(ctx, r, func(s *state) []ledger.Entry { return each(refs, s.wallets.entry) })
}

func (r reading) SearchEntries(ctx context.Context, query driver.EntryQuery) ([]ledger.Entry, error) {
	return ask(ctx, r, func(s *state) []ledger.Entry { return s.wallets.search(query) })
}

func (r reading) FloatCredits(
	ctx context.Context, companyID uuid.UUID, references []string,
) ([]driver.FloatCredit, error) {
	return ask(ctx, r, func(s *state) []driver.FloatCredit {
		return each(references, func(reference string) driver.FloatCredit {
			return s.wallets.credits[creditRef{companyID, reference}]
		})
	})
}

// CountFloatCredits reads every float credit. Only the verification of the books calls it.
func (r reading) CountFloatCredits(ctx context.Context, companyID uuid.UUID) (int64, error) {
	return ask(ctx, r, func(s *state) (count int64) {
		for ref := range s.wallets.credits {
			if ref.companyID == companyID {
				count++
			}
		}
		return count
	})
}

func (tx *updating) CreateWallets(ctx context.Context, wallets []driver.Wallet) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, wallet := range wallets {
			wallet.LastAt = moment(wallet.LastAt)
			ref := driver.WalletRef{CompanyID: wallet.CompanyID, Wallet: wallet.Kind}
			if err := check(wallet.Balance >= 0, "wallets_balance_check"); err != nil {
				return err
			}
			if err := create(u, s.wallets.byRef, ref, wallet, "wallets_pkey"); err != nil {
				return err
			}
		}
		return nil
	})
}

// LockWallets only reads wallets, because there is no other writer.
func (tx *updating) LockWallets(
	ctx context.Context, refs []driver.WalletRef,
) ([]driver.LockedWallet, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.LockedWallet { return each(refs, s.wallets.locked) })
}

func (tx *updating) UpdateWallets(ctx context.Context, wallets []driver.Wallet) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, wallet := range wallets {
			wallet.LastAt = moment(wallet.LastAt)
			ref := driver.WalletRef{CompanyID: wallet.CompanyID, Wallet: wallet.Kind}
			if _, ok := s.wallets.byRef[ref]; !ok {
				return driver.ErrNotFound
			}
			if err := check(wallet.Balance >= 0, "wallets_balance_check"); err != nil {
				return err
			}
			put(u, s.wallets.byRef, ref, wallet)
		}
		return nil
	})
}

func (tx *updating) AppendEntries(ctx context.Context, entries []ledger.Entry) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, entry := range entries {
			if err := s.wallets.append(u, entry); err != nil {
				return err
			}
		}
		return nil
	})
}

func (tx *updating) AppendFloatCredit(ctx context.Context, credit driver.FloatCredit) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		ref := creditRef{credit.CompanyID, credit.Reference}
		return create(u, s.wallets.credits, ref, credit, "float_credits_pkey")
	})
}
