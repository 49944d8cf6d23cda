package ticketing

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// dispatchPatience is how long a dispatch waits for a company's gate before it gives way to the next company.
const dispatchPatience = 500 * time.Millisecond

// dispatched is the result of dispatching some of a company's facts. Bodies, secrets and endpoints are what the
// deliverer needs to send at once, without another read.
type dispatched struct {
	facts         int
	notifications int
	messages      []driver.Message
	deliveries    []driver.Delivery
	bodies        map[uuid.UUID][]byte // by event
	secrets       map[driver.WebhookSecretRef]driver.WebhookSecret
	counts        map[int64]int // of deliveries, by the number of the endpoint
	enabled       map[int64]driver.WebhookEndpoint
}

// dispatchCompany takes a company's oldest facts that are not dispatched, creates their deliveries and notifications,
// counts them in the sums of sales and marks them, in one transaction. So a fact is dispatched exactly once. The facts
// are locked, and the shared gate keeps the endpoints as they are meanwhile.
//
// Deliveries for which the deliverer has room are leased to it from the beginning. That saves the database a claim:
// such a delivery costs an insert and an update. The others wait in the store. Without a deliverer, all of them do.
//
// It takes at most factBatch facts, so that a long backlog does not make a long transaction. On an error nothing was
// dispatched, and the facts are taken again later.
func (s *Service) dispatchCompany(ctx context.Context, companyID uuid.UUID, d *deliverer) (dispatched, error) {
	var room map[int64]int
	var stops int
	// The room is computed before the transaction, because the deliverer's lock must not be held during it.
	if d != nil {
		room, stops = d.rooms(companyID)
	}
	at := s.now()
	var done dispatched
	err := s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		// The result is assigned afresh, since the transaction may run again.
		done = dispatched{}
		in := driver.BeginOptions{Shared: []uuid.UUID{companyID}, LockTimeout: dispatchPatience}
		if _, err := tx.Begin(ctx, in); err != nil {
			return err
		}
		// Facts that another process has locked are skipped, so processes divide a backlog.
		taken, err := tx.TakeFacts(ctx, companyID, factBatch)
		if err != nil || len(taken) == 0 {
			return err
		}
		done.facts = len(taken)
		// They are read under the gate: an endpoint that was disabled before gets no delivery, and a later disabling
		// finds those that are made here.
		if done.enabled, err = enabledEndpoints(ctx, tx, companyID); err != nil {
			return err
		}
		// The notification of a sale is made with its deliveries. So it does not depend on which process publishes the
		// fact to its host, and none is lost.
		subjects, err := readSubjects(ctx, tx, taken)
		if err != nil {
			return err
		}
		notifications, err := notifyBuyers(ctx, tx, at, taken, subjects)
		if err != nil {
			return err
		}
		done.notifications = len(notifications)
		if err := s.fanOut(ctx, knownSubjects{tx, subjects}, at, taken, &done); err != nil {
			return err
		}
		// The progress of the sums is locked here, after every other lock.
		sums, entries, err := countFacts(ctx, tx, companyID, taken, subjects)
		if err != nil {
			return err
		}
		if d != nil {
			// leaseRoom uses up the room, so each run of the transaction gets a copy.
			if err := leaseRoom(ctx, tx, at.Add(deliveryLease), maps.Clone(room), &done); err != nil {
				return err
			}
		}
		// The writes come last, so that the store can send them in one message. The sums are the last of them: all
		// dispatches of the company meet there.
		if err := tx.AppendNotifications(ctx, notifications); err != nil {
			return err
		}
		if err := tx.AppendMessages(ctx, done.messages); err != nil {
			return err
		}
		if err := tx.AppendDeliveries(ctx, done.deliveries); err != nil {
			return err
		}
		// Without OnFact nobody is to get the facts, so they are handled as well.
		if err := tx.DispatchFacts(ctx, taken, s.onFact == nil); err != nil {
			return err
		}
		if err := tx.PutBuyerOrders(ctx, entries); err != nil {
			return err
		}
		return tx.AddSales(ctx, sums)
	})
	if err != nil {
		return dispatched{}, err
	}
	s.commits.send()
	if d != nil {
		// After the commit: a delivery must not be sent that was rolled back.
		d.enqueue(ctx, s.jobs(ctx, done.deliveries, done.bodies, done.secrets, done.enabled), stops)
	}
	return done, nil
}

