package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
	"github.com/floatgate/ticketing/money"
)

// maxBody is the size of the largest body that is read, in bytes.
const maxBody = 256 << 10

// members reads the members of an act: those of a JSON object, or the fields of a form. Every member must be read, and
// all violations are collected. It checks only the form of members; the service checks their meaning.
//
// A form sends every field that is on it. So an empty field means the empty text for a text, and an absent member
// otherwise. A field whose name begins with "_" is the console's own.
type members struct {
	reader *strictjson.Reader
	object *strictjson.Object // nil for a form
	form   url.Values
	known  map[string]bool // of the form's fields: those that were read
}

// jsonMembers reads the body of a request as one JSON object. A body may be left out.
func jsonMembers(w http.ResponseWriter, r *http.Request) *members {
	reader := new(strictjson.Reader)
	return &members{reader: reader, object: reader.Body(w, r, maxBody, true)}
}

// formMembers reads the fields of a form.
func formMembers(form url.Values) *members {
	return &members{reader: new(strictjson.Reader), form: form, known: map[string]bool{}}
}

// violations returns what is wrong with the members, after all of them were read.
func (m *members) violations() []ticketing.Violation {
	if m.object == nil {
		var unknown []string
		for name := range m.form {
			if !m.known[name] && !strings.HasPrefix(name, "_") {
				unknown = append(unknown, name)
			}
		}
		slices.Sort(unknown)
		for _, name := range unknown {
			m.reader.Refuse(strictjson.Shortened(name), "is not a known member")
		}
	}
	texts := m.reader.Violations()
	violations := make([]ticketing.Violation, len(texts))
	for i, text := range texts {
		violations[i].Message = text
	}
	return violations
}

// field returns the value of a form's field, with its line breaks as LF.
func (m *members) field(name string) (value string, sent bool) {
	m.known[name] = true
	values := m.form[name]
	if len(values) == 0 {
		return "", false
	}
	if len(values) > 1 {
		m.reader.Refuse(name, "must be there once")
	}
	return m.clean(name, values[0]), true
}

func (m *members) clean(name, value string) string {
	if strings.ContainsRune(value, 0) {
		m.reader.Refuse(name, "must not contain U+0000")
	}
	if value != strings.ToValidUTF8(value, "") {
		m.reader.Refuse(name, "must be in UTF-8")
	}
	return strings.ReplaceAll(value, "\r\n", "\n")
}

// text reads a text that is required.
func (m *members) text(name string) string {
	if m.object != nil {
		return strictjson.Required(m.object, name, strictjson.Text)
	}
	value, sent := m.field(name)
	if !sent {
		m.reader.Refuse(name, "is required")
	}
	return value
}

// optionalText reads a text that may be absent.
func (m *members) optionalText(name string) string {
	if m.object != nil {
		return strictjson.Optional(m.object, name, strictjson.Text)
	}
	value, _ := m.field(name)
	return value
}

// changedText reads a text of a change: nil if it is absent, so that the value stays as it is.
func (m *members) changedText(name string) *string {
	if m.object != nil {
		return strictjson.Changed(m.object, name, strictjson.Text)
	}
	value, sent := m.field(name)
	if !sent {
		return nil
	}
	return &value
}

// texts reads a list of texts: a JSON list, or the checked boxes of one name.
func (m *members) texts(name string) []string {
	if m.object != nil {
		return strictjson.Required(m.object, name, strictjson.Items(strictjson.Text))
	}
	m.known[name] = true
	values := slices.Clone(m.form[name])
	for i := range values {
		values[i] = m.clean(name, values[i])
	}
	return values
}

// enum reads a value of an enumeration. The service checks the value.
func enum[T ~string](m *members, name string) T { return T(m.text(name)) }

// optionalEnum reads a value of an enumeration that may be absent.
func optionalEnum[T ~string](m *members, name string) T { return T(m.optionalText(name)) }

// enums reads a list of values of an enumeration.
func enums[T ~string](m *members, name string) []T {
	texts := m.texts(name)
	values := make([]T, len(texts))
	for i, text := range texts {
		values[i] = T(text)
	}
	return values
}

// parsed reads a required text and parses it. The error of parse is fit for the person.
func parsed[T any](m *members, name string, parse func(string) (T, error)) T {
	if m.object != nil {
		return strictjson.Required(m.object, name, func(at strictjson.Place, value jsontext.Value) T {
			return strictjson.ParseString(at, value, parse)
		})
	}
	value, sent := parsedField(m, name, parse)
	if !sent {
		m.reader.Refuse(name, "is required")
	}
	return value
}

// optionalParsed reads a text that may be absent, and parses it.
func optionalParsed[T any](m *members, name string, parse func(string) (T, error)) (value T, sent bool) {
	if m.object == nil {
		return parsedField(m, name, parse)
	}
	value = strictjson.Optional(m.object, name, func(at strictjson.Place, raw jsontext.Value) T {
		sent = true
		return strictjson.ParseString(at, raw, parse)
	})
	return value, sent
}

func parsedField[T any](m *members, name string, parse func(string) (T, error)) (value T, sent bool) {
	text, _ := m.field(name)
	if text = strings.TrimSpace(text); text == "" {
		return value, false
	}
	value, err := parse(text)
	if err != nil {
		m.reader.Refuse(name, err.Error())
	}
	return value, true
}

// boolean reads a JSON boolean that may be absent, or whether a box is checked.
func (m *members) boolean(name string) bool {
	if m.object != nil {
		return strictjson.Present(m.object, name, strictjson.Boolean)
	}
	value, sent := m.field(name)
	if sent && value != "true" && value != "on" && value != "false" {
		m.reader.Refuse(name, "must be true or false")
	}
	return sent && value != "false"
}

// amount reads an amount of naira, such as "1000.00". In a form it may have a naira sign, commas and spaces.
func (m *members) amount(name string) money.Amount {
	if m.object != nil {
		return parsed(m, name, money.Parse)
	}
	return parsed(m, name, func(text string) (money.Amount, error) {
		return money.Parse(strings.NewReplacer("₦", "", ",", "", " ", "", "\u00a0", "").Replace(text))
	})
}

// time reads a moment that may be absent, which is the zero time.
func (m *members) time(name string) time.Time {
	at, _ := optionalParsed(m, name, m.parseTime)
	return at
}

// parseTime parses a time in RFC 3339. In a form it may also be the value of an input of a date, or of a date and time,
// in the zone of the pages.
func (m *members) parseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err == nil {
		return at.UTC(), nil
	}
	if m.object == nil {
		return parseLocal(text, shownZone())
	}
	return time.Time{}, errors.New("must be a time such as 2026-11-23T14:30:00Z")
}

// parseLocal parses the value of an input of a date, or of a date and time, in a zone.
func parseLocal(text string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("must be a date, such as %s", "2026-11-23")
}

// shownZone returns the zone of times on pages: that of Nigeria, which has no summer time.
func shownZone() *time.Location { return time.FixedZone("WAT", 60*60) }
