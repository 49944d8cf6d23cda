package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

func inventoryKinds() []record {
	tier := newTier(eventA, awkward)
	tier.Batches, tier.Total = 1, 10
	batch := newBatch(eventA, awkward, 1)
	changedTier, changedBatch := tier, batch
	changedTier.Total, changedTier.Cancelled = driver.MaxTierAdmissions, true
	changedBatch.UnitPrice, changedBatch.Status = 0, driver.InventoryPaused
	changedBatch.Quantity, changedBatch.Sold = driver.MaxTierAdmissions, 10
	holds := func(tiers []driver.TierCount, total ...driver.StockTotal) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("CountTiers", tiers).from(tx.CountTiers(ctx, eventA, nil)),
				want("CountTiers of one", tiers).from(tx.CountTiers(ctx, eventA, []string{awkward})),
				want("StockTotals", total).from(tx.StockTotals(ctx, companyA)),
			)
		}
	}
	return []record{{
		name: "inventory",
		create: func(ctx context.Context, tx driver.Tx) error {
			if err := want("LockTier", newTier(eventA, awkward)).from(tx.LockTier(ctx, eventA, awkward)); err != nil {
				return err
			}
			if err := tx.CreateBatch(ctx, batch); err != nil {
				return err
			}
			return tx.UpdateTiers(ctx, []driver.Tier{tier})
		},
		created: holds(
			[]driver.TierCount{{Tier: tier, Available: 10, LowestPrice: money.MaxInput}},
			driver.StockTotal{EventID: eventA.ID, Tier: awkward, Total: 10, Quantity: 10},
		),
		absent: holds(nil),
		change: func(ctx context.Context, tx driver.Tx) error {
			if err := tx.UpdateBatches(ctx, []driver.Batch{changedBatch}); err != nil {
				return err
			}
			return tx.UpdateTiers(ctx, []driver.Tier{changedTier})
		},
		changed: holds(
			[]driver.TierCount{{Tier: changedTier, Paused: driver.MaxTierAdmissions - 10}},
			driver.StockTotal{
				EventID: eventA.ID, Tier: awkward, Total: driver.MaxTierAdmissions,
				Quantity: driver.MaxTierAdmissions, Sold: 10,
			},
		),
		taken: map[string]writes{"position": func(ctx context.Context, tx driver.Tx) error {
			return tx.CreateBatch(ctx, batch)
		}},
	}}
}

func inventoryChecks() []Check {
	return []Check{
		{"inventory/counts add up open batches", grounded(tiersCounted)},
		{"inventory/tiers are in order and of their event", grounded(tiersOrdered)},
		{"inventory/all batches in order", grounded(batchesListed)},
		{"inventory/prices on sale", grounded(priceBands)},
		{"inventory/prices of many events", grounded(pricesOfMany)},
		{"inventory/batches are summed", grounded(batchesSummed)},
		{"inventory/events are counted", grounded(eventsCounted)},
		{"inventory/totals add up all", grounded(stockTotals)},
		{"inventory/a tier is missed", grounded(tierMissed)},
	}
}

// stocked creates batches and their tiers. It does not maintain the totals of the tiers.
func stocked(ctx context.Context, s driver.Store, batches ...driver.Batch) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, batch := range batches {
			event := driver.EventRef{CompanyID: batch.CompanyID, ID: batch.EventID}
			if _, err := tx.LockTier(ctx, event, batch.Tier); err != nil {
				return err
			}
			if err := tx.CreateBatch(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create batches: %w", err)
	}
	return nil
}

// lot is a batch of eventA with only the fields that matter here.
type lot struct {
	tier           string
	position       int
	price          money.Amount
	status         driver.InventoryStatus
	quantity, sold int64
}

func (l lot) batch(event driver.EventRef) driver.Batch {
	batch := newBatch(event, l.tier, l.position)
	batch.UnitPrice, batch.Status, batch.Quantity, batch.Sold = l.price, l.status, l.quantity, l.sold
	return batch
}

func lots(event driver.EventRef, of ...lot) []driver.Batch {
	var batches []driver.Batch
	for _, l := range of {
		batches = append(batches, l.batch(event))
	}
	return batches
}

