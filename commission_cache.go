package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// rateCache remembers entries of commission schedules. It needs no invalidation: an entry never changes, and its id is
// never used again. Each process has one, for all companies.
type rateCache = recent[driver.RateRef, driver.Rate]

// cachedRates is a transaction that reads entries of commission schedules from memory where it can. Every order that is
// shown names one entry, and most orders of a company name the same one. It is used only to show orders: a sale reads
// the effective rate from the store.
type cachedRates struct {
	driver.ReadTx

	cache *rateCache
}

// Rates returns the entries in the order of refs. It reads those that are not cached in one query. An entry that does
// not exist is not remembered, because it may exist later.
func (c cachedRates) Rates(ctx context.Context, refs []driver.RateRef) ([]driver.Rate, error) {
	rates := make([]driver.Rate, len(refs))
	var missing []driver.RateRef
	var places []int
	for i, ref := range refs {
		rate, ok := c.cache.get(ref)
		if !ok {
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
			c.cache.add(missing[i], rate)
		}
	}
	return rates, nil
}
