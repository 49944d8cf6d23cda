package ticketing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

func TestUsersAreFoundByIDAndEmail(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		ada := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner)
		byID, err := e.Accounts().GetUser(t.Context(), ada.UserID)
		is.NoErr(err)
		is.Equal(show(t, byID), `{"id":"`+ada.UserID.String()+`","email":"ada@adire.ng",`+
			`"createdAt":"2026-11-21T09:30:00.000Z"}`)
		byEmail, err := e.Accounts().FindUser(t.Context(), " ADA@Adire.NG")
		is.NoErr(err)
		is.Equal(byEmail, byID)
		for _, err := range []error{
			second(e.Accounts().GetUser(t.Context(), uuid.New())), second(e.Accounts().GetUser(t.Context(), uuid.Nil)),
			second(e.Accounts().FindUser(t.Context(), "bisi@adire.ng")),
		} {
			is.Equal(said(err), "The user was not found.")
		}
		is.Equal(said(second(e.Accounts().FindUser(t.Context(), "ada"))),
			"email: must be one email address, such as ada@example.com")

		bisi := e.employ(t, "bisi@platform.ng", ticketing.StaffAuditor)
		people, err := e.Accounts().People(t.Context(), []ticketing.PersonRef{
			{UserID: bisi.UserID},
			{CompanyID: company, UserID: uuid.New()},
			{CompanyID: company, UserID: ada.UserID},
			{UserID: ada.UserID},
			{CompanyID: company, UserID: bisi.UserID},
		})
		is.NoErr(err)
		employed := ticketing.Person{ID: bisi.UserID, Email: "bisi@platform.ng", Name: bisi.Name}
		member := ticketing.Person{ID: ada.UserID, Email: "ada@adire.ng", Name: ada.Name}
		is.Equal(people, []ticketing.Person{employed, {}, member, {ID: ada.UserID, Email: "ada@adire.ng"}, employed})
		none, err := e.Accounts().People(t.Context(), nil)
		is.NoErr(err)
		is.Equal(show(t, none), "[]")
	})
}

// TestAUserSeesTheirCompanies checks that a user's companies are those that they are a member of now, by name.
func TestAUserSeesTheirCompanies(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		last, first, gone := e.unverified(t), e.unverified(t), e.unverified(t)
		_, err := e.staff.RenameCompany(t.Context(), last, "Zobo Nights")
		is.NoErr(err)
		_, err = e.staff.SuspendCompany(t.Context(), last)
		is.NoErr(err)
		ada := e.join(t, last, "ada@adire.ng", ticketing.RoleViewer).UserID
		e.join(t, first, "ada@adire.ng", ticketing.RoleOwner)
		e.join(t, gone, "ada@adire.ng", ticketing.RoleViewer)
		e.join(t, gone, "bisi@adire.ng", ticketing.RoleOwner)
		_, err = e.staff.RemoveMember(t.Context(), gone, ada)
		is.NoErr(err)
		companies, err := e.Accounts().Companies(t.Context(), ada)
		is.NoErr(err)
		is.Equal(show(t, companies), `[{"companyId":"`+first.String()+`","companyName":"Adire Concerts",`+
			`"companyStatus":"ACTIVE","role":"OWNER","name":"Ada Obi","joinedAt":"2026-11-21T09:30:00.000Z"},`+
			`{"companyId":"`+last.String()+`","companyName":"Zobo Nights","companyStatus":"SUSPENDED","role":"VIEWER",`+
			`"name":"Ada Obi","joinedAt":"2026-11-21T09:30:00.000Z"}]`)
		none, err := e.Accounts().Companies(t.Context(), uuid.New())
		is.NoErr(err)
		is.Equal(show(t, none), "[]")
		actor, err := e.Accounts().Member(t.Context(), first, ada)
		is.NoErr(err)
		is.Equal(actor.Name, "user "+ada.String())
	})
}

