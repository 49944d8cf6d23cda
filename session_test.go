package ticketing_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store/memory"
)

var laptop = ticketing.Client{Browser: "Firefox 151 on Linux", Address: "192.0.2.7"}

// signIn signs a user in by a passkey.
func (e *env) signIn(t testing.TB, userID uuid.UUID) ticketing.SignedIn {
	t.Helper()
	begun, err := e.Accounts().SignIn(t.Context(), userID, ticketing.SignInPasskey, laptop)
	is.New(t).NoErr(err)
	return begun
}

// ends checks that a session has ended.
func (e *env) ends(t testing.TB, secret string) {
	t.Helper()
	_, err := e.Accounts().Session(t.Context(), secret)
	is.New(t).Equal(code(err), ticketing.CodeSignInRequired)
	is.New(t).Equal(said(err), "You are not signed in, or your session has ended.")
}

// goesOn checks that a session has not ended.
func (e *env) goesOn(t testing.TB, secret string) ticketing.Session {
	t.Helper()
	session, err := e.Accounts().Session(t.Context(), secret)
	is.New(t).NoErr(err)
	return session
}

func TestASessionIsListedSeenAndEnded(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		first := e.signIn(t, ada)
		is.Equal(show(t, first.Session), fmt.Sprintf(`{"id":"%s","userId":"%s","method":"PASSKEY",`+
			`"browser":"Firefox 151 on Linux","address":"192.0.2.7","createdAt":"2026-11-21T09:30:00.000Z",`+
			`"confirmedAt":"2026-11-21T09:30:00.000Z","seenAt":"2026-11-21T09:30:00.000Z",`+
			`"expiresAt":"2026-11-21T21:30:00.000Z"}`, first.Session.ID, ada))
		is.Equal(first.CompanyID, uuid.Nil)
		is.Equal(e.goesOn(t, first.Secret), first.Session)

		// The time of the last use is kept to the minute.
		e.clock.advance(59 * time.Second)
		is.Equal(e.goesOn(t, first.Secret), first.Session)
		e.clock.advance(time.Second)
		is.Equal(show(t, e.goesOn(t, first.Secret).SeenAt), `"2026-11-21T09:31:00.000Z"`)

		other := e.signIn(t, ada)
		listed, err := e.Accounts().ListSessions(t.Context(), ada)
		is.NoErr(err)
		is.Equal(len(listed), 2)
		is.Equal(listed[0], other.Session) // newest first
		is.Equal(show(t, listed[1].SeenAt), `"2026-11-21T09:31:00.000Z"`)
		is.NoErr(e.Accounts().EndSession(t.Context(), ada, first.Session.ID))
		is.NoErr(e.Accounts().EndSession(t.Context(), ada, first.Session.ID)) // It has ended already.
		e.ends(t, first.Secret)
		e.goesOn(t, other.Secret)
		third := e.signIn(t, ada)
		n, err := e.Accounts().EndSessions(t.Context(), ada)
		is.NoErr(err)
		is.Equal(n, 2)
		e.ends(t, other.Secret)
		e.ends(t, third.Secret)
		n, err = e.Accounts().EndSessions(t.Context(), ada)
		is.NoErr(err)
		is.Equal(n, 0)
		listed, err = e.Accounts().ListSessions(t.Context(), ada)
		is.NoErr(err)
		is.Equal(show(t, listed), "[]")

		// Staff sign somebody out in their own name.
		fourth := e.signIn(t, ada)
		e.clock.advance(time.Second) // The list of acts is by time.
		n, err = e.Accounts().EndSessionsAs(t.Context(), "command line", ada)
		is.NoErr(err)
		is.Equal(n, 1)
		e.ends(t, fourth.Secret)
		act := e.acts(t, uuid.Nil)[0]
		is.Equal(act.Actor+" "+act.Action+" "+act.Subject, "command line sign_out user "+ada.String())
		_, err = e.Accounts().EndSessionsAs(t.Context(), " ", ada)
		is.True(errors.Is(err, ticketing.CodeInvalidRequest))

		var acts []string
		for _, act := range e.acts(t, uuid.Nil) {
			if act.Actor == "user "+ada.String() {
				is.True(act.CompanyID == nil)
				acts = append(acts, act.Action+" "+string(act.Changes))
			}
		}
		signedIn := `sign_in {"method":{"before":null,"after":"PASSKEY"}}`
		slices.Sort(acts)
		is.Equal(acts, []string{
			signedIn, signedIn, signedIn, signedIn, `sign_out {"sessions":{"before":1,"after":null}}`,
			`sign_out {"sessions":{"before":2,"after":null}}`,
		})
	})
}

