package ticketing

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// MovementSubject is what the reference of a movement names.
type MovementSubject string

// The subjects of movements. The reference of a funding is the provider's; the others are ids.
const (
	MovementOfOrder      MovementSubject = "ORDER"
	MovementOfSettlement MovementSubject = "SETTLEMENT"
	MovementOfFunding    MovementSubject = "FUNDING"
)

// movementKinds returns the kinds of movements in each wallet, with what their references name.
func movementKinds() map[ledger.Wallet]map[ledger.Kind]MovementSubject {
	return map[ledger.Wallet]map[ledger.Kind]MovementSubject{
		ledger.Float: {
			ledger.FloatCredit: MovementOfFunding, ledger.CheckoutDebit: MovementOfOrder,
			ledger.CheckoutRefund: MovementOfOrder,
		},
		ledger.Earnings: {
			ledger.CommissionAccrual: MovementOfOrder, ledger.CommissionReversal: MovementOfOrder,
			ledger.SettlementDebit: MovementOfSettlement, ledger.SettlementRefund: MovementOfSettlement,
		},
	}
}

// Movement is a ledger entry in a list, and what its reference names.
type Movement struct {
	LedgerEntry

	Subject MovementSubject `json:"subject"`
}

// MovementFilter selects movements of one wallet. A movement is selected if it matches every field.
type MovementFilter struct {
	PageParams

	Wallet ledger.Wallet // FLOAT or EARNINGS; required
	Kinds  []ledger.Kind // kinds of the wallet's movements, each once; empty: any
	// From and To are a period: movements at or after From and before To. A zero time is no bound.
	From, To time.Time
	// Reference is the whole reference: the id of an order or a settlement, or the provider's reference of a funding.
	// Empty: any. An unknown one selects nothing.
	Reference string
}

// maxReference is the longest reference of a movement, in characters.
const maxReference = 128

// check checks a filter. It returns it with its times in milliseconds, its kinds sorted and its reference trimmed.
func (f MovementFilter) check(v *violations) MovementFilter {
	checkWallet(v, f.Wallet)
	kinds := movementKinds()[f.Wallet]
	for i, kind := range f.Kinds {
		if _, known := kinds[kind]; !known && len(kinds) > 0 {
			v.add("kinds", "must be kinds of movements of "+string(f.Wallet))
		}
		if slices.Contains(f.Kinds[:i], kind) {
			v.add("kinds", "must name a kind once")
		}
	}
	f.Kinds = slices.Sorted(slices.Values(f.Kinds))
	checkNamedPeriod(v, "from", &f.From, "to", &f.To)
	f.Reference = trimmedText(v, "reference", f.Reference, maxReference, false)
	return f
}

// scope returns what a cursor of the list is bound to.
func (f MovementFilter) scope(companyID uuid.UUID) []string {
	var kinds strings.Builder
	for _, kind := range f.Kinds {
		kinds.WriteString(string(kind) + ",")
	}
	return []string{
		"movements", companyID.String(), string(f.Wallet), kinds.String(), periodScope(f.From, f.To), f.Reference,
	}
}

// ListMovements returns a page of the movements of one of a company's wallets, newest first. A filter of a wallet that
// is neither FLOAT nor EARNINGS, a kind that the wallet has not or that is named twice, and a To that is not later than
// From are INVALID_REQUEST. A cursor of another listing or filter is INVALID_CURSOR. It needs COMPANY:wallet:read.
//
// The list is placed by sequence. Entries never change, so a movement that is made during the paging appears on no
// later page. A page takes a few reads of any ledger, whatever the filter.
func (o Operator) ListMovements(
	ctx context.Context, companyID uuid.UUID, filter MovementFilter,
) (Page[Movement], error) {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return Page[Movement]{}, err
	}
	var v violations
	filter = filter.check(&v)
	list, err := openListing(byNumber(func(e ledger.Entry) int64 { return e.Sequence }), filter.PageParams, v,
		filter.scope(companyID)...)
	if err != nil {
		return Page[Movement]{}, err
	}
	var entries []ledger.Entry
	err = o.view(ctx, PermissionWalletRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			ref := driver.WalletRef{CompanyID: companyID, Wallet: filter.Wallet}
			if filter.Reference != "" {
				announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
					_, _ = referredSequences(ctx, tx, driver.Wallet{CompanyID: companyID, Kind: filter.Wallet}, filter.Reference)
				})
			}
			wallet, err := firstRecord(tx.Wallets(ctx, []driver.WalletRef{ref}))
			if err != nil {
				return err
			}
			above, last, err := entriesOf(ctx, tx, o.s.knownPlaces, wallet, filter.From, filter.To)
			if err != nil {
				return err
			}
			query := driver.EntryQuery{
				WalletRef: ref, Kinds: filter.Kinds, Above: above, Before: last + 1, Limit: list.limit,
			}
			if list.after != 0 {
				query.Before = min(query.Before, list.after)
			}
			if filter.Reference != "" {
				entries, err = referredEntries(ctx, tx, query, wallet, filter.Reference)
			} else {
				entries, err = searchEntries(ctx, tx, query)
			}
			return err
		})
	if err != nil {
		return Page[Movement]{}, err
	}
	var page Page[Movement]
	entries, page.HasMore, page.NextCursor = list.cut(entries)
	page.Items = make([]Movement, len(entries))
	for i, entry := range entries {
		page.Items[i] = Movement{newLedgerEntry(entry), movementKinds()[entry.Wallet][entry.Kind]}
	}
	return page, nil
}

