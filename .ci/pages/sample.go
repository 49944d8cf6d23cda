package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// call is the request that the samples of an operation make.
type call struct {
	id, method, path string // the path with its query
	key              string // the idempotency key; empty: the operation takes none
	body             json.RawMessage
	print            string // what the samples print of the data: "id", or "" for all of it
}

// keys are the idempotency keys of the samples.
var keys = map[string]string{
	"createEvent": "event-1001", "createInventory": "stock-1001", "createCheckout": "cart-1001",
	"validateAdmission": "scan-1001",
}

// queries are those of the samples of listings.
var queries = map[string]string{
	"listEvents": "?status=PUBLISHED&limit=25", "listOrders": "?eventId=8d72c79c-55b2-4673-8bed-81895646bf1c&limit=25",
}

// operationSamples returns the samples of a call in the four languages.
func operationSamples(c call) (samples, error) {
	made := samples{ID: "in-" + c.id, Copy: "the sample of " + c.method + " " + c.path, First: "curl"}
	texts := []struct{ language, text string }{
		{"curl", curlSample(c)}, {"go", goSample(c)}, {"ts", scriptSample(c)}, {"python", pythonSample(c)},
	}
	for _, one := range texts {
		block, err := newBlock(one.language, one.text)
		if err != nil {
			return samples{}, fmt.Errorf("%s: %w", c.id, err)
		}
		made.Blocks = append(made.Blocks, block)
	}
	return made, nil
}

func curlSample(c call) string {
	lines := []string{"curl '" + sampleBase + c.path + "'"}
	if c.method != "GET" && (c.method != "POST" || c.body == nil) {
		lines[0] = "curl -X " + c.method + " '" + sampleBase + c.path + "'"
	}
	lines = append(lines, "-H 'Authorization: Bearer "+sampleKey+"'")
	if c.key != "" {
		lines = append(lines, "-H 'Idempotency-Key: "+c.key+"'")
	}
	if c.body != nil {
		lines = append(lines, "-H 'Content-Type: application/json'", "-d '"+indented(c.body, "  ")+"'")
	}
	return strings.Join(lines, " \\\n  ") + "\n"
}

func scriptSample(c call) string {
	var out strings.Builder
	fmt.Fprintf(&out, "const response = await fetch(%q, {\n", sampleBase+c.path)
	if c.method != "GET" {
		fmt.Fprintf(&out, "  method: %q,\n", c.method)
	}
	out.WriteString("  headers: {\n    \"Authorization\": \"Bearer " + sampleKey + "\",\n")
	if c.key != "" {
		fmt.Fprintf(&out, "    \"Idempotency-Key\": %q,\n", c.key)
	}
	if c.body != nil {
		out.WriteString("    \"Content-Type\": \"application/json\",\n")
	}
	out.WriteString("  },\n")
	if c.body != nil {
		out.WriteString("  body: JSON.stringify(" + members.ReplaceAllString(indented(c.body, "  "), "$1$2:") + "),\n")
	}
	out.WriteString("});\nconst { data, error } = await response.json();\n" +
		"if (!response.ok) throw new Error(`${error.code}: ${error.message}`);\nconsole.log(data" + member(c.print) + ");\n")
	return out.String()
}

// members matches the name of a member at the beginning of a line.
var members = regexp.MustCompile(`(?m)^(\s*)"([A-Za-z]+)":`)

// member is how the scripts read a member of the data.
func member(name string) string {
	if name == "" {
		return ""
	}
	return "." + name
}

func pythonSample(c call) string {
	var out strings.Builder
	out.WriteString("import json\nimport urllib.request\n\nrequest = urllib.request.Request(\n")
	fmt.Fprintf(&out, "    %q,\n", sampleBase+c.path)
	if c.method != "GET" {
		fmt.Fprintf(&out, "    method=%q,\n", c.method)
	}
	out.WriteString("    headers={\n        \"Authorization\": \"Bearer " + sampleKey + "\",\n")
	if c.key != "" {
		fmt.Fprintf(&out, "        \"Idempotency-Key\": %q,\n", c.key)
	}
	if c.body != nil {
		out.WriteString("        \"Content-Type\": \"application/json\",\n")
	}
	out.WriteString("    },\n")
	if c.body != nil {
		literal := strings.ReplaceAll(indented(c.body, "    "), "\n  ", "\n    ")
		literal = constants.ReplaceAllStringFunc(literal, func(found string) string {
			return strings.NewReplacer(": true", ": True", ": false", ": False", ": null", ": None").Replace(found)
		})
		out.WriteString("    data=json.dumps(" + literal + ").encode(),\n")
	}
	out.WriteString(")\nwith urllib.request.urlopen(request, timeout=30) as response:\n" +
		"    data = json.load(response)[\"data\"]\nprint(data")
	if c.print != "" {
		out.WriteString("[" + strconv.Quote(c.print) + "]")
	}
	out.WriteString(")\n")
	return out.String()
}

// constants matches a constant of JSON at the end of a line.
var constants = regexp.MustCompile(`(?m): (true|false|null),?$`)

// indented writes JSON over lines, all but the first with a prefix.
func indented(text json.RawMessage, prefix string) string {
	var out bytes.Buffer
	if err := json.Indent(&out, text, prefix, "  "); err != nil {
		panic(err) // It was parsed before.
	}
	return out.String()
}

// withoutNull leaves out the members at the top level that are null: in a request they are the same as absent.
func withoutNull(text json.RawMessage) (json.RawMessage, error) {
	var object ordered[json.RawMessage]
	if len(text) == 0 || text[0] != '{' {
		return text, nil
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	var parts []string
	for _, name := range object.Names {
		value, err := withoutNull(object.Of[name])
		if err != nil {
			return nil, err
		}
		if string(value) != "null" {
			parts = append(parts, strconv.Quote(name)+":"+string(value))
		}
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}"), nil
}
