package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

func ledgerKinds() []record {
	ref := driver.WalletRef{CompanyID: companyA, Wallet: ledger.Float}
	moved := entries(companyA, ledger.Float, 3)
	wallets := []driver.Wallet{newWallet(companyA, ledger.Float)}
	listed := func(kept ...ledger.Entry) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return want("ListEntries", kept).from(tx.ListEntries(ctx, driver.LedgerQuery{WalletRef: ref, Limit: 9}))
		}
	}
	credit := newFloatCredit(companyA, "PSK/2026:~1")
	credited := func(found driver.FloatCredit) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("FloatCredits", []driver.FloatCredit{found}).
					from(tx.FloatCredits(ctx, companyA, []string{credit.Reference})),
				want("CountFloatCredits", min(found.Sequence, 1)).from(tx.CountFloatCredits(ctx, companyA)),
				want("CountFloatCredits of another company", int64(0)).from(tx.CountFloatCredits(ctx, companyB)),
				want("FloatCredits of another company", []driver.FloatCredit{{}}).
					from(tx.FloatCredits(ctx, companyB, []string{credit.Reference})),
				want("FloatCredits of another reference", []driver.FloatCredit{{}}).
					from(tx.FloatCredits(ctx, companyA, []string{"psk/2026:~1"})),
			)
		}
	}
	fund := func(ctx context.Context, tx driver.Tx) error { return tx.AppendFloatCredit(ctx, credit) }
	return []record{
		{
			name: "ledger", created: listed(moved...), absent: listed(),
			create: func(ctx context.Context, tx driver.Tx) error {
				if err := tx.CreateWallets(ctx, wallets); err != nil {
					return err
				}
				if err := tx.AppendEntries(ctx, moved[:1]); err != nil {
					return err
				}
				return tx.AppendEntries(ctx, moved[1:])
			},
			taken: map[string]writes{
				"sequence": func(ctx context.Context, tx driver.Tx) error {
					other := moved[2]
					other.Reference = "other"
					return tx.AppendEntries(ctx, []ledger.Entry{other})
				},
				"sequence among others": func(ctx context.Context, tx driver.Tx) error {
					return tx.AppendEntries(ctx, append(entries(companyB, ledger.Float, 2), moved[0]))
				},
			},
		},
		{
			name: "float credits", create: fund, created: credited(credit), absent: credited(driver.FloatCredit{}),
			taken: map[string]writes{"reference": fund},
		},
	}
}

func ledgerChecks() []Check {
	return []Check{
		{"ledger/list is in order and in pages", grounded(entriesListed)},
		{"ledger/the balance after is the one before and the amount", grounded(entryAddsUp)},
		{"ledger/entries are found by sequence", grounded(entriesFound)},
		{"ledger/entries of some kinds are newest first and in pages", grounded(entriesSearched)},
	}
}

func entriesListed(ctx context.Context, s driver.Store) error {
	float, earnings := entries(companyA, ledger.Float, 12), entries(companyA, ledger.Earnings, 2)
	other := entries(companyB, ledger.Float, 3)
	for _, moved := range [][]ledger.Entry{float[:9], other, earnings, float[9:]} {
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendEntries(ctx, moved) })
		if err != nil {
			return fmt.Errorf("append entries: %w", err)
		}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for ref, moved := range map[driver.WalletRef][]ledger.Entry{
			{CompanyID: companyA, Wallet: ledger.Float}:    float,
			{CompanyID: companyA, Wallet: ledger.Earnings}: earnings,
			{CompanyID: companyB, Wallet: ledger.Float}:    other,
			{CompanyID: companyB, Wallet: ledger.Earnings}: nil,
		} {
			err := pages(moved, func(after *ledger.Entry, limit int) ([]ledger.Entry, error) {
				query := driver.LedgerQuery{WalletRef: ref, Limit: limit}
				if after != nil {
					query.After = after.Sequence
				}
				return tx.ListEntries(ctx, query)
			})
			if err != nil {
				return fmt.Errorf("%s: %w", ref.Wallet, err)
			}
			beyond := driver.LedgerQuery{WalletRef: ref, After: math.MaxInt64, Limit: 9}
			part := moved[min(1, len(moved)):min(3, len(moved))]
			query := driver.LedgerQuery{WalletRef: ref, After: 1, Last: 3, Limit: 9}
			if err := want("a part", part).from(tx.ListEntries(ctx, query)); err != nil {
				return err
			}
			if err := want("behind the end", []ledger.Entry(nil)).from(tx.ListEntries(ctx, beyond)); err != nil {
				return err
			}
		}
		return nil
	})
}

