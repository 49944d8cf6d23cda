package console

import (
	"strings"

	"github.com/floatgate/ticketing"
)

// itemList is a list that a page shows together with other things. Its JSON is that of the items alone.
type itemList[T any] struct{ Items []T }

// MarshalJSON writes the items.
func (l itemList[T]) MarshalJSON() ([]byte, error) {
	if l.Items == nil {
		return []byte("[]"), nil
	}
	return encode(l.Items)
}

// asPeriod renames the members of a refused period to since and until. The service calls them from and to.
func asPeriod(err error) error {
	refused := refusalOf(err)
	if refused == nil || len(refused.Violations) == 0 {
		return err
	}
	named := *refused
	named.Violations = nil
	for _, violation := range refused.Violations {
		name, text, _ := strings.Cut(violation.Message, ": ")
		switch name {
		case "from":
			violation.Message = "since: " + text
		case "to":
			violation.Message = "until: " + strings.Replace(text, "later than from", "later than since", 1)
		}
		named.Violations = append(named.Violations, violation)
	}
	return &named
}

// chosenFilter returns a filter of a list with choices. The first choice means no filter.
func chosenFilter(c *call, name, label string, options ...option) field {
	chosen := c.query(name)
	for i := range options {
		options[i].Chosen = options[i].Value == chosen
	}
	return field{Name: name, Label: label, ID: "filter-" + name, Value: chosen, Options: options}
}

// typedFilter returns a filter of a list for a typed member of the query.
func typedFilter(c *call, name, label, kind string) field {
	return field{
		Name: name, Label: label, ID: "filter-" + name, Type: kind, Value: c.query(name), Autocomplete: "off",
		Required: false, Max: "320",
	}
}

// isFiltered reports whether the query has one of the members.
func isFiltered(c *call, names ...string) bool {
	for _, name := range names {
		if c.query(name) != "" {
			return true
		}
	}
	return false
}

// conflicted returns a refusal because something has changed in the meantime.
func conflicted(message string) error {
	return &ticketing.Error{Code: ticketing.CodeConflict, Message: message}
}

// missing returns a NOT_FOUND, such as for "The delivery".
func missing(what string) error {
	return &ticketing.Error{Code: ticketing.CodeNotFound, Message: what + " was not found."}
}
