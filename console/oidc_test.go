package console_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/store/memory"
)

const (
	begin       = "/sign-in/oidc/begin"
	notAccepted = "took too long, was used before or did not work"
	noAccount   = "not with a verified address that has an account here"
	isAway      = "cannot be reached right now"
)

// isOut checks that a browser has no session.
func (s *site) isOut(t *testing.T, who string) {
	t.Helper()
	is.New(t).Equal(s.get(t, who, "/api/v2/account").code(t), "SIGN_IN_REQUIRED")
}

func TestPersonSignsInAtAnIssuer(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	s.clients["somebody"] = s.newClient(t)
	wanted := "/business/" + s.company.String() + "/members?limit=5"
	shown := s.get(t, "somebody", "/sign-in?next="+url.QueryEscape(wanted))
	ok.True(shown.has(`href="/sign-in/oidc/begin?next=`))
	ok.True(shown.has("Sign in with 127.0.0.1"))

	asked := s.lead(t, i, "somebody", begin+"?next="+url.QueryEscape(wanted))
	ok.Equal(asked.Get("client_id"), clientID)
	ok.Equal(asked.Get("response_type"), "code")
	ok.Equal(asked.Get("scope"), "openid email")
	ok.Equal(asked.Get("redirect_uri"), s.server.URL+"/sign-in/oidc")
	about := s.claimsOf(i, asked, owner)
	about["email"] = "Owner@Example.com"
	in := s.comeBack(t, "somebody", i.issue(asked, about), asked.Get("state"))
	ok.Equal(in.Header.Get("Location"), wanted)
	ok.True(s.follow(t, "somebody", in).has("Members"))
	sessions, err := s.Accounts().ListSessions(t.Context(), s.users[owner])
	ok.NoErr(err)
	ok.True(slices.ContainsFunc(sessions, func(s ticketing.Session) bool { return s.Method == ticketing.SignInOIDC }))
	ok.True(!strings.Contains(s.log.String(), "@example.com"))

	// The browser keeps nothing of it, so the address is worth nothing any more.
	for _, cookie := range s.clients["somebody"].Jar.Cookies(s.address(t)) {
		ok.True(cookie.Name != "ticketing-oidc")
	}
	again := s.comeBack(t, "somebody", "code", asked.Get("state"))
	ok.Equal(again.StatusCode, http.StatusUnauthorized)
	ok.True(again.has(notAccepted))
}

// TestIssuersFirstSignInOffersAPasskey holds as with links and codes: the first page offers one, once, to a person who
// has none. A person whom the issuer knew for hours gets no offer, since only a recent sign-in may add a passkey.
func TestIssuersFirstSignInOffersAPasskey(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use, func(c *console.Config) { c.Mailer = nil })
	signIn := func(provedAt time.Time) page {
		s.clients["somebody"] = s.newClient(t)
		asked := s.lead(t, i, "somebody", begin)
		about := s.claimsOf(i, asked, owner)
		about["auth_time"] = provedAt.Unix()
		return s.follow(t, "somebody", s.comeBack(t, "somebody", i.issue(asked, about), asked.Get("state")))
	}
	const offer = `id="passkey-add"`
	first := signIn(s.clock.now())
	ok.True(first.has(offer))
	// The issuer signs them in again, even if no mail does.
	ok.True(!first.has("new link"))
	ok.True(!s.get(t, "somebody", "/business/{companyId}").has(offer)) // offered once
	ok.True(!signIn(s.clock.now().Add(-time.Hour)).has(offer))
	s.addPasskey(t)
	ok.True(!signIn(s.clock.now()).has(offer)) // the person has one
}

func TestCookieOfTheWayToTheIssuerIsOfThisHost(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use, func(c *console.Config) { c.WebOrigin = "https://tickets.example.com" })
	r := s.request(t, http.MethodGet, begin, nil)
	r.Host = "tickets.example.com"
	sent := s.do(t, nobody, r).Header.Get("Set-Cookie")
	ok.True(strings.HasPrefix(sent, "__Host-ticketing-oidc="))
	for _, part := range []string{"; Path=/", "; Max-Age=600", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
		ok.True(strings.Contains(sent, part)) // part
	}
}

