package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// addPasskey gives the owner a passkey that no device has.
func (s *site) addPasskey(t *testing.T) {
	t.Helper()
	_, err := s.Accounts().AddPasskey(t.Context(), s.users[owner], ticketing.PasskeyParams{
		ID: "abc", Name: "Phone", Credential: "{}",
	})
	is.New(t).NoErr(err)
}

func TestActAsksForARecentSignInAndKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.addPasskey(t)
	const remove = "/account/passkeys/abc/remove"
	s.clock.advance(9*time.Minute + 59*time.Second)
	ok.Equal(s.post(t, owner, remove).StatusCode, http.StatusSeeOther) // still recent

	s.addPasskey(t)
	s.clock.advance(time.Second)
	ok.Equal(s.postJSON(t, owner, remove, "").code(t), "CONFIRM_REQUIRED")
	asked := s.post(t, owner, remove, "_next", "/account?")
	ok.Equal(asked.StatusCode, http.StatusForbidden)
	ok.True(asked.has("Confirm your identity"))
	ok.True(asked.has(`name="_next" value="/account?"`))
	ok.True(asked.has(`action="` + remove + `"`))

	mailed := s.post(t, owner, remove, "_confirm", "mail")
	ok.True(mailed.has(`name="_code"`))
	code := codeInMail.FindStringSubmatch(s.mail(t).Text)[1]
	wrong := s.post(t, owner, remove, "_code", "AAAA-AAAA")
	ok.Equal(wrong.StatusCode, http.StatusForbidden)
	ok.Equal(strings.Count(wrong.text, `<div class="note bad" role="alert">`), 1)
	before := s.clients[owner].Jar.Cookies(s.address(t))

	done := s.post(t, owner, remove, "_code", code)
	ok.Equal(done.Header.Get("Location"), "/account")
	ok.True(s.follow(t, owner, done).has("The passkey was removed."))
	// The previous secret no longer works.
	s.clients["thief"] = s.newClient(t)
	s.clients["thief"].Jar.SetCookies(s.address(t), before)
	ok.Equal(s.get(t, "thief", "/api/v2/account").code(t), "SIGN_IN_REQUIRED")
}

func TestProgramConfirmsByCode(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.addPasskey(t)
	s.clock.advance(time.Hour)
	ok.Equal(s.postJSON(t, owner, "/account/passkeys/abc/remove", "{}").code(t), "CONFIRM_REQUIRED")
	ok.Equal(s.postJSON(t, owner, "/account/confirm/mail", "").StatusCode, http.StatusOK)
	code := codeInMail.FindStringSubmatch(s.mail(t).Text)[1]
	ok.Equal(s.postJSON(t, owner, "/account/confirm/code", `{"code":"WRONGONE"}`).code(t), "CONFIRM_REQUIRED")
	ok.Equal(s.postJSON(t, owner, "/account/confirm/code", `{"code":"`+code+`"}`).StatusCode, http.StatusOK)
	ok.Equal(s.postJSON(t, owner, "/account/passkeys/abc/remove", "{}").StatusCode, http.StatusOK)
}

func TestRefusedFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.addPasskey(t)
	long := strings.Repeat("<b>&", 50)
	refused := s.post(t, owner, "/account/passkeys/abc/rename", "name", long)
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(strings.Repeat("&lt;b&gt;&amp;", 50)))
	ok.True(!refused.has("<b>"))
	ok.True(refused.has(`aria-invalid="true"`))
	ok.True(refused.has("must be 1 to 100 characters") || refused.has("at most 100"))
	unknown := s.post(t, owner, "/account/passkeys/abc/rename", "name", "a", "bogus", "b")
	ok.True(unknown.has("Bogus: is not a known member"))
	ok.Equal(s.postJSON(t, owner, "/account/passkeys/abc/rename", `{"name":"a","bogus":1}`).StatusCode,
		http.StatusBadRequest)
	ok.Equal(s.postJSON(t, owner, "/account/passkeys/abc/rename", `{"name":"Laptop"}`).StatusCode, http.StatusOK)
	ok.True(s.get(t, owner, "/account").has("Laptop"))
}

