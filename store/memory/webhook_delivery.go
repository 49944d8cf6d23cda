package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type deliveries struct {
	byRef     map[driver.DeliveryRef]driver.Delivery
	byID      map[uuid.UUID]driver.DeliveryRef
	ofCompany map[uuid.UUID]*deliveryLists
	// pending holds the deliveries of an endpoint that are not final, by the time at which they are due.
	pending map[driver.WebhookEndpointRef]*index[dueDelivery]
	waiting *index[driver.WebhookEndpointRef] // the endpoints that have pending deliveries
	of      map[messageOf]int                 // the number of deliveries of a message
	dead    *index[deadDelivery]              // the failed deliveries of all companies
}

type deadDelivery struct {
	at          time.Time // when it failed
	company, id uuid.UUID
}

func compareDead(a, b deadDelivery) int {
	return cmp.Or(a.at.Compare(b.at), compareIDs(a.company, b.company), compareIDs(a.id, b.id))
}

func deadOf(delivery driver.Delivery) deadDelivery {
	return deadDelivery{delivery.FinishedAt, delivery.CompanyID, delivery.ID}
}

type deliveryLists = lists[driver.Position, driver.DeliveryStatus]

type dueDelivery struct {
	at    time.Time
	place driver.Position
}

type messageOf struct{ company, message uuid.UUID }

func newDeliveries() deliveries {
	return deliveries{
		byRef:     make(map[driver.DeliveryRef]driver.Delivery),
		byID:      make(map[uuid.UUID]driver.DeliveryRef),
		ofCompany: make(map[uuid.UUID]*deliveryLists),
		pending:   make(map[driver.WebhookEndpointRef]*index[dueDelivery]),
		waiting:   newIndex(compareEndpoints),
		of:        make(map[messageOf]int),
		dead:      newIndex(compareDead),
	}
}

func newDeliveryLists() *deliveryLists {
	return newLists[driver.Position, driver.DeliveryStatus](comparePositions)
}

func newDueDeliveries() *index[dueDelivery] {
	return newIndex(func(a, b dueDelivery) int {
		return cmp.Or(a.at.Compare(b.at), comparePositions(a.place, b.place))
	})
}

func deliveryRef(delivery driver.Delivery) driver.DeliveryRef {
	return driver.DeliveryRef{CompanyID: delivery.CompanyID, CreatedAt: moment(delivery.CreatedAt), ID: delivery.ID}
}

func deliveryPlace(delivery driver.Delivery) driver.Position {
	return driver.Position{At: delivery.CreatedAt, ID: delivery.ID}
}

func endpointOf(delivery driver.Delivery) driver.WebhookEndpointRef {
	return driver.WebhookEndpointRef{CompanyID: delivery.CompanyID, Number: delivery.Endpoint}
}

func keptAttempts(attempts []driver.DeliveryAttempt) []driver.DeliveryAttempt {
	attempts = slices.Clone(attempts)
	for i := range attempts {
		attempts[i].At.Time = moment(attempts[i].At.Time)
	}
	return attempts
}

func checkDelivery(delivery driver.Delivery) error {
	final := true
	switch delivery.Status {
	case driver.DeliveryPending:
		final = false
	case driver.DeliverySucceeded, driver.DeliveryFailed, driver.DeliveryCancelled:
	default:
		return broken("webhook_deliveries_status_check")
	}
	if err := check(final != delivery.FinishedAt.IsZero(), "webhook_deliveries_status_check"); err != nil {
		return err
	}
	return check(!final || delivery.LeasedUntil.IsZero() && !delivery.Cancelling, "webhook_deliveries_pending_check")
}

func (d *deliveries) find(ref driver.DeliveryRef) driver.Delivery {
	ref.CreatedAt = moment(ref.CreatedAt)
	delivery := d.byRef[ref]
	delivery.Attempts = slices.Clone(delivery.Attempts)
	return delivery
}

func (d *deliveries) at(companyID uuid.UUID, place driver.Position) driver.Delivery {
	return d.find(driver.DeliveryRef{CompanyID: companyID, CreatedAt: place.At, ID: place.ID})
}

func (d *deliveries) refersTo(companyID, message uuid.UUID) bool {
	return d.of[messageOf{companyID, message}] > 0
}

