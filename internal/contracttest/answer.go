package contracttest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/floatgate/ticketing"
)

// Answer is a response of the API with its complete body.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// String formats a response for a test failure.
func (a Answer) String() string { return fmt.Sprintf("%d %v %.2000q", a.Status, a.Header, a.Body) }

// code returns the error code of a response, or "" for a success.
func (a Answer) code() ticketing.Code {
	var envelope struct{ Error struct{ Code ticketing.Code } }
	_ = json.Unmarshal([]byte(a.Body), &envelope)
	return envelope.Error.Code
}

// Measured checks that the Content-Length of a response, as it came over a connection, is the length of its body.
func (a Answer) Measured(method string) error {
	if method == http.MethodHead || a.Status == http.StatusNotModified {
		return nil
	}
	if is := []string{strconv.Itoa(len(a.Body))}; !slices.Equal(a.Header["Content-Length"], is) {
		return fmt.Errorf("its length is %s, its Content-Length is %q", is[0], a.Header["Content-Length"])
	}
	return nil
}

// OperationOf returns the operation of a request. The path is as it was sent, below the prefix. For an undocumented
// path or method it returns empty strings. A HEAD counts as the GET of its path.
func (c *Contract) OperationOf(method, path string) (template, verb string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if method != strings.ToUpper(method) { // Methods are case-sensitive (RFC 9110).
		return "", ""
	}
	path, _, _ = strings.Cut(path, "?")
	sent := strings.Split(path, "/")
	for template, item := range c.At("paths") {
		parts := strings.Split(template, "/")
		fits := len(parts) == len(sent)
		for i := 0; fits && i < len(parts); i++ {
			fits = parts[i] == sent[i] || strings.HasPrefix(parts[i], "{") && sent[i] != ""
		}
		verb := strings.ToLower(method)
		if _, ok := item.(Node)[verb]; fits && ok {
			return template, verb
		}
	}
	return "", ""
}

// Transmitted returns the headers that belong to HTTP itself and are not described in OpenAPI.
func Transmitted() []string { return []string{"Connection", "Content-Length", "Content-Type", "Date"} }

// DocumentedAnswer is a documented response: its operation, its status and, for a refusal, its code.
type DocumentedAnswer struct {
	Operation string
	Status    int
	Code      ticketing.Code
}

// Answered checks a response against the document: status, headers, body and code.
func (c *Contract) Answered(method, path string, a Answer) (DocumentedAnswer, error) {
	template, verb := c.OperationOf(method, path)
	if template == "" {
		return DocumentedAnswer{}, c.outside(a)
	}
	operation := c.At("paths", template, verb)
	found := DocumentedAnswer{Operation: operation["operationId"].(string), Status: a.Status}
	status := strconv.Itoa(a.Status)
	response := c.At("paths", template, verb, "responses", status)
	if response == nil {
		return found, fmt.Errorf("%s answers %d, which is not documented: %s", found.Operation, a.Status, a.Body)
	}
	where := []string{"paths", template, verb, "responses", status}
	if reference, ok := c.At("paths", template, verb, "responses")[status].(Node)["$ref"].(string); ok {
		where = strings.Split(strings.TrimPrefix(reference, "#/"), "/")
	}
	if err := c.headers(response, a.Header); err != nil {
		return found, fmt.Errorf("%s %d: %w", found.Operation, a.Status, err)
	}
	if method == http.MethodHead {
		return found, nil
	}
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(a.Body))
	if err == nil {
		err = c.Check(body, append(where, "content", "application/json", "schema")...)
	}
	if err != nil {
		return found, fmt.Errorf("%s %d: %w\n%s", found.Operation, a.Status, err, a.Body)
	}
	found.Code = a.code()
	if found.Code != "" && !c.exemplified(response, body) {
		return found, fmt.Errorf("%s %d has no example of this: %s", found.Operation, a.Status, a.Body)
	}
	return found, nil
}

// exemplified reports whether the response's examples in the document include one with the message of a refusal.
func (c *Contract) exemplified(response Node, body any) bool {
	said := func(refusal any) any { return refusal.(Node)["error"].(Node)["message"] }
	examples := response["content"].(Node)["application/json"].(Node)["examples"].(Node)
	for _, example := range examples {
		if said(c.Follow(example.(Node))["value"]) == said(body) {
			return true
		}
	}
	return false
}

