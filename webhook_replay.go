package ticketing

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

const (
	defaultReplayRate = 50
	maxReplayRate     = 10_000
	replayPage        = 200 // how many deliveries are looked at together
	replayPortion     = 100 // how many are replayed in one transaction at most
)

// ReplayParams say which deliveries to replay, and how fast.
type ReplayParams struct {
	DeliveryFilter

	// Rate is how many deliveries are made in a second at most, up to 10,000. Defaults to 50.
	Rate int
	// Progress is told, now and then and at the end, how many deliveries of how many are done, those that were passed
	// over counted. Defaults to nobody.
	Progress func(done, total int)
}

// ReplayResult is what a replay of many did.
type ReplayResult struct {
	// Replayed is how many deliveries were made.
	Replayed int `json:"replayed"`
	// Skipped is how many were passed over: those that are still pending, those of an endpoint that is disabled or was
	// deleted, and further deliveries of an event to an endpoint that it was replayed to already.
	Skipped int `json:"skipped"`
}

var errEndpointDisabled = conflict("The webhook endpoint is disabled. Enable it first, then replay.")

// ReplayDelivery delivers an event again to an endpoint it was delivered to: a new delivery with a new id, with the same
// event, id and body, to the endpoint's present URL and signed with its active secret (section 6.5). It is CONFLICT where
// the endpoint was deleted or is disabled, and while the delivery is pending. It needs COMPANY:webhook:replay.
//
// The shared gate keeps endpoint and secret as they are meanwhile, and the delivery's lock keeps it from being pruned.
func (o Operator) ReplayDelivery(ctx context.Context, id uuid.UUID) (WebhookDelivery, error) {
	found, err := o.findDelivery(ctx, PermissionWebhookReplay, id)
	if err != nil {
		return WebhookDelivery{}, err
	}
	var made DeliveryRecord
	err = o.share(ctx, PermissionWebhookReplay, found.CompanyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			original, err := only(tx.LockDeliveries(ctx, []DeliveryRef{found.ref()}))
			if err != nil {
				return err
			}
			if original.ID == uuid.Nil {
				return errDeliveryNotFound
			}
			endpoint, err := tx.FindWebhookEndpoint(ctx, original.EndpointID)
			if err != nil {
				return err
			}
			switch {
			case endpoint.ID == uuid.Nil:
				return conflict("The webhook endpoint was deleted: its deliveries cannot be replayed.")
			case endpoint.Status != WebhookEnabled:
				return errEndpointDisabled
			case original.Status == DeliveryPending:
				return conflict("The delivery is still being delivered.")
			}
			made = o.s.replay(at, original.CreatedAt.Add(time.Millisecond), original, endpoint)
			if err := tx.AppendDeliveries(ctx, []DeliveryRecord{made}); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "webhook.replay", made.CompanyID, about("delivery", id),
				changes{after: made.audited()})
		})
	if err != nil {
		return WebhookDelivery{}, err
	}
	o.s.Wake()
	return made.delivery(o.s.now()), nil
}

// replay is a new delivery of the event of another, made at a time or at a later one.
func (s *Service) replay(
	at, createdAt time.Time, original DeliveryRecord, endpoint WebhookEndpointRecord,
) DeliveryRecord {
	made := s.newDelivery(at, MessageRecord{
		CompanyID: original.CompanyID, At: original.MessageAt, ID: original.MessageID, Type: original.Type,
	}, endpoint)
	made.CreatedAt, made.ReplayOf = later(at, createdAt), original.ID
	return made
}

// audited is what the audit log tells of a replay.
func (d DeliveryRecord) audited() any {
	return struct {
		Delivery   uuid.UUID `json:"delivery"`
		EventID    uuid.UUID `json:"eventId"`
		EventType  FactType  `json:"eventType"`
		EndpointID uuid.UUID `json:"endpointId"`
		URL        string    `json:"url"`
	}{d.ID, d.MessageID, d.Type, d.EndpointID, d.URL}
}