func TestSessionsAreSeenAndEndedByTheirPersonAlone(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	sessions, err := s.Accounts().ListSessions(t.Context(), s.users[viewer])
	ok.NoErr(err)
	path := "/account/sessions/" + sessions[0].ID.String() + "/end"
	s.post(t, owner, path)
	ok.Equal(s.get(t, viewer, "/account").StatusCode, http.StatusOK) // not the owner's to end

	s.signIn(t, owner)
	ok.Equal(s.post(t, owner, "/account/sessions/end-others").StatusCode, http.StatusSeeOther)
	left, err := s.Accounts().ListSessions(t.Context(), s.users[owner])
	ok.NoErr(err)
	ok.Equal(len(left), 1)
	ok.Equal(s.post(t, viewer, path).StatusCode, http.StatusSeeOther)
	ok.Equal(s.get(t, viewer, "/account").Header.Get("Location"), "/sign-in?next=%2Faccount")
}

func TestSessionOfAConfirmationStaysWhenTheActFails(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.clock.advance(11 * time.Minute)
	// The endpoint was deleted in the meantime, so its page with the form does not exist either.
	prepare := s.filled("/business/{companyId}/webhooks/{endpointId}/secret/prepare")
	ok.Equal(s.post(t, owner, prepare, "_confirm", "mail").StatusCode, http.StatusForbidden)
	code := codeInMail.FindStringSubmatch(s.mail(t).Text)[1]
	ok.Equal(s.post(t, owner, prepare, "_code", code).StatusCode, http.StatusNotFound)
	ok.Equal(s.get(t, owner, "/account").StatusCode, http.StatusOK)
}

func TestFormOfASessionThatEndedSaysThatNothingWasDone(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	_, err := s.Accounts().EndSessions(t.Context(), s.users[owner])
	ok.NoErr(err)
	got := s.post(t, owner, "/business/{companyId}/branding/save", "brandName", "Lost")
	page := s.follow(t, owner, got)
	ok.True(page.has("Your session has ended, so nothing was changed."))
	ok.True(page.has(`value="/business/` + s.company.String() + `/branding"`)) // leads back
	look, err := s.staff.GetBranding(t.Context(), s.company)
	ok.NoErr(err)
	ok.Equal(look.BrandName, "Adire Concerts")
}

// TestFormIsKeptUntilTheHostHasConfirmed posts an act that needs a recent sign-in at a host that identifies people. The
// page that asks holds what was typed, and the act is done once they have signed in there again.
func TestFormIsKeptUntilTheHostHasConfirmed(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	var proved time.Time
	s := newSite(t, func(c *console.Config) {
		c.Identify = func(*http.Request) (console.Person, error) {
			return console.Person{Email: address(owner), ProvedAt: proved}, nil
		}
	})
	const invite = members + "/invite"
	typed := []string{"name", "Ada <b>", "email", "ada@example.com", "role", "VIEWER", "by", "mail"}
	asked := s.post(t, owner, invite, typed...)
	ok.Equal(asked.StatusCode, http.StatusForbidden)
	ok.True(asked.has("Sign in again in another tab") && asked.has(`action="`+s.filled(invite)+`"`))
	ok.True(asked.has(`name="name" value="Ada &lt;b&gt;"`) && asked.has(`name="by" value="mail"`))
	ok.True(!asked.has("ticketing user link"))
	early := s.post(t, owner, invite, append(typed, "_asked", "true")...)
	ok.Equal(early.StatusCode, http.StatusForbidden)
	ok.True(early.has(`role="alert"`) && early.has(`value="Ada &lt;b&gt;"`))
	ok.Equal(s.postJSON(t, owner, invite, bodies()["member.invite"]).code(t), "CONFIRM_REQUIRED")
	proved = s.clock.now()
	ok.Equal(s.post(t, owner, invite, append(typed, "_asked", "true")...).StatusCode, http.StatusSeeOther)
	ok.Equal(s.mail(t).To, "ada@example.com")
}
