package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

const (
	walletRowColumns = "company_id, wallet, status, currency, balance, sequence, hash, last_at"

	walletColumns = "w.company_id, w.wallet, w.status, w.currency, w.balance, w.sequence, w.hash, w.last_at"
	entryColumns  = `e.company_id, e.wallet, e.sequence, e.kind, e.amount, e.balance_before, e.balance_after,
	e.reference, e.at, e.previous, e.hash`
)

func walletFields(w *driver.Wallet) []any {
	return []any{
		(*id)(&w.CompanyID), (*string)(&w.Kind), (*string)(&w.Status), &w.Currency, (*int64)(&w.Balance), &w.Sequence,
		(*hash)(&w.Hash), (*moment)(&w.LastAt),
	}
}

func scanWallet(row rowSet, w *driver.Wallet) error { return row.Scan(walletFields(w)...) }

func walletRow(w driver.Wallet) []any {
	return []any{
		w.CompanyID, string(w.Kind), string(w.Status), w.Currency, int64(w.Balance), w.Sequence, w.Hash[:], w.LastAt,
	}
}

func walletRef(w driver.Wallet) driver.WalletRef {
	return driver.WalletRef{CompanyID: w.CompanyID, Wallet: w.Kind}
}

func walletSet(refs []driver.WalletRef) set {
	return newSet("company_id, wallet", refs, func(r driver.WalletRef) []any {
		return []any{r.CompanyID, string(r.Wallet)}
	})
}

// heads is a fragment: wallets and the last entry of each.
type heads struct {
	set

	lock bool // lock the wallets against other writers
}

func (h heads) appendTo(to *builder) { to.engine.appendHeads(to, h.set, h.lock) }

// scanLocked reads a wallet and its last entry, which may be missing.
func scanLocked(row rowSet, w *driver.LockedWallet) error {
	return row.Scan(append(walletFields(&w.Wallet),
		(*number)(&w.Last.Sequence), (*number)(&w.Last.After), (*hash)(&w.Last.Hash))...)
}

// Wallets finds wallets.
func (s *session) Wallets(ctx context.Context, refs []driver.WalletRef) ([]driver.Wallet, error) {
	return findByRefs(refs, walletRef, func(refs []driver.WalletRef) ([]driver.Wallet, error) {
		return query(ctx, s, "Wallets", scanWallet,
			"SELECT "+walletColumns+" FROM ?", keyedRows{table: "ticketing_wallets w", set: walletSet(refs)})
	})
}

// LowestFloats sorts the FLOAT wallets of all companies.
func (s *session) LowestFloats(ctx context.Context, limit int) ([]driver.Wallet, error) {
	return query(ctx, s, "LowestFloats", scanWallet,
		"SELECT "+walletColumns+` FROM ticketing_wallets w WHERE w.wallet = 'FLOAT'
		ORDER BY w.balance, w.company_id LIMIT ?`, max(limit, 0))
}

// scanEntryOf reads an entry of a wallet that the statement names.
func scanEntryOf(of driver.WalletRef) func(row rowSet, e *ledger.Entry) error {
	return func(row rowSet, e *ledger.Entry) error {
		e.CompanyID, e.Wallet = of.CompanyID, of.Wallet
		return row.Scan(&e.Sequence, (*string)(&e.Kind), (*int64)(&e.Amount), (*int64)(&e.Before), (*int64)(&e.After),
			&e.Reference, (*moment)(&e.At), (*hash)(&e.Previous), (*hash)(&e.Hash))
	}
}

// entryOfColumns are the columns that scanEntryOf reads.
const entryOfColumns = "sequence, kind, amount, balance_before, balance_after, reference, at, previous, hash"

// ListEntries returns a page of a wallet's ledger, oldest first.
func (s *session) ListEntries(ctx context.Context, ask driver.LedgerQuery) ([]ledger.Entry, error) {
	return query(ctx, s, "ListEntries", scanEntryOf(ask.WalletRef),
		"SELECT "+entryOfColumns+` FROM ticketing_ledger_entries
		WHERE company_id = ? AND wallet = ? AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?`,
		ask.CompanyID, string(ask.Wallet), ask.After, upTo(ask.Last), max(ask.Limit, 0))
}

