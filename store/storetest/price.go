package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/floatgate/ticketing/driver"
)

func priceBands(ctx context.Context, s driver.Store) error {
	err := stocked(ctx, s, lots(
		eventA,
		lot{"b", 1, 900, onSale, 10, 1}, lot{"b", 2, 1000, onSale, 10, 0}, lot{"b", 3, 900, onSale, 5, 0},
		lot{"b", 4, 50, paused, 5, 0}, lot{"b", 5, 40, cancelled, 5, 0}, lot{"b", 6, 30, onSale, 5, 5},
		lot{"b", 7, 5000, onSale, 1, 0}, lot{"b", 8, 70, onSale, 1, 0}, lot{"b", 9, 3000, onSale, 1, 0},
		lot{"a", 1, 1000, onSale, 7, 0}, lot{"paused", 1, 1, paused, 7, 0}, lot{"unasked", 1, 1, onSale, 7, 0},
	)...)
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("bands", driver.PriceList{EventStatus: newEvent(eventA).Status, Bands: []driver.PriceBand{
				{Tier: "a", UnitPrice: 1000, Available: 7},
				{Tier: "b", UnitPrice: 70, Available: 1},
				{Tier: "b", UnitPrice: 900, Available: 14},
				{Tier: "b", UnitPrice: 1000, Available: 10},
				{Tier: "b", UnitPrice: 3000, Available: 1},
				{Tier: "b", UnitPrice: 5000, Available: 1},
			}}).from(tx.PriceList(ctx, eventA, []string{"paused", "b", "a", "unknown"})),
			want("nothing on sale", driver.PriceList{EventStatus: newEvent(eventA).Status}).
				from(tx.PriceList(ctx, eventA, []string{"paused"})),
			want("no tier", driver.PriceList{EventStatus: newEvent(eventA).Status}).
				from(tx.PriceList(ctx, eventA, []string{})),
			want("of another event", driver.PriceList{EventStatus: newEvent(eventB).Status}).
				from(tx.PriceList(ctx, eventB, []string{"a", "b"})),
			want("of no event", driver.PriceList{}).
				from(tx.PriceList(ctx, driver.EventRef{CompanyID: companyA, ID: id(81)}, []string{"a", "b"})),
			want("of another company", driver.PriceList{}).
				from(tx.PriceList(ctx, driver.EventRef{CompanyID: companyB, ID: eventA.ID}, []string{"a", "b"})),
			samePriceLists(ctx, tx),
		)
	})
}

func pricesOfMany(ctx context.Context, s driver.Store) error {
	published := newEvent(driver.EventRef{CompanyID: companyA, ID: id(80)})
	published.Status = driver.EventPublished
	second := driver.EventRef{CompanyID: companyA, ID: id(80)}
	if err := createEvents(ctx, s, published); err != nil {
		return err
	}
	batches := lots(eventA, lot{"a", 1, 100, onSale, 7, 0}, lot{"Z", 1, 100, onSale, 3, 0}, lot{"é", 1, 100, onSale, 2, 0},
		lot{"a", 2, 90, onSale, 1, 1}, lot{"a", 3, 80, paused, 1, 0}, lot{"a", 4, 100, onSale, 5, 1})
	batches = append(batches, lots(second, lot{"a", 1, 100, onSale, 13, 0}, lot{"Z", 1, 90, onSale, 17, 0})...)
	batches = append(batches, lots(eventB, lot{"a", 1, 100, onSale, 19, 0})...)
	if err := stocked(ctx, s, batches...); err != nil {
		return err
	}
	all := []string{"é", "a", "Z", "a"}
	queries := []driver.PriceQuery{
		{EventRef: eventB, Tiers: all},
		{EventRef: second, Tiers: []string{"a"}},
		{EventRef: eventA, Tiers: all},
		{EventRef: second, Tiers: []string{"Z"}},
	}
	want := want("price lists", []driver.PriceList{
		{EventStatus: driver.EventDraft, Bands: []driver.PriceBand{{Tier: "a", UnitPrice: 100, Available: 19}}},
		{EventStatus: driver.EventPublished, Bands: []driver.PriceBand{{Tier: "a", UnitPrice: 100, Available: 13}}},
		{EventStatus: driver.EventDraft, Bands: []driver.PriceBand{
			{Tier: "Z", UnitPrice: 100, Available: 3},
			{Tier: "a", UnitPrice: 100, Available: 11},
			{Tier: "é", UnitPrice: 100, Available: 2},
		}},
		{EventStatus: driver.EventPublished, Bands: []driver.PriceBand{{Tier: "Z", UnitPrice: 90, Available: 17}}},
	})
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		var lists []driver.PriceList
		for _, q := range queries {
			list, err := tx.PriceList(ctx, q.EventRef, q.Tiers)
			if err != nil {
				return err
			}
			lists = append(lists, list)
		}
		if err := want.from(lists, nil); err != nil {
			return err
		}
		if reader, ok := tx.(driver.PriceReader); ok {
			return want.from(reader.PriceLists(ctx, queries))
		}
		return nil
	})
}

// samePriceLists checks that a [driver.PriceReader] returns for many queries what PriceList returns for each.
func samePriceLists(ctx context.Context, tx driver.ReadTx) error {
	reader, ok := tx.(driver.PriceReader)
	if !ok {
		return nil
	}
	foreign := driver.EventRef{CompanyID: companyB, ID: eventA.ID}
	all := []driver.PriceQuery{
		{EventRef: eventA, Tiers: []string{"b", "a"}},
		{EventRef: eventB, Tiers: []string{"a", "b"}},
		{EventRef: eventA, Tiers: []string{"paused"}},
		{EventRef: foreign, Tiers: []string{"a"}},
		{EventRef: eventA, Tiers: []string{"unknown", "a", "a"}},
		{EventRef: eventA, Tiers: []string{}},
		{EventRef: driver.EventRef{CompanyID: companyA, ID: id(81)}, Tiers: []string{"b"}},
		{EventRef: eventA, Tiers: []string{"b", "a"}},
		{EventRef: eventB, Tiers: []string{}},
	}
	var many []driver.PriceQuery
	for i := range 300 {
		tiers := []string{"a", "b", "unknown"}
		for j := range 4 {
			tiers = append(tiers, fmt.Sprintf("none %d.%d", i, j))
		}
		many = append(many, driver.PriceQuery{EventRef: []driver.EventRef{eventA, eventB}[i%2], Tiers: tiers})
	}
	for _, queries := range [][]driver.PriceQuery{nil, all[:1], all[2:3], all[5:6], all[5:], all, many} {
		lists := make([]driver.PriceList, len(queries))
		for i, q := range queries {
			var err error
			if lists[i], err = tx.PriceList(ctx, q.EventRef, q.Tiers); err != nil {
				return err
			}
		}
		err := want(fmt.Sprintf("%d price lists", len(queries)), lists).from(reader.PriceLists(ctx, queries))
		if err != nil {
			return err
		}
	}
	return nil
}
