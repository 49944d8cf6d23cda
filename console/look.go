package console

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/contrast"
)

// lookPath begins the paths of the stylesheets with the colours of a branding.
const lookPath = "/console/look/"

// accent returns the colour of the company for its pages, and "" where there is none or the person may not see it.
func (c *call) accent() string {
	look, err := c.visitor.visit.Branding()
	if err != nil || !holds(c.actor, ticketing.PermissionBrandingRead) {
		return ""
	}
	return accentOf(look)
}

// accentOf returns the accent of a branding, or its primary colour if the accent is too pale for text.
func accentOf(look ticketing.Branding) string {
	if isReadable(look.AccentColor) {
		return look.AccentColor
	}
	return look.PrimaryColor
}

// contrastOf returns the contrast of two colours such as "#2563EB", from 1 to 21. Any other text is black.
func contrastOf(a, b string) float64 {
	return contrast.Ratio(contrast.Parse(a, contrast.Color{}), contrast.Parse(b, contrast.Color{}))
}

// The colours of text and cards in the ticket mail, light and dark.
const (
	white, black = "#FFFFFF", "#000000"
	ink          = "#111827"
	darkCard     = "#1A212C"
)

// textOn returns white or black, whichever has more contrast with a ground.
func textOn(ground string) (color, word string) {
	if contrast.TextOn(contrast.Parse(ground, contrast.Color{})).String() == black {
		return black, "black"
	}
	return white, "white"
}

// ratioText returns a contrast, rounded down so that it never seems sufficient when it is not: "4.4 to 1".
func ratioText(ratio float64) string {
	const tenths = 10
	n := int(math.Floor(ratio * tenths))
	return fmt.Sprintf("%d.%d to 1", n/tenths, n%tenths)
}

// contrastNote says how readable one use of a colour is.
type contrastNote struct {
	Use   string  `json:"use"`   // such as "Text on the primary colour"
	Ratio float64 `json:"ratio"` // from 1 to 21
	OK    bool    `json:"ok"`    // at least 4.5
	Text  string  `json:"text"`
}

// contrastsOf returns the uses of a branding's colours, and how readable each is.
func contrastsOf(look ticketing.Branding) []contrastNote {
	on := func(use, ground string) contrastNote {
		text, word := textOn(ground)
		ratio := contrastOf(text, ground)
		return contrastNote{use, ratio, true, "Text on it is " + word + ", at " + ratioText(ratio) + "."}
	}
	as := func(use, ground, instead string) contrastNote {
		ratio := contrastOf(look.AccentColor, ground)
		note := contrastNote{Use: use, Ratio: ratio, OK: ratio >= contrast.Least}
		note.Text = "It stands out at " + ratioText(ratio) + "."
		if !note.OK {
			note.Text = "It stands out at " + ratioText(ratio) + ", and text needs 4.5 to 1. " + instead
		}
		return note
	}
	notes := []contrastNote{
		on("Bar and buttons in the primary colour", look.PrimaryColor),
		on("Marks in the accent colour", look.AccentColor),
		as("Accent colour as text on white", white, "The mail writes this text in dark grey instead."),
		as("Accent colour as text in dark mode", darkCard, "The mail writes this text in pale grey instead."),
	}
	color := accentOf(look)
	ratio := contrastOf(color, white)
	pages := contrastNote{Use: "These pages", Ratio: ratio, OK: ratio >= contrast.Least}
	switch {
	case !pages.OK:
		pages.Text = "Both colours are too pale for buttons with white text, so these pages keep their own."
	case color == look.AccentColor:
		pages.Text = "They use the accent colour, at " + ratioText(ratio) + "."
	default:
		pages.Text = "The accent colour is too pale for them, so they use the primary colour, at " + ratioText(ratio) + "."
	}
	return append(notes, pages)
}

// lookStep returns a stylesheet that sets the colours of a preview, since the policy allows no style in a page. Its
// name is the primary colour and the accent colour, such as "111827-2563EB.css".
func lookStep(_ context.Context, x *exchange) (answer, error) {
	name, isStyle := strings.CutSuffix(x.r.PathValue("colors"), ".css")
	primary, accent, _ := strings.Cut(name, "-")
	if !isStyle || !isColor(primary) || !isColor(accent) {
		return answer{}, errNoPage
	}
	primary, accent = "#"+primary, "#"+accent
	onPrimary, _ := textOn(primary)
	onAccent, _ := textOn(accent)
	text := accent
	if contrastOf(accent, white) < contrast.Least {
		text = ink
	}
	return answer{
		status: http.StatusOK, contentType: "text/css; charset=utf-8", caching: "public, max-age=86400",
		body: fmt.Appendf(nil, "@layer accent{.look{--look-primary:%s;--look-on-primary:%s;--look-accent:%s;"+
			"--look-on-accent:%s;--look-text:%s}}\n", primary, onPrimary, accent, onAccent, text),
	}, nil
}

// isColor reports whether a text is six hexadecimal digits.
func isColor(text string) bool {
	const digits = 6
	return len(text) == digits && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}
