package mail_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/mail"
)

// ratio returns the contrast ratio of two colours of the form #RRGGBB or #RGB, as WCAG 2.2 defines it. It shares no
// code with the renderer.
func ratio(a, b string) float64 {
	luminance := func(text string) float64 {
		digits := strings.TrimPrefix(text, "#")
		if len(digits) == 3 {
			digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
		}
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
			if err != nil {
				return math.NaN()
			}
			part := float64(n) / 255
			if part <= 0.04045 {
				sum += weight * part / 12.92
			} else {
				sum += weight * math.Pow((part+0.055)/1.055, 2.4)
			}
		}
		return sum
	}
	one, two := luminance(a), luminance(b)
	return (max(one, two) + 0.05) / (min(one, two) + 0.05)
}

// look is what is set for the text of an element.
type look struct{ text, background string }

// painter finds the colours of all texts of a document.
type painter struct {
	dark  map[string]look // by the class that sets it; nil: it is light
	least float64
	texts int
}

var (
	darkSheet = regexp.MustCompile(`(?s)prefers-color-scheme:dark\)\{(.*?)\n\}`)
	darkRule  = regexp.MustCompile(`\.(\w)\{(color|background):(#\w+)!important\}`)
)

// darkLooks returns what the style sheet sets in the dark.
func darkLooks(text string) map[string]look {
	looks := make(map[string]look)
	for _, rule := range darkRule.FindAllStringSubmatch(darkSheet.FindString(text), -1) {
		if rule[2] == "color" {
			looks[rule[1]] = look{text: rule[3]}
		} else {
			looks[rule[1]] = look{background: rule[3]}
		}
	}
	return looks
}

// paint visits an element and everything in it, with the look that it inherits. The style sheet takes precedence over
// the styles of an element.
func (p *painter) paint(node *html.Node, in look) {
	if node.Type == html.ElementNode {
		style := attribute(node, "style")
		if node.Data == "head" || strings.Contains(style, "display:none") {
			return
		}
		for declaration := range strings.SplitSeq(style, ";") {
			switch name, value, _ := strings.Cut(declaration, ":"); name {
			case "color":
				in.text = value
			case "background":
				in.background = value
			}
		}
		for class := range strings.FieldsSeq(attribute(node, "class")) {
			if set := p.dark[class]; set.text != "" {
				in.text = set.text
			} else if set.background != "" {
				in.background = set.background
			}
		}
	}
	shown := node.Type == html.TextNode && strings.TrimSpace(node.Data) != ""
	if shown || node.Data == "img" { // A picture that is not shown has its alternative text.
		p.texts++
		if found := ratio(in.text, in.background); !(found >= p.least) { // Also if it is not a number.
			p.least = found
		}
	}
	for child := range node.ChildNodes() {
		p.paint(child, in)
	}
}

// leastContrast returns the lowest contrast of any text with its background, in the light or in the dark scheme.
func leastContrast(is *is.I, text string, dark bool) float64 {
	p := painter{least: math.Inf(1)}
	if dark {
		p.dark = darkLooks(text)
		is.True(len(p.dark) > 4)
	}
	// The browser's default colours are ignored: a text must not depend on them.
	p.paint(parseHTML(is, text), look{})
	is.True(p.texts > 20)
	return p.least
}

func TestTextHasContrastWithAllColours(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		tickets := lagosMail(seats(2, "Lagos Jazz Night", "VIP", 100)...)
		brand := &tickets.Order.Branding
		brand.PrimaryColor = fmt.Sprintf("#%06X", rapid.IntRange(0, 0xFFFFFF).Draw(t, "primary"))
		brand.AccentColor = fmt.Sprintf("#%06X", rapid.IntRange(0, 0xFFFFFF).Draw(t, "accent"))
		if rapid.Bool().Draw(t, "logo") {
			brand.LogoURL = new("https://cdn.example.com/logo.png")
		}
		tickets.Sample = rapid.Bool().Draw(t, "sample")
		text := render(is, renderer, tickets).HTML
		is.True(leastContrast(is, text, false) >= 4.5)
		is.True(leastContrast(is, text, true) >= 4.5)
		is.True(strings.Contains(text, "background:"+strings.ToLower(brand.PrimaryColor))) // The colours are used.
		is.True(strings.Contains(text, "background:"+strings.ToLower(brand.AccentColor)))
	})
}

// TestTheAccentIsUsedForTextWhereItCanBeRead checks both sides of the fallback.
func TestTheAccentIsUsedForTextWhereItCanBeRead(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for _, tt := range []struct{ name, accent, light, dark string }{
		{name: "readable on white", accent: "#1D4ED8", light: "#1d4ed8", dark: "#f3f5f8"},
		{name: "readable in the dark", accent: "#FBBF24", light: "#111827", dark: "#fbbf24"},
		{name: "no colour", accent: "red;}", light: "#2563eb", dark: "#f3f5f8"},
		{name: "too few digits", accent: "#12345", light: "#2563eb", dark: "#f3f5f8"},
		{name: "a sign", accent: "#+12345", light: "#2563eb", dark: "#f3f5f8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			tickets := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 1)...)
			tickets.Order.Branding.AccentColor = tt.accent
			text := render(is, renderer, tickets).HTML
			is.True(strings.Contains(text, ".a{color:"+tt.dark+"!important}"))
			is.True(strings.Contains(text, ";color:"+tt.light+`">Your ticket</p>`))
		})
	}
}
