package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

// kind is what a member of a body must be.
type kind int

const (
	texts   kind = iota // a string
	ids                 // a string with an id
	amounts             // a string with money
	flags               // true or false
	wholes              // an integer
	lists               // a list
	objects             // an object
)

// body is a valid body of an operation, with the contract's rules for its members.
type body struct {
	method, path string
	members      []memberRule
}

type memberRule struct {
	name     string
	value    string // valid JSON
	kind     kind
	required bool
	nullable bool
}

var (
	createEventBody = body{"POST", "/events", []memberRule{
		{"title", `"Night Market"`, texts, true, false},
		{"description", `"Food"`, texts, false, true},
		{"date", `"2027-05-01"`, texts, true, false},
		{"startsAt", `"18:00"`, texts, true, false},
		{"endsAt", `"23:00"`, texts, true, false},
		{"timezone", `"Africa/Lagos"`, texts, true, false},
		{"location", `"Lagos"`, texts, false, true},
		{"venue", `"Harbour"`, texts, false, true},
		{"imageUrl", `"https://img.example.com/a.png"`, texts, true, false},
		{"organizerName", `"Ada"`, texts, false, true},
		{"categoryId", `"` + someID + `"`, ids, false, true},
		{"ticketCategories", `["Balcony"]`, lists, false, false},
		{"status", `"DRAFT"`, texts, true, false},
	}}
	updateEventBody = body{"PATCH", "/events/" + someID, optionalMembers(createEventBody.members)}

	createInventoryBody = body{"POST", "/events/" + someID + "/inventory", []memberRule{
		{"tier", `"VIP"`, texts, true, false},
		{"title", `"Early"`, texts, true, false},
		{"description", `"Seat"`, texts, false, true},
		{"unitPrice", `"10.00"`, amounts, true, false},
		{"currency", `"NGN"`, texts, true, false},
		{"isFree", `false`, flags, true, false},
		{"quantity", `10`, wholes, true, false},
		{"status", `"AVAILABLE"`, texts, true, false},
	}}
	updateInventoryBody = body{"PATCH", "/events/" + someID + "/inventory/VIP", []memberRule{
		{"unitPrice", `"10.00"`, amounts, false, false},
		{"currency", `"NGN"`, texts, false, false},
		{"isFree", `false`, flags, false, false},
		{"status", `"AVAILABLE"`, texts, false, false},
	}}
	quoteBody = body{"POST", "/pricing/quote", []memberRule{
		{"eventId", `"` + someID + `"`, ids, true, false},
		{"lines", `[{"tier":"VIP","quantity":1}]`, lists, true, false},
	}}
	quoteLineMembers = []memberRule{
		{"tier", `"VIP"`, texts, true, false},
		{"quantity", `1`, wholes, true, false},
	}
	checkoutBody = body{"POST", "/checkouts", []memberRule{
		{"eventId", `"` + someID + `"`, ids, true, false},
		{"buyer", `{"email":"ada@example.com","fullname":"Ada","phone":"+234"}`, objects, true, false},
		{"lines", `[{"tier":"VIP","quantity":1,"expectedUnitPrice":"10.00","currency":"NGN"}]`, lists, true, false},
	}}
	buyerMembers = []memberRule{
		{"email", `"ada@example.com"`, texts, true, false},
		{"fullname", `"Ada"`, texts, false, true},
		{"phone", `"+234"`, texts, false, true},
	}
	checkoutLineMembers = []memberRule{
		{"tier", `"VIP"`, texts, true, false},
		{"quantity", `1`, wholes, true, false},
		{"expectedUnitPrice", `"10.00"`, amounts, true, false},
		{"currency", `"NGN"`, texts, true, false},
	}
	validateBody = body{"POST", "/events/" + someID + "/admissions/" + someID + "/validate", []memberRule{
		{"location", `"Gate 1"`, texts, false, true},
	}}
)

var bodies = []body{
	createEventBody, updateEventBody, createInventoryBody, updateInventoryBody, quoteBody, checkoutBody, validateBody,
}

