package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestReportIsChosenByTheNameOfAnEvent holds that people find the report of an event by its name without script: among
// the newest, or by the beginning of its name. An id and an earlier link still work.
func TestReportIsChosenByTheNameOfAnEvent(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	night := s.books.Event(t, func(p *ticketing.CreateEventParams) { p.Title = "Adire <Night> Market" })
	chosen := `<option value="` + night.ID.String() + `"`
	page := s.get(t, viewer, reports)
	ok.True(page.has(`<option value="" selected>All events</option>`))
	ok.True(page.has(chosen + `>Adire &lt;Night&gt; Market</option>`))

	link := s.get(t, viewer, reports+"?event="+night.ID.String())
	ok.True(link.has(chosen + " selected>"))
	ok.True(link.has("admissions of <bdi>Adire &lt;Night&gt; Market</bdi>"))

	found := s.get(t, viewer, reports+"?eventName=adire+%3Cn&interval=HOUR")
	ok.True(found.has("Events that begin with “<bdi>adire &lt;n</bdi>”"))
	ok.True(found.has(`reports?event=` + night.ID.String() +
		`&amp;interval=HOUR"><bdi>Adire &lt;Night&gt; Market</bdi></a>`))
	ok.True(!found.has(s.event.ID.String())) // It has another name.
	ok.True(s.get(t, viewer, reports+"?eventName="+night.ID.String()).has(`?event=` + night.ID.String()))

	none := s.get(t, viewer, reports+"?eventName=zzz")
	ok.True(none.has("No event has a name that begins with “<bdi>zzz</bdi>”."))
	unknown := uuid.New()
	ok.True(s.get(t, viewer, reports+"?event="+unknown.String()).has("Event " + unknown.String()[:8]))
	ok.Equal(s.get(t, viewer, reports+"?event=night").StatusCode, http.StatusBadRequest)
	ok.Equal(s.get(t, viewer, reports+"?eventName="+strings.Repeat("x", 321)).StatusCode, http.StatusBadRequest)

	var data struct {
		Events []struct{ Title string } `json:"events"`
	}
	s.get(t, viewer, "/api/v2"+reports+"?eventName=adire").data(t, &data)
	ok.Equal(len(data.Events), 1)
	ok.Equal(data.Events[0].Title, "Adire <Night> Market")

	// Two events of one name differ by their ids. The file takes the event, and not what was typed to find it.
	other := s.books.Event(t, func(p *ticketing.CreateEventParams) { p.Title = "Adire <Night> Market" })
	ok.True(s.get(t, viewer, reports).has("Market (" + other.ID.String()[:8] + ")</option>"))
	s.books.Inventory(t, night.ID, "VIP", 150_00, 10)
	s.books.Sell(t, night.ID, "VIP", 1)
	s.count(t)
	sold := s.get(t, viewer, reports+"?eventName=adire&event="+night.ID.String())
	ok.True(sold.has(`<input type="hidden" name="event" value="` + night.ID.String() + `">`))
	ok.True(!sold.has(`<input type="hidden" name="eventName"`))
}
