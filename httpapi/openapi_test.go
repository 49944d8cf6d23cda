package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/money"
)

const openAPIFile = "openapi.json"

// node is an object of the document.
type node = map[string]any

// contract is the document, with methods that only its own tests need.
type contract struct{ *contracttest.Contract }

func theContract(tb testing.TB) contract {
	tb.Helper()
	c, err := contracttest.Published()
	is.New(tb).NoErr(err)
	return contract{c}
}

// documentedAnswer is a documented answer: an operation, a status and a code.
type documentedAnswer = contracttest.DocumentedAnswer

// everyAnswer returns the answers that the document has: each operation with each status and each code.
func (c contract) everyAnswer() map[documentedAnswer]bool {
	all := make(map[documentedAnswer]bool)
	for path, item := range c.At("paths") {
		for verb, operation := range item.(node) {
			responses := c.At("paths", path, verb, "responses")
			for status, response := range responses {
				n, _ := strconv.Atoi(status)
				one := documentedAnswer{Operation: operation.(node)["operationId"].(string), Status: n}
				for _, one.Code = range codesOf(c.Follow(contracttest.SchemaOf(c.Follow(response.(node))))) {
					all[one] = true
				}
			}
		}
	}
	return all
}

// codesOf returns the codes that the schema of a refusal names, or one empty code for the schema of a success.
func codesOf(schema node) []ticketing.Code {
	properties, _ := schema["properties"].(node)
	refusal, ok := properties["error"].(node)
	if !ok {
		return []ticketing.Code{""}
	}
	code := refusal["allOf"].([]any)[1].(node)["properties"].(node)["code"].(node)
	names, ok := code["enum"].([]any)
	if !ok {
		names = []any{code["const"]}
	}
	codes := make([]ticketing.Code, len(names))
	for i, name := range names {
		codes[i] = ticketing.Code(name.(string))
	}
	return codes
}

// names returns the strings of a list.
func names(list any) []string {
	items, _ := list.([]any)
	found := make([]string, len(items))
	for i, item := range items {
		found[i] = item.(string)
	}
	return found
}

// Section 9: title and version are what clients check before they use the document.
func TestOpenAPITitleAndVersion(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := theContract(t)
	is.Equal(c.At()["openapi"], "3.1.0")
	is.Equal(c.At("info")["title"], "Service Public API")
	is.Equal(c.At("info")["version"], "1")
	is.Equal(c.At()["servers"].([]any)[0].(node)["url"], httpapi.DefaultPrefix)
	is.Equal(slices.Sorted(maps.Keys(c.At("webhooks"))), []string{
		"balance.low", "commission.accrued", "order.created", "ticket.validated",
	})
}

// The limits and words of the document are those of the code.
func TestOpenAPISaysWhatTheCodeHolds(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := theContract(t)
	number := func(want int, path ...string) {
		t.Helper()
		last := len(path) - 1
		is.Equal(c.At(path[:last]...)[path[last]], json.Number(strconv.Itoa(want)))
	}
	var codes []string
	for _, code := range ticketing.Codes() {
		codes = append(codes, string(code))
	}
	is.Equal(names(c.At("components", "schemas", "ErrorCode")["enum"]), codes)
	number(ticketing.MaxPageLimit, "components", "parameters", "limit", "schema", "maximum")
	number(ticketing.DefaultPageLimit, "components", "parameters", "limit", "schema", "default")
	number(ticketing.MaxTicketCategories, "components", "schemas", "Event", "properties", "ticketCategories", "maxItems")
	number(ticketing.MaxAdmissions, "components", "schemas", "Order", "properties", "lines", "maxItems")
	number(ticketing.MaxAdmissions, "components", "schemas", "CheckoutRequest", "properties", "lines", "maxItems")
	for _, schema := range []string{"EventCreate", "EventUpdate"} {
		number(ticketing.MaxTicketCategories, "components", "schemas", schema, "properties", "ticketCategories", "maxItems")
	}
	is.Equal(c.At("components", "schemas", "BalanceLow", "properties", "data", "properties", "threshold_amount")["const"],
		ticketing.LowBalance.String())
	number(ticketing.MaxTierAdmissions, "components", "schemas", "InventoryTier", "properties", "totalAdmissions",
		"maximum")
	said := c.At("info")["description"].(string)
	is.True(strings.Contains(said,
		fmt.Sprintf("%d requests in %d seconds", httpapi.DefaultRateLimit, int(httpapi.RateWindow.Seconds()))))
	is.True(strings.Contains(said, fmt.Sprintf("%d KiB", httpapi.DefaultMaxBodyBytes>>10)))
	is.True(strings.Contains(c.At("components", "schemas", "MoneyInput")["description"].(string), money.MaxInput.String()))
	categories := c.At("components", "schemas", "Event", "properties", "ticketCategories")["description"].(string)
	for _, preset := range ticketing.PresetCategories() {
		is.True(strings.Contains(categories, "`"+preset+"`"))
	}
}

