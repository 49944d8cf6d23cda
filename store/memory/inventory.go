package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

type inventory struct {
	byEvent   map[ticketing.EventRef]*stock
	byCompany map[uuid.UUID]*index[uuid.UUID] // the events that have tiers
}

// stock is what an event has.
type stock struct {
	tiers map[string]*tier
	names *index[string]
}

// tier is a counter with its batches. What is read of it often is read from the open ones alone.
type tier struct {
	record     ticketing.TierRecord
	batches    map[int]ticketing.BatchRecord
	open       *index[int] // positions
	admissions int64       // sold ones with a row
	restocked  int64       // of them, those that went back as unsold
}

func newInventory() inventory {
	return inventory{
		byEvent:   make(map[ticketing.EventRef]*stock),
		byCompany: make(map[uuid.UUID]*index[uuid.UUID]),
	}
}

// find is a tier, nil where there is none.
func (i *inventory) find(event ticketing.EventRef, name string) *tier {
	if stock, ok := i.byEvent[event]; ok {
		return stock.tiers[name]
	}
	return nil
}

// named are the tiers of an event that are named, or all (nil), in lexicographic order.
func (i *inventory) named(event ticketing.EventRef, names []string) []*tier {
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

// make makes the counter of a tier at zero.
func (i *inventory) make(u *undo, event ticketing.EventRef, name string) *tier {
	stock := need(i.byEvent, event, func() *stock {
		return &stock{tiers: make(map[string]*tier), names: newIndex(strings.Compare)}
	})
	events := need(i.byCompany, event.CompanyID, func() *index[uuid.UUID] { return newIndex(compareIDs) })
	if _, known := events.search(event.ID); !known {
		events.add(u, event.ID)
	}
	made := &tier{
		record:  ticketing.TierRecord{CompanyID: event.CompanyID, EventID: event.ID, Tier: name},
		batches: make(map[int]ticketing.BatchRecord),
		open:    newIndex(cmp.Compare[int]),
	}
	put(u, stock.tiers, name, made)
	stock.names.add(u, name)
	return made
}

// each goes over the open batches, the oldest first, until told to stop.
func (t *tier) each(yield func(batch ticketing.BatchRecord) bool) {
	for _, position := range t.open.keys {
		if !yield(t.batches[position]) {
			return
		}
	}
}

// count adds up the open batches.
func (t *tier) count() ticketing.TierCount {
	count := ticketing.TierCount{TierRecord: t.record}
	first := true
	for batch := range t.each {
		if batch.Status == ticketing.InventoryAvailable {
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

// bands are the prices on sale, the lowest first.
func (t *tier) bands() []ticketing.PriceBand {
	available := make(map[money.Amount]int64)
	for batch := range t.each {
		if batch.Status == ticketing.InventoryAvailable {
			available[batch.UnitPrice] += batch.Quantity - batch.Sold
		}
	}
	bands := make([]ticketing.PriceBand, 0, len(available))
	for price, quantity := range available {
		bands = append(bands, ticketing.PriceBand{Tier: t.record.Tier, UnitPrice: price, Available: quantity})
	}
	slices.SortFunc(bands, func(a, b ticketing.PriceBand) int { return cmp.Compare(a.UnitPrice, b.UnitPrice) })
	return bands
}

func (t *tier) total() ticketing.StockTotal {
	total := ticketing.StockTotal{
		EventID: t.record.EventID, Tier: t.record.Tier, Total: t.record.Total, Admissions: t.admissions,
		Restocked: t.restocked,
	}
	for _, batch := range t.batches {
		total.Quantity += batch.Quantity
		total.Sold += batch.Sold
	}
	return total
}

func (r reading) CountTiers(
	ctx context.Context, event ticketing.EventRef, tiers []string,
) ([]ticketing.TierCount, error) {
	return ask(ctx, r, func(s *state) []ticketing.TierCount {
		return each(s.inventory.named(event, tiers), (*tier).count)
	})
}

func (r reading) PriceBands(
	ctx context.Context, event ticketing.EventRef, tiers []string,
) ([]ticketing.PriceBand, error) {
	return ask(ctx, r, func(s *state) []ticketing.PriceBand {
		return slices.Concat(each(s.inventory.named(event, tiers), (*tier).bands)...)
	})
}

// StockTotals goes over every batch of a company: it is asked for proof, not for speed.
func (r reading) StockTotals(ctx context.Context, companyID uuid.UUID) ([]ticketing.StockTotal, error) {
	return ask(ctx, r, func(s *state) []ticketing.StockTotal {
		events, ok := s.inventory.byCompany[companyID]
		if !ok {
			return nil
		}
		var totals []ticketing.StockTotal
		for _, id := range events.keys {
			tiers := s.inventory.named(ticketing.EventRef{CompanyID: companyID, ID: id}, nil)
			totals = append(totals, each(tiers, (*tier).total)...)
		}
		return totals
	})
}