func TestPersonWhomTheIssuerDoesNotProveIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*testing.T, *issuer, claims)
		text   string
	}{
		{"wrong issuer", func(_ *testing.T, _ *issuer, c claims) { c["iss"] = "https://evil.example" }, notAccepted},
		{"wrong audience", func(_ *testing.T, _ *issuer, c claims) { c["aud"] = "other" }, notAccepted},
		{"two audiences", func(_ *testing.T, _ *issuer, c claims) {
			c["aud"] = []string{clientID, "b"}
			delete(c, "azp")
		}, notAccepted},
		{"for another party", func(_ *testing.T, _ *issuer, c claims) { c["azp"] = "other" }, notAccepted},
		{"wrong nonce", func(_ *testing.T, _ *issuer, c claims) { c["nonce"] = "other" }, notAccepted},
		{"no nonce", func(_ *testing.T, _ *issuer, c claims) { delete(c, "nonce") }, notAccepted},
		{"expired", func(_ *testing.T, _ *issuer, c claims) { c["exp"] = opening.Unix() - 1 }, notAccepted},
		{"not yet", func(_ *testing.T, _ *issuer, c claims) { c["nbf"] = opening.Unix() + 3600 }, notAccepted},
		{"alg none", func(t *testing.T, i *issuer, _ claims) {
			t.Helper()
			i.sign = func(c claims) string { return unsigned(t, "none", c) + "." }
		}, notAccepted},
		{"signed with the client's secret", func(t *testing.T, i *issuer, _ claims) {
			t.Helper()
			i.sign = func(c claims) string { return hs256(t, c) }
		}, notAccepted},
		{"another key", func(t *testing.T, i *issuer, _ claims) {
			t.Helper()
			other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			is.New(t).NoErr(err)
			i.sign = func(c claims) string { return es256(t, other, c) }
		}, notAccepted},
		{"claims of another signature", func(t *testing.T, i *issuer, _ claims) {
			t.Helper()
			good := i.sign
			i.sign = func(c claims) string {
				parts := strings.Split(good(c), ".")
				c["email"] = address(chief)
				return unsigned(t, "ES256", c) + "." + parts[2]
			}
		}, notAccepted},
		{"no token", func(_ *testing.T, i *issuer, _ claims) { i.sign = func(claims) string { return "" } }, notAccepted},
		{"claims of the wrong type", func(_ *testing.T, _ *issuer, c claims) { c["email"] = 7 }, notAccepted},
		{"unverified", func(_ *testing.T, _ *issuer, c claims) { c["email_verified"] = false }, noAccount},
		{"unverified, as text", func(_ *testing.T, _ *issuer, c claims) { c["email_verified"] = "false" }, noAccount},
		{"nothing said of the address", func(_ *testing.T, _ *issuer, c claims) { delete(c, "email_verified") }, noAccount},
		{"no address", func(_ *testing.T, _ *issuer, c claims) { delete(c, "email") }, noAccount},
		{"malformed address", func(_ *testing.T, _ *issuer, c claims) { c["email"] = "owner" }, noAccount},
		{"unknown", func(_ *testing.T, _ *issuer, c claims) { c["email"] = "unknown@example.com" }, noAccount},
		{"a UserInfo of somebody else", func(_ *testing.T, i *issuer, c claims) {
			delete(c, "email")
			i.userInfo = claims{"sub": "other", "email": address(owner), "email_verified": true}
		}, noAccount},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ok, i := is.New(t), newIssuer(t)
			s := newSite(t, i.use)
			s.clients["somebody"] = s.newClient(t)
			i.userInfo = claims{"sub": "sub-" + owner}
			asked := s.lead(t, i, "somebody", begin)
			about := s.claimsOf(i, asked, owner)
			tt.change(t, i, about)
			refused := s.comeBack(t, "somebody", i.issue(asked, about), asked.Get("state"))
			ok.Equal(refused.StatusCode, http.StatusUnauthorized)
			ok.True(refused.has(tt.text))
			ok.True(refused.has(`href="/sign-in/oidc/begin"`))
			checkPolicies(t, refused)
			s.isOut(t, "somebody")
			ok.True(!strings.Contains(s.log.String(), "@example.com"))
			if tt.text == noAccount { // The person is not shown which of the two it is.
				reason := "the issuer sent no verified address"
				if tt.name == "unknown" || tt.name == "malformed address" {
					reason = "nobody who may sign in has the address"
				}
				ok.True(strings.Contains(s.log.String(), reason))
			}
		})
	}
}

