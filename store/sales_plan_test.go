package store_test

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// salesWrites runs the statements that write sums of sales and the index of buyers.
func salesWrites(ctx context.Context, tx driver.Tx) error {
	interval := func(n int) time.Time { return time.UnixMilli(0).Add(time.Duration(n) * driver.SalesInterval) }
	sums := []driver.SalesSum{
		{SalesSumRef: driver.SalesSumRef{CompanyID: company, At: interval(7)}, Orders: 1},
		{SalesSumRef: driver.SalesSumRef{CompanyID: company, EventID: number(base + 2), Tier: "VIP", At: interval(8)}},
	}
	entries := []driver.BuyerOrder{
		{CompanyID: company, Email: "u7@example.com", Number: 1007},
		{CompanyID: company, Email: "u8@example.com", Number: 1008},
	}
	buyer := driver.BuyerRef{CompanyID: company, Email: "u7@example.com"}
	_, err := tx.LockSalesProgress(ctx, company)
	_, removing := tx.DeleteSalesSums(ctx, number(2), 5)
	return errors.Join(err, removing, tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: company, Uncounted: 3}),
		tx.PutBuyerOrders(ctx, entries), tx.DeleteBuyerOrders(ctx, buyer, []int64{1007, 1008}), tx.AddSales(ctx, sums))
}

// salesReads runs the statements that read them.
func salesReads(ctx context.Context, tx driver.ReadTx) error {
	const limit = 10
	from, to := minute(60), minute(600)
	bounds := []time.Time{minute(0), minute(300), from.Add(24 * time.Hour), from.Add(48 * time.Hour)}
	var all error
	asked := func(_ any, err error) { all = errors.Join(all, err) }
	for _, query := range []driver.SalesSumQuery{
		{CompanyID: company, Bounds: bounds[1:]},
		{CompanyID: company, EventID: number(base + 2), Bounds: bounds},
		{CompanyID: company, EventID: number(base + 2), Tiers: true, Bounds: bounds},
	} {
		asked(tx.SalesSums(ctx, query))
	}
	asked(tx.PlatformSums(ctx, bounds, limit))
	asked(tx.SalesTotals(ctx, company, []uuid.UUID{number(base + 2)}, from, to))
	asked(tx.SalesTotals(ctx, company, []uuid.UUID{number(base + 1), number(base + 2)}, from, to))
	events := []driver.EventRef{{CompanyID: company, ID: number(base + 1)}, {CompanyID: company, ID: number(base + 2)}}
	asked(tx.EventSums(ctx, events[:1]))
	asked(tx.EventSums(ctx, events))
	asked(tx.EventSums(ctx, append(events, driver.EventRef{CompanyID: number(2), ID: number(9)})))
	asked(tx.ListSalesSums(ctx, driver.SalesSumRef{CompanyID: company, EventID: number(base + 1), At: from}, limit))
	asked(tx.UnindexedOrders(ctx, driver.UnindexedQuery{CompanyID: company, Above: 1003, Through: 1900, Before: to}))
	asked(tx.SalesProgress(ctx, []uuid.UUID{company}))
	asked(tx.SalesProgress(ctx, []uuid.UUID{company, number(2)}))
	asked(tx.DueWork(ctx, driver.WorkQuery{At: to, After: []driver.DueWork{{Kind: driver.WorkCount}}, Limit: limit}))
	asked(tx.UndispatchedFacts(ctx, company, driver.Position{At: minute(3)}, limit))
	asked(tx.ListOrders(ctx, driver.OrderQuery{
		CompanyID: company, BuyerEmail: "ada@example.com", Indexed: true, After: 1900, AboveNumber: 1003, Limit: limit,
	}))
	asked(tx.ListBuyers(ctx, driver.BuyerQuery{CompanyID: company, Prefix: "u", After: "u1@example.com", Limit: limit}))
	return all
}
