package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/internal/race"
)

// sender is an operation that reads a body.
type sender struct {
	operation, schema string
	method, path      string
}

// senders returns the operations with a body, each with a path where it could succeed.
func senders(event string) []sender {
	at := "/events/" + event
	return []sender{
		{operation: "createEvent", schema: "EventCreate", method: "POST", path: "/events"},
		{operation: "updateEvent", schema: "EventUpdate", method: "PATCH", path: at},
		{operation: "createInventory", schema: "InventoryCreate", method: "POST", path: at + "/inventory"},
		{operation: "updateInventory", schema: "InventoryUpdate", method: "PATCH", path: at + "/inventory/VIP"},
		{operation: "createQuote", schema: "QuoteRequest", method: "POST", path: "/pricing/quote"},
		{operation: "createCheckout", schema: "CheckoutRequest", method: "POST", path: "/checkouts"},
		{
			operation: "validateAdmission", schema: "ValidationRequest", method: "POST",
			path: at + "/admissions/" + someID + "/validate",
		},
	}
}

// shopFloor returns a deployment, an event and a category that generated bodies refer to.
func shopFloor(t *testing.T) (d *deployment, event, category string) {
	t.Helper()
	d = deploy(t, nil)
	event = d.newEvent(t, "PUBLISHED")
	d.stock(t, event, "VIP", "10.00", 50)
	made, err := d.staff.CreateCategory(t.Context(), "Music", "music")
	is.New(t).NoErr(err)
	return d, event, made.ID.String()
}

func (s sender) send(t *testing.T, d *deployment, body any) answer {
	t.Helper()
	text, err := json.Marshal(body)
	is.New(t).NoErr(err)
	path := s.path
	if s.operation == "updateEvent" {
		// Otherwise its categories would be too many after a while.
		path = "/events/" + d.newEvent(t, "DRAFT")
	}
	return d.call(t, s.method, path, d.key, keyed(uuid.NewString()), string(text))
}

// The service accepts every body that the document allows: no such body is INVALID_REQUEST, whatever other error it
// gets.
func TestDocumentedRequestsAreTaken(t *testing.T) {
	t.Parallel()
	d, event, category := shopFloor(t)
	c := theContract(t)
	for _, s := range senders(event) {
		t.Run(s.operation, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				body := maker{c: c, t: rt, event: event, category: category}.make(s.schema)
				if err := c.Check(body, "components", "schemas", s.schema); err != nil {
					rt.Fatalf("the test makes what is not of the schema: %v", err)
				}
				if a := s.send(t, d, body); a.code() == ticketing.CodeInvalidRequest {
					rt.Fatalf("%v is refused: %s", body, a.body)
				}
			})
		})
	}
}

// A body that breaks any one rule of a schema is refused by the service and by the schema. The test breaks each keyword
// of each member, and fails at a keyword that it cannot break.
func TestViolationsOfTheDocumentAreRefused(t *testing.T) {
	t.Parallel()
	race.Leave(t, "requests that come one after the other")
	d, event, category := shopFloor(t)
	c := theContract(t)
	for _, s := range senders(event) {
		t.Run(s.operation, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			whole := rapid.Custom(func(rt *rapid.T) any {
				return maker{c: c, t: rt, event: event, category: category, whole: true}.make(s.schema)
			})
			broken := 0
			for i, v := range violationsOf(t, c, c.At("components", "schemas", s.schema), nil) {
				body := whole.Example(i)
				is.NoErr(c.Check(body, "components", "schemas", s.schema))
				wrong := v.in(body)
				if c.Check(wrong, "components", "schemas", s.schema) == nil {
					t.Errorf("%s: the schema takes %v", v.rule, wrong)
				}
				a := s.send(t, d, wrong)
				if a.status != 400 || a.code() != ticketing.CodeInvalidRequest {
					t.Errorf("%s: the service answers %v with %d %s", v.rule, wrong, a.status, a.body)
				}
				broken++
			}
			is.True(broken > 2)
		})
	}
}

// maker makes values of a schema.
type maker struct {
	c               contract
	t               *rapid.T
	event, category string
	whole           bool // every member is there, and none is null
}