func optionalMembers(members []memberRule) []memberRule {
	members = slices.Clone(members)
	for i := range members {
		members[i].required = false
	}
	return members
}

// with returns an object of the members. The named member has the given value; an empty value leaves it out.
func with(members []memberRule, name, value string) string {
	var parts []string
	for _, m := range members {
		if m.name == name {
			m.value = value
		}
		if m.value != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", m.name, m.value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// wrong returns values that a member of this kind cannot have.
func (k kind) wrong() []string {
	never := map[kind][]string{
		texts: {`0`, `1.5`, `true`, `{}`, `[]`, `["a"]`},
		ids:   {`0`, `true`, `{}`, `[]`, `""`, `"x"`, `" ` + someID + `"`, `"{` + someID + `}"`, `"` + someID[1:] + `"`},
		amounts: {
			`0`, `10`, `10.00`, `true`, `{}`, `[]`, `{"amount":"10.00","currency":"NGN"}`,
			`""`, `" 10"`, `"10 "`, `"-1"`, `"+1"`, `"01"`, `".5"`, `"5."`, `"1.234"`, `"1e3"`, `"1,000"`, `"0x1"`, `"NaN"`,
			`"1000000000000"`, `"999999999999.999"`, `"１"`, `"1\u0000"`,
		},
		flags: {`0`, `1`, `"true"`, `"false"`, `""`, `{}`, `[]`},
		wholes: {
			`"1"`, `""`, `true`, `{}`, `[]`, `1.0`, `1.5`, `1e2`, `1E0`, `1e-0`, `-1.0`,
			`100000000000000000000000000000000`, `-100000000000000000000000000000000`, `9223372036854775808`,
			`9223372036854775807`,
		},
		lists:   {`0`, `"x"`, `true`, `{}`},
		objects: {`0`, `"x"`, `true`, `[]`},
	}
	return never[k]
}

// send sends a body to its operation.
func (b body) send(t *testing.T, d *deployment, text string) answer {
	t.Helper()
	return d.call(t, b.method, b.path, d.key, keyed("key-0001"), text)
}

// checkMembers sends an object with each of its members wrong in every known way. The path is that of the object.
func checkMembers(t *testing.T, members []memberRule, path string, send func(object string) answer) {
	t.Helper()
	refused := func(object string, violations ...string) {
		t.Helper()
		send(object).refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest, violations...)
	}
	for _, m := range members {
		at := path + m.name + ": "
		if m.required {
			refused(with(members, m.name, ""), at+"is required")
		}
		if !m.nullable {
			refused(with(members, m.name, "null"), at+"must not be null")
		}
		for _, value := range m.kind.wrong() {
			refused(with(members, m.name, value), at)
		}
		if m.kind == texts {
			refused(with(members, m.name, `"a\u0000b"`), at+"must not contain U+0000")
		}
		twice := fmt.Sprintf(`%s,%q:`, m.value, m.name)
		refused(with(members, m.name, twice+m.value), at+"must be there once")
		refused(with(members, m.name, twice+"null"), at+"must be there once")
		refused(with(members, m.name, twice+m.value+fmt.Sprintf(`,%q:1`, m.name)), at, at)
		upper := strings.ToUpper(m.name[:1]) + m.name[1:]
		if m.required {
			refused(strings.Replace(with(members, m.name, m.value), m.name, upper, 1), at+"is required",
				path+upper+": is not a known member")
		}
		refused(with(members, m.name, fmt.Sprintf(`%s,%q:1`, m.value, m.name+"s")), path+m.name+"s: is not a known member")
	}
	for _, name := range []string{"id", "", " ", "__proto__", `\u0000`, "companyId", `é`} {
		refused(`{"`+name+`":null,`+with(members, "", "")[1:], path)
	}
}

// Section 2.1: requests are strict. A body is refused if a member is absent, null, of a wrong type, in a wrong case,
// repeated, or beside an unknown member. Nothing is written.
func TestBodyMembers(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	t.Run("refused", func(t *testing.T) { refuseMembers(t, d) })
	d.call(t, "GET", "/events", d.key, nil, "").page(t, `[]`, false)
	d.call(t, "GET", "/orders", d.key, nil, "").page(t, `[]`, false)
}

func refuseMembers(t *testing.T, d *deployment) {
	t.Helper()
	for _, b := range bodies {
		t.Run(b.method+" "+b.path, func(t *testing.T) {
			t.Parallel()
			checkMembers(t, b.members, "", func(object string) answer { return b.send(t, d, object) })
		})
	}
	for _, nested := range []struct {
		name, path string
		members    []memberRule
		body       body
		member     string
		wrap       string
	}{
		{"quote line", "lines[0].", quoteLineMembers, quoteBody, "lines", `[%s]`},
		{"second quote line", "lines[1].", quoteLineMembers, quoteBody, "lines", `[{"tier":"A","quantity":1},%s]`},
		{"buyer", "buyer.", buyerMembers, checkoutBody, "buyer", `%s`},
		{"checkout line", "lines[0].", checkoutLineMembers, checkoutBody, "lines", `[%s]`},
	} {
		t.Run(nested.name, func(t *testing.T) {
			t.Parallel()
			checkMembers(t, nested.members, nested.path, func(object string) answer {
				return nested.body.send(t, d, with(nested.body.members, nested.member, fmt.Sprintf(nested.wrap, object)))
			})
		})
	}
	for _, list := range []struct {
		body   body
		member string
		item   string
		path   string
	}{
		{createEventBody, "ticketCategories", `"Balcony"`, "ticketCategories"},
		{updateEventBody, "ticketCategories", `"Balcony"`, "ticketCategories"},
		{quoteBody, "lines", `{"tier":"VIP","quantity":1}`, "lines"},
		{checkoutBody, "lines", `{"tier":"VIP","quantity":1,"expectedUnitPrice":"1","currency":"NGN"}`, "lines"},
	} {
		for _, wrong := range []string{`null`, `0`, `true`, `[]`} {
			value := fmt.Sprintf(`[%s,%s]`, list.item, wrong)
			list.body.send(t, d, with(list.body.members, list.member, value)).
				refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest, list.path+"[1]: ")
		}
	}
}

