package ticketing_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const (
	linkRefused = "This link has been used or has expired. Ask for a new one."
	codeRefused = "This code is not right, has been used or has expired. Check it, or ask for a new one."
)

// browserSecret returns the secret of a browser, which signs in by codes.
func browserSecret(of string) string { return of + strings.Repeat("x", 30) }

// link makes a link for a user.
func (e *env) link(t testing.TB, userID uuid.UUID) ticketing.Link {
	t.Helper()
	link, err := e.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: userID, Actor: "test"})
	is.New(t).NoErr(err)
	return link
}

// ask asks for a code for an address in a browser.
func (e *env) ask(t testing.TB, email, browser string) ticketing.CodeRequest {
	t.Helper()
	asked, err := e.Accounts().RequestCode(t.Context(), email, browserSecret(browser))
	is.New(t).NoErr(err)
	return asked
}

// try uses a code in a browser, and returns the session and what a refusal said.
func (e *env) try(t testing.TB, email, browser, text string) (ticketing.SignedIn, string) {
	t.Helper()
	begun, err := e.Accounts().UseCode(t.Context(), email, browserSecret(browser), text, laptop)
	if err != nil {
		is.New(t).Equal(code(err), ticketing.CodeSignInRequired)
		is.New(t).Equal(begun, ticketing.SignedIn{})
	}
	return begun, said(err)
}

// wrongCode returns a code that is not the given one.
func wrongCode(right string) string {
	if right[0] == '3' {
		return "4" + right[1:]
	}
	return "3" + right[1:]
}

func TestALinkSignsInOnce(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		ada := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID
		link, err := e.Accounts().CreateLink(t.Context(), ticketing.LinkParams{
			Email: " ADA@adire.ng", CompanyID: company, Actor: "serve command",
		})
		is.NoErr(err)
		is.Equal(link.UserID, ada)
		is.Equal(show(t, link.ExpiresAt), `"2026-11-21T10:00:00.000Z"`)
		is.True(len(link.Token) <= 100)
		begun, err := e.Accounts().OpenLink(t.Context(), link.Token, laptop)
		is.NoErr(err)
		is.Equal(begun.CompanyID, company)
		is.Equal(begun.Session.Method, ticketing.SignInLink)
		is.Equal(e.goesOn(t, begun.Secret).UserID, ada)
		is.Equal(said(second(e.Accounts().OpenLink(t.Context(), link.Token, laptop))), linkRefused)

		late, ok := e.link(t, ada), e.link(t, ada)
		e.clock.advance(30*time.Minute - time.Millisecond)
		is.NoErr(second(e.Accounts().OpenLink(t.Context(), ok.Token, laptop)))
		e.clock.advance(time.Millisecond)
		is.Equal(said(second(e.Accounts().OpenLink(t.Context(), late.Token, laptop))), linkRefused)
		fresh := e.link(t, ada)
		for i := range fresh.Token {
			changed := []byte(fresh.Token)
			if changed[i] = 'A'; fresh.Token[i] == 'A' {
				changed[i] = 'B'
			}
			is.Equal(said(second(e.Accounts().OpenLink(t.Context(), string(changed), laptop))), linkRefused)
		}
		act := e.acts(t, uuid.Nil)[0]
		is.Equal(act.Action, "link.create")
		is.Equal(act.Subject, "user "+ada.String())
		is.True(!strings.Contains(show(t, e.acts(t, uuid.Nil)), fresh.Token[50:]))
	})
}

func TestALinkIsForWhoMaySignIn(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		company, other := e.unverified(t), e.unverified(t)
		e.join(t, company, "boss@adire.ng", ticketing.RoleOwner)
		ada := e.join(t, company, "ada@adire.ng", ticketing.RoleViewer).UserID
		gone := e.join(t, company, "gone@adire.ng", ticketing.RoleViewer).UserID
		is.New(t).NoErr(second(e.staff.RemoveMember(t.Context(), company, gone)))
		chi := e.employ(t, "chi@platform.ng", ticketing.StaffSupport).UserID
		for _, test := range []struct {
			params ticketing.LinkParams
			want   string
		}{
			{ticketing.LinkParams{UserID: ada, CompanyID: company, Actor: "test"}, ""},
			{ticketing.LinkParams{UserID: ada, CompanyID: other, Actor: "test"}, "The company was not found."},
			{ticketing.LinkParams{UserID: chi, CompanyID: other, Actor: "test"}, ""},
			{ticketing.LinkParams{UserID: chi, CompanyID: uuid.New(), Actor: "test"}, "The company was not found."},
			{ticketing.LinkParams{UserID: uuid.New(), Actor: "test"}, "The user was not found."},
			{ticketing.LinkParams{Email: "no@adire.ng", Actor: "test"}, "The user was not found."},
			{
				ticketing.LinkParams{UserID: gone, Actor: "test"},
				"The user is a member of no company and has no role on the platform.",
			},
			{ticketing.LinkParams{UserID: ada}, "actor: must not be empty"},
			{ticketing.LinkParams{Actor: "test"}, "email: must not be empty"},
			{ticketing.LinkParams{UserID: ada, Email: "ada@adire.ng", Actor: "x"}, "email: must be empty if there is a userId"},
		} {
			_, err := e.Accounts().CreateLink(t.Context(), test.params)
			is.New(t).Equal(said(err), test.want)
		}
	})
}

