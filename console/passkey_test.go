package console_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// addAuthenticator gives a page a device that has a fingerprint of its user, and returns its id.
func addAuthenticator(t *testing.T, p *browsertest.Page) webauthn.AuthenticatorID {
	t.Helper()
	ok := is.New(t)
	_, err := chromedp.Call(p.Context(), webauthn.Enable, webauthn.EnableParams{})
	ok.NoErr(err)
	added, err := chromedp.Call(p.Context(), webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
		Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		},
	})
	ok.NoErr(err)
	return added.AuthenticatorID
}

func TestPersonAddsAPasskeyAndSignsInWithIt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	p := s.open(t, browsertest.New(t), owner, "/account", browsertest.Size{Width: 1100, Height: 800})
	addAuthenticator(t, p)
	p.Wait(`!document.querySelector("#passkey-new").hidden`)
	p.Element(`document.querySelector("#passkey-add")`).Click()
	p.Wait(`document.body.innerText.includes("You can sign in with this passkey from now on.")`)
	keys, err := s.Accounts().ListPasskeys(t.Context(), s.users[owner])
	ok.NoErr(err)
	ok.Equal(len(keys), 1)
	ok.Equal(keys[0].Name, "Chrome on Linux")

	// An act that needs a recent sign-in: the passkey confirms, and the act goes on.
	s.clock.advance(11 * time.Minute)
	p.Text(`location.assign("/sign-in")`)
	p.Wait(`location.pathname.startsWith("/business/")`) // still signed in
	p.Text(`location.assign("/account")`)
	p.Wait(`document.querySelector("form[action$='/remove']") && document.readyState === "complete"`)

	// Signed out, the passkey signs in. The browser offers it for the field at once.
	p.Element(`document.querySelector("form[action='/account/sign-out'] button")`).Click()
	p.Wait(`location.pathname.startsWith("/business/") || document.querySelector("#passkey:not([hidden])")`)
	p.Wait(`location.pathname.startsWith("/business/")`)
	sessions, err := s.Accounts().ListSessions(t.Context(), s.users[owner])
	ok.NoErr(err)
	ok.Equal(sessions[0].Method, ticketing.SignInPasskey)

	s.clock.advance(11 * time.Minute)
	p.Text(`location.assign("/account")`)
	p.Wait(`document.querySelector("form[action$='/remove']") && document.readyState === "complete"`)
	p.Text(`document.querySelector("form[action$='/remove']").requestSubmit()`)
	p.Wait(`document.querySelector("#passkey-confirm:not([hidden])")`)
	browsertest.Axe(t, p)
	(&traveler{Page: p, t: t, site: s, means: means{keyboard: true}}).activate("button", "^Use your passkey")
	p.Wait(`document.body.innerText.includes("The passkey was removed.")`)
	keys, err = s.Accounts().ListPasskeys(t.Context(), s.users[owner])
	ok.NoErr(err)
	ok.Equal(len(keys), 0)
}

// TestButtonSignsInWithAPasskey presses the button of the sign-in page. The offer for the field is waiting at that
// time: a device that does not confirm its user leaves it open, and the button withdraws it.
func TestButtonSignsInWithAPasskey(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	p := s.open(t, browsertest.New(t), owner, "/account", browsertest.Desktop)
	device := addAuthenticator(t, p)
	simulate := func(present bool) {
		_, err := chromedp.Call(p.Context(), webauthn.SetAutomaticPresenceSimulation,
			webauthn.SetAutomaticPresenceSimulationParams{AuthenticatorID: device, Enabled: present})
		ok.NoErr(err)
	}
	p.Wait(`!document.querySelector("#passkey-new").hidden`)
	p.Element(`document.querySelector("#passkey-add")`).Click()
	p.Wait(`document.body.innerText.includes("You can sign in with this passkey from now on.")`)
	simulate(false)
	p.Element(`document.querySelector("form[action='/account/sign-out'] button")`).Click()
	p.Wait(`location.pathname === "/sign-in" && document.querySelector("#passkey:not([hidden])")`)
	browsertest.Axe(t, p)
	simulate(true)
	p.Element(`document.querySelector("#passkey-button")`).Click()
	p.Wait(`location.pathname.startsWith("/business/")`)
	sessions, err := s.Accounts().ListSessions(t.Context(), s.users[owner])
	ok.NoErr(err)
	ok.Equal(sessions[0].Method, ticketing.SignInPasskey)
	p.IsClean()
}

