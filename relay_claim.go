package ticketing

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const (
	// deliveryLease is how long a delivery belongs to one process. It covers an attempt and the writing of its result.
	// If the process ends before that, another one claims the delivery after the lease has run out.
	deliveryLease = 30 * time.Second
	// claimPatience is how long a claim waits at a company's gate, as dispatchPatience is for a dispatch.
	claimPatience = 500 * time.Millisecond
)

// want says how many deliveries of one endpoint the deliverer has room for.
//
// A want is a snapshot: attempts that end meanwhile make more room, which the next claim uses. If more has grown past
// seen, the store got due deliveries meanwhile.
type want struct {
	endpoint int64
	limit    int
	seen     int // the value of endpointQueue.more when the room was computed
}

// waiting records that the store has due deliveries of an endpoint. The signal comes from a look at the store, which
// reads without a lock. The claim decides whether there is anything.
func (d *deliverer) waiting(endpoint driver.WebhookEndpointRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.queueOf(endpoint)
	q.more++
	d.claimable(q)
}

// claimable queues the company of an endpoint queue for a claim. It does so only if deliveries of the endpoint queue
// wait in the store and there is room for at least half of what the endpoint queue may hold: a transaction for less
// would not pay. The caller holds the lock. claimable may be called often: a company is queued once, however many of
// its endpoints have room.
func (d *deliverer) claimable(q *endpointQueue) {
	if q.more > 0 && !d.closed && d.leasable(q) >= max(1, d.maxLeased(q)/2) {
		d.claimQueue.add(q.endpoint.CompanyID)
	}
}

// wants returns what the deliverer has room for of a company's deliveries, by endpoint. It also returns the number of
// stops so far: a delivery that is leased before a later stop of its endpoint must be given back.
func (d *deliverer) wants(companyID uuid.UUID) (wants []want, stops int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// The company's endpoint queues change only under the lock, so the wants are consistent with the number of stops.
	for number, q := range d.queues[companyID] {
		if limit := d.leasable(q); q.more > 0 && limit > 0 && !d.closed {
			// A failing queue uses up its grant of this interval.
			q.granted = max(0, q.granted-limit)
			wants = append(wants, want{endpoint: number, limit: limit, seen: q.more})
		}
	}
	slices.SortFunc(wants, func(a, b want) int { return cmp.Compare(a.endpoint, b.endpoint) })
	return wants, d.stops
}

// claim leases a company's due deliveries, as many as there is room for, and starts to send them.
//
// After an error the deliveries stay due in the store, and the next poll finds them again.
func (d *deliverer) claim(ctx context.Context, companyID uuid.UUID) error {
	_, err := d.claimSome(ctx, companyID, d.s.now())
	return err
}

// claimSome leases deliveries that were due at a time, and returns how many it found due. An endpointQueue for which it
// found fewer than it asked for has nothing more in the store, unless a new signal came meanwhile.
func (d *deliverer) claimSome(ctx context.Context, companyID uuid.UUID, at time.Time) (int, error) {
	wants, stops := d.wants(companyID)
	if len(wants) == 0 {
		return 0, nil
	}
	// The lock mu is not held during the transaction, so attempts go on meanwhile.
	claimed, counts, err := d.s.claimDeliveries(ctx, companyID, at, wants)
	if err != nil {
		return 0, err
	}
	due := 0
	done := false
	d.mu.Lock()
	for i, w := range wants {
		q := d.queueOf(driver.WebhookEndpointRef{CompanyID: companyID, Number: w.endpoint})
		// counts has what was due and includes what was cancelled instead of leased.
		due += counts[i]
		// A new signal since the room was computed means that more may wait.
		if counts[i] < w.limit && q.more == w.seen {
			q.more, done = 0, true
		}
	}
	d.mu.Unlock()
	// An endpoint queue that has nothing more in the store ends the pause of its company's facts.
	if done {
		d.resume(companyID)
	}
	d.enqueue(ctx, claimed, stops)
	d.mu.Lock()
	defer d.mu.Unlock()
	// What is left is claimed by another transaction, as soon as there is room.
	for _, w := range wants {
		d.claimable(d.queueOf(driver.WebhookEndpointRef{CompanyID: companyID, Number: w.endpoint}))
	}
	return due, nil
}

// claimDeliveries leases deliveries that were due at a time, and reads what their attempts need, in one transaction.
// The locks of their rows keep other processes from the same deliveries. Deliveries of an endpoint that was disabled or
// deleted are cancelled instead (section 3.5). counts is how many were due for each want, in their order.
//
// The lease begins now and not at due, which may lie in the past.
func (s *Service) claimDeliveries(
	ctx context.Context, companyID uuid.UUID, due time.Time, wants []want,
) (claimed []job, counts []int, err error) {
	at := s.now()
	var enabled map[int64]driver.WebhookEndpoint
	var leased []driver.Delivery
	var bodies map[uuid.UUID][]byte
	var secrets map[driver.WebhookSecretRef]driver.WebhookSecret
	err = s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		// These are assigned afresh, since the transaction may run again.
		leased, counts = nil, make([]int, len(wants))
		// The shared gate keeps the endpoints from being changed meanwhile.
		in := driver.BeginOptions{Shared: []uuid.UUID{companyID}, LockTimeout: claimPatience}
		if _, err := tx.Begin(ctx, in); err != nil {
			return err
		}
		var err error
		if enabled, err = enabledEndpoints(ctx, tx, companyID); err != nil {
			return err
		}
		var cancelled []driver.Delivery
		for i, w := range wants {
			_, delivers := enabled[w.endpoint]
			claim := driver.DeliveryClaim{
				CompanyID: companyID, Endpoint: w.endpoint, At: due, Until: at.Add(deliveryLease), Limit: w.limit,
			}
			// Nothing of a disabled endpoint is sent, so its deliveries are cancelled in larger batches.
			if !delivers {
				claim.Limit = cancelBatch
			}
			taken, err := tx.ClaimDeliveries(ctx, claim)
			if err != nil {
				return err
			}
			counts[i] = len(taken)
			for _, d := range taken {
				if d.Cancelling || !delivers {
					cancelled = append(cancelled, finishDelivery(d, DeliveryCancelled, at))
				} else {
					leased = append(leased, d)
				}
			}
		}
		if len(cancelled) > 0 {
			if err := tx.UpdateDeliveries(ctx, cancelled); err != nil {
				return err
			}
		}
		// Deliveries that were cancelled need neither a body nor a secret.
		if len(leased) == 0 {
			return nil
		}
		// A body that was emptied by an erasure is rendered and kept here, under the gate.
		if bodies, err = s.findBodies(ctx, tx, leased); err != nil {
			return err
		}
		refs := make([]driver.WebhookSecretRef, len(leased))
		for i, d := range leased {
			refs[i] = d.SecretRef()
		}
		secrets, err = findWebhookSecrets(ctx, tx, refs)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	// Secrets are decrypted after the commit, so the transaction holds its locks for less time.
	return s.jobs(ctx, leased, bodies, secrets, enabled), counts, nil
}
