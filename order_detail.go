package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// OrderDetail is an order as an operator sees it: the order of section 2.6, and what became of it since. It is no part
// of the public contract, so it may show more than [Order] does.
type OrderDetail struct {
	Order

	CompanyID  uuid.UUID         `json:"companyId"`
	EventTitle string            `json:"eventTitle"` // the current one
	Lines      []OrderDetailLine `json:"lines"`      // replaces that of Order in the JSON
	Ending     *OrderEnding      `json:"ending"`     // why and when it was refunded or cancelled; nil: it is CONFIRMED
}

// OrderDetailLine is one admission of an order, and whether its holder was admitted.
type OrderDetailLine struct {
	OrderLine

	Voided     bool                 `json:"voided"`     // the order was refunded or cancelled, so it no longer admits
	Validation *OrderLineValidation `json:"validation"` // the scan that admitted its holder; nil: none yet
}

// OrderLineValidation is when and where an admission was validated. It is the first validation, with the outcome
// ADMITTED; a later scan changes none of it (section 2.8).
type OrderLineValidation struct {
	ID          uuid.UUID `json:"id"`
	Location    *string   `json:"location"`
	ValidatedAt Time      `json:"validatedAt"`
}

// OrderSearch selects the orders that an operator lists.
type OrderSearch struct {
	OrderFilter

	Email string // of the buyer, in any case; empty: of any buyer
	// EmailPrefix is the beginning of the buyer's email, in any case, instead of a whole one. It may be that of at most
	// [MaxPrefixBuyers] buyers. Empty: of any buyer.
	EmailPrefix string
	// From and To are a period: orders that were confirmed at or after From and before To. A zero time is no bound.
	From, To time.Time
}

// findOrder finds an order by its id alone, for an actor that may see it. An order of a company that the actor does not
// reach is NOT_FOUND, like one that does not exist.
func (o Operator) findOrder(ctx context.Context, tx driver.ReadTx, id uuid.UUID) (driver.Order, error) {
	// The id alone has to suffice, since an operator may not know the company.
	found, err := tx.FindOrder(ctx, id)
	return found, o.orMissing(err, found.CompanyID, errOrderNotFound)
}

// GetOrder returns an order of any company, when and where each of its admissions was validated, and what ended it. All
// of it is as of one moment, so a refund is never seen with admissions that still admit. An unknown order is NOT_FOUND.
// It needs tenant_order:read or COMPANY:order:read.
func (o Operator) GetOrder(ctx context.Context, id uuid.UUID) (OrderDetail, error) {
	if err := o.holds(o.readsOrders()); err != nil {
		return OrderDetail{}, err
	}
	var shown OrderDetail
	err := o.s.store.Snapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		record, err := o.findOrder(ctx, tx, id)
		if err != nil {
			return err
		}
		shown, err = firstRecord(showDetails(ctx, o.s.cached(tx), []driver.Order{record}))
		return err
	})
	if err != nil {
		return OrderDetail{}, err
	}
	return shown, nil
}

// ListOrders returns a page of a company's orders, newest first, as of one moment. It needs tenant_order:read or
// COMPANY:order:read.
//
// With an email it finds the orders in an index, and searches those that the index lacks: orders whose facts are not
// dispatched, and orders from before an upgrade until [Service.Run] has indexed them. The cursor is bound to the
// company and to every filter, so a cursor of another search is INVALID_CURSOR. A malformed email, limit or status is
// INVALID_REQUEST, and so is a To that is not later than From, an EmailPrefix beside an Email, and one of too many
// buyers.
//
// The orders of a period are found by the times of the FLOAT entries, with a few reads however many orders there are.
func (o Operator) ListOrders(
	ctx context.Context, companyID uuid.UUID, search OrderSearch,
) (Page[OrderDetail], error) {
	permission := o.readsOrders()
	if err := o.allow(permission, companyID); err != nil {
		return Page[OrderDetail]{}, err
	}
	var v violations
	search.check(&v)
	// The scope differs from that of the public listing: a cursor of one is invalid in the other.
	list, err := openListing(byNumber(func(o driver.Order) int64 { return o.Number }), search.PageParams, v,
		"company-orders", companyID.String(), search.EventID.String(), joined(search.Statuses), search.buyers(),
		periodScope(search.From, search.To))
	if err != nil {
		return Page[OrderDetail]{}, err
	}
	var page Page[OrderDetail]
	err = o.snapshot(ctx, permission, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			// The search and the rendering share the snapshot, so a page never mixes two moments.
			query := driver.OrderQuery{
				CompanyID: companyID, EventID: search.EventID, Statuses: search.Statuses, BuyerEmail: search.Email,
				After: list.after, Limit: list.limit,
			}
			if err := search.bound(ctx, tx, o.s.knownPlaces, &query); err != nil {
				return err
			}
			records, err := search.find(ctx, tx, query)
			if err != nil {
				return err
			}
			records, page.HasMore, page.NextCursor = list.cut(records)
			page.Items, err = showDetails(ctx, tx, records)
			return err
		})
	if err != nil {
		return Page[OrderDetail]{}, err
	}
	return page, nil
}

