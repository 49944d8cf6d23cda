package console_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// submitForm posts a form of pairs from a page of the site, and waits for a text of the page after it.
func submitForm(p *browsertest.Page, path, text string, pairs ...string) {
	p.Text(fmt.Sprintf(`(() => {
		const form = Object.assign(document.createElement("form"), { method: "post", action: %q })
		const pairs = %q.split("\n")
		for (let i = 0; i + 1 < pairs.length; i += 2) {
			form.append(Object.assign(document.createElement("input"), { name: pairs[i], value: pairs[i + 1] }))
		}
		document.body.append(form)
		form.submit()
	})()`, path, strings.Join(pairs, "\n")))
	waitForText(p, text)
}

func waitForText(p *browsertest.Page, text string) {
	p.Wait(fmt.Sprintf(`document.readyState === "complete" && document.body.innerText.includes(%q)`, text))
}

// TestPagesOfSignInAreAccessibleInEachSetup looks at sign-in and confirmation of a service without mail, with an
// issuer, and in a host that identifies people.
func TestPagesOfSignInAreAccessibleInEachSetup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	browser, i := browsertest.New(t), newIssuer(t)
	mute := newSite(t, func(c *console.Config) { c.Mailer = nil })
	p := browser.Open(t, mute.localhost()+"/sign-in", browsertest.Desktop)
	waitForText(p, "sends no mail")
	look(t, p, "sign-in-no-mail")
	p.IsClean()

	known := newSite(t, i.use)
	p = browser.Open(t, known.localhost()+"/sign-in", browsertest.Desktop)
	waitForText(p, "Sign in with 127.0.0.1")
	look(t, p, "sign-in-issuer")
	known.addPasskey(t)
	p = known.open(t, browser, owner, "/account", browsertest.Desktop)
	known.clock.advance(11 * time.Minute)
	submitForm(p, "/account/passkeys/abc/remove", "Confirm your identity")
	waitForText(p, "127.0.0.1")
	look(t, p, "confirm-issuer")

	hosted := newSite(t, func(c *console.Config) {
		c.Identify = func(*http.Request) (console.Person, error) { return console.Person{Email: address(owner)}, nil }
	})
	p = browser.Open(t, hosted.localhost()+hosted.filled(members), browsertest.Desktop)
	submitForm(p, hosted.filled(members)+"/invite", "Sign in again in another tab",
		"name", "Ngozi", "email", "ngozi@example.com", "role", "VIEWER", "by", "mail")
	look(t, p, "confirm-host")
}

// TestPagesOfFailuresAreAccessible looks at what a person sees who may not see a page, whose session has ended, and
// while the database is away.
func TestPagesOfFailuresAreAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s, browser := is.New(t), newSite(t), browsertest.New(t)
	p := s.open(t, browser, owner, "/account", browsertest.Desktop)
	p.Text(`location.assign("/platform")`)
	waitForText(p, "These pages are for the platform's staff.")
	look(t, p, "failure-403")
	p.Text(`location.assign("/account")`)
	waitForText(p, "Your account")
	_, err := s.Accounts().EndSessions(t.Context(), s.users[owner])
	ok.NoErr(err)
	submitForm(p, "/account/sessions/end-others", "Your session has ended")
	look(t, p, "sign-in-expired")

	svc, err := ticketing.New(&leaving{Store: s.store}, &ticketing.Config{Logger: slog.New(slog.DiscardHandler)})
	ok.NoErr(err)
	handler, err := console.New(svc, &console.Config{Mailer: mailbox(s.mails), Logger: slog.New(slog.DiscardHandler)})
	ok.NoErr(err)
	away := httptest.NewServer(handler)
	t.Cleanup(away.Close)
	p = browser.Open(t, strings.Replace(away.URL, "127.0.0.1", "localhost", 1)+"/sign-in", browsertest.Desktop)
	waitForText(p, "Request")
	ok.Equal(p.Text(`String((await fetch(location.href)).status)`), "503")
	look(t, p, "failure-503")
}
