package ticketing

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/webhook"
)

// MessageRecord is the body of an event as it was first rendered, and as every attempt, every endpoint and every replay
// gets it.
type MessageRecord struct {
	CompanyID uuid.UUID
	At        time.Time // that of the fact
	ID        uuid.UUID // that of the event
	Type      FactType
	Subject   uuid.UUID // as of [FactRecord]
	Body      string    // empty: it was forgotten, since it named a buyer who was erased, and is rendered anew when needed
}

// MessageRef names a message.
type MessageRef struct {
	CompanyID uuid.UUID
	At        time.Time
	ID        uuid.UUID
}

// MessageReader finds messages.
type MessageReader interface {
	Messages(ctx context.Context, refs []MessageRef) ([]MessageRecord, error)
}

// MessageWriter keeps messages.
type MessageWriter interface {
	AppendMessages(ctx context.Context, messages []MessageRecord) error
	// UpdateMessages keeps bodies that were forgotten and rendered anew.
	UpdateMessages(ctx context.Context, messages []MessageRecord) error
	// ForgetMessages empties the bodies of all messages about orders. It finds them by the order's time of confirmation.
	ForgetMessages(ctx context.Context, orders []OrderRecord) error
	// PruneMessages removes up to a limit of a company's messages from before a time that no delivery is left of, the
	// oldest first, and tells how many.
	PruneMessages(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error)
}

// WebhookEvent is an event as it is delivered to endpoints.
type WebhookEvent struct {
	ID        uuid.UUID       `json:"id"`
	Type      FactType        `json:"type"`
	CreatedAt Time            `json:"createdAt"`
	Body      json.RawMessage `json:"body"` // the exact bytes, to be signed as they are
	// Replayed tells that it is delivered again by an operator.
	Replayed bool `json:"replayed"`
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

// findBodies finds what deliveries send. What was forgotten is rendered anew, and kept.
func (s *Service) findBodies(
	ctx context.Context, tx Tx, deliveries []DeliveryRecord,
) (map[uuid.UUID][]byte, error) {
	refs := make([]MessageRef, len(deliveries))
	for i, d := range deliveries {
		refs[i] = d.message()
	}
	messages, err := tx.Messages(ctx, distinct(refs))
	if err != nil {
		return nil, err
	}
	events, err := s.showMessages(ctx, tx, messages)
	if err != nil {
		return nil, err
	}
	bodies := make(map[uuid.UUID][]byte, len(events))
	for _, event := range events {
		bodies[event.ID] = event.Body
	}
	anew := filter(messages, func(_ int, m MessageRecord) bool { return m.Body == "" && len(bodies[m.ID]) > 0 })
	if len(anew) == 0 {
		return bodies, nil
	}
	for i, m := range anew {
		anew[i].Body = string(bodies[m.ID])
	}
	return bodies, tx.UpdateMessages(ctx, anew)
}