// SearchEntries returns entries of some kinds of a wallet's ledger, newest first.
func (s *session) SearchEntries(ctx context.Context, ask driver.EntryQuery) ([]ledger.Entry, error) {
	kinds := slices.Compact(slices.Sorted(slices.Values(ask.Kinds)))
	if ask.WithSales() {
		return s.searchKinds(ctx, ask, kinds)
	}
	// One subquery for each kind, so that each reads its index in order and stops after one page.
	parts := make([]string, len(kinds))
	var all []any
	traits := s.store.engine.traits()
	index := traits.useIndex("ticketing_ledger_entries_rare")
	for i, kind := range kinds {
		// The index is partial, so the query repeats its condition.
		parts[i] = "SELECT * FROM (SELECT " + entryOfColumns + " FROM ticketing_ledger_entries" + index +
			` WHERE company_id = ? AND wallet = ? AND kind` + traits.byCodePoint + ` = ?
			AND kind NOT IN ('CHECKOUT_DEBIT', 'COMMISSION_ACCRUAL')
			AND sequence > ? AND sequence < ? ORDER BY sequence DESC LIMIT ?) AS part`
		all = append(all, ask.CompanyID, string(ask.Wallet), string(kind), ask.Above, ask.Before, max(ask.Limit, 0))
	}
	return query(ctx, s, "SearchEntries", scanEntryOf(ask.WalletRef),
		strings.Join(parts, " UNION ALL ")+" ORDER BY sequence DESC LIMIT ?", append(all, max(ask.Limit, 0))...)
}

// searchKinds reads the primary key backwards. It leaves out entries of other kinds than these, if there are any kinds.
func (s *session) searchKinds(
	ctx context.Context, ask driver.EntryQuery, kinds []ledger.Kind,
) ([]ledger.Entry, error) {
	where := "company_id = ? AND wallet = ? AND sequence > ? AND sequence < ?"
	args := []any{ask.CompanyID, string(ask.Wallet), ask.Above, ask.Before}
	if len(kinds) > 0 {
		where += " AND ?"
		args = append(args, inRows(newSet("kind", kinds, func(k ledger.Kind) []any { return []any{string(k)} })))
	}
	return query(ctx, s, "SearchEntries", scanEntryOf(ask.WalletRef),
		"SELECT "+entryOfColumns+" FROM ticketing_ledger_entries WHERE "+where+" ORDER BY sequence DESC LIMIT ?",
		append(args, max(ask.Limit, 0))...)
}

// Entries finds entries by their wallets and sequences.
func (s *session) Entries(ctx context.Context, refs []driver.EntryRef) ([]ledger.Entry, error) {
	scan := func(row rowSet, e *ledger.Entry) error {
		return row.Scan((*id)(&e.CompanyID), (*string)(&e.Wallet), &e.Sequence, (*string)(&e.Kind), (*int64)(&e.Amount),
			(*int64)(&e.Before), (*int64)(&e.After), &e.Reference, (*moment)(&e.At), (*hash)(&e.Previous), (*hash)(&e.Hash))
	}
	return findByRefs(refs,
		func(e ledger.Entry) driver.EntryRef {
			return driver.EntryRef{
				WalletRef: driver.WalletRef{CompanyID: e.CompanyID, Wallet: e.Wallet}, Sequence: e.Sequence,
			}
		},
		func(refs []driver.EntryRef) ([]ledger.Entry, error) {
			return query(ctx, s, "Entries", scan, "SELECT "+entryColumns+" FROM ?",
				keyedRows{table: "ticketing_ledger_entries e", set: newSet("company_id, wallet, sequence", refs,
					func(r driver.EntryRef) []any { return []any{r.CompanyID, string(r.Wallet), r.Sequence} })})
		})
}

func scanFloatCredit(row rowSet, c *driver.FloatCredit) error {
	return row.Scan((*id)(&c.CompanyID), &c.Reference, (*int64)(&c.Amount), &c.Sequence)
}

// FloatCredits finds a company's float credits by their references.
func (s *session) FloatCredits(
	ctx context.Context, companyID uuid.UUID, references []string,
) ([]driver.FloatCredit, error) {
	return findByRefs(references,
		func(c driver.FloatCredit) string { return c.Reference },
		func(references []string) ([]driver.FloatCredit, error) {
			return query(ctx, s, "FloatCredits", scanFloatCredit, "SELECT company_id, reference, amount, sequence FROM ?",
				keyedRows{table: "ticketing_float_credits c", set: newSet("company_id, reference", references,
					func(r string) []any { return []any{companyID, r} })})
		})
}

// CountFloatCredits counts a company's float credits.
func (s *session) CountFloatCredits(ctx context.Context, companyID uuid.UUID) (int64, error) {
	scan := func(row rowSet, count *int64) error { return row.Scan(count) }
	return firstRow(query(ctx, s, "CountFloatCredits", scan,
		"SELECT count(*) FROM ticketing_float_credits WHERE company_id = ?", companyID))
}

