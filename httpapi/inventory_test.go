package httpapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// stock adds inventory to a tier of an event.
func (d *deployment) stock(tb testing.TB, event, tier, price string, quantity int) {
	tb.Helper()
	is := is.New(tb)
	unitPrice, err := money.Parse(price)
	is.NoErr(err)
	params := ticketing.CreateInventoryParams{
		Tier: tier, Title: "Entry", UnitPrice: unitPrice, Currency: money.Currency, IsFree: unitPrice == 0,
		Quantity: quantity, Status: ticketing.InventoryAvailable,
	}
	_, err = d.api(tb).CreateInventory(tb.Context(), uuid.MustParse(event), uuid.NewString(), params)
	is.NoErr(err)
}

func moneyJSON(amount string) string { return `{"amount":"` + amount + `","currency":"NGN"}` }

// tierJSON returns a tier; an empty price is null.
func tierJSON(tier, status string, available, total int, price string) string {
	unitPrice := "null"
	if price != "" {
		unitPrice = moneyJSON(price)
	}
	return fmt.Sprintf(`{"object":"inventory_tier","tier":%q,"status":%q,"availableQuantity":%d,"totalAdmissions":%d,`+
		`"unitPrice":%s}`,
		tier, status, available, total, unitPrice)
}

// Section 4.5: batches add up. Inventory of a draft is paused until the event is published (section 3.2).
func TestInventory(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	event := d.newEvent(t, "PUBLISHED")
	path := "/events/" + event + "/inventory"
	create := func(path, name, value string) answer {
		return d.call(t, "POST", path, d.key, keyed(uuid.NewString()), with(createInventoryBody.members, name, value))
	}
	d.call(t, "GET", path, d.key, nil, "").ok(t, 200, `[]`)
	create(path, "", "").ok(t, 201, tierJSON("VIP", "AVAILABLE", 10, 10, "10.00"))
	create(path, "description", "null").ok(t, 201, tierJSON("VIP", "AVAILABLE", 20, 20, "10.00"))
	create(path, "unitPrice", `"9.5"`).ok(t, 201, tierJSON("VIP", "AVAILABLE", 30, 30, "9.50"))
	create(path, "status", `"PAUSED"`).ok(t, 201, tierJSON("VIP", "AVAILABLE", 30, 40, "9.50"))
	create(path, "tier", `"REGULAR"`).ok(t, 201, tierJSON("REGULAR", "AVAILABLE", 10, 10, "10.00"))
	d.call(t, "GET", path, d.key, nil, "").ok(t, 200, `[`+
		tierJSON("REGULAR", "AVAILABLE", 10, 10, "10.00")+`,`+tierJSON("VIP", "AVAILABLE", 30, 40, "9.50")+`]`)

	patch := func(body string) answer { return d.call(t, "PATCH", path+"/VIP", d.key, nil, body) }
	patch(`{"unitPrice":"12.34","currency":"NGN","isFree":false}`).ok(t, 200,
		tierJSON("VIP", "AVAILABLE", 30, 40, "12.34"))
	patch(`{"status":"PAUSED"}`).ok(t, 200, tierJSON("VIP", "PAUSED", 0, 40, "12.34"))
	patch(`{"unitPrice":"0","currency":"NGN","isFree":true,"status":"AVAILABLE"}`).
		ok(t, 200, tierJSON("VIP", "AVAILABLE", 40, 40, "0.00"))
	for _, body := range []string{
		`{}`, `{"unitPrice":"1"}`, `{"currency":"NGN"}`, `{"isFree":false}`, `{"unitPrice":"1","currency":"NGN"}`,
		`{"unitPrice":"1","isFree":false}`, `{"currency":"NGN","isFree":true}`, `{"status":"PAUSED","isFree":false}`,
		`{"unitPrice":"0","currency":"NGN","isFree":false}`, `{"unitPrice":"1","currency":"NGN","isFree":true}`,
		`{"unitPrice":"1","currency":"USD","isFree":false}`, `{"unitPrice":"1","currency":"ngn","isFree":false}`,
		`{"status":"SOLD_OUT"}`, `{"status":"CANCELLED"}`, `{"status":"available"}`, `{"status":""}`,
	} {
		patch(body).refused(t, 400, ticketing.CodeInvalidRequest)
	}
	d.call(t, "DELETE", path+"/VIP", d.key, nil, "{").ok(t, 200, tierJSON("VIP", "CANCELLED", 0, 40, ""))
	d.call(t, "DELETE", path+"/VIP", d.key, nil, "").refused(t, 409, ticketing.CodeConflict)
	patch(`{"status":"AVAILABLE"}`).refused(t, 409, ticketing.CodeConflict)
	for _, tier := range []string{"STUDENT"} { // a category without an admission
		d.call(t, "DELETE", path+"/"+tier, d.key, nil, "").refused(t, 409, ticketing.CodeConflict)
		d.call(t, "PATCH", path+"/"+tier, d.key, nil, `{"status":"PAUSED"}`).refused(t, 409, ticketing.CodeConflict)
	}
	for _, tier := range []string{"vip", "VIP%20", "Balcony", ".", "..", strings.Repeat("x", 60), "%F0%9F%98%80"} {
		d.call(t, "DELETE", path+"/"+tier, d.key, nil, "").refused(t, 404, ticketing.CodeNotFound)
		d.call(t, "PATCH", path+"/"+tier, d.key, nil, `{"status":"PAUSED"}`).refused(t, 404, ticketing.CodeNotFound)
	}
	for _, tier := range []string{"%00", "VIP%00", "%FF", "%C0%80", "%ED%A0%80"} { // not valid text
		d.call(t, "DELETE", path+"/"+tier, d.key, nil, "").refused(t, 400, ticketing.CodeInvalidRequest, "tier: ")
		d.call(t, "PATCH", path+"/"+tier, d.key, nil, `{"status":"PAUSED"}`).refused(t, 400, ticketing.CodeInvalidRequest,
			"tier: ")
	}

	draft := d.newEvent(t, "DRAFT")
	path = "/events/" + draft + "/inventory"
	create(path, "", "").ok(t, 201, tierJSON("VIP", "PAUSED", 0, 10, "10.00"))
	d.change(t, draft, ticketing.UpdateEventParams{Status: new(ticketing.EventPublished)})
	d.call(t, "GET", path, d.key, nil, "").ok(t, 200, `[`+tierJSON("VIP", "AVAILABLE", 10, 10, "10.00")+`]`)
	d.change(t, draft, ticketing.UpdateEventParams{Status: new(ticketing.EventDraft)})
	d.call(t, "GET", path, d.key, nil, "").ok(t, 200, `[`+tierJSON("VIP", "PAUSED", 0, 10, "10.00")+`]`)
	_, err := d.api(t).CancelEvent(t.Context(), uuid.MustParse(draft))
	is.New(t).NoErr(err)
	d.call(t, "GET", path, d.key, nil, "").ok(t, 200, `[`+tierJSON("VIP", "CANCELLED", 0, 10, "")+`]`)
}