// The check of answers against the document must find what is wrong with one.
func TestOpenAPICheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	event := d.newEvent(t, "PUBLISHED")
	good := d.call(t, "GET", "/events/"+event, d.key, nil, "")
	refused := d.call(t, "GET", "/events/"+someID, d.key, nil, "")
	text, err := os.ReadFile(openAPIFile)
	is.New(t).NoErr(err)
	for _, test := range []struct {
		name     string
		of       answer
		document []string // of the document, from and to
		body     []string // of the body, from and to
		status   int
		header   [2]string
	}{
		{name: "a member is dropped", of: good, body: []string{`"imageUrl":`, `"image":`}},
		{name: "a member is null", of: good, body: []string{`"title":"`, `"title":null,"x":"`}},
		{name: "a status is another", of: good, status: 201},
		{name: "a header is new", of: good, header: [2]string{"X-New", "1"}},
		{name: "a header is missing", of: good, header: [2]string{"X-Content-Type-Options", ""}},
		{name: "a header says another thing", of: good, header: [2]string{"Cache-Control", "public"}},
		{name: "the code is another", of: refused, body: []string{"NOT_FOUND", "CONFLICT"}},
		{
			name: "details that do not belong", of: refused,
			body: []string{`"message"`, `"details":{"violations":[{"message":"x"}]},"message"`},
		},
		{
			name: "a value is not documented", of: good,
			document: []string{`["DRAFT", "PUBLISHED", "ENDED", "CANCELLED"]`, `["DRAFT", "ENDED", "CANCELLED"]`},
		},
		{
			name: "a member is not documented", of: good,
			document: []string{`"organizerName": {"type": ["string", "null"], "maxLength": 200}`, `"x": {}`},
		},
		{
			name: "a code is not documented", of: refused,
			document: []string{`{"code": {"const": "NOT_FOUND"}}`, `{"code": {"const": "CONFLICT"}}`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			c, a := theContract(t), test.of
			_, err := c.Answered("GET", "/events/"+someID, a.sent())
			is.NoErr(err)
			if test.document != nil {
				changed := strings.ReplaceAll(string(text), test.document[0], test.document[1])
				is.True(changed != string(text))
				read, err := contracttest.Parse(changed)
				is.NoErr(err)
				c = contract{read}
			}
			if test.body != nil {
				a.body = strings.Replace(a.body, test.body[0], test.body[1], 1)
				is.True(a.body != test.of.body)
			}
			if test.status != 0 {
				a.status = test.status
			}
			if test.header[0] != "" {
				a.header = a.header.Clone()
				a.header.Set(test.header[0], test.header[1])
				if test.header[1] == "" {
					a.header.Del(test.header[0])
				}
			}
			_, err = c.Answered("GET", "/events/"+someID, a.sent())
			is.True(err != nil)
		})
	}
}