// CreateWallets inserts wallets.
func (tx *transaction) CreateWallets(ctx context.Context, wallets []driver.Wallet) error {
	return inParts(wallets, func(wallets []driver.Wallet) error {
		return tx.insert(ctx, "CreateWallets", "ticketing_wallets", newSet(walletRowColumns, wallets, walletRow))
	})
}

// LockWallets reads wallets with their last entries and locks them against other writers.
func (tx *transaction) LockWallets(
	ctx context.Context, refs []driver.WalletRef,
) ([]driver.LockedWallet, error) {
	return findByRefs(refs, lockedRef,
		func(refs []driver.WalletRef) ([]driver.LockedWallet, error) {
			company := soleCompanyOf(refs, func(r driver.WalletRef) uuid.UUID { return r.CompanyID })
			if tx.engineAt(ctx, "LockWallets", company).traits().locksBeside {
				found, err := tx.lockedWallets(ctx, refs, true)
				if err != nil || !slices.ContainsFunc(found, aged) {
					return found, err
				}
			} else if err := tx.lock(ctx, walletRows(refs)); err != nil {
				return nil, err
			}
			return tx.lockedWallets(ctx, refs, false)
		})
}

// lockedRef returns the reference of a locked wallet.
func lockedRef(w driver.LockedWallet) driver.WalletRef { return walletRef(w.Wallet) }

// walletRows are wallets to lock.
func walletRows(refs []driver.WalletRef) keyedRows {
	return keyedRows{table: "ticketing_wallets w", set: walletSet(refs), lock: true}
}

// lockedWallets reads wallets and their last entries, and locks the wallets if they are not locked yet.
func (tx *transaction) lockedWallets(
	ctx context.Context, refs []driver.WalletRef, lock bool,
) ([]driver.LockedWallet, error) {
	const text = "SELECT " + walletColumns + ", e.sequence, e.balance_after, e.hash FROM ?"
	if lock {
		return query(ctx, &tx.session, "LockWallets", scanLocked, text, heads{walletSet(refs), true})
	}
	return queryRefs(ctx, &tx.session, refs, refsQuery[driver.WalletRef, driver.LockedWallet]{
		name: "LockWallets", scan: scanLocked, text: text,
		value: func(refs []driver.WalletRef) fragment { return heads{walletSet(refs), false} },
	})
}

// aged reports whether a wallet's last entry was not found. A statement that waited for a lock reads the locked row as
// of then, but joined rows as of before. Entries never change, so an entry that was found is the right one.
func aged(w driver.LockedWallet) bool { return w.Sequence > 0 && w.Last.Sequence == 0 }

// UpdateWallets writes wallets that were locked.
func (tx *transaction) UpdateWallets(ctx context.Context, wallets []driver.Wallet) error {
	return inParts(lastChanges(wallets, walletRef), func(wallets []driver.Wallet) error {
		return tx.update(ctx, "UpdateWallets", "ticketing_wallets", 2, newSet(walletRowColumns, wallets, walletRow))
	})
}

// AppendEntries inserts ledger entries. A trigger refuses to change or remove one.
func (tx *transaction) AppendEntries(ctx context.Context, entries []ledger.Entry) error {
	return insertRecords(ctx, tx, "AppendEntries", "ticketing_ledger_entries", []column[ledger.Entry]{
		idColumn("company_id", func(e *ledger.Entry) uuid.UUID { return e.CompanyID }),
		textColumn("wallet", func(e *ledger.Entry) string { return string(e.Wallet) }),
		numberColumn("sequence", func(e *ledger.Entry) int64 { return e.Sequence }),
		textColumn("kind", func(e *ledger.Entry) string { return string(e.Kind) }),
		numberColumn("amount", func(e *ledger.Entry) int64 { return int64(e.Amount) }),
		numberColumn("balance_before", func(e *ledger.Entry) int64 { return int64(e.Before) }),
		numberColumn("balance_after", func(e *ledger.Entry) int64 { return int64(e.After) }),
		textColumn("reference", func(e *ledger.Entry) string { return e.Reference }),
		timeColumn("at", func(e *ledger.Entry) time.Time { return e.At }),
		bytesColumn("previous", func(e *ledger.Entry) []byte { return e.Previous[:] }),
		bytesColumn("hash", func(e *ledger.Entry) []byte { return e.Hash[:] }),
	}, entries, 2)
}

// AppendFloatCredit inserts a credit of the FLOAT wallet.
func (tx *transaction) AppendFloatCredit(ctx context.Context, c driver.FloatCredit) error {
	return tx.exec(ctx, "AppendFloatCredit",
		"INSERT INTO ticketing_float_credits (company_id, reference, amount, sequence) VALUES (?, ?, ?, ?)",
		c.CompanyID, c.Reference, int64(c.Amount), c.Sequence)
}