func entryAddsUp(ctx context.Context, s driver.Store) error {
	for name, wrong := range map[string]func(e *ledger.Entry){
		"an entry that does not add up": func(e *ledger.Entry) { e.After++ },
		"an entry to below zero":        func(e *ledger.Entry) { e.Amount, e.After = -1, -1 },
	} {
		entry := entries(companyA, ledger.Float, 1)[0]
		wrong(&entry)
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendEntries(ctx, []ledger.Entry{entry})
		})
		if err := refuses(name, err); err != nil {
			return err
		}
	}
	// An amount of zero and a debit down to zero are legal.
	head := ledger.Genesis(companyA, ledger.Float)
	credit, head, err := head.Append(ledger.FloatCredit, 5, "a", at(0))
	if err != nil {
		return err
	}
	debit, head, err := head.Append(ledger.CheckoutDebit, -5, "b", at(0).Add(time.Hour))
	if err != nil {
		return err
	}
	nothing, _, err := head.Append(ledger.CheckoutDebit, 0, "c", at(0).Add(time.Hour))
	if err != nil {
		return err
	}
	moved := []ledger.Entry{credit, debit, nothing}
	err = share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendEntries(ctx, moved) })
	if err != nil {
		return fmt.Errorf("a credit, a debit to zero and a movement of nothing: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		query := driver.LedgerQuery{WalletRef: driver.WalletRef{CompanyID: companyA, Wallet: ledger.Float}, Limit: 9}
		return want("entries", moved).from(tx.ListEntries(ctx, query))
	})
}

func entriesFound(ctx context.Context, s driver.Store) error {
	float, earnings := entries(companyA, ledger.Float, 3), entries(companyA, ledger.Earnings, 2)
	other := entries(companyB, ledger.Float, 1)
	for _, moved := range [][]ledger.Entry{float, earnings, other} {
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendEntries(ctx, moved) })
		if err != nil {
			return fmt.Errorf("append entries: %w", err)
		}
	}
	ref := func(of ledger.Entry, sequence int64) driver.EntryRef {
		return driver.EntryRef{WalletRef: driver.WalletRef{CompanyID: of.CompanyID, Wallet: of.Wallet}, Sequence: sequence}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.Entries(ctx, []driver.EntryRef{
			ref(float[0], 3), ref(earnings[0], 1), ref(other[0], 2), ref(float[0], 1), ref(other[0], 1), ref(float[0], 0),
			ref(earnings[0], 3), ref(float[0], 3),
		})
		return errors.Join(
			want("entries", []ledger.Entry{float[2], earnings[0], {}, float[0], other[0], {}, {}, float[2]}).from(found, err),
			want("one", float[1:2]).from(tx.Entries(ctx, []driver.EntryRef{ref(float[0], 2)})),
			want("none", []ledger.Entry{}).from(tx.Entries(ctx, nil)),
		)
	})
}

func entriesSearched(ctx context.Context, s driver.Store) error {
	kinds := []ledger.Kind{
		ledger.FloatCredit, ledger.CheckoutDebit, ledger.CheckoutRefund, ledger.SettlementRefund, ledger.CommissionAccrual,
	}
	ref := driver.WalletRef{CompanyID: companyA, Wallet: ledger.Float}
	head := ledger.Genesis(companyA, ledger.Float)
	var moved []ledger.Entry
	for i := range 13 {
		entry, next, err := head.Append(kinds[i*i%len(kinds)], 1, fmt.Sprint("~REF-", i), at(i))
		if err != nil {
			return err
		}
		moved, head = append(moved, entry), next
	}
	others := append(entries(companyB, ledger.Float, 3), entries(companyA, ledger.Earnings, 3)...)
	for _, part := range [][]ledger.Entry{moved, others} {
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendEntries(ctx, part) })
		if err != nil {
			return fmt.Errorf("append entries: %w", err)
		}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for _, wanted := range [][]ledger.Kind{
			nil, kinds[:1], kinds[1:2], kinds[:2],
			{ledger.CheckoutRefund, ledger.FloatCredit},
			kinds[2:4], kinds[3:4], kinds,
			{ledger.FloatCredit, ledger.FloatCredit},
			{ledger.SettlementDebit},
		} {
			for _, above := range []int64{0, 4} {
				var chosen []ledger.Entry
				for _, entry := range slices.Backward(moved) {
					if entry.Sequence > above && (wanted == nil || slices.Contains(wanted, entry.Kind)) {
						chosen = append(chosen, entry)
					}
				}
				err := pages(chosen, func(after *ledger.Entry, limit int) ([]ledger.Entry, error) {
					query := driver.EntryQuery{WalletRef: ref, Kinds: wanted, Before: math.MaxInt64, Above: above, Limit: limit}
					if after != nil {
						query.Before = after.Sequence
					}
					return tx.SearchEntries(ctx, query)
				})
				if err != nil {
					return fmt.Errorf("%v above %d: %w", wanted, above, err)
				}
			}
		}
		return nil
	})
}
