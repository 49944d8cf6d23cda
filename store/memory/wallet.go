package memory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
)

type wallets struct {
	byRef   map[ticketing.WalletRef]ticketing.WalletRecord
	entries map[ticketing.WalletRef]*[]ledger.Entry // the sequence is the place, from 1
	credits map[creditRef]ticketing.FloatCreditRecord
}

type creditRef struct {
	companyID uuid.UUID
	reference string
}

func newWallets() wallets {
	return wallets{
		byRef:   make(map[ticketing.WalletRef]ticketing.WalletRecord),
		entries: make(map[ticketing.WalletRef]*[]ledger.Entry),
		credits: make(map[creditRef]ticketing.FloatCreditRecord),
	}
}

func (w *wallets) find(ref ticketing.WalletRef) ticketing.WalletRecord { return w.byRef[ref] }

func (w *wallets) locked(ref ticketing.WalletRef) ticketing.LockedWallet {
	wallet := ticketing.LockedWallet{WalletRecord: w.find(ref)}
	if entries, ok := w.entries[ref]; ok && len(*entries) > 0 {
		last := (*entries)[len(*entries)-1]
		wallet.Last = ticketing.LastEntry{Sequence: last.Sequence, After: last.After, Hash: last.Hash}
	}
	return wallet
}

func (w *wallets) list(query ticketing.LedgerQuery) []ledger.Entry {
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

func (w *wallets) append(u *undo, entry ledger.Entry) error {
	ref := ticketing.WalletRef{CompanyID: entry.CompanyID, Wallet: entry.Wallet}
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

func (r reading) Wallets(ctx context.Context, refs []ticketing.WalletRef) ([]ticketing.WalletRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.WalletRecord { return each(refs, s.wallets.find) })
}

func (r reading) ListEntries(ctx context.Context, query ticketing.LedgerQuery) ([]ledger.Entry, error) {
	return ask(ctx, r, func(s *state) []ledger.Entry { return s.wallets.list(query) })
}

func (r reading) FloatCredit(
	ctx context.Context, companyID uuid.UUID, reference string,
) (ticketing.FloatCreditRecord, error) {
	return ask(ctx, r, func(s *state) ticketing.FloatCreditRecord {
		return s.wallets.credits[creditRef{companyID, reference}]
	})
}

// CountFloatCredits looks at every funding: only the verification of books asks.
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

func (tx *updating) CreateWallets(ctx context.Context, wallets []ticketing.WalletRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, wallet := range wallets {
			wallet.LastAt = moment(wallet.LastAt)
			ref := ticketing.WalletRef{CompanyID: wallet.CompanyID, Wallet: wallet.Wallet}
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

// LockWallets reads wallets: their writer is alone.
func (tx *updating) LockWallets(
	ctx context.Context, refs []ticketing.WalletRef,
) ([]ticketing.LockedWallet, error) {
	return ask(ctx, tx.reading, func(s *state) []ticketing.LockedWallet { return each(refs, s.wallets.locked) })
}

func (tx *updating) UpdateWallets(ctx context.Context, wallets []ticketing.WalletRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, wallet := range wallets {
			wallet.LastAt = moment(wallet.LastAt)
			ref := ticketing.WalletRef{CompanyID: wallet.CompanyID, Wallet: wallet.Wallet}
			if _, ok := s.wallets.byRef[ref]; !ok {
				return ticketing.ErrNotFound
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

func (tx *updating) AppendFloatCredit(ctx context.Context, credit ticketing.FloatCreditRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		ref := creditRef{credit.CompanyID, credit.Reference}
		return create(u, s.wallets.credits, ref, credit, "float_credits_pkey")
	})
}
