package ticketing

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/coalesce"
)

// errOrderNotFound also hides the orders of other companies: they appear absent (section 7).
var errOrderNotFound = notFound("The order")

// GetOrder returns an order of the caller's company (section 4.8). It needs COMPANY:order:read.
//
// Everything but the status is as it was at the sale, apart from a buyer who was erased. An order of another company is
// NOT_FOUND, like one that does not exist. The status is the current one, while a replay of the checkout shows that of
// the sale.
func (s *Service) GetOrder(ctx context.Context, caller Caller, id uuid.UUID) (Order, error) {
	if err := caller.Require(GrantOrderRead); err != nil {
		return Order{}, err
	}
	return s.orders.do(ctx, s, caller, id)
}

// readOrders reads orders with their lines.
func readOrders(ctx context.Context, tx driver.ReadTx, calls []*readCall[uuid.UUID, Order]) error {
	asked := make([]driver.OrderRef, len(calls))
	for i, c := range calls {
		asked[i] = driver.OrderRef{CompanyID: c.caller.companyID, ID: c.params}
	}
	refs := distinct(asked)
	records, lines, err := ordersWithLines(ctx, tx, refs)
	if err != nil {
		return err
	}
	places := make(map[driver.OrderRef]int, len(refs))
	for i, ref := range refs {
		places[ref] = i
	}
	// Calls of one order do not share what is returned, which a caller may change.
	var found []driver.Order
	var of []*readCall[uuid.UUID, Order]
	for i, c := range calls {
		if record := records[places[asked[i]]]; record.ID == uuid.Nil {
			c.err = errOrderNotFound
		} else {
			found, of = append(found, record), append(of, c)
		}
	}
	shown, err := showOrdersOf(ctx, tx, found, lines)
	if err != nil {
		return err
	}
	for i, c := range of {
		c.result = shown[i]
	}
	return nil
}

// ListOrders returns a page of the company's orders, newest first (section 4.8). It needs COMPANY:order:read.
//
// The order of the list is that of the ledger: an order is placed by the sequence of its FLOAT entry, not by a clock.
// So the list never contradicts the balances, and an order that commits during the paging appears on no later page. An
// EventID that the company does not have gives an empty page.
//
// It is INVALID_REQUEST for a Limit outside 1 to 100, and for a status that is unknown or named twice. It is
// INVALID_CURSOR for a cursor of another listing, filter or company.
func (s *Service) ListOrders(ctx context.Context, caller Caller, filter OrderFilter) (Page[Order], error) {
	if err := caller.Require(GrantOrderRead); err != nil {
		return Page[Order]{}, err
	}
	var v violations
	statuses := filter.statuses(&v)
	list, err := openListing(byNumber(func(o driver.Order) int64 { return o.Number }), filter.PageParams, v,
		"orders", caller.companyID.String(), filter.EventID.String(), joined(statuses))
	if err != nil {
		return Page[Order]{}, err
	}
	query := driver.OrderQuery{
		CompanyID: caller.companyID, EventID: filter.EventID, Statuses: statuses, After: list.after, Limit: list.limit,
	}
	ctx, end := s.observe(ctx, operationListOrders)
	var page Page[Order]
	err = s.runCurrent(ctx, caller, GrantOrderRead, func(caller Caller) (err error) {
		page, err = s.readOrderPage(ctx, caller, query, list.cut)
		return err
	})
	end(err)
	return page, err
}

// orderPage identifies a page of orders.
type orderPage struct {
	companyID, eventID uuid.UUID
	statuses           string
	after              int64
	limit              int
}

// readOrderPage reads a page of orders. If many pages are read, calls for the same page share a read. Each then has a
// slot of its company while it renders the page, as a call that read it itself.
func (s *Service) readOrderPage(
	ctx context.Context, caller Caller, query driver.OrderQuery,
	cut func([]driver.Order) (of []driver.Order, more bool, cursor string),
) (Page[Order], error) {
	onSlot := func(run func() (lines int, err error)) error {
		return s.runOnPageSlot(ctx, operationListOrders, query.CompanyID, run)
	}
	read := func(begin func() []Caller) (page Page[Order], held []error, err error) {
		err = onSlot(func() (lines int, err error) {
			err = s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
				held, err = s.readForAll(ctx, tx, begin(), func(ctx context.Context, tx driver.ReadTx) error {
					records, admissions, err := listOrdersWithLines(ctx, tx, query)
					if err != nil {
						return err
					}
					records, page.HasMore, page.NextCursor = cut(records)
					page.Items, err = showOrdersOf(ctx, tx, records, admissions)
					return err
				})
				return err
			})
			return linesOn(page), err
		})
		return page, held, err
	}
	defer s.pages.Add(-1)
	if s.pages.Add(1) <= manyReads || !s.sharesPages {
		page, held, err := read(func() []Caller { return []Caller{caller} })
		if err := coalesce.ErrorOf(err, held, 0); err != nil {
			return Page[Order]{}, err
		}
		return page, nil
	}
	page, leads, err := s.orderPages.Do(ctx, orderPage{
		query.CompanyID, query.EventID, joined(query.Statuses), query.After, query.Limit,
	}, caller, read)
	if err == nil && !leads {
		err = onSlot(func() (lines int, err error) { return linesOn(page), nil })
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("ticketing: %s: %w", operationListOrders, err)
		}
		return Page[Order]{}, err
	}
	return copyOrders(page), nil
}

