package contracttest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store/memory"
)

// Node is an object of the document.
type Node = map[string]any

// Contract is openapi.json as tests read it. The schemas of responses are made strict. A client ignores a member that
// it does not know; for a test it is a member that the document lacks. Concurrent tests may use one Contract, and must
// not change it.
type Contract struct {
	root     Node
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
}

// published returns the document as the service serves it.
var published = sync.OnceValues(func() (*Contract, error) {
	svc, err := ticketing.New(memory.New(), nil)
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	httpapi.New(svc, nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, httpapi.DefaultPrefix+"/"+file, http.NoBody))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d", file, w.Code)
	}
	return Parse(w.Body.String())
})

const file = "openapi.json"

// Published returns the contract that the service serves.
func Published() (*Contract, error) { return published() }

// Parse parses a document.
func Parse(text string) (*Contract, error) {
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := &Contract{root: root.(Node), compiler: jsonschema.NewCompiler(), compiled: make(map[string]*jsonschema.Schema)}
	_, told := c.Bodies()
	for _, schema := range told {
		makeStrict(schema)
	}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	c.compiler.RegisterFormat(&jsonschema.Format{Name: "email", Validate: checkEmail})
	c.compiler.UseRegexpEngine(compilePattern)
	return c, c.compiler.AddResource(file, root)
}

// SchemaOf returns the schema of a response's body.
func SchemaOf(response Node) Node {
	return response["content"].(Node)["application/json"].(Node)["schema"].(Node)
}

// makeStrict forbids undescribed members in a schema and in the schemas that it is made of.
func makeStrict(schema Node) {
	properties, ok := schema["properties"].(Node)
	if _, said := schema["additionalProperties"]; ok && !said {
		schema["additionalProperties"] = false
	}
	for _, property := range properties {
		makeStrict(property.(Node))
	}
	if items, ok := schema["items"].(Node); ok {
		makeStrict(items)
	}
	choices, _ := schema["anyOf"].([]any)
	for _, choice := range choices {
		makeStrict(choice.(Node))
	}
}

// checkEmail requires an @ that is not the first character. The library's own format also limits the part before the @,
// while the contract limits only the whole address.
func checkEmail(value any) error {
	if text, ok := value.(string); ok && strings.LastIndexByte(text, '@') < 1 {
		return errors.New("must be an email address")
	}
	return nil
}

func compilePattern(pattern string) (jsonschema.Regexp, error) {
	return regexp.Compile(ForRE2(pattern))
}

// ForRE2 converts a pattern of ECMAScript to RE2. In ECMAScript \s includes the spaces of Unicode.
func ForRE2(pattern string) string {
	const spaces = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	return regexp.MustCompile(`\\u([0-9A-F]{4})`).ReplaceAllString(strings.ReplaceAll(pattern, `\s`, spaces), `\x{$1}`)
}

// At returns the object at a path of names, following references, or nil if there is none.
func (c *Contract) At(path ...string) Node {
	found := c.root
	for _, name := range path {
		next, ok := found[name].(Node)
		if !ok {
			return nil
		}
		found = c.Follow(next)
	}
	return found
}

// Follow returns the object that n refers to, or n itself if it is not a reference.
func (c *Contract) Follow(n Node) Node {
	if reference, ok := n["$ref"].(string); ok && len(n) == 1 {
		return c.At(strings.Split(strings.TrimPrefix(reference, "#/"), "/")...)
	}
	return n
}

// Check validates a value against the schema at a path of the document.
func (c *Contract) Check(value any, path ...string) error {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	escaped := make([]string, len(path))
	for i, name := range path {
		escaped[i] = escape.Replace(name)
	}
	pointer := file + "#/" + strings.Join(escaped, "/")
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

// Bodies returns the schemas of request bodies, and of the response and webhook bodies, by name. Both include the
// schemas that these refer to.
func (c *Contract) Bodies() (sent, told map[string]Node) {
	sent, told = make(map[string]Node), make(map[string]Node)
	for path, item := range c.At("paths") {
		for verb := range item.(Node) {
			if body := c.At("paths", path, verb, "requestBody"); body != nil {
				c.gather(sent, SchemaOf(body))
			}
			for _, response := range c.At("paths", path, verb, "responses") {
				c.gather(told, SchemaOf(c.Follow(response.(Node))))
			}
		}
	}
	for name := range c.At("webhooks") {
		c.gather(told, SchemaOf(c.At("webhooks", name, "post", "requestBody")))
	}
	return sent, told
}

// gather adds the schemas that a schema refers to, directly or indirectly.
func (c *Contract) gather(found map[string]Node, schema Node) {
	if reference, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(reference, "#/components/schemas/")
		if found[name] != nil {
			return
		}
		found[name] = c.At("components", "schemas", name)
		schema = found[name]
	}
	for _, part := range PartsOf(schema) {
		c.gather(found, part)
	}
}

// PartsOf returns the schemas that a schema is made of.
func PartsOf(schema Node) map[string]Node {
	parts := make(map[string]Node)
	properties, _ := schema["properties"].(Node)
	for name, property := range properties {
		parts["."+name] = property.(Node)
	}
	if items, ok := schema["items"].(Node); ok {
		parts["[]"] = items
	}
	for keyword, mark := range map[string]string{"anyOf": "|", "allOf": "&"} {
		choices, _ := schema[keyword].([]any)
		for i, choice := range choices {
			parts[mark+strconv.Itoa(i)] = choice.(Node)
		}
	}
	return parts
}
