package httpapi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/cdproto/accessibility"
	permissions "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	pages "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"
)

// accessible checks the page for users of a screen reader, by Chromium's accessibility tree. The page has one banner,
// one main, one of each landmark named here, and one heading of the first level. Everything that can be operated has a
// name.
func (p *page) accessible(landmarks ...string) {
	p.t.Helper()
	is := is.New(p.t)
	tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
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
				element, err := chromedp.Call(p.ctx, dom.GetOuterHTML, dom.GetOuterHTMLParams{BackendNodeID: node.BackendDOMNodeID})
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
	is.Equal(p.text(`document.querySelectorAll("h1").length`), "1")
	// No id is repeated, except by labels: Swagger UI gives a label the id of its field.
	is.Equal(p.text(`[...document.querySelectorAll("[id]:not(label)")].map(e => e.id)
		.filter((id, i, all) => all.indexOf(id) < i)
		.map(id => [...document.querySelectorAll("#" + id)].map(e => e.outerHTML.slice(0, 150)).join("\n"))`), "")
}

// allow grants the page permissions that a browser asks its user for.
func (p *page) allow(names ...string) {
	p.t.Helper()
	for _, name := range names {
		_, err := chromedp.Call(p.ctx, permissions.SetPermission, permissions.SetPermissionParams{
			Permission: &permissions.PermissionDescriptor{Name: name}, Setting: permissions.PermissionSettingGranted,
			BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
		})
		is.New(p.t).NoErr(err)
	}
}

// printed checks that paper shows all of the page's text, in black, and no control.
func (p *page) printed(name string) {
	p.t.Helper()
	is := is.New(p.t)
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	is.NoErr(err)
	is.Equal(p.text(`[...document.querySelectorAll("nav, button, .skip, [role=status]")].filter(e => e.checkVisibility() &&
		e.getBoundingClientRect().width > 1).map(e => e.outerHTML)`), "")
	is.Equal(p.text(`[...document.querySelectorAll("pre")].filter(e => e.scrollWidth > e.clientWidth)`+
		`.map(e => e.innerText)`), "")
	is.Equal(p.text(`getComputedStyle(document.body).color + " on " + getComputedStyle(document.body).backgroundColor`),
		"rgb(0, 0, 0) on rgb(255, 255, 255)")
	if folder := os.Getenv(pictures); folder != "" {
		paper, err := chromedp.Call(p.ctx, pages.PrintToPDF, pages.PrintToPDFParams{})
		is.NoErr(err)
		is.NoErr(os.WriteFile(filepath.Join(folder, name+".pdf"), paper.Data, 0o600))
	}
	_, err = chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	is.NoErr(err)
}
