package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

type inventory struct {
	byEvent   map[driver.EventRef]*stock
	byCompany map[uuid.UUID]*index[uuid.UUID] // the events that have tiers
}

// stock holds the tiers of an event.
type stock struct {
	tiers map[string]*tier
	names *index[string]
}

// tier is a counter with its batches. The frequent reads look only at the open batches.
type tier struct {
	record     driver.Tier
	batches    map[int]driver.Batch
	open       *index[int] // the positions of open batches
	admissions int64       // sold admissions that have a row
	restocked  int64       // the restocked ones among them
}

func newInventory() inventory {
	return inventory{
		byEvent:   make(map[driver.EventRef]*stock),
		byCompany: make(map[uuid.UUID]*index[uuid.UUID]),
	}
}

// find returns a tier, or nil if there is none.
func (i *inventory) find(event driver.EventRef, name string) *tier {
	if stock, ok := i.byEvent[event]; ok {
		return stock.tiers[name]
	}
	return nil
}

// named returns the tiers of an event with these names, or all (nil), in lexicographic order.
func (i *inventory) named(event driver.EventRef, names []string) []*tier {
	stock, ok := i.byEvent[event]
	if !ok {
		return nil
	}
	if names == nil {
		names = stock.names.keys
	} else {
		names = slices.Compact(slices.Sorted(slices.Values(names)))
	}
	found := make([]*tier, 0, len(names))
	for _, name := range names {
		if tier, ok := stock.tiers[name]; ok {
			found = append(found, tier)
		}
	}
	return found
}

// make creates the counter of a tier at zero.
func (i *inventory) make(u *undo, event driver.EventRef, name string) *tier {
	stock := need(i.byEvent, event, func() *stock {
		return &stock{tiers: make(map[string]*tier), names: newIndex(strings.Compare)}
	})
	events := need(i.byCompany, event.CompanyID, func() *index[uuid.UUID] { return newIndex(compareIDs) })
	if _, known := events.search(event.ID); !known {
		events.add(u, event.ID)
	}
	made := &tier{
		record:  driver.Tier{CompanyID: event.CompanyID, EventID: event.ID, Name: name},
		batches: make(map[int]driver.Batch),
		open:    newIndex(cmp.Compare[int]),
	}
	put(u, stock.tiers, name, made)
	stock.names.add(u, name)
	return made
}

// each iterates over the open batches, oldest first.
func (t *tier) each(yield func(batch driver.Batch) bool) {
	for _, position := range t.open.keys {
		if !yield(t.batches[position]) {
			return
		}
	}
}

// count returns the totals of the open batches.
func (t *tier) count() driver.TierCount {
	count := driver.TierCount{Tier: t.record}
	first := true
	for batch := range t.each {
		if batch.Status == driver.InventoryAvailable {
			count.Available += batch.Quantity - batch.Sold
		} else {
			count.Paused += batch.Quantity - batch.Sold
		}
		if first || batch.UnitPrice < count.LowestPrice {
			count.LowestPrice, first = batch.UnitPrice, false
		}
	}
	return count
}

// sum returns the totals of all batches.
func (t *tier) sum() driver.BatchSum {
	count := t.count()
	sum := driver.BatchSum{
		Tier: t.record.Name, Available: count.Available, Paused: count.Paused, LowestPrice: count.LowestPrice,
	}
	for _, batch := range t.batches {
		sum.Total += batch.Quantity
		sum.Sold += batch.Sold
	}
	sum.Cancelled = sum.Total - sum.Sold - sum.Available - sum.Paused
	return sum
}

// bands returns the prices on sale, lowest first.
func (t *tier) bands() []driver.PriceBand {
	available := make(map[money.Amount]int64)
	for batch := range t.each {
		if batch.Status == driver.InventoryAvailable {
			available[batch.UnitPrice] += batch.Quantity - batch.Sold
		}
	}
	bands := make([]driver.PriceBand, 0, len(available))
	for price, quantity := range available {
		bands = append(bands, driver.PriceBand{Tier: t.record.Name, UnitPrice: price, Available: quantity})
	}
	slices.SortFunc(bands, func(a, b driver.PriceBand) int { return cmp.Compare(a.UnitPrice, b.UnitPrice) })
	return bands
}

func (t *tier) total() driver.StockTotal {
	total := driver.StockTotal{
		EventID: t.record.EventID, Tier: t.record.Name, Total: t.record.Total, Admissions: t.admissions,
		Restocked: t.restocked,
	}
	for _, batch := range t.batches {
		total.Quantity += batch.Quantity
		total.Sold += batch.Sold
	}
	return total
}

func (r reading) CountTiers(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.TierCount, error) {
	return ask(ctx, r, func(s *state) []driver.TierCount {
		return each(s.inventory.named(event, tiers), (*tier).count)
	})
}

func (r reading) ListBatches(ctx context.Context, event driver.EventRef, limit int) ([]driver.Batch, error) {
	return ask(ctx, r, func(s *state) []driver.Batch {
		var found []driver.Batch
		for _, tier := range s.inventory.named(event, nil) {
			for _, position := range slices.Sorted(maps.Keys(tier.batches)) {
				if len(found) >= limit {
					return found
				}
				found = append(found, tier.batches[position])
			}
		}
		return found
	})
}

func (r reading) SumBatches(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.BatchSum, error) {
	return ask(ctx, r, func(s *state) []driver.BatchSum {
		var sums []driver.BatchSum
		for _, tier := range s.inventory.named(event, tiers) {
			if len(tier.batches) > 0 {
				sums = append(sums, tier.sum())
			}
		}
		return sums
	})
}

func (r reading) CountEvents(ctx context.Context, events []driver.EventRef) ([]driver.EventCount, error) {
	return ask(ctx, r, func(s *state) []driver.EventCount { return each(events, s.inventory.countEvent) })
}

// countEvent returns the totals of an event's batches.
func (i *inventory) countEvent(event driver.EventRef) driver.EventCount {
	var count driver.EventCount
	for _, tier := range i.named(event, nil) {
		for _, batch := range tier.batches {
			count.EventID = event.ID
			count.Total += batch.Quantity
			count.Sold += batch.Sold
			switch batch.Status {
			case driver.InventoryAvailable:
				count.Available += batch.Quantity - batch.Sold
			case driver.InventoryPaused:
				count.Paused += batch.Quantity - batch.Sold
			case driver.InventoryCancelled, driver.InventorySoldOut:
			}
		}
	}
	return count
}

func (r reading) PriceList(
	ctx context.Context, event driver.EventRef, tiers []string,
) (driver.PriceList, error) {
	return ask(ctx, r, func(s *state) driver.PriceList {
		return driver.PriceList{
			EventStatus: s.events.get(event).Status,
			Bands:       slices.Concat(each(s.inventory.named(event, tiers), (*tier).bands)...),
		}
	})
}

// StockTotals reads every batch of a company. It is made for verification, not for speed.
func (r reading) StockTotals(ctx context.Context, companyID uuid.UUID) ([]driver.StockTotal, error) {
	return ask(ctx, r, func(s *state) []driver.StockTotal {
		events, ok := s.inventory.byCompany[companyID]
		if !ok {
			return nil
		}
		var totals []driver.StockTotal
		for _, id := range events.keys {
			tiers := s.inventory.named(driver.EventRef{CompanyID: companyID, ID: id}, nil)
			totals = append(totals, each(tiers, (*tier).total)...)
		}
		return totals
	})
}
