package ticketing_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestVisitHasWhatEachReadReturns checks that a visit has what the methods of Accounts and of an operator return one by
// one, for users with every kind of role and for companies that exist and that do not.
func TestVisitHasWhatEachReadReturns(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is, ctx, accounts := is.New(t), t.Context(), e.Accounts()
		company, other := e.verified(t), e.unverified(t)
		viewer := e.join(t, company, "viewer@adire.ng", ticketing.RoleViewer).UserID
		stranger := e.join(t, other, "stranger@adire.ng", ticketing.RoleOwner).UserID
		staff, err := e.staff.AddStaff(ctx, ticketing.AddStaffParams{
			Email: "staff@adire.ng", Name: "Staff", Role: ticketing.StaffSupport,
		})
		is.NoErr(err)
		both, err := e.staff.AddStaff(ctx, ticketing.AddStaffParams{
			Email: "both@adire.ng", Name: "Both", Role: ticketing.StaffAuditor,
		})
		is.NoErr(err)
		e.join(t, company, "both@adire.ng", ticketing.RoleAdministrator)
		removed := e.join(t, company, "removed@adire.ng", ticketing.RoleViewer).UserID
		_, err = e.staff.RemoveMember(ctx, company, removed)
		is.NoErr(err)
		color := "#3B0764"
		look, err := e.staff.UpdateBranding(ctx, company, ticketing.UpdateBrandingParams{PrimaryColor: &color})
		is.NoErr(err)
		watched := []ticketing.Watched{
			{CompanyID: company, Topic: ticketing.WatchMoney},
			{CompanyID: company, Topic: ticketing.WatchAudit},
			{CompanyID: company, Topic: ticketing.WatchOrder, ID: uuid.New()},
			{CompanyID: other, Topic: ticketing.WatchEvent, ID: uuid.New()},
			{CompanyID: company, Topic: ticketing.WatchDeliveries},
		}
		states, err := e.Watch(ctx, watched)
		is.NoErr(err)

		// equal compares two results and the codes of their errors.
		equal := func(got any, gotErr error, want any, wantErr error) {
			t.Helper()
			is.Equal(got, want)
			is.Equal(gotErr == nil, wantErr == nil)
			if wantErr != nil {
				is.Equal(code(gotErr), code(wantErr))
			}
		}
		for _, userID := range []uuid.UUID{viewer, stranger, staff.UserID, both.UserID, removed} {
			for _, companyID := range []uuid.UUID{company, other, uuid.New(), uuid.Nil} {
				visit, err := accounts.Visit(ctx, ticketing.VisitParams{UserID: userID, CompanyID: companyID, Watched: watched})
				is.NoErr(err)
				is.Equal(visit.Session, ticketing.Session{})
				is.Equal(visit.States, states)
				user, err := accounts.GetUser(ctx, userID)
				is.NoErr(err)
				is.Equal(visit.User, user)
				actor, err := accounts.Staff(ctx, userID)
				visitor, visitErr := visit.Staff()
				equal(visitor, visitErr, actor, err)
				actor, err = accounts.Actor(ctx, companyID, userID)
				visitor, visitErr = visit.Actor()
				equal(visitor, visitErr, actor, err)
				caller, err := accounts.Caller(ctx, companyID, userID)
				visitCaller, visitErr := visit.Caller()
				equal(visitCaller, visitErr, caller, err)
				shown, err := e.staff.GetCompany(ctx, companyID)
				visitCompany, visitErr := visit.Company()
				equal(visitCompany, visitErr, shown, err)
				branding, err := e.staff.GetBranding(ctx, companyID)
				visitBranding, visitErr := visit.Branding()
				equal(visitBranding, visitErr, branding, err)
				if companyID == company {
					is.Equal(visitBranding, look)
				}
			}
		}
		_, err = accounts.Visit(ctx, ticketing.VisitParams{UserID: uuid.New(), CompanyID: company})
		is.Equal(code(err), ticketing.CodeNotFound)
		for _, topic := range []ticketing.WatchTopic{ticketing.WatchQueues, "WEATHER"} {
			_, err = accounts.Visit(ctx, ticketing.VisitParams{
				UserID: staff.UserID, Watched: []ticketing.Watched{{CompanyID: company, Topic: topic}},
			})
			is.True(err != nil) // topic
		}
	})
}

// TestVisitOfASession checks that a visit needs a session that lasts, that it is a use of the session unless it is
// passive, and that it sees a role that was just removed.
func TestVisitOfASession(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is, ctx := is.New(t), t.Context()
		company := e.verified(t)
		ada := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID
		e.join(t, company, "bayo@adire.ng", ticketing.RoleOwner)
		e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleViewer) // She stays a user of this company.
		in, another := e.signIn(t, ada), e.signIn(t, ada)
		visit := func(secret string, passive bool) (ticketing.Visit, error) {
			return e.Accounts().Visit(ctx, ticketing.VisitParams{Secret: secret, CompanyID: company, Passive: passive})
		}
		ended := func(secret string) {
			t.Helper()
			found, err := visit(secret, false)
			is.Equal(code(err), ticketing.CodeSignInRequired)
			is.Equal(found, ticketing.Visit{})
		}
		ended("made up")
		ended(in.Secret[:len(in.Secret)-4] + "AAAA")
		is.NoErr(e.Accounts().EndSession(ctx, ada, another.Session.ID))
		ended(another.Secret)

		// A session lasts twelve hours after its last use.
		e.clock.advance(11 * time.Hour)
		found, err := visit(in.Secret, true)
		is.NoErr(err)
		is.Equal(found.Session, in.Session)
		is.Equal(found.User.ID, ada)
		found, err = visit(in.Secret, false)
		is.NoErr(err)
		is.Equal(found.Session.SeenAt.Time, e.clock.now())
		actor, err := found.Actor()
		is.NoErr(err)
		is.Equal(actor.CompanyID, company)
		e.clock.advance(11 * time.Hour)
		_, err = visit(in.Secret, true)
		is.NoErr(err)

		_, err = e.staff.RemoveMember(ctx, company, ada)
		is.NoErr(err)
		found, err = visit(in.Secret, false)
		is.NoErr(err)
		_, err = found.Actor()
		is.Equal(code(err), ticketing.CodeNotFound)
		_, err = found.Caller()
		is.Equal(code(err), ticketing.CodeNotFound)

		// The limits of staff hold at once: an hour.
		last := e.signIn(t, ada)
		_, err = e.staff.AddStaff(ctx, ticketing.AddStaffParams{
			Email: "ada@adire.ng", Name: "Ada", Role: ticketing.StaffAuditor,
		})
		is.NoErr(err)
		e.clock.advance(59 * time.Minute)
		_, err = visit(last.Secret, true)
		is.NoErr(err)
		e.clock.advance(time.Minute)
		ended(last.Secret)
	})
}