// TestALinkThatIsUsedTwiceAtOnceSignsInOnce checks that of several uses at the same time exactly one succeeds.
func TestALinkThatIsUsedTwiceAtOnceSignsInOnce(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		link := e.link(t, ada)
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = second(e.Accounts().OpenLink(t.Context(), link.Token, laptop)) })
		}
		wg.Wait()
		opened := 0
		for _, err := range errs {
			if err == nil {
				opened++
			} else {
				is.Equal(said(err), linkRefused)
			}
		}
		is.Equal(opened, 1)
		listed, err := e.Accounts().ListSessions(t.Context(), ada)
		is.NoErr(err)
		is.Equal(len(listed), 1)
	})
}

func TestACodeSignsInOnceInItsBrowser(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		const ada = "ada@adire.ng"
		user := e.join(t, e.unverified(t), ada, ticketing.RoleOwner).UserID
		asked := e.ask(t, " Ada@adire.ng", "laptop")
		is.Equal(asked.User.ID, user)
		is.Equal(asked.User.Email, ada)
		is.Equal(show(t, asked.ExpiresAt), `"2026-11-21T10:00:00.000Z"`)
		is.True(regexp.MustCompile(`^[34679ACDEFGHJKMNPQRTUWXY]{4}-[34679ACDEFGHJKMNPQRTUWXY]{4}$`).MatchString(asked.Code))

		_, refusal := e.try(t, ada, "phone", asked.Code) // another browser
		is.Equal(refusal, codeRefused)
		_, refusal = e.try(t, "bisi@adire.ng", "laptop", asked.Code)
		is.Equal(refusal, codeRefused)
		_, err := e.Accounts().UseCode(t.Context(), ada, "", asked.Code, laptop)
		is.Equal(said(err), codeRefused)
		_, refusal = e.try(t, "not an address", "laptop", asked.Code)
		is.Equal(refusal, codeRefused)
		// Case and what stands between the characters do not matter.
		begun, refusal := e.try(t, "ADA@adire.ng ", "laptop", " "+strings.ToLower(strings.ReplaceAll(asked.Code, "-", " ")))
		is.Equal(refusal, "")
		is.Equal(begun.Session.UserID, user)
		is.Equal(begun.Session.Method, ticketing.SignInCode)
		e.goesOn(t, begun.Secret)
		_, refusal = e.try(t, ada, "laptop", asked.Code)
		is.Equal(refusal, codeRefused) // used
		// The link of the same mail is used up, too.
		is.Equal(said(second(e.Accounts().OpenLink(t.Context(), asked.LinkToken, laptop))), linkRefused)

		e.clock.advance(time.Hour)
		asked = e.ask(t, ada, "laptop")
		is.NoErr(second(e.Accounts().OpenLink(t.Context(), asked.LinkToken, laptop)))
		_, refusal = e.try(t, ada, "laptop", asked.Code)
		is.Equal(refusal, codeRefused) // used up by the link

		e.clock.advance(time.Hour)
		first, last := e.ask(t, ada, "laptop"), e.ask(t, ada, "laptop")
		phone := e.ask(t, ada, "phone")
		_, refusal = e.try(t, ada, "laptop", first.Code)
		is.Equal(refusal, codeRefused) // Only the last one of a browser counts.
		_, refusal = e.try(t, ada, "laptop", last.Code)
		is.Equal(refusal, "")
		e.clock.advance(30 * time.Minute)
		_, refusal = e.try(t, ada, "phone", phone.Code)
		is.Equal(refusal, codeRefused) // expired
	})
}

// TestACodeHasFiveTries checks that the right code is refused after five wrong ones, and that wrong codes of other
// browsers take no tries.
func TestACodeHasFiveTries(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		const ada = "ada@adire.ng"
		e.join(t, e.unverified(t), ada, ticketing.RoleOwner)
		for _, test := range []struct {
			wrong int
			want  string
		}{{4, ""}, {5, codeRefused}} {
			asked := e.ask(t, ada, "laptop")
			for range test.wrong {
				_, refusal := e.try(t, ada, "laptop", wrongCode(asked.Code))
				is.Equal(refusal, codeRefused)
				_, refusal = e.try(t, ada, "phone", asked.Code)
				is.Equal(refusal, codeRefused)
			}
			_, refusal := e.try(t, ada, "laptop", asked.Code)
			is.Equal(refusal, test.want)
		}
		for _, text := range []string{"", "-", strings.Repeat("é", 10_000), "\xff", "AAAAAAAAA"} {
			asked := e.ask(t, ada, "laptop")
			_, refusal := e.try(t, ada, "laptop", text)
			is.Equal(refusal, codeRefused)
			e.clock.advance(time.Hour)
			_ = asked
		}
	})
}

