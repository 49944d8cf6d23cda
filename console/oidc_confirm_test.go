package console_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"
)

const confirmPath = "/account/confirm/oidc"

func TestPersonConfirmsAtTheIssuerInAnotherTab(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	s.addPasskey(t)
	const remove = "/account/passkeys/abc/remove"
	s.clock.advance(time.Hour)
	asks := s.post(t, owner, remove, "_next", "/account?")
	ok.Equal(asks.StatusCode, http.StatusForbidden)
	ok.True(asks.has(`href="` + confirmPath + `" target="_blank"`))
	ok.True(asks.has("I have signed in again, continue"))

	asked := s.lead(t, i, owner, confirmPath)
	ok.Equal(asked.Get("prompt"), "login")
	ok.Equal(asked.Get("max_age"), "60")
	ok.Equal(asked.Get("login_hint"), address(owner))
	before := s.clients[owner].Jar.Cookies(s.address(t))
	back := s.comeBack(t, owner, i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))
	ok.Equal(back.Header.Get("Location"), "/account")
	ok.True(s.follow(t, owner, back).has("Your identity is confirmed."))
	ok.Equal(s.post(t, owner, remove, "_next", "/account?").StatusCode, http.StatusSeeOther)
	// The secret of before is worth nothing.
	s.clients["thief"] = s.newClient(t)
	s.clients["thief"].Jar.SetCookies(s.address(t), before)
	s.isOut(t, "thief")
}

func TestConfirmationNeedsANewSignInOfTheSamePerson(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*site, claims)
		text   string
	}{
		{"somebody else", func(_ *site, c claims) { c["email"] = address(viewer) }, "not a new sign-in of the person"},
		{"unknown", func(_ *site, c claims) { c["email"] = "unknown@example.com" }, "not a new sign-in of the person"},
		{"unverified", func(_ *site, c claims) { c["email_verified"] = false }, "not a new sign-in of the person"},
		{"an old sign-in", func(s *site, c claims) { c["auth_time"] = s.clock.now().Unix() - 61 }, "not a new sign-in"},
		{"nothing said of when", func(_ *site, c claims) { delete(c, "auth_time") }, "not a new sign-in of the person"},
		{"time as text", func(_ *site, c claims) { c["auth_time"] = "soon" }, "not a new sign-in of the person"},
		{"wrong nonce", func(_ *site, c claims) { c["nonce"] = "other" }, notAccepted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ok, i := is.New(t), newIssuer(t)
			s := newSite(t, i.use)
			s.addPasskey(t)
			s.clock.advance(time.Hour)
			asked := s.lead(t, i, owner, confirmPath)
			about := s.claimsOf(i, asked, owner)
			tt.change(s, about)
			refused := s.comeBack(t, owner, i.issue(asked, about), asked.Get("state"))
			ok.Equal(refused.StatusCode, http.StatusForbidden)
			ok.True(refused.has(tt.text))
			ok.Equal(s.postJSON(t, owner, "/account/passkeys/abc/remove", "{}").code(t), "CONFIRM_REQUIRED")
			ok.Equal(s.get(t, owner, "/account").StatusCode, http.StatusOK) // still signed in
		})
	}
}

func TestConfirmationIsOfTheSessionThatAskedForIt(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	s.clock.advance(time.Hour)
	asked := s.lead(t, i, owner, confirmPath)
	s.signIn(t, owner) // another session in the same browser
	refused := s.comeBack(t, owner, i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))
	ok.Equal(refused.StatusCode, http.StatusForbidden)

	asked = s.lead(t, i, owner, confirmPath)
	s.post(t, owner, "/account/sign-out")
	out := s.comeBack(t, owner, i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))
	ok.Equal(out.Header.Get("Location"), "/sign-in")
	s.isOut(t, owner)
	ok.Equal(s.get(t, nobody, confirmPath).Header.Get("Location"), "/sign-in?next=%2Faccount%2Fconfirm%2Foidc")
}

func TestIssuerThatIsDownConfirmsNothing(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	asked := s.lead(t, i, owner, confirmPath)
	i.set(func() { i.away = true })
	gone := s.comeBack(t, owner, i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))
	ok.Equal(gone.StatusCode, http.StatusServiceUnavailable)
	ok.True(gone.has(isAway))
}

func TestSignInIsRecentFromTheTimeAtTheIssuerOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		at     any
		status int
	}{
		{"just now", opening.Unix(), http.StatusOK},
		{"nine minutes ago", opening.Unix() - 540, http.StatusOK},
		{"ten minutes ago", opening.Unix() - 600, http.StatusForbidden},
		{"the clock there is fast", opening.Unix() + 30, http.StatusOK},
		{"nothing said of when", nil, http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ok, i := is.New(t), newIssuer(t)
			s := newSite(t, i.use)
			s.addPasskey(t)
			s.clients["somebody"] = s.newClient(t)
			asked := s.lead(t, i, "somebody", begin)
			about := s.claimsOf(i, asked, owner)
			about["auth_time"] = tt.at
			ok.Equal(s.comeBack(t, "somebody", i.issue(asked, about), asked.Get("state")).StatusCode, http.StatusSeeOther)
			ok.Equal(s.postJSON(t, "somebody", "/account/passkeys/abc/remove", "{}").StatusCode, tt.status)
		})
	}
}