// TestSessionsEndByThemselves checks both ends of a session, for people of companies and for staff, with the defaults
// and with limits of the host's own.
func TestSessionsEndByThemselves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		limits     ticketing.SessionLimits
		staff      bool
		idle, life time.Duration
	}{
		{name: "member", idle: 12 * time.Hour, life: 7 * 24 * time.Hour},
		{name: "staff", staff: true, idle: time.Hour, life: 12 * time.Hour},
		{
			name: "own limits", idle: 4 * time.Minute, life: 9 * time.Minute,
			limits: ticketing.SessionLimits{Idle: 4 * time.Minute, Life: 9 * time.Minute},
		},
		{
			name: "own limits of staff", staff: true, idle: 5 * time.Minute, life: 11 * time.Minute,
			limits: ticketing.SessionLimits{StaffIdle: 5 * time.Minute, StaffLife: 11 * time.Minute},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				var err error
				e.Service, err = ticketing.New(e.store, &ticketing.Config{
					SecretKeys: [][]byte{secretKey('a')}, Clock: e.clock.now, Sessions: test.limits,
				})
				is.NoErr(err)
				user := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
				if test.staff {
					e.employ(t, "ada@adire.ng", ticketing.StaffAuditor)
				}
				begun := e.signIn(t, user)
				e.clock.advance(test.idle - time.Millisecond)
				e.goesOn(t, begun.Secret) // It was used in time.
				e.clock.advance(test.idle)
				e.ends(t, begun.Secret)
				listed, err := e.Accounts().ListSessions(t.Context(), user)
				is.NoErr(err)
				is.Equal(len(listed), 0)

				begun = e.signIn(t, user)
				is.Equal(begun.EndsAt.Time, begun.Session.CreatedAt.Add(test.life)) // for the cookie
				step := test.idle - time.Minute
				for used := step; used < test.life; used += step {
					e.clock.advance(step)
					is.True(!e.goesOn(t, begun.Secret).ExpiresAt.After(begun.Session.CreatedAt.Add(test.life)))
				}
				e.clock.advance(step)
				e.ends(t, begun.Secret)
				_, err = e.Accounts().Confirm(t.Context(), begun.Secret, ticketing.SignInPasskey)
				is.Equal(code(err), ticketing.CodeSignInRequired)
			})
		})
	}
	_, err := ticketing.New(memory.New(), &ticketing.Config{Sessions: ticketing.SessionLimits{StaffLife: -1}})
	is.New(t).True(err != nil)
}

// TestALimitOfStaffHoldsAtOnce checks that a session that began before its user joined the staff is as short as theirs.
func TestALimitOfStaffHoldsAtOnce(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		begun := e.signIn(t, e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID)
		e.clock.advance(2 * time.Hour)
		e.goesOn(t, begun.Secret)
		e.employ(t, "ada@adire.ng", ticketing.StaffSupport)
		e.clock.advance(time.Hour)
		e.ends(t, begun.Secret)
	})
}

