package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

func walletKinds() []record {
	kept := newWallet(companyA, ledger.Float)
	ref := driver.WalletRef{CompanyID: companyA, Wallet: ledger.Float}
	changed := kept
	changed.Status, changed.Balance, changed.Sequence = driver.WalletSuspended, money.MaxBalance, 1<<40
	changed.Hash, changed.LastAt = ledger.Hash{0, 1, 0xFF}, at(80)
	holds := func(found driver.Wallet) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return want("Wallets", []driver.Wallet{found}).from(tx.Wallets(ctx, []driver.WalletRef{ref}))
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error {
		return tx.CreateWallets(ctx, []driver.Wallet{newWallet(companyA, ledger.Earnings), kept})
	}
	return []record{{
		name: "wallets", create: create, created: holds(kept), absent: holds(driver.Wallet{}),
		change: func(ctx context.Context, tx driver.Tx) error {
			return tx.UpdateWallets(ctx, []driver.Wallet{changed})
		},
		changed: holds(changed),
		taken:   map[string]writes{"kind": create},
	}}
}

func walletChecks() []Check {
	return []Check{
		{"wallets/answers are aligned and of their company", grounded(walletsAligned)},
		{"wallets/locked with their last entries", grounded(walletsLocked)},
		{"wallets/a balance is never below zero", grounded(balanceBounded)},
		{"wallets/no movement is lost", grounded(noMovementLost)},
		{"wallets/the lowest FLOAT of all companies", lowestFloats},
	}
}

func createWallets(ctx context.Context, s driver.Store, wallets ...driver.Wallet) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.CreateWallets(ctx, wallets) })
	if err != nil {
		return fmt.Errorf("create wallets: %w", err)
	}
	return nil
}

func walletsAligned(ctx context.Context, s driver.Store) error {
	a, b := newWallet(companyA, ledger.Float), newWallet(companyB, ledger.Earnings)
	b.Balance = 5
	if err := createWallets(ctx, s, a, b); err != nil {
		return err
	}
	refs := []driver.WalletRef{
		{CompanyID: companyB, Wallet: ledger.Earnings},
		{CompanyID: companyB, Wallet: ledger.Float},
		{},
		{CompanyID: companyA, Wallet: ledger.Float},
		{CompanyID: companyA, Wallet: ledger.Earnings},
	}
	err := everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps and out of order", []driver.Wallet{b, {}, {}, a, {}}).from(tx.Wallets(ctx, refs)),
			want("none", []driver.Wallet(nil)).from(tx.Wallets(ctx, nil)),
		)
	})
	if err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return want("locked", []driver.LockedWallet{{Wallet: b}, {}, {}, {Wallet: a}, {}}).
			from(tx.LockWallets(ctx, refs))
	})
}

func walletsLocked(ctx context.Context, s driver.Store) error {
	float, earnings := newWallet(companyA, ledger.Float), newWallet(companyA, ledger.Earnings)
	if err := createWallets(ctx, s, float, earnings); err != nil {
		return err
	}
	moved := entries(companyA, ledger.Float, 11)
	last := moved[10]
	float.Balance, float.Sequence, float.Hash, float.LastAt = last.After, last.Sequence, last.Hash, last.At
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(tx.AppendEntries(ctx, moved), tx.UpdateWallets(ctx, []driver.Wallet{float}))
	})
	if err != nil {
		return err
	}
	newest := driver.LastEntry{Sequence: last.Sequence, After: last.After, Hash: last.Hash}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return want("a wallet that moved and one that did not",
			[]driver.LockedWallet{{Wallet: float, Last: newest}, {Wallet: earnings}},
		).from(tx.LockWallets(ctx, []driver.WalletRef{
			{CompanyID: companyA, Wallet: ledger.Float}, {CompanyID: companyA, Wallet: ledger.Earnings},
		}))
	})
}

func balanceBounded(ctx context.Context, s driver.Store) error {
	kept := newWallet(companyA, ledger.Float)
	if err := createWallets(ctx, s, kept); err != nil {
		return err
	}
	below := kept
	below.Balance = -1
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.UpdateWallets(ctx, []driver.Wallet{below})
	})
	if err := refuses("a balance below zero", err); err != nil {
		return err
	}
	born := newWallet(companyB, ledger.Float)
	born.Balance = -1
	if err := refuses("a wallet made with a balance below zero", createWallets(ctx, s, born)); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("the wallet", []driver.Wallet{kept, {}}).from(tx.Wallets(ctx, []driver.WalletRef{
			{CompanyID: companyA, Wallet: ledger.Float}, {CompanyID: companyB, Wallet: ledger.Float},
		}))
	})
}