// wait adds a pending delivery to the list of its endpoint, and a failed one to the list of failed ones. rest removes
// it.
func (d *deliveries) wait(u *undo, delivery driver.Delivery) {
	if delivery.Status == driver.DeliveryFailed {
		d.dead.add(u, deadOf(delivery))
	}
	if delivery.Status != driver.DeliveryPending {
		return
	}
	of := need(d.pending, endpointOf(delivery), newDueDeliveries)
	if len(of.keys) == 0 {
		d.waiting.add(u, endpointOf(delivery))
	}
	of.add(u, dueDelivery{delivery.DueAt, deliveryPlace(delivery)})
}

func (d *deliveries) rest(u *undo, delivery driver.Delivery) {
	if delivery.Status == driver.DeliveryFailed {
		d.dead.drop(u, deadOf(delivery))
	}
	if delivery.Status != driver.DeliveryPending {
		return
	}
	of := d.pending[endpointOf(delivery)]
	of.drop(u, dueDelivery{delivery.DueAt, deliveryPlace(delivery)})
	if len(of.keys) == 0 {
		d.waiting.drop(u, endpointOf(delivery))
	}
}

// change writes the fields of a delivery that may change. The delivery must exist.
func (d *deliveries) change(u *undo, delivery driver.Delivery) error {
	kept, ok := d.byRef[deliveryRef(delivery)]
	if !ok {
		return driver.ErrNotFound
	}
	if err := checkDelivery(delivery); err != nil {
		return err
	}
	d.rest(u, kept)
	d.ofCompany[kept.CompanyID].move(u, deliveryPlace(kept), kept.Status, delivery.Status)
	kept.Status, kept.Cancelling, kept.Attempts = delivery.Status, delivery.Cancelling, keptAttempts(delivery.Attempts)
	kept.DueAt, kept.LeasedUntil = moment(delivery.DueAt), moment(delivery.LeasedUntil)
	kept.FinishedAt = moment(delivery.FinishedAt)
	put(u, d.byRef, deliveryRef(kept), kept)
	d.wait(u, kept)
	return nil
}

// list returns the places of a page. With a filter by endpoint, type or replays it reads the deliveries one by one.
func (d *deliveries) list(query driver.DeliveryQuery) []driver.Position {
	of, ok := d.ofCompany[query.CompanyID]
	if !ok {
		return nil
	}
	part := of.all
	if query.Status != "" {
		if part, ok = of.parts[query.Status]; !ok {
			return nil
		}
	}
	keys := part.keys
	if !query.Until.IsZero() {
		keys = part.below(driver.Position{At: moment(query.Until)})
	}
	if !query.Since.IsZero() {
		keys = keys[min(len(part.below(driver.Position{At: moment(query.Since)})), len(keys)):]
	}
	if query.After != (driver.Position{}) {
		from, there := slices.BinarySearchFunc(keys, query.After, comparePositions)
		switch {
		case !query.OldestFirst:
			keys = keys[:from]
		case there:
			keys = keys[from+1:]
		default:
			keys = keys[from:]
		}
	}
	var found []driver.Position
	for i := range keys {
		if len(found) >= query.Limit {
			break
		}
		place := keys[i]
		if !query.OldestFirst {
			place = keys[len(keys)-1-i]
		}
		delivery := d.byRef[driver.DeliveryRef{CompanyID: query.CompanyID, CreatedAt: place.At, ID: place.ID}]
		if query.Endpoint != 0 && delivery.Endpoint != query.Endpoint || query.Type != "" && delivery.Type != query.Type ||
			query.Replays && delivery.ReplayOf == uuid.Nil {
			continue
		}
		found = append(found, place)
	}
	return found
}

func (r reading) FindDelivery(ctx context.Context, id uuid.UUID) (driver.Delivery, error) {
	return ask(ctx, r, func(s *state) driver.Delivery { return s.deliveries.find(s.deliveries.byID[id]) })
}

func (r reading) ListDeliveries(
	ctx context.Context, query driver.DeliveryQuery,
) ([]driver.Delivery, error) {
	return ask(ctx, r, func(s *state) []driver.Delivery {
		return each(s.deliveries.list(query), func(place driver.Position) driver.Delivery {
			return s.deliveries.at(query.CompanyID, place)
		})
	})
}

func (r reading) CountDeliveries(ctx context.Context, query driver.DeliveryQuery, most int) (int, error) {
	return ask(ctx, r, func(s *state) int {
		query.After, query.Limit = driver.Position{}, len(s.deliveries.byRef)
		if most > 0 {
			query.Limit = min(most, query.Limit)
		}
		return len(s.deliveries.list(query))
	})
}