func TestPersonWhoLostTheirAccessIsRefusedAsAnUnknownOne(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	_, err := s.staff.RemoveMember(t.Context(), s.company, s.users[viewer])
	ok.NoErr(err)
	texts := map[string]string{}
	for _, who := range []string{viewer, "unknown"} {
		s.clients[who] = s.newClient(t)
		asked := s.lead(t, i, who, begin)
		refused := s.comeBack(t, who, i.issue(asked, s.claimsOf(i, asked, who)), asked.Get("state"))
		ok.Equal(refused.StatusCode, http.StatusUnauthorized)
		texts[who] = strings.ReplaceAll(refused.text, refused.Header.Get("X-Request-Id"), "")
		s.isOut(t, who)
	}
	ok.Equal(texts[viewer], texts["unknown"])
	ok.Equal(strings.Count(s.log.String(), "nobody who may sign in has the address"), 2)
}

func TestAddressMayBeAtTheUserInfoEndpointAlone(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	s.clients["somebody"] = s.newClient(t)
	i.userInfo = claims{"sub": "sub-" + owner, "email": address(owner), "email_verified": "true"}
	asked := s.lead(t, i, "somebody", begin)
	about := s.claimsOf(i, asked, owner)
	delete(about, "email")
	delete(about, "email_verified")
	in := s.comeBack(t, "somebody", i.issue(asked, about), asked.Get("state"))
	ok.Equal(in.Header.Get("Location"), "/business/"+s.company.String())
}

func TestStateIsOfOneBrowserAndWorksOnceForFiveMinutes(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	for _, who := range []string{"somebody", "thief", "late", "wrong", "none"} {
		s.clients[who] = s.newClient(t)
	}
	refused := func(who, code, state string) {
		t.Helper()
		got := s.comeBack(t, who, code, state)
		ok.Equal(got.StatusCode, http.StatusUnauthorized)
		ok.True(got.has(notAccepted))
		s.isOut(t, who)
	}
	// A code and a state that somebody plants: in a browser that began nothing, and in one that began another one.
	asked := s.lead(t, i, "somebody", begin)
	code := i.issue(asked, s.claimsOf(i, asked, owner))
	refused("none", code, asked.Get("state"))
	s.lead(t, i, "thief", begin)
	refused("thief", code, asked.Get("state"))
	other := s.lead(t, i, "wrong", begin)
	refused("wrong", i.issue(other, s.claimsOf(i, other, owner)), "")
	refused("wrong", i.issue(other, s.claimsOf(i, other, owner)), "AAAA"+other.Get("state")[4:])
	// The code of one way, with the state of another.
	refused("wrong", code, other.Get("state"))

	asked = s.lead(t, i, "somebody", begin)
	code = i.issue(asked, s.claimsOf(i, asked, owner))
	before := s.clients["somebody"].Jar.Cookies(s.address(t))
	ok.Equal(s.comeBack(t, "somebody", code, asked.Get("state")).StatusCode, http.StatusSeeOther)
	// A browser whose cookies were copied before.
	s.clients["copy"] = s.newClient(t)
	s.clients["copy"].Jar.SetCookies(s.address(t), before)
	refused("copy", i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))

	asked = s.lead(t, i, "late", begin)
	s.clock.advance(5 * time.Minute)
	refused("late", i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))
}

