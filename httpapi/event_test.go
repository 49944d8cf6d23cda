package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const presets = `"GENERAL_ADMISSION","VIP","VVIP","EARLY_BIRD","REGULAR","STUDENT"`

// newEvent creates an event with the required members only, and returns its id.
func (d *deployment) newEvent(tb testing.TB, status string) string {
	tb.Helper()
	event, err := d.api(tb).CreateEvent(tb.Context(), uuid.NewString(), ticketing.CreateEventParams{
		Title: "Night Market", Date: "2027-05-01", StartsAt: "18:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
		ImageURL: "https://img.example.com/a.png", Status: ticketing.EventStatus(status),
	})
	is.New(tb).NoErr(err)
	return event.ID.String()
}

// change updates an event.
func (d *deployment) change(tb testing.TB, event string, params ticketing.UpdateEventParams) {
	tb.Helper()
	_, err := d.api(tb).UpdateEvent(tb.Context(), uuid.MustParse(event), params)
	is.New(tb).NoErr(err)
}

// eventJSON returns an event with the given members instead of those of newEvent.
func eventJSON(overrides ...string) string {
	event := map[string]string{
		"id": `"<uuid>"`, "object": `"event"`, "title": `"Night Market"`, "description": `null`, "status": `"DRAFT"`,
		"schedule":      `{"date":"2027-05-01","startsAt":"18:00","endsAt":"23:00","timezone":"Africa/Lagos"}`,
		"location":      `{"name":null,"venue":null}`,
		"imageUrl":      `"https://img.example.com/a.png"`,
		"organizerName": `null`, "category": `null`, "ticketCategories": `[` + presets + `]`,
		"createdAt": `"<time>"`, "updatedAt": `"<time>"`,
	}
	for i := 0; i < len(overrides); i += 2 {
		event[overrides[i]] = overrides[i+1]
	}
	var parts []string
	for name, value := range event {
		parts = append(parts, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// Section 4.2: the whole resource, from a body with all members and from one with the required members only.
func TestCreateEvent(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	category, err := d.staff.CreateCategory(t.Context(), "Music", "music")
	is := is.New(t)
	is.NoErr(err)
	full := `{"title":" Night Market ","description":"Food\n\tand \"music\" <3","date":"2028-02-29","startsAt":"00:00",` +
		`"endsAt":"23:59","timezone":"Africa/Lagos","location":" Lagos ","venue":"Harbour",` +
		`"imageUrl":"https://img.example.com/a.png?b=1&c=%20","organizerName":"Àdá 😀",` +
		`"categoryId":"` + strings.ToUpper(category.ID.String()) + `","ticketCategories":["Balcony"," Floor ","vip"],` +
		`"status":"PUBLISHED"}`
	a := d.call(t, "POST", "/events", d.key, keyed("full-event"), full)
	a.ok(t, 201, eventJSON(
		"description", `"Food\n\tand \"music\" <3"`, "status", `"PUBLISHED"`,
		"schedule", `{"date":"2028-02-29","startsAt":"00:00","endsAt":"23:59","timezone":"Africa/Lagos"}`,
		"location", `{"name":"Lagos","venue":"Harbour"}`, "imageUrl", `"https://img.example.com/a.png?b=1&c=%20"`,
		"organizerName", `"Àdá 😀"`, "category", `{"id":"`+category.ID.String()+`","name":"Music","slug":"music"}`,
		"ticketCategories", `[`+presets+`,"Balcony","Floor"]`))
	is.True(strings.Contains(a.body, `<3`)) // unescaped, unlike in a page
	is.True(strings.Contains(a.body, `b=1&c`))

	required := createEventBody.members
	for _, absent := range []string{"description", "location", "venue", "organizerName", "categoryId"} {
		for _, value := range []string{"", "null"} {
			a := d.call(t, "POST", "/events", d.key, keyed(uuid.NewString()), with(withoutCategory(required), absent, value))
			is.Equal(a.status, 201)
		}
	}
	d.call(t, "POST", "/events", d.key, keyed("required-only"), `{"status":"DRAFT",`+
		`"imageUrl":"https://img.example.com/a.png",`+
		`"timezone":"Africa/Lagos","endsAt":"23:00","startsAt":"18:00","date":"2027-05-01","title":"Night Market"}`).
		ok(t, 201, eventJSON())
	d.call(t, "POST", "/events", d.key, keyed("nulls-and-blanks"), `{"title":"Night Market","description":" ",`+
		`"date":"2027-05-01","startsAt":"18:00","endsAt":"23:00","timezone":"Africa/Lagos","location":"","venue":null,`+
		`"imageUrl":"https://img.example.com/a.png",`+
		`"organizerName":"\t","categoryId":null,"ticketCategories":[],"status":"DRAFT"}`).
		ok(t, 201, eventJSON())
}

func withoutCategory(members []memberRule) []memberRule {
	var left []memberRule
	for _, m := range members {
		if m.name != "categoryId" {
			left = append(left, m)
		}
	}
	return left
}

// valueRule is a value of one member and what it becomes.
type valueRule struct {
	member string
	value  string // JSON
	shown  string // JSON of the resource's member; empty: refused
	at     string // the path of the violation, if it is not the member
}

func quoted(s string) string { return `"` + s + `"` }

func categories(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"C%d"`, i)
	}
	return strings.Join(names, ",")
}

// eventValues holds both sides of every boundary of an event's members (sections 2.3, 2.4, 4.2 and 8).
var eventValues = []valueRule{
	{"title", `"x"`, `"x"`, ""},
	{"title", quoted(strings.Repeat("x", 200)), quoted(strings.Repeat("x", 200)), ""},
	{"title", quoted(strings.Repeat("😀", 200)), quoted(strings.Repeat("😀", 200)), ""},
	{"title", quoted("  " + strings.Repeat("x", 200) + " "), quoted(strings.Repeat("x", 200)), ""},
	{"title", `"\u00e9\ud83d\ude00\/\"\\"`, `"é😀/\"\\"`, ""},
	{"title", `"</script>&"`, `"</script>&"`, ""},
	{"title", quoted(strings.Repeat("x", 201)), "", ""},
	{"title", quoted(strings.Repeat("é", 201)), "", ""},
	{"title", `""`, "", ""},
	{"title", `"  "`, "", ""},
	{"title", `"a\nb"`, "", ""},
	{"title", `"a\u0007b"`, "", ""},
	{"title", `"a\u0085b"`, "", ""},
	{"title", `"a\tb"`, "", ""},
	{"description", quoted(strings.Repeat("x", 5000)), quoted(strings.Repeat("x", 5000)), ""},
	{"description", `"a\r\n\tb\nc"`, `"a\r\n\tb\nc"`, ""},
	{"description", `""`, `null`, ""},
	{"description", `" \n "`, `null`, ""},
	{"description", quoted(strings.Repeat("x", 5001)), "", ""},
	{"description", `"a\u0000b"`, "", ""},
	{"description", `"a\u001bb"`, "", ""},
	{"date", `"2028-02-29"`, "schedule", ""},
	{"date", `"2027-02-29"`, "", ""},
	{"date", `"2027-13-01"`, "", ""},
	{"date", `"2027-04-31"`, "", ""},
	{"date", `"2027-00-10"`, "", ""},
	{"date", `"2027-1-01"`, "", ""},
	{"date", `"27-01-01"`, "", ""},
	{"date", `"2027-01-01T00:00:00Z"`, "", ""},
	{"date", `"2027/01/01"`, "", ""},
	{"date", `" 2027-01-01"`, "", ""},
	{"date", `""`, "", ""},
	{"startsAt", `"00:00"`, "schedule", ""},
	{"startsAt", `"23:59"`, "schedule", ""},
	{"startsAt", `"24:00"`, "", ""},
	{"startsAt", `"12:60"`, "", ""},
	{"startsAt", `"9:00"`, "", ""},
	{"startsAt", `"09:00:00"`, "", ""},
	{"startsAt", `"09.00"`, "", ""},
	{"startsAt", `"-1:00"`, "", ""},
	{"startsAt", `""`, "", ""},
	{"endsAt", `"18:00"`, "schedule", ""},
	{"endsAt", `"02:00"`, "schedule", ""},
	{"endsAt", `"25:00"`, "", ""},
	{"endsAt", `" 02:00"`, "", ""},
	{"timezone", `"UTC"`, "schedule", ""},
	{"timezone", `"America/Argentina/Buenos_Aires"`, "schedule", ""},
	{"timezone", `"africa/lagos"`, "", ""},
	{"timezone", `"Local"`, "", ""},
	{"timezone", `"posix/Africa/Lagos"`, "", ""},
	{"timezone", `"../etc/passwd"`, "", ""},
	{"timezone", `"+01:00"`, "", ""},
	{"timezone", `"Africa/Nowhere"`, "", ""},
	{"timezone", quoted(strings.Repeat("A", 101)), "", ""},
	{"timezone", `""`, "", ""},
	{"location", quoted(strings.Repeat("x", 500)), "location", ""},
	{"location", quoted(strings.Repeat("x", 501)), "", ""},
	{"location", `"a\nb"`, "", ""},
	{"venue", quoted(strings.Repeat("é", 500)), "location", ""},
	{"venue", quoted(strings.Repeat("é", 501)), "", ""},
	{
		"imageUrl", quoted("https://a.example/" + strings.Repeat("x", 1982)),
		quoted("https://a.example/" + strings.Repeat("x", 1982)), "",
	},
	{"imageUrl", quoted("https://a.example/" + strings.Repeat("x", 1983)), "", ""},
	{"imageUrl", `"http://a.example/x.png"`, "", ""},
	{"imageUrl", `"//a.example/x.png"`, "", ""},
	{"imageUrl", `"/x.png"`, "", ""},
	{"imageUrl", `"https:///x.png"`, "", ""},
	{"imageUrl", `"https://user@a.example/x.png"`, "", ""},
	{"imageUrl", `"https://user:secret@a.example/x.png"`, "", ""},
	{"imageUrl", `"https://a.example/x.png#top"`, "", ""},
	{"imageUrl", `"https://a.example/x y"`, "", ""},
	{"imageUrl", `"javascript:alert(1)"`, "", ""},
	{"imageUrl", `"data:image/png;base64,AA=="`, "", ""},
	{"imageUrl", `""`, "", ""},
	{"organizerName", quoted(strings.Repeat("x", 200)), quoted(strings.Repeat("x", 200)), ""},
	{"organizerName", quoted(strings.Repeat("x", 201)), "", ""},
	{"categoryId", `"` + someID + `"`, "", ""}, // unknown
	{"ticketCategories", `["` + strings.Repeat("x", 60) + `"]`, `[` + presets + `,"` + strings.Repeat("x", 60) + `"]`, ""},
	{"ticketCategories", `[` + categories(44) + `]`, `[` + presets + `,` + categories(44) + `]`, ""},
	{"ticketCategories", `["Balcony","BALCONY","general_admission"]`, `[` + presets + `,"Balcony"]`, ""},
	{"ticketCategories", `["A/B","50% + é","..."]`, `[` + presets + `,"A/B","50% + é","..."]`, ""},
	{"ticketCategories", `[` + categories(45) + `]`, "", ""},
	{"ticketCategories", `["A","` + strings.Repeat("x", 61) + `"]`, "", "ticketCategories[1]"},
	{"ticketCategories", `[""]`, "", "ticketCategories[0]"},
	{"ticketCategories", `[" "]`, "", "ticketCategories[0]"},
	{"ticketCategories", `["a\nb"]`, "", "ticketCategories[0]"},
	{"ticketCategories", `["a\u0000b"]`, "", "ticketCategories[0]"},
	{"ticketCategories", `["__proto__"]`, "", "ticketCategories[0]"},
	{"ticketCategories", `["constructor"]`, "", "ticketCategories[0]"},
	{"ticketCategories", `["prototype"]`, "", "ticketCategories[0]"},
	{"ticketCategories", `["."]`, "", "ticketCategories[0]"},
	{"ticketCategories", `[".."]`, "", "ticketCategories[0]"},
	{"ticketCategories", `["Constructor"]`, `[` + presets + `,"Constructor"]`, ""},
	{"status", `"DRAFT"`, `"DRAFT"`, ""},
	{"status", `"PUBLISHED"`, `"PUBLISHED"`, ""},
	{"status", `"ENDED"`, "", ""},
	{"status", `"CANCELLED"`, "", ""},
	{"status", `"draft"`, "", ""},
	{"status", `" DRAFT"`, "", ""},
	{"status", `""`, "", ""},
}

// check checks an answer by one rule.
func (r valueRule) check(t *testing.T, a answer, success int) {
	t.Helper()
	if r.shown == "" {
		at := r.member
		if r.at != "" {
			at = r.at
		}
		a.refused(t, 400, ticketing.CodeInvalidRequest, at+": ")
		return
	}
	is := is.New(t)
	is.Equal(a.status, success)
	switch r.shown {
	case "schedule":
		is.Equal(quoted(a.text(t, "data", "schedule", r.member)), r.value)
	case "location":
		member := map[string]string{"location": "name", "venue": "venue"}[r.member]
		is.Equal(quoted(a.text(t, "data", "location", member)), r.value)
	default:
		answer{body: memberOf(t, a, r.member)}.matches(t, r.shown)
	}
}

// Sections 2.3, 2.4 and 8: both sides of every boundary, in a create and in a PATCH.
func TestEventValues(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	for i, rule := range eventValues {
		t.Run(fmt.Sprintf("%s %d", rule.member, i), func(t *testing.T) {
			t.Parallel()
			created := d.call(t, "POST", "/events", d.key, keyed(uuid.NewString()),
				with(withoutCategory(createEventBody.members), rule.member, rule.value))
			if rule.member == "categoryId" {
				created = d.call(t, "POST", "/events", d.key, keyed(uuid.NewString()),
					with(createEventBody.members, rule.member, rule.value))
			}
			rule.check(t, created, 201)
			event := d.newEvent(t, "DRAFT")
			rule.check(t, d.call(t, "PATCH", "/events/"+event, d.key, nil,
				fmt.Sprintf(`{%q:%s}`, rule.member, rule.value)), 200)
		})
	}
}

// Section 4.4: a PATCH changes the members that it names, null clears a nullable member, and an empty PATCH is refused.
func TestUpdateEvent(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	is := is.New(t)
	category, err := d.staff.CreateCategory(t.Context(), "Music", "music")
	is.NoErr(err)
	path := "/events/" + d.newEvent(t, "DRAFT")
	patch := func(body string) answer { return d.call(t, "PATCH", path, d.key, nil, body) }

	patch(`{}`).refused(t, 400, ticketing.CodeInvalidRequest)
	patch(`{"title":"Day Market","description":"d","location":"l","venue":"v","organizerName":"o",`+
		`"categoryId":"`+category.ID.String()+`"}`).
		ok(t, 200, eventJSON("title", `"Day Market"`, "description", `"d"`, "location", `{"name":"l","venue":"v"}`,
			"organizerName", `"o"`, "category", `{"id":"`+category.ID.String()+`","name":"Music","slug":"music"}`))
	patch(`{"description":null,"location":null,"venue":" ","organizerName":"","categoryId":null}`).
		ok(t, 200, eventJSON("title", `"Day Market"`))
	patch(`{"ticketCategories":["A"]}`).ok(t, 200,
		eventJSON("title", `"Day Market"`, "ticketCategories", `[`+presets+`,"A"]`))
	patch(`{"ticketCategories":["B","a"]}`).ok(t, 200,
		eventJSON("title", `"Day Market"`, "ticketCategories", `[`+presets+`,"A","B"]`))
	same := patch(`{"ticketCategories":[]}`)
	same.ok(t, 200, eventJSON("title", `"Day Market"`, "ticketCategories", `[`+presets+`,"A","B"]`))
	is.Equal(patch(`{"title":" Day Market "}`).data(t), same.data(t)) // updatedAt, too
	patch(`{"status":"PUBLISHED"}`).ok(t, 200,
		eventJSON("title", `"Day Market"`, "ticketCategories", `[`+presets+`,"A","B"]`, "status", `"PUBLISHED"`))
	patch(`{"status":"DRAFT"}`).ok(t, 200, eventJSON("title", `"Day Market"`, "ticketCategories", `[`+presets+`,"A","B"]`))
}

// Section 3.1: a cancelled or ended event never changes again.
func TestTerminalEvents(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	is := is.New(t)
	cancelled, ended := d.newEvent(t, "DRAFT"), d.newEvent(t, "PUBLISHED")
	d.call(t, "DELETE", "/events/"+cancelled, d.key, nil, "ignored").ok(t, 200, eventJSON("status", `"CANCELLED"`))
	id, err := ticketing.ParseID(ended)
	is.NoErr(err)
	_, err = d.staff.EndEvent(t.Context(), id)
	is.NoErr(err)
	d.call(t, "GET", "/events/"+ended, d.key, nil, "").ok(t, 200, eventJSON("status", `"ENDED"`))
	for _, event := range []string{cancelled, ended} {
		path := "/events/" + event
		for _, body := range []string{`{"title":"Night Market"}`, `{"status":"PUBLISHED"}`, `{"status":"DRAFT"}`} {
			d.call(t, "PATCH", path, d.key, nil, body).refused(t, 409, ticketing.CodeConflict)
		}
		d.call(t, "DELETE", path, d.key, nil, "").refused(t, 409, ticketing.CodeConflict)
		d.call(t, "POST", path+"/inventory", d.key, keyed(uuid.NewString()), with(createInventoryBody.members, "", "")).
			refused(t, 409, ticketing.CodeConflict)
		d.call(t, "PATCH", path+"/inventory/VIP", d.key, nil, `{"status":"PAUSED"}`).refused(t, 409, ticketing.CodeConflict)
		d.call(t, "DELETE", path+"/inventory/VIP", d.key, nil, "").refused(t, 409, ticketing.CodeConflict)
	}
}

// Section 7: an unknown id and an id of another company are 404 on every operation that names one.
func TestUnknownAndForeignIDs(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	sold := d.soldOut(t)
	stranger := d.issue(t, d.newCompany(t), ticketing.AllGrants()...)
	for _, test := range []struct{ method, path, body string }{
		{"GET", "/events/" + sold.event, ""},
		{"HEAD", "/events/" + sold.event, ""},
		{"PATCH", "/events/" + sold.event, `{"title":"x"}`},
		{"DELETE", "/events/" + sold.event, ""},
		{"GET", "/events/" + sold.event + "/inventory", ""},
		{"POST", "/events/" + sold.event + "/inventory", with(createInventoryBody.members, "", "")},
		{"PATCH", "/events/" + sold.event + "/inventory/VIP", `{"status":"PAUSED"}`},
		{"DELETE", "/events/" + sold.event + "/inventory/VIP", ""},
		{"POST", "/pricing/quote", with(quoteBody.members, "eventId", quoted(sold.event))},
		{"POST", "/checkouts", with(checkoutBody.members, "eventId", quoted(sold.event))},
		{"GET", "/orders/" + sold.order, ""},
		{"POST", "/events/" + sold.event + "/admissions/" + sold.admission + "/validate", `{}`},
	} {
		foreign := d.call(t, test.method, test.path, stranger, keyed(uuid.NewString()), test.body)
		unknown := d.call(t, test.method, strings.NewReplacer(sold.event, someID, sold.order, someID).Replace(test.path),
			d.key, keyed(uuid.NewString()), strings.ReplaceAll(test.body, sold.event, someID))
		for _, a := range []answer{foreign, unknown} {
			if test.method == "HEAD" {
				is.New(t).Equal(a.status, 404)
				continue
			}
			a.refused(t, 404, ticketing.CodeNotFound)
		}
	}
	d.call(t, "POST", "/events/"+sold.event+"/admissions/"+someID+"/validate", d.key, keyed("unknown-admission"), "").
		refused(t, 404, ticketing.CodeNotFound)
	other := d.newEvent(t, "PUBLISHED")
	d.call(t, "POST", "/events/"+other+"/admissions/"+sold.admission+"/validate", d.key, keyed("other-event"), "").
		refused(t, 404, ticketing.CodeNotFound)
	for _, event := range []string{someID, sold.event} {
		d.call(t, "GET", "/orders?eventId="+event, stranger, nil, "").page(t, `[]`, false)
	}
	d.call(t, "GET", "/orders", stranger, nil, "").page(t, `[]`, false)
	d.call(t, "GET", "/events", stranger, nil, "").page(t, `[]`, false)
}

// A UUID is accepted in either case, and returned in lower case.
func TestUUIDCase(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	id := d.newEvent(t, "DRAFT")
	a := d.call(t, "GET", "/events/"+strings.ToUpper(id), d.key, nil, "")
	a.ok(t, 200, eventJSON("id", quoted(id)))
}

// HEAD is GET without the body.
func TestHead(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	path := "/events/" + d.newEvent(t, "DRAFT")
	with := headers{{"X-Request-Id", "same"}}
	for _, path := range []string{path, "/events", "/orders", path + "/inventory"} {
		get, head := d.call(t, "GET", path, d.key, with, ""), d.call(t, "HEAD", path, d.key, with, "")
		is := is.New(t)
		is.Equal(head.status, get.status)
		is.Equal(head.header.Get("Content-Length"), fmt.Sprint(len(get.body)))
	}
}

// Sections 4.3 and 4.10: newest first, page by page. A cursor is valid for one listing only.
func TestListEvents(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	d.call(t, "GET", "/events", d.key, nil, "").page(t, `[]`, false)
	var ids []string // newest first
	for i := range 5 {
		status := "DRAFT"
		if i%2 == 1 {
			status = "PUBLISHED"
		}
		ids = append([]string{d.newEvent(t, status)}, ids...)
	}
	list := func(query string) answer { return d.call(t, "GET", "/events"+query, d.key, nil, "") }
	events := func(indices ...int) string {
		parts := make([]string, len(indices))
		for i, n := range indices {
			status := `"DRAFT"`
			if n%2 == 1 {
				status = `"PUBLISHED"`
			}
			parts[i] = eventJSON("id", quoted(ids[n]), "status", status)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	list("").page(t, events(0, 1, 2, 3, 4), false)
	list("?limit=5").page(t, events(0, 1, 2, 3, 4), false)
	list("?limit=100").page(t, events(0, 1, 2, 3, 4), false)
	list("?").page(t, events(0, 1, 2, 3, 4), false)
	list("?status=PUBLISHED").page(t, events(1, 3), false)
	list("?status=ENDED").page(t, `[]`, false)
	list("?status=CANCELLED&limit=1").page(t, `[]`, false)
	first := list("?limit=2")
	first.page(t, events(0, 1), true)
	cursor := first.text(t, "meta", "page", "nextCursor")
	second := list("?cursor=" + cursor + "&limit=2")
	second.page(t, events(2, 3), true)
	list("?cursor="+second.text(t, "meta", "page", "nextCursor")).page(t, events(4), false)
	list("?limit=100&cursor="+cursor).page(t, events(2, 3, 4), false)

	for _, status := range []string{"draft", "DRAFT,PUBLISHED", "ANY", "%20DRAFT", "DRAFT%00", "%FF"} {
		list("?status="+status).refused(t, 400, ticketing.CodeInvalidRequest, "status: ")
	}
	stranger := d.issue(t, d.newCompany(t), ticketing.AllGrants()...)
	for _, query := range []string{"?cursor=" + cursor + "&status=DRAFT", "?status=PUBLISHED&cursor=" + cursor} {
		list(query).refused(t, 400, ticketing.CodeInvalidCursor)
	}
	d.call(t, "GET", "/events?cursor="+cursor, stranger, nil, "").refused(t, 400, ticketing.CodeInvalidCursor)
	d.call(t, "GET", "/orders?cursor="+cursor, d.key, nil, "").refused(t, 400, ticketing.CodeInvalidCursor)
	for _, path := range []string{"/events", "/orders"} {
		for _, broken := range []string{
			"", "x", "%00", "%FF", "null", cursor + "A", cursor[1:], cursor[:len(cursor)-1], strings.ToUpper(cursor),
			cursor + "%3D",
			"+" + cursor, strings.Repeat("A", 512), strings.Repeat("A", 513), strings.Repeat("A", 10_000),
		} {
			d.call(t, "GET", path+"?cursor="+broken, d.key, nil, "").refused(t, 400, ticketing.CodeInvalidCursor)
		}
	}
}

// Section 4.11: the same key and input return the same bytes, even after the resource has changed. Other input is a
// CONFLICT. A key is scoped to the company and the operation, and to nothing else.
func TestReplay(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	is := is.New(t)
	second := d.issue(t, d.company, ticketing.AllGrants()...)
	body := with(withoutCategory(createEventBody.members), "", "")
	first := d.call(t, "POST", "/events", d.key, keyed("the-same-key"), body)
	is.Equal(first.status, 201)
	id := first.text(t, "data", "id")
	d.change(t, id, ticketing.UpdateEventParams{Title: new("Changed"), Status: new(ticketing.EventPublished)})
	for _, again := range []string{
		body,
		" " + strings.ReplaceAll(body, `":`, "\" :\n\t") + "\n",
		strings.Replace(body, `"Night Market"`, `"  Night Market "`, 1),
		strings.Replace(body, `"Night Market"`, `"\u004eight Market"`, 1),
		with(createEventBody.members, "categoryId", "null"),
		reversed(withoutCategory(createEventBody.members)),
	} {
		a := d.call(t, "POST", "/events", second, keyed("the-same-key"), again)
		is.Equal(a.status, 201)
		is.Equal(a.data(t), first.data(t))
	}
	for _, other := range []string{
		with(withoutCategory(createEventBody.members), "title", `"Other"`),
		with(withoutCategory(createEventBody.members), "venue", ``),
		with(withoutCategory(createEventBody.members), "status", `"PUBLISHED"`),
	} {
		d.call(t, "POST", "/events", d.key, keyed("the-same-key"), other).refused(t, 409, ticketing.CodeConflict)
	}
	d.call(t, "POST", "/events", d.key, keyed("the-same-key"), "{").refused(t, 400, ticketing.CodeInvalidRequest)
	d.call(t, "POST", "/events/"+id+"/inventory", d.key, keyed("the-same-key"), with(createInventoryBody.members, "", "")).
		ok(t, 201, tierJSON("VIP", "AVAILABLE", 10, 10, "10.00"))
	stranger := d.issue(t, d.newCompany(t), ticketing.AllGrants()...)
	a := d.call(t, "POST", "/events", stranger, keyed("the-same-key"), body)
	is.Equal(a.status, 201)
	is.True(a.text(t, "data", "id") != id)
}

func reversed(members []memberRule) string {
	var parts []string
	for _, m := range members {
		parts = append([]string{fmt.Sprintf("%q:%s", m.name, m.value)}, parts...)
	}
	return "{" + strings.Join(parts, ",") + "}"
}
