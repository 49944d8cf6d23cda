package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// maxCachedBrandings is how many brandings a process remembers at least. One has at most some 8 KB.
const maxCachedBrandings = 1000

// readCache remembers what orders are shown with: entries of commission schedules and versions of brandings. It needs
// no invalidation: neither ever changes, and no id or version is used again. Each process has one, for all companies.
type readCache struct {
	rates     recent[driver.RateRef, driver.Rate]
	brandings recent[driver.BrandingRef, driver.Branding]
}

func newReadCache() *readCache {
	return &readCache{brandings: recent[driver.BrandingRef, driver.Branding]{limit: maxCachedBrandings}}
}

// cached returns the transaction with the cache of the service. A bound service has none: the host may undo a version
// of a branding, and the next one has its number.
func (s *Service) cached(tx driver.ReadTx) driver.ReadTx {
	if s.cache == nil {
		return tx
	}
	return cachedReads{tx, s.cache}
}

// cachedReads is a transaction that reads from the cache where it can. Most orders of a company have the same rate and
// branding. It is used only to show what was sold: a sale reads the effective rate and the current branding from the
// store.
type cachedReads struct {
	driver.ReadTx

	cache *readCache
}

// Rates returns the entries in the order of refs.
func (c cachedReads) Rates(ctx context.Context, refs []driver.RateRef) ([]driver.Rate, error) {
	return readCached(ctx, &c.cache.rates, refs, c.ReadTx.Rates, func(r driver.Rate) bool { return r.ID != uuid.Nil })
}

// Brandings returns the versions in the order of refs.
func (c cachedReads) Brandings(ctx context.Context, refs []driver.BrandingRef) ([]driver.Branding, error) {
	return readCached(ctx, &c.cache.brandings, refs, c.ReadTx.Brandings,
		func(b driver.Branding) bool { return b.CompanyID != uuid.Nil })
}

// OrdersWithLines reads orders and their lines.
func (c cachedReads) OrdersWithLines(
	ctx context.Context, refs []driver.OrderRef,
) ([]driver.Order, []driver.Admission, error) {
	return ordersWithLines(ctx, c.ReadTx, refs)
}

// ListOrdersWithLines reads a page of orders and their lines.
func (c cachedReads) ListOrdersWithLines(
	ctx context.Context, query driver.OrderQuery,
) ([]driver.Order, []driver.Admission, error) {
	return listOrdersWithLines(ctx, c.ReadTx, query)
}

// readCached reads the records that are not cached in one query. What does not exist is not remembered, because it may
// exist later.
func readCached[K comparable, R any](
	ctx context.Context, cache *recent[K, R], refs []K, read func(context.Context, []K) ([]R, error), exists func(R) bool,
) ([]R, error) {
	records := make([]R, len(refs))
	var missing []K
	var places []int
	for i, ref := range refs {
		record, ok := cache.get(ref)
		if !ok {
			// The place of each missing record keeps the order of refs.
			missing, places = append(missing, ref), append(places, i)
		}
		records[i] = record
	}
	if len(missing) == 0 {
		return records, nil
	}
	found, err := read(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, record := range found {
		records[places[i]] = record
		if exists(record) {
			cache.add(missing[i], record)
		}
	}
	return records, nil
}
