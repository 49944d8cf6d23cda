package console

import (
	"context"
	"time"

	"github.com/floatgate/ticketing"
)

// platformMoneyPath is the page of the money of all companies.
const platformMoneyPath = "/platform/money"

// platformMoneyPages returns the page of what companies sold, and what they hold.
func platformMoneyPages() []page {
	return []page{{
		path: platformMoneyPath, scope: scopePlatform, title: "Money", nav: "Money", icon: "chart",
		permissions: companyReads(ticketing.PermissionWalletRead), template: "platform-money.html",
		load: loadPlatformMoney,
	}}
}

// platformMoney is what all companies sold in 30 days, and what those that sold most hold now.
type platformMoney struct {
	ticketing.PlatformSales

	Chart chart `json:"-"`
}

// loadPlatformMoney reads all companies together: the number of queries does not grow with their number.
func loadPlatformMoney(ctx context.Context, c *call) (view, error) {
	month, err := moneyPeriod(c)
	if err != nil {
		return view{}, err
	}
	sold, err := c.operator.PlatformSales(ctx, month.filter(), ticketing.MaxPageLimit)
	if err != nil {
		return view{}, err
	}
	shown := platformMoney{PlatformSales: sold}
	shown.Chart = month.salesChart(ticketing.SalesReport{Items: sold.Items, Total: sold.Total})
	shown.Chart.Empty = "Gross sales of all companies appear here."
	return view{data: shown}, nil
}

// moneyPeriod returns the last 30 days, with today.
func moneyPeriod(c *call) (period, error) {
	zone, err := time.LoadLocation(homeZone)
	if err != nil {
		return period{}, err
	}
	today := c.now.In(zone)
	return newPeriod(today.AddDate(0, 0, 1-reportDays), today, false), nil
}
