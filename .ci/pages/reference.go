package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
)

// reference is the page of openapi.json.
type reference struct {
	Title, Here       string
	Contract, Version string
	Summary           template.HTML
	Overview          []section // the chapters of the description
	Authentication    template.HTML
	Chapters          []chapter
	Codes             []code
	Webhooks          []operationView
}

// section is a part of the description, under a heading.
type section struct {
	ID, Title string
	HTML      template.HTML
}

// chapter has the operations of a tag.
type chapter struct {
	ID, Title  string
	Text       template.HTML
	Objects    []object
	Operations []operationView
}

// object is what operations return.
type object struct {
	ID, Title string
	Text      template.HTML
	Fields    []field
}

type operationView struct {
	ID, Tag, Title, Method, Path string
	Text                         template.HTML
	Grant                        string
	Parameters                   []place
	Body                         []field
	BodyOptional                 bool
	Success                      returns
	Errors                       []refusal
	Samples                      samples
	Example                      *samples // of the response, or of the webhook
}

// place is where parameters are.
type place struct {
	Title  string
	Fields []field
}

type returns struct {
	Status string
	Text   template.HTML
	Object string // the id of the object's section, or empty
	Name   string
}

type refusal struct {
	Status string
	Codes  []string
	Text   template.HTML
}

// code is a code of a refusal, with the messages of the examples.
type code struct {
	Code, Status string
	Examples     []codeExample
}

type codeExample struct{ Summary, Message string }

// objects says which schema of openapi.json is shown in the chapter of which tag.
var objects = []struct{ schema, tag, title string }{
	{"Event", "Events", "The event"}, {"InventoryTier", "Inventory", "The tier"},
	{"PricingQuote", "Sales", "The quote"}, {"Order", "Orders", "The order"},
	{"TicketValidation", "Gate", "The validation"},
}

// verbs are the methods in the order of a chapter.
var verbs = map[string]string{"get": "GET", "post": "POST", "patch": "PATCH", "delete": "DELETE"}

func renderReference(text []byte) ([]byte, error) {
	var c contract
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	page := reference{Title: "API reference", Here: "docs", Contract: c.Info.Title, Version: c.Info.Version}
	var err error
	if page.Summary, err = inline(c.Info.Summary); err != nil {
		return nil, err
	}
	if page.Overview, err = overview(c.Info.Description); err != nil {
		return nil, err
	}
	if page.Authentication, err = markdown(c.Components.SecuritySchemes["apiKey"].Description); err != nil {
		return nil, err
	}
	for _, tag := range c.Tags {
		made := chapter{ID: anchor(tag.Name), Title: tag.Name}
		if made.Text, err = inline(tag.Description); err != nil {
			return nil, err
		}
		for _, o := range objects {
			if o.tag != tag.Name {
				continue
			}
			shown := object{ID: anchor(o.schema) + "-object", Title: o.title}
			if shown.Text, err = inline(c.Components.Schemas[o.schema].Description); err != nil {
				return nil, err
			}
			if shown.Fields, err = c.fields(c.Components.Schemas[o.schema]); err != nil {
				return nil, err
			}
			made.Objects = append(made.Objects, shown)
		}
		for _, paths := range []ordered[ordered[operation]]{c.Paths, c.Webhooks} {
			for _, path := range paths.Names {
				for _, method := range paths.Of[path].Names {
					op := paths.Of[path].Of[method]
					if verbs[method] == "" || !slices.Contains(op.Tags, tag.Name) {
						continue
					}
					view, err := c.view(method, path, op)
					if err != nil {
						return nil, fmt.Errorf("%s %s: %w", method, path, err)
					}
					made.Operations = append(made.Operations, view)
				}
			}
		}
		page.Chapters = append(page.Chapters, made)
	}
	page.Codes = c.codes()
	return execute("reference.html", page)
}

// view is an operation, or a webhook, whose path is the type of its event.
func (c *contract) view(method, path string, op operation) (operationView, error) {
	v := operationView{
		ID: op.OperationID, Tag: op.Tags[0], Title: op.Summary, Method: verbs[method], Path: path, Grant: op.Grant,
	}
	isWebhook := !strings.HasPrefix(path, "/")
	// The grant has a line of its own.
	text := strings.TrimSuffix(op.Description, " Needs the grant `"+op.Grant+"`.")
	var err error
	if v.Text, err = markdown(text); err != nil {
		return v, err
	}
	places := map[string]string{"path": "Path", "query": "Query", "header": "Headers"}
	for _, in := range []string{"path", "query", "header"} {
		shown := place{Title: places[in]}
		for _, p := range op.Parameters {
			if p.Ref != "" {
				p = c.Components.Parameters[named(p.Ref)]
			}
			if p.In != in {
				continue
			}
			one, err := c.field(p.Name, p.Required, p.Schema)
			if err != nil {
				return v, err
			}
			own := one.Text
			if one.Text, err = inline(p.Description); err != nil {
				return v, err
			}
			if p.Description == "" {
				one.Text = own
			}
			if pattern := c.resolve(p.Schema).Pattern; pattern != "" && p.Name == "Idempotency-Key" {
				one.Limits = append(one.Limits, "pattern "+pattern)
			}
			shown.Fields = append(shown.Fields, one)
		}
		if len(shown.Fields) > 0 {
			v.Parameters = append(v.Parameters, shown)
		}
	}
	request := call{id: op.OperationID, method: v.Method, path: path, key: keys[op.OperationID]}
	if op.RequestBody != nil {
		content := op.RequestBody.Content["application/json"]
		if v.Body, err = c.fields(content.Schema); err != nil {
			return v, err
		}
		v.BodyOptional = !op.RequestBody.Required
		value := c.Components.Examples[content.Examples.Names[0]].Value
		if isWebhook {
			v.Example, err = c.exampleOf(content.Examples.Names[0], "Example body")
			return v, err
		}
		if request.body, err = withoutNull(value); err != nil {
			return v, err
		}
	}
	for _, status := range op.Responses.Names {
		if err := c.respond(&v, status, op.Responses.Of[status]); err != nil {
			return v, err
		}
	}
	request.path = strings.NewReplacer(
		"{eventId}", "8d72c79c-55b2-4673-8bed-81895646bf1c", "{orderId}", "61278539-2138-402d-bc4f-df02b19210ea",
		"{admissionId}", "59a28c48-7ce4-448f-af36-7192eefea57e", "{tier}", "VIP",
	).Replace(path) + queries[op.OperationID]
	if object, single := map[string]bool{"event-object": true, "order-object": true}[v.Success.Object]; object && single &&
		!strings.HasPrefix(op.OperationID, "list") {
		request.print = "id"
	}
	v.Samples, err = operationSamples(request)
	return v, err
}

