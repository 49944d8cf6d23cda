package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// TestPasskeyIsOfferedOnTheFirstPage checks that a person who signed in by a link is offered a passkey once, and not if
// they have one.
func TestPasskeyIsOfferedOnTheFirstPage(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	ok, s := is.New(t), newSite(t)
	const offer = "Sign in faster next time"
	p := s.travelAs(t, browser, viewer, means{})
	p.sees(offer)
	p.FullPicture("journey-passkey-offer")
	browsertest.Axe(t, p.Page)
	p.follow("Not now")
	p.seesNo(offer)
	p.sees("Not ready to sell")

	p = s.travelAs(t, browser, viewer, means{keyboard: true})
	addAuthenticator(t, p.Page)
	p.press("button", "^Add a passkey")
	p.sees("You can sign in with this passkey from now on.")
	p.seesNo(offer)
	keys, err := s.Accounts().ListPasskeys(t.Context(), s.users[viewer])
	ok.NoErr(err)
	ok.Equal(len(keys), 1)

	p = s.travelAs(t, browser, viewer, means{})
	p.sees("Not ready to sell")
	p.seesNo(offer)
	p.IsClean()
}

// TestOfferOfAPasskeyIsForOnePage checks the same without script: the box is hidden, and on one page only.
func TestOfferOfAPasskeyIsForOnePage(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.clients[owner] = s.newClient(t)
	open := func() {
		link, err := s.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: s.users[owner], Actor: "test"})
		ok.NoErr(err)
		in := s.post(t, owner, "/sign-in/link", "token", link.Token)
		ok.Equal(in.StatusCode, http.StatusSeeOther)
	}
	offers := func(path string) bool { return strings.Contains(s.get(t, owner, path).text, `id="passkey-new"`) }
	open()
	shown := s.get(t, owner, overviewPath)
	ok.True(shown.has(`<section class="card" id="passkey-new" aria-labelledby="offer" hidden>`))
	ok.True(shown.has(`<a class="button quiet" href="` + shown.Request.URL.Path + `">Not now</a>`))
	ok.True(!offers(overviewPath))
	open()
	ok.Equal(strings.Count(s.get(t, owner, "/account").text, `id="passkey-new"`), 1) // its own
	ok.True(!offers(overviewPath))
	_, err := s.Accounts().AddPasskey(t.Context(), s.users[owner], ticketing.PasskeyParams{
		ID: "AAAA", Name: "Phone", Credential: "{}",
	})
	ok.NoErr(err)
	open()
	ok.True(!offers(overviewPath))
}