// TestACallerHasTheGrantsOfTheirRole checks that a member acts on the data plane with the grants of their role, and
// that each write looks at the role of now.
func TestACallerHasTheGrantsOfTheirRole(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own := e.subject(t)
		e.sellFor(t, &own)
		tier := slices.DeleteFunc(ticketing.PresetCategories(), func(name string) bool { return name == "VIP" })[0]
		is.NoErr(second(e.CreateInventory(t.Context(), ticketing.TrustedCaller(own.company, ticketing.AllGrants()...),
			own.event, "stock-0002", ticketingtest.InventoryParams(tier, 10_00, 50))))
		e.join(t, own.company, "boss@adire.ng", ticketing.RoleOwner)
		ada := e.join(t, own.company, "ada@adire.ng", ticketing.RoleOwner).UserID
		caller := func() ticketing.Caller {
			made, err := e.Accounts().Caller(t.Context(), own.company, ada)
			is.NoErr(err)
			return made
		}
		set := func(role ticketing.Role) {
			is.NoErr(second(e.staff.UpdateMember(t.Context(), own.company, ada, role)))
		}
		may := func(c ticketing.Caller) (held []ticketing.Grant) {
			for _, grant := range ticketing.AllGrants() {
				if c.Require(grant) == nil {
					held = append(held, grant)
				}
			}
			return held
		}
		// Writes with an idempotency key, of which a checkout may be grouped, and one without.
		writes := func(c ticketing.Caller) []error {
			title := "Adire Live " + uuid.NewString()
			return []error{
				second(e.CreateEvent(t.Context(), c, uuid.NewString(), ticketing.CreateEventParams{
					Title: title, Date: "2026-12-24", StartsAt: "20:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
					ImageURL: "https://cdn.adire.ng/live.jpg", Status: ticketing.EventDraft,
				})),
				second(e.UpdateEvent(t.Context(), c, own.event, ticketing.UpdateEventParams{Title: &title})),
				second(e.Checkout(t.Context(), c, uuid.NewString(), ticketing.CheckoutParams{
					EventID: own.event, Buyer: ticketing.BuyerParams{Email: buyerOfSubject},
					Lines: []ticketing.CheckoutLineParams{{Tier: tier, Quantity: 1, ExpectedUnitPrice: 10_00, Currency: "NGN"}},
				})),
			}
		}
		owner := caller()
		is.Equal(owner.CompanyID(), own.company)
		is.Equal(owner.KeyID(), uuid.Nil)
		is.Equal(may(owner), ticketing.AllGrants())
		for _, err := range writes(owner) {
			is.NoErr(err)
		}
		set(ticketing.RoleAdministrator)
		is.Equal(may(caller()), ticketing.AllGrants())
		for _, err := range writes(owner) {
			is.NoErr(err)
		}
		set(ticketing.RoleViewer)
		is.Equal(may(caller()), []ticketing.Grant{
			ticketing.GrantEventRead, ticketing.GrantInventoryRead, ticketing.GrantOrderRead,
		})
		for _, c := range []ticketing.Caller{owner, caller()} {
			for _, err := range writes(c) {
				is.Equal(code(err), ticketing.CodePermissionDenied)
			}
		}
		is.NoErr(second(e.staff.RemoveMember(t.Context(), own.company, ada)))
		for _, err := range writes(owner) {
			is.Equal(code(err), ticketing.CodePermissionDenied)
		}
		for _, of := range [][2]uuid.UUID{{own.company, ada}, {uuid.New(), ada}, {e.unverified(t), own.user}, {}} {
			none, err := e.Accounts().Caller(t.Context(), of[0], of[1])
			is.Equal(code(err), ticketing.CodeNotFound)
			is.Equal(code(none.Require(ticketing.GrantEventRead)), ticketing.CodeAuthenticationFailed)
		}
	})
}

