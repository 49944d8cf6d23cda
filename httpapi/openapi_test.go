package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/money"
)

const openAPIFile = "openapi.json"

// node is an object of the document.
type node = map[string]any

// contract is openapi.json as the tests read it. The schemas of answers are made strict: to a client a member that it
// does not know is nothing, to a test it is one that the document lacks.
type contract struct {
	root     node
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
}

var published = sync.OnceValues(func() (*contract, error) {
	text, err := os.ReadFile(openAPIFile)
	if err != nil {
		return nil, err
	}
	return readContract(text)
})

func theContract(tb testing.TB) *contract {
	tb.Helper()
	c, err := published()
	is.New(tb).NoErr(err)
	return c
}

func readContract(text []byte) (*contract, error) {
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return nil, err
	}
	c := &contract{root: root.(node), compiler: jsonschema.NewCompiler(), compiled: make(map[string]*jsonschema.Schema)}
	_, told := c.bodiesOf()
	for _, schema := range told {
		makeStrict(schema)
	}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	c.compiler.RegisterFormat(&jsonschema.Format{Name: "email", Validate: checkEmail})
	c.compiler.UseRegexpEngine(compilePattern)
	return c, c.compiler.AddResource(openAPIFile, root)
}

// schemaOf is the schema of an answer's body.
func schemaOf(response node) node {
	return response["content"].(node)["application/json"].(node)["schema"].(node)
}

// makeStrict refuses the members that are not described, in a schema and in what it is made of.
func makeStrict(schema node) {
	properties, ok := schema["properties"].(node)
	if _, said := schema["additionalProperties"]; ok && !said {
		schema["additionalProperties"] = false
	}
	for _, property := range properties {
		makeStrict(property.(node))
	}
	if items, ok := schema["items"].(node); ok {
		makeStrict(items)
	}
	choices, _ := schema["anyOf"].([]any)
	for _, choice := range choices {
		makeStrict(choice.(node))
	}
}

// checkEmail knows an address by its one sign. The library's own format bounds what stands before it, and the contract
// only the whole.
func checkEmail(value any) error {
	if text, ok := value.(string); ok && strings.LastIndexByte(text, '@') < 1 {
		return errors.New("must be an email address")
	}
	return nil
}

// compilePattern compiles a pattern of ECMAScript, whose \s knows the spaces of Unicode, for RE2.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	return regexp.Compile(forRE2(pattern))
}

func forRE2(pattern string) string {
	const spaces = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	return regexp.MustCompile(`\\u([0-9A-F]{4})`).ReplaceAllString(strings.ReplaceAll(pattern, `\s`, spaces), `\x{$1}`)
}

// at goes down by names, and through references.
func (c *contract) at(path ...string) node {
	found := c.root
	for _, name := range path {
		next, ok := found[name].(node)
		if !ok {
			return nil
		}
		found = c.follow(next)
	}
	return found
}

// follow answers what an object refers to, or itself.
func (c *contract) follow(n node) node {
	if reference, ok := n["$ref"].(string); ok && len(n) == 1 {
		return c.at(strings.Split(strings.TrimPrefix(reference, "#/"), "/")...)
	}
	return n
}

