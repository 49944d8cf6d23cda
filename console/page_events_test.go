package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const events = "/business/{companyId}/events"

// at returns the path of the page of a shop's event.
func (s *shop) at() string { return events + "/" + s.event.ID.String() }

var keyField = regexp.MustCompile(`name="idempotencyKey" value="([^"]+)"`)

// keyIn returns the idempotency key of the form on a page.
func keyIn(t *testing.T, p page) string {
	t.Helper()
	found := keyField.FindStringSubmatch(p.text)
	if found == nil {
		t.Fatalf("the page has no key:\n%s", p.text)
	}
	return found[1]
}

// eventFields are the fields of the form of a new event, with changes as pairs.
func eventFields(key string, changes ...string) []string {
	values := map[string]string{
		"idempotencyKey": key, "title": "Night Market", "description": "Food\r\nand music", "date": "2027-05-01",
		"startsAt": "18:00", "endsAt": "23:00", "timezone": "Africa/Lagos", "location": "Lagos", "venue": "Muri Okunola Park",
		"imageUrl": "https://img.example.com/a.png", "organizerName": "Adire", "ticketCategories": "Balcony\r\n\r\nTable: 8",
		"status": "DRAFT",
	}
	for i := 0; i+1 < len(changes); i += 2 {
		values[changes[i]] = changes[i+1]
	}
	var fields []string
	for name, value := range values {
		fields = append(fields, name, value)
	}
	return fields
}

// alert returns why a page was refused.
func alert(p page) string {
	_, text, _ := strings.Cut(p.text, `role="alert"`)
	text, _, _ = strings.Cut(text, "</ul>")
	return text
}

func (s *site) events(t *testing.T) (all []ticketing.Event) {
	t.Helper()
	s.get(t, owner, "/api/v2"+events).data(t, &all)
	return all
}

func TestNewEventIsThereOnceHoweverOftenItsFormIsSent(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	empty := s.get(t, viewer, events)
	ok.True(empty.has("No events yet"))
	ok.True(!empty.has("New event")) // A viewer creates nothing.
	ok.True(s.get(t, owner, events).has("Create an event, add its tickets and publish it"))
	_, err := s.staff.CreateCategory(t.Context(), "Live music", "live-music")
	ok.NoErr(err)
	form := s.get(t, owner, events+"/new")
	ok.True(form.has(`value="Africa/Lagos"`))
	ok.True(form.has("Live music"))
	key := keyIn(t, form)
	ok.True(keyIn(t, s.get(t, owner, events+"/new")) != key)

	first := s.post(t, owner, events+"/create", eventFields(key)...)
	again := s.post(t, owner, events+"/create", eventFields(key)...)
	ok.Equal(first.StatusCode, http.StatusSeeOther)
	ok.Equal(first.Header.Get("Location"), again.Header.Get("Location"))
	ok.Equal(len(s.events(t)), 1)
	shown := s.follow(t, owner, again)
	ok.True(shown.has("The event was created. Add its tickets next."))
	ok.True(shown.has("Sat 1 May 2027, 18:00 to 23:00, Africa/Lagos, <bdi>Muri Okunola Park</bdi>"))
	ok.True(shown.has(`<option value="Table: 8">Table: 8</option>`))
	ok.True(s.get(t, viewer, events).has("Sat 1 May 2027, 18:00 to 23:00, Africa/Lagos"))

	// The way back and another title: the person is asked, and the next try has another key.
	other := s.post(t, owner, events+"/create", eventFields(key, "title", "Day Market")...)
	ok.Equal(other.StatusCode, http.StatusConflict)
	ok.True(other.has("This form was sent before with other values."))
	ok.True(keyIn(t, other) != key)
	ok.Equal(s.post(t, owner, events+"/create", eventFields(keyIn(t, other), "title", "Day Market")...).StatusCode,
		http.StatusSeeOther)
	ok.Equal(len(s.events(t)), 2)
	ok.Equal(s.postJSON(t, owner, events+"/create", `{"title":"A"}`).StatusCode, http.StatusBadRequest)
}

