package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/internal/browsertest"
)

const brandingMail = brandingPath + "/mail"

func TestTicketMailIsShownInTheBrandingOfNow(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.postJSON(t, owner, brandingPath+"/save", `{"brandName":"Oja <b>Live</b>","primaryColor":"#3b0764",`+
		`"emailFooter":"Oja Ltd.","logoUrl":"https://cdn.adire.ng/logo.png"}`)
	ok.True(s.get(t, viewer, brandingPath).has(
		`/branding/mail" target="_blank" rel="noopener">Preview the ticket mail</a>`))
	got := s.get(t, viewer, brandingMail)
	ok.Equal(got.StatusCode, http.StatusOK)
	checkDocument(t, got) // It loads no logo.
	ok.Equal(got.Header.Get("Content-Type"), "text/html; charset=utf-8")
	for _, want := range []string{"Oja &lt;b&gt;Live", "#3b0764", "Oja Ltd.", "Sample event", "2,500.00"} {
		if !got.has(want) {
			t.Errorf("the mail lacks %q", want)
		}
	}
	ok.Equal(strings.Count(got.text, `src="data:image/png;base64,`), 2)
	ok.True(!got.has("cid:"))

	var shown struct{ From, Subject, Text, HTML string }
	s.get(t, viewer, "/api/v2"+brandingMail).data(t, &shown)
	ok.Equal(shown.From, "tickets@example.com")
	ok.True(strings.Contains(shown.Text, "Oja Ltd."))
	ok.True(strings.Contains(shown.HTML, "data:image/png"))
}

func TestTicketMailOfAServerWithoutMails(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	svc, err := ticketing.New(s.store, &ticketing.Config{Clock: s.clock.now})
	ok.NoErr(err)
	s.server.Config.Handler, err = console.New(svc, &console.Config{Clock: s.clock.now})
	ok.NoErr(err)
	got := s.get(t, owner, brandingMail)
	ok.Equal(got.StatusCode, http.StatusConflict)
	ok.True(got.has("This server makes no ticket mails"))
	checkPolicies(t, got)
}

// TestTicketMailIsSeenFromTheBranding opens the mail from the branding: its codes are there, its policy blocks the logo
// of another host, and no policy is violated on the page that links it.
func TestTicketMailIsSeenFromTheBranding(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s, browser := is.New(t), newSite(t), browsertest.New(t)
	s.postJSON(t, owner, brandingPath+"/save", `{"logoUrl":"https://cdn.adire.ng/logo.png"}`)
	p := s.open(t, browser, owner, brandingPath, browsertest.Desktop)
	link := p.Text(`[...document.links].find(link => link.textContent === "Preview the ticket mail").href`)
	mail := p.Tab(link, browsertest.Desktop)
	mail.Wait(`document.readyState === "complete"`)
	ok.Equal(mail.Text(`[...document.images]
		.filter(image => image.src.startsWith("data:") && image.naturalWidth > 0).length`),
		"2")
	ok.True(strings.Contains(mail.Text(`document.body.innerText`), "Adire Concerts"))
	ok.Equal(mail.PolicyViolations(), []string{"img-src: kURLViolation https://cdn.adire.ng/logo.png"})
	mail.FullPicture("console-branding-mail")
	p.IsClean()
}
