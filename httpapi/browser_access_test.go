package httpapi_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// accessible checks the page for users of a screen reader, by Chromium's accessibility tree. The page has one banner,
// one main, one of each landmark named here, and one heading of the first level. Everything that can be operated has a
// name.
func accessible(t *testing.T, p *browsertest.Page, landmarks ...string) {
	t.Helper()
	is := is.New(t)
	tree, err := chromedp.Call(p.Context(), accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	is.NoErr(err)
	text := func(v *accessibility.Value) (text string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &text) // The value of a role or a name is a text.
		}
		return text
	}
	times := make(map[string]int)
	nameless := []string{}
	for _, node := range tree.Nodes {
		if node.Ignored {
			continue
		}
		role, name := text(node.Role), text(node.Name)
		times[role]++
		switch role {
		case "button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "tab", "dialog", "navigation":
			if name == "" {
				element, err := chromedp.Call(p.Context(), dom.GetOuterHTML, dom.GetOuterHTMLParams{
					BackendNodeID: node.BackendDOMNodeID,
				})
				is.NoErr(err)
				nameless = append(nameless, role+": "+element.OuterHTML)
			}
		}
	}
	is.Equal(nameless, []string{})
	for _, landmark := range append(landmarks, "banner", "main") {
		is.Equal(times[landmark], 1)
	}
	is.Equal(times["dialog"] == 1, slices.Contains(landmarks, "dialog"))
	is.True(times["navigation"] > 0)
	is.Equal(p.Text(`document.querySelectorAll("h1").length`), "1")
	// No id is repeated, except by labels: Swagger UI gives a label the id of its field.
	is.Equal(p.Text(`[...document.querySelectorAll("[id]:not(label)")].map(e => e.id)
		.filter((id, i, all) => all.indexOf(id) < i)
		.map(id => [...document.querySelectorAll("#" + id)].map(e => e.outerHTML.slice(0, 150)).join("\n"))`), "")
	// Of all rules only the contrast depends on the color scheme, and axe-core takes long for it.
	p.Show(browsertest.Media{Dark: true})
	p.Contrast("dark")
	p.Show(browsertest.Media{})
	browsertest.Axe(t, p, swaggerUI...)
}

// swaggerUI is what axe-core finds in Swagger UI, which is served unchanged. In the page around it axe finds nothing.
var swaggerUI = []browsertest.Except{
	{Rule: "aria-allowed-role", Selector: ".swagger-ui main", Reason: "try.js makes it a group: a page has one main"},
	{Rule: "heading-order", Selector: ".swagger-ui", Reason: "its levels are those of its components"},
	{Rule: "label-content-name-mismatch", Selector: ".swagger-ui .auth-btn-wrapper", Reason: "its buttons have labels"},
	{Rule: "landmark-unique", Selector: ".swagger-ui .responses-table", Reason: "each operation has such a table"},
	{Rule: "nested-interactive", Selector: ".swagger-ui .opblock-summary", Reason: "the path in the button is a link"},
	{Rule: "scrollable-region-focusable", Selector: ".swagger-ui pre.microlight", Reason: "it scrolls by pointer alone"},
	{Rule: "target-size", Selector: ".swagger-ui .scheme-container", Reason: "the bar at the top covers what is scrolled"},
	{Rule: "target-size", Selector: ".swagger-ui .opblock-summary", Reason: "the path in the button is a link"},
}

// printed checks that paper shows all of the page's text, in black, and no control.
func printed(t *testing.T, p *browsertest.Page, name string) {
	t.Helper()
	is := is.New(t)
	p.Media(browsertest.Media{Dark: true, Print: true})
	is.Equal(p.Text(`[...document.querySelectorAll("nav, button, .skip, [role=status]")].filter(e => e.checkVisibility() &&
		e.getBoundingClientRect().width > 1).map(e => e.outerHTML)`), "")
	is.Equal(p.Text(`[...document.querySelectorAll("pre")].filter(e => e.scrollWidth > e.clientWidth)`+
		`.map(e => e.innerText)`), "")
	is.Equal(p.Text(`getComputedStyle(document.body).color + " on " + getComputedStyle(document.body).backgroundColor`),
		"rgb(0, 0, 0) on rgb(255, 255, 255)")
	is.True(p.Print(name) > 1)
	p.Media(browsertest.Media{})
}