// TestClicksAtTheSameTimeGetTheSameEvent checks that a click which comes while the first one still runs leads to the
// same event, and to no error.
func TestClicksAtTheSameTimeGetTheSameEvent(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	key, got := uuid.NewString(), make([]page, 8)
	var wait sync.WaitGroup
	for i := range got {
		wait.Go(func() { got[i] = s.post(t, owner, events+"/create", eventFields(key)...) })
	}
	wait.Wait()
	for _, one := range got {
		ok.Equal(one.StatusCode, http.StatusSeeOther)
		ok.Equal(one.Header.Get("Location"), got[0].Header.Get("Location"))
	}
	ok.Equal(len(s.events(t)), 1)
}

func TestRefusedEventKeepsWhatWasTypedAndItsKey(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	key := uuid.NewString()
	for _, tt := range []struct{ field, value, violation string }{
		{"title", " ", "must not be empty"},
		{"date", "2027-02-30", "must be a calendar day, YYYY-MM-DD"},
		{"startsAt", "25:00", "must be a time of day from 00:00 to 23:59, HH:mm"},
		{"endsAt", "9:00", "must be a time of day from 00:00 to 23:59, HH:mm"},
		{"timezone", "Lagos", "must be an IANA time zone name, such as Africa/Lagos"},
		{"imageUrl", "http://img.example.com/<b>", "must be"},
		{"venue", strings.Repeat("v", 501), "must be at most 500 characters"},
		{"ticketCategories", "prototype", "is a reserved name"},
		{"categoryId", uuid.NewString(), "must be the id of an active category"},
		{"status", "ENDED", "must be DRAFT or PUBLISHED"},
	} {
		refused := s.post(t, owner, events+"/create", eventFields(key, tt.field, tt.value)...)
		ok.Equal(refused.StatusCode, http.StatusBadRequest) // tt.field
		if !refused.has(tt.violation) || !refused.has(`class="violation"`) && tt.field != "categoryId" {
			t.Errorf("%s: no violation %q: %s", tt.field, tt.violation, alert(refused))
		}
		ok.Equal(keyIn(t, refused), key)
		ok.True(refused.has("Balcony") || tt.field == "ticketCategories")
	}
	ok.Equal(len(s.events(t)), 0)
	ok.True(s.post(t, owner, events+"/create", eventFields(key, "imageUrl", "http://img.example.com/<b>")...).
		has(`value="http://img.example.com/&lt;b&gt;"`))
}

func TestTimesOfAnEventAreThoseOfItsPlace(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, tt := range []struct{ date, start, end, zone, shows string }{
		{"2027-05-01", "18:15", "23:45", "Asia/Kathmandu", "Sat 1 May 2027, 18:15 to 23:45, Asia/Kathmandu"},
		{"2027-03-28", "01:59", "03:00", "Europe/Berlin", "Sun 28 Mar 2027, 01:59 to 03:00, Europe/Berlin"},
		{"2027-03-27", "22:00", "01:30", "Europe/Berlin", "Sat 27 Mar 2027, 22:00 to 01:30 the next day, Europe/Berlin"},
		{
			"2027-10-31", "02:30", "06:00", "Europe/Berlin",
			"Clocks are set back, and show 02:30 twice. The event begins at the earlier one.",
		},
		{
			"2027-10-30", "22:00", "02:30", "Europe/Berlin",
			"Clocks are set back, and show 02:30 twice. The event ends at the later one.",
		},
		{
			"2027-04-04", "01:35", "01:50", "Australia/Lord_Howe",
			"show the start and the end twice. The event begins at the earlier and ends at the later one.",
		},
	} {
		made := s.post(t, owner, events+"/create", eventFields(uuid.NewString(), "date", tt.date, "startsAt", tt.start,
			"endsAt", tt.end, "timezone", tt.zone)...)
		if shown := s.follow(t, owner, made); !shown.has(tt.shows) {
			t.Errorf("%v is not shown", tt)
		}
		// The form of a change has the same again, and saving it changes nothing.
		edit := s.get(t, owner, made.Header.Get("Location")+"/edit")
		for _, value := range []string{tt.date, tt.start, tt.end, tt.zone} {
			ok.True(edit.has(`value="` + value + `"`)) // value
		}
	}
	for field, times := range map[string][4]string{
		"startsAt": {"2027-03-28", "02:30", "06:00", "Europe/Berlin"},
		"endsAt":   {"2027-03-27", "22:00", "02:30", "Europe/Berlin"},
	} {
		refused := s.post(t, owner, events+"/create", eventFields(uuid.NewString(), "date", times[0], "startsAt", times[1],
			"endsAt", times[2], "timezone", times[3])...)
		ok.Equal(refused.StatusCode, http.StatusBadRequest)
		ok.True(refused.has("there is no 02:30 in Europe/Berlin on 28 March 2027, because clocks are set forward past it"))
		ok.True(refused.has("-" + field + "-v"))
	}
}