const (
	onSale    = driver.InventoryAvailable
	paused    = driver.InventoryPaused
	cancelled = driver.InventoryCancelled
)

func tiersCounted(ctx context.Context, s driver.Store) error {
	err := stocked(ctx, s, lots(
		eventA,
		lot{"mixed", 1, 100, onSale, 10, 10}, // sold out: its low price must not count
		lot{"mixed", 2, 500, onSale, 10, 3},
		lot{"mixed", 3, 300, paused, 5, 1},
		lot{"mixed", 4, 200, cancelled, 5, 0},
		lot{"mixed", 5, 400, onSale, 1, 0},
		lot{"sold", 1, 100, onSale, 2, 2},
		lot{"free", 1, 0, onSale, 2, 1},
	)...)
	if err != nil {
		return err
	}
	counts := []driver.TierCount{
		{Tier: newTier(eventA, "free"), Available: 1, LowestPrice: 0},
		{Tier: newTier(eventA, "mixed"), Available: 8, Paused: 4, LowestPrice: 300},
		{Tier: newTier(eventA, "sold")},
	}
	// The lowest price of a tier that is sold out is undefined.
	priced := func(found []driver.TierCount, err error) ([]driver.TierCount, error) {
		for i, count := range found {
			if count.Available+count.Paused == 0 {
				found[i].LowestPrice = 0
			}
		}
		return found, err
	}
	holds := func(ctx context.Context, tx driver.ReadTx) error {
		return want("counts", counts).from(priced(tx.CountTiers(ctx, eventA, nil)))
	}
	if err := everywhere(ctx, s, holds); err != nil {
		return err
	}
	// Updates open and close batches.
	err = share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.UpdateBatches(ctx, lots(
			eventA,
			lot{"mixed", 1, 90, onSale, 11, 10},
			lot{"mixed", 2, 500, onSale, 10, 10},
			lot{"mixed", 3, 300, cancelled, 5, 1},
			lot{"sold", 1, 100, paused, 2, 1},
			lot{"free", 1, 0, onSale, 2, 2},
		))
	})
	if err != nil {
		return err
	}
	counts[0].Available = 0
	counts[1].Available, counts[1].Paused, counts[1].LowestPrice = 2, 0, 90
	counts[2].Paused, counts[2].LowestPrice = 1, 100
	return everywhere(ctx, s, holds)
}

func tiersOrdered(ctx context.Context, s driver.Store) error {
	// By code point: not by language, not case-insensitively, and U+FFFD before characters above U+FFFF.
	order := []string{"", " ", "10", "9", "A", "B", "a", "a b", "b", "z", "É", "é", "\uFFFD", "😀"}[1:]
	var batches []driver.Batch
	for i := range order {
		tier := order[(i*5+3)%len(order)]
		batches = append(batches, lot{tier, 1, 100, onSale, 10, 0}.batch(eventA))
	}
	batches = append(batches, lot{"foreign", 1, 100, onSale, 10, 0}.batch(eventB))
	if err := stocked(ctx, s, batches...); err != nil {
		return err
	}
	names := func(found []driver.TierCount, err error) ([]string, error) {
		var tiers []string
		for _, tier := range found {
			tiers = append(tiers, tier.Name)
		}
		return tiers, err
	}
	some := []string{"é", "unknown", "A", "9", "foreign", "a"}
	err := everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", order).from(names(tx.CountTiers(ctx, eventA, nil))),
			want("some", []string{"9", "A", "a", "é"}).from(names(tx.CountTiers(ctx, eventA, some))),
			want("none of", []string(nil)).from(names(tx.CountTiers(ctx, eventA, []string{}))),
			want("of no event", []string(nil)).
				from(names(tx.CountTiers(ctx, driver.EventRef{CompanyID: companyB, ID: eventA.ID}, nil))),
		)
	})
	if err != nil {
		return err
	}
	locked := func(found []driver.Tier, err error) ([]string, error) {
		var tiers []string
		for _, tier := range found {
			tiers = append(tiers, tier.Name)
		}
		return tiers, err
	}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			want("lock all", order).from(locked(tx.LockTiers(ctx, eventA, nil))),
			want("lock some", []string{"9", "A", "a", "é"}).from(locked(tx.LockTiers(ctx, eventA, some))),
			want("lock none of", []string(nil)).from(locked(tx.LockTiers(ctx, eventA, []string{}))),
		)
	})
}

