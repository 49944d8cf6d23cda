package console

import (
	"slices"

	"github.com/floatgate/ticketing"
)

// formatTier returns the name of a ticket category as a person reads it: a preset in words, such as "Early bird", and
// any other as the company wrote it.
func formatTier(value any) string {
	name := textOf(value)
	if name == "VIP" || name == "VVIP" || !slices.Contains(ticketing.PresetCategories(), name) {
		return name
	}
	return formatWords(name)
}

// EmptyCategories returns the ticket categories of the event that have no tickets yet.
func (d eventDetail) EmptyCategories() []string {
	return slices.DeleteFunc(slices.Clone(d.Event.TicketCategories), func(name string) bool {
		return slices.ContainsFunc(d.Tiers, func(tier ticketing.TierStock) bool { return tier.Tier == name })
	})
}
