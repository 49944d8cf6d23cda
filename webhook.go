package ticketing

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/webhook"
)

// Sender posts webhooks. Package delivery has an implementation. A host whose network needs another way out may provide
// its own. It is called from many goroutines at once.
type Sender interface {
	// Post makes one attempt and never repeats it. It returns the status of the response, even if that is not 2xx: the
	// service decides what a status means. If there is no response within 10 seconds it returns an error. Companies see
	// its text in their list of deliveries. So the text is short, on one line, and has nothing in it that the receiver
	// wrote.
	//
	// Post returns soon after its context ends, with an error that wraps the context's. An error that wraps
	// [context.Canceled] before the context has ended says that the sender gave up, for example because it was closed.
	// It is not counted as a failed attempt, and the delivery is due again 5 seconds later. Post does not change the
	// body.
	Post(ctx context.Context, attempt WebhookRequest) (status int, err error)
}

// WebhookRequest is one attempt to deliver an event (section 6.3).
type WebhookRequest struct {
	EndpointID uuid.UUID
	DeliveryID uuid.UUID // X-Service-Delivery-Id: of the run of attempts; a manual replay has a new one
	EventID    uuid.UUID // X-Service-Event-Id: the id in the body, the same in every run
	EventType  FactType  // X-Service-Event
	// URL is the URL of the endpoint when the delivery was made.
	URL string
	// Signature is the value of X-Service-Signature, with the time of this attempt.
	Signature string
	// Body is the event's stored JSON, to be sent byte for byte. It is never changed, even after the attempt, because
	// an abandoned request may still be reading it.
	Body []byte
}

// WebhookEvent is an event as it is delivered to endpoints (section 6.3).
type WebhookEvent struct {
	ID        uuid.UUID       `json:"id"`
	Type      FactType        `json:"type"`
	CreatedAt Time            `json:"createdAt"`
	Body      json.RawMessage `json:"body"` // the exact bytes, to be signed and sent without change
	// Replayed reports whether it is a replay by an operator.
	Replayed bool `json:"replayed"`
}

// renderWebhookEvents renders facts, including samples, as they are delivered. The number of reads does not depend on
// that of the facts. A fact that cannot be rendered, because its subject is missing or malformed, is logged and left
// out: it must not keep the other facts of its batch from being delivered. The log names the fact and its type, never
// its content.
func (s *Service) renderWebhookEvents(
	ctx context.Context, tx driver.ReadTx, records []driver.Fact,
) ([]WebhookEvent, error) {
	// The facts keep the order of the records: samples are made here, the others are rendered together below.
	facts := make([]Fact, len(records))
	var happened []driver.Fact
	for i, record := range records {
		if isSample(record) {
			facts[i] = Fact{ID: record.ID, CreatedAt: Time{Time: record.At}, Type: eventTypeOf(record), Data: sampleData(record)}
		} else {
			happened = append(happened, record)
		}
	}
	// Samples need no read: their data is made of the fact.
	shown, err := showFacts(ctx, tx, happened)
	if err != nil {
		return nil, err
	}
	for i, record := range records {
		if !isSample(record) {
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

// body returns the body that is delivered for a fact. A panic of the encoder is an error of this fact only. The bytes
// are made once and kept with the message, so every attempt signs and sends the same.
func (f Fact) body() (body []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("ticketing: render a webhook: panic of type %T", value)
		}
	}()
	return webhook.NewEvent(f.ID.String(), f.CreatedAt.Time, f.Data).Encode()
}

// showMessages returns the events of messages. It renders those whose body is empty. A rendered body names the buyer as
// the order does now, so an erased buyer does not come back.
func (s *Service) showMessages(
	ctx context.Context, tx driver.ReadTx, messages []driver.Message,
) ([]WebhookEvent, error) {
	var forgotten []driver.Fact
	for _, m := range messages {
		// An empty body marks an erasure. A message that does not exist has no id, and is left out.
		if m.ID != uuid.Nil && m.Body == "" {
			forgotten = append(forgotten, driver.Fact{
				CompanyID: m.CompanyID, At: m.At, ID: m.ID, Type: m.Type, Subject: m.Subject,
			})
		}
	}
	rerendered, err := s.renderWebhookEvents(ctx, tx, forgotten)
	if err != nil {
		return nil, err
	}
	bodies := make(map[uuid.UUID][]byte, len(rerendered))
	for _, event := range rerendered {
		bodies[event.ID] = event.Body
	}
	events := make([]WebhookEvent, 0, len(messages))
	for _, m := range messages {
		body := []byte(m.Body)
		if m.Body == "" {
			body = bodies[m.ID]
		}
		if len(body) > 0 {
			events = append(events, WebhookEvent{ID: m.ID, Type: m.Type, CreatedAt: Time{Time: m.At}, Body: body})
		}
	}
	return events, nil
}

// findBodies returns the bodies that deliveries send, by event. It renders and keeps those that are empty, so that all
// later attempts send the same bytes. A body that cannot be rendered is missing from the result, and its delivery
// fails. findBodies writes, so its caller runs in an Update and under the company's gate.
func (s *Service) findBodies(
	ctx context.Context, tx driver.Tx, deliveries []driver.Delivery,
) (map[uuid.UUID][]byte, error) {
	refs := make([]driver.MessageRef, len(deliveries))
	for i, d := range deliveries {
		refs[i] = d.MessageRef()
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
	// Rendered bodies of erased messages are kept, so that later attempts do not render them again.
	rerendered := filter(messages, func(_ int, m driver.Message) bool { return m.Body == "" && len(bodies[m.ID]) > 0 })
	if len(rerendered) == 0 {
		return bodies, nil
	}
	for i, m := range rerendered {
		rerendered[i].Body = string(bodies[m.ID])
	}
	return bodies, tx.UpdateMessages(ctx, rerendered)
}