func batchesListed(ctx context.Context, s driver.Store) error {
	all := lots(
		eventA,
		lot{"B", 1, 100, cancelled, 5, 1}, lot{"a", 1, 900, onSale, 3, 3}, lot{"a", 2, 50, paused, 7, 0},
		lot{"b", 1, 0, onSale, 10, 4},
	)
	for i := 3; i <= 11; i++ { // By number: 10 comes after 9.
		all = slices.Insert(all, i, lot{"a", i, 10, onSale, 1, 0}.batch(eventA))
	}
	foreign := lot{"a", 1, 1, onSale, 1, 0}.batch(eventB)
	if err := stocked(ctx, s, append(slices.Clone(all), foreign)...); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", all).from(tx.ListBatches(ctx, eventA, 100)),
			want("the first", all[:4]).from(tx.ListBatches(ctx, eventA, 4)),
			want("none", []driver.Batch(nil)).from(tx.ListBatches(ctx, eventA, 0)),
			want("of another event", []driver.Batch{foreign}).from(tx.ListBatches(ctx, eventB, 100)),
			want("of another company", []driver.Batch(nil)).
				from(tx.ListBatches(ctx, driver.EventRef{CompanyID: companyB, ID: eventA.ID}, 100)),
		)
	})
}

func batchesSummed(ctx context.Context, s driver.Store) error {
	batches := lots(
		eventA,
		lot{"B", 1, 100, cancelled, 5, 1}, lot{"a", 1, 10, onSale, 3, 3}, lot{"a", 2, 50, paused, 7, 1},
		lot{"a", 3, 70, onSale, 9, 2}, lot{"a", 4, 20, cancelled, 4, 1}, lot{"é", 1, 0, onSale, 10, 4},
	)
	if err := stocked(ctx, s, append(batches, lot{"a", 1, 1, onSale, 2, 1}.batch(eventB))...); err != nil {
		return err
	}
	mixed := driver.BatchSum{
		Tier: "a", Total: 23, Sold: 7, Available: 7, Paused: 6, Cancelled: 3, LowestPrice: 50,
	}
	last := driver.BatchSum{Tier: "é", Total: 10, Sold: 4, Available: 6}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", []driver.BatchSum{{Tier: "B", Total: 5, Sold: 1, Cancelled: 4}, mixed, last}).
				from(tx.SumBatches(ctx, eventA, nil)),
			want("some", []driver.BatchSum{mixed, last}).
				from(tx.SumBatches(ctx, eventA, []string{"é", "unknown", "a"})),
			want("none of", []driver.BatchSum(nil)).from(tx.SumBatches(ctx, eventA, []string{})),
			want("of another company", []driver.BatchSum(nil)).
				from(tx.SumBatches(ctx, driver.EventRef{CompanyID: companyB, ID: eventA.ID}, nil)),
		)
	})
}