// ReplayDeliveries replays the deliveries that a filter means, as [Operator.ReplayDelivery] does, oldest first: those that
// were made before it began, whatever their status, unless the filter names one. An event that was delivered several
// times to an endpoint is replayed to it once. What cannot be replayed is passed over and counted; but where the filter
// names an endpoint, that has to be there and enabled: else it is NOT_FOUND, or CONFLICT.
//
// Each transaction replays a tenth of a second's worth, a hundred at most, and is an act in the audit log, so that it
// can be cut off: with the error, that of the context where that ended, it answers with what was done until then. Called
// again it begins anew, with a filter that is as it was it replays the same events again. It needs
// COMPANY:webhook:replay.
func (o Operator) ReplayDeliveries(
	ctx context.Context, companyID uuid.UUID, params ReplayParams,
) (ReplayResult, error) {
	if err := o.allowWrite(PermissionWebhookReplay, companyID); err != nil {
		return ReplayResult{}, err
	}
	var v violations
	params.DeliveryFilter = params.check(&v)
	if params.Rate < 0 || params.Rate > maxReplayRate {
		v.add("rate", fmt.Sprintf("must be from 1 to %d deliveries a second, or 0 for %d", maxReplayRate, defaultReplayRate))
	}
	if err := v.err(); err != nil {
		return ReplayResult{}, err
	}
	if params.Rate == 0 {
		params.Rate = defaultReplayRate
	}
	r := replayer{o: o, params: params, began: o.s.now(), seen: make(map[replayed]bool)}
	err := r.begin(ctx, companyID)
	for more := true; err == nil && more; {
		more, err = r.next(ctx)
	}
	return r.result, err
}

// A replayer replays what a query answers with, page by page.
type replayer struct {
	o      Operator
	params ReplayParams
	began  time.Time
	query  DeliveryQuery
	total  int
	seen   map[replayed]bool
	pause  *time.Timer // until the next portion may be replayed; nil: at once
	result ReplayResult
}

// replayed is an event and the endpoint that it was replayed to.
type replayed struct {
	endpoint int64
	event    uuid.UUID
}

func (r *replayer) begin(ctx context.Context, companyID uuid.UUID) error {
	return r.o.view(ctx, PermissionWebhookReplay, companyID,
		func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
			query, err := r.params.query(ctx, tx, companyID)
			if err != nil {
				return err
			}
			if query.Endpoint != 0 {
				enabled, err := enabledEndpoints(ctx, tx, companyID)
				if err != nil {
					return err
				}
				if _, is := enabled[query.Endpoint]; !is {
					return errEndpointDisabled
				}
			}
			// What it makes itself is created behind this, whatever the clock says: see portion.
			if end := r.began.Add(time.Millisecond); query.Until.IsZero() || query.Until.After(end) {
				query.Until = end
			}
			query.OldestFirst = true
			r.query = query
			r.total, err = tx.CountDeliveries(ctx, query)
			return err
		})
}

// next replays a page, and tells whether there may be another.
func (r *replayer) next(ctx context.Context) (more bool, err error) {
	var page, able []DeliveryRecord
	err = r.o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		r.query.Limit = replayPage
		if page, err = tx.ListDeliveries(ctx, r.query); err != nil {
			return err
		}
		able, err = r.able(ctx, tx, page)
		return err
	})
	if err != nil || len(page) == 0 {
		return false, err
	}
	r.query.Beyond = page[len(page)-1].position()
	r.result.Skipped += len(page) - len(able)
	size := max(1, min(r.params.Rate/10, replayPortion))
	for len(able) > 0 {
		portion := able[:min(size, len(able))]
		able = able[len(portion):]
		if err := r.await(ctx, len(portion)); err != nil {
			return false, err
		}
		if err := r.portion(ctx, portion); err != nil {
			return false, err
		}
		r.tell(len(able))
	}
	r.tell(0)
	return len(page) == replayPage, nil
}

