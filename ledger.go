package ticketing

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

const (
	// ledgerPage is how many movements are read at a time.
	ledgerPage = 1000
	// maxProblems is how many problems a report tells one by one.
	maxProblems = 100
)

// LedgerEntry is one movement as an operator reads it.
type LedgerEntry struct {
	Sequence      int64         `json:"seq"`
	Wallet        ledger.Wallet `json:"wallet"`
	Kind          ledger.Kind   `json:"kind"`
	Amount        money.Amount  `json:"amount"` // signed: a debit is negative
	BalanceBefore money.Amount  `json:"balanceBefore"`
	BalanceAfter  money.Amount  `json:"balanceAfter"`
	Reference     string        `json:"reference"` // the order's id, or the provider's reference
	CreatedAt     Time          `json:"createdAt"`
}

func newLedgerEntry(e ledger.Entry) LedgerEntry {
	return LedgerEntry{
		Sequence: e.Sequence, Wallet: e.Wallet, Kind: e.Kind, Amount: e.Amount,
		BalanceBefore: e.Before, BalanceAfter: e.After, Reference: e.Reference, CreatedAt: Time{e.At},
	}
}

// Ledger hands yield the movements of one wallet, or (an empty wallet) all of FLOAT and then all of EARNINGS, oldest
// first. It reads them in portions, so a ledger of any length takes the same memory; an error of yield ends it and is
// returned. It needs COMPANY:wallet:read.
func (o Operator) Ledger(
	ctx context.Context, companyID uuid.UUID, wallet ledger.Wallet, yield func(LedgerEntry) error,
) error {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return err
	}
	wallets := []ledger.Wallet{ledger.Float, ledger.Earnings}
	if wallet != "" {
		var v violations
		checkWallet(&v, wallet)
		if err := v.err(); err != nil {
			return err
		}
		wallets = []ledger.Wallet{wallet}
	}
	for _, wallet := range wallets {
		query := LedgerQuery{WalletRef: WalletRef{CompanyID: companyID, Wallet: wallet}, Limit: ledgerPage}
		for more := true; more; {
			var entries []ledger.Entry
			err := o.view(ctx, PermissionWalletRead, companyID,
				func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
					var err error
					entries, err = tx.ListEntries(ctx, query)
					return err
				})
			if err != nil {
				return err
			}
			for _, entry := range entries {
				if err := yield(newLedgerEntry(entry)); err != nil {
					return err
				}
				query.After = entry.Sequence
			}
			more = len(entries) == ledgerPage
		}
	}
	return nil
}

// LedgerReport is what a verification found.
type LedgerReport struct {
	OK      bool  `json:"ok"`
	Wallets int   `json:"wallets"`
	Entries int64 `json:"entries"`
	// Problems are at most a hundred, and then how many more there are.
	Problems []string `json:"problems"`
}

// VerifyLedger proves one company's books, or (the zero id) everybody's, as they stood at one moment:
//
//   - every chain is whole, from its genesis to the head that the wallet keeps (package ledger);
//   - every refund, reversal and settlement has its order or settlement;
//   - every funding has its reference and every reference its funding; every order has exactly one debit of its gross
//     and one accrual of its commission, in the same order, with the balances and times that the order tells, and there
//     are no others;
//   - every tier has as many admissions as were created in its batches, and as many sold as there are sold admissions.
//
// It takes the same memory for books of any length. It needs COMPANY:wallet:read.
func (o Operator) VerifyLedger(ctx context.Context, companyID uuid.UUID) (LedgerReport, error) {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return LedgerReport{}, err
	}
	var books *bookCheck
	err := o.s.store.Snapshot(ctx, func(ctx context.Context, tx ReadTx) error {
		books = &bookCheck{tx: tx, report: LedgerReport{Problems: []string{}}}
		if companyID != uuid.Nil {
			if _, err := findCompany(ctx, tx, companyID); err != nil {
				return err
			}
			return books.company(ctx, companyID)
		}
		for after := (Position{}); ; {
			companies, err := tx.ListCompanies(ctx, after, MaxPageLimit)
			if err != nil {
				return err
			}
			for _, company := range companies {
				if err := books.company(ctx, company.ID); err != nil {
					return err
				}
				after = Position{At: company.CreatedAt, ID: company.ID}
			}
			if len(companies) < MaxPageLimit {
				return nil
			}
		}
	})
	if err != nil {
		return LedgerReport{}, err
	}
	return books.done(), nil
}

// bookCheck goes through the books of one company after another and gathers what is wrong.
type bookCheck struct {
	tx     ReadTx
	report LedgerReport
	found  int

	companyID uuid.UUID
	chains    *ledger.Verifier
	earnings  entryStream
	credits   int64 // fundings with a movement
}

func (b *bookCheck) done() LedgerReport {
	b.report.OK = b.found == 0
	if more := b.found - len(b.report.Problems); more > 0 {
		b.report.Problems = append(b.report.Problems, fmt.Sprintf("and %d more", more))
	}
	return b.report
}