func TestCodeIsNotUsedTwice(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	s.clients["first"], s.clients["second"] = s.newClient(t), s.newClient(t)
	asked := s.lead(t, i, "first", begin)
	code := i.issue(asked, s.claimsOf(i, asked, owner))
	ok.Equal(s.comeBack(t, "first", code, asked.Get("state")).StatusCode, http.StatusSeeOther)
	second := s.lead(t, i, "second", begin)
	ok.Equal(s.comeBack(t, "second", code, second.Get("state")).StatusCode, http.StatusUnauthorized)
	s.isOut(t, "second")
	ok.True(strings.Contains(s.log.String(), "invalid_grant"))
}

func TestIssuerThatSendsAnErrorBackIsNotRepeated(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	s.clients["somebody"] = s.newClient(t)
	asked := s.lead(t, i, "somebody", begin)
	got := s.get(t, "somebody", "/sign-in/oidc?error=access_denied&error_description=Call+0800&state="+asked.Get("state"))
	ok.Equal(got.StatusCode, http.StatusUnauthorized)
	ok.True(got.has(notAccepted))
	ok.True(!got.has("0800"))
}

func TestAnswerOfAnotherIssuerIsRefused(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	i.endpoint["authorization_response_iss_parameter_supported"] = true
	s := newSite(t, i.use)
	for from, status := range map[string]int{
		"": http.StatusUnauthorized, "https://evil.example": http.StatusUnauthorized, i.URL: http.StatusSeeOther,
	} {
		s.clients["somebody"] = s.newClient(t)
		asked := s.lead(t, i, "somebody", begin)
		query := url.Values{"code": {i.issue(asked, s.claimsOf(i, asked, owner))}, "state": asked["state"]}
		if from != "" {
			query.Set("iss", from)
		}
		ok.Equal(s.get(t, "somebody", "/sign-in/oidc?"+query.Encode()).StatusCode, status) // from
	}
}

func TestPathOfOthersIsNotWhereASignInLeads(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	for _, next := range []string{"//evil.example", "https://evil.example/business", `/\evil.example`, begin} {
		s.clients["somebody"] = s.newClient(t)
		asked := s.lead(t, i, "somebody", begin+"?next="+url.QueryEscape(next))
		in := s.comeBack(t, "somebody", i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))
		ok.Equal(in.Header.Get("Location"), "/business/"+s.company.String()) // next
	}
}

func TestIssuerThatIsDownStopsNothingElse(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	i.away = true
	s := newSite(t, i.use)
	s.clients["somebody"] = s.newClient(t)
	ok.True(s.get(t, "somebody", "/sign-in").has("Email me a code"))
	for range 2 {
		down := s.get(t, "somebody", begin+"?next=%2Faccount")
		ok.Equal(down.StatusCode, http.StatusServiceUnavailable)
		ok.Equal(down.Header.Get("Retry-After"), "3")
		ok.True(down.has(isAway))
		ok.True(down.has("Email me a code"))
		ok.True(down.has(`name="next" value="/account"`))
	}
	i.set(func() { i.away = false })
	ok.True(s.get(t, "somebody", begin).has(isAway)) // not asked again at once
	s.clock.advance(3 * time.Second)
	asked := s.lead(t, i, "somebody", begin)

	// The issuer goes away while the person is there.
	i.set(func() { i.away = true })
	gone := s.comeBack(t, "somebody", i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))
	ok.Equal(gone.StatusCode, http.StatusServiceUnavailable)
	s.isOut(t, "somebody")
	// What it said of itself is kept for a day, and longer while it is away.
	s.clock.advance(25 * time.Hour)
	s.lead(t, i, "somebody", begin)
	i.set(func() { i.away = false })
	s.clock.advance(3 * time.Second)
	s.lead(t, i, "somebody", begin)
	s.lead(t, i, "somebody", begin)
	i.set(func() { ok.Equal(i.asked, 2) })
}

