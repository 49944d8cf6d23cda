package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

func stockChecks() []Check {
	return []Check{
		{"stock/the oldest batches that cover a query", grounded(stockLocked)},
		{"stock/queries of several tiers and companies", grounded(stockLockedTogether)},
		{"stock/open batches", grounded(openBatches)},
		{"stock/one batch", grounded(oneBatch)},
		{"stock/sold is from 0 to the quantity", grounded(soldBounded)},
		{"stock/nobody oversells", grounded(nobodyOversells)},
		{"stock/a new tier is made once", grounded(tierMadeOnce)},
	}
}

func stockQuery(event driver.EventRef, tier string, price money.Amount, quantity int64) driver.StockQuery {
	return driver.StockQuery{
		CompanyID: event.CompanyID, EventID: event.ID, Tier: tier, UnitPrice: price, Quantity: quantity,
	}
}

func stockLocked(ctx context.Context, s driver.Store) error {
	all := lots(
		eventA,
		lot{"a", 1, 100, onSale, 10, 10},
		lot{"a", 2, 100, onSale, 10, 8},
		lot{"a", 3, 100, paused, 10, 0},
		lot{"a", 4, 200, onSale, 10, 0},
		lot{"a", 5, 100, onSale, 3, 0},
		lot{"a", 6, 100, cancelled, 10, 0},
		lot{"a", 7, 100, onSale, 5, 4},
		lot{"a", 10, 100, onSale, 5, 0},
	)
	if err := stocked(ctx, s, all...); err != nil {
		return err
	}
	second, fourth, fifth, seventh, tenth := all[1], all[3], all[4], all[6], all[7]
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, test := range []struct {
			price    money.Amount
			quantity int64
			batches  []driver.Batch
		}{
			{100, 1, []driver.Batch{second}},
			{100, 2, []driver.Batch{second}},
			{100, 3, []driver.Batch{second, fifth}},
			{100, 5, []driver.Batch{second, fifth}},
			{100, 6, []driver.Batch{second, fifth, seventh}},
			{100, 7, []driver.Batch{second, fifth, seventh, tenth}},
			{100, 11, []driver.Batch{second, fifth, seventh, tenth}},
			{100, 99, []driver.Batch{second, fifth, seventh, tenth}},
			{200, 10, []driver.Batch{fourth}},
			{101, 1, nil},
			{0, 1, nil},
		} {
			err := want(fmt.Sprintf("%d at %d", test.quantity, test.price), test.batches).
				from(tx.LockStock(ctx, []driver.StockQuery{stockQuery(eventA, "a", test.price, test.quantity)}))
			if err != nil {
				return err
			}
		}
		// Admissions that were just sold do not cover another query.
		second.Sold = second.Quantity
		if err := tx.UpdateBatches(ctx, []driver.Batch{second}); err != nil {
			return err
		}
		return errors.Join(
			want("after an own sale", []driver.Batch{fifth}).
				from(tx.LockStock(ctx, []driver.StockQuery{stockQuery(eventA, "a", 100, 3)})),
			want("of an unknown tier", []driver.Batch(nil)).
				from(tx.LockStock(ctx, []driver.StockQuery{stockQuery(eventA, "A", 100, 3)})),
			want("of another company", []driver.Batch(nil)).
				from(tx.LockStock(ctx, []driver.StockQuery{
					stockQuery(driver.EventRef{CompanyID: companyB, ID: eventA.ID}, "a", 100, 3),
				})),
			want("of no query", []driver.Batch(nil)).from(tx.LockStock(ctx, nil)),
		)
	})
}

func stockLockedTogether(ctx context.Context, s driver.Store) error {
	of := func(tier string, position int, price money.Amount) lot {
		return lot{tier, position, price, onSale, 5, 0}
	}
	// By its id, the second event of company A comes after that of company B; the company must come first.
	second := driver.EventRef{CompanyID: companyA, ID: id(80)}
	if err := createEvents(ctx, s, newEvent(second)); err != nil {
		return err
	}
	a := lots(
		eventA,
		of("B", 1, 100), of("a", 1, 100), of("a", 2, 200), of("a", 9, 100), of("a", 10, 100), of("é", 1, 100),
	)
	a = append(a, lots(second, of("A", 1, 100))...)
	b := lots(eventB, of("B", 1, 100))
	if err := stocked(ctx, s, append(b, a...)...); err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return want("by company, event, tier and position", append(a, b...)).
			from(tx.LockStock(ctx, []driver.StockQuery{
				stockQuery(eventB, "B", 100, 5), stockQuery(second, "A", 100, 5), stockQuery(eventA, "é", 100, 9),
				stockQuery(eventA, "a", 200, 1), stockQuery(eventA, "a", 100, 11), stockQuery(eventA, "B", 100, 1),
				stockQuery(eventA, "none", 100, 1),
			}))
	})
}

