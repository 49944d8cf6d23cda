package books

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// counts checks that every funding moved FLOAT: as many references are kept as movements have one.
//
// Each such movement was compared with its funding, so equal counts prove that no funding is without its movement.
func (b *companyBooks) counts(ctx context.Context) error {
	kept, err := b.Tx.CountFloatCredits(ctx, b.record.ID)
	if err == nil && kept != b.tally.credits {
		b.problemf("FLOAT: %d references of fundings are spent, but it has %d fundings", kept, b.tally.credits)
	}
	return err
}

// blame reports the refunded orders without their movements and the rejected settlements without theirs. It reads them
// again one by one, and only if the totals of the first pass differ. Books in order never need it. It stops when there
// are more problems than a report lists.
//
// Both kinds of movements carry the sequence that the ending or the settlement names, so one entry is read for each.
func (b *companyBooks) blame(ctx context.Context) error {
	refs := driver.WalletRefs(b.record.ID)
	// A refund moves both wallets, so both counts must equal the number of refunded orders.
	if b.tally.refunds != b.tally.refunded || b.tally.reversed != b.tally.refunded {
		read := b.readEndings()
		for more := true; more; {
			endings, further, err := read(ctx)
			if err != nil {
				return err
			}
			for _, ending := range endings {
				if ending.Status != driver.OrderRefunded {
					continue
				}
				for i, sequence := range []int64{ending.FloatSequence, ending.EarningsSequence} {
					kind := [2]ledger.Kind{ledger.CheckoutRefund, ledger.CommissionReversal}[i]
					if err := b.expect(ctx, "order", ending.OrderID, refs[i], sequence, kind); err != nil {
						return err
					}
				}
			}
			// More problems than a report lists are not worth reading for.
			more = further && b.found < maxProblems
		}
	}
	// A rejected settlement moves EARNINGS only.
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
			if of.Status == driver.SettlementRejected {
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

// expect reports a problem if a wallet has no movement of the given kind, at the given sequence, for an order or a
// settlement.
func (b *companyBooks) expect(
	ctx context.Context, what string, id uuid.UUID, wallet driver.WalletRef, sequence int64, kind ledger.Kind,
) error {
	// After is exclusive, so the first entry after sequence-1 is the one to check.
	found, err := b.Tx.ListEntries(ctx, driver.LedgerQuery{WalletRef: wallet, After: sequence - 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(found) == 0 || found[0].Sequence != sequence || found[0].Kind != kind || found[0].Reference != id.String() {
		b.problemf("%s %s: %s has no %s %d of it", what, id, wallet.Wallet, kind, sequence)
	}
	return nil
}

// wallets checks that both wallets exist and that their balance and head hash are those at the end of their chains.
//
// A wallet that disagrees with its chain is reported and not repaired.
func (b *companyBooks) wallets(ctx context.Context) error {
	refs := driver.WalletRefs(b.record.ID)
	wallets, err := b.Tx.Wallets(ctx, refs)
	if err != nil {
		return err
	}
	for i, wallet := range wallets {
		if wallet.CompanyID == uuid.Nil {
			b.problemf("wallet %s: it is missing", refs[i].Wallet)
			continue
		}
		b.report.Wallets++
		if wallet.Currency != money.Currency {
			b.problemf("wallet %s: its currency is %q", wallet.Kind, wallet.Currency)
		}
		// The head commits to every entry before it, so an entry that was removed at the end shows here.
		for _, problem := range b.chains.Match(wallet.Head()) {
			b.problem(problem.String())
		}
	}
	return nil
}

// stock checks the totals of the inventory. Every admission that was created is in a batch. As many admissions count as
// sold as have a row, less those that a refund put back on sale.
//
// More sold than there are rows, or more rows than sold, would mean that stock was lost or oversold.
func (b *companyBooks) stock(ctx context.Context) error {
	totals, err := b.Tx.StockTotals(ctx, b.record.ID)
	for _, total := range totals {
		// The counter of the tier and its batches are written by the same transaction.
		if total.Total != total.Quantity {
			b.problemf("event %s tier %q: %d admissions were created, its batches hold %d",
				total.EventID, total.Tier, total.Total, total.Quantity)
		}
		// Batches count what they sold, and every sold admission has a row.
		if total.Sold != total.Admissions-total.Restocked {
			b.problemf("event %s tier %q: %d admissions count as sold, there are %d",
				total.EventID, total.Tier, total.Sold, total.Admissions-total.Restocked)
		}
	}
	return err
}
