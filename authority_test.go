package ticketing_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

const ownMembership = "Staff do not decide about their own membership of a company. " +
	"Ask an administrator of the platform."

// actorOf returns the operator plane with everything that a user holds in a company.
func (e *env) actorOf(t testing.TB, companyID, userID uuid.UUID) ticketing.Operator {
	t.Helper()
	actor, err := e.Accounts().Actor(t.Context(), companyID, userID)
	is.New(t).NoErr(err)
	return e.As(actor)
}

// TestStaffDoNotMakeThemselvesOwners checks that staff who manage members cannot give themselves what their role on the
// platform does not: neither a membership, nor another role in one, nor the link of a member whom they made up.
func TestStaffDoNotMakeThemselvesOwners(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		e.join(t, company, "ada@adire.ng", ticketing.RoleOwner)
		bisi := e.employ(t, "bisi@platform.ng", ticketing.StaffOnboarding).UserID
		as := func(email string) ticketing.AddMemberParams {
			return ticketing.AddMemberParams{Email: email, Name: "Bisi", Role: ticketing.RoleOwner}
		}
		refusals := func(o ticketing.Operator) []error {
			return []error{
				second(o.AddMember(t.Context(), company, as(" Bisi@Platform.NG "))),
				second(o.InviteMember(t.Context(), company, as("bisi@platform.ng"))),
				second(o.InviteMemberByMail(t.Context(), company, as("bisi@platform.ng"))),
			}
		}
		for _, err := range refusals(e.asStaff(t, bisi)) {
			is.Equal(said(err), ownMembership)
			is.Equal(code(err), ticketing.CodePermissionDenied)
		}
		// The membership that somebody else gave them stays what it is.
		e.join(t, company, "bisi@platform.ng", ticketing.RoleViewer)
		for _, o := range []ticketing.Operator{e.asStaff(t, bisi), e.actorOf(t, company, bisi)} {
			for _, err := range append(refusals(o),
				second(o.UpdateMember(t.Context(), company, bisi, ticketing.RoleOwner)),
				second(o.RemoveMember(t.Context(), company, bisi)),
			) {
				is.Equal(said(err), ownMembership)
			}
		}
		// They manage others, but no link of a new one is handed to them.
		o := e.asStaff(t, bisi)
		made, err := o.InviteMember(t.Context(), company, as("other@adire.ng"))
		is.NoErr(err)
		is.True(made.Link == nil && made.Withheld)
		mailed, err := o.InviteMemberByMail(t.Context(), company, as("other@adire.ng"))
		is.NoErr(err)
		is.True(mailed.Link != nil && !mailed.Withheld)
		is.NoErr(second(o.UpdateMember(t.Context(), company, made.Member.UserID, ticketing.RoleViewer)))

		// An administrator of the platform may, and so may an owner, whatever else they are.
		boss := e.employ(t, "boss@platform.ng", ticketing.StaffAdministrator).UserID
		is.NoErr(second(e.asStaff(t, boss).AddMember(t.Context(), company, as("boss@platform.ng"))))
		is.NoErr(second(e.asStaff(t, boss).UpdateMember(t.Context(), company, boss, ticketing.RoleViewer)))
		made, err = e.asStaff(t, boss).InviteMember(t.Context(), company, as("third@adire.ng"))
		is.NoErr(err)
		is.True(made.Link != nil)
		is.NoErr(second(e.staff.UpdateMember(t.Context(), company, bisi, ticketing.RoleOwner)))
		made, err = e.actorOf(t, company, bisi).InviteMember(t.Context(), company, as("fourth@adire.ng"))
		is.NoErr(err)
		is.True(made.Link != nil)
		is.NoErr(second(e.actorOf(t, company, bisi).RemoveMember(t.Context(), company, bisi)))
	})
}