// searchEntries returns the entries of a query. Kinds that no sale makes have an index. The others are searched window
// by window from the newest, which keeps each statement short, even where entries of other kinds are many.
func searchEntries(
	ctx context.Context, tx driver.WalletReader, query driver.EntryQuery,
) ([]ledger.Entry, error) {
	if !query.WithSales() {
		return tx.SearchEntries(ctx, query)
	}
	var found []ledger.Entry
	for oldest := query.Above; query.Before > oldest+1 && query.Limit > 0; {
		query.Above = max(query.Before-1-searchWindow, oldest)
		part, err := tx.SearchEntries(ctx, query)
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
		query.Before, query.Limit = query.Above+1, query.Limit-len(part)
	}
	return found, nil
}

// referredEntries returns the entries of a query that have a reference. No index has the references of entries: the
// records that they name keep the sequences.
func referredEntries(
	ctx context.Context, tx driver.ReadTx, query driver.EntryQuery, wallet driver.Wallet, reference string,
) ([]ledger.Entry, error) {
	sequences, err := referredSequences(ctx, tx, wallet, reference)
	if err != nil {
		return nil, err
	}
	// A record has zero for an entry that it does not have.
	sequences = slices.DeleteFunc(sequences, func(n int64) bool { return n <= query.Above || n >= query.Before })
	slices.Sort(sequences)
	refs := make([]driver.EntryRef, 0, len(sequences))
	for _, sequence := range slices.Backward(slices.Compact(sequences)) {
		refs = append(refs, driver.EntryRef{WalletRef: query.WalletRef, Sequence: sequence})
	}
	entries, err := tx.Entries(ctx, refs)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e ledger.Entry) bool {
		return e.Reference != reference || len(query.Kinds) > 0 && !slices.Contains(query.Kinds, e.Kind)
	})
	return entries[:min(len(entries), query.Limit)], nil
}

// referredSequences returns the sequences of the entries of a wallet that a reference may have.
func referredSequences(
	ctx context.Context, tx driver.ReadTx, wallet driver.Wallet, reference string,
) ([]int64, error) {
	var sequences []int64
	if wallet.Kind == ledger.Float {
		credit, err := firstRecord(tx.FloatCredits(ctx, wallet.CompanyID, []string{reference}))
		if err != nil {
			return nil, err
		}
		sequences = append(sequences, credit.Sequence)
	}
	id, notAnID := uuid.Parse(reference)
	// A reference has one spelling, where an id has several.
	if notAnID != nil || id.String() != reference {
		return sequences, nil //nolint:nilerr // It is another reference.
	}
	if wallet.Kind == ledger.Earnings {
		settlement, err := firstRecord(tx.Settlements(ctx, []driver.SettlementRef{{CompanyID: wallet.CompanyID, ID: id}}))
		if err != nil {
			return nil, err
		}
		sequences = append(sequences, settlement.Number, settlement.RefundSequence)
	}
	order, err := firstRecord(tx.Orders(ctx, []driver.OrderRef{{CompanyID: wallet.CompanyID, ID: id}}))
	if err != nil || order.ID == uuid.Nil {
		return sequences, err
	}
	if wallet.Kind == ledger.Earnings {
		announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
			_, _ = nearAccrual(ctx, tx, wallet, order)
		})
	}
	ending, err := firstRecord(tx.OrderEndings(ctx, []driver.OrderNumber{order.NumberRef()}))
	if err != nil {
		return nil, err
	}
	if wallet.Kind == ledger.Float {
		return append(sequences, order.Number, ending.FloatSequence), nil
	}
	accrual, err := accrualSequence(ctx, tx, wallet, order)
	return append(sequences, accrual, ending.EarningsSequence), err
}

// Most sales append an entry to each wallet. So the EARNINGS entry of a sale is often among accrualsBefore entries
// before the number of the order, which is the sequence of its FLOAT entry, and accrualsAfter after it.
const accrualsBefore, accrualsAfter = 48, 16

// accrualSequence returns the sequence of the EARNINGS entry of a sale; zero: there is none. The order does not keep
// it. It is looked for near the number of the order. If it is not there, only the entries of the time of the order are
// looked through, which the entry has, too.
func accrualSequence(
	ctx context.Context, tx driver.WalletReader, earnings driver.Wallet, order driver.Order,
) (int64, error) {
	if found, err := nearAccrual(ctx, tx, earnings, order); err != nil || found != 0 {
		return found, err
	}
	above, last, err := entriesOf(ctx, tx, nil, earnings, order.ConfirmedAt, order.ConfirmedAt.Add(time.Millisecond))
	if err != nil {
		return 0, err
	}
	return findAccrual(ctx, tx, earnings.Ref(), order, above, last)
}

// nearAccrual looks for the EARNINGS entry of a sale near the number of the order; zero: it is not there.
func nearAccrual(
	ctx context.Context, tx driver.WalletReader, earnings driver.Wallet, order driver.Order,
) (int64, error) {
	above, last := max(order.Number-accrualsBefore-1, 0), min(order.Number+accrualsAfter, earnings.Sequence)
	return findAccrual(ctx, tx, earnings.Ref(), order, above, last)
}

// findAccrual looks for the EARNINGS entry of a sale among those above a sequence, up to the last one; zero: it is not
// among them.
func findAccrual(
	ctx context.Context, tx driver.WalletReader, earnings driver.WalletRef, order driver.Order, above, last int64,
) (int64, error) {
	reference := order.ID.String()
	for above < last {
		query := driver.LedgerQuery{WalletRef: earnings, After: above, Limit: ledgerPage}
		query.Last = min(above+ledgerPage, last)
		entries, err := tx.ListEntries(ctx, query)
		if err != nil {
			return 0, err
		}
		for _, entry := range entries {
			if entry.Kind == ledger.CommissionAccrual && entry.Reference == reference {
				return entry.Sequence, nil
			}
		}
		above = query.Last
	}
	return 0, nil
}
