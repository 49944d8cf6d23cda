package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// sold is an event whose only VIP admission, at 10.00, was sold.
type sold struct{ event, order, admission string }

// soldOut sells the only VIP admission of a new event.
func (d *deployment) soldOut(tb testing.TB) sold {
	tb.Helper()
	event := d.newEvent(tb, "PUBLISHED")
	d.stock(tb, event, "VIP", "10.00", 1)
	order, err := d.api(tb).Checkout(tb.Context(), uuid.NewString(), ticketing.CheckoutParams{
		EventID: uuid.MustParse(event), Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLineParams{{Tier: "VIP", Quantity: 1, ExpectedUnitPrice: 10_00, Currency: money.Currency}},
	})
	is.New(tb).NoErr(err)
	return sold{event: event, order: order.ID.String(), admission: order.Lines[0].AdmissionID.String()}
}

func checkoutJSON(event, tier string, quantity int, price string) string {
	return fmt.Sprintf(`{"eventId":%q,"buyer":{"email":"ada@example.com"},"lines":[{"tier":%s,"quantity":%d,`+
		`"expectedUnitPrice":%q,"currency":"NGN"}]}`,
		event, jsonText(tier), quantity, price)
}

const brandingJSON = `{"brandName":"Lagos Live","logoUrl":null,"primaryColor":"#111827","accentColor":"#2563EB",` +
	`"checkoutFooter":null,"ticketFooter":null,"emailFooter":null,"supportEmail":null,"emailMode":"SERVICE_SENDER"}`

// Section 4.6: one line for each tier, at one exact price, by tier.
func TestQuote(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	event := d.newEvent(t, "PUBLISHED")
	d.stock(t, event, "VIP", "10.00", 3)
	d.stock(t, event, "VIP", "12.50", 50)
	d.stock(t, event, "REGULAR", "0", 5)
	quote := func(event, lines string) answer {
		return d.call(t, "POST", "/pricing/quote", d.key, nil, fmt.Sprintf(`{"eventId":%q,"lines":[%s]}`, event, lines))
	}
	quote(event, `{"tier":"VIP","quantity":3},{"tier":"REGULAR","quantity":2}`).ok(t, 200, `{"object":"pricing_quote",`+
		`"eventId":"`+event+`","currency":"NGN","lines":[`+
		`{"tier":"REGULAR","quantity":2,`+
		`"unitPrice":`+moneyJSON("0.00")+`,"subtotal":`+moneyJSON("0.00")+`,"availableAtPrice":5},`+
		`{"tier":"VIP","quantity":3,`+
		`"unitPrice":`+moneyJSON("10.00")+`,"subtotal":`+moneyJSON("30.00")+`,"availableAtPrice":3}],`+
		`"total":`+moneyJSON("30.00")+`,"quotedAt":"<time>"}`)
	quote(event,
		`{"tier":"VIP","quantity":4}`).ok(t, 200, `{"object":"pricing_quote","eventId":"`+event+`","currency":"NGN",`+
		`"lines":[{"tier":"VIP","quantity":4,`+
		`"unitPrice":`+moneyJSON("12.50")+`,"subtotal":`+moneyJSON("50.00")+`,"availableAtPrice":50}],`+
		`"total":`+moneyJSON("50.00")+`,"quotedAt":"<time>"}`)
	for _, lines := range []string{
		`{"tier":"REGULAR","quantity":6}`, `{"tier":"STUDENT","quantity":1}`, `{"tier":"vip","quantity":1}`,
		`{"tier":"VIP ","quantity":1}`,
	} {
		quote(event, lines).refused(t, 409, ticketing.CodePricingUnavailable)
	}
	quote(d.newEvent(t, "DRAFT"), `{"tier":"VIP","quantity":1}`).refused(t, 409, ticketing.CodePricingUnavailable)
	is.New(t).Equal(quote(event, `{"tier":"VIP","quantity":50}`).status, 200)
	for _, test := range []struct{ lines, violation string }{
		{``, "lines: "},
		{`{"tier":"VIP","quantity":0}`, "lines[0].quantity: "},
		{`{"tier":"VIP","quantity":-1}`, "lines[0].quantity: "},
		{`{"tier":"VIP","quantity":51}`, "lines: "},
		{`{"tier":"VIP","quantity":1000000000}`, "lines: "},
		{`{"tier":"VIP","quantity":50},{"tier":"REGULAR","quantity":1}`, "lines: "},
		{`{"tier":"VIP","quantity":1},{"tier":"VIP","quantity":1}`, "lines[1].tier: "},
		{`{"tier":"","quantity":1}`, "lines[0].tier: "},
		{`{"tier":"` + strings.Repeat("x", 61) + `","quantity":1}`, "lines[0].tier: "},
		{`{"tier":"a\nb","quantity":1}`, "lines[0].tier: "},
		{strings.Repeat(`{"tier":"VIP","quantity":1},`, 50) + `{"tier":"VIP","quantity":1}`, "lines: "},
	} {
		quote(event, test.lines).refused(t, 400, ticketing.CodeInvalidRequest, test.violation)
	}
}