// make returns a body, and applies rules that a schema cannot state: lines are of different tiers and for at most 50
// admissions, an event has at most 44 categories of its own, a price of 0 is free, and a price changes as a whole.
func (m maker) make(schema string) any {
	body := m.object(m.c.At("components", "schemas", schema))
	if lines, ok := body["lines"].([]any); ok {
		body["lines"] = apart(lines)
	}
	if named, ok := body["ticketCategories"].([]any); ok && len(named) > 44 {
		body["ticketCategories"] = named[:44]
	}
	if schema == "InventoryUpdate" && (body["unitPrice"] == nil || body["currency"] == nil) {
		delete(body, "unitPrice")
		delete(body, "currency")
		delete(body, "isFree")
	}
	if price, ok := body["unitPrice"].(string); ok {
		body["isFree"] = strings.Trim(price, "0.") == ""
	}
	if len(body) == 0 && schema != "ValidationRequest" {
		body["status"] = "PUBLISHED"
		if schema == "InventoryUpdate" {
			body["status"] = "PAUSED"
		}
	}
	return body
}

// apart keeps one line of each tier, with at most 50 admissions in all.
func apart(lines []any) []any {
	seen, left := make(map[any]bool), 50
	return slices.DeleteFunc(lines, func(line any) bool {
		object := line.(node)
		quantity := object["quantity"].(int)
		if seen[object["tier"]] || len(seen) > 0 && quantity > left {
			return true
		}
		seen[object["tier"]] = true
		left -= quantity
		return false
	})
}

func (m maker) object(schema node) node {
	made := make(node)
	properties, _ := schema["properties"].(node)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if m.whole || slices.Contains(names(schema["required"]), name) || rapid.Bool().Draw(m.t, "with "+name) {
			made[name] = m.value(name, properties[name].(node))
		}
	}
	return made
}

// value returns a value of a member. It goes by the name if the schema does not state every rule.
func (m maker) value(name string, schema node) any {
	switch name {
	case "eventId":
		return rapid.SampledFrom([]string{m.event, strings.ToUpper(m.event), someID}).Draw(m.t, name)
	case "categoryId":
		if m.whole || rapid.Bool().Draw(m.t, "category") {
			return m.category
		}
		return nil
	case "timezone":
		return rapid.SampledFrom([]string{"Africa/Lagos", "UTC", "America/Argentina/Buenos_Aires"}).Draw(m.t, name)
	case "imageUrl":
		const form = `[hH]ttps://[a-z]{1,9}\.example(:[1-9][0-9]{0,3})?/[a-z0-9@._-]{0,20}(\?[a-z=&]{0,20})?`
		address := rapid.StringMatching(form).Draw(m.t, name)
		return address + strings.Repeat("x", rapid.SampledFrom([]int{0, 2000 - len(address)}).Draw(m.t, "more"))
	case "email":
		return rapid.StringMatching(`[a-zA-Z0-9+_]{1,60}@[a-z]{1,60}\.[a-z]{1,60}`).Draw(m.t, name)
	case "date":
		return rapid.StringMatching(`20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])`).Draw(m.t, name)
	case "tier":
		return rapid.SampledFrom(ticketing.PresetCategories()).Draw(m.t, name)
	}
	schema = m.c.resolve(schema)
	if words, ok := schema["enum"].([]any); ok {
		return rapid.SampledFrom(words).Draw(m.t, name)
	}
	kind, nullable := typeOf(schema)
	if nullable && !m.whole && rapid.Bool().Draw(m.t, "no "+name) {
		return nil
	}
	switch kind {
	case "string":
		return m.text(name, schema)
	case "integer":
		return rapid.IntRange(limit(schema, "minimum"), limit(schema, "maximum")).Draw(m.t, name)
	case "boolean":
		return rapid.Bool().Draw(m.t, name)
	case "object":
		return m.object(schema)
	case "array":
		least, most := 0, limit(schema, "maxItems")
		if schema["minItems"] != nil {
			least = limit(schema, "minItems")
		}
		made := make([]any, rapid.IntRange(least, most).Draw(m.t, name))
		if m.whole && len(made) == 0 {
			made = make([]any, 1)
		}
		for i := range made {
			made[i] = m.value("item", schema["items"].(node))
		}
		return made
	}
	m.t.Fatalf("no value of %s is known: %v", name, schema)
	return nil
}