// outside checks a response to an undocumented path or method. Such a request gets a 404, or is refused before its path
// is looked at.
func (c *Contract) outside(a Answer) error {
	switch a.Status {
	case http.StatusNotFound, http.StatusTooManyRequests, http.StatusBadRequest:
	default:
		return fmt.Errorf("%d for a path that is not documented", a.Status)
	}
	response := map[int]string{404: "EventNotFound", 429: "RateLimited", 400: "InvalidRequest"}[a.Status]
	if err := c.headers(c.At("components", "responses", response), a.Header); err != nil || a.Body == "" { // of HEAD
		return err
	}
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(a.Body))
	if err == nil {
		err = c.Check(body, "components", "responses", response, "content", "application/json", "schema")
	}
	return err
}

func (c *Contract) headers(response Node, sent http.Header) error {
	documented, _ := response["headers"].(Node)
	for name := range sent {
		if documented[name] == nil && !slices.Contains(Transmitted(), name) && name != "Www-Authenticate" {
			return fmt.Errorf("the header %s is not documented", name)
		}
	}
	if sent.Get("Www-Authenticate") != "" && documented["WWW-Authenticate"] == nil {
		return errors.New("the header WWW-Authenticate is not documented")
	}
	for name, header := range documented {
		header := c.Follow(header.(Node))
		values := sent.Values(name)
		if required, _ := header["required"].(bool); required && len(values) == 0 {
			return fmt.Errorf("the header %s is missing", name)
		}
		for _, text := range values {
			var value any = text
			if schema := header["schema"].(Node); schema["type"] == "integer" {
				value = json.Number(text)
			}
			if err := c.Check(value, "components", "headers", name, "schema"); err != nil {
				return fmt.Errorf("the header %s: %w", name, err)
			}
		}
	}
	return nil
}

// Held checks a response of the API below a prefix, which must not end in a slash. It checks what holds for every
// response and, if documented is true, what the document says about this one.
func Held(prefix string, r *http.Request, a Answer, documented bool) error {
	path := "" // as it was sent; empty if it is not below the prefix
	if r.URL != nil {
		if rest, below := strings.CutPrefix(cmp.Or(r.URL.RawPath, r.URL.EscapedPath()), prefix); below {
			path = rest
		}
	}
	if isDocument(path) && (a.Status == http.StatusOK || a.Status == http.StatusNotModified) {
		return a.document()
	}
	if err := a.whole(r.Method); err != nil || !documented {
		return err
	}
	c, err := Published()
	if err == nil {
		_, err = c.Answered(r.Method, path, a)
	}
	return err
}

// isDocument reports whether a path below the prefix belongs to the contract's documents or to what their pages load.
func isDocument(path string) bool {
	return path == "/openapi.json" || slices.Contains([]string{"docs", "guide"}, strings.Split(path+"/", "/")[1])
}

// document checks the headers that all responses with a document have.
func (a Answer) document() error {
	for name, want := range map[string]string{
		"Cache-Control": "public, no-cache", "Referrer-Policy": "no-referrer", "Vary": "Accept-Encoding",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
	} {
		if !slices.Equal(a.Header[name], []string{want}) {
			return fmt.Errorf("%s is %q", name, a.Header[name])
		}
	}
	if len(a.Header["Etag"]) != 1 || len(a.Header["X-Request-Id"]) != 1 || a.Header["Set-Cookie"] != nil {
		return errors.New("its headers are not those of a document")
	}
	return nil
}

// whole checks what holds for every response other than a document.
func (a Answer) whole(method string) error {
	for name, want := range map[string]string{
		"Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if !slices.Equal(a.Header[name], []string{want}) {
			return fmt.Errorf("%s is %q", name, a.Header[name])
		}
	}
	switch {
	case len(a.Header["X-Request-Id"]) != 1:
		return fmt.Errorf("X-Request-Id is %q", a.Header["X-Request-Id"])
	case (a.Header["Www-Authenticate"] != nil) != (a.Status == http.StatusUnauthorized):
		return fmt.Errorf("WWW-Authenticate is %q", a.Header["Www-Authenticate"])
	case method == http.MethodHead && a.Body != "":
		return errors.New("HEAD has a body")
	case method == http.MethodHead:
		return nil
	}
	var envelope struct {
		Data, Error json.RawMessage
		Meta        struct{ RequestID string }
	}
	if err := json.Unmarshal([]byte(a.Body), &envelope); err != nil {
		return err
	}
	switch {
	case envelope.Meta.RequestID != a.Header.Get("X-Request-Id"):
		return errors.New("meta.requestId is not X-Request-Id")
	case (envelope.Error == nil) != (a.Status < 400), (envelope.Data == nil) != (a.Status >= 400):
		return errors.New("data is for a success and error for a refusal")
	}
	return nil
}