// fanOut renders the events of the facts, each once, and creates a delivery for each endpoint that is enabled,
// subscribed to the type, and was there when the fact was written (section 6.5). A fact that no endpoint takes is not
// rendered. The URL and the signing secret of a delivery are snapshots of the endpoint.
//
// It only reads. The caller writes what it adds to done.
func (s *Service) fanOut(
	ctx context.Context, tx driver.ReadTx, at time.Time, taken []driver.Fact, done *dispatched,
) error {
	endpoints := slices.SortedFunc(maps.Values(done.enabled), func(a, b driver.WebhookEndpoint) int {
		return cmp.Compare(a.Number, b.Number)
	})
	// Only facts that an endpoint takes are rendered.
	var facts []driver.Fact
	for _, record := range taken {
		for _, fact := range record.Facts() {
			if slices.ContainsFunc(endpoints, func(e driver.WebhookEndpoint) bool { return goesTo(fact, e) }) {
				facts = append(facts, fact)
			}
		}
	}
	if len(facts) == 0 {
		return nil
	}
	// All facts of the batch are rendered together, so the number of reads does not depend on theirs.
	events, err := s.renderWebhookEvents(ctx, tx, facts)
	if err != nil {
		return err
	}
	done.bodies = make(map[uuid.UUID][]byte, len(events))
	for _, event := range events {
		done.bodies[event.ID] = event.Body
	}
	done.counts = make(map[int64]int)
	for _, fact := range facts {
		body, rendered := done.bodies[fact.ID]
		// A fact that cannot be rendered has no delivery.
		if !rendered {
			continue
		}
		message := driver.Message{
			CompanyID: fact.CompanyID, At: fact.At, ID: fact.ID, Type: eventTypeOf(fact), Subject: fact.Subject,
			Body: string(body),
		}
		done.messages = append(done.messages, message)
		for _, endpoint := range endpoints {
			if goesTo(fact, endpoint) {
				done.deliveries = append(done.deliveries, s.newDelivery(at, message, endpoint))
				done.counts[endpoint.Number]++
			}
		}
	}
	return nil
}

// goesTo reports whether a fact is delivered to an endpoint that is enabled. The numbers of endpoints ascend, so an
// endpoint with a higher number than Endpoints was registered after the fact.
//
// The count was written under the shared gate, and a registration holds the gate exclusively. So no clock decides which
// endpoints existed.
func goesTo(f driver.Fact, endpoint driver.WebhookEndpoint) bool {
	return endpoint.Number <= f.Endpoints && slices.Contains(endpoint.Events, eventTypeOf(f))
}

// leaseRoom leases as many of the new deliveries as there is room for, and finds the secrets that sign them. room is
// what deliverer.rooms returned; leaseRoom changes it.
func leaseRoom(
	ctx context.Context, tx driver.ReadTx, until time.Time, room map[int64]int, done *dispatched,
) error {
	var refs []driver.WebhookSecretRef
	for i, d := range done.deliveries {
		left, known := room[d.Endpoint]
		// An endpoint queue that the deliverer does not know yet has the room under zero.
		if !known {
			left = room[0]
		}
		if left <= 0 || room[allQueues] <= 0 {
			continue
		}
		room[d.Endpoint] = left - 1
		// The room of all endpoints together bounds the memory of the process.
		room[allQueues]--
		done.deliveries[i] = leaseDelivery(d, until)
		// Only what is sent by this process needs its secret now.
		refs = append(refs, d.SecretRef())
	}
	var err error
	done.secrets, err = findWebhookSecrets(ctx, tx, refs)
	return err
}

// pauseTime is how long further facts of a company wait while its endpoints have all the deliveries that they can take.
const pauseTime = 250 * time.Millisecond

// pause reports whether the dispatch of a company's further facts has to wait, and if so schedules its end.
//
// It waits if every endpoint of the last batch has a full queue; counts are the deliveries of each in that batch. A
// fact that waits costs the store less than its deliveries would. An endpoint that is new, slow or failing never causes
// a pause, because facts for the other endpoints would wait with it. The end is scheduled as well, since an endpoint
// that fails would never make room.
func (d *deliverer) pause(companyID uuid.UUID, counts map[int64]int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for number, count := range counts {
		q := d.queueOf(driver.WebhookEndpointRef{CompanyID: companyID, Number: number})
		// One endpoint with room is enough to go on: facts for it must not wait for the others.
		if q.class() != proven || q.more == 0 && d.leasable(q) >= count {
			return false
		}
	}
	if d.closed || len(counts) == 0 {
		return false
	}
	d.pauses[companyID] = true
	time.AfterFunc(pauseTime, func() { d.resume(companyID) })
	return true
}

// paused reports whether the company's facts wait. A dispatch checks it first: a commit may wake it during a pause.
func (d *deliverer) paused(companyID uuid.UUID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pauses[companyID]
}

// resume ends a pause and has the company's facts dispatched again. It does nothing if the pause has ended already: the
// timer and the first free room may both call it.
func (d *deliverer) resume(companyID uuid.UUID) {
	d.mu.Lock()
	paused := d.pauses[companyID]
	delete(d.pauses, companyID)
	d.mu.Unlock()
	if paused {
		d.onResume(companyID)
	}
}