// showDetails renders records as an operator sees them. The number of statements does not depend on that of the
// records.
func showDetails(ctx context.Context, tx driver.ReadTx, records []driver.Order) ([]OrderDetail, error) {
	if len(records) == 0 {
		return []OrderDetail{}, nil
	}
	numbers := make([]driver.OrderNumber, len(records))
	for i, record := range records {
		numbers[i] = record.NumberRef()
	}
	// All that the records name is read in one message where the store can.
	announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
		_, _ = tx.OrderEndings(ctx, numbers)
		_, _ = eventTitles(ctx, tx, records)
		rates, brandings := termsOf(records)
		_, _ = tx.Rates(ctx, rates)
		_, _ = tx.Brandings(ctx, brandings)
	})
	// The statuses, endings and admissions are of one moment, because every caller runs in a snapshot or holds the locks.
	admissions, err := tx.OrderLines(ctx, numbers)
	if err != nil {
		return nil, err
	}
	// An operator sees the current status, where a replay of a checkout shows that of the sale.
	orders, err := showOrdersOf(ctx, tx, records, admissions)
	if err != nil {
		return nil, err
	}
	endings, err := tx.OrderEndings(ctx, numbers)
	if err != nil {
		return nil, err
	}
	lines := make(map[driver.OrderNumber][]OrderDetailLine, len(records))
	for _, a := range admissions {
		of := driver.OrderNumber{CompanyID: a.CompanyID, Number: a.OrderNumber}
		lines[of] = append(lines[of], showDetailLine(a))
	}
	titles, err := eventTitles(ctx, tx, records)
	if err != nil {
		return nil, err
	}
	details := make([]OrderDetail, len(records))
	for i, record := range records {
		details[i] = OrderDetail{
			Order: orders[i], CompanyID: record.CompanyID, EventTitle: titles[record.EventID], Lines: lines[numbers[i]],
			Ending: showEnding(endings[i]),
		}
	}
	return details, nil
}

// eventTitles returns the current titles of the events of orders.
func eventTitles(ctx context.Context, tx driver.ReadTx, records []driver.Order) (map[uuid.UUID]string, error) {
	refs := make([]driver.EventRef, len(records))
	for i, record := range records {
		refs[i] = driver.EventRef{CompanyID: record.CompanyID, ID: record.EventID}
	}
	events, err := tx.Events(ctx, distinct(refs))
	titles := make(map[uuid.UUID]string, len(events))
	for _, event := range events {
		titles[event.ID] = event.Title
	}
	return titles, err
}

// showDetailLine returns the line of an admission as an operator sees it. The validation stays visible after the order
// has ended: it says that the holder was admitted.
func showDetailLine(a driver.Admission) OrderDetailLine {
	shown := OrderDetailLine{
		OrderLine: OrderLine{ID: a.LineID, AdmissionID: a.ID, Title: a.Title, Tier: a.Tier, UnitPrice: a.UnitPrice},
		Voided:    a.Voided,
	}
	if a.ValidationID != uuid.Nil {
		shown.Validation = &OrderLineValidation{
			ID: a.ValidationID, Location: optional(a.Location), ValidatedAt: Time{Time: a.ValidatedAt},
		}
	}
	return shown
}

// showEnding returns what ended an order as an operator sees it, and nil for the zero record of a CONFIRMED one.
func showEnding(e driver.OrderEnding) *OrderEnding {
	if e.OrderID == uuid.Nil {
		return nil
	}
	return &OrderEnding{Reason: e.Reason, Restocked: e.Restocked, At: Time{Time: e.At}}
}
