package ticketing

import (
	"slices"
	"strings"
)

// MaxTicketCategories is how many ticket categories an event may have, the presets among them (section 2.4).
const MaxTicketCategories = 50

const maxTierName = 60

// PresetCategories are the ticket categories that every event has (section 2.4).
func PresetCategories() []string {
	return []string{"GENERAL_ADMISSION", "VIP", "VVIP", "EARLY_BIRD", "REGULAR", "STUDENT"}
}

// reservedCategories are the property names of a JavaScript object, which would break clients that keep tiers in one,
// and the two path segments that a client's URL library takes away: a DELETE of the tier ".." would become a DELETE of
// its event.
func reservedCategories() []string {
	return []string{
		"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
		"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "prototype", "toLocaleString", "toString",
		"valueOf", ".", "..",
	}
}

// checkCategories normalises custom category names; see addCategories for their number.
func checkCategories(v *violations, path string, names []string) []string {
	checked := make([]string, len(names))
	for i, name := range names {
		at := indexed(path, i)
		checked[i] = requiredText(v, at, name, 1, maxTierName)
		if slices.Contains(reservedCategories(), checked[i]) {
			v.add(at, "is a reserved name")
		}
	}
	return checked
}

// addCategories adds custom names to those an event has. A name that equals one of them, or a preset, without regard
// to case adds nothing.
func addCategories(custom, names []string) ([]string, *Error) {
	all := append(PresetCategories(), custom...)
	for _, name := range names {
		if !slices.ContainsFunc(all, func(known string) bool { return strings.EqualFold(known, name) }) {
			all = append(all, name)
		}
		if len(all) > MaxTicketCategories {
			return nil, Invalid(Violation{
				Message: "ticketCategories: an event has at most 50, the six presets among them",
			})
		}
	}
	return all[len(PresetCategories()):], nil
}

// ticketCategories is the complete list of the event: the presets, then the custom names in the order they came.
func (e EventRecord) ticketCategories() []string {
	return append(PresetCategories(), e.TicketCategories...)
}
