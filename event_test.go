package ticketing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

const presets = `["GENERAL_ADMISSION","VIP","VVIP","EARLY_BIRD","REGULAR","STUDENT"`

// TestEventOnTheWire checks Section 2.3: every member is present, and null if it has no value.
func TestEventOnTheWire(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		category, err := shop.Staff.CreateCategory(t.Context(), "Live music", "live-music")
		is.NoErr(err)
		tests := []struct {
			name   string
			change func(*ticketing.CreateEventParams)
			want   string
		}{
			{
				name: "whole",
				change: func(p *ticketing.CreateEventParams) {
					*p = ticketing.CreateEventParams{
						Title: "  Lagos Night ", Description: " Line one\r\n\tLine two ", Date: "2028-02-29", StartsAt: "00:00",
						EndsAt: "23:59", Timezone: "America/Argentina/Buenos_Aires", Location: " Lagos ", Venue: " The Shrine ",
						ImageURL: "https://img.example.com/a?b=c", OrganizerName: " Adire ", CategoryID: category.ID,
						TicketCategories: []string{" Balcony "}, Status: ticketing.EventDraft,
					}
				},
				want: `{"id":"ID","object":"event","title":"Lagos Night","description":"Line one\r\n\tLine two",` +
					`"status":"DRAFT","schedule":{"date":"2028-02-29","startsAt":"00:00","endsAt":"23:59",` +
					`"timezone":"America/Argentina/Buenos_Aires"},"location":{"name":"Lagos","venue":"The Shrine"},` +
					`"imageUrl":"https://img.example.com/a?b=c","organizerName":"Adire","category":{"id":"CATEGORY",` +
					`"name":"Live music","slug":"live-music"},"ticketCategories":` + presets + `,"Balcony"],` +
					`"createdAt":"2026-11-21T09:31:00.000Z","updatedAt":"2026-11-21T09:31:00.000Z"}`,
			},
			{
				name: "least",
				change: func(p *ticketing.CreateEventParams) {
					p.Description, p.Location, p.Venue, p.OrganizerName = " \t", " ", "", " "
				},
				want: `{"id":"ID","object":"event","title":"Lagos Night","description":null,"status":"PUBLISHED",` +
					`"schedule":{"date":"2026-12-21","startsAt":"19:00","endsAt":"23:30","timezone":"Africa/Lagos"},` +
					`"location":{"name":null,"venue":null},"imageUrl":"https://img.example.com/night.jpg",` +
					`"organizerName":null,"category":null,"ticketCategories":` + presets + `],` +
					`"createdAt":"2026-11-21T09:32:00.000Z","updatedAt":"2026-11-21T09:32:00.000Z"}`,
			},
		}
		for _, test := range tests {
			shop.Clock.Advance(time.Minute)
			event := shop.Event(t, test.change)
			_, err := ticketing.ParseID(event.ID.String())
			is.NoErr(err) // a UUID of version 4 (Section 2.1)
			want := strings.NewReplacer(`"ID"`, `"`+event.ID.String()+`"`, "CATEGORY", category.ID.String()).Replace(test.want)
			is.Equal(show(t, event), want) // as created
			found, err := shop.GetEvent(t.Context(), shop.Caller, event.ID)
			is.NoErr(err)
			is.Equal(show(t, found), want) // as read
		}
	})
}

// wide returns a text of the given number of characters, each of more than one byte.
func wide(characters int) string { return strings.Repeat("ɔ", characters) }

