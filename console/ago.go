package console

import (
	"fmt"
	"html/template"
	"time"
)

// agoFunc returns the function of the templates that shows how long ago something was, with the moment below it. A time
// in the future, or a week or more ago, is shown as the moment alone.
func agoFunc(clock func() time.Time) func(any) template.HTML {
	return func(value any) template.HTML {
		return showAgo(value, clock(), shownZone())
	}
}

// showAgo returns how long before now a time was, with the moment in a zone below it.
func showAgo(value any, now time.Time, zone *time.Location) template.HTML {
	at, moment := timeOf(value), showMoment(value, zone)
	words := formatAgo(at, now)
	if words == "" {
		return moment
	}
	const when = `<span class="when"><span data-ago="%s">%s</span> <span class="fine">%s</span></span>`
	//nolint:gosec // The words hold no markup.
	return template.HTML(fmt.Sprintf(when, at.UTC().Format(time.RFC3339), words, moment))
}

// formatAgo returns how long before now a time was, such as "3 min ago", and "" where only the moment is shown. The
// script of the pages has the same rule, and updates the words while a page is open.
func formatAgo(at, now time.Time) string {
	const day = 24 * time.Hour
	switch past := now.Sub(at); {
	case at.IsZero(), past < 0, past >= 7*day:
		return ""
	case past < time.Minute:
		return "Just now"
	case past < time.Hour:
		return fmt.Sprintf("%d min ago", past/time.Minute)
	case past < day:
		return formatPlural(int(past/time.Hour), "hour", "hours") + " ago"
	default:
		return formatPlural(int(past/day), "day", "days") + " ago"
	}
}