func TestEventIsChangedPublishedAndCancelled(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	made := s.post(t, owner, events+"/create", eventFields(uuid.NewString())...)
	at := made.Header.Get("Location")
	edit := eventFields("", "title", "Night Market II", "description", "", "ticketCategories", "Terrace")
	edit = without(edit, "idempotencyKey", "status")
	changed := s.follow(t, administrator, s.post(t, administrator, at+"/edit/save", edit...))
	ok.True(changed.has("The event was changed."))
	ok.True(changed.has("<h1><bdi>Night Market II</bdi></h1>"))
	ok.True(changed.has(`<option value="Terrace">Terrace</option>`))
	ok.True(!changed.has("Food"))
	ok.True(changed.has(`<option value="Balcony">Balcony</option>`)) // A category stays.
	ok.Equal(s.postJSON(t, owner, at[len(""):]+"/edit/save", `{"venue":null}`).StatusCode, http.StatusOK)
	ok.True(!s.get(t, owner, at).has("Muri Okunola Park"))
	ok.True(s.get(t, owner, at).has("Night Market II")) // What a program leaves out stays.

	ok.True(s.get(t, owner, at).has("Ready to publish?"))
	ok.True(s.follow(t, owner, s.post(t, owner, at+"/publish")).has("The event is published"))
	ok.True(s.follow(t, owner, s.post(t, owner, at+"/unpublish")).has("The event is a draft again"))
	unsure := s.post(t, owner, at+"/cancel")
	ok.Equal(unsure.StatusCode, http.StatusBadRequest)
	ok.True(unsure.has("tick the box: this cannot be undone"))
	cancelled := s.follow(t, owner, s.post(t, owner, at+"/cancel", "confirmed", "true"))
	ok.True(cancelled.has("The event is cancelled."))
	for _, gone := range []string{"/cancel", "/publish", "/edit\"", "Add tickets</summary>"} {
		ok.True(!cancelled.has(gone)) // gone
	}
	ok.True(s.get(t, owner, at+"/edit").has("can no longer be changed"))
	ok.True(s.get(t, owner, events+"?status=CANCELLED").has("Night Market II"))
	ok.True(s.get(t, owner, events+"?status=DRAFT").has("No events have this status"))
}

// without returns pairs of fields without the named ones.
func without(pairs []string, names ...string) (left []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		keep := true
		for _, name := range names {
			keep = keep && pairs[i] != name
		}
		if keep {
			left = append(left, pairs[i], pairs[i+1])
		}
	}
	return left
}

