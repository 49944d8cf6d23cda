package ticketing

import (
	"slices"
	"strings"

	"github.com/floatgate/ticketing/driver"
)

// MaxTicketCategories is the most ticket categories of an event, including the presets (section 2.4).
const MaxTicketCategories = 50

// maxTierName is the most characters of a category name (section 2.4).
const maxTierName = 60

// PresetCategories returns the ticket categories that every event has (section 2.4), in the order of the contract. The
// caller may change the result.
func PresetCategories() []string {
	return []string{"GENERAL_ADMISSION", "VIP", "VVIP", "EARLY_BIRD", "REGULAR", "STUDENT"}
}

// reservedCategories returns the names that no category may have, compared exactly. Most are the property names of a
// JavaScript object, which would break clients that keep tiers in one. The other two are path segments that the URL
// library of a client removes: a DELETE of the tier ".." would become a DELETE of its event.
func reservedCategories() []string {
	return []string{
		"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
		"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "prototype", "toLocaleString", "toString",
		"valueOf", ".", "..",
	}
}

// checkCategories normalises custom category names. Their number is checked by addCategories, which knows those that
// the event has already. A name that appears twice is no error: addCategories adds it once.
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

// addCategories adds custom names to those of an event. A name that equals one of them, or a preset, without regard to
// case adds nothing: the existing spelling stays the one to use. Names are never removed, so that earlier tickets and
// orders keep their category. The result has only the custom names, since the presets are not kept with an event.
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

// ticketCategoriesOf returns the complete list of the event: the presets, then the custom names in the order in which
// they were added.
func ticketCategoriesOf(e driver.Event) []string {
	return append(PresetCategories(), e.TicketCategories...)
}