func eventsCounted(ctx context.Context, s driver.Store) error {
	second, none := driver.EventRef{CompanyID: companyA, ID: id(80)}, driver.EventRef{CompanyID: companyA, ID: id(81)}
	if err := createEvents(ctx, s, newEvent(second), newEvent(none)); err != nil {
		return err
	}
	batches := lots(eventA, lot{"a", 1, 900, onSale, 3, 3}, lot{"a", 2, 50, paused, 7, 1}, lot{"b", 1, 0, onSale, 10, 4},
		lot{"c", 1, 100, cancelled, 5, 1})
	batches = append(batches, lot{"a", 1, 1, onSale, 2, 1}.batch(second), lot{"a", 1, 1, onSale, 9, 0}.batch(eventB))
	if err := stocked(ctx, s, batches...); err != nil {
		return err
	}
	first := driver.EventCount{EventID: eventA.ID, Total: 25, Sold: 9, Available: 6, Paused: 6}
	other := driver.EventCount{EventID: second.ID, Total: 2, Sold: 1, Available: 1}
	theirs := driver.EventCount{EventID: eventB.ID, Total: 9, Available: 9}
	foreign := driver.EventRef{CompanyID: companyA, ID: eventB.ID}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("in the order of the events", []driver.EventCount{other, {}, {}, first}).
				from(tx.CountEvents(ctx, []driver.EventRef{second, none, foreign, eventA})),
			want("of several companies", []driver.EventCount{theirs, first, {}, theirs}).
				from(tx.CountEvents(ctx, []driver.EventRef{eventB, eventA, foreign, eventB})),
			want("one", []driver.EventCount{first}).from(tx.CountEvents(ctx, []driver.EventRef{eventA})),
			want("one of another company", []driver.EventCount{{}}).from(tx.CountEvents(ctx, []driver.EventRef{foreign})),
			want("none", []driver.EventCount{}).from(tx.CountEvents(ctx, nil)),
		)
	})
}

func stockTotals(ctx context.Context, s driver.Store) error {
	second := driver.EventRef{CompanyID: companyA, ID: id(80)}
	if err := createEvents(ctx, s, newEvent(second)); err != nil {
		return err
	}
	err := stocked(ctx, s,
		lot{"b", 1, 1, onSale, 1, 0}.batch(second), lot{"b", 1, 1, onSale, 9, 9}.batch(eventA),
		lot{"B", 1, 1, cancelled, 4, 1}.batch(eventA), lot{"b", 2, 1, paused, 5, 2}.batch(eventA),
		lot{"b", 1, 1, paused, 5, 2}.batch(eventB),
	)
	if err != nil {
		return err
	}
	counter := newTier(eventA, "b")
	counter.Batches, counter.Total = 2, 13 // not the sum of the batches
	admission := newAdmission(eventA, 1, 1)
	admission.Tier = "b"
	foreign := newAdmission(eventB, 1, 2)
	foreign.Tier = "b"
	err = share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			tx.UpdateTiers(ctx, []driver.Tier{counter}),
			tx.AppendAdmissions(ctx, []driver.Admission{admission, foreign}),
		)
	})
	if err != nil {
		return err
	}
	err = failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		taken := admission
		taken.Line, taken.ID = 3, id(400)
		return tx.AppendAdmissions(ctx, []driver.Admission{taken})
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("totals", []driver.StockTotal{
				{EventID: eventA.ID, Tier: "B", Quantity: 4, Sold: 1},
				{EventID: eventA.ID, Tier: "b", Total: 13, Quantity: 14, Sold: 11, Admissions: 1},
				{EventID: second.ID, Tier: "b", Quantity: 1},
			}).from(tx.StockTotals(ctx, companyA)),
			want("of another company", []driver.StockTotal{
				{EventID: eventB.ID, Tier: "b", Quantity: 5, Sold: 2, Admissions: 1},
			}).from(tx.StockTotals(ctx, companyB)),
			want("of no company", []driver.StockTotal(nil)).from(tx.StockTotals(ctx, uuid.Nil)),
		)
	})
}

func tierMissed(ctx context.Context, s driver.Store) error {
	if err := stocked(ctx, s, lot{"a", 1, 1, onSale, 1, 0}.batch(eventA)); err != nil {
		return err
	}
	for name, change := range map[string]writes{
		"a tier": func(ctx context.Context, tx driver.Tx) error {
			return tx.UpdateTiers(ctx, []driver.Tier{newTier(eventA, "a"), newTier(eventA, "b")})
		},
		"another event's tier": func(ctx context.Context, tx driver.Tx) error {
			return tx.UpdateTiers(ctx, []driver.Tier{newTier(eventB, "a")})
		},
		"a batch": func(ctx context.Context, tx driver.Tx) error {
			return tx.UpdateBatches(ctx, []driver.Batch{newBatch(eventA, "a", 1), newBatch(eventA, "a", 2)})
		},
	} {
		if err := misses("change "+name+" that is missing", update(ctx, s, change)); err != nil {
			return err
		}
	}
	return nil
}