func (b *bookCheck) problem(text string) {
	b.found++
	if len(b.report.Problems) < maxProblems {
		b.report.Problems = append(b.report.Problems, text)
	}
}

func (b *bookCheck) problemf(format string, args ...any) {
	b.problem(fmt.Sprintf("company %s ", b.companyID) + fmt.Sprintf(format, args...))
}

func (b *bookCheck) company(ctx context.Context, companyID uuid.UUID) error {
	b.companyID, b.chains, b.credits = companyID, ledger.NewVerifier(), 0
	refs := walletRefs(companyID)
	b.earnings = entryStream{query: LedgerQuery{WalletRef: refs[1], Limit: ledgerPage}}
	for _, check := range []func(context.Context) error{b.floats, b.leftEarnings, b.wallets, b.stock} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	b.report.Entries += b.chains.Entries()
	return nil
}

// chain proves an entry's place in its chain.
func (b *bookCheck) chain(entry ledger.Entry) {
	for _, problem := range b.chains.Add(entry) {
		b.problem(problem.String())
	}
}

// floats goes through FLOAT and the orders beside it: an order's number is the sequence of its debit.
func (b *bookCheck) floats(ctx context.Context) error {
	query := LedgerQuery{WalletRef: walletRefs(b.companyID)[0], Limit: ledgerPage}
	for more := true; more; {
		entries, err := b.tx.ListEntries(ctx, query)
		if err != nil {
			return err
		}
		more = len(entries) == ledgerPage
		last := query.After
		if len(entries) > 0 {
			last = entries[len(entries)-1].Sequence
		}
		orders, err := b.orders(ctx, query.After, last, !more)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			b.chain(entry)
			if err := b.float(ctx, entry, orders); err != nil {
				return err
			}
			delete(orders, entry.Sequence)
		}
		for _, number := range slices.Sorted(maps.Keys(orders)) {
			b.problemf("order %s: FLOAT has no debit %d", orders[number].ID, number)
		}
		query.After = last
	}
	kept, err := b.tx.CountFloatCredits(ctx, b.companyID)
	if kept != b.credits {
		b.problemf("FLOAT: %d references are spent on fundings, %d of them moved it", kept, b.credits)
	}
	return err
}

// orders are those with numbers behind first, up to last or to the end.
func (b *bookCheck) orders(ctx context.Context, first, last int64, toEnd bool) (map[int64]OrderRecord, error) {
	query := OrderQuery{CompanyID: b.companyID, Before: last + 1, Limit: ledgerPage}
	if toEnd {
		query.Before = 0
	}
	records, err := b.tx.ListOrders(ctx, query)
	orders := make(map[int64]OrderRecord, len(records))
	for _, order := range records {
		if order.Number > first {
			orders[order.Number] = order
		}
	}
	return orders, err
}

// float proves that an entry of FLOAT has its cause.
func (b *bookCheck) float(ctx context.Context, entry ledger.Entry, orders map[int64]OrderRecord) error {
	switch entry.Kind {
	case ledger.FloatCredit:
		credit, err := b.tx.FloatCredit(ctx, b.companyID, entry.Reference)
		if err != nil {
			return err
		}
		if entry.Amount <= 0 || credit.Sequence != entry.Sequence || credit.Amount != entry.Amount {
			b.problemf("FLOAT %d: no funding of this amount has its reference", entry.Sequence)
		} else {
			b.credits++
		}
	case ledger.CheckoutDebit:
		order, ok := orders[entry.Sequence]
		if !ok {
			b.problemf("FLOAT %d: there is no order of this number", entry.Sequence)
			return nil
		}
		return b.sale(ctx, order, entry)
	case ledger.CheckoutRefund:
		return b.refund(ctx, entry)
	default:
		b.problemf("FLOAT %d: its kind has no place in FLOAT", entry.Sequence)
	}
	return nil
}

// sale proves that an order agrees with its debit and with its accrual, which is the next one in EARNINGS.
func (b *bookCheck) sale(ctx context.Context, order OrderRecord, debit ledger.Entry) error {
	if debit.Reference != order.ID.String() || debit.Amount != -order.Gross || debit.Before != order.FloatBefore {
		b.problemf("order %s: debit %d in FLOAT differs in order, amount or balance", order.ID, debit.Sequence)
	}
	if !debit.At.Equal(order.ConfirmedAt) || !debit.At.Equal(order.CreatedAt) {
		b.problemf("order %s: debit %d in FLOAT was made at another time", order.ID, debit.Sequence)
	}
	if err := b.betweenAccruals(ctx); err != nil {
		return err
	}
	// What lies before an order's accrual is surplus; where it is not near, it is missing. So one entry too many or
	// too few does not put the blame on the orders behind it.
	place := slices.IndexFunc(b.earnings.page, func(entry ledger.Entry) bool {
		return entry.Kind == ledger.CommissionAccrual && entry.Reference == order.ID.String()
	})
	if place < 0 {
		b.problemf("order %s: EARNINGS has no accrual in its place", order.ID)
		return nil
	}
	for range place {
		if err := b.noAccrual(ctx, b.earnings.take()); err != nil {
			return err
		}
	}
	accrual := b.earnings.take()
	b.chain(accrual)
	if accrual.Amount != order.Commission || accrual.Before != order.EarningsBefore {
		b.problemf("order %s: accrual %d in EARNINGS differs in amount or balance", order.ID, accrual.Sequence)
	}
	if !accrual.At.Equal(order.ConfirmedAt) {
		b.problemf("order %s: accrual %d in EARNINGS was made at another time", order.ID, accrual.Sequence)
	}
	return nil
}

