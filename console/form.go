package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/floatgate/ticketing"
)

// refused is what a refused act leaves for its page: the reason with what was typed, or a template to show.
type refused struct {
	action     string
	values     url.Values
	violations map[string]string // by the path of the member
	refusal    *ticketing.Error
	template   string
}

func newRefused(action string, values url.Values, refusal *ticketing.Error) *refused {
	r := &refused{action: action, values: values, refusal: refusal, violations: map[string]string{}}
	for _, violation := range refusal.Violations {
		member, text, ok := strings.Cut(violation.Message, ": ")
		if !ok {
			member, text = "", violation.Message
		}
		if r.violations[member] == "" {
			r.violations[member] = text
		}
	}
	return r
}

// form is the form of an act on a page.
type form struct {
	Action string
	Recent bool // the person will be asked to confirm

	refused *refused
}

// Refused reports whether this form was refused, so that the element around it can be open.
func (f *form) Refused() bool { return f.refused != nil && f.refused.refusal != nil }

// Message returns why the form was refused, except for what its fields show.
func (f *form) Message() string {
	if !f.Refused() {
		return ""
	}
	return f.refused.refusal.Message
}

// field is a field of a form.
type field struct {
	Name, Label, ID, Type, Value, Hint, Violation string
	Required                                      bool
	Autocomplete, Mode, Placeholder, Pattern      string
	Max                                           string // of the length
	Options                                       []option
}

// option is a choice of a field.
type option struct {
	Value, Label string
	Chosen       bool
}

// chosen returns the label of the option that is chosen.
func (f field) chosen() string {
	for _, one := range f.Options {
		if one.Chosen {
			return one.Label
		}
	}
	return ""
}

// Field returns a field. The options are "required", "type=email", "value=…", "hint=…", "autocomplete=…", "mode=…",
// "placeholder=…", "max=…" and any number of "option=VALUE:Label". A form that was refused has what was typed.
func (f *form) Field(name, label string, options ...string) field {
	shown := field{
		Name: name, Label: label, Type: "text", ID: "f-" + idOf(f.Action) + "-" + idOf(name), Autocomplete: "off",
	}
	for _, one := range options {
		key, value, _ := strings.Cut(one, "=")
		switch key {
		case "required":
			shown.Required = true
		case "type":
			shown.Type = value
		case "value":
			shown.Value = value
		case "hint":
			shown.Hint = value
		case "autocomplete":
			shown.Autocomplete = value
		case "mode":
			shown.Mode = value
		case "placeholder":
			shown.Placeholder = value
		case "max":
			shown.Max = value
		case "option":
			choice, text, named := strings.Cut(value, ":")
			if !named {
				text = choice
			}
			shown.Options = append(shown.Options, option{Value: choice, Label: text})
		default:
			panic("console: a template gives a field the unknown option " + key)
		}
	}
	chosen := []string{shown.Value}
	if strings.Contains(shown.Value, ",") && len(shown.Options) > 0 {
		chosen = strings.Split(shown.Value, ",")
	}
	if f.Refused() {
		shown.Value = f.refused.values.Get(name)
		chosen = f.refused.values[name]
		shown.Violation = f.refused.violations[name]
	}
	for i := range shown.Options {
		shown.Options[i].Chosen = slices.Contains(chosen, shown.Options[i].Value)
	}
	return shown
}

// Checked reports whether a box is checked: as it was posted, or else as given.
func (f *form) Checked(name string, is bool) bool {
	if f.Refused() {
		return f.refused.values.Get(name) != ""
	}
	return is
}

// idOf returns a text as a part of an id.
func idOf(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text), "-")
}

// textOf returns a value of a template as a text.
func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return fmt.Sprint(value)
}