// await waits until so many may be replayed, and has the next ones wait for their part of a second.
func (r *replayer) await(ctx context.Context, deliveries int) error {
	if r.pause != nil {
		select {
		case <-r.pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.pause = time.NewTimer(time.Duration(deliveries) * time.Second / time.Duration(r.params.Rate))
	return nil
}

// tell says how far it is. Some of a page may wait.
func (r *replayer) tell(waiting int) {
	done := r.result.Replayed + r.result.Skipped
	if r.params.Progress != nil {
		r.params.Progress(done, max(r.total, done+waiting))
	}
}

// able are those of a page that look as if they could be replayed, each event once for an endpoint.
func (r *replayer) able(ctx context.Context, tx ReadTx, page []DeliveryRecord) ([]DeliveryRecord, error) {
	endpoints, err := enabledEndpoints(ctx, tx, r.query.CompanyID)
	if err != nil {
		return nil, err
	}
	var able []DeliveryRecord
	for _, delivery := range page {
		if _, enabled := endpoints[delivery.Endpoint]; !enabled || delivery.Status == DeliveryPending {
			continue
		}
		done, err := r.done(ctx, tx, delivery)
		if err != nil {
			return nil, err
		}
		if !done {
			able = append(able, delivery)
		}
	}
	return able, nil
}

// done tells whether an event was replayed to the endpoint of a delivery already. An event has one delivery to an
// endpoint that is no replay, so it is enough to remember replays, and for each to look whether what it replayed was
// one of those that are meant, too.
func (r *replayer) done(ctx context.Context, tx ReadTx, delivery DeliveryRecord) (bool, error) {
	if delivery.ReplayOf == uuid.Nil {
		return false, nil
	}
	event := replayed{delivery.Endpoint, delivery.MessageID}
	if r.seen[event] {
		return true, nil
	}
	for of := delivery.ReplayOf; of != uuid.Nil; {
		original, err := tx.FindDelivery(ctx, of)
		if err != nil {
			return false, err
		}
		if original.ID != uuid.Nil && r.means(original) {
			return true, nil
		}
		of = original.ReplayOf
	}
	r.seen[event] = true
	return false, nil
}

// means tells whether the query means a delivery to the same endpoint, of the same event.
func (r *replayer) means(d DeliveryRecord) bool {
	return (r.query.Status == "" || d.Status == r.query.Status) && !d.CreatedAt.Before(r.query.Since) &&
		d.CreatedAt.Before(r.query.Until)
}

// portion replays some deliveries in one transaction.
func (r *replayer) portion(ctx context.Context, deliveries []DeliveryRecord) error {
	refs := make([]DeliveryRef, len(deliveries))
	for i, delivery := range deliveries {
		refs[i] = delivery.ref()
	}
	var made []DeliveryRecord
	err := r.o.share(ctx, PermissionWebhookReplay, r.query.CompanyID,
		func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
			made = nil
			originals, err := tx.LockDeliveries(ctx, refs)
			if err != nil {
				return err
			}
			endpoints, err := enabledEndpoints(ctx, tx, company.ID)
			if err != nil {
				return err
			}
			for _, original := range originals {
				if endpoint, enabled := endpoints[original.Endpoint]; enabled && original.ID != uuid.Nil {
					made = append(made, r.o.s.replay(at, r.began.Add(time.Millisecond), original, endpoint))
				}
			}
			if len(made) == 0 {
				return nil
			}
			if err := tx.AppendDeliveries(ctx, made); err != nil {
				return err
			}
			return r.o.audit(ctx, tx, at, "webhook.replay", company.ID, about("company", company.ID),
				changes{after: r.audited(len(made))})
		})
	if err != nil {
		return err
	}
	r.result.Replayed += len(made)
	r.result.Skipped += len(deliveries) - len(made)
	r.o.s.Wake()
	return nil
}

// audited is what the audit log tells of a portion.
func (r *replayer) audited(deliveries int) any {
	told := struct {
		Deliveries int            `json:"deliveries"`
		EndpointID *uuid.UUID     `json:"endpointId"`
		Status     DeliveryStatus `json:"status,omitempty"`
		Type       FactType       `json:"type,omitempty"`
		Since      *Time          `json:"since"`
		Until      *Time          `json:"until"`
	}{
		Deliveries: deliveries, Status: r.params.Status, Type: r.params.Type, Since: when(r.params.Since),
		Until: when(r.params.Until),
	}
	if r.params.EndpointID != uuid.Nil {
		told.EndpointID = &r.params.EndpointID
	}
	return told
}
