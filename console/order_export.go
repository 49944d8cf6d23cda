package console

import (
	"context"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
)

// exportedOrders is how many orders are read at a time. More are faster, and need more memory.
const exportedOrders = 250

// orderExport is the export of a company's orders. It has the addresses of buyers, so it needs a recent sign-in.
func orderExport() export {
	return export{
		name: "order.export", scope: scopeCompany, page: ordersPath, permission: ticketing.PermissionCompanyOrderRead,
		recent: true, file: "orders.csv",
		columns: []string{
			"id", "status", "confirmedAt", "eventId", "event", "email", "fullname", "phone", "tickets", "tiers", "admitted",
			"gross", "commission", "endedAt", "reason", "restocked",
		},
		filter: withZone(append(orderFilters(), prefixQuery)), open: exportOrders, record: recordOrderExport,
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
		search.PageParams = ticketing.PageParams{Cursor: cursor, Limit: exportedOrders}
		found, err := c.operator.ExportOrders(ctx, c.companyID, search)
		return rowsOfAll(found.Items, orderRow), found.NextCursor, asPeriod(err)
	}, err
}

// orderRow returns an order as a row of a file. Each tier has its number of tickets: "Standard 1, VIP 2".
func orderRow(o ticketing.ExportedOrder) []string {
	tickets, tiers := 0, make([]string, len(o.Tiers))
	for i, tier := range o.Tiers {
		tickets += tier.Tickets
		tiers[i] = tier.Tier + " " + strconv.Itoa(tier.Tickets)
	}
	row := []string{
		o.ID.String(), string(o.Status), cellAt(&o.ConfirmedAt), o.EventID.String(), o.EventTitle, o.Buyer.Email,
		textIn(o.Buyer.Fullname), textIn(o.Buyer.Phone), strconv.Itoa(tickets), strings.Join(tiers, ", "),
		strconv.Itoa(o.Admitted), o.Gross.String(), o.Commission.String(), "", "", "",
	}
	if ending := o.Ending; ending != nil {
		copy(row[len(row)-3:], []string{cellAt(&ending.At), ending.Reason, strconv.FormatBool(ending.Restocked)})
	}
	return row
}
