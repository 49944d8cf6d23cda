package ticketing

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/cursor"
)

// OrderDetail is an order as an operator sees it: that of section 2.6, and what became of it.
type OrderDetail struct {
	Order

	CompanyID uuid.UUID         `json:"companyId"`
	Lines     []OrderDetailLine `json:"lines"`
	Ending    *OrderEnding      `json:"ending"` // what refunded or cancelled it
}

// OrderDetailLine is one admission of an order and whether it was let in.
type OrderDetailLine struct {
	OrderLine

	Voided     bool                 `json:"voided"`
	Validation *OrderLineValidation `json:"validation"` // the scan that admitted its holder
}

// OrderLineValidation is when and where an admission was validated.
type OrderLineValidation struct {
	ID          uuid.UUID `json:"id"`
	Location    *string   `json:"location"`
	ValidatedAt Time      `json:"validatedAt"`
}

// OrderSearch says which orders an operator lists.
type OrderSearch struct {
	OrderFilter

	Email string // of the buyer; empty: of any
}

// searchWindow is how many of a company's orders one statement looks through for those of a buyer. No index leads from
// a buyer to the orders, since every checkout would pay for it: a million orders take about a second.
const searchWindow = 200_000

// findOrder finds an order by its id alone, for an actor that may see it.
func (o Operator) findOrder(ctx context.Context, tx ReadTx, id uuid.UUID) (OrderRecord, error) {
	found, err := tx.FindOrder(ctx, id)
	if err == nil && (found.ID == uuid.Nil || !o.reaches(found.CompanyID)) {
		err = errOrderNotFound
	}
	return found, err
}

// GetOrder shows an order of whichever company, when and where each of its admissions was validated, and what ended it,
// all as of one moment. It needs tenant_order:read.
func (o Operator) GetOrder(ctx context.Context, id uuid.UUID) (OrderDetail, error) {
	if err := o.holds(PermissionOrderRead); err != nil {
		return OrderDetail{}, err
	}
	var shown OrderDetail
	err := o.s.store.Snapshot(ctx, func(ctx context.Context, tx ReadTx) error {
		record, err := o.findOrder(ctx, tx, id)
		if err != nil {
			return err
		}
		shown, err = only(showDetails(ctx, tx, []OrderRecord{record}))
		return err
	})
	if err != nil {
		return OrderDetail{}, err
	}
	return shown, nil
}

// ListOrders pages through a company's orders, newest first, each page as of one moment. With an email it looks
// through all orders of the company, unless nobody of that email ever bought there. It needs tenant_order:read.
func (o Operator) ListOrders(
	ctx context.Context, companyID uuid.UUID, search OrderSearch,
) (Page[OrderDetail], error) {
	if err := o.allow(PermissionOrderRead, companyID); err != nil {
		return Page[OrderDetail]{}, err
	}
	var v violations
	limit := search.limit(&v)
	statuses := search.statuses(&v)
	search.Email = email(&v, "email", search.Email, maxBuyerEmail)
	if err := v.err(); err != nil {
		return Page[OrderDetail]{}, err
	}
	scope := cursor.Scope("company-orders", companyID.String(), search.EventID.String(), joined(statuses), search.Email)
	position, err := search.read(scope, numberSize)
	if err != nil {
		return Page[OrderDetail]{}, err
	}
	query := OrderQuery{
		CompanyID: companyID, EventID: search.EventID, Statuses: statuses, BuyerEmail: search.Email, Limit: limit + 1,
	}
	if query.Before, err = parseNumber(position); err != nil {
		return Page[OrderDetail]{}, err
	}
	var page Page[OrderDetail]
	err = o.snapshot(ctx, PermissionOrderRead, companyID,
		func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
			records, err := searchOrders(ctx, tx, query)
			if err != nil {
				return err
			}
			records, page.NextCursor = turn(records, limit, scope, func(o OrderRecord) []byte {
				return numberBytes(o.Number)
			})
			page.HasMore = page.NextCursor != ""
			page.Items, err = showDetails(ctx, tx, records)
			return err
		})
	if err != nil {
		return Page[OrderDetail]{}, err
	}
	return page, nil
}

// searchOrders lists orders. Those of a buyer it looks for window by window, newest first.
func searchOrders(ctx context.Context, tx ReadTx, query OrderQuery) ([]OrderRecord, error) {
	if query.BuyerEmail == "" {
		return tx.ListOrders(ctx, query)
	}
	// An erased buyer's email is in an order, and in no record.
	if !strings.HasSuffix(query.BuyerEmail, erasedDomain) {
		buyer, err := only(tx.Buyers(ctx, []BuyerRef{{CompanyID: query.CompanyID, Email: query.BuyerEmail}}))
		if err != nil || buyer.Email == "" {
			return nil, err
		}
	}
	if query.Before == 0 {
		float, err := only(tx.Wallets(ctx, walletRefs(query.CompanyID)[:1]))
		if err != nil {
			return nil, err
		}
		query.Before = float.Sequence + 1
	}
	var found []OrderRecord
	for oldest := query.After; query.Before > oldest+1 && query.Limit > 0; {
		query.After = max(query.Before-1-searchWindow, oldest)
		part, err := tx.ListOrders(ctx, query)
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
		query.Before, query.Limit = query.After+1, query.Limit-len(part)
	}
	return found, nil
}

// showDetails makes records what an operator sees, in a few reads for any number of them.
func showDetails(ctx context.Context, tx ReadTx, records []OrderRecord) ([]OrderDetail, error) {
	if len(records) == 0 {
		return []OrderDetail{}, nil
	}
	orders, err := showOrders(ctx, tx, records)
	if err != nil {
		return nil, err
	}
	numbers := make([]OrderNumber, len(records))
	for i, record := range records {
		numbers[i] = record.number()
	}
	endings, err := tx.OrderEndings(ctx, numbers)
	if err != nil {
		return nil, err
	}
	admissions, err := tx.OrderLines(ctx, numbers)
	if err != nil {
		return nil, err
	}
	lines := make(map[OrderNumber][]OrderDetailLine, len(records))
	for _, a := range admissions {
		of := OrderNumber{CompanyID: a.CompanyID, Number: a.OrderNumber}
		lines[of] = append(lines[of], a.detail())
	}
	details := make([]OrderDetail, len(records))
	for i, record := range records {
		details[i] = OrderDetail{
			Order: orders[i], CompanyID: record.CompanyID, Lines: lines[numbers[i]], Ending: endings[i].ending(),
		}
	}
	return details, nil
}

func (a AdmissionRecord) detail() OrderDetailLine {
	shown := OrderDetailLine{
		OrderLine: OrderLine{ID: a.LineID, AdmissionID: a.ID, Title: a.Title, Tier: a.Tier, UnitPrice: a.UnitPrice},
		Voided:    a.Voided,
	}
	if a.ValidationID != uuid.Nil {
		shown.Validation = &OrderLineValidation{
			ID: a.ValidationID, Location: optional(a.Location), ValidatedAt: Time{a.ValidatedAt},
		}
	}
	return shown
}

func (e OrderEndingRecord) ending() *OrderEnding {
	if e.OrderID == uuid.Nil {
		return nil
	}
	return &OrderEnding{Reason: e.Reason, Restocked: e.Restocked, At: Time{e.At}}
}
