package ticketing

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/cursor"
)

// DeliveryFilter says which of a company's deliveries are meant. What is zero does not narrow them down.
type DeliveryFilter struct {
	EndpointID uuid.UUID // one that the company has
	Status     DeliveryStatus
	Type       FactType  // one of [WebhookEventTypes]
	Since      time.Time // created then or later
	Until      time.Time // created before
}

var errDeliveryNotFound = notFound("The delivery")

func (d DeliveryRecord) position() Position { return Position{At: d.CreatedAt, ID: d.ID} }

// check checks a filter, and answers with it as deliveries are kept: times in milliseconds.
func (f DeliveryFilter) check(v *violations) DeliveryFilter {
	switch f.Status {
	case "", DeliveryPending, DeliverySucceeded, DeliveryFailed, DeliveryCancelled:
	default:
		v.add("status", "must be PENDING, SUCCEEDED, FAILED or CANCELLED")
	}
	if f.Type != "" {
		checkEventType(v, "type", f.Type)
	}
	for _, bound := range []struct {
		path string
		at   *time.Time
	}{{"since", &f.Since}, {"until", &f.Until}} {
		if !bound.at.IsZero() {
			tellable(v, bound.path, *bound.at)
			*bound.at = upwards(*bound.at)
		}
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		v.add("until", "must be later than since")
	}
	return f
}

// upwards is the first whole millisecond that is not before a time: what was created at whole milliseconds lies on the
// same side of both.
func upwards(t time.Time) time.Time { return moment(t.Add(time.Millisecond - 1)) }

// scope is what a cursor of the filter's listing is good for.
func (f DeliveryFilter) scope(companyID uuid.UUID) [16]byte {
	return cursor.Scope("deliveries", companyID.String(), f.EndpointID.String(), string(f.Status), string(f.Type),
		strconv.FormatInt(f.Since.UnixMilli(), 10), strconv.FormatInt(f.Until.UnixMilli(), 10))
}

// query is the filter as a store is asked. An endpoint that the company does not have, any more, is NOT_FOUND.
func (f DeliveryFilter) query(ctx context.Context, tx ReadTx, companyID uuid.UUID) (DeliveryQuery, error) {
	query := DeliveryQuery{CompanyID: companyID, Status: f.Status, Type: f.Type, Since: f.Since, Until: f.Until}
	if f.EndpointID == uuid.Nil {
		return query, nil
	}
	endpoint, err := tx.FindWebhookEndpoint(ctx, f.EndpointID)
	if err == nil && endpoint.CompanyID != companyID {
		err = errEndpointNotFound
	}
	query.Endpoint = endpoint.Number
	return query, err
}

// ListDeliveries pages through a company's deliveries, newest first: what is on its way, what arrived, and the dead
// letters, those that are FAILED (section 6.5). Deliveries to endpoints that were deleted are among them, and are found
// without the filter's endpoint. It needs COMPANY:webhook:read.
func (o Operator) ListDeliveries(
	ctx context.Context, companyID uuid.UUID, filter DeliveryFilter, params PageParams,
) (Page[WebhookDelivery], error) {
	if err := o.allow(PermissionWebhookRead, companyID); err != nil {
		return Page[WebhookDelivery]{}, err
	}
	var v violations
	limit := params.limit(&v)
	filter = filter.check(&v)
	if err := v.err(); err != nil {
		return Page[WebhookDelivery]{}, err
	}
	scope := filter.scope(companyID)
	position, err := params.read(scope, positionSize)
	if err != nil {
		return Page[WebhookDelivery]{}, err
	}
	at := o.s.now()
	var records []DeliveryRecord
	err = o.view(ctx, PermissionWebhookRead, companyID,
		func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
			query, err := filter.query(ctx, tx, companyID)
			if err != nil {
				return err
			}
			query.Beyond, query.Limit = parsePosition(position), limit+1
			records, err = tx.ListDeliveries(ctx, query)
			return err
		})
	if err != nil {
		return Page[WebhookDelivery]{}, err
	}
	records, next := turn(records, limit, scope, func(d DeliveryRecord) []byte { return d.position().bytes() })
	page := Page[WebhookDelivery]{Items: make([]WebhookDelivery, len(records)), HasMore: next != "", NextCursor: next}
	for i, record := range records {
		page.Items[i] = record.delivery(at)
		page.Items[i].Log = nil
	}
	return page, nil
}

// CountDeliveries counts those of a company's deliveries that a filter means. It needs COMPANY:webhook:read.
func (o Operator) CountDeliveries(ctx context.Context, companyID uuid.UUID, filter DeliveryFilter) (int, error) {
	if err := o.allow(PermissionWebhookRead, companyID); err != nil {
		return 0, err
	}
	var v violations
	filter = filter.check(&v)
	if err := v.err(); err != nil {
		return 0, err
	}
	var number int
	err := o.view(ctx, PermissionWebhookRead, companyID, func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
		query, err := filter.query(ctx, tx, companyID)
		if err != nil {
			return err
		}
		number, err = tx.CountDeliveries(ctx, query)
		return err
	})
	if err != nil {
		return 0, err
	}
	return number, nil
}

// GetDelivery shows a delivery with all its attempts. It needs COMPANY:webhook:read.
func (o Operator) GetDelivery(ctx context.Context, id uuid.UUID) (WebhookDelivery, error) {
	found, err := o.findDelivery(ctx, PermissionWebhookRead, id)
	if err != nil {
		return WebhookDelivery{}, err
	}
	return found.delivery(o.s.now()), nil
}

// findDelivery finds a delivery by its id alone, for an actor that may see it.
func (o Operator) findDelivery(ctx context.Context, permission Permission, id uuid.UUID) (DeliveryRecord, error) {
	if err := o.holds(permission); err != nil {
		return DeliveryRecord{}, err
	}
	var found DeliveryRecord
	err := o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		found, err = tx.FindDelivery(ctx, id)
		return err
	})
	if err == nil && (found.ID == uuid.Nil || !o.reaches(found.CompanyID)) {
		err = errDeliveryNotFound
	}
	return found, err
}