// Sections 2.1, 4.5 and 8: both sides of every boundary of a create.
func TestInventoryValues(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	event := d.newEvent(t, "PUBLISHED")
	for i, test := range []struct{ member, value, shown string }{
		{"tier", `"VIP"`, "VIP"},
		{"tier", `"vip"`, ""},
		{"tier", `" VIP"`, ""},
		{"tier", `"VIP "`, ""},
		{"tier", `"Balcony"`, ""},
		{"tier", `""`, ""},
		{"tier", `" "`, ""},
		{"tier", quoted(strings.Repeat("x", 60)), ""},
		{"tier", quoted(strings.Repeat("x", 61)), ""},
		{"title", `"x"`, "VIP"},
		{"title", quoted(strings.Repeat("é", 200)), "VIP"},
		{"title", quoted(strings.Repeat("é", 201)), ""},
		{"title", `""`, ""},
		{"title", `" "`, ""},
		{"title", `"a\nb"`, ""},
		{"description", quoted(strings.Repeat("é", 2000)), "VIP"},
		{"description", quoted(strings.Repeat("é", 2001)), ""},
		{"description", `"a\nb"`, "VIP"},
		{"description", `""`, "VIP"},
		{"description", `" "`, "VIP"},
		{"unitPrice", `"0.01"`, "VIP"},
		{"unitPrice", `"999999999999.99"`, "VIP"},
		{"unitPrice", `"999999999999.9"`, "VIP"},
		{"unitPrice", `"1000000000000"`, ""},
		{"unitPrice", `"0"`, ""}, // isFree does not agree
		{"currency", `"USD"`, ""},
		{"currency", `"ngn"`, ""},
		{"currency", `"NGN "`, ""},
		{"currency", `""`, ""},
		{"isFree", `true`, ""},
		{"quantity", `1`, "VIP"},
		{"quantity", `1000`, "VIP"},
		{"quantity", `1001`, ""},
		{"quantity", `0`, ""},
		{"quantity", `-0`, ""},
		{"quantity", `-1`, ""},
		{"quantity", `1000000000`, ""},
		{"status", `"PAUSED"`, "VIP"},
		{"status", `"SOLD_OUT"`, ""},
		{"status", `"CANCELLED"`, ""},
		{"status", `"available"`, ""},
		{"status", `""`, ""},
	} {
		t.Run(fmt.Sprintf("%s %d", test.member, i), func(t *testing.T) {
			t.Parallel()
			a := d.call(t, "POST", "/events/"+event+"/inventory", d.key, keyed(uuid.NewString()),
				with(createInventoryBody.members, test.member, test.value))
			if test.shown != "" {
				is.New(t).Equal(a.text(t, "data", "tier"), test.shown)
				return
			}
			at := test.member
			if test.value == `"0"` {
				at = "isFree"
			}
			a.refused(t, 400, ticketing.CodeInvalidRequest, at+": ")
		})
	}
	for _, price := range []string{"0", "0.0", "0.00"} {
		a := d.call(t, "POST", "/events/"+event+"/inventory", d.key, keyed(uuid.NewString()),
			`{"tier":"STUDENT","title":"Free","unitPrice":"`+price+`","currency":"NGN","isFree":true,"quantity":1,`+
				`"status":"AVAILABLE"}`)
		is.New(t).Equal(a.status, 201)
	}
}

