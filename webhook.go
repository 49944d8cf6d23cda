package ticketing

import (
	"context"

	"github.com/google/uuid"
)

// Sender posts webhooks. Package delivery has the one of this project; a host whose network needs another way out may
// bring its own. It is called from many goroutines at once.
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
