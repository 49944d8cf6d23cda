package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// counts proves that every funding moved FLOAT.
func (b *companyBooks) counts(ctx context.Context) error {
	kept, err := b.tx.CountFloatCredits(ctx, b.record.ID)
	if err == nil && kept != b.tally.credits {
		b.problemf("FLOAT: %d references are spent on fundings, %d of them moved it", kept, b.tally.credits)
	}
	return err
}

// blame looks for the refunded orders without their movements, and the rejected settlements without theirs, where the
// counts tell that there are any: one by one, since there are none in books that are in order.
func (b *companyBooks) blame(ctx context.Context) error {
	refs := walletRefs(b.record.ID)
	if b.tally.refunds != b.tally.refunded || b.tally.reversed != b.tally.refunded {
		read := b.readEndings()
		for more := true; more; {
			endings, further, err := read(ctx)
			if err != nil {
				return err
			}
			for _, ending := range endings {
				if ending.Status != OrderRefunded {
					continue
				}
				for i, sequence := range []int64{ending.FloatSequence, ending.EarningsSequence} {
					kind := [2]ledger.Kind{ledger.CheckoutRefund, ledger.CommissionReversal}[i]
					if err := b.expect(ctx, "order", ending.OrderID, refs[i], sequence, kind); err != nil {
						return err
					}
				}
			}
			more = further && b.found < maxProblems
		}
	}
	if b.tally.returned == b.tally.rejected {
		return nil
	}
	read := b.readSettlements()
	for more := true; more; {
		settlements, further, err := read(ctx)
		if err != nil {
			return err
		}
		for _, of := range settlements {
			if of.Status == SettlementRejected {
				err := b.expect(ctx, "settlement", of.ID, refs[1], of.RefundSequence, ledger.SettlementRefund)
				if err != nil {
					return err
				}
			}
		}
		more = further && b.found < maxProblems
	}
	return nil
}

// expect tells where a wallet has no movement of a kind for an order or settlement at a sequence.
func (b *companyBooks) expect(
	ctx context.Context, what string, id uuid.UUID, wallet WalletRef, sequence int64, kind ledger.Kind,
) error {
	found, err := only(b.tx.ListEntries(ctx, LedgerQuery{WalletRef: wallet, After: sequence - 1, Limit: 1}))
	if err == nil && (found.Sequence != sequence || found.Kind != kind || found.Reference != id.String()) {
		b.problemf("%s %s: %s has no %s %d of it", what, id, wallet.Wallet, kind, sequence)
	}
	return err
}

// wallets proves that both are there and agree with the ends of their chains.
func (b *companyBooks) wallets(ctx context.Context) error {
	refs := walletRefs(b.record.ID)
	wallets, err := b.tx.Wallets(ctx, refs)
	if err != nil {
		return err
	}
	for i, wallet := range wallets {
		if wallet.CompanyID == uuid.Nil {
			b.problemf("wallet %s: there is none", refs[i].Wallet)
			continue
		}
		b.report.Wallets++
		if wallet.Currency != money.Currency {
			b.problemf("wallet %s: its currency is %q", wallet.Wallet, wallet.Currency)
		}
		for _, problem := range b.chains.Match(wallet.head()) {
			b.problem(problem.String())
		}
	}
	return nil
}

// stock proves that what was created and what was sold add up.
func (b *companyBooks) stock(ctx context.Context) error {
	totals, err := b.tx.StockTotals(ctx, b.record.ID)
	for _, total := range totals {
		if total.Total != total.Quantity {
			b.problemf("event %s tier %q: %d admissions were created, its batches hold %d",
				total.EventID, total.Tier, total.Total, total.Quantity)
		}
		if total.Sold != total.Admissions-total.Restocked {
			b.problemf("event %s tier %q: %d admissions count as sold, there are %d",
				total.EventID, total.Tier, total.Sold, total.Admissions-total.Restocked)
		}
	}
	return err
}