// text returns a text with the lengths and the pattern of the schema, often of the greatest length.
func (m maker) text(name string, schema node) string {
	pattern, _ := schema["pattern"].(string)
	if schema["maxLength"] == nil {
		return rapid.StringMatching(contracttest.ForRE2(pattern)).Draw(m.t, name)
	}
	least := 0
	if schema["minLength"] != nil {
		least = limit(schema, "minLength")
	}
	runes := []rune("aZ09 .-_/%+\"\\<>&é😀\u3042")
	if strings.Contains(pattern, `\r?\n`) {
		runes = append(runes, '\n', '\t')
	}
	known := regexp.MustCompile(contracttest.ForRE2(pattern))
	return rapid.Custom(func(t *rapid.T) string {
		most := limit(schema, "maxLength")
		length := rapid.OneOf(rapid.Just(most), rapid.IntRange(least, most)).Draw(t, "length")
		one := rapid.SampledFrom(runes).Draw(t, "rune")
		return strings.Repeat(string(one), length/2) + strings.Repeat(string(rapid.SampledFrom(runes).Draw(t, "rune")),
			length-length/2)
	}).Filter(func(s string) bool {
		return known.MatchString(s) && strings.Trim(s, " .") != "" // " .." is ".." once it is trimmed.
	}).Draw(m.t, name)
}

// resolve follows a reference, also one with a description beside it, and returns the first choice of "this or null".
func (c contract) resolve(schema node) node {
	if reference, ok := schema["$ref"].(string); ok {
		return c.resolve(c.Follow(node{"$ref": reference}))
	}
	if choices, ok := schema["anyOf"].([]any); ok {
		return c.resolve(choices[0].(node))
	}
	return schema
}

// typeOf returns the type of a schema, and whether null is allowed, too.
func typeOf(schema node) (kind string, nullable bool) {
	if kinds := names(schema["type"]); len(kinds) > 0 {
		return kinds[0], slices.Contains(kinds, "null")
	}
	kind, _ = schema["type"].(string)
	return kind, false
}

func limit(schema node, name string) int {
	var n int
	_, _ = fmt.Sscan(fmt.Sprint(schema[name]), &n)
	return n
}

// violation breaks one rule of a schema in a value that breaks none.
type violation struct {
	rule string
	in   func(any) any
}

