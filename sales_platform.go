package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// PlatformSales is the sales of all companies, by hour or by day.
type PlatformSales struct {
	Items []SalesRow   `json:"items"` // of all companies, oldest first; an interval in which nothing happened has no row
	Total SalesFigures `json:"total"` // of all companies
	// Companies are those that sold, refunded or admitted something: by gross, the highest first, then by id.
	Companies []CompanySales `json:"companies"`
	// HasMore reports whether further companies did, that sold less.
	HasMore bool `json:"hasMore"`
	// Counting reports whether orders of a company are not counted yet: see [SalesReport] for when they are.
	Counting bool `json:"counting"`
}

// CompanySales is what a company sold among all companies, and what it holds now.
type CompanySales struct {
	Company Company      `json:"company"`
	Wallets Wallets      `json:"wallets"`
	Sales   SalesFigures `json:"sales"`
	// Counting reports whether orders of the company are not counted yet.
	Counting bool `json:"counting"`
}

// PlatformSales returns what all companies sold together, and the companies that sold most: at most limit of them, 1 to
// 100; 0 means 25. The filter is that of [Operator.Sales] without an event. What it reads grows with the quarters of an
// hour in which companies sold, and the number of its queries does not. What it has read of intervals that ended more
// than an hour ago is used again for a minute, unless orders are being counted. It needs tenant:read and, since it
// shows balances, COMPANY:wallet:read.
func (o Operator) PlatformSales(ctx context.Context, filter SalesFilter, limit int) (PlatformSales, error) {
	if err := o.allow(PermissionTenantRead, uuid.Nil); err != nil {
		return PlatformSales{}, err
	}
	if err := o.holds(PermissionWalletRead); err != nil {
		return PlatformSales{}, err
	}
	var v violations
	limit = PageParams{Limit: limit}.limit(&v)
	if filter.EventID != uuid.Nil {
		v.add("event", "must be empty for all companies")
	}
	ends := filter.intervals(&v, o.s.now())
	if err := v.err(); err != nil {
		return PlatformSales{}, err
	}
	past, err := o.s.platformPast(ctx, ends)
	if err != nil {
		return PlatformSales{}, err
	}
	var report PlatformSales
	err = o.s.store.Snapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		counting, err := isCounting(ctx, tx, o.s.now())
		if err != nil {
			return err
		}
		totals, err := past.withRecent(ctx, tx, ends, limit+1, counting)
		if err != nil {
			return err
		}
		report = PlatformSales{Items: salesRows(totals.Periods, ends), HasMore: len(totals.Sellers) > limit}
		for _, total := range totals.Periods {
			report.Total.add(total)
		}
		report.Counting = counting
		report.Companies, err = companySales(ctx, tx, totals.Sellers[:min(limit, len(totals.Sellers))])
		return err
	})
	if err != nil {
		return PlatformSales{}, err
	}
	return report, nil
}

// companySales returns the totals of companies with their names and wallets, each read for all of them at once.
func companySales(ctx context.Context, tx driver.ReadTx, totals []driver.SalesSum) ([]CompanySales, error) {
	ids, refs := make([]uuid.UUID, len(totals)), make([]driver.WalletRef, 0, 2*len(totals))
	for i, total := range totals {
		ids[i], refs = total.CompanyID, append(refs, driver.WalletRefs(total.CompanyID)...)
	}
	companies, err := tx.Companies(ctx, ids)
	if err != nil {
		return nil, err
	}
	wallets, err := tx.Wallets(ctx, refs)
	if err != nil {
		return nil, err
	}
	progress, err := tx.SalesProgress(ctx, ids)
	shown := make([]CompanySales, len(totals))
	for i, total := range totals {
		shown[i] = CompanySales{
			Company: showCompany(companies[i]), Wallets: newWallets(wallets[2*i], wallets[2*i+1]),
			Counting: err == nil && progress[i].Uncounted > 0,
		}
		shown[i].Sales.add(total)
	}
	return shown, err
}
