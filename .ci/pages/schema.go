package main

import (
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// contract is what the reference shows of openapi.json.
type contract struct {
	Info struct{ Title, Version, Summary, Description string }
	Tags []struct{ Name, Description string }

	Paths      ordered[ordered[operation]]
	Webhooks   ordered[ordered[operation]]
	Components struct {
		Schemas         map[string]*schema
		Parameters      map[string]parameter
		Responses       map[string]response
		Examples        map[string]example
		SecuritySchemes map[string]struct{ Description string }
	}
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Grant                             string `json:"x-grant"`
	Parameters                        []parameter
	RequestBody                       *struct {
		Required bool
		Content  map[string]media
	}
	Responses ordered[response]
}

type parameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *schema
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]media
}

type media struct {
	Schema   *schema
	Examples ordered[struct {
		Ref string `json:"$ref"`
	}]
}

type example struct {
	Summary string
	Value   json.RawMessage
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 texts
	Format, Pattern      string
	Description          string
	Enum                 []string
	Const, Default       any
	Required             []string
	Properties           ordered[*schema]
	Items                *schema
	AnyOf                []*schema
	Minimum, Maximum     *json.Number
	MinLength, MaxLength *json.Number
	MinItems, MaxItems   *json.Number
}

// texts is a text or a list of texts.
type texts []string

func (t *texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// ordered is an object of JSON in the order of its members.
type ordered[T any] struct {
	Names []string
	Of    map[string]T
}

func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	o.Of = map[string]T{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var value T
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		o.Names = append(o.Names, name.(string))
		o.Of[name.(string)] = value
	}
	return nil
}

// named returns the last segment of a reference.
func named(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// resolve follows a reference. What stands beside it counts before what it leads to.
func (c *contract) resolve(s *schema) *schema {
	if s == nil || s.Ref == "" {
		return s
	}
	found := *c.resolve(c.Components.Schemas[named(s.Ref)])
	if s.Description != "" {
		found.Description = s.Description
	}
	return &found
}

// field is a member of an object, or a parameter, as the page shows it.
type field struct {
	Name, Type string
	Required   bool
	Text       template.HTML
	Limits     []string
	Enum       []string
	Of         string // what the members below are of
	Fields     []field
}

// fields returns the members of an object.
func (c *contract) fields(s *schema) ([]field, error) {
	s = c.resolve(s)
	var all []field
	for _, name := range s.Properties.Names {
		one, err := c.field(name, slices.Contains(s.Required, name), s.Properties.Of[name])
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (c *contract) field(name string, required bool, s *schema) (field, error) {
	kind, inner, limits := c.describe(s)
	full := c.resolve(s)
	text, err := inline(full.Description)
	if err != nil {
		return field{}, err
	}
	made := field{Name: name, Type: kind, Required: required, Text: text, Limits: limits, Enum: full.Enum}
	if inner != nil {
		made.Of = name
		if made.Fields, err = c.fields(inner); err != nil {
			return field{}, err
		}
		if full.Description == "" && inner.Description != "" {
			made.Text, err = inline(inner.Description)
		}
		if len(made.Fields) == 2 && made.Fields[0].Name == "amount" && made.Fields[1].Name == "currency" {
			made.Type, made.Of, made.Fields = strings.Replace(kind, "object", "money", 1), "", nil
			if made.Text == "An amount." {
				made.Text = ""
			}
		}
	}
	return made, err
}

// describe returns the type of a schema in words, the object in it, if any, and its limits.
func (c *contract) describe(s *schema) (kind string, inner *schema, limits []string) {
	s = c.resolve(s)
	if len(s.AnyOf) > 0 {
		kinds := []string{}
		for _, one := range s.AnyOf {
			k, in, l := c.describe(one)
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
			if in != nil {
				inner = in
			}
			limits = append(limits, l...)
		}
		return strings.Join(kinds, " or "), inner, limits
	}
	kind = strings.Join(s.Type, " or ")
	switch {
	case s.Const != nil:
		return fmt.Sprintf("%q", s.Const), nil, nil
	case slices.Contains(s.Type, "object"):
		inner = s
	case slices.Contains(s.Type, "array"):
		of, in, _ := c.describe(s.Items)
		kind, inner = "array of "+of+"s", in
	case s.Format == "uuid":
		kind = strings.Replace(kind, "string", "UUID", 1)
	case s.Format != "" && s.Format != "uri":
		kind = strings.Replace(kind, "string", s.Format, 1)
	}
	between := func(least, most *json.Number, unit string) {
		switch {
		case least != nil && most != nil:
			limits = append(limits, fmt.Sprintf("%s to %s%s", grouped(*least), grouped(*most), unit))
		case most != nil:
			limits = append(limits, fmt.Sprintf("at most %s%s", grouped(*most), unit))
		case least != nil:
			limits = append(limits, fmt.Sprintf("at least %s%s", grouped(*least), unit))
		}
	}
	between(s.Minimum, s.Maximum, "")
	between(s.MinLength, s.MaxLength, " characters")
	between(s.MinItems, s.MaxItems, " items")
	if s.Default != nil {
		limits = append(limits, fmt.Sprintf("default %v", s.Default))
	}
	return kind, inner, limits
}

// grouped writes a whole number with commas.
func grouped(n json.Number) string {
	text := n.String()
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
