package ticketing

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// A signer returns the key that signs ledgers under one master secret. It is a function because package fmt would print
// the bytes of a key.
type signer func() ed25519.PrivateKey

// signersOf returns a signer for each of the secrets, in their order. It copies them, so that the host may clear its
// own. Package ledger derives the signing key from the secret, so a rotation of secrets changes it.
func signersOf(secrets [][]byte) []signer {
	signers := make([]signer, len(secrets))
	for i, secret := range secrets {
		copied := slices.Clone(secret)
		signers[i] = func() ed25519.PrivateKey { return ledger.SigningKey(copied) }
	}
	return signers
}

// LedgerKeys returns the public keys that belong to [Config.SecretKeys], in their order. [Operator.ExportLedger] signs
// with the first one. They are not secret. Distribute them separately from bundles: a key that came with a bundle
// proves nothing.
func (s *Service) LedgerKeys() []ed25519.PublicKey {
	keys := make([]ed25519.PublicKey, len(s.signers))
	for i, signs := range s.signers {
		keys[i] = signs().Public().(ed25519.PublicKey)
	}
	return keys
}

// ErrLedgerBroken is returned by [Operator.ExportLedger] if a chain is not complete: a bundle of it is never signed.
// [Operator.VerifyLedger] reports what is wrong.
var ErrLedgerBroken = errors.New("ticketing: the ledger is inconsistent")

// ExportLedger writes all movements of a company as a bundle and returns its signed heads. Package ledger verifies a
// bundle without a store and without a secret. The bundle holds the movements up to one moment. The same movements give
// the same bytes. ExportLedger uses the same memory for a ledger of any length.
//
// After an error, what was written is no bundle. [ErrLedgerBroken] means that the chains or the wallets are not in
// order.
//
// At most one progress function may be given. It is called now and then with the number of movements written so far and
// with their total. It needs COMPANY:wallet:read.
func (o Operator) ExportLedger(
	ctx context.Context, companyID uuid.UUID, w io.Writer, progress ...func(done, total int64),
) (ledger.SignedHeads, error) {
	_, wallets, err := o.walletRecords(ctx, companyID)
	if err != nil {
		return ledger.SignedHeads{}, err
	}
	// Entries up to these heads never change again, so the export needs no snapshot and no long transaction.
	total, done := wallets[0].Sequence+wallets[1].Sequence, int64(0)
	// The writer checks each entry against the one before, so what is signed was verified.
	bundle := ledger.NewBundleWriter(w, companyID)
	for i, wallet := range wallets {
		if err := bundle.Begin(wallet.Kind); err != nil {
			return ledger.SignedHeads{}, fmt.Errorf("ticketing: export the ledger: %w", err)
		}
		err := o.entries(ctx, wallet.Ref(), 0, wallet.Sequence, func(entries []ledger.Entry) error {
			for _, entry := range entries {
				if err := bundle.Add(entry); err != nil {
					return err
				}
			}
			done += int64(len(entries))
			for _, tell := range progress {
				tell(done, total)
			}
			return nil
		})
		if errors.Is(err, ledger.ErrChain) {
			return ledger.SignedHeads{}, fmt.Errorf("%w: %w", ErrLedgerBroken, err)
		}
		if err != nil {
			return ledger.SignedHeads{}, fmt.Errorf("ticketing: export the ledger: %w", err)
		}
		// The chain may be complete in itself and still not be what the wallet says.
		if head := bundle.Heads()[i]; head.Sequence != wallet.Sequence || head.Balance != wallet.Balance ||
			head.Hash != wallet.Hash {
			return ledger.SignedHeads{}, fmt.Errorf("%w: the wallet %s does not match its movements",
				ErrLedgerBroken, wallet.Kind)
		}
	}
	// Only a bundle that agrees with both wallets gets this far.
	signed, err := bundle.Sign(o.s.signers[0]())
	if err != nil {
		return ledger.SignedHeads{}, fmt.Errorf("ticketing: export the ledger: %w", err)
	}
	return signed, nil
}

// walletRecords returns a company and both its wallets at one moment, FLOAT first. Every company has both from its
// creation, so a missing one is [ErrLedgerBroken].
//
// Both are read in one query, so the heads are those between two transactions.
func (o Operator) walletRecords(ctx context.Context, companyID uuid.UUID) (driver.Company, []driver.Wallet, error) {
	var company driver.Company
	var wallets []driver.Wallet
	err := o.lookAt(ctx, driver.Store.View, PermissionWalletRead, companyID,
		func(ctx context.Context, tx driver.ReadTx, found driver.Company) error {
			var err error
			company = found
			wallets, err = tx.Wallets(ctx, driver.WalletRefs(companyID))
			return err
		})
	if err != nil {
		return driver.Company{}, nil, err
	}
	for _, wallet := range wallets {
		if wallet.CompanyID == uuid.Nil {
			return driver.Company{}, nil, fmt.Errorf("%w: a wallet is missing", ErrLedgerBroken)
		}
	}
	return company, wallets, nil
}

// entries calls yield with pages of a wallet's movements, those after the sequence after and up to last. Each page has
// a transaction of its own: a slow writer does not hold one open.
//
// A page names its last sequence, so that the database reads a range and not all that follows.
func (o Operator) entries(
	ctx context.Context, of driver.WalletRef, after, last int64, yield func([]ledger.Entry) error,
) error {
	query := driver.LedgerQuery{WalletRef: of, After: after, Limit: ledgerPage}
	for query.After < last {
		query.Last = min(query.After+ledgerPage, last)
		var entries []ledger.Entry
		err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			var err error
			entries, err = tx.ListEntries(ctx, query)
			return err
		})
		if err != nil {
			return err
		}
		if err := yield(entries); err != nil {
			return err
		}
		query.After = query.Last
	}
	return nil
}
