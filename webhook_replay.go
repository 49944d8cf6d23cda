package ticketing

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Bounds of replaying.
const (
	defaultReplayRate = 50
	maxReplayRate     = 10_000
	replayPage        = 200 // how many deliveries are read together
	replayBatchSize   = 100 // the most deliveries that one transaction replays
)

// ReplayParams select the deliveries to replay, and how fast.
type ReplayParams struct {
	DeliveryFilter

	// Rate is the most deliveries that are made in a second, up to 10,000. It protects a receiver that has just
	// recovered. Defaults to 50.
	Rate int
	// Progress is called from time to time, and at the end, with the number of deliveries that are done and their
	// total. Both include those that were skipped. Defaults to none.
	Progress func(done, total int)
}

// ReplayResult is the result of a replay of many deliveries.
type ReplayResult struct {
	// Replayed is how many deliveries were made.
	Replayed int `json:"replayed"`
	// Skipped is how many deliveries were not replayed: those that are still pending, those of an endpoint that is
	// disabled or was deleted, and further deliveries of an event to an endpoint for which it was replayed already.
	Skipped int `json:"skipped"`
}

// errEndpointDisabled refuses a replay to a disabled endpoint (section 3.5).
var errEndpointDisabled = conflict("The webhook endpoint is disabled. Enable it first, then replay.")

// ReplayDelivery delivers an event again to an endpoint that it was delivered to. It makes a new delivery with a new
// id, of the same event id and body, to the endpoint's present URL, signed with its active secret (section 6.5). It is
// CONFLICT if the endpoint was deleted or is disabled, and while the delivery is pending. It needs
// COMPANY:webhook:replay.
//
// The shared gate keeps endpoint and secret as they are meanwhile. The lock on the delivery keeps it from being pruned.
func (o Operator) ReplayDelivery(ctx context.Context, id uuid.UUID) (WebhookDelivery, error) {
	found, err := o.findDelivery(ctx, PermissionWebhookReplay, id)
	if err != nil {
		return WebhookDelivery{}, err
	}
	var made driver.Delivery
	err = o.changeShared(ctx, PermissionWebhookReplay, found.CompanyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			// The first read found the company. The delivery may have been pruned or become final since.
			original, err := firstRecord(tx.LockDeliveries(ctx, []driver.DeliveryRef{found.Ref()}))
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
			// A deleted endpoint has no secret any more, so nothing could be signed.
			case endpoint.ID == uuid.Nil:
				return conflict("The webhook endpoint was deleted: its deliveries cannot be replayed.")
			case endpoint.Status != WebhookEnabled:
				return errEndpointDisabled
			case original.Status == DeliveryPending:
				return conflict("The delivery is still being delivered.")
			}
			// A replay comes after its original in every list, even if the clock was set back.
			made = o.s.newReplay(at, original.CreatedAt.Add(time.Millisecond), original, endpoint)
			if err := tx.AppendDeliveries(ctx, []driver.Delivery{made}); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "webhook.replay", made.CompanyID, about("delivery", id),
				changes{after: auditedDelivery(made)})
		})
	if err != nil {
		return WebhookDelivery{}, err
	}
	o.s.wakeFor(workOf(made))
	return showDelivery(made, o.s.now()), nil
}

// newReplay returns a new delivery of the event of another one. It is due at once, and created at the later of the two
// times. The delivery is made like one of a dispatch, with the present URL and secret of the endpoint.
func (s *Service) newReplay(
	at, createdAt time.Time, original driver.Delivery, endpoint driver.WebhookEndpoint,
) driver.Delivery {
	made := s.newDelivery(at, driver.Message{
		CompanyID: original.CompanyID, At: original.MessageAt, ID: original.MessageID, Type: original.Type,
	}, endpoint)
	made.CreatedAt, made.ReplayOf = notBefore(at, createdAt), original.ID
	return made
}

// auditedDelivery returns what the audit log keeps of a replay.
func auditedDelivery(d driver.Delivery) any {
	return struct {
		Delivery   uuid.UUID `json:"delivery"`
		EventID    uuid.UUID `json:"eventId"`
		EventType  FactType  `json:"eventType"`
		EndpointID uuid.UUID `json:"endpointId"`
		URL        string    `json:"url"`
	}{d.ID, d.MessageID, d.Type, d.EndpointID, d.URL}
}

