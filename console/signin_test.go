package console_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

var (
	linkInMail = regexp.MustCompile(`http://[^/]+/sign-in/link#(\S+)`)
	codeInMail = regexp.MustCompile(`    ([0-9A-Z]{4}-[0-9A-Z]{4})`)
)

// askForCode makes a new browser ask for a code and returns the mail.
func (s *site) askForCode(t *testing.T, who, email, next string) ticketing.Mail {
	t.Helper()
	s.clients[who] = s.newClient(t)
	asked := s.post(t, who, "/sign-in", "email", email, "next", next)
	is.New(t).Equal(asked.StatusCode, http.StatusSeeOther)
	return s.mail(t)
}

func TestPersonSignsInByTheLinkOfAMail(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	mail := s.askForCode(t, "somebody", "Owner@Example.com ", "")
	ok.Equal(mail.To, address(owner))
	token := linkInMail.FindStringSubmatch(mail.Text)[1]

	ok.True(s.get(t, "somebody", "/sign-in/link").has(`action="/sign-in/link"`))
	in := s.post(t, "somebody", "/sign-in/link", "token", token)
	ok.True(s.follow(t, "somebody", in).has("Overview"))

	again := s.post(t, nobody, "/sign-in/link", "token", token)
	ok.Equal(again.StatusCode, http.StatusUnauthorized)
	ok.True(again.has("has been used or has expired"))
}

func TestPersonSignsInByCodeAndComesToThePageThatTheyWanted(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.clients["somebody"] = s.newClient(t)
	wanted := "/account"
	sent := s.get(t, "somebody", wanted)
	ok.Equal(sent.StatusCode, http.StatusSeeOther)
	ok.Equal(sent.Header.Get("Location"), "/sign-in?next=%2Faccount")

	mail := s.askForCode(t, "somebody", address(viewer), wanted)
	code := codeInMail.FindStringSubmatch(mail.Text)[1]
	ok.True(s.get(t, "somebody", "/sign-in/code").has(address(viewer)))
	in := s.post(t, "somebody", "/sign-in/code", "code", strings.ToLower(code), "next", wanted)
	ok.Equal(in.Header.Get("Location"), wanted)
	ok.True(s.follow(t, "somebody", in).has(address(viewer)))
}

func TestCodeCountsOnlyInTheBrowserThatAskedForIt(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	first := s.askForCode(t, "first", address(owner), "")
	s.askForCode(t, "second", address(owner), "")
	code := codeInMail.FindStringSubmatch(first.Text)[1]
	ok.Equal(s.post(t, "second", "/sign-in/code", "code", code).StatusCode, http.StatusUnauthorized)
	ok.Equal(s.post(t, nobody, "/sign-in/code", "code", code).Header.Get("Location"), "/sign-in")
	ok.Equal(s.post(t, "first", "/sign-in/code", "code", code).StatusCode, http.StatusSeeOther)
}

// TestServersShareTheLimitsOfCodes checks that a second server gives an attacker no further tries of a code, and a user
// no further mails.
func TestServersShareTheLimitsOfCodes(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	handler, err := console.New(s.Service, &console.Config{Mailer: mailbox(s.mails), Clock: s.clock.now})
	ok.NoErr(err)
	second := httptest.NewServer(handler)
	t.Cleanup(second.Close)
	servers := []*httptest.Server{s.server, second}
	code := codeInMail.FindStringSubmatch(s.askForCode(t, "somebody", address(owner), "").Text)[1]
	for i := range 5 {
		s.server = servers[i%2]
		ok.Equal(s.post(t, "somebody", "/sign-in/code", "code", "0000-0000").StatusCode, http.StatusUnauthorized)
	}
	ok.Equal(s.post(t, "somebody", "/sign-in/code", "code", code).StatusCode, http.StatusUnauthorized)

	for i := range 4 { // and the one before
		s.server = servers[i%2]
		ok.Equal(s.askForCode(t, "somebody", address(owner), "").To, address(owner))
	}
	s.post(t, "somebody", "/sign-in", "email", address(owner))
	ok.Equal(s.askForCode(t, "somebody", address(viewer), "").To, address(viewer)) // the next mail
	log, err := s.staff.ListAudit(t.Context(), uuid.Nil, ticketing.AuditFilter{Action: "code.request"})
	ok.NoErr(err)
	ok.Equal(len(log.Items), 6)
	ok.True(s.get(t, auditor, "/platform/audit").has("Asked for a sign-in code"))
}

// TestPlantedSessionIsWorthNothingAfterTheSignIn signs in over a cookie that somebody else knows: one of their own
// session, and one of no session. Neither becomes the person's, and the planted session ends.
func TestPlantedSessionIsWorthNothingAfterTheSignIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		planted func(*testing.T, *site) string
	}{
		{"session of the attacker", func(t *testing.T, s *site) string {
			t.Helper()
			return s.clients[stranger].Jar.Cookies(s.address(t))[0].Value
		}},
		{"secret of no session", func(t *testing.T, s *site) string {
			t.Helper()
			known := s.clients[stranger].Jar.Cookies(s.address(t))[0].Value
			s.post(t, stranger, "/account/sign-out")
			return known
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newSite(t)
			planted := []*http.Cookie{{Name: "ticketing", Value: tt.planted(t, s), Path: "/"}}
			s.clients["victim"], s.clients["attacker"] = s.newClient(t), s.newClient(t)
			s.clients["victim"].Jar.SetCookies(s.address(t), planted)
			s.clients["attacker"].Jar.SetCookies(s.address(t), planted)
			link, err := s.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: s.users[owner], Actor: "test"})
			ok.NoErr(err)
			ok.Equal(s.post(t, "victim", "/sign-in/link", "token", link.Token).StatusCode, http.StatusSeeOther)
			ok.True(s.get(t, "victim", "/account").has(address(owner)))
			ok.True(s.clients["victim"].Jar.Cookies(s.address(t))[0].Value != planted[0].Value)
			ok.Equal(s.get(t, "attacker", "/account").StatusCode, http.StatusSeeOther)
			ok.Equal(s.get(t, "attacker", "/api/v2/account").code(t), "SIGN_IN_REQUIRED")
		})
	}
}

