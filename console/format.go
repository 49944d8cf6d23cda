package console

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// functions are those of the templates of a console.
func functions(clock func() time.Time, title string) template.FuncMap {
	return template.FuncMap{
		"money": formatMoney, "date": formatDate, "moment": formatMoment, "badge": newBadge, "words": formatWords,
		"short": formatShort, "plural": formatPlural, "local": formatLocal, "dict": dict, "percent": formatRate,
		"json": formatJSON, "cut": cut, "browser": formatBrowser, "ago": agoFunc(clock),
		"schedule": formatSchedule, "count": formatCount, "wallets": formatWallets, "violation": formatViolation,
		"action": formatAction, "tier": formatTier, "brand": func() string { return title },
		"file": fileAddress, "bar": barAddress, "icon": icon,
	}
}

// dict returns a map of pairs, for a template that takes several values.
func dict(pairs ...any) map[string]any {
	all := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[textOf(pairs[i])] = pairs[i+1]
	}
	return all
}

// formatWallets returns a text of the service with the names that wallets have on pages.
func formatWallets(text string) string {
	return strings.NewReplacer("FLOAT", "Float", "EARNINGS", "Earnings").Replace(text)
}

// formatViolation returns a violation such as "endsAt: must be later" with the words of its member: "End time: must be
// later".
func formatViolation(text string) string {
	if member, reason, ok := strings.Cut(text, ": "); ok && !strings.Contains(member, " ") {
		text = memberName(member) + ": " + reason
	}
	return formatWallets(text)
}

// formatMoney returns an amount such as "₦1,234.50".
func formatMoney(amount money.Amount) string {
	text := amount.String()
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return sign + "₦" + b.String() + "." + fraction
}

// formatRate returns a rate such as "2.5 %" or "₦100.00 a ticket".
func formatRate(rate money.Rate) string {
	return rate.Value() + " " + string(rate.Unit())
}

// timeOf returns the time of a value of a template, and the zero time for nil.
func timeOf(value any) time.Time {
	switch at := value.(type) {
	case time.Time:
		return at
	case ticketing.Time:
		return at.Time
	case *ticketing.Time:
		if at != nil {
			return at.Time
		}
	case *time.Time:
		if at != nil {
			return *at
		}
	}
	return time.Time{}
}

// formatDate returns the HTML of a day, such as "23 Nov 2026".
func formatDate(value any) template.HTML {
	return timeElement(timeOf(value), "2 Jan 2006", shownZone())
}

// formatMoment returns the HTML of a moment, such as "23 Nov 2026, 14:30".
func formatMoment(value any) template.HTML { return showMoment(value, shownZone()) }

// showMoment returns the HTML of a moment in a zone.
func showMoment(value any, zone *time.Location) template.HTML {
	return timeElement(timeOf(value), "2 Jan 2006, 15:04", zone)
}

// timeElement returns the HTML element of a time in a zone. The zero time is a dash.
func timeElement(at time.Time, layout string, zone *time.Location) template.HTML {
	if at.IsZero() {
		return `<span class="none">–</span>`
	}
	local := at.In(zone)
	//nolint:gosec // The layouts of a time hold no HTML.
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, at.UTC().Format(time.RFC3339),
		local.Format("Monday, 2 January 2006, 15:04:05 MST"), local.Format(layout)))
}

// formatLocal returns a time as the value of an input of a date and time, in the zone that the pages show.
func formatLocal(value any) string {
	at := timeOf(value)
	if at.IsZero() {
		return ""
	}
	return at.In(shownZone()).Format("2006-01-02T15:04")
}

// formatWords returns the words of a name such as "RATE_LIMITED": "Rate limited".
func formatWords(value any) string {
	if value == ticketing.SignInOIDC {
		return "OpenID Connect"
	}
	text := strings.ToLower(strings.NewReplacer("_", " ", ".", " ").Replace(textOf(value)))
	if text == "" {
		return "–"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// formatShort returns the beginning of an id.
func formatShort(value any) string {
	text := textOf(value)
	if len(text) > 8 {
		return text[:8]
	}
	return text
}

// formatPlural returns "1 key" or "2 keys".
func formatPlural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// formatJSON returns a value as indented JSON, as text.
func formatJSON(value any) (string, error) {
	text, err := encodeIndented(value)
	return string(text), err
}

// badge is a state with its colour.
type badge struct{ Text, Tone string }

// newBadge returns the badge of a state.
func newBadge(value any) badge {
	state := textOf(value)
	tone := "quiet"
	switch state {
	case "ACTIVE", "APPROVED", "ENABLED", "COMPLETED", "DELIVERED", "SENT", "SUCCEEDED", "CONFIRMED", "PUBLISHED",
		"OK", "DONE", "AVAILABLE", "VALID", "ADMITTED":
		tone = "good"
	case "PAUSED", "PENDING", "SUBMITTED", "PROCESSING", "QUEUED", "DRAFT", "RETRYING", "LOW":
		tone = "wait"
	case "REJECTED", "REVOKED", "FAILED", "SUSPENDED", "EXHAUSTED", "DEAD", "DEAD_LETTER", "EXPIRED", "MISSING":
		tone = "bad"
	}
	return badge{Text: formatWords(state), Tone: tone}
}

// formatBrowser returns the common name of a browser from its User-Agent: "Firefox on Windows".
func formatBrowser(agent string) string {
	name, system := "", ""
	for _, one := range [][2]string{
		{"Edg/", "Edge"},
		{"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"},
		{"Chrome/", "Chrome"},
		{"CriOS/", "Chrome"},
		{"FxiOS/", "Firefox"},
		{"Safari/", "Safari"},
	} {
		if name == "" && strings.Contains(agent, one[0]) {
			name = one[1]
		}
	}
	for _, one := range [][2]string{
		{"Android", "Android"},
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Windows", "Windows"},
		{"Mac OS X", "Mac"},
		{"CrOS", "ChromeOS"},
		{"Linux", "Linux"},
	} {
		if system == "" && strings.Contains(agent, one[0]) {
			system = one[1]
		}
	}
	switch {
	case name != "" && system != "":
		return name + " on " + system
	case agent == "":
		return "Unknown browser"
	case name == "":
		return agent
	}
	return name
}
