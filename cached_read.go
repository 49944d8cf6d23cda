package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/recent"
)

// readCache remembers what saves messages to the store when orders are shown. Each process has one, for all companies.
type readCache struct {
	// rates are entries of commission schedules. They need no invalidation: an entry never changes, and its id is never
	// used again.
	rates recent.Map[driver.RateRef, driver.Rate]
	// brandings are the versions of the brandings that a company's orders were last shown with. They are only assumed, and
	// read together with the next orders: a database that lost its last commits may give a version's number away again.
	brandings recentVersions
}

// cached returns the transaction with the cache of the service. A bound service has none.
func (s *Service) cached(tx driver.ReadTx) driver.ReadTx {
	if s.cache == nil {
		return tx
	}
	return cachedReads{tx, s.cache}
}

// cachedReads is a transaction that reads entries of commission schedules from memory where it can. Most orders of a
// company have the same one. It is used only to show what was sold: a sale reads the effective rate from the store.
type cachedReads struct {
	driver.ReadTx

	cache *readCache
}

// Announce makes reads travel together where the store can. An entry that is cached is not announced.
func (c cachedReads) Announce(ctx context.Context, reads func(ctx context.Context, tx driver.ReadTx)) {
	announce(ctx, c.ReadTx, func(ctx context.Context, tx driver.ReadTx) {
		reads(ctx, cachedReads{tx, c.cache})
	})
}

// Rates returns the entries in the order of refs. It reads those that are not cached in one query. An entry that does
// not exist is not remembered, because it may exist later.
func (c cachedReads) Rates(ctx context.Context, refs []driver.RateRef) ([]driver.Rate, error) {
	rates := make([]driver.Rate, len(refs))
	var missing []driver.RateRef
	var places []int
	for i, ref := range refs {
		rate, ok := c.cache.rates.Get(ref)
		if !ok {
			// The place of each missing entry keeps the order of refs.
			missing, places = append(missing, ref), append(places, i)
		}
		rates[i] = rate
	}
	if len(missing) == 0 {
		return rates, nil
	}
	found, err := c.ReadTx.Rates(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, rate := range found {
		rates[places[i]] = rate
		if rate.ID != uuid.Nil {
			c.cache.rates.Add(missing[i], rate)
		}
	}
	return rates, nil
}

// PriceLists makes the transaction a [driver.PriceReader], which may be hidden in it.
func (c cachedReads) PriceLists(ctx context.Context, queries []driver.PriceQuery) ([]driver.PriceList, error) {
	return priceLists(ctx, c.ReadTx, queries)
}

// OrdersWithLines reads orders and their lines.
func (c cachedReads) OrdersWithLines(
	ctx context.Context, refs []driver.OrderRef,
) ([]driver.Order, []driver.Admission, error) {
	companies := make([]uuid.UUID, len(refs))
	for i, ref := range refs {
		companies[i] = ref.CompanyID
	}
	c.announceBrandings(ctx, distinct(companies))
	orders, lines, err := ordersWithLines(ctx, c.ReadTx, refs)
	if err != nil {
		return nil, nil, err
	}
	c.rememberBrandings(orders)
	return orders, lines, nil
}

// ListOrdersWithLines reads a page of orders and their lines.
func (c cachedReads) ListOrdersWithLines(
	ctx context.Context, query driver.OrderQuery,
) ([]driver.Order, []driver.Admission, error) {
	c.announceBrandings(ctx, []uuid.UUID{query.CompanyID})
	orders, lines, err := listOrdersWithLines(ctx, c.ReadTx, query)
	if err != nil {
		return nil, nil, err
	}
	c.rememberBrandings(orders)
	return orders, lines, nil
}

// announceBrandings announces the read of the brandings that the orders of some companies probably have.
func (c cachedReads) announceBrandings(ctx context.Context, companies []uuid.UUID) {
	var refs []driver.BrandingRef
	for _, id := range companies {
		if version, known := c.cache.brandings.Get(id); known {
			refs = append(refs, driver.BrandingRef{CompanyID: id, Version: version})
		}
	}
	if len(refs) == 0 {
		return
	}
	sortBrandings(refs)
	announce(ctx, c.ReadTx, func(ctx context.Context, tx driver.ReadTx) { _, _ = tx.Brandings(ctx, refs) })
}

// rememberBrandings remembers the versions that announceBrandings assumes.
func (c cachedReads) rememberBrandings(orders []driver.Order) {
	var last uuid.UUID
	for _, o := range orders {
		// Of the orders of a page the first one is the newest.
		if o.ID != uuid.Nil && o.CompanyID != last {
			c.cache.brandings.note(o.CompanyID, o.Branding)
			last = o.CompanyID
		}
	}
}