// linesOn returns how many lines a page has. They say how much there is to render, see runOnPageSlot.
func linesOn(page Page[Order]) (lines int) {
	for _, order := range page.Items {
		lines += len(order.Lines)
	}
	return lines
}

// copyOrders returns a page that shares nothing that its caller may change.
func copyOrders(page Page[Order]) Page[Order] {
	copyText := func(texts ...**string) {
		for _, text := range texts {
			if *text != nil {
				*text = new(**text)
			}
		}
	}
	page.Items = slices.Clone(page.Items)
	for i := range page.Items {
		order := &page.Items[i]
		order.Lines = slices.Clone(order.Lines)
		copyText(&order.Buyer.Fullname, &order.Buyer.Phone, &order.Branding.LogoURL, &order.Branding.CheckoutFooter,
			&order.Branding.TicketFooter, &order.Branding.EmailFooter, &order.Branding.SupportEmail)
	}
	return page
}

// statuses checks the wanted statuses and returns them sorted: the same statuses in another order are the same filter,
// and so have the same cursor. It reports a status that is unknown and one that is named twice (section 4.8). An empty
// list means any status, and it is a filter of its own for the cursor.
func (f OrderFilter) statuses(v *violations) []OrderStatus {
	for i, status := range f.Statuses {
		switch status {
		case OrderConfirmed, OrderCancelled, OrderRefunded:
		default:
			v.add("status", "must be of CONFIRMED, CANCELLED and REFUNDED")
		}
		if slices.Contains(f.Statuses[:i], status) {
			v.add("status", fmt.Sprintf("names %s twice", status))
		}
	}
	return slices.Sorted(slices.Values(f.Statuses))
}

// joined returns statuses as one part of a cursor's scope. No status holds a comma, so different lists have different
// texts.
func joined(statuses []OrderStatus) string {
	var b strings.Builder
	for _, status := range statuses {
		b.WriteString(string(status))
		b.WriteByte(',')
	}
	return b.String()
}

// showOrders renders records as the contract shows them (section 2.6). It takes three reads for any number of records:
// lines, rates and brandings. Rates and brandings are append-only, so each order shows those of its sale, and it makes
// no difference that the reads may see different moments.
func showOrders(ctx context.Context, tx driver.ReadTx, records []driver.Order) ([]Order, error) {
	if len(records) == 0 {
		return []Order{}, nil
	}
	numbers := make([]driver.OrderNumber, len(records))
	for i, o := range records {
		numbers[i] = driver.OrderNumber{CompanyID: o.CompanyID, Number: o.Number}
	}
	admissions, err := tx.OrderLines(ctx, numbers)
	if err != nil {
		return nil, err
	}
	return showOrdersOf(ctx, tx, records, admissions)
}

// ordersWithLines reads orders and their lines, in one message where the store can.
func ordersWithLines(
	ctx context.Context, tx driver.ReadTx, refs []driver.OrderRef,
) ([]driver.Order, []driver.Admission, error) {
	if reader, ok := tx.(driver.LineReader); ok {
		return reader.OrdersWithLines(ctx, refs)
	}
	records, err := tx.Orders(ctx, refs)
	if err != nil {
		return nil, nil, err
	}
	return linesOf(ctx, tx, records)
}