// TestEventMembersHaveBounds checks Sections 4.2 and 8: the members of an event, on both sides of every limit, in a
// create and in a PATCH.
func TestEventMembersHaveBounds(t *testing.T) {
	t.Parallel()
	url := func(length int) string {
		const start = "https://img.example.com/"
		return start + strings.Repeat("a", length-len(start))
	}
	const zone = "timezone: must be an IANA time zone name, such as Africa/Lagos"
	const day = "date: must be a calendar day, YYYY-MM-DD"
	const image = "imageUrl: must be an absolute https URL with a host, without credentials or a fragment"
	clock := func(path string) string { return path + ": must be a time of day from 00:00 to 23:59, HH:mm" }
	tests := []struct {
		member string
		value  string
		want   string // the violation
	}{
		{member: "title", value: wide(200)},
		{member: "title", value: wide(201), want: "title: must be at most 200 characters"},
		{member: "title", value: " " + wide(200) + " "},
		{member: "title", value: "", want: "title: must not be empty"},
		{member: "title", value: " \n ", want: "title: must not be empty"},
		{member: "title", value: "a\nb", want: "title: must not contain control characters"},
		{member: "title", value: "a\x00b", want: "title: must not contain control characters"},
		{member: "title", value: "a\xff", want: "title: must be valid UTF-8"},
		{member: "description", value: wide(5000)},
		{member: "description", value: wide(5001), want: "description: must be at most 5000 characters"},
		{member: "description", value: "a\n\t\r\nb"},
		{member: "description", value: "a\rb", want: "description: must not contain control characters"},
		{member: "description", value: "a\x00b", want: "description: must not contain control characters"},
		{member: "location", value: wide(500)},
		{member: "location", value: wide(501), want: "location: must be at most 500 characters"},
		{member: "location", value: "a\tb", want: "location: must not contain control characters"},
		{member: "venue", value: wide(500)},
		{member: "venue", value: wide(501), want: "venue: must be at most 500 characters"},
		{member: "organizerName", value: wide(200)},
		{member: "organizerName", value: wide(201), want: "organizerName: must be at most 200 characters"},
		{member: "date", value: "2028-02-29"},
		{member: "date", value: "2027-02-29", want: day},
		{member: "date", value: "2027-2-28", want: day},
		{member: "date", value: "2027-13-01", want: day},
		{member: "date", value: "27-02-28", want: day},
		{member: "date", value: " 2027-02-28", want: day},
		{member: "date", value: "2027-02-28T00:00:00Z", want: day},
		{member: "date", value: "", want: day},
		{member: "startsAt", value: "00:00"},
		{member: "startsAt", value: "23:59"},
		{member: "startsAt", value: "24:00", want: clock("startsAt")},
		{member: "startsAt", value: "9:00", want: clock("startsAt")},
		{member: "startsAt", value: "09:60", want: clock("startsAt")},
		{member: "startsAt", value: "09:00:00", want: clock("startsAt")},
		{member: "startsAt", value: "", want: clock("startsAt")},
		{member: "endsAt", value: "00:00"},
		{member: "endsAt", value: "23:59"},
		{member: "endsAt", value: "24:00", want: clock("endsAt")},
		{member: "endsAt", value: "7:00 ", want: clock("endsAt")},
		{member: "timezone", value: "UTC"},
		{member: "timezone", value: "Africa/Lagos"},
		{member: "timezone", value: "africa/lagos", want: zone},
		{member: "timezone", value: "Local", want: zone},
		{member: "timezone", value: "posix/UTC", want: zone},
		{member: "timezone", value: "+01:00", want: zone},
		{member: "timezone", value: "", want: zone},
		{member: "imageUrl", value: url(2000)},
		{member: "imageUrl", value: url(2001), want: "imageUrl: must be at most 2000 characters"},
		{member: "imageUrl", value: "https://a/b?c=d"},
		{member: "imageUrl", value: "http://img.example.com/a", want: image},
		{member: "imageUrl", value: "//img.example.com/a", want: image},
		{member: "imageUrl", value: "https:///a", want: image},
		{member: "imageUrl", value: "https://u:p@img.example.com/a", want: image},
		{member: "imageUrl", value: "https://img.example.com/a#b", want: image},
		{member: "imageUrl", value: "", want: image},
		{member: "status", value: "DRAFT"},
		{member: "status", value: "PUBLISHED"},
		{member: "status", value: "ENDED", want: "status: must be DRAFT or PUBLISHED"},
		{member: "status", value: "CANCELLED", want: "status: must be DRAFT or PUBLISHED"},
		{member: "status", value: "draft", want: "status: must be DRAFT or PUBLISHED"},
		{member: "status", value: "", want: "status: must be DRAFT or PUBLISHED"},
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		existing := shop.Event(t, ticketingtest.Draft)
		for _, test := range tests {
			is := is.New(t)
			create, update := ticketingtest.EventParams(), ticketing.UpdateEventParams{}
			switch value := test.value; test.member {
			case "title":
				create.Title, update.Title = value, &value
			case "description":
				create.Description, update.Description = value, &value
			case "location":
				create.Location, update.Location = value, &value
			case "venue":
				create.Venue, update.Venue = value, &value
			case "organizerName":
				create.OrganizerName, update.OrganizerName = value, &value
			case "date":
				create.Date, update.Date = value, &value
			case "startsAt":
				create.StartsAt, update.StartsAt = value, &value
			case "endsAt":
				create.EndsAt, update.EndsAt = value, &value
			case "timezone":
				create.Timezone, update.Timezone = value, &value
			case "imageUrl":
				create.ImageURL, update.ImageURL = value, &value
			default:
				create.Status, update.Status = ticketing.EventStatus(value), of(ticketing.EventStatus(value))
			}
			_, err := shop.CreateEvent(t.Context(), shop.Caller, shop.Key(), create)
			is.Equal(said(err), test.want)
			_, err = shop.UpdateEvent(t.Context(), shop.Caller, existing.ID, update)
			is.Equal(said(err), test.want)
			if test.want != "" {
				is.Equal(code(err), ticketing.CodeInvalidRequest)
			}
		}
	})
}

