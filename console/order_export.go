package console

import (
	"context"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
)

// orderExport is the export of a company's orders. It has the addresses of buyers, so it needs a recent sign-in.
func orderExport() export {
	return export{
		name: "order.export", scope: scopeCompany, page: ordersPath, permission: ticketing.PermissionCompanyOrderRead,
		recent: true, file: "orders.csv",
		columns: []string{
			"id", "status", "confirmedAt", "eventId", "event", "email", "fullname", "phone", "tickets", "tiers", "admitted",
			"gross", "commission", "endedAt", "reason", "restocked",
		},
		filter: orderFilters(), open: exportOrders, record: recordOrderExport,
	}
}

func recordOrderExport(ctx context.Context, c *call) error {
	search, err := orderSearch(c)
	if err != nil {
		return err
	}
	return c.operator.RecordOrderExport(ctx, c.companyID, search)
}

func exportOrders(_ context.Context, c *call) (rowPages, error) {
	search, err := orderSearch(c)
	return func(ctx context.Context, cursor string) ([][]string, string, error) {
		search.PageParams = ticketing.PageParams{Cursor: cursor, Limit: exportPage}
		found, err := c.operator.ListOrders(ctx, c.companyID, search)
		if err != nil {
			return nil, "", asPeriod(err)
		}
		rows := make([][]string, len(found.Items))
		for i, order := range showOrders(found.Items) {
			rows[i] = order.row()
		}
		return rows, found.NextCursor, nil
	}, err
}

// row returns an order as a row of a file.
func (o shownOrder) row() []string {
	row := []string{
		o.ID.String(), string(o.Status), o.ConfirmedAt.UTC().Format(timeFormat), o.EventID.String(), o.EventTitle,
		o.Buyer.Email, textIn(o.Buyer.Fullname), textIn(o.Buyer.Phone), strconv.Itoa(len(o.Lines)), o.tiers(),
		strconv.Itoa(o.Admitted()), o.Gross.String(), o.Commission.Amount.String(), "", "", "",
	}
	if ending := o.Ending; ending != nil {
		copy(row[len(row)-3:], []string{
			ending.At.UTC().Format(timeFormat), ending.Reason, strconv.FormatBool(ending.Restocked),
		})
	}
	return row
}

// tiers returns the tiers of an order's tickets, each with how many there are: "Standard 1, VIP 2".
func (o shownOrder) tiers() string {
	var names []string
	counts := map[string]int{}
	for _, line := range o.Lines { // by tier
		if counts[line.Tier]++; counts[line.Tier] == 1 {
			names = append(names, line.Tier)
		}
	}
	for i, name := range names {
		names[i] = name + " " + strconv.Itoa(counts[name])
	}
	return strings.Join(names, ", ")
}
