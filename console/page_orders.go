package console

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const (
	ordersPath = "/business/{companyId}/orders"
	orderPath  = ordersPath + "/{orderId}"
)

// orderPages returns the pages of a company's orders.
func orderPages() []page {
	read := []ticketing.Permission{ticketing.PermissionCompanyOrderRead}
	return []page{
		{
			group: groupSelling,
			path:  ordersPath, scope: scopeCompany, title: "Orders", nav: "Orders", icon: "ticket", permissions: read,
			template: "orders.html", load: loadOrders,
			query: append([]string{"cursor", "q", eventNameQuery, prefixQuery}, withZone(orderFilters())...),
			live:  []ticketing.WatchTopic{ticketing.WatchMoney, ticketing.WatchAudit},
		},
		{
			path: orderPath, scope: scopeCompany, title: "Order", permissions: read, template: "order.html",
			load: loadOrder, live: []ticketing.WatchTopic{ticketing.WatchOrder},
		},
	}
}

// prefixQuery is the member of the query of /api/v2 with the beginning of a buyer's email. The page offers the buyers
// that fit instead.
const prefixQuery = "emailPrefix"

// orderFilters returns the members of the query that select orders.
func orderFilters() []string { return []string{"event", "status", "email", "since", "until"} }

// shownOrder is an order as the pages show it.
type shownOrder struct{ ticketing.OrderDetail }

// Erased reports whether the buyer was erased, so that the address of the order is not a real one.
func (o shownOrder) Erased() bool { return isErased(o.Buyer.Email) }

// Admitted returns how many of the order's admissions were validated.
func (o shownOrder) Admitted() int {
	count := 0
	for _, line := range o.Lines {
		if line.Validation != nil {
			count++
		}
	}
	return count
}

// Confirmed reports whether the order can still be refunded or cancelled.
func (o shownOrder) Confirmed() bool { return o.Status == ticketing.OrderConfirmed }

// orderList is a page of orders with its filters.
type orderList struct {
	itemList[shownOrder]

	// Buyers are those whose email begins with the one of the filter, where it has no orders.
	Buyers   []ticketing.CompanyBuyer
	Events   eventChoice
	Filters  []field
	Exported []field // the filters of the file
	Filtered bool
	Search   field
	Missing  bool // nothing has the id or the code that was searched for
}

// orderSearch reads the query of the list.
func orderSearch(c *call) (search ticketing.OrderSearch, err error) {
	search.Email, search.EmailPrefix = strings.TrimSpace(c.query("email")), strings.TrimSpace(c.query(prefixQuery))
	if status := c.query("status"); status != "" {
		search.Statuses = []ticketing.OrderStatus{ticketing.OrderStatus(status)}
	}
	if search.EventID, err = c.queryID("event"); err != nil {
		return search, err
	}
	search.From, search.To, err = c.period()
	return search, err
}

func loadOrders(ctx context.Context, c *call) (view, error) {
	if text := strings.TrimSpace(c.query("q")); text != "" {
		return findOrder(ctx, c, text)
	}
	search, err := orderSearch(c)
	if err != nil {
		return view{}, err
	}
	if c.exchange.api && c.query(eventNameQuery) != "" {
		return view{}, invalid(eventNameQuery + ": is not a known query parameter")
	}
	if !c.exchange.api && search.EmailPrefix != "" {
		return view{}, invalid(prefixQuery + ": is not a known query parameter")
	}
	search.PageParams = c.paging()
	var found ticketing.Page[ticketing.OrderDetail]
	var buyers []ticketing.CompanyBuyer
	var events eventChoice
	err = together(ctx, func(ctx context.Context) (err error) {
		found, err = c.operator.ListOrders(ctx, c.companyID, search)
		if len(found.Items) == 0 && search.Email != "" && c.query("cursor") == "" && !c.exchange.api {
			buyers, err = buyersFor(ctx, c, search.Email, err)
		}
		return asPeriod(err)
	}, func(ctx context.Context) (err error) {
		if !c.exchange.api && !c.exchange.refreshes() { // The JSON has the orders alone.
			events, err = loadEventChoice(ctx, c, search.EventID)
		}
		return err
	})
	if err != nil {
		return view{}, err
	}
	list := newOrderList(c, found.Items, events)
	list.Buyers = buyers
	// New orders do not change a later page.
	return view{data: list, paged: true, next: found.NextCursor, still: c.query("cursor") != ""}, nil
}