// TestEventReportsEveryViolation checks that a caller gets all violations at once (Section 2.2).
func TestEventReportsEveryViolation(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		_, err := shop.CreateEvent(t.Context(), shop.Caller, shop.Key(), ticketing.CreateEventParams{})
		is.New(t).Equal(said(err), "title: must not be empty; date: must be a calendar day, YYYY-MM-DD; "+
			"startsAt: must be a time of day from 00:00 to 23:59, HH:mm; endsAt: must be a time of day from 00:00 to 23:59, "+
			"HH:mm; timezone: must be an IANA time zone name, such as Africa/Lagos; imageUrl: must be an absolute https URL "+
			"with a host, without credentials or a fragment; status: must be DRAFT or PUBLISHED")
	})
}

// TestPatchChangesWhatItNames checks Section 4.4: a PATCH changes the members that it names, clears optional ones, and
// keeps the others.
func TestPatchChangesWhatItNames(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		category, err := shop.Staff.CreateCategory(t.Context(), "Live music", "live-music")
		is.NoErr(err)
		event := shop.Event(t, func(p *ticketing.CreateEventParams) {
			p.Description, p.OrganizerName, p.TicketCategories = "Old", "Adire", []string{"Balcony"}
		})
		shop.Clock.Advance(time.Minute)
		changed := patch(t, shop, event.ID, ticketing.UpdateEventParams{
			Title: of(" New "), Description: of(" "), Venue: of(""), CategoryID: &category.ID,
			TicketCategories: of([]string{"Terrace"}),
		})
		want := event
		want.Title, want.Description, want.Location.Venue = "New", nil, nil
		want.Category = &ticketing.EventCategory{ID: category.ID, Name: "Live music", Slug: "live-music"}
		want.TicketCategories = append(ticketing.PresetCategories(), "Balcony", "Terrace")
		want.UpdatedAt = ticketing.Time{Time: shop.Clock.Now()}
		is.Equal(changed, want)
		found, err := shop.GetEvent(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		is.Equal(found, want)

		want.Category = nil
		is.Equal(patch(t, shop, event.ID, ticketing.UpdateEventParams{CategoryID: &uuid.Nil}), want)
	})
}

// TestPatchOfNothing checks that a PATCH without a member is 400, and that one that changes nothing is 200 and keeps
// updatedAt.
func TestPatchOfNothing(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		_, err := shop.UpdateEvent(t.Context(), shop.Caller, event.ID, ticketing.UpdateEventParams{})
		is.Equal(code(err), ticketing.CodeInvalidRequest)
		is.Equal(said(err), "body: must change at least one member")
		shop.Clock.Advance(time.Minute)
		is.Equal(patch(t, shop, event.ID, ticketing.UpdateEventParams{
			Title: of("Lagos Night "), Description: of(""), TicketCategories: of([]string{"vip"}),
			Status: of(ticketing.EventPublished),
		}), event)
	})
}

// TestUpdatedAtNeverRunsBackwards checks that updatedAt never runs backwards, even if the clock does.
func TestUpdatedAtNeverRunsBackwards(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Clock.Advance(-time.Hour)
		changed := patch(t, shop, event.ID, ticketing.UpdateEventParams{Title: of("Earlier")})
		is.Equal(changed.Title, "Earlier")
		is.Equal(changed.UpdatedAt, event.UpdatedAt)
		cancelled, err := shop.CancelEvent(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		is.Equal(cancelled.UpdatedAt, event.UpdatedAt)
	})
}