// violationsOf returns the violations of the schema of the value at a path.
func violationsOf(t *testing.T, c contract, schema node, path []any) []violation {
	t.Helper()
	var all []violation
	add := func(keyword string, change func(any) any) {
		rule := fmt.Sprintf("%v %s", path, keyword)
		all = append(all, violation{rule: rule, in: func(body any) any { return changed(body, path, change) }})
	}
	becomes := func(value any) func(any) any { return func(any) any { return value } }
	if schema["anyOf"] == nil && !nullableSchema(c, schema) {
		add("null", becomes(nil))
	}
	schema = c.resolve(schema)
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		switch keyword {
		case "description", "properties", "then", "else":
		case "type":
			kind, _ := typeOf(schema)
			for other, value := range map[string]any{
				"string": "x", "integer": 7, "boolean": true, "object": node{}, "array": []any{}, "number": 1.5,
			} {
				if other != kind {
					add("type "+other, becomes(value))
				}
			}
		case "format":
			wrong := map[string]string{"uuid": someID[1:], "date": "2027-02-29", "uri": "https://", "email": "ada"}
			add(keyword, becomes(wrong[schema[keyword].(string)]))
		case "pattern":
			for _, wrong := range brokenPatterns(t, schema[keyword].(string)) {
				add(keyword, becomes(wrong))
			}
		case "enum":
			add(keyword, becomes("OTHER"))
			add(keyword, becomes(strings.ToLower(schema[keyword].([]any)[0].(string))))
		case "not":
			for _, reserved := range schema[keyword].(node)["enum"].([]any) {
				add(keyword, becomes(reserved))
			}
		case "minLength":
			add(keyword, becomes(strings.Repeat("a", limit(schema, keyword)-1)))
		case "maxLength":
			add(keyword, func(was any) any {
				text := []rune(strings.TrimSpace(was.(string))) // White space around it would not count.
				return string(text) + strings.Repeat("x", limit(schema, keyword)+1-len(text))
			})
		case "minimum":
			add(keyword, becomes(limit(schema, keyword)-1))
		case "maximum":
			add(keyword, becomes(limit(schema, keyword)+1))
		case "minItems":
			add(keyword, becomes([]any{}))
		case "maxItems":
			add(keyword, func(was any) any { return repeated(was.([]any)[0], limit(schema, keyword)+1) })
		case "items":
			all = append(all, violationsOf(t, c, schema[keyword].(node), append(slices.Clone(path), 0))...)
		case "minProperties":
			add(keyword, becomes(node{}))
		case "additionalProperties":
			add(keyword, func(was any) any { return edited(was, "unknown", 1) })
		case "required":
			for _, name := range names(schema[keyword]) {
				add(keyword+" "+name, func(was any) any { return edited(was, name, nil) })
			}
		case "dependentRequired":
			for name, needed := range schema[keyword].(node) {
				for _, other := range names(needed) {
					add(keyword+" "+name+" "+other, func(was any) any { return edited(was, other, nil) })
				}
			}
		case "if": // A price of 0 is free, and no other.
			add(keyword, func(was any) any { return edited(edited(was, "unitPrice", "0.00"), "isFree", false) })
			add(keyword, func(was any) any { return edited(edited(was, "unitPrice", "0.01"), "isFree", true) })
		default:
			t.Fatalf("%v: nobody knows how to break %q", path, keyword)
		}
	}
	properties, _ := schema["properties"].(node)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		all = append(all, violationsOf(t, c, properties[name].(node), append(slices.Clone(path), name))...)
	}
	return all
}

func nullableSchema(c contract, schema node) bool {
	_, nullable := typeOf(c.resolve(schema))
	return nullable
}

// brokenPatterns returns texts that do not match a pattern, each wrong in its own way.
func brokenPatterns(t *testing.T, pattern string) []string {
	t.Helper()
	known := regexp.MustCompile(contracttest.ForRE2(pattern))
	var wrong []string
	for _, text := range []string{
		"a\u0007b", "a\u0085b", "a\nb", "a\rb", "  ", "\u00a0", "x", "-1", "+1", "01", ".5", "5.", "1.234", "1e3", " 1",
		"1000000000000",
		"24:00", "12:60", "9:00", "2027-1-01", "http://a.example/", "https://user@a.example/", "https://a.example/#top",
		"https://a.example/x y", "//a.example/", strings.ReplaceAll(someID, "-4", "-1"), "{" + someID + "}",
	} {
		if !known.MatchString(text) {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) < 2 {
		t.Fatalf("nobody knows what breaks %s", pattern)
	}
	return wrong
}

// changed returns a body with another value at a path.
func changed(body any, path []any, change func(any) any) any {
	if len(path) == 0 {
		return change(body)
	}
	if i, ok := path[0].(int); ok {
		items := slices.Clone(body.([]any))
		items[i] = changed(items[i], path[1:], change)
		return items
	}
	name := path[0].(string)
	object := maps.Clone(body.(node))
	object[name] = changed(object[name], path[1:], change)
	return object
}

// edited returns an object with another value of a member, or without the member.
func edited(object any, name string, value any) any {
	copied := maps.Clone(object.(node))
	if value == nil {
		delete(copied, name)
	} else {
		copied[name] = value
	}
	return copied
}

// repeated returns a list of n items that differ only in their names.
func repeated(item any, n int) []any {
	items := make([]any, n)
	for i := range items {
		if object, ok := item.(node); ok {
			items[i] = edited(edited(object, "tier", fmt.Sprintf("Tier %d", i)), "quantity", 1)
		} else {
			items[i] = fmt.Sprintf("Category %d", i)
		}
	}
	return items
}