// Sections 2.6 and 4.7: the whole order, and that it can be read again.
func TestCheckout(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	event := d.newEvent(t, "PUBLISHED")
	d.stock(t, event, "VIP", "1234.60", 5)
	d.stock(t, event, "REGULAR", "0", 5)
	body := `{"eventId":"` + event + `","buyer":{"email":"  Ada@Example.COM ","fullname":" Ada L ","phone":""},"lines":[` +
		`{"tier":"VIP","quantity":2,"expectedUnitPrice":"1234.6","currency":"NGN"},` +
		`{"tier":"REGULAR","quantity":1,"expectedUnitPrice":"0","currency":"NGN"}]}`
	line := func(tier, price string) string {
		return `{"id":"<uuid>","admissionId":"<uuid>","title":"Entry",` +
			`"tier":"` + tier + `","unitPrice":` + moneyJSON(price) + `}`
	}
	order := `{"id":"<uuid>","object":"order","eventId":"` + event + `","status":"CONFIRMED",` +
		`"gross":` + moneyJSON("2469.20") +
		`,"floatDebited":` + moneyJSON("2469.20") + `,"commission":{"amount":` + moneyJSON("61.73") +
		`,"rate":{"id":"<uuid>","value":"250","unit":"BASIS_POINTS"}},"balances":{"floatBefore":` + moneyJSON("1000000.00") +
		`,"floatAfter":` + moneyJSON("997530.80") + `,"earningsBefore":` + moneyJSON("0.00") +
		`,"earningsAfter":` + moneyJSON("61.73") +
		`},"buyer":{"email":"ada@example.com","fullname":"Ada L","phone":null},"branding":` + brandingJSON +
		`,"lines":[` + line("REGULAR", "0.00") + `,` + line("VIP", "1234.60") + `,` + line("VIP", "1234.60") +
		`],"confirmedAt":"<time>","createdAt":"<time>"}`
	first := d.call(t, "POST", "/checkouts", d.key, keyed("cart-1001"), body)
	first.ok(t, 201, order)
	is := is.New(t)
	id := first.text(t, "data", "id")
	is.Equal(d.call(t, "GET", "/orders/"+id, d.key, nil, "").data(t), first.data(t))
	is.Equal(d.call(t, "GET", "/orders/"+strings.ToUpper(id), d.key, nil, "").data(t), first.data(t))
	d.call(t, "GET", "/orders", d.key, nil, "").page(t, `[`+first.data(t)+`]`, false)

	// The same input in another notation is a replay, byte for byte; any other input is a CONFLICT.
	for _, again := range []string{
		body,
		`{"lines":[{"currency":"NGN","quantity":1,"tier":"REGULAR","expectedUnitPrice":"0.00"},` +
			`{"tier":"VIP","quantity":2,"expectedUnitPrice":"1234.60","currency":"NGN"}],` +
			`"buyer":{"phone":null,"fullname":"Ada L","email":"ADA@example.com"},"eventId":"` + strings.ToUpper(event) + `"}`,
	} {
		a := d.call(t, "POST", "/checkouts", d.key, keyed("cart-1001"), again)
		is.Equal(a.status, 201)
		is.Equal(a.data(t), first.data(t))
	}
	for _, change := range [][2]string{
		{`"quantity":2`, `"quantity":3`}, {"Ada L", "Ada"}, {"ada@", "ade@"}, {`1234.6"`, `1234.61"`},
	} {
		changed := strings.Replace(strings.ToLower(body), strings.ToLower(change[0]), change[1], 1)
		changed = strings.NewReplacer("eventid", "eventId", `"vip"`, `"VIP"`, "regular", "REGULAR", "ngn", "NGN",
			"expectedunitprice", "expectedUnitPrice").Replace(changed)
		d.call(t, "POST", "/checkouts", d.key, keyed("cart-1001"), changed).refused(t, 409, ticketing.CodeConflict)
	}
}

