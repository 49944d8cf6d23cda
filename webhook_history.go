package ticketing

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// DeliveryFilter selects deliveries of a company. A zero field selects all. A delivery is selected if it matches every
// field. The times compare with the creation of a delivery, which for a replay is the time of the replay.
type DeliveryFilter struct {
	EndpointID uuid.UUID      // an endpoint that the company has now
	Status     DeliveryStatus // one of the statuses of a delivery
	Type       FactType       // one of [WebhookEventTypes]
	Since      time.Time      // created then or later
	Until      time.Time      // created before
}

// errDeliveryNotFound is also for deliveries that the actor may not see, and for those that were pruned.
var errDeliveryNotFound = notFound("The delivery")

// check checks a filter and returns it with its times in milliseconds, as deliveries are kept.
func (f DeliveryFilter) check(v *violations) DeliveryFilter {
	switch f.Status {
	case "", DeliveryPending, DeliverySucceeded, DeliveryFailed, DeliveryCancelled:
	default:
		v.add("status", "must be PENDING, SUCCEEDED, FAILED or CANCELLED")
	}
	if f.Type != "" {
		checkEventType(v, "type", f.Type)
	}
	checkPeriod(v, &f.Since, &f.Until)
	return f
}

// checkPeriod checks the times Since and Until of a filter and rounds them to milliseconds, as records are kept. A zero
// time is no bound.
func checkPeriod(v *violations, since, until *time.Time) {
	checkNamedPeriod(v, "since", since, "until", until)
}

// checkNamedPeriod is checkPeriod for times of other names.
func checkNamedPeriod(v *violations, beginName string, begin *time.Time, endName string, end *time.Time) {
	for _, bound := range []struct {
		path string
		at   *time.Time
	}{{beginName, begin}, {endName, end}} {
		if !bound.at.IsZero() {
			checkYear(v, bound.path, *bound.at)
			*bound.at = upwards(*bound.at)
		}
	}
	if !begin.IsZero() && !end.IsZero() && !begin.Before(*end) {
		v.add(endName, "must be later than "+beginName)
	}
}

// upwards returns the first whole millisecond that is not before t. Deliveries are created at whole milliseconds, so
// each of them is on the same side of both times.
func upwards(t time.Time) time.Time { return storedTime(t.Add(time.Millisecond - 1)) }

// scope returns what a cursor of this listing is bound to: the company and every field of the filter. The times are in
// milliseconds, as check returned them.
func (f DeliveryFilter) scope(companyID uuid.UUID) []string {
	return []string{
		"deliveries", companyID.String(), f.EndpointID.String(), string(f.Status), string(f.Type),
		strconv.FormatInt(f.Since.UnixMilli(), 10), strconv.FormatInt(f.Until.UnixMilli(), 10),
	}
}

// query returns the filter as a query of the store. An endpoint that the company does not have, or no longer has, is
// NOT_FOUND: its deliveries are found without naming it.
func (f DeliveryFilter) query(
	ctx context.Context, tx driver.ReadTx, companyID uuid.UUID,
) (driver.DeliveryQuery, error) {
	query := driver.DeliveryQuery{CompanyID: companyID, Status: f.Status, Type: f.Type, Since: f.Since, Until: f.Until}
	if f.EndpointID == uuid.Nil {
		return query, nil
	}
	endpoint, err := tx.FindWebhookEndpoint(ctx, f.EndpointID)
	// An endpoint of another company appears absent, like one that never existed.
	if err == nil && endpoint.CompanyID != companyID {
		err = errEndpointNotFound
	}
	query.Endpoint = endpoint.Number
	return query, err
}

