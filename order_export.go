package ticketing

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// MaxExportLimit is the most orders that [Operator.ExportOrders] returns.
const MaxExportLimit = 1000

// ExportedOrder is an order as a row of a file.
type ExportedOrder struct {
	ID          uuid.UUID
	Status      OrderStatus
	ConfirmedAt Time
	EventID     uuid.UUID
	EventTitle  string // the current one
	Buyer       Buyer
	Tiers       []ExportedTier // in the order of its lines
	Admitted    int            // of its admissions
	Gross       money.Amount
	Commission  money.Amount
	Ending      *OrderEnding // nil: it is CONFIRMED
}

// ExportedTier is how many tickets of a tier an order has.
type ExportedTier struct {
	Tier    string
	Tickets int
}

// ExportOrders returns a page of a company's orders for a file, newest first, as of one moment. It is
// [Operator.ListOrders] with less in each order and more orders on a page: its limit is 1 to [MaxExportLimit], which is
// also the default. Its cursors are its own. It needs tenant_order:read or COMPANY:order:read.
func (o Operator) ExportOrders(
	ctx context.Context, companyID uuid.UUID, search OrderSearch,
) (Page[ExportedOrder], error) {
	permission := o.readsOrders()
	if err := o.allow(permission, companyID); err != nil {
		return Page[ExportedOrder]{}, err
	}
	limit := cmp.Or(search.Limit, MaxExportLimit)
	var v violations
	if limit < 1 || limit > MaxExportLimit {
		v.add("limit", fmt.Sprintf("must be from 1 to %d", MaxExportLimit))
	}
	search.check(&v)
	list, err := openListing(byNumber(func(o driver.Order) int64 { return o.Number }),
		PageParams{Cursor: search.Cursor}, v, "exported-orders", companyID.String(), search.EventID.String(),
		joined(search.Statuses), search.buyers(), periodScope(search.From, search.To))
	if err != nil {
		return Page[ExportedOrder]{}, err
	}
	list.limit = limit + 1
	var page Page[ExportedOrder]
	// A page has so many rows that to take them apart would cost more than a message for the company.
	err = o.lookAt(ctx, driver.Store.Snapshot, permission, companyID,
		func(ctx context.Context, tx driver.ReadTx, _ driver.Company) error {
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
			page.Items, err = exportOrders(ctx, tx, records)
			return err
		})
	if err != nil {
		return Page[ExportedOrder]{}, err
	}
	return page, nil
}

// exportOrders renders records as rows. The number of statements does not depend on that of the records.
func exportOrders(ctx context.Context, tx driver.ReadTx, records []driver.Order) ([]ExportedOrder, error) {
	exported := make([]ExportedOrder, len(records))
	if len(records) == 0 {
		return exported, nil
	}
	numbers := make([]driver.OrderNumber, len(records))
	index := make(map[int64]int, len(records))
	for i, record := range records {
		numbers[i], index[record.Number] = record.NumberRef(), i
	}
	endings, err := tx.OrderEndings(ctx, numbers)
	if err != nil {
		return nil, err
	}
	titles, err := eventTitles(ctx, tx, records)
	if err != nil {
		return nil, err
	}
	for i, record := range records {
		exported[i] = ExportedOrder{
			ID: record.ID, Status: record.Status, ConfirmedAt: Time{Time: record.ConfirmedAt}, EventID: record.EventID,
			EventTitle: titles[record.EventID], Gross: record.Gross, Commission: record.Commission,
			Buyer: Buyer{
				Email: record.BuyerEmail, Fullname: optional(record.BuyerFullname), Phone: optional(record.BuyerPhone),
			},
			Ending: showEnding(endings[i]),
		}
	}
	admissions, err := tx.OrderLines(ctx, numbers)
	for _, a := range admissions {
		exported[index[a.OrderNumber]].add(a)
	}
	return exported, err
}

// add adds an admission of the order. They come by line, so those of a tier need not follow each other.
func (o *ExportedOrder) add(a driver.Admission) {
	if a.ValidationID != uuid.Nil {
		o.Admitted++
	}
	for i := range o.Tiers {
		if o.Tiers[i].Tier == a.Tier {
			o.Tiers[i].Tickets++
			return
		}
	}
	o.Tiers = append(o.Tiers, ExportedTier{a.Tier, 1})
}

// RecordOrderExport records in the audit log that the actor exports a company's orders as a file. The changes of the
// entry are the filter. Call it before the first row leaves the server. Its errors and its permission are those of
// [Operator.ListOrders].
//
// The log outlives the erasure of a buyer. So the entry records only that the filter had an email, not the email
// itself.
func (o Operator) RecordOrderExport(ctx context.Context, companyID uuid.UUID, search OrderSearch) error {
	permission := o.readsOrders()
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	if companyID == uuid.Nil {
		return errNoCompany
	}
	var v violations
	search.check(&v)
	if err := v.err(); err != nil {
		return err
	}
	return o.recordExport(ctx, permission, companyID, "order", search.exported())
}

// check checks a search, and changes it to what is compared: its statuses sorted, its emails in lower case.
func (s *OrderSearch) check(v *violations) {
	s.Statuses = s.statuses(v)
	s.Email = email(v, "email", s.Email, maxBuyerEmail)
	s.EmailPrefix = strings.ToLower(trimmedText(v, "emailPrefix", s.EmailPrefix, maxBuyerEmail, false))
	if s.Email != "" && s.EmailPrefix != "" {
		v.add("emailPrefix", "must not be sent beside email")
	}
	checkNamedPeriod(v, "from", &s.From, "to", &s.To)
}

// exported returns the search as the entry of an export keeps it.
func (s *OrderSearch) exported() map[string]any {
	kept := map[string]any{}
	if s.Email != "" {
		kept["email"] = "an address"
	}
	if s.EmailPrefix != "" {
		kept["emailPrefix"] = "an address"
	}
	if s.EventID != uuid.Nil {
		kept["event"] = s.EventID
	}
	if len(s.Statuses) > 0 {
		kept["status"] = strings.TrimSuffix(joined(s.Statuses), ",")
	}
	for name, at := range map[string]time.Time{"from": s.From, "to": s.To} {
		if !at.IsZero() {
			kept[name] = Time{Time: at}
		}
	}
	return kept
}