// All violations of a body are reported at once, known members first, in their order.
func TestAllViolationsAtOnce(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	createEventBody.send(t, d, `{}`).refused(t, 400, ticketing.CodeInvalidRequest,
		"title: is required", "date: is required", "startsAt: is required", "endsAt: is required",
		"timezone: is required", "imageUrl: is required", "status: is required")
	checkoutBody.send(t, d,
		`{"eventId":"x","buyer":{},"lines":[{},{"tier":1,"quantity":"2","expectedUnitPrice":3,"currency":4,"b":5}],"a":1}`).
		refused(t, 400, ticketing.CodeInvalidRequest,
			"eventId: must be a UUID", "buyer.email: is required",
			"lines[0].tier: ", "lines[0].quantity: ", "lines[0].expectedUnitPrice: ", "lines[0].currency: ",
			"lines[1].tier: ", "lines[1].quantity: ", "lines[1].expectedUnitPrice: ", "lines[1].currency: ",
			"a: is not a known member", "lines[1].b: is not a known member")
	d.call(t, "POST", "/events/x/inventory?a=1", d.key, keyed("short"), `[]`).
		refused(t, 400, ticketing.CodeInvalidRequest, "Idempotency-Key: ", "eventId: ", "body: must be an object", "a: ")

	// However many violations there are, the answer stays small.
	many := strings.Repeat(`{"`+strings.Repeat("x", 200)+`":1},`, 900)
	a := quoteBody.send(t, d, `{"eventId":"`+someID+`","lines":[`+many[:len(many)-1]+`]}`)
	a.refused(t, 400, ticketing.CodeInvalidRequest)
	is := is.New(t)
	is.Equal(strings.Count(a.body, `"message"`), 51)
	is.True(len(a.body) < 10_000)
}

