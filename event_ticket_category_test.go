package ticketing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

func with(names ...string) func(*ticketing.CreateEventParams) {
	return func(p *ticketing.CreateEventParams) { p.TicketCategories = names }
}

// numbered returns n different custom names.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("Row %d", i)
	}
	return names
}

// TestTicketCategoriesAreAddedOnce checks Section 2.4: the presets in the contract's order, then custom names in the
// order they were added. Each name is added once, regardless of case, in its first spelling.
func TestTicketCategoriesAreAddedOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		made  []string
		added []string
		want  []string
	}{
		{name: "none"},
		{
			name: "in the order they came", made: []string{"Zebra", "Aisle"}, added: []string{"Middle"},
			want: []string{"Zebra", "Aisle", "Middle"},
		},
		{name: "trimmed", made: []string{" Balcony\t"}, added: []string{"Balcony"}, want: []string{"Balcony"}},
		{name: "case of a preset", made: []string{"vip", "General_Admission", "VVip"}},
		{
			name: "case of a custom name", made: []string{"Balcony", "BALCONY"}, added: []string{"balcony"},
			want: []string{"Balcony"},
		},
		{name: "case beyond ASCII", made: []string{"Ọba"}, added: []string{"ọBA", "Ἑλλάς"}, want: []string{"Ọba", "Ἑλλάς"}},
		{
			name: "any legal characters", made: []string{"a/b%2F+c d?#&=", "早鳥", "Constructor", "TOSTRING", "..."},
			want: []string{"a/b%2F+c d?#&=", "早鳥", "Constructor", "TOSTRING", "..."},
		},
		{name: "existing ones are retained", made: []string{"Balcony"}, added: []string{}, want: []string{"Balcony"}},
		{name: "longest", made: []string{wide(60)}, want: []string{wide(60)}},
		{
			name: "fifty with the presets", made: numbered(43), added: []string{"Row 1", "ROW 2", "Last"},
			want: append(numbered(43), "Last"),
		},
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		for _, test := range tests {
			is := is.New(t)
			event := shop.Event(t, with(test.made...))
			if test.added != nil {
				event = patch(t, shop, event.ID, ticketing.UpdateEventParams{TicketCategories: &test.added})
			}
			want := append([]string{"GENERAL_ADMISSION", "VIP", "VVIP", "EARLY_BIRD", "REGULAR", "STUDENT"}, test.want...)
			is.Equal(event.TicketCategories, want)
			found, err := shop.GetEvent(t.Context(), shop.Caller, event.ID)
			is.NoErr(err)
			is.Equal(found.TicketCategories, want)
		}
	})
}

// TestTicketCategoriesRefuseNames checks Section 2.4: the names that a ticket category cannot have, in a create and in
// a PATCH.
func TestTicketCategoriesRefuseNames(t *testing.T) {
	t.Parallel()
	const (
		reserved = "ticketCategories[0]: is a reserved name"
		control  = "ticketCategories[0]: must not contain control characters"
	)
	tests := []struct {
		names []string
		want  string
	}{
		{names: []string{""}, want: "ticketCategories[0]: must not be empty"},
		{names: []string{"Fine", " "}, want: "ticketCategories[1]: must not be empty"},
		{names: []string{wide(61)}, want: "ticketCategories[0]: must be at most 60 characters"},
		{names: []string{"a\nb"}, want: control},
		{names: []string{"a\u0085b"}, want: control},
		{names: []string{"a\xffb"}, want: "ticketCategories[0]: must be valid UTF-8"},
		{names: []string{"."}, want: reserved},
		{names: []string{" .. "}, want: reserved},
		{names: numbered(45), want: "ticketCategories: an event has at most 50, the six presets among them"},
	}
	for name := range strings.FieldsSeq("__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ __proto__ " +
		"constructor hasOwnProperty isPrototypeOf propertyIsEnumerable prototype toLocaleString toString valueOf") {
		tests = append(tests, struct {
			names []string
			want  string
		}{[]string{name}, reserved})
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event := shop.Event(t)
		for _, test := range tests {
			is := is.New(t)
			params := ticketingtest.EventParams()
			params.TicketCategories = test.names
			_, err := shop.CreateEvent(t.Context(), shop.Caller, shop.Key(), params)
			is.Equal(code(err), ticketing.CodeInvalidRequest)
			is.Equal(said(err), test.want)
			_, err = shop.UpdateEvent(t.Context(), shop.Caller, event.ID,
				ticketing.UpdateEventParams{TicketCategories: &test.names})
			is.Equal(said(err), test.want)
		}
		// The limit counts the categories that the event already has.
		full := shop.Event(t, with(numbered(44)...))
		_, err := shop.UpdateEvent(t.Context(), shop.Caller, full.ID,
			ticketing.UpdateEventParams{TicketCategories: of([]string{"One more"})})
		is.New(t).Equal(code(err), ticketing.CodeInvalidRequest)
	})
}