// check holds a value against the schema at a place in the document.
func (c *contract) check(value any, path ...string) error {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	pointer := openAPIFile + "#"
	for _, name := range path {
		pointer += "/" + escape.Replace(name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	schema := c.compiled[pointer]
	if schema == nil {
		var err error
		if schema, err = c.compiler.Compile(pointer); err != nil {
			return err
		}
		c.compiled[pointer] = schema
	}
	return schema.Validate(value)
}

// operationOf finds the operation of a request by the path as it was sent, below the prefix; nothing for a path or
// method that is not documented. A HEAD is its GET.
func (c *contract) operationOf(method, path string) (template, verb string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path, _, _ = strings.Cut(path, "?")
	sent := strings.Split(path, "/")
	for template, item := range c.at("paths") {
		parts := strings.Split(template, "/")
		fits := len(parts) == len(sent)
		for i := 0; fits && i < len(parts); i++ {
			fits = parts[i] == sent[i] || strings.HasPrefix(parts[i], "{") && sent[i] != ""
		}
		verb := strings.ToLower(method)
		if _, ok := item.(node)[verb]; fits && ok && verb != method {
			return template, verb
		}
	}
	return "", ""
}

// transport are the headers that HTTP is made of, and that OpenAPI leaves to it.
var transport = []string{"Connection", "Content-Length", "Content-Type", "Date"}

// told is an answer that is documented: of which operation, with which status and, for a refusal, code.
type told struct {
	operation string
	status    int
	code      ticketing.Code
}

// documented holds an answer against the document: status, headers, body and code.
func (c *contract) documented(method, path string, a answer) (told, error) {
	template, verb := c.operationOf(method, path)
	if template == "" {
		return told{}, c.outside(a)
	}
	operation := c.at("paths", template, verb)
	found := told{operation: operation["operationId"].(string), status: a.status}
	status := strconv.Itoa(a.status)
	response := c.at("paths", template, verb, "responses", status)
	if response == nil {
		return found, fmt.Errorf("%s answers %d, which is not documented: %s", found.operation, a.status, a.body)
	}
	where := []string{"paths", template, verb, "responses", status}
	if reference, ok := c.at("paths", template, verb, "responses")[status].(node)["$ref"].(string); ok {
		where = strings.Split(strings.TrimPrefix(reference, "#/"), "/")
	}
	if err := c.headers(response, a.header); err != nil {
		return found, fmt.Errorf("%s %d: %w", found.operation, a.status, err)
	}
	if method == http.MethodHead {
		return found, nil
	}
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	if err == nil {
		err = c.check(body, append(where, "content", "application/json", "schema")...)
	}
	if err != nil {
		return found, fmt.Errorf("%s %d: %w\n%s", found.operation, a.status, err, a.body)
	}
	found.code = a.code()
	if found.code != "" && !c.exemplified(response, body) {
		return found, fmt.Errorf("%s %d has no example of this: %s", found.operation, a.status, a.body)
	}
	return found, nil
}

// exemplified tells whether a refusal is shown: one of the examples of the answer says the same.
func (c *contract) exemplified(response node, body any) bool {
	said := func(refusal any) any { return refusal.(node)["error"].(node)["message"] }
	examples := response["content"].(node)["application/json"].(node)["examples"].(node)
	for _, example := range examples {
		if said(c.follow(example.(node))["value"]) == said(body) {
			return true
		}
	}
	return false
}

// outside holds an answer to a path or method that is not documented: such a request is told so, or is refused before
// anybody looks at where it goes.
func (c *contract) outside(a answer) error {
	switch a.status {
	case http.StatusNotFound, http.StatusTooManyRequests, http.StatusBadRequest:
	default:
		return fmt.Errorf("%d for a path that is not documented", a.status)
	}
	response := map[int]string{404: "EventNotFound", 429: "RateLimited", 400: "InvalidRequest"}[a.status]
	if err := c.headers(c.at("components", "responses", response), a.header); err != nil || a.body == "" { // to HEAD
		return err
	}
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	if err == nil {
		err = c.check(body, "components", "responses", response, "content", "application/json", "schema")
	}
	return err
}

func (c *contract) headers(response node, sent http.Header) error {
	documented, _ := response["headers"].(node)
	for name := range sent {
		if documented[name] == nil && !slices.Contains(transport, name) && name != "Www-Authenticate" {
			return fmt.Errorf("the header %s is not documented", name)
		}
	}
	if sent.Get("Www-Authenticate") != "" && documented["WWW-Authenticate"] == nil {
		return errors.New("the header WWW-Authenticate is not documented")
	}
	for name, header := range documented {
		header := c.follow(header.(node))
		values := sent.Values(name)
		if required, _ := header["required"].(bool); required && len(values) == 0 {
			return fmt.Errorf("the header %s is missing", name)
		}
		for _, text := range values {
			var value any = text
			if schema := header["schema"].(node); schema["type"] == "integer" {
				value = json.Number(text)
			}
			if err := c.check(value, "components", "headers", name, "schema"); err != nil {
				return fmt.Errorf("the header %s: %w", name, err)
			}
		}
	}
	return nil
}

// everyAnswer is what the document says may be told: each operation with each status and each code.
func (c *contract) everyAnswer() map[told]bool {
	all := make(map[told]bool)
	for path, item := range c.at("paths") {
		for verb, operation := range item.(node) {
			responses := c.at("paths", path, verb, "responses")
			for status, response := range responses {
				n, _ := strconv.Atoi(status)
				one := told{operation: operation.(node)["operationId"].(string), status: n}
				for _, one.code = range codesOf(c.follow(schemaOf(c.follow(response.(node))))) {
					all[one] = true
				}
			}
		}
	}
	return all
}

// codesOf are the codes that the schema of a refusal names; one that is empty for the schema of a success.
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

// names are the strings of a list.
func names(list any) []string {
	items, _ := list.([]any)
	found := make([]string, len(items))
	for i, item := range items {
		found[i] = item.(string)
	}
	return found
}

// Section 9: title and version are what clients look at before they use the document.
func TestOpenAPITitleAndVersion(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := theContract(t)
	is.Equal(c.root["openapi"], "3.1.0")
	is.Equal(c.at("info")["title"], "Service Public API")
	is.Equal(c.at("info")["version"], "1")
	is.Equal(c.root["servers"].([]any)[0].(node)["url"], httpapi.DefaultPrefix)
	is.Equal(slices.Sorted(maps.Keys(c.at("webhooks"))), []string{
		"balance.low", "commission.accrued", "order.created", "ticket.validated",
	})
}

// What the document says of limits and words is what the code holds.
func TestOpenAPISaysWhatTheCodeHolds(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := theContract(t)
	number := func(want int, path ...string) {
		t.Helper()
		last := len(path) - 1
		is.Equal(c.at(path[:last]...)[path[last]], json.Number(strconv.Itoa(want)))
	}
	var codes []string
	for _, code := range ticketing.Codes() {
		codes = append(codes, string(code))
	}
	is.Equal(names(c.at("components", "schemas", "ErrorCode")["enum"]), codes)
	number(ticketing.MaxPageLimit, "components", "parameters", "limit", "schema", "maximum")
	number(ticketing.DefaultPageLimit, "components", "parameters", "limit", "schema", "default")
	number(ticketing.MaxTicketCategories, "components", "schemas", "Event", "properties", "ticketCategories", "maxItems")
	number(ticketing.MaxAdmissions, "components", "schemas", "Order", "properties", "lines", "maxItems")
	number(ticketing.MaxAdmissions, "components", "schemas", "CheckoutRequest", "properties", "lines", "maxItems")
	for _, schema := range []string{"EventCreate", "EventUpdate"} {
		number(ticketing.MaxTicketCategories, "components", "schemas", schema, "properties", "ticketCategories", "maxItems")
	}
	is.Equal(c.at("components", "schemas", "BalanceLow", "properties", "data", "properties", "threshold_amount")["const"],
		ticketing.LowBalance.String())
	number(ticketing.MaxTierAdmissions, "components", "schemas", "InventoryTier", "properties", "totalAdmissions", "maximum")
	said := c.at("info")["description"].(string)
	is.True(strings.Contains(said, fmt.Sprintf("%d requests in %d seconds", httpapi.DefaultRateLimit, int(httpapi.RateWindow.Seconds()))))
	is.True(strings.Contains(said, fmt.Sprintf("%d KiB", httpapi.DefaultMaxBodyBytes>>10)))
	is.True(strings.Contains(c.at("components", "schemas", "MoneyInput")["description"].(string), money.MaxInput.String()))
	for _, preset := range ticketing.PresetCategories() {
		is.True(strings.Contains(c.at("components", "schemas", "Event", "properties", "ticketCategories")["description"].(string), "`"+preset+"`"))
	}
}

// A test that holds answers against the document must find what is wrong with one.
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
		{name: "details that do not belong", of: refused, body: []string{`"message"`, `"details":{"violations":[{"message":"x"}]},"message"`}},
		{name: "a value is not documented", of: good, document: []string{`["DRAFT", "PUBLISHED", "ENDED", "CANCELLED"]`, `["DRAFT", "ENDED", "CANCELLED"]`}},
		{name: "a member is not documented", of: good, document: []string{`"organizerName": {"type": ["string", "null"], "maxLength": 200}`, `"x": {}`}},
		{name: "a code is not documented", of: refused, document: []string{`{"code": {"const": "NOT_FOUND"}}`, `{"code": {"const": "CONFLICT"}}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			c, a := theContract(t), test.of
			_, err := c.documented("GET", "/events/"+someID, a)
			is.NoErr(err)
			if test.document != nil {
				changed := strings.ReplaceAll(string(text), test.document[0], test.document[1])
				is.True(changed != string(text))
				c, err = readContract([]byte(changed))
				is.NoErr(err)
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
			_, err = c.documented("GET", "/events/"+someID, a)
			is.True(err != nil)
		})
	}
}
