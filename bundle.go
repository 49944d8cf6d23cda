package ticketing

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
)

// A signer gives the key that signs ledgers under one master secret. Package fmt would find the bytes of a key, but not
// in a function.
type signer func() ed25519.PrivateKey

func signersOf(secrets [][]byte) []signer {
	signers := make([]signer, len(secrets))
	for i, secret := range secrets {
		copied := slices.Clone(secret)
		signers[i] = func() ed25519.PrivateKey { return ledger.SigningKey(copied) }
	}
	return signers
}

// LedgerKeys are the public keys that belong to [Config.SecretKeys], in their order: the first is the one that
// [Operator.ExportLedger] signs with. They are no secret, and prove something only to who has them from elsewhere than
// from a bundle.
func (s *Service) LedgerKeys() []ed25519.PublicKey {
	keys := make([]ed25519.PublicKey, len(s.signers))
	for i, signs := range s.signers {
		keys[i] = signs().Public().(ed25519.PublicKey)
	}
	return keys
}

// ErrLedgerBroken is the answer of [Operator.ExportLedger] where the chains are not whole: nothing is signed that is not
// so. [Operator.VerifyLedger] tells what is wrong.
var ErrLedgerBroken = errors.New("ticketing: the ledger is not in order")

// ExportLedger writes all movements of a company as a bundle that package ledger verifies without a store and without a
// secret, and answers with its signed heads. The bundle holds the movements up to one moment; the same movements give the
// same bytes. It takes the same memory for a ledger of any length.
//
// After an error what was written is no bundle. progress, of which there is at most one, is told now and then how many
// movements were written, of how many. It needs COMPANY:wallet:read.
func (o Operator) ExportLedger(
	ctx context.Context, companyID uuid.UUID, w io.Writer, progress ...func(done, total int64),
) (ledger.SignedHeads, error) {
	_, wallets, err := o.walletRecords(ctx, companyID)
	if err != nil {
		return ledger.SignedHeads{}, err
	}
	// What was appended up to these heads never changes again, so it needs no snapshot.
	total, done := wallets[0].Sequence+wallets[1].Sequence, int64(0)
	bundle := ledger.NewBundleWriter(w, companyID)
	for i, wallet := range wallets {
		if err := bundle.Begin(wallet.Wallet); err != nil {
			return ledger.SignedHeads{}, fmt.Errorf("ticketing: export the ledger: %w", err)
		}
		err := o.entries(ctx, wallet.ref(), 0, wallet.Sequence, func(entries []ledger.Entry) error {
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
		if head := bundle.Heads()[i]; head.Sequence != wallet.Sequence || head.Balance != wallet.Balance ||
			head.Hash != wallet.Hash {
			return ledger.SignedHeads{}, fmt.Errorf("%w: the wallet %s is not what its movements make it",
				ErrLedgerBroken, wallet.Wallet)
		}
	}
	signed, err := bundle.Sign(o.s.signers[0]())
	if err != nil {
		return ledger.SignedHeads{}, fmt.Errorf("ticketing: export the ledger: %w", err)
	}
	return signed, nil
}

// walletRecords are a company and both its wallets at one moment, FLOAT first.
func (o Operator) walletRecords(ctx context.Context, companyID uuid.UUID) (CompanyRecord, []WalletRecord, error) {
	var company CompanyRecord
	var wallets []WalletRecord
	err := o.view(ctx, PermissionWalletRead, companyID,
		func(ctx context.Context, tx ReadTx, found CompanyRecord) error {
			var err error
			company = found
			wallets, err = tx.Wallets(ctx, walletRefs(companyID))
			return err
		})
	if err != nil {
		return CompanyRecord{}, nil, err
	}
	for _, wallet := range wallets {
		if wallet.CompanyID == uuid.Nil {
			return CompanyRecord{}, nil, fmt.Errorf("%w: a wallet is missing", ErrLedgerBroken)
		}
	}
	return company, wallets, nil
}

// entries hands over the movements of a wallet behind a sequence, up to another, in portions.
func (o Operator) entries(
	ctx context.Context, of WalletRef, after, last int64, yield func([]ledger.Entry) error,
) error {
	query := LedgerQuery{WalletRef: of, After: after, Limit: ledgerPage}
	for query.After < last {
		query.Last = min(query.After+ledgerPage, last)
		var entries []ledger.Entry
		err := o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
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