// TestAConfirmationChangesTheSecret checks that a confirmation replaces the secret, so that a copy of the former one
// opens nothing.
func TestAConfirmationChangesTheSecret(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		begun := e.signIn(t, ada)
		is.True(begun.Session.Confirmed(e.clock.now()))
		e.clock.advance(ticketing.ConfirmFor - time.Millisecond)
		is.True(e.goesOn(t, begun.Secret).Confirmed(e.clock.now()))
		e.clock.advance(time.Millisecond)
		is.True(!e.goesOn(t, begun.Secret).Confirmed(e.clock.now()))
		confirmed, err := e.Accounts().Confirm(t.Context(), begun.Secret, ticketing.SignInCode)
		is.NoErr(err)
		is.True(confirmed.Secret != begun.Secret)
		is.Equal(confirmed.Session.ID, begun.Session.ID)
		is.Equal(confirmed.Session.CreatedAt, begun.Session.CreatedAt)
		is.Equal(confirmed.Session.Method, ticketing.SignInPasskey)
		is.True(e.goesOn(t, confirmed.Secret).Confirmed(e.clock.now()))
		e.ends(t, begun.Secret)
		_, err = e.Accounts().Confirm(t.Context(), begun.Secret, ticketing.SignInCode)
		is.Equal(code(err), ticketing.CodeSignInRequired)
		_, err = e.Accounts().Confirm(t.Context(), confirmed.Secret, "PASSWORD")
		is.Equal(said(err), "method: must be PASSKEY, LINK, CODE or OIDC")

		// Of two confirmations with one secret at the same time one counts.
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				errs[i] = second(e.Accounts().Confirm(t.Context(), confirmed.Secret, ticketing.SignInPasskey))
			})
		}
		wg.Wait()
		is.True((errs[0] == nil) != (errs[1] == nil))
		is.Equal(code(errors.Join(errs...)), ticketing.CodeSignInRequired)
	})
}

// TestSessionsEndWithTheLastRole checks that the sessions of a user end with the last of their memberships and their
// staff role, and not before.
func TestSessionsEndWithTheLastRole(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		one, other := e.unverified(t), e.unverified(t)
		for _, company := range []uuid.UUID{one, other} {
			e.join(t, company, "boss@adire.ng", ticketing.RoleOwner)
			e.join(t, company, "ada@adire.ng", ticketing.RoleViewer)
		}
		e.employ(t, "boss@adire.ng", ticketing.StaffAdministrator)
		ada := e.employ(t, "ada@adire.ng", ticketing.StaffSupport).UserID
		begun := e.signIn(t, ada)
		link, err := e.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: ada, Actor: "test"})
		is.NoErr(err)
		is.NoErr(second(e.staff.RemoveMember(t.Context(), one, ada)))
		is.NoErr(second(e.staff.RemoveMember(t.Context(), other, ada)))
		e.goesOn(t, begun.Secret) // as staff
		is.NoErr(second(e.staff.RemoveStaff(t.Context(), ada)))
		e.ends(t, begun.Secret)
		is.Equal(said(second(e.Accounts().SignIn(t.Context(), ada, ticketing.SignInPasskey, laptop))),
			"This account is a member of no company and has no role on the platform.")
		is.Equal(code(second(e.Accounts().SignIn(t.Context(), uuid.New(), ticketing.SignInPasskey, laptop))),
			ticketing.CodeSignInRequired)
		is.Equal(code(second(e.Accounts().OpenLink(t.Context(), link.Token, laptop))), ticketing.CodeSignInRequired)

		e.join(t, one, "ada@adire.ng", ticketing.RoleOwner)
		e.ends(t, begun.Secret) // It does not come back.
		begun = e.signIn(t, ada)
		is.NoErr(second(e.staff.UpdateMember(t.Context(), one, ada, ticketing.RoleViewer)))
		e.goesOn(t, begun.Secret)
		is.NoErr(second(e.staff.RemoveMember(t.Context(), one, ada)))
		e.ends(t, begun.Secret)
	})
}

func TestAUserHasAHundredSessions(t *testing.T) {
	t.Parallel()
	e := newEnv(t, memory.New())
	ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
	first := e.signIn(t, ada)
	e.clock.advance(time.Second)
	next := e.signIn(t, ada)
	for range 98 {
		e.clock.advance(time.Second)
		e.signIn(t, ada)
	}
	e.goesOn(t, first.Secret)
	e.clock.advance(time.Second)
	e.signIn(t, ada)
	e.ends(t, first.Secret)
	e.goesOn(t, next.Secret)
}

