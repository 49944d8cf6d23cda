package ticketing

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// dispatchPatience is how long a dispatch waits at a company's gate before the next company has its turn.
const dispatchPatience = 500 * time.Millisecond

// dispatched is what became of a company's facts.
type dispatched struct {
	facts      int
	messages   []MessageRecord
	deliveries []DeliveryRecord
	bodies     map[uuid.UUID][]byte // by event
	secrets    map[WebhookSecretRef]WebhookSecretRecord
	counts     map[int64]int // of the deliveries of each endpoint
	enabled    map[int64]WebhookEndpointRecord
}

// dispatchCompany takes a company's oldest facts that are not dispatched, makes the deliveries of them, and marks them,
// in one transaction: a fact is never dispatched twice nor forgotten. The facts are locked, and the shared gate keeps
// the endpoints as they are meanwhile. What the courier has room for is leased to it from the beginning, and costs the
// database an insert and an update; the rest is due in the store.
func (s *Service) dispatchCompany(ctx context.Context, companyID uuid.UUID, c *courier) (dispatched, error) {
	var room map[int64]int
	var stops int
	if c != nil {
		room, stops = c.rooms(companyID)
	}
	at := s.now()
	var done dispatched
	err := s.background.Update(ctx, func(ctx context.Context, tx Tx) error {
		done = dispatched{}
		in := Entrance{Share: []uuid.UUID{companyID}, Patience: dispatchPatience}
		if _, err := tx.Enter(ctx, in); err != nil {
			return err
		}
		taken, err := tx.TakeFacts(ctx, companyID, factBatch)
		if err != nil || len(taken) == 0 {
			return err
		}
		done.facts = len(taken)
		if done.enabled, err = enabledEndpoints(ctx, tx, companyID); err != nil {
			return err
		}
		if err := s.fanOut(ctx, tx, at, taken, &done); err != nil {
			return err
		}
		if c != nil {
			if err := leaseRoom(ctx, tx, at.Add(deliveryLease), maps.Clone(room), &done); err != nil {
				return err
			}
		}
		// The writes come last, so that they travel together.
		if err := tx.AppendMessages(ctx, done.messages); err != nil {
			return err
		}
		if err := tx.AppendDeliveries(ctx, done.deliveries); err != nil {
			return err
		}
		return tx.DispatchFacts(ctx, taken, s.onFact == nil)
	})
	if err != nil {
		return dispatched{}, err
	}
	if c != nil {
		c.hand(ctx, s.parcels(done.deliveries, done.bodies, done.secrets, done.enabled), stops)
	}
	return done, nil
}

// fanOut renders the events that somebody is subscribed to, once each, and makes a delivery for each endpoint that is
// enabled, subscribed, and was there when the fact was written.
func (s *Service) fanOut(
	ctx context.Context, tx ReadTx, at time.Time, taken []FactRecord, done *dispatched,
) error {
	endpoints := slices.SortedFunc(maps.Values(done.enabled), func(a, b WebhookEndpointRecord) int {
		return cmp.Compare(a.Number, b.Number)
	})
	var facts []FactRecord
	for _, record := range taken {
		for _, fact := range record.Facts() {
			if slices.ContainsFunc(endpoints, fact.goesTo) {
				facts = append(facts, fact)
			}
		}
	}
	if len(facts) == 0 {
		return nil
	}
	events, err := s.showEvents(ctx, tx, facts)
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
		if !rendered {
			continue
		}
		message := MessageRecord{
			CompanyID: fact.CompanyID, At: fact.At, ID: fact.ID, Type: fact.eventType(), Subject: fact.Subject,
			Body: string(body),
		}
		done.messages = append(done.messages, message)
		for _, endpoint := range endpoints {
			if fact.goesTo(endpoint) {
				done.deliveries = append(done.deliveries, s.newDelivery(at, message, endpoint))
				done.counts[endpoint.Number]++
			}
		}
	}
	return nil
}

// goesTo tells whether a fact is delivered to an endpoint that is enabled.
func (f FactRecord) goesTo(endpoint WebhookEndpointRecord) bool {
	return endpoint.Number <= f.Endpoints && slices.Contains(endpoint.Events, f.eventType())
}

// leaseRoom leases as many new deliveries as there is room for, and finds the secrets that sign them.
func leaseRoom(
	ctx context.Context, tx ReadTx, until time.Time, room map[int64]int, done *dispatched,
) error {
	var refs []WebhookSecretRef
	for i, d := range done.deliveries {
		left, known := room[d.Endpoint]
		if !known {
			left = room[0]
		}
		if left <= 0 || room[allRoutes] <= 0 {
			continue
		}
		room[d.Endpoint] = left - 1
		room[allRoutes]--
		done.deliveries[i] = d.leased(until)
		refs = append(refs, d.secret())
	}
	var err error
	done.secrets, err = findWebhookSecrets(ctx, tx, refs)
	return err
}
