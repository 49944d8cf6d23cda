package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// rateHorizon is how long after the clock's time the rates are read for. The time of a sale is later than the clock's
// where another process got the wallets first and sold. To read the rate of that time while all sales of the company
// wait would take a message more.
const rateHorizon = 10 * time.Second

// readTerms reads event status, branding and rate in one statement, and refuses the checkouts of events that are not on
// sale. The shared gate keeps all three as they are until the commit. The rate is the last that is effective by the
// horizon: settleTimes uses it or reads another. A missing rate is refused later, since inventory comes before it in
// the order of refusals.
func (st *sale) readTerms(ctx context.Context, tx driver.Tx, at time.Time, calls []*checkoutCall) error {
	refs := make([]driver.SaleTermsRef, len(calls))
	for i, c := range calls {
		// The branding is the company's current version, which the gate guards like the rest.
		refs[i] = termsRef(c, c.company.BrandingVersion)
	}
	// One statement returns all terms of the group: a statement more is a message more in every sale.
	found, err := tx.SaleTerms(ctx, distinct(refs), at.Add(rateHorizon))
	if err != nil {
		return err
	}
	// A company may sell several events in one group. Its rate and branding are the same for all of them.
	statuses := make(map[driver.EventRef]EventStatus, len(found))
	st.rates = make(map[uuid.UUID]driver.Rate)
	st.brandings = make(map[uuid.UUID]driver.Branding)
	for _, terms := range found {
		statuses[terms.EventRef] = terms.Status
		st.rates[terms.CompanyID], st.brandings[terms.CompanyID] = terms.Rate, terms.Branding
	}
	// An unknown event has no status. It is NOT_FOUND, as is an event of another company.
	for i, c := range calls {
		switch statuses[refs[i].EventRef] {
		case EventPublished:
		case "":
			c.err = errEventNotFound
		default:
			c.err = errEventNotOnSale
		}
	}
	return nil
}

// termsRef names the terms of a checkout, with a version of the company's branding.
func termsRef(c *checkoutCall, brandingVersion int64) driver.SaleTermsRef {
	return driver.SaleTermsRef{
		EventRef:        driver.EventRef{CompanyID: c.ref.CompanyID, ID: c.params.EventID},
		BrandingVersion: brandingVersion,
	}
}

// announceTerms announces the read of readTerms. The versions of the brandings are not known yet, so it assumes those
// of the companies' last sales in this process.
func (s *Service) announceTerms(ctx context.Context, tx driver.Tx, at time.Time, calls []*checkoutCall) {
	refs := make([]driver.SaleTermsRef, len(calls))
	for i, c := range calls {
		version, known := s.brandingVersions.Get(c.ref.CompanyID)
		if !known {
			return
		}
		refs[i] = termsRef(c, version)
	}
	_, _ = tx.SaleTerms(ctx, distinct(refs), at.Add(rateHorizon))
}

// rememberBrandings remembers the versions that announceTerms assumes.
func (s *Service) rememberBrandings(calls []*checkoutCall) {
	for _, c := range calls {
		s.brandingVersions.note(c.company.ID, c.company.BrandingVersion)
	}
}

// lock locks the stock and then the wallets of the group.
//
// It locks the oldest open batches that cover what the group wants from each stock key, and no more: a tier may have
// thousands of batches. Two processes that sell from one stock key wait for each other here, which prevents
// overselling.
//
// Both wallets of every company are locked last. From here to the commit every other sale of these companies waits, so
// nothing that waits for another lock may follow. A wallet comes with its last entry, read under the same lock.
// isUsable compares the two.
func (st *sale) lock(ctx context.Context, tx driver.Tx, calls []*checkoutCall) error {
	queries, refs := stockQueries(calls), walletRefs(calls)
	// The store locks by key whatever the order of refs, so groups of several companies never deadlock here. If a stock
	// key has too few admissions, all of its batches are returned. The checkouts that still fit are sold.
	batches, wallets, err := lockSale(ctx, tx, queries, refs)
	if err != nil {
		return err
	}
	st.stock = make(map[stockKey][]*driver.Batch, len(queries))
	for i := range batches {
		b := &batches[i]
		from := stockKey{driver.EventRef{CompanyID: b.CompanyID, ID: b.EventID}, b.Tier, b.UnitPrice}
		// The store returns batches by position, so each list is oldest first.
		st.stock[from] = append(st.stock[from], b)
	}
	st.wallets = make(map[driver.WalletRef]*driver.LockedWallet, len(refs))
	for i, ref := range refs {
		st.wallets[ref] = &wallets[i]
	}
	return nil
}