// TestWhatAClientSendsIsShortened checks that nothing of a browser is kept that a page or a store could not show.
func TestWhatAClientSendsIsShortened(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		begun, err := e.Accounts().SignIn(t.Context(), ada, ticketing.SignInOIDC, ticketing.Client{
			Browser: "Fire\x00fox\n\xff" + strings.Repeat("é", 1000), Address: strings.Repeat("1", 65),
		})
		is.NoErr(err)
		is.Equal(begun.Session.Browser, "Firefox"+strings.Repeat("é", 193))
		is.Equal(begun.Session.Address, strings.Repeat("1", 64))
		is.Equal(e.goesOn(t, begun.Secret), begun.Session)
	})
}

// TestNothingElseIsASession checks that only the exact secret of a session opens it: not one changed anywhere, not a
// secret of another session, not a link.
func TestNothingElseIsASession(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		begun, other := e.signIn(t, ada), e.signIn(t, ada)
		is.True(len(begun.Secret) <= 100)
		link, err := e.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: ada, Actor: "test"})
		is.NoErr(err)
		texts := []string{
			"", "session.", link.Token, "session." + strings.TrimPrefix(link.Token, "link."), begun.Secret + "A",
			begun.Secret[:60] + other.Secret[60:], " " + begun.Secret, begun.Secret + "\n",
		}
		for i := range begun.Secret {
			changed := []byte(begun.Secret)
			if changed[i] = 'A'; begun.Secret[i] == 'A' {
				changed[i] = 'B'
			}
			texts = append(texts, string(changed))
		}
		for _, text := range texts {
			e.ends(t, text)
		}
		is.Equal(code(second(e.Accounts().OpenLink(t.Context(), "link."+strings.TrimPrefix(begun.Secret, "session."),
			laptop))), ticketing.CodeSignInRequired)
		e.goesOn(t, begun.Secret)
		is.True(!strings.Contains(e.log.String(), begun.Secret[50:]))
	})
}

// FuzzSession checks that no text but a secret of the service opens a session or a link, and that none of them panics.
func FuzzSession(f *testing.F) {
	e := newEnv(f, memory.New())
	ada := e.join(f, e.unverified(f), "ada@adire.ng", ticketing.RoleOwner).UserID
	begun := e.signIn(f, ada)
	link, err := e.Accounts().CreateLink(f.Context(), ticketing.LinkParams{UserID: ada, Actor: "test"})
	is.New(f).NoErr(err)
	for _, text := range []string{
		"", "session.", "link.", begun.Secret, link.Token, begun.Secret[:len(begun.Secret)-1] + "=",
		"session." + strings.Repeat("A", 86), "link." + strings.Repeat("_", 86),
		begun.Secret[:40] + "\r\n" + begun.Secret[42:],
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		is := is.New(t)
		session, err := e.Accounts().Session(t.Context(), text)
		if text == begun.Secret {
			is.NoErr(err)
			is.Equal(session.UserID, ada)
		} else {
			is.Equal(code(err), ticketing.CodeSignInRequired)
		}
		if text != link.Token {
			_, err = e.Accounts().OpenLink(t.Context(), text, laptop)
			is.Equal(code(err), ticketing.CodeSignInRequired)
		}
	})
}

func TestPeopleWereLastSeen(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		ada := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner)
		bisi := e.join(t, company, "bisi@adire.ng", ticketing.RoleViewer)
		for range 2 {
			_, err := e.Accounts().SignIn(t.Context(), ada.UserID, ticketing.SignInPasskey, ticketing.Client{})
			is.NoErr(err)
			e.clock.advance(time.Minute)
		}
		ids := []uuid.UUID{bisi.UserID, ada.UserID, uuid.New()}
		seen, err := e.Accounts().LastSeen(t.Context(), ids)
		is.NoErr(err)
		is.Equal(show(t, seen), `[null,"2026-11-21T09:31:00.000Z",null]`)
		_, err = e.Accounts().EndSessions(t.Context(), ada.UserID)
		is.NoErr(err)
		seen, err = e.Accounts().LastSeen(t.Context(), ids)
		is.NoErr(err)
		is.Equal(seen, make([]*ticketing.Time, 3))
	})
}