// TestStaffReadTheEventsOfEachCompany checks that staff who are no members read on the data plane, and write nothing
// there, whatever their role.
func TestStaffReadTheEventsOfEachCompany(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own := e.subject(t)
		chi := e.employ(t, "chi@platform.ng", ticketing.StaffAdministrator).UserID
		caller, err := e.Accounts().Caller(t.Context(), own.company, chi)
		is.NoErr(err)
		for _, grant := range ticketing.AllGrants() {
			reads := grant == ticketing.GrantEventRead || grant == ticketing.GrantInventoryRead ||
				grant == ticketing.GrantOrderRead
			is.Equal(caller.Require(grant) == nil, reads) // grant
		}
		found, err := e.GetEvent(t.Context(), caller, own.event)
		is.NoErr(err)
		is.Equal(found.ID, own.event)
		is.Equal(code(second(e.CancelEvent(t.Context(), caller, own.event))), ticketing.CodePermissionDenied)
		_, err = e.Accounts().Caller(t.Context(), uuid.New(), chi) // no such company
		is.Equal(code(err), ticketing.CodeNotFound)
		is.NoErr(second(e.staff.AddMember(t.Context(), own.company, ticketing.AddMemberParams{
			Email: "chi@platform.ng", Name: "Chi", Role: ticketing.RoleOwner,
		})))
		both, err := e.Accounts().Caller(t.Context(), own.company, chi)
		is.NoErr(err)
		is.NoErr(both.Require(ticketing.GrantEventManage))
	})
}

// TestAnInvitationHasALinkForSomebodyNew checks that a company gets a link only for a user whom nobody else relies on:
// a link for anybody else would let the company sign in as them.
func TestAnInvitationHasALinkForSomebodyNew(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.unverified(t), e.unverified(t)
		owner := e.as(t, company, e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID)
		e.join(t, other, "bisi@adire.ng", ticketing.RoleViewer)
		e.employ(t, "chi@platform.ng", ticketing.StaffSupport)
		invite := func(email string) ticketing.Invitation {
			invited, err := owner.InviteMember(t.Context(), company, ticketing.AddMemberParams{
				Email: email, Name: "Somebody", Role: ticketing.RoleAdministrator,
			})
			is.NoErr(err)
			is.Equal(invited.Member.Role, ticketing.RoleAdministrator)
			return invited
		}
		is.True(invite("bisi@adire.ng").Link == nil)   // a member of another company
		is.True(invite("chi@platform.ng").Link == nil) // of the staff
		first := invite("new@adire.ng")
		is.Equal(first.Link.UserID, first.Member.UserID)
		again := invite("new@adire.ng") // They have not signed in.
		is.True(again.Link.Token != first.Link.Token)
		signedIn, err := e.Accounts().OpenLink(t.Context(), again.Link.Token, ticketing.Client{})
		is.NoErr(err)
		is.Equal(signedIn.CompanyID, company)
		is.True(invite("new@adire.ng").Link == nil) // They have.
		// It stays so after the session has ended and every link has expired.
		_, err = e.Accounts().EndSessions(t.Context(), first.Member.UserID)
		is.NoErr(err)
		e.clock.advance(24 * 3600e9)
		_, err = e.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: first.Member.UserID, Actor: "test"})
		is.NoErr(err)
		is.True(invite("new@adire.ng").Link == nil)

		viewer := e.as(t, company, e.join(t, company, "viewer@adire.ng", ticketing.RoleViewer).UserID)
		_, err = viewer.InviteMember(t.Context(), company, ticketing.AddMemberParams{})
		is.Equal(code(err), ticketing.CodePermissionDenied)
		_, err = owner.InviteMember(t.Context(), company, ticketing.AddMemberParams{})
		is.Equal(code(err), ticketing.CodeInvalidRequest)
		made := 0
		for _, act := range e.acts(t, company) {
			if act.Action == "link.create" {
				made++
				is.True(!strings.Contains(string(act.Changes), again.Link.Token))
			}
		}
		is.Equal(made, 2) // The company sees them.
	})
}

// TestASignInByAnyMethodEndsInvitations checks that a user who signed in without a link counts as known, too.
func TestASignInByAnyMethodEndsInvitations(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		user := e.join(t, company, "new@adire.ng", ticketing.RoleViewer).UserID
		_, err := e.Accounts().SignIn(t.Context(), user, ticketing.SignInOIDC, ticketing.Client{})
		is.NoErr(err)
		_, err = e.Accounts().EndSessions(t.Context(), user)
		is.NoErr(err)
		invited, err := e.staff.InviteMember(t.Context(), company, ticketing.AddMemberParams{
			Email: "new@adire.ng", Name: "New", Role: ticketing.RoleViewer,
		})
		is.NoErr(err)
		is.True(invited.Link == nil)
	})
}
