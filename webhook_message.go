package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
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
