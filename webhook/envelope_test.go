package webhook_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/build"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/webhook"
)

const (
	eventID    = "0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10"
	deliveryID = "7d9e2c51-8a34-4b6f-9c1d-2e3f40516273"
)

var validated = webhook.TicketValidated{
	AdmissionID: "3f0c2a52-4f3e-4f5e-8f43-1d1c0b9a8e77", EventID: "9a1f5f0e-2b7c-4d8e-a1b2-c3d4e5f60718",
	OrderID: "5c6d7e8f-9012-4a3b-8c4d-5e6f70819203", ValidatedAt: "2026-01-01T00:00:00.000Z",
}

// samples returns an event of every type.
func samples() []webhook.Event {
	name := "Ọlá \"<Ade> & Co\"\u2028\x01\\ 🎟"
	rate := webhook.Rate{ID: "e3b0c442-98fc-4c14-9afb-f4c8996fb924", Value: "2.5", Unit: "PERCENT"}
	datas := []any{
		webhook.OrderCreated{Order: webhook.Order{
			ID: "5c6d7e8f-9012-4a3b-8c4d-5e6f70819203", EventID: validated.EventID, Status: "CONFIRMED", Currency: "NGN",
			GrossAmount: "150.05", FloatDebitedAmount: "150.05",
			Commission: webhook.Commission{Amount: "3.75", Rate: rate},
			Balances: webhook.Balances{
				FloatBefore: "1000.00", FloatAfter: "849.95", EarningsBefore: "0.00", EarningsAfter: "3.75",
			},
			Buyer: webhook.Buyer{Email: "ada@example.com", Name: &name},
			Lines: []webhook.Line{{
				AdmissionID: validated.AdmissionID, TicketPurchaseID: "11111111-2222-4333-8444-555555555555",
				Title: "Front row <1>", Tier: "VIP", UnitPrice: "150.05", Currency: "NGN",
			}},
			ConfirmedAt: "2026-01-01T00:00:00.000Z",
		}},
		webhook.CommissionAccrued{
			OrderID: validated.OrderID, EventID: validated.EventID, Currency: "NGN", Amount: "3.75", Rate: rate,
			EarningsBalanceBefore: "0.00", EarningsBalanceAfter: "3.75", AccruedAt: "2026-01-01T00:00:00.000Z",
		},
		webhook.BalanceLow{
			OrderID: validated.OrderID, Currency: "NGN", BalanceBefore: "1000.00", BalanceAfter: "849.95",
			ThresholdAmount: "1000.00",
		},
		validated,
	}
	events := make([]webhook.Event, len(datas))
	for i, data := range datas {
		events[i] = webhook.NewEvent(eventID, now, data)
	}
	return events
}

// Sections 6.3 and 6.6: the bytes of each body, which are signed and stored.
func TestEncodeMakesTheGoldenBodies(t *testing.T) {
	t.Parallel()
	begin := func(kind string) string {
		return `{"id":"` + eventID + `","type":"` + kind +
			`","api_version":"v1","created_at":"2026-01-01T00:00:00.000Z","data":`
	}
	rate := `"rate":{"id":"e3b0c442-98fc-4c14-9afb-f4c8996fb924","value":"2.5","unit":"PERCENT"}`
	want := []string{
		begin("order.created") + `{"order":{"id":"5c6d7e8f-9012-4a3b-8c4d-5e6f70819203",` +
			`"event_id":"9a1f5f0e-2b7c-4d8e-a1b2-c3d4e5f60718","status":"CONFIRMED","currency":"NGN",` +
			`"gross_amount":"150.05","float_debited_amount":"150.05","commission":{"amount":"3.75",` + rate + `},` +
			`"balances":{"float_before":"1000.00","float_after":"849.95","earnings_before":"0.00","earnings_after":"3.75"},` +
			`"buyer":{"email":"ada@example.com","name":"Ọlá \"<Ade> & Co\"\u2028\u0001\\ 🎟","phone":null},` +
			`"lines":[{"admission_id":"3f0c2a52-4f3e-4f5e-8f43-1d1c0b9a8e77",` +
			`"ticket_purchase_id":"11111111-2222-4333-8444-555555555555","title":"Front row <1>","tier":"VIP",` +
			`"unit_price":"150.05","currency":"NGN"}],"confirmed_at":"2026-01-01T00:00:00.000Z"}}}`,
		begin("commission.accrued") + `{"order_id":"5c6d7e8f-9012-4a3b-8c4d-5e6f70819203",` +
			`"event_id":"9a1f5f0e-2b7c-4d8e-a1b2-c3d4e5f60718","currency":"NGN","amount":"3.75",` + rate + `,` +
			`"earnings_balance_before":"0.00","earnings_balance_after":"3.75","accrued_at":"2026-01-01T00:00:00.000Z"}}`,
		begin("balance.low") + `{"order_id":"5c6d7e8f-9012-4a3b-8c4d-5e6f70819203","currency":"NGN",` +
			`"balance_before":"1000.00","balance_after":"849.95","threshold_amount":"1000.00"}}`,
		begin("ticket.validated") + `{"admission_id":"3f0c2a52-4f3e-4f5e-8f43-1d1c0b9a8e77",` +
			`"event_id":"9a1f5f0e-2b7c-4d8e-a1b2-c3d4e5f60718","order_id":"5c6d7e8f-9012-4a3b-8c4d-5e6f70819203",` +
			`"validated_at":"2026-01-01T00:00:00.000Z"}}`,
	}
	for i, event := range samples() {
		t.Run(event.Type, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			body, err := event.Encode()
			is.NoErr(err)
			is.Equal(string(body), want[i])

			parsed, err := webhook.ParseEvent(body)
			is.NoErr(err)
			is.Equal(parsed, event)

			var kept webhook.Event
			is.NoErr(json.Unmarshal(body, &kept))
			is.Equal(kept, event)
		})
	}
}