// TestTerminalEventsNeverChange checks Section 3.1: the responses of a terminal event, also to a PATCH that would
// change nothing.
func TestTerminalEventsNeverChange(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		for name, event := range map[string]ticketing.Event{"cancelled": cancelled(t, shop), "ended": ended(t, shop)} {
			is := is.New(t)
			for _, params := range []ticketing.UpdateEventParams{
				{Title: of("Other")},
				{Title: &event.Title},
				{Status: of(ticketing.EventPublished)},
				{Status: of(ticketing.EventDraft)},
				{TicketCategories: of([]string{"Balcony"})},
			} {
				_, err := shop.UpdateEvent(t.Context(), shop.Caller, event.ID, params)
				is.Equal(code(err), ticketing.CodeConflict)
				is.True(strings.Contains(said(err), name))
			}
			_, err := shop.CancelEvent(t.Context(), shop.Caller, event.ID)
			is.Equal(code(err), ticketing.CodeConflict)
			_, err = shop.CreateInventory(t.Context(), shop.Caller, event.ID, shop.Key(),
				ticketingtest.InventoryParams("VIP", 1, 1))
			is.Equal(code(err), ticketing.CodeConflict)
			_, err = shop.UpdateInventory(t.Context(), shop.Caller, event.ID, "VIP",
				ticketing.UpdateInventoryParams{Status: of(ticketing.InventoryPaused)})
			is.Equal(code(err), ticketing.CodeConflict)
			_, err = shop.CancelInventory(t.Context(), shop.Caller, event.ID, "VIP")
			is.Equal(code(err), ticketing.CodeConflict)
			_, err = shop.Staff.EndEvent(t.Context(), event.ID)
			is.Equal(code(err), ticketing.CodeConflict)
			found, err := shop.GetEvent(t.Context(), shop.Caller, event.ID)
			is.NoErr(err)
			is.Equal(found, event)
		}
	})
}

// TestPublishingReleasesAndDraftingPauses checks Section 3.1: publishing releases all paused, unsold inventory, also
// what was created as PAUSED. Going back to DRAFT pauses what is unsold. PUBLISHED to PUBLISHED releases nothing.
func TestPublishingReleasesAndDraftingPauses(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t, ticketingtest.Draft)
		shop.Inventory(t, event.ID, "VIP", 150_00, 3)
		shop.Inventory(t, event.ID, "REGULAR", 50_00, 4, ticketingtest.Paused)
		status := func() [2]ticketing.InventoryStatus {
			named := tiers(t, shop, event.ID)
			return [2]ticketing.InventoryStatus{named["VIP"].Status, named["REGULAR"].Status}
		}
		const available, paused = ticketing.InventoryAvailable, ticketing.InventoryPaused
		is.Equal(status(), [2]ticketing.InventoryStatus{paused, paused})
		is.Equal(publish(t, shop, event.ID).Status, ticketing.EventPublished)
		is.Equal(status(), [2]ticketing.InventoryStatus{available, available})
		is.Equal(tiers(t, shop, event.ID)["REGULAR"].AvailableQuantity, int64(4))

		sold := shop.Sell(t, event.ID, "VIP", 2)
		_, err := shop.UpdateInventory(t.Context(), shop.Caller, event.ID, "REGULAR",
			ticketing.UpdateInventoryParams{Status: of(paused)})
		is.NoErr(err)
		publish(t, shop, event.ID) // The event is published already, so nothing is released.
		is.Equal(status(), [2]ticketing.InventoryStatus{available, paused})

		unpublish(t, shop, event.ID)
		is.Equal(status(), [2]ticketing.InventoryStatus{paused, paused})
		// A PATCH on a draft sets the requested status, but nothing can be sold.
		_, err = shop.UpdateInventory(t.Context(), shop.Caller, event.ID, "VIP",
			ticketing.UpdateInventoryParams{Status: of(available)})
		is.NoErr(err)
		is.Equal(status(), [2]ticketing.InventoryStatus{available, paused})
		_, err = shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 150_00, 1))
		is.Equal(code(err), ticketing.CodeConflict)
		unpublish(t, shop, event.ID) // The event is a draft already, so nothing is paused.
		is.Equal(status(), [2]ticketing.InventoryStatus{available, paused})

		publish(t, shop, event.ID)
		is.Equal(status(), [2]ticketing.InventoryStatus{available, available})
		found, err := shop.GetOrder(t.Context(), shop.Caller, sold.ID)
		is.NoErr(err)
		is.Equal(found, sold)
	})
}