// betweenAccruals goes through what lies in EARNINGS before the next accrual.
func (b *bookCheck) betweenAccruals(ctx context.Context) error {
	for {
		err := b.earnings.read(ctx, b.tx)
		if err != nil || len(b.earnings.page) == 0 || b.earnings.page[0].Kind == ledger.CommissionAccrual {
			return err
		}
		if err := b.noAccrual(ctx, b.earnings.take()); err != nil {
			return err
		}
	}
}

// noAccrual proves that an entry of EARNINGS has its cause, which is none of the orders that accrue in this place.
func (b *bookCheck) noAccrual(ctx context.Context, entry ledger.Entry) error {
	b.chain(entry)
	switch entry.Kind {
	case ledger.CommissionReversal:
		return b.refund(ctx, entry)
	case ledger.SettlementDebit, ledger.SettlementRefund:
		return b.settlement(ctx, entry)
	default:
		b.problemf("EARNINGS %d: no order accrues it in this place", entry.Sequence)
		return nil
	}
}

// refund proves that an entry is that of an order which was refunded, with its amount.
func (b *bookCheck) refund(ctx context.Context, entry ledger.Entry) error {
	id, _ := ParseID(entry.Reference)
	order, err := only(b.tx.Orders(ctx, []OrderRef{{CompanyID: b.companyID, ID: id}}))
	if err != nil {
		return err
	}
	ending, err := only(b.tx.OrderEndings(ctx, []OrderNumber{order.number()}))
	if err != nil {
		return err
	}
	amount, sequence := order.Gross, ending.FloatSequence
	if entry.Wallet == ledger.Earnings {
		amount, sequence = -order.Commission, ending.EarningsSequence
	}
	if order.Status != OrderRefunded || entry.Amount != amount || entry.Sequence != sequence {
		b.problemf("%s %d: no order was refunded by it", entry.Wallet, entry.Sequence)
	}
	return nil
}

// settlement proves that an entry is that of a settlement, with its amount.
func (b *bookCheck) settlement(ctx context.Context, entry ledger.Entry) error {
	id, _ := ParseID(entry.Reference)
	settlement, err := only(b.tx.Settlements(ctx, []SettlementRef{{CompanyID: b.companyID, ID: id}}))
	if err != nil {
		return err
	}
	amount, sequence := -settlement.Amount, settlement.Number
	if entry.Kind == ledger.SettlementRefund {
		amount, sequence = settlement.Amount, settlement.RefundSequence
	}
	if settlement.ID == uuid.Nil || entry.Amount != amount || entry.Sequence != sequence {
		b.problemf("EARNINGS %d: no settlement was debited or refunded by it", entry.Sequence)
	}
	return nil
}

// leftEarnings tells of what lies in EARNINGS behind the last order's accrual.
func (b *bookCheck) leftEarnings(ctx context.Context) error {
	for {
		if err := b.earnings.read(ctx, b.tx); err != nil || len(b.earnings.page) == 0 {
			return err
		}
		if err := b.noAccrual(ctx, b.earnings.take()); err != nil {
			return err
		}
	}
}

// wallets proves that both are there and agree with the ends of their chains.
func (b *bookCheck) wallets(ctx context.Context) error {
	refs := walletRefs(b.companyID)
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
		for _, problem := range b.chains.Match(wallet.head()) {
			b.problem(problem.String())
		}
	}
	return nil
}

// stock proves that what was created and what was sold add up.
func (b *bookCheck) stock(ctx context.Context) error {
	totals, err := b.tx.StockTotals(ctx, b.companyID)
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

// entryStream goes through a wallet's movements, oldest first.
type entryStream struct {
	query LedgerQuery
	page  []ledger.Entry // what was read and not taken
	ended bool
}

// read sees to it that the page holds what comes next, several hundred entries where there are as many.
func (s *entryStream) read(ctx context.Context, tx WalletReader) error {
	if s.ended || len(s.page) > s.query.Limit/2 {
		return nil
	}
	entries, err := tx.ListEntries(ctx, s.query)
	if err != nil {
		return err
	}
	s.ended = len(entries) < s.query.Limit
	if len(entries) > 0 {
		s.query.After = entries[len(entries)-1].Sequence
	}
	s.page = append(s.page, entries...)
	return nil
}

func (s *entryStream) take() ledger.Entry {
	entry := s.page[0]
	s.page = s.page[1:]
	return entry
}
