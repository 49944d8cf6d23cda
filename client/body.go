package client

import (
	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// members are the members of a request. An optional one that is empty is left out.
type members map[string]any

func (m members) optional(name, value string) {
	if value != "" {
		m[name] = value
	}
}

// change puts a member in that is to be changed.
func change[T any](m members, name string, value *T) {
	if value != nil {
		m[name] = *value
	}
}

// clearable is change for a member that its empty value clears.
func clearable[T comparable](m members, name string, value *T) {
	if value == nil {
		return
	}
	var none T
	if *value == none {
		m[name] = nil
		return
	}
	m[name] = *value
}

func eventBody(p ticketing.CreateEventParams) members {
	m := members{
		"title": p.Title, "date": p.Date, "startsAt": p.StartsAt, "endsAt": p.EndsAt, "timezone": p.Timezone,
		"imageUrl": p.ImageURL, "status": p.Status,
	}
	m.optional("description", p.Description)
	m.optional("location", p.Location)
	m.optional("venue", p.Venue)
	m.optional("organizerName", p.OrganizerName)
	if p.CategoryID != uuid.Nil {
		m["categoryId"] = p.CategoryID
	}
	if len(p.TicketCategories) > 0 {
		m["ticketCategories"] = p.TicketCategories
	}
	return m
}

func eventChanges(p ticketing.UpdateEventParams) members {
	m := members{}
	change(m, "title", p.Title)
	clearable(m, "description", p.Description)
	change(m, "date", p.Date)
	change(m, "startsAt", p.StartsAt)
	change(m, "endsAt", p.EndsAt)
	change(m, "timezone", p.Timezone)
	clearable(m, "location", p.Location)
	clearable(m, "venue", p.Venue)
	change(m, "imageUrl", p.ImageURL)
	clearable(m, "organizerName", p.OrganizerName)
	clearable(m, "categoryId", p.CategoryID)
	if p.TicketCategories != nil {
		m["ticketCategories"] = append([]string{}, *p.TicketCategories...) // None are [], not null.
	}
	change(m, "status", p.Status)
	return m
}

func inventoryBody(p ticketing.CreateInventoryParams) members {
	m := members{
		"tier": p.Tier, "title": p.Title, "unitPrice": p.UnitPrice.String(), "currency": p.Currency,
		"isFree": p.IsFree, "quantity": p.Quantity, "status": p.Status,
	}
	m.optional("description", p.Description)
	return m
}

func inventoryChanges(p ticketing.UpdateInventoryParams) members {
	m := members{}
	if p.UnitPrice != nil {
		m["unitPrice"] = p.UnitPrice.String()
	}
	change(m, "currency", p.Currency)
	change(m, "isFree", p.IsFree)
	change(m, "status", p.Status)
	return m
}

func quoteBody(p ticketing.QuoteParams) members {
	lines := make([]members, len(p.Lines))
	for i, l := range p.Lines {
		lines[i] = members{"tier": l.Tier, "quantity": l.Quantity}
	}
	return members{"eventId": p.EventID, "lines": lines}
}

func checkoutBody(p ticketing.CheckoutParams) members {
	buyer := members{"email": p.Buyer.Email}
	buyer.optional("fullname", p.Buyer.Fullname)
	buyer.optional("phone", p.Buyer.Phone)
	lines := make([]members, len(p.Lines))
	for i, l := range p.Lines {
		lines[i] = members{
			"tier": l.Tier, "quantity": l.Quantity, "expectedUnitPrice": l.ExpectedUnitPrice.String(),
			"currency": l.Currency,
		}
	}
	return members{"eventId": p.EventID, "buyer": buyer, "lines": lines}
}

func validationBody(p ticketing.ValidateParams) members {
	m := members{}
	m.optional("location", p.Location)
	return m
}