// listOrdersWithLines does the same with a page of orders.
func listOrdersWithLines(
	ctx context.Context, tx driver.ReadTx, query driver.OrderQuery,
) ([]driver.Order, []driver.Admission, error) {
	if reader, ok := tx.(driver.LineReader); ok {
		return reader.ListOrdersWithLines(ctx, query)
	}
	records, err := tx.ListOrders(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	return linesOf(ctx, tx, records)
}

// linesOf returns the records with their lines.
func linesOf(
	ctx context.Context, tx driver.ReadTx, records []driver.Order,
) ([]driver.Order, []driver.Admission, error) {
	var numbers []driver.OrderNumber
	for _, o := range records {
		if o.ID != uuid.Nil {
			numbers = append(numbers, driver.OrderNumber{CompanyID: o.CompanyID, Number: o.Number})
		}
	}
	lines, err := tx.OrderLines(ctx, numbers)
	return records, lines, err
}

// showOrdersOf shows orders whose lines were read already. Lines of other orders are left out.
func showOrdersOf(
	ctx context.Context, tx driver.ReadTx, records []driver.Order, admissions []driver.Admission,
) ([]Order, error) {
	rateRefs, brandingRefs := termsOf(records)
	// The lines of all orders come in one list and are divided by order. Within an order they stay in their order.
	lines := make(map[driver.OrderNumber][]driver.Admission, len(records))
	for _, a := range admissions {
		of := driver.OrderNumber{CompanyID: a.CompanyID, Number: a.OrderNumber}
		lines[of] = append(lines[of], a)
	}
	found, err := tx.Rates(ctx, rateRefs)
	if err != nil {
		return nil, err
	}
	rates := make(map[driver.RateRef]driver.Rate, len(found))
	for i, ref := range rateRefs {
		rates[ref] = found[i]
	}
	brandings, err := findBrandings(ctx, tx, brandingRefs)
	if err != nil {
		return nil, err
	}
	// The order of the records is kept: a page is newest first.
	orders := make([]Order, len(records))
	for i, o := range records {
		orders[i] = showOrder(o, lines[o.NumberRef()], rates[driver.RateRef{CompanyID: o.CompanyID, ID: o.RateID}],
			brandings[driver.BrandingRef{CompanyID: o.CompanyID, Version: o.Branding}])
	}
	return orders, nil
}

// termsOf returns the references of the rates and the brandings of orders. Most orders of a page have the same ones, so
// each is there once.
func termsOf(records []driver.Order) ([]driver.RateRef, []driver.BrandingRef) {
	rates := make([]driver.RateRef, len(records))
	brandings := make([]driver.BrandingRef, len(records))
	for i, o := range records {
		rates[i] = driver.RateRef{CompanyID: o.CompanyID, ID: o.RateID}
		brandings[i] = driver.BrandingRef{CompanyID: o.CompanyID, Version: o.Branding}
	}
	brandings = distinct(brandings)
	sortBrandings(brandings)
	return distinct(rates), brandings
}

// sortBrandings puts references in the order of every read of brandings, so that one that was announced is recognised.
func sortBrandings(refs []driver.BrandingRef) {
	slices.SortFunc(refs, func(a, b driver.BrandingRef) int {
		return cmp.Or(bytes.Compare(a.CompanyID[:], b.CompanyID[:]), cmp.Compare(a.Version, b.Version))
	})
}

// findBrandings returns brandings by reference. One that does not exist is the zero record.
func findBrandings(
	ctx context.Context, tx driver.ReadTx, refs []driver.BrandingRef,
) (map[driver.BrandingRef]driver.Branding, error) {
	found, err := tx.Brandings(ctx, refs)
	if err != nil {
		return nil, err
	}
	brandings := make(map[driver.BrandingRef]driver.Branding, len(refs))
	for i, ref := range refs {
		brandings[ref] = found[i]
	}
	return brandings, nil
}

// showOrder returns the record as the contract shows it. FLOAT was debited with the gross and EARNINGS credited with
// the commission, so the balances after the sale follow from those before it. A replayed checkout is rendered by the
// same function, which makes it equal to the first result.
func showOrder(o driver.Order, lines []driver.Admission, rate driver.Rate, branding driver.Branding) Order {
	shown := Order{
		ID: o.ID, Object: "order", EventID: o.EventID, Status: o.Status, Gross: o.Gross, FloatDebited: o.Gross,
		Commission: OrderCommission{
			Amount: o.Commission, Rate: OrderRate{ID: rate.ID, Value: rate.Rate.Value(), Unit: rate.Rate.Unit()},
		},
		Balances: OrderBalances{
			FloatBefore: o.FloatBefore, FloatAfter: o.FloatBefore - o.Gross,
			EarningsBefore: o.EarningsBefore, EarningsAfter: o.EarningsBefore + o.Commission,
		},
		Buyer: Buyer{
			Email: o.BuyerEmail, Fullname: optional(o.BuyerFullname), Phone: optional(o.BuyerPhone),
		},
		Branding: showBranding(branding), Lines: make([]OrderLine, len(lines)),
		ConfirmedAt: Time{Time: o.ConfirmedAt}, CreatedAt: Time{Time: o.CreatedAt},
	}
	for i, l := range lines {
		shown.Lines[i] = OrderLine{
			ID: l.LineID, AdmissionID: l.ID, Title: l.Title, Tier: l.Tier, UnitPrice: l.UnitPrice,
		}
	}
	return shown
}
