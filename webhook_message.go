package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// maxMessageDeliveries is how many deliveries a message shows. An event has one for each endpoint, at most ten, and one
// for each replay.
const maxMessageDeliveries = 100

// WebhookMessage is an event as endpoints received it, with its deliveries.
type WebhookMessage struct {
	EventID   uuid.UUID `json:"eventId"`
	CompanyID uuid.UUID `json:"companyId"`
	EventType FactType  `json:"eventType"`
	CreatedAt Time      `json:"createdAt"` // when it happened
	// Body is the JSON that every attempt sends, byte for byte (section 6.3). After the erasure of a buyer it is what an
	// attempt would send now, which no longer names the buyer.
	Body string `json:"body"`
	// Deliveries are its deliveries to all endpoints and its replays, newest first, at most 100. They have no log of
	// attempts.
	Deliveries []WebhookDelivery `json:"deliveries"`
	// MoreDeliveries reports whether there are older ones.
	MoreDeliveries bool `json:"moreDeliveries"`
}

// errMessageNotFound is also for events without a delivery, and for those that were pruned.
var errMessageNotFound = notFound("The event")

// GetMessage returns an event of a company as it was sent to endpoints. It needs COMPANY:webhook:read.
//
// An event is NOT_FOUND if no endpoint of the company ever got a delivery of it, and as soon as its last delivery was
// removed after [Config.WebhookRetention].
func (o Operator) GetMessage(ctx context.Context, companyID, eventID uuid.UUID) (WebhookMessage, error) {
	if err := o.allow(PermissionWebhookRead, companyID); err != nil {
		return WebhookMessage{}, err
	}
	// All deliveries are shown as of this time, which decides whether a lease is over.
	at := o.s.now()
	var shown WebhookMessage
	err := o.snapshot(ctx, PermissionWebhookRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			// A message is found by the time of its event, which its deliveries know.
			deliveries, err := tx.ListMessageDeliveries(ctx, companyID, eventID, maxMessageDeliveries+1)
			if err != nil {
				return err
			}
			if len(deliveries) == 0 {
				return errMessageNotFound
			}
			messages, err := tx.Messages(ctx, []driver.MessageRef{deliveries[0].MessageRef()})
			if err != nil {
				return err
			}
			events, err := o.s.showMessages(ctx, tx, messages)
			if err != nil {
				return err
			}
			if len(events) == 0 {
				return errMessageNotFound
			}
			shown = WebhookMessage{
				EventID: eventID, CompanyID: companyID, EventType: events[0].Type, CreatedAt: events[0].CreatedAt,
				Body: string(events[0].Body), MoreDeliveries: len(deliveries) > maxMessageDeliveries,
			}
			for _, delivery := range deliveries[:min(len(deliveries), maxMessageDeliveries)] {
				one := showDelivery(delivery, at)
				one.Log = nil
				shown.Deliveries = append(shown.Deliveries, one)
			}
			return nil
		})
	if err != nil {
		return WebhookMessage{}, err
	}
	return shown, nil
}
