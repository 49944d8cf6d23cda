package console_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// TestEventGoesFromNothingToSoldOut leads from a company's list of events to one that is sold out and then cancelled,
// using only what the pages show. The tickets are bought by the API. With script the page of the event and the list of
// orders update while they are open, and keep what is being typed.
func TestEventGoesFromNothingToSoldOut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	t.Run("by keyboard", func(t *testing.T) {
		t.Parallel()
		goToSoldOut(t, means{keyboard: true})
	})
	t.Run("by keyboard and without script", func(t *testing.T) {
		t.Parallel()
		goToSoldOut(t, means{keyboard: true, noScript: true})
	})
}

func goToSoldOut(t *testing.T, by means) {
	t.Helper()
	browser := browsertest.New(t)
	ok, s := is.New(t), newShop(t)
	v := s.travelAs(t, browser, owner, by)
	v.follow("Events", "New event")
	for _, field := range [][2]string{
		{"Title", "Night of Fuji"},
		{"Day", "2027-10-31"},
		{"Start time", "20:00"},
		{"End time", "25:00"},
		{"Venue", "Columbiahalle"},
		{"Picture URL", "https://img.example.com/fuji.jpg"},
		{"Time zone", "Europe/Berlin"},
		{"Add ticket categories", "Balcony"},
	} {
		v.fill(field[0], field[1])
	}
	v.press("button", "^Create the event")
	v.sees("must be a time of day from 00:00 to 23:59, HH:mm")
	v.FullPicture("journey-event-refused")
	v.fill("End time", "01:00")
	v.press("button", "^Create the event")
	v.sees("The event was created. Add its tickets next.", "Sun 31 Oct 2027, 20:00 to 01:00 the next day, Europe/Berlin",
		"No tickets yet", "Ready to publish?")
	id := v.Text(`location.pathname.split("/").pop()`)

	v.choose("Category", "Balcony")
	v.fill("Title", "Balcony, free seating")
	v.fill("Price in naira", "12,500.00")
	v.fill("Number of tickets", "3")
	v.press("button", "^Add the tickets")
	v.sees("The tickets were added.", "Balcony Paused ₦12,500.00 0 0 3 3")
	v.unfold("Change the price")
	v.fill("Price in naira", "15000")
	v.press("button", "^Change the price")
	v.sees("The price of the unsold tickets was changed.", "Balcony Paused ₦15,000.00 0 0 3 3")
	v.press("button", "^Publish the event")
	v.sees("The event is published. All its unsold tickets are on sale.", "Balcony Available ₦15,000.00 0 3 0 3")
	v.FullPicture("journey-event-published")

	key, err := s.staff.IssueAPIKey(t.Context(), s.company, "Shop", ticketing.AllGrants())
	ok.NoErr(err)
	shop := s.backend(t, key.Key)
	order := fmt.Sprintf(`{"eventId":%q,"buyer":{"email":"ada@example.com"},"lines":[{"tier":"Balcony","quantity":1,`+
		`"expectedUnitPrice":"15000.00","currency":"NGN"}]}`, id)
	v.looks("Events", "Night of Fuji")
	v.unfold("Change the price")
	v.fill("Price in naira", "99")
	shop.create("/checkouts", order)
	v.comes("Balcony Available ₦15,000.00 1 2 0 3", "Events", "Night of Fuji")
	if !by.noScript {
		ok.Equal(v.Text(`document.activeElement.name + " " + document.activeElement.value`), "unitPrice 99")
	}
	v.looks("Orders")
	bought := shop.create("/checkouts", order)
	v.comes(bought[:8], "Orders")
	v.looks("Events", "Night of Fuji")
	shop.create("/checkouts", order)
	v.comes("Balcony Sold out – 3 0 0 3", "Events", "Night of Fuji")
	status, _ := shop.call(http.MethodPost, "/checkouts", order)
	ok.Equal(status, http.StatusConflict)
	v.FullPicture("journey-event-sold-out")

	v.unfold("Cancel the event")
	v.tick("I understand that this cannot be undone")
	v.press("button", "^Cancel Night of Fuji")
	v.sees("The event is cancelled. Its orders stay as they are.")
	v.seesNo("Add tickets")
	v.staysHere()
}

// looks goes to a page by links, and with script waits until it updates by itself.
func (v *traveler) looks(links ...string) {
	v.t.Helper()
	v.follow(links...)
	if !v.means.noScript {
		v.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
	}
}

// comes checks that the page shows a text: with script without a reload, and otherwise after the same links.
func (v *traveler) comes(text string, links ...string) {
	v.t.Helper()
	if v.means.noScript {
		v.follow(links...)
	} else {
		v.Wait(`document.body.innerText.replace(/\s+/g, " ").includes(` + strconv.Quote(text) + `)`)
	}
	v.sees(text)
}