// TestCodeHasFiveTries enters wrong codes until the right one is refused as well.
func TestCodeHasFiveTries(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	enter := func(code string) page { return s.post(t, "somebody", "/sign-in/code", "code", code) }
	right := func() string {
		return codeInMail.FindStringSubmatch(s.askForCode(t, "somebody", address(owner), "").Text)[1]
	}
	code := right()
	for range 4 {
		ok.Equal(enter("0000-0000").StatusCode, http.StatusUnauthorized)
	}
	ok.Equal(enter(code).StatusCode, http.StatusSeeOther) // the fifth try

	code = right()
	for range 5 {
		ok.Equal(enter("0000-0000").StatusCode, http.StatusUnauthorized)
	}
	sixth := enter(code)
	ok.Equal(sixth.StatusCode, http.StatusUnauthorized)
	ok.True(sixth.has("Enter your code"))
	ok.Equal(s.get(t, "somebody", "/account").StatusCode, http.StatusSeeOther) // nobody is signed in
}

func TestUnknownAddressGetsTheSameAnswerAndNoMail(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	known := s.post(t, nobody, "/sign-in", "email", address(owner))
	s.mail(t)
	unknown := s.post(t, nobody, "/sign-in", "email", "nobody@example.com")
	ok.Equal(unknown.StatusCode, known.StatusCode)
	ok.Equal(unknown.Header.Get("Location"), known.Header.Get("Location"))
	s.post(t, nobody, "/sign-in", "email", address(viewer))
	ok.Equal(s.mail(t).To, address(viewer)) // and none before it
}

func TestAddressGetsFiveCodesInAQuarterOfAnHour(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, email := range []string{address(owner), "nobody@example.com"} {
		for range 5 {
			ok.Equal(s.post(t, nobody, "/sign-in", "email", email).StatusCode, http.StatusSeeOther)
		}
		over := s.post(t, nobody, "/sign-in", "email", email)
		ok.Equal(over.StatusCode, http.StatusTooManyRequests)
		ok.True(over.has("Too many attempts"))
		ok.Equal(over.Header.Get("Retry-After"), "900")
	}
	s.clock.advance(16 * time.Minute)
	ok.Equal(s.post(t, nobody, "/sign-in", "email", address(owner)).StatusCode, http.StatusSeeOther)
}

func TestClientHasTwentyTriesAnHour(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for range 20 {
		ok.Equal(s.post(t, nobody, "/sign-in/link", "token", "wrong").StatusCode, http.StatusUnauthorized)
	}
	ok.Equal(s.post(t, nobody, "/sign-in/link", "token", "wrong").StatusCode, http.StatusTooManyRequests)
	s.clock.advance(time.Hour + time.Minute)
	ok.Equal(s.post(t, nobody, "/sign-in/link", "token", "wrong").StatusCode, http.StatusUnauthorized)
}

func TestSignedOutCookieIsWorthNothing(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	stolen := s.clients[owner].Jar.Cookies(s.address(t))
	out := s.post(t, owner, "/account/sign-out")
	ok.Equal(out.Header.Get("Location"), "/sign-in")
	ok.True(s.follow(t, owner, out).has("You are signed out."))
	s.clients["thief"] = s.newClient(t)
	s.clients["thief"].Jar.SetCookies(s.address(t), stolen)
	ok.Equal(s.get(t, "thief", "/business/{companyId}").StatusCode, http.StatusSeeOther)
	ok.Equal(s.get(t, "thief", "/api/v2/business/{companyId}").code(t), "SIGN_IN_REQUIRED")
}

func TestSignInLeadsToPathsOfTheConsoleAlone(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, next := range []string{
		"//evil.example", "/\\evil.example", "https://evil.example/business", "/business//evil.example",
		"javascript:alert(1)",
		"/business\r\nX: y", "/elsewhere", "/business/../../elsewhere", "business",
	} {
		in, err := s.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: s.users[owner], Actor: "test"})
		ok.NoErr(err)
		s.clients["somebody"] = s.newClient(t)
		ok.Equal(s.post(t, "somebody", "/sign-in/link", "token", in.Token).StatusCode, http.StatusSeeOther)
		r := s.request(t, http.MethodGet, "/sign-in", nil)
		q := r.URL.Query()
		q.Set("next", next)
		r.URL.RawQuery = q.Encode()
		ok.Equal(s.do(t, "somebody", r).Header.Get("Location"), "/business/"+s.company.String()) // next
		s.clock.advance(4 * time.Minute)
	}
}