func TestIssuerWhoseEndpointsAreNotProtectedIsNotUsed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri", "issuer"} {
		for _, value := range []string{"http://evil.example/token", "", "javascript:alert(1)"} {
			ok, i := is.New(t), newIssuer(t)
			i.endpoint[name] = value
			s := newSite(t, i.use)
			got := s.get(t, nobody, begin)
			ok.Equal(got.StatusCode, http.StatusServiceUnavailable) // name
		}
	}
}

func TestWrongSecretOfTheClientIsInTheLogWithoutTheTextOfTheIssuer(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use, func(c *console.Config) { c.OIDC.ClientSecret = "another" })
	asked := s.lead(t, i, nobody, begin)
	got := s.comeBack(t, nobody, i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))
	ok.Equal(got.StatusCode, http.StatusUnauthorized)
	ok.True(strings.Contains(s.log.String(), "401 invalid_client"))
	ok.True(!strings.Contains(s.log.String(), "may not"))
	ok.True(!strings.Contains(s.log.String(), "another"))
}

func TestOtherSiteCannotPressTheButton(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	for _, from := range []string{"cross-site", "same-site"} {
		r := s.request(t, http.MethodGet, begin+"?next=%2Faccount", nil)
		r.Header.Set("Sec-Fetch-Site", from)
		ok.Equal(s.do(t, nobody, r).Header.Get("Location"), "/sign-in?next=%2Faccount")
		r = s.request(t, http.MethodGet, "/account/confirm/oidc", nil)
		r.Header.Set("Sec-Fetch-Site", from)
		ok.Equal(s.do(t, owner, r).Header.Get("Location"), "/account")
	}
	// The way back comes from there.
	s.clients["somebody"] = s.newClient(t)
	asked := s.lead(t, i, "somebody", begin)
	code := i.issue(asked, s.claimsOf(i, asked, owner))
	r := s.request(t, http.MethodGet, "/sign-in/oidc?"+url.Values{"code": {code}, "state": asked["state"]}.Encode(), nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	ok.Equal(s.do(t, "somebody", r).StatusCode, http.StatusSeeOther)
}

func TestTriesAtAnIssuerAreLimited(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	for range 20 {
		ok.Equal(s.comeBack(t, nobody, "code", "state").StatusCode, http.StatusUnauthorized)
	}
	over := s.comeBack(t, nobody, "code", "state")
	ok.Equal(over.StatusCode, http.StatusTooManyRequests)
	ok.Equal(over.Header.Get("Retry-After"), "3600")
}

func TestConsoleChecksItsIssuer(t *testing.T) {
	t.Parallel()
	svc, err := ticketing.New(memory.New(), nil)
	is.New(t).NoErr(err)
	for _, address := range []string{
		"", "a.example", "http://a.example", "https://", "https://a.example/?x=1", "https://u@a.example", "ftp://a.example",
	} {
		_, err := console.New(svc, &console.Config{OIDC: &console.OIDC{Issuer: address, ClientID: "id"}})
		is.New(t).True(err != nil) // address
	}
	_, err = console.New(svc, &console.Config{OIDC: &console.OIDC{Issuer: "https://a.example"}})
	is.New(t).True(err != nil) // no client id
	_, err = console.New(svc, &console.Config{
		OIDC:     &console.OIDC{Issuer: "https://a.example", ClientID: "id"},
		Identify: func(*http.Request) (console.Person, error) { return console.Person{}, console.ErrNobody },
	})
	is.New(t).True(err != nil) // with Identify
	_, err = console.New(svc, &console.Config{OIDC: &console.OIDC{Issuer: "https://a.example/realms/a", ClientID: "id"}})
	is.New(t).NoErr(err) // nothing is asked before somebody signs in
	without := newSite(t)
	is.New(t).Equal(without.get(t, nobody, begin).StatusCode, http.StatusNotFound)
	is.New(t).True(!without.get(t, nobody, "/sign-in").has("/sign-in/oidc"))
}