// Section 7 on checkouts: each refusal has its code, and stores nothing, not even the key.
func TestCheckoutRefusals(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	is := is.New(t)
	d := deploy(t, nil)
	event := d.newEvent(t, "PUBLISHED")
	d.stock(t, event, "VIP", "10.00", 2)
	d.stock(t, event, "VVIP", "900000.00", 5)
	buy := func(body string) answer { return d.call(t, "POST", "/checkouts", d.key, keyed("the-same-key"), body) }

	buy(checkoutJSON(event, "VIP", 3, "10.00")).refused(t, 409, ticketing.CodeInventoryUnavailable)
	buy(checkoutJSON(event, "VIP", 1, "10.01")).refused(t, 409, ticketing.CodeInventoryUnavailable)
	buy(checkoutJSON(event, "STUDENT", 1, "10.00")).refused(t, 409, ticketing.CodeInventoryUnavailable)
	buy(checkoutJSON(event, "vip", 1, "10.00")).refused(t, 409, ticketing.CodeInventoryUnavailable)
	buy(checkoutJSON(event, "VVIP", 2, "900000.00")).refused(t, 409, ticketing.CodeInsufficientFloat)
	buy(checkoutJSON(d.newEvent(t, "DRAFT"), "VIP", 1, "10.00")).refused(t, 409, ticketing.CodeConflict)
	buy(checkoutJSON(someID, "VIP", 1, "10.00")).refused(t, 404, ticketing.CodeNotFound)

	_, err := d.staff.SuspendWallet(ctx, d.company, "EARNINGS")
	is.NoErr(err)
	buy(checkoutJSON(event, "VIP", 1, "10.00")).refused(t, 409, ticketing.CodeCheckoutUnavailable)
	_, err = d.staff.ActivateWallet(ctx, d.company, "EARNINGS")
	is.NoErr(err)

	_, err = d.staff.RevokeVerification(ctx, d.company)
	is.NoErr(err)
	buy(checkoutJSON(event, "VIP", 1, "10.00")).refused(t, 409, ticketing.CodeVerificationRequired)
	buy(`{}`).refused(t, 400, ticketing.CodeInvalidRequest)
	d.call(t, "POST", "/checkouts", d.key, nil, `{}`).refused(t, 400, ticketing.CodeIdempotencyKeyRequired)
	is.Equal(d.call(t, "GET", "/events/"+event, d.key, nil, "").status, 200) // reads still work
	_, err = d.staff.ApproveVerification(ctx, d.company, ticketing.ApprovalParams{})
	is.NoErr(err)

	d.call(t, "GET", "/orders", d.key, nil, "").page(t, `[]`, false)
	done := buy(checkoutJSON(event, "VIP", 2, "10.00"))
	is.Equal(done.status, 201)
	d.call(t, "GET", "/events/"+event+"/inventory", d.key, nil, "").ok(t, 200,
		`[`+tierJSON("VIP", "SOLD_OUT", 0, 2, "")+`,`+tierJSON("VVIP", "AVAILABLE", 5, 5, "900000.00")+`]`)

	_, err = d.staff.RevokeVerification(ctx, d.company)
	is.NoErr(err)
	buy(checkoutJSON(event, "VIP", 2, "10.00")).refused(t, 409, ticketing.CodeVerificationRequired) // before the replay

	poor, err := d.staff.CreateCompany(ctx, "No Rate")
	is.NoErr(err)
	_, err = d.staff.ApproveVerification(ctx, poor.ID, ticketing.ApprovalParams{})
	is.NoErr(err)
	d.key = d.issue(t, poor.ID, ticketing.AllGrants()...)
	event = d.newEvent(t, "PUBLISHED")
	d.stock(t, event, "VIP", "10.00", 2)
	buy(checkoutJSON(event, "VIP", 1, "10.00")).refused(t, 409, ticketing.CodeCommissionUnavailable)
}