// ReplayDeliveries replays the deliveries that a filter selects, oldest first, as [Operator.ReplayDelivery] does. It
// replays those that were made before it began, in any status unless the filter names one. An event that was delivered
// several times to an endpoint is replayed to it once. It needs COMPANY:webhook:replay.
//
// A delivery that cannot be replayed is skipped and counted. If the filter names an endpoint, that endpoint must exist
// and be enabled: otherwise it is NOT_FOUND, or CONFLICT.
//
// Each transaction replays a tenth of a second's worth of deliveries, at most a hundred, with an entry in the audit
// log. So the work can be cut off: with the error, which is that of the context if that ended, it returns what was done
// until then. Another call does not continue it: with the same filter it replays the same events again.
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

// A replayer replays the results of a query, page by page. It runs in the caller's goroutine and starts none. It keeps
// its place in memory only, so a replay that is cut off cannot be continued.
type replayer struct {
	o      Operator
	params ReplayParams
	began  time.Time            // deliveries made before or at this are replayed
	query  driver.DeliveryQuery // its After moves on with each page
	total  int                  // how many the query selected at the beginning
	seen   map[replayed]bool    // events that are replayed by way of one of their replays, see done
	pace   batchPace            // between two batches
	result ReplayResult
}

// replayed identifies an event and the endpoint that it was replayed to.
type replayed struct {
	endpoint int64
	event    uuid.UUID
}

// begin checks the filter against the store and counts what it selects. The count is the total of the progress, so it
// may be off by what changes later. An endpoint that the filter names must be enabled: all of its deliveries would be
// skipped otherwise, and the caller should learn that at once.
func (r *replayer) begin(ctx context.Context, companyID uuid.UUID) error {
	return r.o.view(ctx, PermissionWebhookReplay, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
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
			// The deliveries that the replay itself makes are created at or after this, whatever the clock says (see
			// replayBatch), so it never replays its own.
			if end := r.began.Add(time.Millisecond); query.Until.IsZero() || query.Until.After(end) {
				query.Until = end
			}
			query.OldestFirst = true
			r.query = query
			r.total, err = tx.CountDeliveries(ctx, query, 0)
			return err
		})
}

// next replays a page, and reports whether there may be another one. It reads the page in one transaction and replays
// it in several small ones, so that sales never wait long for the gate.
func (r *replayer) next(ctx context.Context) (more bool, err error) {
	var page, replayable []driver.Delivery
	err = r.o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		r.query.Limit = replayPage
		if page, err = tx.ListDeliveries(ctx, r.query); err != nil {
			return err
		}
		replayable, err = r.replayable(ctx, tx, page)
		return err
	})
	if err != nil || len(page) == 0 {
		return false, err
	}
	// Every delivery of the page is done or skipped below, so the next page begins after it.
	r.query.After = page[len(page)-1].Position()
	r.result.Skipped += len(page) - len(replayable)
	// A tenth of a second's worth: large enough to share a transaction, small enough to keep an even rate.
	size := max(1, min(r.params.Rate/10, replayBatchSize))
	for len(replayable) > 0 {
		page := replayable[:min(size, len(replayable))]
		replayable = replayable[len(page):]
		// The context is checked between two batches. A batch that has begun is finished.
		if err := r.pace.await(ctx, len(page), r.params.Rate); err != nil {
			return false, err
		}
		if err := r.replayBatch(ctx, page); err != nil {
			return false, err
		}
		r.progressed(len(replayable))
	}
	r.progressed(0)
	return len(page) == replayPage, nil
}

// batchPace keeps batches of work at a rate. Its zero value is ready.
type batchPace struct {
	pause *time.Timer // until the next batch may begin; nil: at once
}