// A text that is not UTF-8 is sent all the same, in a body that is UTF-8.
func TestEncodeRepairsTexts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	event := webhook.NewEvent(eventID, now, webhook.BalanceLow{Currency: "N\xffN"})
	body, err := event.Encode()
	is.NoErr(err)
	is.True(utf8.Valid(body))
	is.True(bytes.Contains(body, []byte(`"currency":"N\ufffdN"`)))
}

// An event that no receiver could accept is not encoded.
func TestEncodeRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	good := webhook.NewEvent(eventID, now, validated)
	for name, test := range map[string]struct {
		change func(e *webhook.Event)
		want   error
	}{
		"no id":                 {func(e *webhook.Event) { e.ID = "" }, webhook.ErrEvent},
		"an id that is no UUID": {func(e *webhook.Event) { e.ID = strings.Repeat("a", 36) }, webhook.ErrEvent},
		"data of another type":  {func(e *webhook.Event) { e.Type = webhook.TypeBalanceLow }, webhook.ErrEvent},
		"no data":               {func(e *webhook.Event) { e.Data = nil }, webhook.ErrEvent},
		"data of nobody's": {
			func(e *webhook.Event) { *e = webhook.NewEvent(eventID, now, map[string]any{}) }, webhook.ErrEvent,
		},
		"a pointer to data":        {func(e *webhook.Event) { e.Data = &validated }, webhook.ErrEvent},
		"raw data that is no JSON": {func(e *webhook.Event) { e.Data = json.RawMessage(`{`) }, webhook.ErrEvent},
		"raw data of another shape": {
			func(e *webhook.Event) { e.Data = json.RawMessage(`{"order_id":1}`) }, webhook.ErrEvent,
		},
		"raw data that is no text": {
			func(e *webhook.Event) { e.Type, e.Data = "x", json.RawMessage("{\"a\":\"\xff\"}") }, webhook.ErrEvent,
		},
		"raw data no object": {func(e *webhook.Event) { e.Data = json.RawMessage(`[]`) }, webhook.ErrEvent},
		"another version":    {func(e *webhook.Event) { e.APIVersion = "v2" }, webhook.ErrVersion},
		"a year of five digits": {func(e *webhook.Event) {
			*e = webhook.NewEvent(eventID, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), validated)
		}, webhook.ErrEvent},
		"too large": {func(e *webhook.Event) {
			e.Type, e.Data = "new.type", json.RawMessage(`{"a":"`+strings.Repeat("a", webhook.MaxBody)+`"}`)
		}, webhook.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			event := good
			test.change(&event)
			body, err := event.Encode()
			is.True(errors.Is(err, test.want))
			is.Equal(body, nil)
		})
	}
}

// The largest order that the contract allows (section 8). Each character of its texts takes six bytes.
func TestLargestOrderFits(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text := func(n int) string { return strings.Repeat("\u2028", n) }
	money := "999999999999.99"
	name, phone := text(200), text(50)
	order := samples()[0].Data.(webhook.OrderCreated).Order
	order.Buyer = webhook.Buyer{Email: text(320), Name: &name, Phone: &phone}
	line := order.Lines[0]
	line.Title, line.Tier, line.UnitPrice = text(200), text(60), money
	order.Lines = nil
	for range 50 {
		order.Lines = append(order.Lines, line)
	}
	body, err := webhook.NewEvent(eventID, now, webhook.OrderCreated{Order: order}).Encode()
	is.NoErr(err)
	is.True(len(body) < webhook.MaxBody/2)
}

// Section 9: unknown members are ignored, and an unknown type has its data as it came.
func TestParseEventIgnoresWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	body := []byte(` {"data" : {"a": [1, 2]}, "new": {"id": 1}, "created_at":"2026-01-01T00:00:00.000Z",` +
		`"api_version":"v1","type":"order.moved","id":"` + eventID + `"} `)
	event, err := webhook.ParseEvent(body)
	is.NoErr(err)
	is.Equal(event.Type, "order.moved")
	is.Equal(event.Data, json.RawMessage(`{"a": [1, 2]}`))

	known := bytes.Replace(body, []byte("order.moved"), []byte("ticket.validated"), 1)
	event, err = webhook.ParseEvent(known)
	is.NoErr(err)
	is.Equal(event.Data, webhook.TicketValidated{}) // It has no known member.
}

func TestParseEventRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	const good = `{"id":"` + eventID + `","type":"balance.low","api_version":"v1",` +
		`"created_at":"2026-01-01T00:00:00.000Z","data":{"order_id":"hidden"}}`
	with := func(old, changed string) string {
		if !strings.Contains(good, old) {
			t.Fatal(old)
		}
		return strings.Replace(good, old, changed, 1)
	}
	for name, test := range map[string]struct {
		body string
		want error
	}{
		"as it should be":        {good, nil},
		"nothing":                {"", webhook.ErrEvent},
		"null":                   {"null", webhook.ErrEvent},
		"a list":                 {"[]", webhook.ErrEvent},
		"half of it":             {good[:len(good)-1], webhook.ErrEvent},
		"something behind it":    {good + "{}", webhook.ErrEvent},
		"not UTF-8":              {with("hidden", "\xff"), webhook.ErrEvent},
		"a byte order mark":      {"\ufeff" + good, webhook.ErrEvent},
		"no version":             {with(`"api_version":"v1",`, ""), webhook.ErrVersion},
		"another version":        {with(`"v1"`, `"v2"`), webhook.ErrVersion},
		"a version in capitals":  {with(`"v1"`, `"V1"`), webhook.ErrVersion},
		"a version as a number":  {with(`"v1"`, `1`), webhook.ErrEvent},
		"no id":                  {with(eventID, ""), webhook.ErrEvent},
		"an id that is no UUID":  {with(eventID, eventID[:35]+"g"), webhook.ErrEvent},
		"an id without a hyphen": {with(eventID, strings.ReplaceAll(eventID, "-", "0")), webhook.ErrEvent},
		"an id as a number":      {with(`"`+eventID+`"`, "1"), webhook.ErrEvent},
		"no type":                {with("balance.low", ""), webhook.ErrEvent},
		"no time":                {with("2026-01-01T00:00:00.000Z", ""), webhook.ErrEvent},
		"a day":                  {with("2026-01-01T00:00:00.000Z", "2026-01-01"), webhook.ErrEvent},
		"data of another shape":  {with(`"hidden"`, `7`), webhook.ErrEvent},
		"no data":                {with(`{"order_id":"hidden"}`, "null"), webhook.ErrEvent},
		"data as text":           {with(`{"order_id":"hidden"}`, `"hidden"`), webhook.ErrEvent},
		"too large":              {good + strings.Repeat(" ", webhook.MaxBody), webhook.ErrTooLarge},
		"as large as it may be":  {good + strings.Repeat(" ", webhook.MaxBody-len(good)), nil},
		"too deep": {
			with(`"hidden"`, strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), webhook.ErrEvent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			event, err := webhook.ParseEvent([]byte(test.body))
			is.True(errors.Is(err, test.want))
			if err != nil {
				is.Equal(event, webhook.Event{})
				is.True(!strings.Contains(err.Error(), "hidden"))
				is.True(event.UnmarshalJSON([]byte(test.body)) != nil)
			}
		})
	}
}

// What is parsed can be encoded, and further rounds give the same bytes.
func FuzzParseEvent(f *testing.F) {
	for _, event := range samples() {
		body, err := event.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	for _, seed := range []string{
		"", "null", "{}", `{"data":{}}`,
		`{"id":"` + eventID + `","type":"x","api_version":"v1","created_at":"2026-01-01T00:00:00Z","data":{"a":"<\ud800>"}}`,
		`{"id":"` + eventID +
			`","type":"order.created","api_version":"v1","created_at":"2026-01-01T01:00:00+01:00","data":{"order":null}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		is := is.New(t)
		event, err := webhook.ParseEvent(input)
		if err != nil {
			is.Equal(event, webhook.Event{})
			is.True(errors.Is(err, webhook.ErrEvent) || errors.Is(err, webhook.ErrVersion) || errors.Is(err,
				webhook.ErrTooLarge))
			return
		}
		body, err := event.Encode()
		if errors.Is(err, webhook.ErrTooLarge) {
			return // Its escapes take more room than what they stand for.
		}
		is.NoErr(err)
		again, err := webhook.ParseEvent(body)
		is.NoErr(err)
		same, err := again.Encode()
		is.NoErr(err)
		is.Equal(string(same), string(body))
		is.Equal(reflect.TypeOf(again.Data), reflect.TypeOf(event.Data))
	})
}

// A receiver gets no dependency with this package.
func TestStandardLibraryAlone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	about, err := build.ImportDir(".", 0)
	is.NoErr(err)
	is.True(len(about.Imports) > 5)
	for _, name := range about.Imports {
		first, _, _ := strings.Cut(name, "/")
		is.True(!strings.Contains(first, ".")) // Names outside of the standard library begin with a domain.
	}
}