// Sections 4.7 and 8: both sides of every boundary of a checkout.
func TestCheckoutValues(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	event := d.newEvent(t, "PUBLISHED")
	d.stock(t, event, "VIP", "1.00", 1000)
	email := func(local int) string { // of 320 characters with a local part of 64
		domain := strings.Repeat(strings.Repeat("d", 63)+".", 3)
		return quoted(strings.Repeat("l", local) + "@" + domain + strings.Repeat("e", 59) + ".com")
	}
	for i, test := range []struct{ member, value, violation string }{
		{"buyer", `{"email":"ada@example.com"}`, ""},
		{"buyer", `{"email":"ada@example.com","fullname":null,"phone":null}`, ""},
		{"buyer", `{"email":"ada@example.com","fullname":" ","phone":" "}`, ""},
		{"buyer", `{"email":"ada@example.com","fullname":` + quoted(strings.Repeat("é", 200)) + `}`, ""},
		{"buyer", `{"email":"ada@example.com","fullname":` + quoted(strings.Repeat("é", 201)) + `}`, "buyer.fullname: "},
		{"buyer", `{"email":"ada@example.com","fullname":"a\nb"}`, "buyer.fullname: "},
		{"buyer", `{"email":"ada@example.com","phone":` + quoted(strings.Repeat("1", 50)) + `}`, ""},
		{"buyer", `{"email":"ada@example.com","phone":` + quoted(strings.Repeat("1", 51)) + `}`, "buyer.phone: "},
		{"buyer", `{"email":""}`, "buyer.email: "},
		{"buyer", `{"email":" "}`, "buyer.email: "},
		{"buyer", `{"email":"ada"}`, "buyer.email: "},
		{"buyer", `{"email":"ada@example"}`, "buyer.email: "},
		{"buyer", `{"email":"Ada <ada@example.com>"}`, "buyer.email: "},
		{"buyer", `{"email":"ada@example.com,ade@example.com"}`, "buyer.email: "},
		{"buyer", `{"email":"ada@example.com\r\nBcc: x@example.com"}`, "buyer.email: "},
		{"buyer", `{"email":"a\u0000da@example.com"}`, "buyer.email: "},
		{"buyer", `{"email":` + email(80) + `}`, "buyer.email: "},
		{"lines", `[]`, "lines: "},
		{"lines", line("VIP", "50", "1.00", "NGN"), ""},
		{"lines", line("VIP", "51", "1.00", "NGN"), "lines: "},
		{"lines", line("VIP", "0", "1.00", "NGN"), "lines[0].quantity: "},
		{"lines", line("VIP", "-1", "1.00", "NGN"), "lines[0].quantity: "},
		{"lines", line("VIP", "1", "1.00", "USD"), "lines[0].currency: "},
		{"lines", line("VIP", "1", "1.00", "ngn"), "lines[0].currency: "},
		{"lines", line("", "1", "1.00", "NGN"), "lines[0].tier: "},
		{"lines", line(strings.Repeat("x", 61), "1", "1.00", "NGN"), "lines[0].tier: "},
		{"lines", line("VIP", "1", "1.001", "NGN"), "lines[0].expectedUnitPrice: "},
		{
			"lines",
			strings.TrimSuffix(line("VIP", "1", "1.00", "NGN"), "]") + "," + strings.TrimPrefix(line("VIP", "1", "1.00", "NGN"),
				"["),
			"lines[1].tier: ",
		},
	} {
		t.Run(fmt.Sprintf("%s %d", test.member, i), func(t *testing.T) {
			t.Parallel()
			members := []memberRule{
				{"eventId", quoted(event), ids, true, false},
				{"buyer", `{"email":"ada@example.com"}`, objects, true, false},
				{"lines", line("VIP", "1", "1.00", "NGN"), lists, true, false},
			}
			a := d.call(t, "POST", "/checkouts", d.key, keyed(uuid.NewString()), with(members, test.member, test.value))
			if test.violation != "" {
				a.refused(t, 400, ticketing.CodeInvalidRequest, test.violation)
				return
			}
			is.New(t).Equal(a.status, 201)
		})
	}
}

func line(tier, quantity, price, currency string) string {
	return fmt.Sprintf(`[{"tier":%q,"quantity":%s,"expectedUnitPrice":%q,"currency":%q}]`, tier, quantity, price, currency)
}

