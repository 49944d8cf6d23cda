package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/floatgate/ticketing/driver"
)

func (tx *updating) LockTier(
	ctx context.Context, event driver.EventRef, name string,
) (driver.Tier, error) {
	var record driver.Tier
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

// LockTiers only reads the counters of tiers, because there is no other writer.
func (tx *updating) LockTiers(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.Tier, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.Tier {
		return each(s.inventory.named(event, tiers), func(t *tier) driver.Tier { return t.record })
	})
}

// LockBatches only reads batches, because there is no other writer.
func (tx *updating) LockBatches(
	ctx context.Context, refs []driver.BatchRef,
) ([]driver.Batch, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.Batch { return each(refs, s.inventory.batch) })
}

func (i *inventory) batch(ref driver.BatchRef) driver.Batch {
	of := i.find(driver.EventRef{CompanyID: ref.CompanyID, ID: ref.EventID}, ref.Tier)
	if of == nil {
		return driver.Batch{}
	}
	return of.batches[ref.Position]
}

// LockOpenBatches only reads open batches, because there is no other writer.
func (tx *updating) LockOpenBatches(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.Batch, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.Batch {
		var open []driver.Batch
		for _, tier := range s.inventory.named(event, tiers) {
			open = slices.AppendSeq(open, tier.each)
		}
		return open
	})
}

// LockStock only reads the batches for the queries, because there is no other writer.
func (tx *updating) LockStock(
	ctx context.Context, queries []driver.StockQuery,
) ([]driver.Batch, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.Batch {
		var found []driver.Batch
		for _, query := range queries {
			event := driver.EventRef{CompanyID: query.CompanyID, ID: query.EventID}
			if of := s.inventory.find(event, query.Tier); of != nil {
				found = append(found, of.cover(query)...)
			}
		}
		slices.SortFunc(found, func(a, b driver.Batch) int {
			return cmp.Or(
				bytes.Compare(a.CompanyID[:], b.CompanyID[:]), bytes.Compare(a.EventID[:], b.EventID[:]),
				strings.Compare(a.Tier, b.Tier), cmp.Compare(a.Position, b.Position),
			)
		})
		return found
	})
}

// cover returns the oldest batches that cover a query, or all batches if they do not suffice.
func (t *tier) cover(query driver.StockQuery) []driver.Batch {
	var found []driver.Batch
	missing := query.Quantity
	for batch := range t.each {
		if missing <= 0 {
			break
		}
		if batch.Status == driver.InventoryAvailable && batch.UnitPrice == query.UnitPrice {
			found = append(found, batch)
			missing -= batch.Quantity - batch.Sold
		}
	}
	return found
}

func (tx *updating) UpdateTiers(ctx context.Context, tiers []driver.Tier) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, record := range tiers {
			event := driver.EventRef{CompanyID: record.CompanyID, ID: record.EventID}
			kept := s.inventory.find(event, record.Name)
			if kept == nil {
				return driver.ErrNotFound
			}
			if err := check(record.Batches >= 0 && record.Total >= 0, "inventory_tiers_counts_check"); err != nil {
				return err
			}
			set(u, &kept.record, record)
		}
		return nil
	})
}

func (tx *updating) CreateBatch(ctx context.Context, batch driver.Batch) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		of := s.inventory.find(driver.EventRef{CompanyID: batch.CompanyID, ID: batch.EventID}, batch.Tier)
		if of == nil {
			return broken("inventory_batches_tier_fkey")
		}
		batch.CreatedAt = moment(batch.CreatedAt)
		if err := create(u, of.batches, batch.Position, batch, "inventory_batches_pkey"); err != nil {
			return err
		}
		if isOpen(batch) {
			of.open.add(u, batch.Position)
		}
		return checkBatch(batch)
	})
}

func (tx *updating) UpdateBatches(ctx context.Context, batches []driver.Batch) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, batch := range batches {
			of := s.inventory.find(driver.EventRef{CompanyID: batch.CompanyID, ID: batch.EventID}, batch.Tier)
			if of == nil {
				return driver.ErrNotFound
			}
			if err := of.update(u, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tier) update(u *undo, batch driver.Batch) error {
	kept, ok := t.batches[batch.Position]
	if !ok {
		return driver.ErrNotFound
	}
	wasOpen := isOpen(kept)
	kept.UnitPrice, kept.Status, kept.Quantity, kept.Sold = batch.UnitPrice, batch.Status, batch.Quantity, batch.Sold
	put(u, t.batches, kept.Position, kept)
	switch {
	case isOpen(kept) && !wasOpen:
		t.open.add(u, kept.Position)
	case wasOpen && !isOpen(kept):
		t.open.drop(u, kept.Position)
	}
	return checkBatch(kept)
}

func isOpen(batch driver.Batch) bool {
	return batch.Status != driver.InventoryCancelled && batch.Sold < batch.Quantity
}

func checkBatch(batch driver.Batch) error {
	if err := check(batch.UnitPrice >= 0, "inventory_batches_unit_price_check"); err != nil {
		return err
	}
	return check(0 <= batch.Sold && batch.Sold <= batch.Quantity, "inventory_batches_sold_check")
}
