package store

import (
	"context"
	"database/sql"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
)

const (
	walletRowColumns = "company_id, wallet, status, currency, balance, sequence, hash, last_at"

	walletColumns = "w.company_id, w.wallet, w.status, w.currency, w.balance, w.sequence, w.hash, w.last_at"
	entryColumns  = `e.company_id, e.wallet, e.sequence, e.kind, e.amount, e.balance_before, e.balance_after,
	e.reference, e.at, e.previous, e.hash`
)

func walletFields(w *ticketing.WalletRecord) []any {
	return []any{
		(*id)(&w.CompanyID), (*string)(&w.Wallet), (*string)(&w.Status), &w.Currency, (*int64)(&w.Balance), &w.Sequence,
		(*hash)(&w.Hash), (*moment)(&w.LastAt),
	}
}

func scanWallet(row *sql.Rows, w *ticketing.WalletRecord) error { return row.Scan(walletFields(w)...) }

func walletRow(w ticketing.WalletRecord) []any {
	return []any{
		w.CompanyID, string(w.Wallet), string(w.Status), w.Currency, int64(w.Balance), w.Sequence, w.Hash[:], w.LastAt,
	}
}

func walletRef(w ticketing.WalletRecord) ticketing.WalletRef {
	return ticketing.WalletRef{CompanyID: w.CompanyID, Wallet: w.Wallet}
}

func walletSet(refs []ticketing.WalletRef) set {
	return of("company_id, wallet", refs, func(r ticketing.WalletRef) []any { return []any{r.CompanyID, string(r.Wallet)} })
}

// heads are wallets and the last entry of each.
type heads struct {
	set

	lock bool // keep other writers from the wallets
}

func (h heads) appendTo(to *builder) { to.engine.appendHeads(to, h.set, h.lock) }

// scanLocked reads a wallet and its last entry, which may be missing.
func scanLocked(row *sql.Rows, w *ticketing.LockedWallet) error {
	return row.Scan(append(walletFields(&w.WalletRecord),
		(*number)(&w.Last.Sequence), (*number)(&w.Last.After), (*hash)(&w.Last.Hash))...)
}

// Wallets finds wallets.
func (s *session) Wallets(ctx context.Context, refs []ticketing.WalletRef) ([]ticketing.WalletRecord, error) {
	return lookUp(refs, walletRef, func(refs []ticketing.WalletRef) ([]ticketing.WalletRecord, error) {
		return query(ctx, s, "Wallets", scanWallet,
			"SELECT "+walletColumns+" FROM ?", found{table: "ticketing_wallets w", set: walletSet(refs)})
	})
}

// ListEntries answers with a part of a wallet's ledger, oldest first.
func (s *session) ListEntries(ctx context.Context, ask ticketing.LedgerQuery) ([]ledger.Entry, error) {
	scan := func(row *sql.Rows, e *ledger.Entry) error {
		e.CompanyID, e.Wallet = ask.CompanyID, ask.Wallet
		return row.Scan(&e.Sequence, (*string)(&e.Kind), (*int64)(&e.Amount), (*int64)(&e.Before), (*int64)(&e.After),
			&e.Reference, (*moment)(&e.At), (*hash)(&e.Previous), (*hash)(&e.Hash))
	}
	return query(ctx, s, "ListEntries", scan,
		`SELECT sequence, kind, amount, balance_before, balance_after, reference, at, previous, hash
		FROM ticketing_ledger_entries
		WHERE company_id = ? AND wallet = ? AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?`,
		ask.CompanyID, string(ask.Wallet), ask.After, upTo(ask.Last), max(ask.Limit, 0))
}

// FloatCredit finds a funding by its reference; the zero record where there is none.
func (s *session) FloatCredit(
	ctx context.Context, companyID uuid.UUID, reference string,
) (ticketing.FloatCreditRecord, error) {
	scan := func(row *sql.Rows, c *ticketing.FloatCreditRecord) error {
		return row.Scan((*id)(&c.CompanyID), &c.Reference, (*int64)(&c.Amount), &c.Sequence)
	}
	return one(query(ctx, s, "FloatCredit", scan,
		`SELECT company_id, reference, amount, sequence FROM ticketing_float_credits
		WHERE company_id = ? AND reference = ?`, companyID, reference))
}