// ListDeliveries returns a page of a company's deliveries, newest first: the pending ones, those that arrived, and the
// dead letters, which are FAILED (section 6.5). It includes deliveries to endpoints that were deleted, unless the
// filter names an endpoint. It leaves out the log of attempts. It needs COMPANY:webhook:read.
//
// Final deliveries are kept for [Config.WebhookRetention]. It is INVALID_REQUEST for an unknown status or type and for
// an Until that is not after Since, NOT_FOUND for an endpoint that the company does not have, and INVALID_CURSOR for a
// cursor of another company or filter.
func (o Operator) ListDeliveries(
	ctx context.Context, companyID uuid.UUID, filter DeliveryFilter, params PageParams,
) (Page[WebhookDelivery], error) {
	if err := o.allow(PermissionWebhookRead, companyID); err != nil {
		return Page[WebhookDelivery]{}, err
	}
	var v violations
	filter = filter.check(&v)
	list, err := openListing(byTime(driver.Delivery.Position), params, v, filter.scope(companyID)...)
	if err != nil {
		return Page[WebhookDelivery]{}, err
	}
	// All deliveries of the page are shown as of this time, which decides whether a lease is over.
	at := o.s.now()
	var records []driver.Delivery
	err = o.view(ctx, PermissionWebhookRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			query, err := filter.query(ctx, tx, companyID)
			if err != nil {
				return err
			}
			query.After, query.Limit = list.after, list.limit
			records, err = tx.ListDeliveries(ctx, query)
			return err
		})
	if err != nil {
		return Page[WebhookDelivery]{}, err
	}
	var page Page[WebhookDelivery]
	records, page.HasMore, page.NextCursor = list.cut(records)
	page.Items = make([]WebhookDelivery, len(records))
	for i, record := range records {
		page.Items[i] = showDelivery(record, at)
		// A list with the logs of a hundred deliveries would be long, and its summary is in the other fields.
		page.Items[i].Log = nil
	}
	return page, nil
}

// CountDeliveries returns how many of a company's deliveries a filter selects. Its errors are those of
// [Operator.ListDeliveries], except for the cursor. It needs COMPANY:webhook:read.
func (o Operator) CountDeliveries(ctx context.Context, companyID uuid.UUID, filter DeliveryFilter) (int, error) {
	return o.countDeliveries(ctx, companyID, filter, 0)
}

// CountDeliveriesTo is [Operator.CountDeliveries], but it stops counting at limit, so its time is bounded however many
// deliveries there are. A limit below 1 is INVALID_REQUEST.
func (o Operator) CountDeliveriesTo(
	ctx context.Context, companyID uuid.UUID, filter DeliveryFilter, limit int,
) (int, error) {
	if err := o.allow(PermissionWebhookRead, companyID); err != nil {
		return 0, err
	}
	if limit <= 0 {
		var v violations
		v.add("limit", "must be positive")
		return 0, v.err()
	}
	return o.countDeliveries(ctx, companyID, filter, limit)
}

// countDeliveries counts at most limit deliveries, or all if that is zero.
func (o Operator) countDeliveries(
	ctx context.Context, companyID uuid.UUID, filter DeliveryFilter, limit int,
) (int, error) {
	if err := o.allow(PermissionWebhookRead, companyID); err != nil {
		return 0, err
	}
	var v violations
	filter = filter.check(&v)
	if err := v.err(); err != nil {
		return 0, err
	}
	var number int
	err := o.view(ctx, PermissionWebhookRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			query, err := filter.query(ctx, tx, companyID)
			if err != nil {
				return err
			}
			number, err = tx.CountDeliveries(ctx, query, limit)
			return err
		})
	if err != nil {
		return 0, err
	}
	return number, nil
}

// GetDelivery returns a delivery with all its attempts. A delivery that was pruned is NOT_FOUND. It needs
// COMPANY:webhook:read. Whether it is being tried depends on the time of the call, which decides whether a lease is
// over.
func (o Operator) GetDelivery(ctx context.Context, id uuid.UUID) (WebhookDelivery, error) {
	found, err := o.findDelivery(ctx, PermissionWebhookRead, id)
	if err != nil {
		return WebhookDelivery{}, err
	}
	return showDelivery(found, o.s.now()), nil
}

// findDelivery finds a delivery by its id alone, for an actor that may see it. A delivery of a company that the actor
// does not reach is NOT_FOUND.
func (o Operator) findDelivery(ctx context.Context, permission Permission, id uuid.UUID) (driver.Delivery, error) {
	return findReached(ctx, o, permission, id, errDeliveryNotFound, driver.ReadTx.FindDelivery,
		func(d driver.Delivery) uuid.UUID { return d.CompanyID })
}