// noMovementLost appends entries to one wallet concurrently: every entry continues the one before.
func noMovementLost(ctx context.Context, s driver.Store) error {
	if err := createWallets(ctx, s, newWallet(companyA, ledger.Float)); err != nil {
		return err
	}
	ref := driver.WalletRef{CompanyID: companyA, Wallet: ledger.Float}
	const writers, each = 8, 5
	err := together(ctx, writers, func(n int) error {
		for i := range each {
			if err := share(ctx, s, moves(ref, money.Amount(n*each+i+1))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("move at once: %w", err)
	}
	const count = writers * each
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		moved, err := tx.ListEntries(ctx, driver.LedgerQuery{WalletRef: ref, Limit: 2 * count})
		if err := want("movements", count).from(len(moved), err); err != nil {
			return err
		}
		head := ledger.Genesis(companyA, ledger.Float)
		for _, entry := range moved {
			expected, next, err := head.Append(entry.Kind, entry.Amount, entry.Reference, entry.At)
			if err := want("the next movement", expected).from(entry, err); err != nil {
				return err
			}
			head = next
		}
		wallet := newWallet(companyA, ledger.Float)
		wallet.Balance, wallet.Sequence = count*(count+1)/2, count
		wallet.Hash, wallet.LastAt = head.Hash, head.At
		return want("the wallet", []driver.Wallet{wallet}).from(tx.Wallets(ctx, []driver.WalletRef{ref}))
	})
}

// moves returns a write that credits a wallet by an amount, from its locked record and last entry.
func moves(ref driver.WalletRef, amount money.Amount) writes {
	return func(ctx context.Context, tx driver.Tx) error {
		locked, err := tx.LockWallets(ctx, []driver.WalletRef{ref})
		if err := want("locked", 1).from(len(locked), err); err != nil {
			return err
		}
		wallet := locked[0].Wallet
		if err := that(locked[0].Last.After == wallet.Balance, "a locked wallet and its last entry disagree"); err != nil {
			return err
		}
		head := ledger.Head{
			CompanyID: ref.CompanyID, Wallet: ref.Wallet, Sequence: wallet.Sequence, Balance: wallet.Balance,
			Hash: wallet.Hash, At: wallet.LastAt,
		}
		entry, head, err := head.Append(ledger.FloatCredit, amount, fmt.Sprint("REF-", amount), at(0))
		if err != nil {
			return err
		}
		wallet.Balance, wallet.Sequence, wallet.Hash, wallet.LastAt = head.Balance, head.Sequence, head.Hash, head.At
		return errors.Join(
			tx.AppendEntries(ctx, []ledger.Entry{entry}), tx.UpdateWallets(ctx, []driver.Wallet{wallet}),
		)
	}
}

func lowestFloats(ctx context.Context, s driver.Store) error {
	var floats []driver.Wallet
	for n, balance := range map[int]money.Amount{4: 0, 2: 5, 3: 5, 1: 700, 5: money.MaxBalance} {
		wallet := newWallet(id(n), ledger.Float)
		wallet.Balance = balance
		floats = append(floats, wallet)
	}
	slices.SortFunc(floats, func(a, b driver.Wallet) int {
		return cmp.Or(cmp.Compare(a.Balance, b.Balance), slices.Compare(a.CompanyID[:], b.CompanyID[:]))
	})
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, float := range floats {
			earnings := newWallet(float.CompanyID, ledger.Earnings)
			earnings.Balance = 1
			if err := tx.CreateCompany(ctx, newCompany(float.CompanyID)); err != nil {
				return err
			}
			if err := tx.CreateWallets(ctx, []driver.Wallet{float, earnings}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", floats).from(tx.LowestFloats(ctx, 9)),
			want("three", floats[:3]).from(tx.LowestFloats(ctx, 3)),
			want("none", []driver.Wallet(nil)).from(tx.LowestFloats(ctx, 0)),
		)
	})
}
