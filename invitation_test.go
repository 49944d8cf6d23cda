package ticketing_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
)

// invited is what a company has of somebody whom it invited.
type invited struct {
	company uuid.UUID
	user    uuid.UUID
	link    string
	session string // of the company, which has opened the link itself; empty: it has not
}

const invitedEmail = "new@adire.ng"

// invite invites somebody new. If used is set, the company opens the link and adds a passkey of its own.
func (e *env) invite(t testing.TB, used bool) invited {
	t.Helper()
	is := is.New(t)
	company := e.unverified(t)
	owner := e.as(t, company, e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID)
	made, err := owner.InviteMember(t.Context(), company, ticketing.AddMemberParams{
		Email: invitedEmail, Name: "New", Role: ticketing.RoleViewer,
	})
	is.NoErr(err)
	held := invited{company: company, user: made.Member.UserID, link: made.Link.Token}
	if used {
		begun, err := e.Accounts().OpenLink(t.Context(), held.link, laptop)
		is.NoErr(err)
		held.session = begun.Secret
		is.NoErr(second(e.Accounts().AddPasskey(t.Context(), held.user, phoneKey("AAAA"))))
	}
	return held
}

// passkeys returns how many passkeys a user has.
func (e *env) passkeys(t testing.TB, user uuid.UUID) int {
	t.Helper()
	passkeys, err := e.Accounts().ListPasskeys(t.Context(), user)
	is.New(t).NoErr(err)
	return len(passkeys)
}

// TestAnInvitationOpensNothingElse checks that a company cannot sign in, by a link that it was handed, as somebody who
// has got a role elsewhere: neither when it kept the link nor when it had opened it before.
func TestAnInvitationOpensNothingElse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		gain func(t *testing.T, e *env, other uuid.UUID)
	}{
		{"another company adds them", func(t *testing.T, e *env, other uuid.UUID) {
			t.Helper()
			e.join(t, other, invitedEmail, ticketing.RoleOwner)
		}},
		{"another company invites them", func(t *testing.T, e *env, other uuid.UUID) {
			t.Helper()
			made, err := e.staff.InviteMember(t.Context(), other, ticketing.AddMemberParams{
				Email: invitedEmail, Name: "New", Role: ticketing.RoleOwner,
			})
			is.New(t).NoErr(err)
			is.New(t).True(made.Link == nil)
		}},
		{"they become staff", func(t *testing.T, e *env, _ uuid.UUID) {
			t.Helper()
			e.employ(t, invitedEmail, ticketing.StaffAdministrator)
		}},
		{"they sign in by a code", func(t *testing.T, e *env, _ uuid.UUID) {
			t.Helper()
			_, refusal := e.try(t, invitedEmail, "phone", e.ask(t, invitedEmail, "phone").Code)
			is.New(t).Equal(refusal, "")
		}},
		{"they sign in by a mailed link", func(t *testing.T, e *env, _ uuid.UUID) {
			t.Helper()
			is.New(t).NoErr(second(e.Accounts().OpenLink(t.Context(), e.ask(t, invitedEmail, "phone").LinkToken, laptop)))
		}},
		{"they sign in at a provider", func(t *testing.T, e *env, _ uuid.UUID) {
			t.Helper()
			user, err := e.Accounts().FindUser(t.Context(), invitedEmail)
			is.New(t).NoErr(err)
			is.New(t).NoErr(second(e.Accounts().SignIn(t.Context(), user.ID, ticketing.SignInOIDC, laptop)))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				kept := e.invite(t, false)
				test.gain(t, e, e.unverified(t))
				is.Equal(said(second(e.Accounts().OpenLink(t.Context(), kept.link, laptop))), linkRefused)
			})
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				used := e.invite(t, true)
				test.gain(t, e, e.unverified(t))
				e.ends(t, used.session)
				is.Equal(e.passkeys(t, used.user), 0)
				made, err := e.staff.InviteMember(t.Context(), used.company, ticketing.AddMemberParams{
					Email: invitedEmail, Name: "New", Role: ticketing.RoleViewer,
				})
				is.NoErr(err)
				is.True(made.Link == nil)
			})
		})
	}
}

// TestWhoShowedWhoTheyAreStaysSignedIn checks that a new role ends nothing of a user who has signed in in another way
// than by an invitation, and that their own company may remove and add them.
func TestWhoShowedWhoTheyAreStaysSignedIn(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		held := e.invite(t, true)
		is.NoErr(second(e.staff.UpdateMember(t.Context(), held.company, held.user, ticketing.RoleAdministrator)))
		e.goesOn(t, held.session)
		is.NoErr(second(e.staff.RemoveMember(t.Context(), held.company, held.user)))
		e.join(t, held.company, invitedEmail, ticketing.RoleViewer)
		is.Equal(e.passkeys(t, held.user), 1)

		begun, err := e.Accounts().OpenLink(t.Context(), e.link(t, held.user).Token, laptop)
		is.NoErr(err)
		is.Equal(e.passkeys(t, held.user), 0)
		is.NoErr(second(e.Accounts().AddPasskey(t.Context(), held.user, phoneKey("AAAA"))))
		e.join(t, e.unverified(t), invitedEmail, ticketing.RoleViewer)
		e.employ(t, invitedEmail, ticketing.StaffSupport)
		_, refusal := e.try(t, invitedEmail, "phone", e.ask(t, invitedEmail, "phone").Code)
		is.Equal(refusal, "")
		e.goesOn(t, begun.Secret)
		is.Equal(e.passkeys(t, held.user), 1)
	})
}

// countedStore counts the sign-in tokens that are written.
type countedStore struct {
	driver.Store

	puts atomic.Int64
}

type countedTx struct {
	driver.Tx

	puts *atomic.Int64
}

func (s *countedStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		return fn(ctx, countedTx{tx, &s.puts})
	})
}

func (tx countedTx) PutSignInToken(ctx context.Context, t driver.SignInToken) error {
	tx.puts.Add(1)
	return tx.Tx.PutSignInToken(ctx, t)
}

// TestAWrongCodeWritesForUnknownAddressesToo checks that a refusal writes as much for an address that nobody has: the
// time of a commit would show who may sign in.
func TestAWrongCodeWritesForUnknownAddressesToo(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	store := &countedStore{Store: memory.New()}
	e := newEnv(t, store)
	e.join(t, e.unverified(t), invitedEmail, ticketing.RoleViewer)
	for _, address := range []string{invitedEmail, "unknown@adire.ng"} {
		asked := e.ask(t, address, "laptop")
		is.Equal(asked.User != nil, address == invitedEmail)
		before := store.puts.Load()
		_, refusal := e.try(t, address, "laptop", "33333333")
		is.Equal(refusal, codeRefused)
		is.Equal(store.puts.Load()-before, int64(1))
	}
}