// await waits until the next batch may begin, and then reserves the time that this batch takes at a rate of items a
// second. It returns the context's error if that ends first. The first batch does not wait.
func (p *batchPace) await(ctx context.Context, items, rate int) error {
	if p.pause != nil {
		select {
		case <-p.pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.pause = time.NewTimer(time.Duration(items) * time.Second / time.Duration(rate))
	return nil
}

// progressed calls Progress. waiting is the number of deliveries of the page that are still to be replayed: the total
// is never less than what is known.
func (r *replayer) progressed(waiting int) {
	done := r.result.Replayed + r.result.Skipped
	if r.params.Progress != nil {
		r.params.Progress(done, max(r.total, done+waiting))
	}
}

// replayable returns the deliveries of a page that can be replayed as far as a read shows, each event once for an
// endpoint. The transaction of a batch checks the endpoints again. What it leaves out is counted as skipped.
func (r *replayer) replayable(
	ctx context.Context, tx driver.ReadTx, page []driver.Delivery,
) ([]driver.Delivery, error) {
	endpoints, err := enabledEndpoints(ctx, tx, r.query.CompanyID)
	if err != nil {
		return nil, err
	}
	var replayable []driver.Delivery
	for _, delivery := range page {
		if _, enabled := endpoints[delivery.Endpoint]; !enabled || delivery.Status == DeliveryPending {
			continue
		}
		isReplayed, err := r.isReplayed(ctx, tx, delivery)
		if err != nil {
			return nil, err
		}
		if !isReplayed {
			replayable = append(replayable, delivery)
		}
	}
	return replayable, nil
}

// isReplayed reports whether an event has been replayed to the endpoint of a delivery already. An event has one
// delivery to an endpoint that is no replay. So it is enough to remember the replays, and to look for each of them
// whether the delivery that it replayed is among the results, too.
func (r *replayer) isReplayed(ctx context.Context, tx driver.ReadTx, delivery driver.Delivery) (bool, error) {
	if delivery.ReplayOf == uuid.Nil {
		return false, nil
	}
	event := replayed{delivery.Endpoint, delivery.MessageID}
	if r.seen[event] {
		return true, nil
	}
	// A replay may be of a replay. The chain ends at the delivery that the dispatch made, or at one that was pruned.
	for of := delivery.ReplayOf; of != uuid.Nil; {
		original, err := tx.FindDelivery(ctx, of)
		if err != nil {
			return false, err
		}
		if original.ID != uuid.Nil && r.selects(original) {
			return true, nil
		}
		of = original.ReplayOf
	}
	r.seen[event] = true
	return false, nil
}

// selects reports whether the query selects a delivery to the same endpoint, of the same event.
func (r *replayer) selects(d driver.Delivery) bool {
	return (r.query.Status == "" || d.Status == r.query.Status) && !d.CreatedAt.Before(r.query.Since) &&
		d.CreatedAt.Before(r.query.Until)
}

// replayBatch replays a batch of deliveries in one transaction. They are created after the replay began, see begin. It
// holds the gate shared, which keeps the endpoints as they are, and locks the originals, which keeps them from being
// pruned.
func (r *replayer) replayBatch(ctx context.Context, deliveries []driver.Delivery) error {
	refs := make([]driver.DeliveryRef, len(deliveries))
	for i, delivery := range deliveries {
		refs[i] = delivery.Ref()
	}
	var made []driver.Delivery
	err := r.o.changeShared(ctx, PermissionWebhookReplay, r.query.CompanyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			made = nil
			originals, err := tx.LockDeliveries(ctx, refs)
			if err != nil {
				return err
			}
			// Read under the shared gate, so none of them is disabled before the commit.
			endpoints, err := enabledEndpoints(ctx, tx, company.ID)
			if err != nil {
				return err
			}
			// An endpoint may have been disabled, or a delivery pruned, since the page was read. These are skipped.
			for _, original := range originals {
				if endpoint, enabled := endpoints[original.Endpoint]; enabled && original.ID != uuid.Nil {
					made = append(made, r.o.s.newReplay(at, r.began.Add(time.Millisecond), original, endpoint))
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
	// The counts are added after the commit, so a run that is repeated does not count twice.
	r.result.Replayed += len(made)
	r.result.Skipped += len(deliveries) - len(made)
	for _, d := range made {
		r.o.s.wakeFor(workOf(d))
	}
	return nil
}

// workOf returns the work that a new delivery makes due.
func workOf(d driver.Delivery) driver.DueWork {
	return driver.DueWork{Kind: driver.WorkDeliver, CompanyID: d.CompanyID, Endpoint: d.Endpoint}
}

// audited returns what the audit log keeps of a batch: the filter and the number of deliveries. The deliveries
// themselves name what they replay, so the log need not list them.
func (r *replayer) audited(deliveries int) any {
	record := struct {
		Deliveries int            `json:"deliveries"`
		EndpointID *uuid.UUID     `json:"endpointId"`
		Status     DeliveryStatus `json:"status,omitempty"`
		Type       FactType       `json:"type,omitempty"`
		Since      *Time          `json:"since"`
		Until      *Time          `json:"until"`
	}{
		Deliveries: deliveries, Status: r.params.Status, Type: r.params.Type, Since: optionalTime(r.params.Since),
		Until: optionalTime(r.params.Until),
	}
	if r.params.EndpointID != uuid.Nil {
		record.EndpointID = &r.params.EndpointID
	}
	return record
}