// respond adds a response to an operation.
func (c *contract) respond(v *operationView, status string, r response) error {
	if r.Ref != "" {
		r = c.Components.Responses[named(r.Ref)]
	}
	text, err := inline(r.Description)
	if err != nil {
		return err
	}
	content := r.Content["application/json"]
	number, _ := strconv.Atoi(status)
	if number >= http.StatusBadRequest {
		refused := refusal{Status: status, Text: text}
		for _, name := range content.Examples.Names {
			code, _ := c.refused(name)
			if !slices.Contains(refused.Codes, code) {
				refused.Codes = append(refused.Codes, code)
			}
		}
		v.Errors = append(v.Errors, refused)
		return nil
	}
	v.Success = returns{Status: status, Text: text}
	data := c.resolve(content.Schema).Properties.Of["data"]
	if data != nil && data.Ref == "" && data.Items != nil {
		data = data.Items
	}
	if data != nil && data.Ref != "" {
		for _, o := range objects {
			if o.schema == named(data.Ref) {
				v.Success.Object = anchor(o.schema) + "-object"
				v.Success.Name = strings.ToLower(strings.TrimPrefix(o.title, "The "))
			}
		}
	}
	if len(content.Examples.Names) > 0 {
		v.Example, err = c.exampleOf(content.Examples.Names[0], "Response · "+status)
	}
	return err
}

// exampleOf returns an example of the document as a block.
func (c *contract) exampleOf(name, title string) (*samples, error) {
	made, err := newBlock("json", indented(c.Components.Examples[name].Value, "")+"\n")
	return &samples{ID: "of-" + anchor(name), Title: title, Copy: "the example", Blocks: []block{made}}, err
}

// refused returns the code and the message of an example of a refusal.
func (c *contract) refused(name string) (code, message string) {
	var body struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(c.Components.Examples[name].Value, &body) != nil {
		return "", ""
	}
	return body.Error.Code, body.Error.Message
}

// codes lists the codes of refusals, each with what the examples say.
func (c *contract) codes() []code {
	var all []code
	for _, path := range c.Paths.Names {
		for _, method := range c.Paths.Of[path].Names {
			op := c.Paths.Of[path].Of[method]
			for _, status := range op.Responses.Names {
				r := op.Responses.Of[status]
				if r.Ref != "" {
					r = c.Components.Responses[named(r.Ref)]
				}
				if status < "400" {
					continue
				}
				for _, name := range r.Content["application/json"].Examples.Names {
					of, message := c.refused(name)
					at := slices.IndexFunc(all, func(one code) bool { return one.Code == of && one.Status == status })
					if at < 0 {
						at = len(all)
						all = append(all, code{Code: of, Status: status})
					}
					shown := codeExample{c.Components.Examples[name].Summary, message}
					if !slices.Contains(all[at].Examples, shown) {
						all[at].Examples = append(all[at].Examples, shown)
					}
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b code) int { return strings.Compare(a.Status, b.Status) })
	return all
}

// strong matches what is strong in Markdown.
var strong = regexp.MustCompile(`\*\*(.+?)\*\*`)

// overview makes sections of the paragraphs of a description. One that begins in bold is headed by that.
func overview(text string) ([]section, error) {
	all := []section{{ID: "introduction", Title: "Introduction"}}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if bold := strong.FindStringSubmatchIndex(paragraph); bold != nil && bold[0] == 0 {
			title := strings.TrimSuffix(paragraph[bold[2]:bold[3]], ".")
			if strings.HasSuffix(paragraph[bold[2]:bold[3]], ".") {
				paragraph = strings.TrimSpace(paragraph[bold[1]:])
			} else {
				var names []string
				for _, found := range strong.FindAllStringSubmatch(paragraph, -1) {
					names = append(names, strings.ToLower(found[1]))
				}
				title = strings.Join(names, ", ")
				title = strings.ToUpper(title[:1]) + title[1:]
			}
			all = append(all, section{ID: anchor(title), Title: title})
		}
		made, err := markdown(paragraph)
		if err != nil {
			return nil, err
		}
		all[len(all)-1].HTML += made
	}
	return all, nil
}

func anchor(title string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(title), "-"), "-")
}

// markdown renders paragraphs. Raw HTML is left out, as goldmark does by default.
func markdown(text string) (template.HTML, error) {
	var out bytes.Buffer
	err := goldmark.Convert([]byte(text), &out)
	return template.HTML(out.String()), err
}

// inline renders one paragraph without its element.
func inline(text string) (template.HTML, error) {
	made, err := markdown(text)
	return template.HTML(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(made)), "<p>"), "</p>")), err
}
