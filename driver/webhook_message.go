package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Message is the body of an event. It is rendered once, and every attempt, endpoint and replay gets the same bytes
// (section 6.5). A second rendering, by a later version of this library, might differ, and receivers could take that
// for a change.
type Message struct {
	CompanyID uuid.UUID
	At        time.Time // of the fact
	ID        uuid.UUID // of the event
	Type      FactType
	Subject   uuid.UUID // see [Fact]
	// Body is the JSON. It is empty after the erasure of a buyer that it named. It is then rendered again when it is
	// needed.
	Body string
}

// MessageRef identifies a message. In the primary key the time of the fact comes before the id.
type MessageRef struct {
	CompanyID uuid.UUID
	At        time.Time
	ID        uuid.UUID
}

// MessageReader finds messages.
type MessageReader interface {
	// Messages returns messages by reference.
	Messages(ctx context.Context, refs []MessageRef) ([]Message, error)
}

// MessageWriter keeps messages.
type MessageWriter interface {
	// AppendMessages keeps new messages.
	AppendMessages(ctx context.Context, messages []Message) error
	// UpdateMessages keeps bodies that were emptied and rendered again.
	UpdateMessages(ctx context.Context, messages []Message) error
	// ForgetMessages empties the bodies of all messages about orders. It finds them by the time of the order's
	// confirmation.
	ForgetMessages(ctx context.Context, orders []Order) error
	// PruneMessages removes up to limit of a company's messages, oldest first, and returns how many. It removes messages
	// from before a time that have no delivery left.
	PruneMessages(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error)
}