// Section 4.11 on inventory: a replay returns the first result, although the tier has changed since.
func TestInventoryReplay(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	is := is.New(t)
	event, other := d.newEvent(t, "PUBLISHED"), d.newEvent(t, "PUBLISHED")
	create := func(event, body string) answer {
		return d.call(t, "POST", "/events/"+event+"/inventory", d.key, keyed("one-batch"), body)
	}
	first := create(event, with(createInventoryBody.members, "", ""))
	d.stock(t, event, "VIP", "1.00", 5)
	again := create(event, with(createInventoryBody.members, "unitPrice", `"10"`))
	is.Equal(again.status, 201)
	is.Equal(again.data(t), first.data(t))
	create(event, with(createInventoryBody.members, "quantity", `11`)).refused(t, 409, ticketing.CodeConflict)
	create(other, with(createInventoryBody.members, "", "")).refused(t, 409, ticketing.CodeConflict)
	create(strings.ToUpper(event), with(createInventoryBody.members, "", "")).ok(t, 201, first.data(t))
}

// Any legal category is a path parameter once it is percent-decoded.
func TestTierPaths(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	tiers := []string{
		"A/B", "/", "//", "50%", "%2F", "%25", "a+b", "a b", "a&b=c", "a?b", "a#b", "é😀", "a;b", "a:b@c", `a"b`, "<a>", "a|b",
		"a\\b",
		"{id}", ":tier", "*", "...", "a/../b", "~'()!$,", strings.Repeat("😀", 60), "inventory",
	}
	event := d.newEvent(t, "PUBLISHED")
	path := "/events/" + event
	d.change(t, event, ticketing.UpdateEventParams{TicketCategories: &tiers})
	for _, tier := range tiers {
		a := d.call(t, "POST", path+"/inventory", d.key, keyed(uuid.NewString()),
			with(createInventoryBody.members, "tier", jsonText(tier)))
		is.New(t).Equal(a.text(t, "data", "tier"), tier)
		var all strings.Builder // every byte escaped
		for i := range len(tier) {
			fmt.Fprintf(&all, "%%%02x", tier[i])
		}
		for _, segment := range []string{url.PathEscape(tier), all.String()} {
			a := d.call(t, "PATCH", path+"/inventory/"+segment, d.key, nil, `{"status":"PAUSED"}`)
			is.New(t).Equal(a.status, 200)
			is.New(t).Equal(a.text(t, "data", "tier"), tier)
		}
		a = d.call(t, "DELETE", path+"/inventory/"+url.PathEscape(tier), d.key, nil, "")
		is.New(t).Equal(a.text(t, "data", "status"), "CANCELLED")
	}
	// Characters that clients forget to escape, beside a slash that they did escape.
	unescaped := []string{"x/y|z", "x/y^z"}
	d.change(t, event, ticketing.UpdateEventParams{TicketCategories: &unescaped})
	for _, tier := range unescaped {
		d.stock(t, event, tier, "1.00", 1)
		segment := strings.Replace(tier, "/", "%2F", 1)
		d.raw(t,
			"DELETE /api/public/v1"+path+"/inventory/"+segment+" HTTP/1.1\r\nHost: x\r\n"+
				"Authorization: Bearer "+d.key+"\r\n\r\n").
			ok(t, 200, tierJSON(tier, "CANCELLED", 0, 1, ""))
	}
}
