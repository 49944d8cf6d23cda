package embedproxy

import "github.com/floatgate/ticketing"

// event is an event as a browser gets it: all of section 2.3 but createdAt and updatedAt.
type event struct {
	ID               string         `json:"id"`
	Object           string         `json:"object"`
	Title            string         `json:"title"`
	Description      *string        `json:"description"`
	Status           string         `json:"status"`
	Schedule         schedule       `json:"schedule"`
	Location         location       `json:"location"`
	ImageURL         string         `json:"imageUrl"`
	OrganizerName    *string        `json:"organizerName"`
	Category         *eventCategory `json:"category"`
	TicketCategories []string       `json:"ticketCategories"`
}

type schedule struct {
	Date     *string `json:"date"`
	StartsAt *string `json:"startsAt"`
	EndsAt   *string `json:"endsAt"`
	Timezone *string `json:"timezone"`
}

type location struct {
	Name  *string `json:"name"`
	Venue *string `json:"venue"`
}

type eventCategory struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}

// Limits of the answers (section 4.12, rule 7).
const (
	maxEvents     = 100
	maxTiers      = 50
	maxCategories = 50
	maxQuantity   = 1_000_000
)

// event reads an event of any status.
func (r *reader) event() event {
	var e event
	for name := range r.members("id", "object", "title", "description", "status", "schedule", "location", "imageUrl",
		"organizerName", "category", "ticketCategories", "createdAt", "updatedAt") {
		switch name {
		case "id":
			e.ID = r.id()
		case "object":
			e.Object = r.one("event")
		case "title":
			e.Title = r.text(200)
		case "description":
			e.Description = r.optionalText(5000)
		case "status":
			e.Status = r.one(published, string(ticketing.EventDraft), string(ticketing.EventEnded),
				string(ticketing.EventCancelled))
		case "schedule":
			e.Schedule = r.schedule()
		case "location":
			e.Location = r.location()
		case "imageUrl":
			e.ImageURL = r.link(2000)
		case "organizerName":
			e.OrganizerName = r.optionalText(200)
		case "category":
			e.Category = nullable(r, (*reader).eventCategory)
		case "ticketCategories":
			e.TicketCategories = list(r, 0, maxCategories, (*reader).category)
		case "createdAt", "updatedAt":
			r.timestamp() // A browser does not need createdAt and updatedAt.
		}
	}
	return e
}

// published is the only status in which a browser sees an event.
const published = string(ticketing.EventPublished)

// publishedEvent reads an event of a list that has published events only.
func (r *reader) publishedEvent() event {
	e := r.event()
	if r.ok() && e.Status != published {
		r.refuse("must be PUBLISHED")
		r.within("status")
	}
	return e
}

func (r *reader) events() []event { return list(r, 0, maxEvents, (*reader).publishedEvent) }

func (r *reader) schedule() schedule {
	var s schedule
	for name := range r.members("date", "startsAt", "endsAt", "timezone") {
		switch name {
		case "date":
			s.Date = r.day()
		case "startsAt":
			s.StartsAt = r.clock()
		case "endsAt":
			s.EndsAt = r.clock()
		case "timezone":
			s.Timezone = r.optionalText(100)
		}
	}
	return s
}

func (r *reader) location() location {
	var l location
	for name := range r.members("name", "venue") {
		switch name {
		case "name":
			l.Name = r.optionalText(500)
		case "venue":
			l.Venue = r.optionalText(500)
		}
	}
	return l
}

// maxLabel bounds the texts of a category. The contract sets no limit for them.
const maxLabel = 1000

func (r *reader) eventCategory() eventCategory {
	var c eventCategory
	for name := range r.members("id", "name", "slug") {
		switch name {
		case "id":
			c.ID = r.id()
		case "name":
			c.Name = r.text(maxLabel)
		case "slug":
			c.Slug = r.text(maxLabel)
		}
	}
	return c
}

// tier is an inventory tier as a browser gets it: the whole of section 2.4.
type tier struct {
	Object            string  `json:"object"`
	Tier              string  `json:"tier"`
	Status            string  `json:"status"`
	AvailableQuantity int     `json:"availableQuantity"`
	TotalAdmissions   int     `json:"totalAdmissions"`
	UnitPrice         *amount `json:"unitPrice"`
}

func (r *reader) tiers() []tier { return list(r, 0, maxTiers, (*reader).tier) }

func (r *reader) tier() tier {
	var t tier
	for name := range r.members("object", "tier", "status", "availableQuantity", "totalAdmissions", "unitPrice") {
		switch name {
		case "object":
			t.Object = r.one("inventory_tier")
		case "tier":
			t.Tier = r.category()
		case "status":
			t.Status = r.one("AVAILABLE", "PAUSED", "SOLD_OUT", "CANCELLED")
		case "availableQuantity":
			t.AvailableQuantity = r.integer(0, maxQuantity)
		case "totalAdmissions":
			t.TotalAdmissions = r.integer(0, maxQuantity)
		case "unitPrice":
			t.UnitPrice = nullable(r, (*reader).amount)
		}
	}
	return t
}
