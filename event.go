package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// EventStatus is where an event stands (section 3.1).
type EventStatus string

// The statuses of an event. ENDED and CANCELLED are terminal.
const (
	EventDraft     EventStatus = "DRAFT"
	EventPublished EventStatus = "PUBLISHED"
	EventEnded     EventStatus = "ENDED"
	EventCancelled EventStatus = "CANCELLED"
)

// Limits of an event's texts, in characters (section 8).
const (
	maxTitle       = 200
	maxDescription = 5000
	maxPlace       = 500
	maxImageURL    = 2000
)

// Event is an event as the contract shows it (section 2.3).
type Event struct {
	ID               uuid.UUID      `json:"id"`
	Object           string         `json:"object"` // "event"
	Title            string         `json:"title"`
	Description      *string        `json:"description"`
	Status           EventStatus    `json:"status"`
	Schedule         Schedule       `json:"schedule"`
	Location         Location       `json:"location"`
	ImageURL         string         `json:"imageUrl"`
	OrganizerName    *string        `json:"organizerName"`
	Category         *EventCategory `json:"category"`
	TicketCategories []string       `json:"ticketCategories"`
	CreatedAt        Time           `json:"createdAt"`
	UpdatedAt        Time           `json:"updatedAt"`
}

// Schedule is when an event takes place, in its own time zone. Its members are null only for events that a host
// imported by other means.
type Schedule struct {
	Date     *string `json:"date"`     // YYYY-MM-DD
	StartsAt *string `json:"startsAt"` // HH:mm
	EndsAt   *string `json:"endsAt"`   // HH:mm; at or before StartsAt it is the next day
	Timezone *string `json:"timezone"` // IANA name
}

// Location is where an event takes place.
type Location struct {
	Name  *string `json:"name"`
	Venue *string `json:"venue"`
}

// EventCategory is the platform-wide category of an event.
type EventCategory struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	Slug string    `json:"slug"`
}

// CreateEventParams are the members of section 4.2. Texts are trimmed; optional ones may be empty, which means none.
type CreateEventParams struct {
	Title            string // 1 to 200 characters
	Description      string // at most 5000; line breaks and tabs are kept
	Date             string // a real calendar day, YYYY-MM-DD
	StartsAt         string // HH:mm
	EndsAt           string // HH:mm; at or before StartsAt it is the next day
	Timezone         string // IANA name
	Location         string // at most 500
	Venue            string // at most 500
	ImageURL         string // absolute https URL, at most 2000, without credentials or fragment
	OrganizerName    string // at most 200
	CategoryID       uuid.UUID
	TicketCategories []string    // custom names, see TicketCategories in section 2.4
	Status           EventStatus // DRAFT or PUBLISHED
}

// UpdateEventParams change the members that are not nil; a pointer to "" (or to the zero id) clears an optional one.
// Ticket categories are added, existing names are retained (section 4.4).
type UpdateEventParams struct {
	Title            *string
	Description      *string
	Date             *string
	StartsAt         *string
	EndsAt           *string
	Timezone         *string
	Location         *string
	Venue            *string
	ImageURL         *string
	OrganizerName    *string
	CategoryID       *uuid.UUID
	TicketCategories *[]string
	Status           *EventStatus
}

// EventFilter says which events are listed.
type EventFilter struct {
	PageParams

	Status EventStatus // empty: any
}

// EventRecord is an event as a store keeps it. Empty texts mean none. Its status changes only behind the company's
// closed gate.
type EventRecord struct {
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
	EndsOn           time.Time // when background work ends it; zero: never by itself
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// EventRef names an event within its company.
type EventRef struct{ CompanyID, ID uuid.UUID }

// EventQuery asks for a part of the list of a company's events, newest first, of one time by id descending.
type EventQuery struct {
	CompanyID uuid.UUID
	Status    EventStatus // empty: any
	Before    Position    // zero: from the newest
	Limit     int
}

// EventReader finds events.
type EventReader interface {
	Events(ctx context.Context, refs []EventRef) ([]EventRecord, error)
	// FindEvent finds an event by its id alone, as an operator names it; the zero record where there is none.
	FindEvent(ctx context.Context, id uuid.UUID) (EventRecord, error)
	ListEvents(ctx context.Context, query EventQuery) ([]EventRecord, error)
	// DueEvents answers with the published events whose EndsOn is at or before a time, the longest due first.
	DueEvents(ctx context.Context, at time.Time, limit int) ([]EventRef, error)
}

// EventWriter keeps events.
type EventWriter interface {
	// LockEvent reads an event and keeps other writers from it until the end of the transaction.
	LockEvent(ctx context.Context, ref EventRef) (EventRecord, error)
	CreateEvent(ctx context.Context, event EventRecord) error
	UpdateEvent(ctx context.Context, event EventRecord) error
}