// CountFloatCredits counts a company's fundings.
func (s *session) CountFloatCredits(ctx context.Context, companyID uuid.UUID) (int64, error) {
	scan := func(row *sql.Rows, count *int64) error { return row.Scan(count) }
	return one(query(ctx, s, "CountFloatCredits", scan,
		"SELECT count(*) FROM ticketing_float_credits WHERE company_id = ?", companyID))
}

// CreateWallets keeps new wallets.
func (tx *transaction) CreateWallets(ctx context.Context, wallets []ticketing.WalletRecord) error {
	return inParts(wallets, func(wallets []ticketing.WalletRecord) error {
		return tx.insert(ctx, "CreateWallets", "ticketing_wallets", of(walletRowColumns, wallets, walletRow))
	})
}

// LockWallets reads wallets with their last entries and keeps other writers from them.
func (tx *transaction) LockWallets(
	ctx context.Context, refs []ticketing.WalletRef,
) ([]ticketing.LockedWallet, error) {
	return lookUp(refs, func(w ticketing.LockedWallet) ticketing.WalletRef { return walletRef(w.WalletRecord) },
		func(refs []ticketing.WalletRef) ([]ticketing.LockedWallet, error) {
			read := func(lock bool) ([]ticketing.LockedWallet, error) {
				return query(ctx, &tx.session, "LockWallets", scanLocked,
					"SELECT "+walletColumns+", e.sequence, e.balance_after, e.hash FROM ?", heads{walletSet(refs), lock})
			}
			if tx.store.engine.locksBeside() {
				found, err := read(true)
				if err != nil || !slices.ContainsFunc(found, aged) {
					return found, err
				}
			} else if err := tx.lock(found{table: "ticketing_wallets w", set: walletSet(refs), lock: true}); err != nil {
				return nil, err
			}
			return read(false)
		})
}

// aged tells that a wallet's last entry was not found. A row that a statement waited for is read as it is then, and what
// stands beside it as it was before. Entries never change, so one that is found is the one.
func aged(w ticketing.LockedWallet) bool { return w.Sequence > 0 && w.Last.Sequence == 0 }

// UpdateWallets keeps wallets that were locked.
func (tx *transaction) UpdateWallets(ctx context.Context, wallets []ticketing.WalletRecord) error {
	return inParts(folded(wallets, walletRef), func(wallets []ticketing.WalletRecord) error {
		return tx.update(ctx, "UpdateWallets", "ticketing_wallets", 2, of(walletRowColumns, wallets, walletRow))
	})
}

// AppendEntries keeps movements. A trigger refuses to change or remove one.
func (tx *transaction) AppendEntries(ctx context.Context, entries []ledger.Entry) error {
	return inParts(entries, func(entries []ledger.Entry) error {
		return tx.insert(ctx, "AppendEntries", "ticketing_ledger_entries", of(
			`company_id, wallet, sequence, kind, amount, balance_before, balance_after, reference, at, previous, hash`,
			entries, func(e ledger.Entry) []any {
				return []any{
					e.CompanyID, string(e.Wallet), e.Sequence, string(e.Kind), int64(e.Amount), int64(e.Before),
					int64(e.After), e.Reference, e.At, e.Previous[:], e.Hash[:],
				}
			}))
	})
}

// AppendFloatCredit keeps a funding of FLOAT.
func (tx *transaction) AppendFloatCredit(ctx context.Context, c ticketing.FloatCreditRecord) error {
	return tx.exec(ctx, "AppendFloatCredit",
		"INSERT INTO ticketing_float_credits (company_id, reference, amount, sequence) VALUES (?, ?, ?, ?)",
		c.CompanyID, c.Reference, int64(c.Amount), c.Sequence)
}
