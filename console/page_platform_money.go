package console

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// platformMoneyPath is the page of the money of all companies.
const platformMoneyPath = "/platform/money"

// moneyCompanies is how many companies are on a page unless a program asks for another number. Each takes reads of its
// own.
const moneyCompanies = 20

// platformMoneyPages returns the page of what companies sold, and what they hold.
func platformMoneyPages() []page {
	return []page{{
		path: platformMoneyPath, scope: scopePlatform, title: "Money", nav: "Money", icon: "chart",
		permissions: companyReads(ticketing.PermissionWalletRead), template: "platform-money.html",
		query: []string{"cursor", "prefix"}, load: loadPlatformMoney,
	}}
}

// companyMoney is what a company holds now, and what it sold in 30 days.
type companyMoney struct {
	Company ticketing.Company     `json:"company"`
	Wallets ticketing.Wallets     `json:"wallets"`
	Sales   ticketing.SalesReport `json:"sales"`
}

// moneyList is a page of companies with the chart of their sales.
type moneyList struct {
	itemList[companyMoney]

	Filters  []field
	Filtered bool
	Chart    chart
	Total    ticketing.SalesFigures
	All      bool // the page has every company
	Partial  bool // sales of a company may not be counted yet
}

func loadPlatformMoney(ctx context.Context, c *call) (view, error) {
	zone, err := time.LoadLocation(homeZone)
	if err != nil {
		return view{}, err
	}
	filter := ticketing.CompanyFilter{
		PageParams: c.paging(), Prefix: c.query("prefix"), Order: ticketing.CompaniesByName,
	}
	if filter.Limit == 0 {
		filter.Limit = moneyCompanies
	}
	found, err := c.operator.ListCompanies(ctx, filter)
	if err != nil {
		return view{}, err
	}
	today := c.now.In(zone)
	month := newPeriod(today.AddDate(0, 0, 1-reportDays), today, false)
	shown := moneyList{
		Filtered: isFiltered(c, "prefix"), Filters: []field{typedFilter(c, "prefix", "Name begins with", "search")},
		All: c.query("cursor") == "" && c.query("prefix") == "" && !found.HasMore,
	}
	shown.Items = make([]companyMoney, len(found.Items))
	reads := make([]func(context.Context) error, len(found.Items))
	for i, company := range found.Items {
		reads[i] = func(ctx context.Context) error {
			wallets, err := c.operator.GetWallets(ctx, company.ID)
			if err != nil {
				return err
			}
			sold, err := month.salesOf(ctx, c, company.ID, uuid.Nil, false)
			shown.Items[i] = companyMoney{company, wallets, sold}
			return err
		}
	}
	if err := together(ctx, reads...); err != nil {
		return view{}, err
	}
	var all ticketing.SalesReport
	byStart := map[time.Time]int{}
	for _, one := range shown.Items {
		shown.Partial = shown.Partial || one.Sales.CompleteFrom != nil && one.Sales.CompleteFrom.After(month.from())
		addFigures(&all.Total, one.Sales.Total)
		for _, row := range one.Sales.Items {
			number, known := byStart[row.From.Time]
			if !known {
				number = len(all.Items)
				byStart[row.From.Time] = number
				all.Items = append(all.Items, ticketing.SalesRow{From: row.From, To: row.To})
			}
			addFigures(&all.Items[number].SalesFigures, row.SalesFigures)
		}
	}
	sortRows(all.Items)
	shown.Total, shown.Chart = all.Total, month.salesChart(all)
	shown.Chart.Empty = "What these companies sell appears here, by its gross amount."
	return view{data: shown, paged: true, next: found.NextCursor}, nil
}