func (r reading) CountDeadLetters(
	ctx context.Context, since time.Time, limit int,
) ([]driver.DeadLetters, error) {
	return ask(ctx, r, func(s *state) []driver.DeadLetters {
		counts := make(map[uuid.UUID]int)
		for _, dead := range last([][]deadDelivery{s.deliveries.dead.keys}, limit, compareDead) {
			if dead.at.Before(since) {
				break
			}
			counts[dead.company]++
		}
		var found []driver.DeadLetters
		for company, count := range counts {
			found = append(found, driver.DeadLetters{CompanyID: company, Count: count})
		}
		slices.SortFunc(found, func(a, b driver.DeadLetters) int { return compareIDs(a.CompanyID, b.CompanyID) })
		return found
	})
}

// ListMessageDeliveries reads the deliveries of the company one by one.
func (r reading) ListMessageDeliveries(
	ctx context.Context, companyID, messageID uuid.UUID, limit int,
) ([]driver.Delivery, error) {
	return ask(ctx, r, func(s *state) []driver.Delivery {
		of, ok := s.deliveries.ofCompany[companyID]
		if !ok {
			return nil
		}
		var found []driver.Delivery
		for _, place := range slices.Backward(of.all.keys) {
			if len(found) >= limit {
				break
			}
			if delivery := s.deliveries.at(companyID, place); delivery.MessageID == messageID {
				found = append(found, delivery)
			}
		}
		return found
	})
}

// EndpointHealth reads the deliveries of the company one by one.
func (r reading) EndpointHealth(
	ctx context.Context, query driver.EndpointHealthQuery,
) ([]driver.EndpointHealth, error) {
	return ask(ctx, r, func(s *state) []driver.EndpointHealth {
		var all []driver.EndpointHealth
		for _, company := range slices.SortedFunc(slices.Values(query.Companies), compareIDs) {
			if of, ok := s.endpoints.ofCompany[company]; ok {
				for _, number := range of.keys {
					all = append(all, s.deliveries.health(query, driver.WebhookEndpointRef{CompanyID: company, Number: number}))
				}
			}
		}
		return all
	})
}

func (d *deliveries) health(query driver.EndpointHealthQuery, ref driver.WebhookEndpointRef) driver.EndpointHealth {
	health := driver.EndpointHealth{CompanyID: ref.CompanyID, Endpoint: ref.Number}
	if of, ok := d.ofCompany[ref.CompanyID]; ok {
		if keys := of.all.keys; len(keys) > 0 {
			newest := d.at(ref.CompanyID, keys[len(keys)-1])
			health.NewestID, health.NewestAt = newest.ID, newest.CreatedAt
		}
		for _, place := range of.part(driver.DeliverySucceeded).keys {
			success := d.at(ref.CompanyID, place)
			if success.Endpoint == ref.Number && success.FinishedAt.After(health.LastSuccessAt) {
				health.LastSuccessAt = success.FinishedAt
			}
		}
		for _, place := range of.part(driver.DeliveryFailed).keys {
			failure := d.at(ref.CompanyID, place)
			if failure.Endpoint == ref.Number && !failure.FinishedAt.Before(moment(query.Since)) && health.Failed < query.Most {
				health.Failed++
			}
		}
	}
	if of, ok := d.pending[ref]; ok {
		for _, due := range of.first(query.Most) {
			health.Pending++
			if len(d.at(ref.CompanyID, due.place).Attempts) > 0 {
				health.Retrying++
			}
		}
	}
	return health
}

func (r reading) DeliversUnder(ctx context.Context, secret driver.WebhookSecretRef) (bool, error) {
	return ask(ctx, r, func(s *state) bool {
		of, ok := s.deliveries.pending[driver.WebhookEndpointRef{CompanyID: secret.CompanyID, Number: secret.Endpoint}]
		return ok && slices.ContainsFunc(of.keys, func(due dueDelivery) bool {
			return s.deliveries.at(secret.CompanyID, due.place).SecretVersion == secret.Version
		})
	})
}

