package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/floatgate/ticketing"
)

func (tx *updating) LockTier(
	ctx context.Context, event ticketing.EventRef, name string,
) (ticketing.TierRecord, error) {
	var record ticketing.TierRecord
	err := tx.write(ctx, func(s *state, u *undo) error {
		found := s.inventory.find(event, name)
		if found == nil {
			found = s.inventory.make(u, event, name)
		}
		record = found.record
		return nil
	})
	return record, err
}

// LockTiers reads the counters of tiers: their writer is alone.
func (tx *updating) LockTiers(
	ctx context.Context, event ticketing.EventRef, tiers []string,
) ([]ticketing.TierRecord, error) {
	return ask(ctx, tx.reading, func(s *state) []ticketing.TierRecord {
		return each(s.inventory.named(event, tiers), func(t *tier) ticketing.TierRecord { return t.record })
	})
}

// LockBatch reads a batch: its writer is alone.
func (tx *updating) LockBatch(ctx context.Context, ref ticketing.BatchRef) (ticketing.BatchRecord, error) {
	return ask(ctx, tx.reading, func(s *state) ticketing.BatchRecord { return s.inventory.batch(ref) })
}

// LockBatches reads batches: their writer is alone.
func (tx *updating) LockBatches(
	ctx context.Context, refs []ticketing.BatchRef,
) ([]ticketing.BatchRecord, error) {
	return ask(ctx, tx.reading, func(s *state) []ticketing.BatchRecord { return each(refs, s.inventory.batch) })
}

func (i *inventory) batch(ref ticketing.BatchRef) ticketing.BatchRecord {
	of := i.find(ticketing.EventRef{CompanyID: ref.CompanyID, ID: ref.EventID}, ref.Tier)
	if of == nil {
		return ticketing.BatchRecord{}
	}
	return of.batches[ref.Position]
}

// LockOpenBatches reads open batches: their writer is alone.
func (tx *updating) LockOpenBatches(
	ctx context.Context, event ticketing.EventRef, tiers []string,
) ([]ticketing.BatchRecord, error) {
	return ask(ctx, tx.reading, func(s *state) []ticketing.BatchRecord {
		var open []ticketing.BatchRecord
		for _, tier := range s.inventory.named(event, tiers) {
			open = slices.AppendSeq(open, tier.each)
		}
		return open
	})
}

// LockStock reads what queries ask for: its writer is alone.
func (tx *updating) LockStock(
	ctx context.Context, queries []ticketing.StockQuery,
) ([]ticketing.BatchRecord, error) {
	return ask(ctx, tx.reading, func(s *state) []ticketing.BatchRecord {
		var found []ticketing.BatchRecord
		for _, query := range queries {
			event := ticketing.EventRef{CompanyID: query.CompanyID, ID: query.EventID}
			if of := s.inventory.find(event, query.Tier); of != nil {
				found = append(found, of.cover(query)...)
			}
		}
		slices.SortFunc(found, func(a, b ticketing.BatchRecord) int {
			return cmp.Or(
				bytes.Compare(a.CompanyID[:], b.CompanyID[:]), bytes.Compare(a.EventID[:], b.EventID[:]),
				strings.Compare(a.Tier, b.Tier), cmp.Compare(a.Position, b.Position),
			)
		})
		return found
	})
}

// cover are the oldest batches that cover a query, or all that there are for it.
func (t *tier) cover(query ticketing.StockQuery) []ticketing.BatchRecord {
	var found []ticketing.BatchRecord
	missing := query.Quantity
	for batch := range t.each {
		if missing <= 0 {
			break
		}
		if batch.Status == ticketing.InventoryAvailable && batch.UnitPrice == query.UnitPrice {
			found = append(found, batch)
			missing -= batch.Quantity - batch.Sold
		}
	}
	return found
}

func (tx *updating) UpdateTiers(ctx context.Context, tiers []ticketing.TierRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, record := range tiers {
			event := ticketing.EventRef{CompanyID: record.CompanyID, ID: record.EventID}
			kept := s.inventory.find(event, record.Tier)
			if kept == nil {
				return ticketing.ErrNotFound
			}
			if err := check(record.Batches >= 0 && record.Total >= 0, "inventory_tiers_counts_check"); err != nil {
				return err
			}
			set(u, &kept.record, record)
		}
		return nil
	})
}

func (tx *updating) CreateBatch(ctx context.Context, batch ticketing.BatchRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		of := s.inventory.find(ticketing.EventRef{CompanyID: batch.CompanyID, ID: batch.EventID}, batch.Tier)
		if of == nil {
			return broken("inventory_batches_tier_fkey")
		}
		batch.CreatedAt = moment(batch.CreatedAt)
		if err := create(u, of.batches, batch.Position, batch, "inventory_batches_pkey"); err != nil {
			return err
		}
		if open(batch) {
			of.open.add(u, batch.Position)
		}
		return checkBatch(batch)
	})
}

func (tx *updating) UpdateBatches(ctx context.Context, batches []ticketing.BatchRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, batch := range batches {
			of := s.inventory.find(ticketing.EventRef{CompanyID: batch.CompanyID, ID: batch.EventID}, batch.Tier)
			if of == nil {
				return ticketing.ErrNotFound
			}
			if err := of.update(u, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tier) update(u *undo, batch ticketing.BatchRecord) error {
	kept, ok := t.batches[batch.Position]
	if !ok {
		return ticketing.ErrNotFound
	}
	wasOpen := open(kept)
	kept.UnitPrice, kept.Status, kept.Quantity, kept.Sold = batch.UnitPrice, batch.Status, batch.Quantity, batch.Sold
	put(u, t.batches, kept.Position, kept)
	switch {
	case open(kept) && !wasOpen:
		t.open.add(u, kept.Position)
	case wasOpen && !open(kept):
		t.open.drop(u, kept.Position)
	}
	return checkBatch(kept)
}

func open(batch ticketing.BatchRecord) bool {
	return batch.Status != ticketing.InventoryCancelled && batch.Sold < batch.Quantity
}

func checkBatch(batch ticketing.BatchRecord) error {
	if err := check(batch.UnitPrice >= 0, "inventory_batches_unit_price_check"); err != nil {
		return err
	}
	return check(0 <= batch.Sold && batch.Sold <= batch.Quantity, "inventory_batches_sold_check")
}
