package console_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// TestAppearanceIsChosenForABrowser checks the choice of light and dark pages: every page has it, sign-in too, until
// the browser follows the device again.
func TestAppearanceIsChosenForABrowser(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	ok.True(s.get(t, owner, "/account").has(`<html lang="en">`))
	ok.True(s.get(t, owner, "/account").has(`content="light dark"`))
	for chosen, class := range map[string]string{"DARK": "dark", "LIGHT": "light"} {
		got := s.post(t, owner, "/account/appearance", "appearance", chosen)
		ok.Equal(got.StatusCode, http.StatusSeeOther)
		for _, path := range []string{"/account", "/business/{companyId}", "/business/{companyId}/none"} {
			got := s.get(t, owner, path)
			ok.True(got.has(`<html lang="en" class="` + class + `">`)) // path
			ok.True(got.has(`content="` + class + `"`))
		}
		ok.True(s.get(t, viewer, "/account").has(`<html lang="en">`)) // of another browser
	}
	s.post(t, owner, "/account/sign-out")
	ok.True(s.get(t, owner, "/sign-in").has(`<html lang="en" class="`))

	s.signIn(t, owner)
	s.post(t, owner, "/account/appearance", "appearance", "SYSTEM")
	ok.True(s.get(t, owner, "/account").has(`<html lang="en">`))
	refused := s.post(t, owner, "/account/appearance", "appearance", "dark mode")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has("must be SYSTEM, LIGHT or DARK"))
}

// TestAppearanceWinsOverTheDevice checks the colours that a person sees.
func TestAppearanceWinsOverTheDevice(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	p := s.open(t, browsertest.New(t), owner, "/account", browsertest.Desktop)
	const background = `getComputedStyle(document.body).backgroundColor`
	light := p.Text(background)
	p.Media(browsertest.Media{Dark: true})
	dark := p.Text(background)
	ok.True(light != dark)
	choose := func(name string) {
		p.Text(`document.querySelector('[name=appearance][value=` + name + `]').click()`)
		p.Wait(`document.readyState === "complete" && !document.querySelector('[name=appearance][value=` + name + `]')`)
	}
	choose("LIGHT")
	ok.Equal(p.Text(background), light)
	p.Media(browsertest.Media{})
	choose("DARK")
	ok.Equal(p.Text(background), dark)
	choose("SYSTEM")
	ok.Equal(p.Text(background), light)
	p.IsClean()
}
