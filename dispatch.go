package ticketing

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/webhook"
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
	counts     map[int64]int       // of the deliveries of each endpoint
	versions   map[int64]time.Time // of the endpoints
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
	err := s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
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
		endpoints, err := tx.ListWebhookEndpoints(ctx, companyID)
		if err != nil {
			return err
		}
		done.versions = versions(endpoints)
		if err := s.fanOut(ctx, tx, at, taken, endpoints, &done); err != nil {
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
		c.hand(ctx, s.parcels(done.deliveries, done.bodies, done.secrets, done.versions), stops)
	}
	return done, nil
}

// fanOut renders the events that somebody is subscribed to, once each, and makes a delivery for each endpoint that is
// enabled, subscribed, and was there when the fact was written.
func (s *Service) fanOut(
	ctx context.Context, tx ReadTx, at time.Time, taken []FactRecord, endpoints []WebhookEndpointRecord, done *dispatched,
) error {
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

// goesTo tells whether a fact is delivered to an endpoint.
func (f FactRecord) goesTo(endpoint WebhookEndpointRecord) bool {
	return endpoint.Status == WebhookEnabled && endpoint.Number <= f.Endpoints &&
		slices.Contains(endpoint.Events, f.eventType())
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

func findWebhookSecrets(
	ctx context.Context, tx ReadTx, refs []WebhookSecretRef,
) (map[WebhookSecretRef]WebhookSecretRecord, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	refs = distinct(refs)
	found, err := tx.WebhookSecrets(ctx, refs)
	if err != nil {
		return nil, err
	}
	secrets := make(map[WebhookSecretRef]WebhookSecretRecord, len(refs))
	for i, ref := range refs {
		secrets[ref] = found[i]
	}
	return secrets, nil
}

// showEvents renders facts, samples among them, as they are delivered, in a few reads for any number of them. One that
// cannot be rendered, because what it tells of is gone or not as it was written, is left out and logged: it keeps no
// other from being delivered.
func (s *Service) showEvents(ctx context.Context, tx ReadTx, records []FactRecord) ([]WebhookEvent, error) {
	facts := make([]Fact, len(records))
	var happened []FactRecord
	for i, record := range records {
		if record.sample() {
			facts[i] = Fact{ID: record.ID, CreatedAt: Time{record.At}, Type: record.eventType(), Data: record.sampleData()}
		} else {
			happened = append(happened, record)
		}
	}
	shown, err := showFacts(ctx, tx, happened)
	if err != nil {
		return nil, err
	}
	for i, record := range records {
		if !record.sample() {
			facts[i], shown = shown[0], shown[1:]
		}
	}
	events := make([]WebhookEvent, 0, len(facts))
	for _, fact := range facts {
		body, err := fact.body()
		if err != nil {
			s.log.ErrorContext(ctx, "a fact cannot be rendered for webhooks", slog.String("fact", fact.ID.String()),
				slog.String("type", string(fact.Type)), slog.Any("error", err))
			continue
		}
		events = append(events, WebhookEvent{ID: fact.ID, Type: fact.Type, CreatedAt: fact.CreatedAt, Body: body})
	}
	return events, nil
}

// body is what is delivered of a fact.
func (f Fact) body() (body []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("ticketing: render a webhook: panic of type %T", value)
		}
	}()
	return webhook.NewEvent(f.ID.String(), f.CreatedAt.Time, f.Data).Encode()
}

// showMessages are the events of messages, those that were forgotten rendered anew.
func (s *Service) showMessages(ctx context.Context, tx ReadTx, messages []MessageRecord) ([]WebhookEvent, error) {
	var forgotten []FactRecord
	for _, m := range messages {
		if m.ID != uuid.Nil && m.Body == "" {
			forgotten = append(forgotten, FactRecord{
				CompanyID: m.CompanyID, At: m.At, ID: m.ID, Type: m.Type, Subject: m.Subject,
			})
		}
	}
	anew, err := s.showEvents(ctx, tx, forgotten)
	if err != nil {
		return nil, err
	}
	bodies := make(map[uuid.UUID][]byte, len(anew))
	for _, event := range anew {
		bodies[event.ID] = event.Body
	}
	events := make([]WebhookEvent, 0, len(messages))
	for _, m := range messages {
		body := []byte(m.Body)
		if m.Body == "" {
			body = bodies[m.ID]
		}
		if len(body) > 0 {
			events = append(events, WebhookEvent{ID: m.ID, Type: m.Type, CreatedAt: Time{m.At}, Body: body})
		}
	}
	return events, nil
}
