package console_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// sizes are the windows that pages are checked in.
func sizes() []browsertest.Size {
	return []browsertest.Size{{Width: 360, Height: 800}, {Width: 1280, Height: 900}}
}

// open opens a path in a window of a person who signs in there by a link.
func (s *site) open(
	t *testing.T, browser browsertest.Browser, who, path string, size browsertest.Size,
) *browsertest.Page {
	t.Helper()
	link, err := s.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: s.users[who], Actor: "test"})
	is.New(t).NoErr(err)
	p := browser.Open(t, s.localhost()+"/sign-in/link#"+link.Token, size)
	p.Wait(`location.hash === "" && document.querySelector("#token").value.length > 20`)
	p.Element(`document.querySelector("#link button")`).Click()
	p.Wait(`location.pathname.startsWith("/business") || location.pathname.startsWith("/platform")`)
	path = strings.ReplaceAll(path, "{companyId}", s.company.String())
	// The page after the sign-in may be the one at path: it is marked, and a new one waited for.
	p.Text(`window.signedIn = true, location.assign("` + path + `")`)
	p.Wait(`!window.signedIn && location.pathname === "` + path + `" && document.readyState === "complete"`)
	return p
}

// localhost returns the address of the site by a name that may have passkeys.
func (s *site) localhost() string { return strings.Replace(s.server.URL, "127.0.0.1", "localhost", 1) }

// TestPagesAreAccessible checks every page without a variable other than the company. These pages are nearly empty.
// Other tests check filled ones in both schemes at both widths.
func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	s, browser := newSite(t), browsertest.New(t)
	for who, wants := range map[string]func(console.Route) bool{
		owner: func(r console.Route) bool { return !r.Platform }, chief: func(r console.Route) bool { return r.Platform },
	} {
		p := s.open(t, browser, who, "/account", browsertest.Desktop)
		for _, route := range console.Pages() {
			path := strings.ReplaceAll(route.Path, "{companyId}", s.company.String())
			// A document runs no script, so axe cannot check it. The ticket mail has separate tests.
			if !wants(route) || strings.Contains(path, "{") || route.Document {
				continue
			}
			p.Text(`location.assign("` + path + `")`)
			p.Wait(`location.pathname === "` + path + `" && document.readyState === "complete"`)
			look(t, p, "console"+strings.ReplaceAll(strings.ReplaceAll(route.Path, "/", "-"), "{companyId}", "id"))
		}
		p.IsClean()
	}
	for _, path := range []string{"/sign-in", "/sign-in/link"} {
		p := browser.Open(t, s.localhost()+path, browsertest.Desktop)
		look(t, p, "console"+strings.ReplaceAll(path, "/", "-"))
		p.IsClean()
		p.KeepsNothing()
	}
}

// look checks a page in its current state, at two widths and in both color schemes, and saves a picture of each. axe,
// which takes most of the time, checks a phone in the dark scheme and a desktop in the light one: of its rules other
// than contrast only that of links within text looks at colors.
func look(t *testing.T, p *browsertest.Page, name string) {
	t.Helper()
	for _, size := range sizes() {
		p.Resize(size)
		p.Fits()
		phone := size.Width < 600
		for _, dark := range []bool{!phone, phone} {
			p.Contrast(show(p, name, size, dark))
		}
		axe(t, p)
	}
}

// axe checks a page with all rules but that of the contrast, which takes axe as long as all others together.
func axe(t *testing.T, p *browsertest.Page) {
	t.Helper()
	browsertest.Axe(t, p, browsertest.Except{
		Rule: "color-contrast", Selector: "html", Reason: "Contrast checks it, in each color scheme",
	})
}

// show shows a page in a color scheme, whose name it returns, and saves a picture.
func show(p *browsertest.Page, name string, size browsertest.Size, dark bool) (scheme string) {
	if size.Width < 600 {
		name += "-phone"
	}
	scheme = map[bool]string{false: "light", true: "dark"}[dark]
	p.Media(browsertest.Media{Dark: dark})
	p.FullPicture(name + "-" + scheme)
	return scheme
}