// TestCancellingAnEventCancelsItsUnsoldInventory checks Section 4.4: DELETE cancels a draft or published event and its
// unsold inventory, and keeps orders and history.
func TestCancellingAnEventCancelsItsUnsoldInventory(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 150_00, 3)
		shop.Inventory(t, event.ID, "REGULAR", 50_00, 1)
		shop.Inventory(t, event.ID, "STUDENT", 50_00, 1, ticketingtest.Paused)
		vip, all := shop.Sell(t, event.ID, "VIP", 2), shop.Sell(t, event.ID, "REGULAR", 1)
		shop.Clock.Advance(time.Minute)
		done, err := shop.CancelEvent(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		want := event
		want.Status, want.UpdatedAt = ticketing.EventCancelled, ticketing.Time{Time: shop.Clock.Now()}
		is.Equal(done, want)
		tier := func(name string, status ticketing.InventoryStatus, total int64) ticketing.InventoryTier {
			return ticketing.InventoryTier{Object: "inventory_tier", Tier: name, Status: status, TotalAdmissions: total}
		}
		is.Equal(tiers(t, shop, event.ID), map[string]ticketing.InventoryTier{
			"VIP":     tier("VIP", ticketing.InventoryCancelled, 3),
			"REGULAR": tier("REGULAR", ticketing.InventorySoldOut, 1), // There was nothing unsold to cancel.
			"STUDENT": tier("STUDENT", ticketing.InventoryCancelled, 1),
		})
		for _, order := range []ticketing.Order{vip, all} {
			found, err := shop.GetOrder(t.Context(), shop.Caller, order.ID)
			is.NoErr(err)
			is.Equal(found, order)
			is.Equal(shop.Scan(t, event.ID, order.Lines[0].AdmissionID).Outcome, ticketing.OutcomeAdmitted)
		}
		done, err = shop.CancelEvent(t.Context(), shop.Caller, shop.Event(t, ticketingtest.Draft).ID)
		is.NoErr(err)
		is.Equal(done.Status, ticketing.EventCancelled)
	})
}

// TestEventCategory checks that a category is platform-wide, has to be active when it is chosen, and is still shown
// after it is deactivated.
func TestEventCategory(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		music, err := shop.Staff.CreateCategory(t.Context(), "Live music", "live-music")
		is.NoErr(err)
		in := func(id uuid.UUID) func(*ticketing.CreateEventParams) {
			return func(p *ticketing.CreateEventParams) { p.CategoryID = id }
		}
		event, other := shop.Event(t, in(music.ID)), shop.Event(t)
		_, err = shop.Staff.DeactivateCategory(t.Context(), music.ID)
		is.NoErr(err)
		const refused = "categoryId: must be the id of an active category"
		for _, id := range []uuid.UUID{music.ID, uuid.New()} {
			params := ticketingtest.EventParams()
			params.CategoryID = id
			_, err = shop.CreateEvent(t.Context(), shop.Caller, shop.Key(), params)
			is.Equal(said(err), refused)
			_, err = shop.UpdateEvent(t.Context(), shop.Caller, other.ID, ticketing.UpdateEventParams{CategoryID: &id})
			is.Equal(said(err), refused)
		}
		found, err := shop.GetEvent(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		is.Equal(found, event)
		// Setting the same category is no change, and another change keeps it.
		is.Equal(patch(t, shop, event.ID, ticketing.UpdateEventParams{CategoryID: &music.ID}).Category, event.Category)
		is.Equal(patch(t, shop, event.ID, ticketing.UpdateEventParams{Title: of("New")}).Category, event.Category)
	})
}

// TestEventsOfOthersAreNotFound checks that the events of other companies are 404 everywhere.
func TestEventsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ctx, other := t.Context(), shop.Neighbour(t)
		event := other.Event(t)
		other.Inventory(t, event.ID, "VIP", 1_00, 1)
		for _, id := range []uuid.UUID{event.ID, uuid.New()} {
			_, get := shop.GetEvent(ctx, shop.Caller, id)
			_, update := shop.UpdateEvent(ctx, shop.Caller, id, ticketing.UpdateEventParams{Status: of(ticketing.EventDraft)})
			_, cancel := shop.CancelEvent(ctx, shop.Caller, id)
			_, list := shop.ListInventory(ctx, shop.Caller, id)
			_, create := shop.CreateInventory(ctx, shop.Caller, id, shop.Key(), ticketingtest.InventoryParams("VIP", 1, 1))
			_, change := shop.UpdateInventory(ctx, shop.Caller, id, "VIP",
				ticketing.UpdateInventoryParams{Status: of(ticketing.InventoryPaused)})
			_, remove := shop.CancelInventory(ctx, shop.Caller, id, "VIP")
			_, quote := shop.Quote(ctx, shop.Caller, ticketing.QuoteParams{
				EventID: id, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}},
			})
			_, checkout := shop.Checkout(ctx, shop.Caller, shop.Key(), ticketingtest.Basket(id, "VIP", 1_00, 1))
			for _, err := range []error{get, update, cancel, list, create, change, remove, quote, checkout} {
				is.Equal(code(err), ticketing.CodeNotFound)
			}
		}
		found, err := other.GetEvent(ctx, other.Caller, event.ID)
		is.NoErr(err)
		is.Equal(found, event)
	})
}
