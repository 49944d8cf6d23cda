package console_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestTicketCategoriesAreShownInWords holds that pages show presets in words and other categories as they were written,
// and that a refused category is named beside its field.
func TestTicketCategoriesAreShownInWords(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	event := s.books.Event(t, func(p *ticketing.CreateEventParams) { p.TicketCategories = []string{"TABLE_8"} })
	s.books.Inventory(t, event.ID, "EARLY_BIRD", 150_00, 10)
	at := events + "/" + event.ID.String()
	page := s.get(t, owner, at)
	ok.True(page.has(`<td data-label="Category"><bdi>Early bird</bdi></td>`))
	ok.True(page.has(`<option value="EARLY_BIRD">Early bird</option>`))
	// Those without tickets stand below as a list.
	ok.True(page.has(`<li><bdi>General admission</bdi></li><li><bdi>VIP</bdi></li><li><bdi>VVIP</bdi></li>` +
		`<li><bdi>Regular</bdi></li><li><bdi>Student</bdi></li><li><bdi>TABLE_8</bdi></li></ul>`))
	order := s.books.Sell(t, event.ID, "EARLY_BIRD", 1)
	s.count(t)
	ok.True(s.get(t, owner, orders+"/"+order.ID.String()).has(`<td data-label="Category"><bdi>Early bird</bdi></td>`))
	ok.True(s.get(t, owner, reports+"?event="+event.ID.String()).has(`data-label="Category"><bdi>Early bird</bdi>`))

	form := s.get(t, owner, at+"/edit")
	ok.True(form.has(`<li><bdi>General admission</bdi></li>`) && form.has(`<li><bdi>TABLE_8</bdi></li></ul>`))
	ok.True(s.get(t, owner, events+"/new").has(`<li><bdi>Student</bdi></li></ul>`))
	refused := s.post(t, owner, events+"/create", eventFields(uuid.NewString(),
		"ticketCategories", "Terrace\n\n prototype \nBalcony")...)
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`<span>“prototype” is a reserved name</span>`))
	ok.True(refused.has(`ticketCategories-v f-`)) // the field is described by it
	ok.True(refused.has("Terrace\n\n prototype \nBalcony</textarea>"))
}