// Every operation with a body refuses one that is not a single JSON value.
func TestBodySyntax(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	deep := strings.Repeat(`[`, 10_000) + strings.Repeat(`]`, 10_000)
	objects := strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000)
	for _, test := range []struct {
		name, body string
		violation  string
	}{
		{"blank", " ", "body: is not valid JSON"},
		{"word", "title", "body: is not valid JSON"},
		{"null", "null", "body: must be an object"},
		{"list", "[]", "body: must be an object"},
		{"list of the object", "[{}]", "body: must be an object"},
		{"string", `"{}"`, "body: must be an object"},
		{"number", "1", "body: must be an object"},
		{"open", `{`, "body: is not valid JSON"},
		{"open string", `{"`, "body: is not valid JSON"},
		{"closed twice", `{}}`, "body: must be one JSON value"},
		{"two values", `{}{}`, "body: must be one JSON value"},
		{"two values apart", `{} null`, "body: must be one JSON value"},
		{"text behind", `{}x`, "body: must be one JSON value"},
		{"NUL behind", "{}\x00", "body: must be one JSON value"},
		{"byte order mark", "\uFEFF{}", "body: is not valid JSON"},
		{"comment", `{/**/}`, "body: is not valid JSON"},
		{"trailing comma", `{"a":1,}`, "body: is not valid JSON"},
		{"single quotes", `{'a':1}`, "body: is not valid JSON"},
		{"bare name", `{a:1}`, "body: is not valid JSON"},
		{"NaN", `{"a":NaN}`, "a: is not valid JSON"},
		{"leading zero", `{"a":01}`, ""},
		{"hexadecimal", `{"a":0x1}`, ""},
		{"plus", `{"a":+1}`, "a: is not valid JSON"},
		{"raw line break", "{\"title\":\"a\nb\"}", "title: is not valid JSON"},
		{"raw NUL", "{\"title\":\"a\x00b\"}", "title: is not valid JSON"},
		{"escape", `{"title":"\x41"}`, "title: is not valid JSON"},
		{"lone high surrogate", `{"title":"\ud800"}`, "title: is not valid JSON in UTF-8"},
		{"lone low surrogate", `{"title":"\udc00x"}`, "title: is not valid JSON in UTF-8"},
		{"surrogates reversed", `{"title":"\udc00\ud800"}`, "title: is not valid JSON in UTF-8"},
		{"lone surrogate in a name", `{"\ud800":1}`, ""},
		{"lone surrogate in a line", `{"lines":[{"tier":"\ud800"}]}`, "lines[0].tier: is not valid JSON in UTF-8"},
		{"invalid UTF-8", "{\"title\":\"\xff\"}", "title: is not valid JSON in UTF-8"},
		{"overlong UTF-8", "{\"title\":\"\xc0\x80\"}", "title: is not valid JSON in UTF-8"},
		{"surrogate in UTF-8", "{\"title\":\"\xed\xa0\x80\"}", "title: is not valid JSON in UTF-8"},
		{"invalid UTF-8 in a name", "{\"\xff\":1}", ""},
		{"10,000 levels of lists", deep, ""},
		{"10,000 levels of objects", objects, ""},
		{"10,000 levels that never close", deep[:10_000], ""},
		{"100,000 levels that never close", strings.Repeat("[", 100_000), ""},
		{"10,000 levels in a member", `{"title":` + deep + `}`, ""},
		{"UTF-16", "{\x00}\x00", "body: is not valid JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, b := range bodies {
				a := b.send(t, d, test.body)
				if test.violation == "" {
					a.refused(t, 400, ticketing.CodeInvalidRequest)
				} else {
					a.refused(t, 400, ticketing.CodeInvalidRequest, test.violation)
				}
				is.New(t).True(len(a.body) < 2000)
			}
		})
	}
}