func (tx *updating) AppendDeliveries(ctx context.Context, deliveries []driver.Delivery) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, delivery := range deliveries {
			if err := s.deliveries.append(u, delivery); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *deliveries) append(u *undo, delivery driver.Delivery) error {
	if err := checkDelivery(delivery); err != nil {
		return err
	}
	delivery.CreatedAt, delivery.MessageAt = moment(delivery.CreatedAt), moment(delivery.MessageAt)
	delivery.DueAt, delivery.LeasedUntil = moment(delivery.DueAt), moment(delivery.LeasedUntil)
	delivery.FinishedAt, delivery.Attempts = moment(delivery.FinishedAt), keptAttempts(delivery.Attempts)
	ref := deliveryRef(delivery)
	if err := create(u, d.byRef, ref, delivery, "webhook_deliveries_pkey"); err != nil {
		return err
	}
	if err := create(u, d.byID, delivery.ID, ref, "webhook_deliveries_id_company_id_key"); err != nil {
		return err
	}
	need(d.ofCompany, delivery.CompanyID, newDeliveryLists).add(u, deliveryPlace(delivery), delivery.Status)
	message := messageOf{delivery.CompanyID, delivery.MessageID}
	put(u, d.of, message, d.of[message]+1)
	d.wait(u, delivery)
	return nil
}

// ClaimDeliveries leases the deliveries that are due. No other transaction can have locked any.
func (tx *updating) ClaimDeliveries(
	ctx context.Context, claim driver.DeliveryClaim,
) ([]driver.Delivery, error) {
	var claimed []driver.Delivery
	err := tx.write(ctx, func(s *state, u *undo) error {
		of, ok := s.deliveries.pending[driver.WebhookEndpointRef{CompanyID: claim.CompanyID, Number: claim.Endpoint}]
		if !ok {
			return nil
		}
		for _, due := range slices.Clone(of.first(claim.Limit)) {
			if due.at.After(claim.At) {
				break
			}
			delivery := s.deliveries.at(claim.CompanyID, due.place)
			delivery.DueAt, delivery.LeasedUntil = moment(claim.Until), moment(claim.Until)
			if err := s.deliveries.change(u, delivery); err != nil {
				return err
			}
			claimed = append(claimed, delivery)
		}
		return nil
	})
	slices.SortFunc(claimed, func(a, b driver.Delivery) int {
		return comparePositions(deliveryPlace(a), deliveryPlace(b))
	})
	return claimed, err
}

// LockDeliveries only reads deliveries, because there is no other writer.
func (tx *updating) LockDeliveries(
	ctx context.Context, refs []driver.DeliveryRef,
) ([]driver.Delivery, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.Delivery { return each(refs, s.deliveries.find) })
}

// LockPending only reads deliveries, because there is no other writer.
func (tx *updating) LockPending(
	ctx context.Context, endpoint driver.WebhookEndpointRef, limit int,
) ([]driver.Delivery, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.Delivery {
		of, ok := s.deliveries.pending[endpoint]
		if !ok {
			return nil
		}
		var pending []driver.Delivery
		for _, due := range of.keys {
			if len(pending) >= limit {
				break
			}
			if delivery := s.deliveries.at(endpoint.CompanyID, due.place); !delivery.Cancelling {
				pending = append(pending, delivery)
			}
		}
		return pending
	})
}

func (tx *updating) UpdateDeliveries(ctx context.Context, deliveries []driver.Delivery) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, delivery := range deliveries {
			if err := s.deliveries.change(u, delivery); err != nil {
				return err
			}
		}
		return nil
	})
}

func (tx *updating) PruneDeliveries(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (pruned int, err error) {
	err = tx.write(ctx, func(s *state, u *undo) error {
		gone := s.deliveries.prunable(companyID, before, limit)
		for _, delivery := range gone {
			s.deliveries.remove(u, delivery)
		}
		pruned = len(gone)
		return nil
	})
	return pruned, err
}

func (d *deliveries) remove(u *undo, delivery driver.Delivery) {
	d.rest(u, delivery)
	of := d.ofCompany[delivery.CompanyID]
	of.all.drop(u, deliveryPlace(delivery))
	of.part(delivery.Status).drop(u, deliveryPlace(delivery))
	take(u, d.byRef, deliveryRef(delivery))
	take(u, d.byID, delivery.ID)
	message := messageOf{delivery.CompanyID, delivery.MessageID}
	if d.of[message] > 1 {
		put(u, d.of, message, d.of[message]-1)
	} else {
		take(u, d.of, message)
	}
}

// prunable returns a company's oldest deliveries that are final and were created before a time.
func (d *deliveries) prunable(companyID uuid.UUID, before time.Time, limit int) (gone []driver.Delivery) {
	of, ok := d.ofCompany[companyID]
	if !ok {
		return nil
	}
	for _, place := range of.all.below(driver.Position{At: moment(before)}) {
		if len(gone) >= limit {
			break
		}
		if delivery := d.at(companyID, place); delivery.Status != driver.DeliveryPending {
			gone = append(gone, delivery)
		}
	}
	return gone
}
