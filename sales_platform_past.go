package ticketing

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/sales"
)

const (
	// platformPastFor is how long a process uses the sums of past intervals of all companies that it has read.
	platformPastFor = time.Minute
	// platformPastAfter is how long ago an interval ended that is past. A later dispatch may still add to its sums.
	platformPastAfter = time.Hour
)

// platformPast is the totals of all companies between bounds that are past. Nothing changes it.
type platformPast struct {
	bounds []time.Time
	readAt time.Time
	totals driver.PlatformTotals // of every company
}

// maxPlatformPasts is how many periods a process keeps: those of the few who look at all companies.
const maxPlatformPasts = 8

// platformPastCache holds what was read last, the newest first. reading has one slot, which its reader takes.
type platformPastCache struct {
	reading chan struct{}
	kept    []platformPast
}

func newPlatformPastCache() platformPastCache {
	return platformPastCache{reading: make(chan struct{}, 1)}
}

// isCounting reports whether orders of a company are being counted.
func isCounting(ctx context.Context, tx driver.ReadTx, at time.Time) (bool, error) {
	counting, err := tx.DueWork(ctx, driver.WorkQuery{At: at, After: []driver.DueWork{{Kind: driver.WorkCount}}, Limit: 1})
	return len(counting) > 0, err
}

// platformPast returns the totals of those bounds that are past, as they were read last, or reads them. One caller
// reads them at a time, and those that wait for it use what it has read. It returns nothing if no interval is past, or
// while orders are being counted: the sums are not complete then.
func (s *Service) platformPast(ctx context.Context, bounds []time.Time) (platformPast, error) {
	now := s.now()
	past := slices.IndexFunc(bounds, func(at time.Time) bool { return at.After(now.Add(-platformPastAfter)) })
	if past < 0 {
		past = len(bounds)
	}
	if s.bound || past <= 1 {
		return platformPast{}, nil
	}
	bounds = bounds[:past]
	select {
	case s.sold.reading <- struct{}{}:
	case <-ctx.Done():
		return platformPast{}, ctx.Err()
	}
	defer func() { <-s.sold.reading }()
	s.sold.kept = slices.DeleteFunc(s.sold.kept, func(one platformPast) bool {
		age := now.Sub(one.readAt)
		return age < 0 || age >= platformPastFor // A clock that was set back makes the age negative.
	})
	for _, one := range s.sold.kept {
		if slices.EqualFunc(one.bounds, bounds, time.Time.Equal) {
			return one, nil
		}
	}
	found := platformPast{bounds: bounds, readAt: now}
	complete := false
	// The progress and the sums are of one moment.
	err := s.store.Snapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		counting, err := isCounting(ctx, tx, now)
		if complete = !counting; err != nil || counting {
			return err
		}
		found.totals, err = tx.PlatformSums(ctx, bounds, math.MaxInt32)
		return err
	})
	if err != nil || !complete {
		return platformPast{}, err
	}
	s.sold.kept = slices.Insert(s.sold.kept[:min(maxPlatformPasts-1, len(s.sold.kept))], 0, found)
	return found, nil
}

// withRecent returns the totals of all bounds, of which it reads those that are not past. While orders are being
// counted the past changes, so it reads everything.
func (p platformPast) withRecent(
	ctx context.Context, tx driver.ReadTx, bounds []time.Time, sellers int, counting bool,
) (driver.PlatformTotals, error) {
	if len(p.bounds) == 0 || counting {
		return tx.PlatformSums(ctx, bounds, sellers)
	}
	recent, err := tx.PlatformSums(ctx, bounds[len(p.bounds)-1:], math.MaxInt32)
	if err != nil {
		return driver.PlatformTotals{}, err
	}
	together := make(sales.Tally, len(p.totals.Sellers)) // By company: of its reference a seller has no more.
	for _, sum := range slices.Concat(p.totals.Sellers, recent.Sellers) {
		together.Add(sum)
	}
	all := driver.PlatformTotals{
		Periods: slices.Concat(p.totals.Periods, recent.Periods), Sellers: slices.Collect(maps.Values(together)),
	}
	slices.SortFunc(all.Sellers, func(a, b driver.SalesSum) int {
		return cmp.Or(cmp.Compare(b.Gross, a.Gross), slices.Compare(a.CompanyID[:], b.CompanyID[:]))
	})
	all.Sellers = all.Sellers[:min(sellers, len(all.Sellers))]
	return all, nil
}