func TestWhatHappenedToAnEventMeanwhileIsSaid(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	at := s.at()
	key := keyIn(t, s.get(t, owner, at))
	_, err := s.staff.EndEvent(t.Context(), s.event.ID)
	ok.NoErr(err)
	for path, fields := range map[string][]string{
		"/edit/save": without(eventFields(""), "idempotencyKey", "status"), "/publish": nil, "/unpublish": nil,
		"/cancel": {"confirmed", "true"}, "/tiers/VIP/price": {"unitPrice", "5.00"}, "/tiers/VIP/pause": nil,
		"/tiers/VIP/resume": nil, "/tiers/VIP/cancel": {"confirmed", "true"},
		"/tiers/add": {
			"idempotencyKey", key, "tier", "VIP", "title", "Entry", "unitPrice", "5.00", "quantity", "1", "status", "AVAILABLE",
		},
	} {
		refused := s.post(t, owner, at+path, fields...)
		ok.Equal(refused.StatusCode, http.StatusConflict) // path
		ok.True(refused.has(`role="alert"`))              // path
		ok.True(refused.has("ended"))                     // path
	}
	ok.Equal(s.post(t, chief, at+"/end", "confirmed", "true").StatusCode, http.StatusConflict)
}

func TestStaffEndAnEventOfTheCompanyInThePath(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	shown := s.get(t, chief, s.at())
	ok.True(shown.has("End the event"))
	ok.True(!shown.has("Cancel the event")) // Staff only read on the data plane.
	ok.True(!s.get(t, support, s.at()).has("End the event"))
	ok.True(!s.get(t, owner, s.at()).has("End the event"))
	ok.Equal(s.post(t, owner, s.at()+"/end", "confirmed", "true").StatusCode, http.StatusForbidden)
	elsewhere := "/business/" + s.other.String() + "/events/" + s.event.ID.String()
	ok.Equal(s.get(t, chief, elsewhere).StatusCode, http.StatusNotFound)
	ok.Equal(s.post(t, chief, elsewhere+"/end", "confirmed", "true").StatusCode, http.StatusNotFound)
	ok.Equal(s.post(t, chief, s.at()+"/end").StatusCode, http.StatusBadRequest)
	ok.True(s.follow(t, chief, s.post(t, chief, s.at()+"/end", "confirmed", "true")).has("The event has ended."))
	ok.True(s.get(t, chief, "/business/{companyId}/audit").has("/events/" + s.event.ID.String()))
}

func TestSuspendedCompanyChangesNoEvent(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	_, err := s.staff.SuspendCompany(t.Context(), s.company)
	ok.NoErr(err)
	for _, path := range []string{s.at() + "/unpublish", s.at() + "/tiers/VIP/pause"} {
		refused := s.post(t, owner, path)
		ok.Equal(refused.StatusCode, http.StatusConflict)
		ok.True(refused.has("The company is suspended: its events and tickets cannot be changed."))
		ok.True(!refused.has("API key does not"))
	}
}

// tierAt returns the path of a tier's acts.
func (s *shop) tierAt(tier string) string { return s.at() + "/tiers/" + url.PathEscape(tier) }

// TestEventsRefuseWrongFilters holds that a status that no event has and a cursor of no page are refused with words.
func TestEventsRefuseWrongFilters(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.books.Event(t)
	_, next, _ := strings.Cut(s.get(t, viewer, events+"?limit=1").text, "?cursor=")
	cursor, _, _ := strings.Cut(next, "&")
	for query, want := range map[string]string{
		"status=SOLD": "status: ", "status=published": "status: ", "cursor=x": "cursor", "limit=0": "limit: ",
		"status=DRAFT&cursor=" + cursor: "cursor", // The cursor is of all events.
	} {
		for _, path := range []string{events, "/api/v2" + events} {
			refused := s.get(t, viewer, path+"?"+query)
			ok.Equal(refused.StatusCode, http.StatusBadRequest) // path, query
			ok.True(refused.has(want))                          // path, query
		}
	}
	ok.Equal(s.get(t, viewer, events+"?limit=1&cursor="+cursor).StatusCode, http.StatusOK)
}
