package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// members are the members of a request body. An optional member that is empty is left out.
type members map[string]any

func (m members) optional(name, value string) {
	if value != "" {
		m[name] = value
	}
}

// change adds a member unless value is nil, which means unchanged.
func change[T any](m members, name string, value *T) {
	if value != nil {
		m[name] = *value
	}
}

// clearable is like change, but sends null for an empty value, which clears the member.
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

// encode returns the body of a request, or nil if m is nil. It refuses text that is not valid UTF-8, as the library
// does: JSON would replace it by other text.
func encode(m members) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	if wrong := broken(nil, "", reflect.ValueOf(m)); len(wrong) > 0 {
		return nil, ticketing.Invalid(wrong...)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("client: encode the request: %w", err)
	}
	return body, nil
}

// broken adds a violation for each text of a value that is not valid UTF-8.
func broken(found []ticketing.Violation, path string, value reflect.Value) []ticketing.Violation {
	switch value.Kind() { //nolint:exhaustive // The other kinds hold no text.
	case reflect.Interface:
		return broken(found, path, value.Elem())
	case reflect.Map:
		m := value.Interface().(members)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			found = broken(found, strings.TrimPrefix(path+"."+name, "."), reflect.ValueOf(m[name]))
		}
	case reflect.Slice:
		for i := range value.Len() {
			found = broken(found, path+"["+strconv.Itoa(i)+"]", value.Index(i))
		}
	case reflect.String:
		if !utf8.ValidString(value.String()) {
			found = append(found, ticketing.Violation{Message: path + ": must be valid UTF-8"})
		}
	}
	return found
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
		m["ticketCategories"] = append([]string{}, *p.TicketCategories...) // An empty list is [], not null.
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
