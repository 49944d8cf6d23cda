package ticketing

import (
	"context"

	"github.com/google/uuid"
)

// rateCache remembers entries of commission schedules, which never change and whose ids are never given again.
type rateCache = recent[RateRef, RateRecord]

// cachedRates reads the entries of commission schedules from memory where it can: every order that is read names one.
type cachedRates struct {
	ReadTx

	cache *rateCache
}

// Rates reads what the cache does not have.
func (c cachedRates) Rates(ctx context.Context, refs []RateRef) ([]RateRecord, error) {
	rates := make([]RateRecord, len(refs))
	var missing []RateRef
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
