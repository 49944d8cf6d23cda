package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// EventStatus is the status of an event (section 3.1).
type EventStatus string

// The statuses of an event. ENDED and CANCELLED are terminal.
const (
	EventDraft     EventStatus = "DRAFT"
	EventPublished EventStatus = "PUBLISHED"
	EventEnded     EventStatus = "ENDED"
	EventCancelled EventStatus = "CANCELLED"
)

// Event is an event as a store keeps it. Empty texts mean none. Its status changes only under the company's gate,
// held exclusively, because a checkout reads it without a lock.
type Event struct {
	CompanyID        uuid.UUID
	ID               uuid.UUID
	Title            string
	Description      string
	Status           EventStatus
	Date             string
	StartsAt         string
	EndsAt           string
	Timezone         string
	Location         string
	Venue            string
	ImageURL         string
	OrganizerName    string
	CategoryID       uuid.UUID // zero: none
	TicketCategories []string  // the custom names, in the order they were added
	EndsOn           time.Time // when background work ends it; zero: never
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// EventRef names an event within its company.
type EventRef struct{ CompanyID, ID uuid.UUID }

// EventQuery selects a part of the list of a company's events, newest first; events of the same time are ordered by id,
// highest first.
type EventQuery struct {
	CompanyID uuid.UUID
	Status    EventStatus // empty: any
	After     Position    // zero: from the newest
	Limit     int
}

// EventReader finds events and the categories that they take.
type EventReader interface {
	// Events returns events by their references.
	Events(ctx context.Context, refs []EventRef) ([]Event, error)
	// FindEvent returns the event with an id, of any company. It returns the zero record if there is none.
	FindEvent(ctx context.Context, id uuid.UUID) (Event, error)
	// ListEvents returns events as the query selects them.
	ListEvents(ctx context.Context, query EventQuery) ([]Event, error)
	// DueEvents returns the published events whose EndsOn is at or before a time, the earliest first.
	DueEvents(ctx context.Context, at time.Time, limit int) ([]EventRef, error)
	// Categories returns categories by their ids.
	Categories(ctx context.Context, ids []uuid.UUID) ([]Category, error)
	// ListCategories returns the categories after a slug, in the order of their slugs.
	ListCategories(ctx context.Context, afterSlug string, limit int) ([]Category, error)
}

// EventWriter keeps events and categories.
type EventWriter interface {
	// LockEvent returns an event and locks it against other writers until the end of the transaction.
	LockEvent(ctx context.Context, ref EventRef) (Event, error)
	// CreateEvent keeps a new event.
	CreateEvent(ctx context.Context, event Event) error
	// UpdateEvent updates an event that was locked.
	UpdateEvent(ctx context.Context, event Event) error
	// CreateCategory keeps a new category. It fails with a [ConstraintError] if the slug is taken.
	CreateCategory(ctx context.Context, category Category) error
	// UpdateCategory updates all but the time of creation.
	UpdateCategory(ctx context.Context, category Category) error
}

// Ref returns the reference of the event.
func (e Event) Ref() EventRef { return EventRef{CompanyID: e.CompanyID, ID: e.ID} }