func openBatches(ctx context.Context, s driver.Store) error {
	all := lots(
		eventA,
		lot{"B", 1, 100, paused, 5, 0}, lot{"a", 1, 100, onSale, 5, 5}, lot{"a", 2, 100, onSale, 5, 4},
		lot{"a", 3, 100, cancelled, 5, 0}, lot{"a", 10, 200, onSale, 5, 0}, lot{"b", 1, 100, onSale, 5, 0},
	)
	if err := stocked(ctx, s, append(lots(eventB, lot{"a", 1, 100, onSale, 5, 0}), all...)...); err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			want("all", []driver.Batch{all[0], all[2], all[4], all[5]}).
				from(tx.LockOpenBatches(ctx, eventA, nil)),
			want("of two tiers", []driver.Batch{all[0], all[2], all[4]}).
				from(tx.LockOpenBatches(ctx, eventA, []string{"a", "unknown", "B"})),
			want("of none", []driver.Batch(nil)).from(tx.LockOpenBatches(ctx, eventA, []string{})),
		)
	})
}

func oneBatch(ctx context.Context, s driver.Store) error {
	batch := lot{"a", 2, 100, cancelled, 5, 1}.batch(eventA)
	if err := stocked(ctx, s, batch); err != nil {
		return err
	}
	ref := driver.BatchRef{CompanyID: companyA, EventID: eventA.ID, Tier: "a", Position: 2}
	other := ref
	other.Position = 1
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		err := errors.Join(
			want("kept", []driver.Batch{batch}).from(tx.LockBatches(ctx, []driver.BatchRef{ref})),
			want("missing", []driver.Batch{{}}).from(tx.LockBatches(ctx, []driver.BatchRef{other})),
			want("several", []driver.Batch{{}, batch, {}, batch}).
				from(tx.LockBatches(ctx, []driver.BatchRef{other, ref, {}, ref})),
			want("none", []driver.Batch(nil)).from(tx.LockBatches(ctx, nil)),
		)
		if err != nil {
			return err
		}
		// Only price, status, quantity and sold are written.
		change := batch
		change.UnitPrice, change.Status, change.Quantity, change.Sold = 7, onSale, 8, 6
		batch.UnitPrice, batch.Status, batch.Quantity, batch.Sold = 7, onSale, 8, 6
		change.Title, change.Description, change.CreatedAt = "other", "other", at(99)
		if err := tx.UpdateBatches(ctx, []driver.Batch{change}); err != nil {
			return err
		}
		return want("changed", []driver.Batch{batch}).from(tx.LockBatches(ctx, []driver.BatchRef{ref}))
	})
}

func soldBounded(ctx context.Context, s driver.Store) error {
	batch := lot{"a", 1, 100, onSale, 5, 5}.batch(eventA)
	if err := stocked(ctx, s, batch); err != nil {
		return err
	}
	for _, counts := range []struct{ quantity, sold int64 }{{5, 6}, {5, -1}, {4, 5}} {
		wrong := batch
		wrong.Quantity, wrong.Sold = counts.quantity, counts.sold
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return tx.UpdateBatches(ctx, []driver.Batch{wrong})
		})
		if err := refuses(fmt.Sprintf("%d sold of %d", counts.sold, counts.quantity), err); err != nil {
			return err
		}
		wrong.Position = 2
		if err := refuses("created so", stocked(ctx, s, wrong)); err != nil {
			return err
		}
	}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return want("the batch", []driver.Batch{batch}).from(tx.LockBatches(ctx,
			[]driver.BatchRef{{CompanyID: companyA, EventID: eventA.ID, Tier: "a", Position: 1}}))
	})
}

// nobodyOversells lets 24 buyers buy one admission each, of 20 admissions in two batches.
func nobodyOversells(ctx context.Context, s driver.Store) error {
	err := stocked(ctx, s, lots(eventA, lot{"a", 1, 100, onSale, 8, 0}, lot{"a", 2, 100, onSale, 12, 0})...)
	if err != nil {
		return err
	}
	const buyers = 24
	var bought [buyers]bool
	err = together(ctx, buyers, func(n int) error {
		return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			bought[n] = false
			found, err := tx.LockStock(ctx, []driver.StockQuery{stockQuery(eventA, "a", 100, 1)})
			if err != nil || len(found) == 0 {
				return err
			}
			found[0].Sold++
			bought[n] = true
			return tx.UpdateBatches(ctx, found[:1])
		})
	})
	if err != nil {
		return fmt.Errorf("buy at once: %w", err)
	}
	sold := int64(0)
	for _, one := range bought {
		if one {
			sold++
		}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			that(sold == 20, "%d admissions were sold of 20 to %d buyers", sold, buyers),
			want("stock", []driver.StockTotal{{EventID: eventA.ID, Tier: "a", Quantity: 20, Sold: 20}}).
				from(tx.StockTotals(ctx, companyA)),
		)
	})
}

func tierMadeOnce(ctx context.Context, s driver.Store) error {
	const writers = 12
	err := together(ctx, writers, func(int) error {
		return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			tier, err := tx.LockTier(ctx, eventA, "new")
			if err != nil {
				return err
			}
			tier.Batches++
			tier.Total += 10
			batch := lot{"new", tier.Batches, 100, onSale, 10, 0}.batch(eventA)
			return errors.Join(tx.CreateBatch(ctx, batch), tx.UpdateTiers(ctx, []driver.Tier{tier}))
		})
	})
	if err != nil {
		return fmt.Errorf("lock a new tier at once: %w", err)
	}
	counter := newTier(eventA, "new")
	counter.Batches, counter.Total = writers, 10*writers
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("tiers", []driver.TierCount{{Tier: counter, Available: 10 * writers, LowestPrice: 100}}).
			from(tx.CountTiers(ctx, eventA, nil))
	})
}