// decisions.md on bodies: which Content-Types are allowed. Only for a validation an absent body is an empty object.
func TestContentType(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	for _, b := range bodies {
		send := func(body string, types ...string) answer {
			with := keyed("key-0001")
			for _, text := range types {
				with = append(with, [2]string{"Content-Type", text})
			}
			return d.call(t, b.method, b.path, d.key, with, body)
		}
		for _, right := range []string{
			"application/json", "Application/JSON", "application/json;charset=utf-8", "application/json; charset=UTF-8",
			`application/json; charset="utf-8"`, "application/json ; charset=utf-8", "application/json;",
		} {
			send(`{"x":1,"x":2}`, right).refused(t, 400, ticketing.CodeInvalidRequest)
			is.New(t).True(!strings.Contains(send(`{"x":1}`, right).body, "Content-Type"))
		}
		for _, wrong := range []string{
			"-", "", "text/plain", "text/json", "application/json5", "application/problem+json", "application/*", "json",
			"application/json, application/json", "application/json; charset=iso-8859-1", "application/json; charset=utf-8; v=1",
			"application/json; v=1", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
			"application/json; charset",
		} {
			send(`{"x":1}`, wrong).refused(t, 400, ticketing.CodeInvalidRequest, "Content-Type: must be application/json")
		}
		send(`{"x":1}`, "application/json", "application/json").
			refused(t, 400, ticketing.CodeInvalidRequest, "Content-Type: ")
		if b.path != validateBody.path {
			send("").refused(t, 400, ticketing.CodeInvalidRequest, "body: is required")
		}
	}
}

// decisions.md on bodies: 256 KiB are read and a byte more is refused, with and without a Content-Length.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const most = httpapi.DefaultMaxBodyBytes
	d := deploy(t, nil)
	for _, b := range bodies {
		padded := func(size int) string { return `{"x":` + strings.Repeat(" ", size-7) + `1}` }
		a := b.send(t, d, padded(most))
		a.refused(t, 400, ticketing.CodeInvalidRequest)
		is.New(t).True(strings.Contains(a.body, `"x: is not a known member"`))
		b.send(t, d, padded(most+1)).refused(t, 400, ticketing.CodeInvalidRequest, "body: must be at most 262144 bytes")

		head := fmt.Sprintf("%s %s%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: key-0001\r\n"+
			"Content-Type: application/json\r\n", b.method, httpapi.DefaultPrefix, b.path, d.key)
		chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", most+1, padded(most+1))
		d.raw(t, head+chunked).refused(t, 400, ticketing.CodeInvalidRequest, "body: must be at most 262144 bytes")
		d.raw(t, head+"Content-Length: 999999999999\r\n\r\n").
			refused(t, 400, ticketing.CodeInvalidRequest, "body: must be at most 262144 bytes")
		d.raw(t, head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n").
			refused(t, 400, ticketing.CodeInvalidRequest, "body: could not be read to its end")
	}
	small := deploy(t, &httpapi.Config{RateLimit: -1, MaxBodyBytes: 10})
	quoteBody.send(t, small, `{"x": 1  }`).refused(t, 400, ticketing.CodeInvalidRequest)
	quoteBody.send(t, small, `{"x": 1   }`).refused(t, 400, ticketing.CodeInvalidRequest, "body: must be at most 10 bytes")
}

// A list that is longer than the contract ever allows is refused without reading its items.
func TestEndlessList(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	endless := `[` + strings.Repeat(`"",`, 50_000) + `""]`
	createEventBody.send(t, d, with(createEventBody.members, "ticketCategories", endless)).
		refused(t, 400, ticketing.CodeInvalidRequest, "ticketCategories: has too many items")
	endless = `[` + strings.Repeat(`{},`, 50_000) + `{}]`
	quoteBody.send(t, d, with(quoteBody.members, "lines", endless)).
		refused(t, 400, ticketing.CodeInvalidRequest, "lines: has too many items")
}