// lockSale locks stock and then wallets, in one message where the store can.
func lockSale(
	ctx context.Context, tx driver.Tx, queries []driver.StockQuery, refs []driver.WalletRef,
) ([]driver.Batch, []driver.LockedWallet, error) {
	if locker, ok := tx.(driver.SaleLocker); ok {
		return locker.LockSale(ctx, queries, refs)
	}
	// Stock is locked before wallets, as in the lock order of [driver.Store]. So a refund, which may need both, waits for
	// a sale or goes first.
	batches, err := tx.LockStock(ctx, queries)
	if err != nil {
		return nil, nil, err
	}
	wallets, err := tx.LockWallets(ctx, refs)
	return batches, wallets, err
}

// saleLocks returns what lock locks for a checkout that is not refused before, for the message that begins the
// transaction. That saves a message, and holds the locks during the reads and checks before. So it returns nil if
// another process sells for the company. It also returns nil for a group, whose other calls may have to be refused.
func (s *Service) saleLocks(calls []*checkoutCall) *driver.SaleLocks {
	if len(calls) > 1 || !s.sales.isAlone(calls[0].ref.CompanyID) {
		return nil
	}
	return &driver.SaleLocks{Stock: stockQueries(calls), Wallets: walletRefs(calls)}
}

// sequences returns where the FLOAT wallets are.
func (st *sale) sequences() map[uuid.UUID]int64 {
	found := make(map[uuid.UUID]int64, len(st.wallets)/2)
	for ref, wallet := range st.wallets {
		if ref.Wallet == ledger.Float {
			found[ref.CompanyID] = wallet.Sequence
		}
	}
	return found
}

// walletRefs returns both wallets of every company.
func walletRefs(calls []*checkoutCall) []driver.WalletRef {
	refs := make([]driver.WalletRef, 0, 2*len(calls))
	for _, c := range calls {
		refs = append(refs, driver.WalletRefs(c.ref.CompanyID)...)
	}
	return distinct(refs)
}

// stockQueries returns what the group wants from each stock key.
func stockQueries(calls []*checkoutCall) []driver.StockQuery {
	wanted := make(map[stockKey]int)
	var queries []driver.StockQuery
	for _, c := range calls {
		for _, line := range c.params.Lines {
			event := driver.EventRef{CompanyID: c.ref.CompanyID, ID: c.params.EventID}
			from := stockKey{event, line.Tier, line.ExpectedUnitPrice}
			// Lines of several calls for one stock key become one query, since no two queries may be alike.
			i, known := wanted[from]
			if !known {
				i = len(queries)
				wanted[from] = i
				queries = append(queries, driver.StockQuery{
					CompanyID: c.ref.CompanyID, EventID: c.params.EventID, Tier: line.Tier,
					UnitPrice: line.ExpectedUnitPrice,
				})
			}
			// The query is for the total of the group; the checkouts then take their parts of it in order.
			queries[i].Quantity += int64(line.Quantity)
		}
	}
	return queries
}

// settleTimes sets the time of each company's sales. Times along a ledger never decrease. If the clock is before the
// last entry of a wallet, the time of that entry is used, and with it the rate that is effective then. A company whose
// verification has expired by then is refused.
func (st *sale) settleTimes(ctx context.Context, tx driver.Tx, at time.Time, calls []*checkoutCall) error {
	st.times = make(map[uuid.UUID]time.Time)
	for _, c := range calls {
		id := c.company.ID
		settled, known := st.times[id]
		if !known {
			// Both wallets have one time per sale, which is not before the last entry of either.
			float := st.wallets[driver.WalletRef{CompanyID: id, Wallet: ledger.Float}]
			earnings := st.wallets[driver.WalletRef{CompanyID: id, Wallet: ledger.Earnings}]
			// An order has one time, and both of its entries have it.
			settled = notBefore(notBefore(at, float.LastAt), earnings.LastAt)
			st.times[id] = settled
			// A rate that is effective at the time of the sale, and is the last by the horizon, is the last by that time, too.
			// The time is after the horizon if the clock is far behind, for example after a failover to another machine.
			if settled.After(at.Add(rateHorizon)) || st.rates[id].EffectiveFrom.After(settled) {
				rate, err := firstRecord(tx.EffectiveRates(ctx, []uuid.UUID{id}, settled))
				if err != nil {
					return err
				}
				st.rates[id] = rate
			}
		}
		// The pipeline has checked the verification at the clock's time. Only a later time needs another check.
		if settled.After(at) && !isCurrent(c.company.Verification, settled) {
			c.err = errVerificationRequired
		}
	}
	return nil
}
