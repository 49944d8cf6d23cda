package console

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// difference is a member of a subject before and after an action. A side that was absent has no values.
type difference struct {
	Name          string
	Before, After []shownValue
}

// shownValue is a value of the log as a person reads it. One of text, time and id is set.
type shownValue struct {
	Text string
	At   *time.Time
	ID   string
}

// Differences returns the members that changed, by name. The members of an object are listed one by one.
func (a shownAct) Differences() []difference {
	var changed map[string]struct{ Before, After json.RawMessage }
	if json.Unmarshal(a.Changes, &changed) != nil {
		return nil
	}
	var all []difference
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		before, after := membersOf(changed[name].Before), membersOf(changed[name].After)
		if before == nil && after == nil {
			all = append(all, newDifference(name, name, changed[name].Before, changed[name].After))
			continue
		}
		members := maps.Clone(before)
		if members == nil {
			members = map[string]json.RawMessage{}
		}
		maps.Copy(members, after)
		for _, member := range slices.Sorted(maps.Keys(members)) {
			if string(before[member]) != string(after[member]) {
				all = append(all, newDifference(name+"."+member, member, before[member], after[member]))
			}
		}
	}
	return all
}

// OnlyAfter reports whether nothing was there before, so that the page needs no column for it.
func (a shownAct) OnlyAfter() bool {
	return !slices.ContainsFunc(a.Differences(), func(one difference) bool { return len(one.Before) > 0 })
}

// membersOf returns the members of a JSON object, and nil for any other value. An amount is one value.
func membersOf(value json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || members["currency"] != nil && members["amount"] != nil {
		return nil
	}
	return members
}

func newDifference(path, name string, before, after json.RawMessage) difference {
	return difference{memberName(path), shownValues(name, before), shownValues(name, after)}
}

// memberName returns the words of a member such as "case.unitPrice": "Case: unit price".
func memberName(path string) string {
	known := map[string]string{
		"url": "URL", "logoUrl": "Logo", "kyb": "Verification", "float": "Float", "earnings": "Earnings",
		"bankAccountLast4": "Last digits of the account", "staffRole": "Role", "copy": "Copy number",
		"elsewhere": "To another address", "facts": "Changed fields", "imageUrl": "Picture",
		"startsAt": "Start time", "endsAt": "End time",
		"primaryColor": "Primary colour", "accentColor": "Accent colour",
	}
	parts := strings.Split(path, ".")
	for i, part := range parts {
		if parts[i] = known[part]; parts[i] == "" {
			parts[i] = formatWords(splitWords(part))
		}
		if i > 0 && known[part] == "" {
			parts[i] = strings.ToLower(parts[i])
		}
	}
	return strings.Join(parts, ": ")
}

// splitWords separates the words of a name such as "unitPrice".
func splitWords(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.TrimSuffix(b.String(), " Id")
}

// shownValues returns a JSON value as a person reads it: the items of a list, and nothing for null.
func shownValues(name string, value json.RawMessage) []shownValue {
	var items []json.RawMessage
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	if json.Unmarshal(value, &items) != nil {
		return []shownValue{shownValueOf(name, value)}
	}
	values := make([]shownValue, len(items))
	for i, item := range items {
		values[i] = shownValueOf(name, item)
	}
	return values
}

// shownValueOf returns one value. Its kind follows from its form, and for words also from its name.
func shownValueOf(name string, value json.RawMessage) shownValue {
	var amount money.Amount
	if json.Unmarshal(value, &amount) == nil {
		return shownValue{Text: formatMoney(amount)}
	}
	text := ""
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	switch text {
	case "true":
		return shownValue{Text: "Yes"}
	case "false":
		return shownValue{Text: "No"}
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return shownValue{At: &at}
	}
	if id, err := ticketing.ParseID(text); err == nil && id != uuid.Nil {
		return shownValue{ID: text}
	}
	switch name {
	case "facts":
		return shownValue{Text: memberName(text)}
	case "case", "status", "role", "staffRole", "unit", "method", "verification", "floatStatus", "earningsStatus",
		"wallet":
		return shownValue{Text: formatWords(text)}
	}
	return shownValue{Text: text}
}
