package ticketing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/cursor"
)

var errOrderNotFound = notFound("The order")

// GetOrder finds an order (section 4.8). It needs COMPANY:order:read. An order of another company is NOT_FOUND.
func (s *Service) GetOrder(ctx context.Context, caller Caller, id uuid.UUID) (Order, error) {
	if err := caller.Require(GrantOrderRead); err != nil {
		return Order{}, err
	}
	var found Order
	err := s.read(ctx, "orders.get", caller, func(ctx context.Context, tx ReadTx) error {
		record, err := only(tx.Orders(ctx, []OrderRef{{CompanyID: caller.companyID, ID: id}}))
		if err != nil {
			return err
		}
		if record.ID == uuid.Nil {
			return errOrderNotFound
		}
		found, err = only(showOrders(ctx, tx, []OrderRecord{record}))
		return err
	})
	return found, err
}

// ListOrders lists the company's orders, newest first (section 4.8). It needs COMPANY:order:read. The order of the
// list is that of the balance chain: an order's place is the sequence of its FLOAT entry, not a clock.
func (s *Service) ListOrders(ctx context.Context, caller Caller, filter OrderFilter) (Page[Order], error) {
	if err := caller.Require(GrantOrderRead); err != nil {
		return Page[Order]{}, err
	}
	var v violations
	limit := filter.limit(&v)
	statuses := filter.statuses(&v)
	if err := v.err(); err != nil {
		return Page[Order]{}, err
	}
	scope := cursor.Scope("orders", caller.companyID.String(), filter.EventID.String(), joined(statuses))
	position, err := filter.read(scope, numberSize)
	if err != nil {
		return Page[Order]{}, err
	}
	query := OrderQuery{
		CompanyID: caller.companyID, EventID: filter.EventID, Statuses: statuses, Limit: limit + 1,
	}
	if query.Before, err = parseNumber(position); err != nil {
		return Page[Order]{}, err
	}
	var page Page[Order]
	err = s.readPage(ctx, "orders.list", caller, func(ctx context.Context, tx ReadTx) (lines int, err error) {
		records, err := tx.ListOrders(ctx, query)
		if err != nil {
			return 0, err
		}
		records, page.NextCursor = turn(records, limit, scope, func(o OrderRecord) []byte {
			return numberBytes(o.Number)
		})
		page.HasMore = page.NextCursor != ""
		page.Items, err = showOrders(ctx, tx, records)
		for _, order := range page.Items {
			lines += len(order.Lines)
		}
		return lines, err
	})
	return page, err
}

// statuses are the wanted ones in one order, so that a list in another order is the same filter.
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

func joined(statuses []OrderStatus) string {
	var b strings.Builder
	for _, status := range statuses {
		b.WriteString(string(status))
		b.WriteByte(',')
	}
	return b.String()
}

// showOrders makes records what the contract shows, in three reads for any number of them.
func showOrders(ctx context.Context, tx ReadTx, records []OrderRecord) ([]Order, error) {
	if len(records) == 0 {
		return []Order{}, nil
	}
	numbers := make([]OrderNumber, len(records))
	rateRefs := make([]RateRef, len(records))
	brandingRefs := make([]BrandingRef, len(records))
	for i, o := range records {
		numbers[i] = OrderNumber{CompanyID: o.CompanyID, Number: o.Number}
		rateRefs[i] = RateRef{CompanyID: o.CompanyID, ID: o.RateID}
		brandingRefs[i] = BrandingRef{CompanyID: o.CompanyID, Version: o.Branding}
	}
	admissions, err := tx.OrderLines(ctx, numbers)
	if err != nil {
		return nil, err
	}
	lines := make(map[OrderNumber][]AdmissionRecord, len(records))
	for _, a := range admissions {
		of := OrderNumber{CompanyID: a.CompanyID, Number: a.OrderNumber}
		lines[of] = append(lines[of], a)
	}
	rateRefs, brandingRefs = distinct(rateRefs), distinct(brandingRefs)
	found, err := tx.Rates(ctx, rateRefs)
	if err != nil {
		return nil, err
	}
	rates := make(map[RateRef]RateRecord, len(found))
	for i, ref := range rateRefs {
		rates[ref] = found[i]
	}
	brandings, err := findBrandings(ctx, tx, brandingRefs)
	if err != nil {
		return nil, err
	}
	orders := make([]Order, len(records))
	for i, o := range records {
		orders[i] = o.order(lines[numbers[i]], rates[RateRef{CompanyID: o.CompanyID, ID: o.RateID}],
			brandings[BrandingRef{CompanyID: o.CompanyID, Version: o.Branding}])
	}
	return orders, nil
}

func findBrandings(ctx context.Context, tx ReadTx, refs []BrandingRef) (map[BrandingRef]BrandingRecord, error) {
	found, err := tx.Brandings(ctx, refs)
	if err != nil {
		return nil, err
	}
	brandings := make(map[BrandingRef]BrandingRecord, len(refs))
	for i, ref := range refs {
		brandings[ref] = found[i]
	}
	return brandings, nil
}

func (o OrderRecord) order(lines []AdmissionRecord, rate RateRecord, branding BrandingRecord) Order {
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
		Branding: branding.branding(), Lines: make([]OrderLine, len(lines)),
		ConfirmedAt: Time{o.ConfirmedAt}, CreatedAt: Time{o.CreatedAt},
	}
	for i, l := range lines {
		shown.Lines[i] = OrderLine{
			ID: l.LineID, AdmissionID: l.ID, Title: l.Title, Tier: l.Tier, UnitPrice: l.UnitPrice,
		}
	}
	return shown
}