// Sections 4.8 and 4.10: newest first, filtered by event and status, page by page.
func TestListOrders(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	var orders []string // newest first
	var events []string
	for range 3 {
		s := d.soldOut(t)
		orders = append([]string{d.call(t, "GET", "/orders/"+s.order, d.key, nil, "").data(t)}, orders...)
		events = append([]string{s.event}, events...)
	}
	list := func(query string) answer { return d.call(t, "GET", "/orders"+query, d.key, nil, "") }
	all := `[` + strings.Join(orders, ",") + `]`
	list("").page(t, all, false)
	list("?limit=3").page(t, all, false)
	list("?status=CONFIRMED").page(t, all, false)
	list("?status=REFUNDED,CONFIRMED,CANCELLED").page(t, all, false)
	list("?status=CONFIRMED%2CREFUNDED").page(t, all, false)
	list("?status=REFUNDED,CANCELLED").page(t, `[]`, false)
	list("?eventId="+events[1]).page(t, `[`+orders[1]+`]`, false)
	list("?eventId="+strings.ToUpper(events[1])+"&status=CONFIRMED&limit=1").page(t, `[`+orders[1]+`]`, false)
	first := list("?limit=1&status=CONFIRMED,REFUNDED")
	first.page(t, `[`+orders[0]+`]`, true)
	cursor := first.text(t, "meta", "page", "nextCursor")
	list("?status=REFUNDED,CONFIRMED&limit=2&cursor="+cursor).page(t, `[`+orders[1]+`,`+orders[2]+`]`, false)
	for _, query := range []string{
		"?cursor=" + cursor, "?status=CONFIRMED&cursor=" + cursor,
		"?status=CONFIRMED,REFUNDED&eventId=" + events[1] + "&cursor=" + cursor,
	} {
		list(query).refused(t, 400, ticketing.CodeInvalidCursor)
	}
	d.call(t, "GET", "/events?cursor="+cursor, d.key, nil, "").refused(t, 400, ticketing.CodeInvalidCursor)
	for _, status := range []string{
		"confirmed", "CONFIRMED,%20REFUNDED", "CONFIRMED;REFUNDED", "PENDING", "CONFIRMED,PENDING",
	} {
		list("?status="+status).refused(t, 400, ticketing.CodeInvalidRequest, "status: ")
	}
}

// Sections 2.8, 3.4 and 4.9: admitted once, replayed for its key, and returned to every later scan.
func TestValidateAdmission(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	is := is.New(t)
	s := d.soldOut(t)
	scan := func(key, body string) answer {
		return d.call(t, "POST", "/events/"+s.event+"/admissions/"+s.admission+"/validate", d.key, keyed(key), body)
	}
	validation := func(outcome, location string) string {
		return `{"id":"<uuid>","object":"ticket_validation","outcome":"` + outcome + `","admissionId":"` + s.admission +
			`","eventId":"` + s.event + `","orderId":"` + s.order + `","location":` + location +
			`,"ticket":{"title":"Entry","tier":"VIP","branding":` + brandingJSON + `},"validatedAt":"<time>"}`
	}
	first := scan("gate-scan-1", `{"location":" Gate 1 "}`)
	first.ok(t, 200, validation("ADMITTED", `"Gate 1"`))
	is.Equal(scan("gate-scan-1", `{"location":"Gate 1"}`).data(t), first.data(t))
	later := scan("gate-scan-2", `{"location":"Gate 2"}`)
	later.ok(t, 200, validation("ALREADY_VALIDATED", `"Gate 1"`))
	is.Equal(later.data(t), strings.Replace(first.data(t), "ADMITTED", "ALREADY_VALIDATED", 1))
	is.Equal(scan("gate-scan-2", `{"location":"Gate 2"}`).data(t), later.data(t))
	scan("gate-scan-1", `{}`).refused(t, 409, ticketing.CodeConflict)

	for _, body := range []string{"", "{}", ` {} `, `{"location":null}`, `{"location":""}`, `{"location":" "}`} {
		s = d.soldOut(t)
		scan("gate-scan-3-"+s.admission, body).ok(t, 200, validation("ADMITTED", `null`))
		scan("gate-scan-3-"+s.admission, "").ok(t, 200, validation("ADMITTED", `null`))
	}
	s = d.soldOut(t)
	scan("long-location", `{"location":`+quoted(strings.Repeat("é", 201))+`}`).refused(t, 400,
		ticketing.CodeInvalidRequest, "location: ")
	scan("long-location", `{"location":"a\nb"}`).refused(t, 400, ticketing.CodeInvalidRequest, "location: ")
	scan("long-location", `{"location":`+quoted(strings.Repeat("é", 200))+`}`).ok(t, 200,
		validation("ADMITTED", quoted(strings.Repeat("é", 200))))

	// A request without a body needs no Content-Type.
	s = d.soldOut(t)
	d.call(t, "POST", "/events/"+s.event+"/admissions/"+s.admission+"/validate", d.key,
		headers{{"Idempotency-Key", "no-content-type"}, {"Content-Type", "text/plain"}}, "").ok(t, 200, validation("ADMITTED",
		`null`))
}
