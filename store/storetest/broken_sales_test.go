package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func brokenSales() []broken {
	return []broken{
		{
			"keeps the last sum", "sums of sales/are added to",
			writing(func(tx driver.Tx) driver.Tx { return lastSum{tx} }),
		},
		{
			"lists what begins at the end", "sums of sales/list is in order, in pages and of its period",
			reading(func(tx driver.ReadTx) driver.ReadTx { return longPeriod{tx} }),
		},
		{
			"adds the tiers to the total", "sums of sales/totals of events are aligned",
			reading(func(tx driver.ReadTx) driver.ReadTx { return doubleTotal{tx} }),
		},
		{
			"finds the sums of the first company alone", "sums of sales/totals of events are aligned",
			reading(func(tx driver.ReadTx) driver.ReadTx { return firstOnly{tx} }),
		},
		{
			"adds up what a rebuild removes", "sums of sales/those of all companies are added up",
			writing(func(tx driver.Tx) driver.Tx { return neverReset{tx} }),
		},
		{
			"indexes all orders", "buyers/orders that the index lacks are found",
			reading(func(tx driver.ReadTx) driver.ReadTx { return indexesAll{tx} }),
		},
		{
			"keeps wrong sums", "sums of sales/a wrong one is refused",
			writing(func(tx driver.Tx) driver.Tx { return roundingSums{tx} }),
		},
		{
			"keeps sums of a company", "sums of sales/those of a company are removed",
			writing(func(tx driver.Tx) driver.Tx { return keepsSums{tx} }),
		},
		{
			"never raises progress", "progress of sums/is locked and replaced",
			writing(func(tx driver.Tx) driver.Tx { return descending{tx} }),
		},
		{
			"counts what is counted", "progress of sums/companies with orders to count",
			reading(func(tx driver.ReadTx) driver.ReadTx { return countsAll{tx} }),
		},
		{
			"lists facts that are dispatched", "facts/those that are not dispatched are listed",
			reading(func(tx driver.ReadTx) driver.ReadTx { return dispatchedToo{tx} }),
		},
		{
			"finds orders without an index", "buyers/their orders are found by the index alone",
			reading(func(tx driver.ReadTx) driver.ReadTx { return unindexed{tx} }),
		},
		{
			"ignores a prefix", "buyers/list is in order, in pages and of its prefix",
			reading(func(tx driver.ReadTx) driver.ReadTx { return anyPrefix{tx} }),
		},
	}
}

// lastSum adds nothing to what is kept.
type lastSum struct{ driver.Tx }

func (l lastSum) AddSales(ctx context.Context, sums []driver.SalesSum) error {
	for _, sum := range sums {
		kept, err := l.SalesSums(ctx, driver.SalesSumQuery{
			CompanyID: sum.CompanyID, EventID: sum.EventID, Tiers: sum.Tier != "",
			Bounds: []time.Time{sum.At, sum.At.Add(driver.SalesInterval)},
		})
		if err != nil || len(kept) > 0 {
			return err
		}
	}
	return l.Tx.AddSales(ctx, sums)
}

type longPeriod struct{ driver.ReadTx }

func (l longPeriod) SalesSums(ctx context.Context, query driver.SalesSumQuery) ([]driver.SalesSum, error) {
	if last := len(query.Bounds) - 1; last > 0 {
		query.Bounds = slices.Clone(query.Bounds)
		query.Bounds[last] = query.Bounds[last].Add(driver.SalesInterval)
	}
	return l.ReadTx.SalesSums(ctx, query)
}

type doubleTotal struct{ driver.ReadTx }

func (d doubleTotal) SalesTotals(
	ctx context.Context, companyID uuid.UUID, events []uuid.UUID, from, to time.Time,
) ([]driver.SalesSum, error) {
	totals, err := d.ReadTx.SalesTotals(ctx, companyID, events, from, to)
	for i := range totals {
		tiers, failed := d.SalesSums(ctx, driver.SalesSumQuery{
			CompanyID: companyID, EventID: totals[i].EventID, Tiers: true,
			Bounds: []time.Time{from.Truncate(driver.SalesInterval), time.UnixMilli(1 << 50).Truncate(driver.SalesInterval)},
		})
		if failed != nil {
			return nil, failed
		}
		for _, tier := range tiers {
			totals[i].Orders += tier.Orders
		}
	}
	return totals, err
}

type neverReset struct{ driver.Tx }

func (n neverReset) PutSalesProgress(ctx context.Context, progress driver.SalesProgress) error {
	progress.Uncounted = min(progress.Uncounted, driver.SalesReset-1)
	return n.Tx.PutSalesProgress(ctx, progress)
}

type indexesAll struct{ driver.ReadTx }

func (indexesAll) UnindexedOrders(context.Context, driver.UnindexedQuery) ([]uuid.UUID, error) {
	return nil, nil
}

type roundingSums struct{ driver.Tx }

func (r roundingSums) AddSales(ctx context.Context, sums []driver.SalesSum) error {
	sums = slices.Clone(sums)
	for i := range sums {
		sums[i].At = sums[i].At.Truncate(driver.SalesInterval)
	}
	return r.Tx.AddSales(ctx, sums)
}

type keepsSums struct{ driver.Tx }

func (keepsSums) DeleteSalesSums(_ context.Context, _ uuid.UUID, limit int) (int, error) {
	return limit, nil
}

type descending struct{ driver.Tx }

func (d descending) PutSalesProgress(ctx context.Context, progress driver.SalesProgress) error {
	kept, err := d.LockSalesProgress(ctx, progress.CompanyID)
	if err != nil {
		return err
	}
	if kept.CompanyID != uuid.Nil {
		progress.Uncounted = min(progress.Uncounted, kept.Uncounted)
	}
	return d.Tx.PutSalesProgress(ctx, progress)
}

type countsAll struct{ driver.ReadTx }

func (c countsAll) DueWork(ctx context.Context, query driver.WorkQuery) ([]driver.DueWork, error) {
	found, err := c.ReadTx.DueWork(ctx, query)
	if err == nil && len(found) == 0 {
		found = append(found, driver.DueWork{Kind: driver.WorkCount, CompanyID: uuid.Max})
	}
	return found, err
}

type dispatchedToo struct{ driver.ReadTx }

func (d dispatchedToo) UndispatchedFacts(
	ctx context.Context, companyID uuid.UUID, after driver.Position, limit int,
) ([]driver.Fact, error) {
	return d.ListFacts(ctx, companyID, after, limit)
}

type unindexed struct{ driver.ReadTx }

func (u unindexed) ListOrders(ctx context.Context, query driver.OrderQuery) ([]driver.Order, error) {
	query.Indexed = false
	return u.ReadTx.ListOrders(ctx, query)
}

type anyPrefix struct{ driver.ReadTx }

func (a anyPrefix) ListBuyers(ctx context.Context, query driver.BuyerQuery) ([]driver.Buyer, error) {
	query.Prefix = ""
	return a.ReadTx.ListBuyers(ctx, query)
}
