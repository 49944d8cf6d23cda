package ticketing

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// EventStatus is the status of an event (section 3.1).
type EventStatus = driver.EventStatus

// The statuses of an event. ENDED and CANCELLED are terminal.
const (
	EventDraft     = driver.EventDraft
	EventPublished = driver.EventPublished
	EventEnded     = driver.EventEnded
	EventCancelled = driver.EventCancelled
)

// Limits of an event's texts, in characters (section 8).
const (
	maxTitle       = 200
	maxDescription = 5000
	maxPlace       = 500
	maxImageURL    = 2000
)

// Event is an event as the contract shows it (section 2.3). A member that is a pointer is null in the JSON where the
// event has none. No member is left out.
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

// EventCategory is the platform-wide category of an event. An event keeps it after staff deactivated it.
type EventCategory struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	Slug string    `json:"slug"`
}

// CreateEventParams are the members of section 4.2. Texts are trimmed. Optional texts may be empty, which means none.
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

// UpdateEventParams change the members that are not nil. A pointer to "" or to the zero id clears an optional one.
// Ticket categories are added, and existing names are kept (section 4.4). A tier with tickets therefore never
// disappears. The schedule cannot be cleared: its members are changed one by one, and each must be valid.
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

// EventFilter selects the events to list (section 4.3).
//
// The zero filter lists all events, 25 on a page.
type EventFilter struct {
	PageParams

	Status EventStatus // empty: any
}

// MaxTicketCategories is the most ticket categories of an event, including the presets (section 2.4).
const MaxTicketCategories = 50

// maxTierName is the most characters of a category name (section 2.4).
const maxTierName = 60

// PresetCategories returns the ticket categories of every event (section 2.4), in the order of the contract. The caller
// may change the result.
func PresetCategories() []string {
	return []string{"GENERAL_ADMISSION", "VIP", "VVIP", "EARLY_BIRD", "REGULAR", "STUDENT"}
}

// reservedCategories returns the names that no category may have, compared exactly. Most are the property names of a
// JavaScript object, which would break clients that keep tiers in one. The other two are path segments that the URL
// library of a client removes: a DELETE of the tier ".." would become a DELETE of its event.
func reservedCategories() []string {
	return []string{
		"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
		"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "prototype", "toLocaleString", "toString",
		"valueOf", ".", "..",
	}
}

// checkCategories normalises custom category names. Their number is checked by addCategories, which knows those that
// the event has already. A name that appears twice is no error: addCategories adds it once.
func checkCategories(v *violations, path string, names []string) []string {
	checked := make([]string, len(names))
	for i, name := range names {
		at := indexed(path, i)
		checked[i] = requiredText(v, at, name, 1, maxTierName)
		if slices.Contains(reservedCategories(), checked[i]) {
			v.add(at, "is a reserved name")
		}
	}
	return checked
}

// addCategories adds custom names to those of an event. A name that equals one of them, or a preset, without regard to
// case adds nothing: the existing spelling stays the one to use. Names are never removed, so that earlier tickets and
// orders keep their category. The result has only the custom names, since the presets are not kept with an event.
func addCategories(custom, names []string) ([]string, *Error) {
	all := append(PresetCategories(), custom...)
	for _, name := range names {
		if !slices.ContainsFunc(all, func(known string) bool { return strings.EqualFold(known, name) }) {
			all = append(all, name)
		}
		if len(all) > MaxTicketCategories {
			return nil, Invalid(Violation{
				Message: "ticketCategories: an event has at most 50, the six presets among them",
			})
		}
	}
	return all[len(PresetCategories()):], nil
}

// ticketCategoriesOf returns the complete list of the event: the presets, then the custom names in the order in which
// they were added.
func ticketCategoriesOf(e driver.Event) []string {
	return append(PresetCategories(), e.TicketCategories...)
}