// TestThePermissionsOfBothRolesAddUp checks that a member who is also staff holds what either role gives, in this
// company alone, and loses it with the role.
func TestThePermissionsOfBothRolesAddUp(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.verified(t), e.verified(t)
		e.employ(t, "boss@platform.ng", ticketing.StaffAdministrator)
		ada := e.employ(t, "ada@platform.ng", ticketing.StaffAuditor).UserID
		e.join(t, company, "owner@adire.ng", ticketing.RoleOwner)
		e.join(t, company, "ada@platform.ng", ticketing.RoleAdministrator)
		issue := func(o ticketing.Operator, company uuid.UUID) error {
			return second(o.IssueAPIKey(t.Context(), company, "gate", ticketing.AllGrants()))
		}
		rate, err := money.ParseRate("250", money.BasisPoints)
		is.NoErr(err)
		schedule := func(o ticketing.Operator, company uuid.UUID) error {
			return second(o.ScheduleCommission(t.Context(), company, ticketing.CommissionParams{
				Rate: rate, EffectiveFrom: new(e.clock.now()),
			}))
		}
		both := e.actorOf(t, company, ada)
		is.NoErr(issue(both, company))
		is.Equal(code(schedule(both, company)), ticketing.CodePermissionDenied) // Neither role has it.
		is.NoErr(second(e.staff.UpdateStaff(t.Context(), ada, ticketing.StaffFinance)))
		is.Equal(code(schedule(both, company)), ticketing.CodePermissionDenied) // The actor is one of before.
		both = e.actorOf(t, company, ada)
		is.NoErr(schedule(both, company))
		is.NoErr(issue(both, company))
		for _, err := range []error{
			schedule(both, other), issue(both, other), second(both.ListStaff(t.Context())),
			second(both.ListSettlements(t.Context(), other, ticketing.PageParams{})),
		} {
			is.Equal(code(err), ticketing.CodeNotFound)
		}
		is.Equal(code(issue(e.actorOf(t, other, ada), other)), ticketing.CodePermissionDenied) // staff alone there
		is.NoErr(second(e.staff.RemoveStaff(t.Context(), ada)))
		is.Equal(code(schedule(both, company)), ticketing.CodePermissionDenied)
		is.Equal(code(issue(both, company)), ticketing.CodeConflict) // The third key: the other role holds.
		is.NoErr(second(e.staff.RemoveMember(t.Context(), company, ada)))
		is.Equal(code(issue(both, company)), ticketing.CodePermissionDenied)
		_, err = e.Accounts().Actor(t.Context(), company, ada)
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// TestAMailedInvitationShowsTheAddress checks that what a person set up by a link that was mailed stays when they get a
// role elsewhere: nobody but they had it.
func TestAMailedInvitationShowsTheAddress(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		owner := e.as(t, company, e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID)
		params := ticketing.AddMemberParams{Email: invitedEmail, Name: "New", Role: ticketing.RoleViewer}
		// The company opens a link that it was handed. That shows nothing, also where one was mailed at the same moment.
		handed, err := owner.InviteMember(t.Context(), company, params)
		is.NoErr(err)
		mailed, err := owner.InviteMemberByMail(t.Context(), company, params)
		is.NoErr(err)
		begun, err := e.Accounts().OpenLink(t.Context(), handed.Link.Token, laptop)
		is.NoErr(err)
		user := handed.Member.UserID
		is.NoErr(second(e.Accounts().AddPasskey(t.Context(), user, phoneKey("AAAA"))))
		again, err := owner.InviteMemberByMail(t.Context(), company, params)
		is.NoErr(err)
		is.True(again.Link == nil)
		// The mailed link ends what the company set up.
		shown, err := e.Accounts().OpenLink(t.Context(), mailed.Link.Token, laptop)
		is.NoErr(err)
		is.Equal(shown.CompanyID, company)
		e.ends(t, begun.Secret)
		is.Equal(e.passkeys(t, user), 0)
		is.NoErr(second(e.Accounts().AddPasskey(t.Context(), user, phoneKey("BBBB"))))
		e.employ(t, invitedEmail, ticketing.StaffAdministrator)
		e.goesOn(t, shown.Secret)
		is.Equal(e.passkeys(t, user), 1)
	})
}

// TestASuspendedCompanyLooksAfterItself checks what the contract leaves to a company that is not active: it sells
// nothing and gets no money, and its people still manage keys, webhooks and the verification.
func TestASuspendedCompanyLooksAfterItself(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		user := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID
		key := e.issue(t, company)
		is.NoErr(second(e.staff.SuspendCompany(t.Context(), company)))
		owner := e.as(t, company, user)
		rotated, err := owner.RotateAPIKey(t.Context(), key.ID)
		is.NoErr(err)
		is.NoErr(second(owner.RevokeAPIKey(t.Context(), key.ID)))
		_, err = e.Authenticate(t.Context(), rotated.Key)
		is.Equal(code(err), ticketing.CodeAuthenticationFailed)
		e.hook(t, company)
		is.NoErr(second(owner.UpdateVerification(t.Context(), company, ticketing.UpdateVerificationParams{})))
		is.Equal(said(second(owner.RequestSettlement(t.Context(), company))), "The company is not active.")
		is.Equal(code(second(e.staff.CreditFloat(t.Context(), company, "PSK-00000001", 50_00))), ticketing.CodeConflict)
		caller, err := e.Accounts().Caller(t.Context(), company, user)
		is.NoErr(err)
		_, err = e.CreateEvent(t.Context(), caller, "event-0001", ticketing.CreateEventParams{
			Title: "Adire Live", Date: "2026-12-24", StartsAt: "20:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
			ImageURL: "https://cdn.adire.ng/live.jpg", Status: ticketing.EventDraft,
		})
		is.Equal(code(err), ticketing.CodePermissionDenied)
		is.NoErr(second(e.staff.ActivateCompany(t.Context(), company)))
		is.NoErr(second(e.Authenticate(t.Context(), rotated.Key)))
	})
}