// TestPageThatWasOpenForLongOffersThePasskeyAgain makes the first challenge of the sign-in page too old. The page says
// so, and the browser's next offer has another one.
func TestPageThatWasOpenForLongOffersThePasskeyAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	late := sync.OnceFunc(func() { s.clock.advance(6 * time.Minute) })
	var refused atomic.Bool
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/sign-in/passkey" {
			s.handler.ServeHTTP(w, r)
			if r.URL.Path == "/sign-in/passkey/begin" {
				late()
			}
			return
		}
		seen := httptest.NewRecorder()
		s.handler.ServeHTTP(seen, r)
		if seen.Code != http.StatusOK {
			refused.Store(true)
		}
		maps.Copy(w.Header(), seen.Header())
		w.WriteHeader(seen.Code)
		_, _ = w.Write(seen.Body.Bytes())
	})
	p := s.open(t, browsertest.New(t), owner, "/account", browsertest.Desktop)
	addAuthenticator(t, p)
	p.Wait(`!document.querySelector("#passkey-new").hidden`)
	p.Element(`document.querySelector("#passkey-add")`).Click()
	p.Wait(`document.body.innerText.includes("You can sign in with this passkey from now on.")`)
	p.Element(`document.querySelector("form[action='/account/sign-out'] button")`).Click()
	p.Wait(`location.pathname.startsWith("/business/")`)
	ok.True(refused.Load())
}

// TestDocumentHasEveryStepOfPasskeys compares the table of docs/console.md with the steps.
func TestDocumentHasEveryStepOfPasskeys(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	text, err := os.ReadFile(document)
	ok.NoErr(err)
	_, documented, found := strings.Cut(string(text), "\n### Passkeys\n")
	ok.True(found)
	for _, step := range console.Steps() {
		if strings.Contains(step, "passkey") || strings.HasPrefix(step, "/account/") {
			ok.True(regexp.MustCompile("\\| `" + step + "[?`]").MatchString(documented)) // step
		}
	}
}

func TestPasskeyOfAnotherMomentPurposeOrHostIsRefused(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	p := s.open(t, browsertest.New(t), owner, "/account", browsertest.Size{Width: 1100, Height: 800})
	addAuthenticator(t, p)
	p.Wait(`!document.querySelector("#passkey-new").hidden`)
	p.Element(`document.querySelector("#passkey-add")`).Click()
	p.Wait(`document.body.innerText.includes("You can sign in with this passkey from now on.")`)
	// sign returns what the device signs for the sign-in page.
	sign := func() string {
		return p.Text(`JSON.stringify((await navigator.credentials.get({
			publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(
				(await (await fetch("/sign-in/passkey/begin", { method: "POST" })).json()).data),
		})).toJSON())`)
	}
	send := func(handler http.Handler, origin, path, body string) int {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		_, r.Host, _ = strings.Cut(origin, "://")
		r.Header.Set("Origin", origin)
		for _, cookie := range s.clients[owner].Jar.Cookies(s.address(t)) {
			r.AddCookie(cookie)
		}
		handler.ServeHTTP(w, r)
		return w.Code
	}
	another := func(origin string) http.Handler {
		handler, err := console.New(s.Service, &console.Config{WebOrigin: origin, Clock: s.clock.now})
		ok.NoErr(err)
		return handler
	}
	here := s.localhost()

	signed := sign()
	const elsewhere = "https://tickets.example.com"
	ok.Equal(send(another(elsewhere), elsewhere, "/sign-in/passkey", signed), http.StatusUnauthorized)
	ok.Equal(send(s.handler, here, "/account/confirm", signed), http.StatusForbidden) // it is for signing in
	ok.Equal(send(s.handler, here, "/sign-in/passkey", strings.Replace(signed, `"signature":"M`, `"signature":"N`, 1)),
		http.StatusUnauthorized)
	s.clock.advance(time.Minute)
	ok.Equal(send(s.handler, here, "/sign-in/passkey", signed), http.StatusOK)
	ok.Equal(send(s.handler, here, "/sign-in/passkey", signed), http.StatusUnauthorized)
	ok.Equal(send(another(here), here, "/sign-in/passkey", signed), http.StatusUnauthorized) // another process

	late := sign()
	s.clock.advance(5 * time.Minute)
	ok.Equal(send(s.handler, here, "/sign-in/passkey", late), http.StatusUnauthorized)
	ok.Equal(send(s.handler, here, "/sign-in/passkey", "{}"), http.StatusUnauthorized)
	s.signIn(t, owner) // The sign-in above has ended the session of before.
	ok.Equal(send(s.handler, here, "/account/passkeys/add", sign()), http.StatusConflict)

	// A copy of the device, whose counter is lower.
	s.clock.advance(time.Second)
	fresh := sign()
	keys, err := s.Accounts().ListPasskeys(t.Context(), s.users[owner])
	ok.NoErr(err)
	ok.NoErr(s.Accounts().UsePasskey(t.Context(), s.users[owner], ticketing.PasskeyUse{
		ID: keys[0].ID, Credential: keys[0].Credential, Counter: keys[0].Counter + 100, ChallengedAt: s.clock.now(),
	}))
	ok.Equal(send(s.handler, here, "/sign-in/passkey", fresh), http.StatusUnauthorized)
}