// maxChosenBuyers is how many buyers the beginning of an email leads to.
const maxChosenBuyers = 20

// buyersFor returns the buyers whose email begins with a text that has no orders, or is no email, as the refusal says.
// A refusal of anything else stays.
func buyersFor(ctx context.Context, c *call, text string, refusal error) ([]ticketing.CompanyBuyer, error) {
	if refusal != nil {
		refused := refusalOf(refusal)
		if refused == nil || len(refused.Violations) == 0 || slices.ContainsFunc(refused.Violations,
			func(one ticketing.Violation) bool { return !strings.HasPrefix(one.Message, "email: ") }) {
			return nil, refusal
		}
	}
	if !holds(c.actor, ticketing.PermissionBuyerRead) {
		return nil, refusal
	}
	found, err := c.operator.ListBuyers(ctx, c.companyID, ticketing.BuyerFilter{
		PageParams: ticketing.PageParams{Limit: maxChosenBuyers}, Prefix: text,
	})
	if errors.Is(err, ticketing.CodeInvalidRequest) {
		return nil, refusal // The text is too long for an email, or has control characters.
	}
	return slices.DeleteFunc(found.Items, func(one ticketing.CompanyBuyer) bool {
		return isErased(one.Email) || one.Email == text // The other filters leave out the orders of this one.
	}), err
}

// findOrder returns the list of the one order that an id or a code names, and leads a browser to its page.
func findOrder(ctx context.Context, c *call, text string) (view, error) {
	found, err := c.operator.FindOrder(ctx, c.companyID, text)
	switch {
	case err == nil:
		return view{
			data: newOrderList(c, []ticketing.OrderDetail{found}, eventChoice{}), paged: true,
			location: c.fill(orderPath, []any{"orderId", found.ID}),
		}, nil
	case errors.Is(err, ticketing.CodeNotFound):
		list := newOrderList(c, nil, eventChoice{})
		list.Missing = true
		return view{data: list, paged: true, still: true}, nil
	case errors.Is(err, ticketing.CodeInvalidRequest) && !c.exchange.api:
		list := newOrderList(c, nil, eventChoice{})
		list.Search.Violation = "Type or scan a whole order id, ticket id or ticket code."
		return view{data: list, paged: true, still: true}, nil
	}
	return view{}, err
}

// newOrderList returns a page of the list with its filters.
func newOrderList(c *call, items []ticketing.OrderDetail, events eventChoice) orderList {
	list := orderList{
		Filtered: isFiltered(c, append(orderFilters(), eventNameQuery)...), Events: events,
		Exported: append([]field{
			events.field,
			chosenFilter(c, "status", "Status", option{Label: "All"}, option{Value: "CONFIRMED", Label: "Confirmed"},
				option{Value: "REFUNDED", Label: "Refunded"}, option{Value: "CANCELLED", Label: "Cancelled"}),
			typedFilter(c, "email", "Buyer's email", "text"),
		}, dayFilters(c)...),
		Search: typedFilter(c, "q", "Order id, ticket id or ticket code", "text"),
	}
	list.Filters = append(slices.Clone(list.Exported), typedFilter(c, eventNameQuery, "Event name", "search"))
	list.Items = showOrders(items)
	return list
}

func showOrders(items []ticketing.OrderDetail) []shownOrder {
	shown := make([]shownOrder, len(items))
	for i, item := range items {
		shown[i] = shownOrder{item}
	}
	return shown
}

// ownOrderDetail returns the order of the path. It must be one of the company in the path.
func ownOrderDetail(ctx context.Context, c *call) (ticketing.OrderDetail, error) {
	order, err := c.operator.GetOrder(ctx, c.pathID("orderId"))
	if err == nil && order.CompanyID != c.companyID {
		order, err = ticketing.OrderDetail{}, missing("The order")
	}
	return order, err
}

// EventOrders returns the address of the list of an event's orders, and "" for a person who may not see it.
func (f *frame) EventOrders(eventID uuid.UUID) string {
	if f.Reach(ordersPath) == "" {
		return ""
	}
	return f.Path(ordersPath) + "?event=" + eventID.String()
}