// TestSixWrongCodesAtOnceCountAsFive checks that tries at the same time are counted one by one: a right code among them
// counts only if fewer than five wrong ones came before it.
func TestSixWrongCodesAtOnceCountAsFive(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		const ada = "ada@adire.ng"
		e.join(t, e.unverified(t), ada, ticketing.RoleOwner)
		asked := e.ask(t, ada, "laptop")
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				errs[i] = second(e.Accounts().UseCode(t.Context(), ada, browserSecret("laptop"), wrongCode(asked.Code), laptop))
			})
		}
		wg.Wait()
		for _, err := range errs {
			is.Equal(said(err), codeRefused)
		}
		_, refusal := e.try(t, ada, "laptop", asked.Code)
		is.Equal(refusal, codeRefused)
		// Of several right codes at the same time one signs in.
		asked = e.ask(t, ada, "laptop")
		for i := range errs {
			wg.Go(func() {
				errs[i] = second(e.Accounts().UseCode(t.Context(), ada, browserSecret("laptop"), asked.Code, laptop))
			})
		}
		wg.Wait()
		in := 0
		for _, err := range errs {
			if err == nil {
				in++
			}
		}
		is.Equal(in, 1)
	})
}

// TestNobodyLearnsWhoMaySignIn checks that a request for a code returns the same for an unknown address, for a user who
// may not sign in, and for one who has asked too often.
func TestNobodyLearnsWhoMaySignIn(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		e.join(t, company, "boss@adire.ng", ticketing.RoleOwner)
		gone := e.join(t, company, "gone@adire.ng", ticketing.RoleViewer).UserID
		is.NoErr(second(e.staff.RemoveMember(t.Context(), company, gone)))
		chi := e.employ(t, "chi@platform.ng", ticketing.StaffSupport).UserID
		var last ticketing.CodeRequest
		for i := range 5 {
			last = e.ask(t, "chi@platform.ng", fmt.Sprint("browser", i))
			is.Equal(last.User.ID, chi)
		}
		none := ticketing.CodeRequest{ExpiresAt: last.ExpiresAt}
		recorded := len(e.acts(t, uuid.Nil))
		for _, address := range []string{"unknown@adire.ng", "gone@adire.ng", "chi@platform.ng"} {
			is.Equal(e.ask(t, address, "laptop"), none)
			_, refusal := e.try(t, address, "laptop", "33333333")
			is.Equal(refusal, codeRefused)
		}
		// Neither the requests nor the tries fill the audit log.
		is.Equal(len(e.acts(t, uuid.Nil)), recorded)
		begun, refusal := e.try(t, "chi@platform.ng", "browser4", last.Code) // Those that were made stay good.
		is.Equal(refusal, "")
		e.goesOn(t, begun.Secret)
		e.clock.advance(15 * time.Minute)
		is.True(e.ask(t, "chi@platform.ng", "laptop").User != nil)

		for _, test := range []struct{ email, secret, want string }{
			{"chi", browserSecret("x"), "email: must be one email address, such as ada@example.com"},
			{"chi@platform.ng", strings.Repeat("x", 21), "browserSecret: must be 22 to 200 characters"},
			{"chi@platform.ng", strings.Repeat("x", 201), "browserSecret: must be 22 to 200 characters"},
		} {
			_, err := e.Accounts().RequestCode(t.Context(), test.email, test.secret)
			is.Equal(said(err), test.want)
		}
	})
}

// TestRequestedCodeIsInTheAuditLog checks that the log has each code and its user, by somebody who was not signed in,
// and neither the code nor the secret of its link.
func TestRequestedCodeIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		ada := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID
		e.clock.advance(time.Second)
		asked := e.ask(t, "ada@adire.ng", "laptop")
		act := e.acts(t, uuid.Nil)[0]
		is.Equal([]string{act.Action, act.Actor, act.Subject}, []string{"code.request", "anonymous", "user " + ada.String()})
		is.True(act.CompanyID == nil)
		is.Equal(string(act.Changes), `{"expiresAt":{"before":null,"after":`+show(t, asked.ExpiresAt)+`}}`)
		for _, logged := range e.acts(t, company) {
			is.True(logged.Action != "code.request")
		}
	})
}

// TestManyLinksOfAUserAreLimited checks that links that nobody uses do not pile up, and that the newest stay good.
func TestManyLinksOfAUserAreLimited(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		first := e.link(t, ada)
		var links []ticketing.Link
		for range 100 {
			e.clock.advance(time.Second)
			links = append(links, e.link(t, ada))
		}
		is.Equal(said(second(e.Accounts().OpenLink(t.Context(), first.Token, laptop))), linkRefused)
		is.NoErr(second(e.Accounts().OpenLink(t.Context(), links[0].Token, laptop)))
		is.NoErr(second(e.Accounts().OpenLink(t.Context(), links[99].Token, laptop)))
	})
}
