package ticketing

import (
	"context"

	"github.com/google/uuid"
)

// Sender posts webhooks. Package delivery has the one that comes with the service; a host with other ways out of its
// network may bring its own. It is called from many goroutines at once.
type Sender interface {
	// Post makes one attempt and never another one by itself. It answers with the status that the receiver gave, also
	// one that is not 2xx: what that means is not the sender's to say. Where no answer came within 10 seconds it answers
	// with an error, whose text companies see in their list of deliveries: short, on one line, and with nothing in it
	// that the receiver wrote.
	//
	// Post returns soon after its context ends, with an error that wraps the context's. An error that wraps
	// [context.Canceled] while the context holds says that the sender gave up, as one does that was closed: it is no
	// failed attempt, and the delivery is due again 5 seconds later. Post does not change the body.
	Post(ctx context.Context, attempt WebhookPost) (status int, err error)
}

// WebhookPost is one attempt to deliver an event (section 6.3).
type WebhookPost struct {
	EndpointID uuid.UUID
	DeliveryID uuid.UUID // X-Service-Delivery-Id: of the run of attempts, new with a manual replay
	EventID    uuid.UUID // X-Service-Event-Id: the id in the body, the same in every run
	EventType  FactType  // X-Service-Event
	// URL is that of the endpoint when the delivery was made.
	URL string
	// Signature is the value of X-Service-Signature, with the time of this attempt.
	Signature string
	// Body is the event's stored JSON, to be sent byte for byte. It is not changed any more, also after the attempt: what
	// is left of that may still be reading it.
	Body []byte
}
