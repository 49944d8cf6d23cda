package ticketing_test

import (
	"context"
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
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
)

// join makes a user a member of a company.
func (e *env) join(t testing.TB, companyID uuid.UUID, email string, role ticketing.Role) ticketing.Member {
	t.Helper()
	member, err := e.staff.AddMember(t.Context(), companyID, ticketing.AddMemberParams{
		Email: email, Name: "Ada Obi", Role: role,
	})
	is.New(t).NoErr(err)
	return member
}

// as returns the operator plane with the permissions of a member.
func (e *env) as(t testing.TB, companyID, userID uuid.UUID) ticketing.Operator {
	t.Helper()
	actor, err := e.Member(t.Context(), companyID, userID)
	is.New(t).NoErr(err)
	return e.As(actor)
}

// TestAUserIsAMemberOfSeveralCompanies checks that an email belongs to one user on the whole platform, who has a
// separate role in each company.
func TestAUserIsAMemberOfSeveralCompanies(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		one, other := e.unverified(t), e.unverified(t)
		first := e.join(t, one, " Ada@Adire.NG ", ticketing.RoleOwner)
		is.Equal(show(t, first), fmt.Sprintf(`{"userId":"%s","email":"ada@adire.ng","name":"Ada Obi","role":"OWNER",`+
			`"createdAt":"2026-11-21T09:30:00.000Z"}`, first.UserID))
		second, err := e.staff.AddMember(t.Context(), other, ticketing.AddMemberParams{
			Email: "ada@adire.ng", Name: "Somebody Else", Role: ticketing.RoleViewer,
		})
		is.NoErr(err)
		is.Equal(second.UserID, first.UserID)
		is.Equal(second.Name, "Somebody Else") // A name is only visible in the company that gave it.
		members, err := e.staff.ListMembers(t.Context(), one)
		is.NoErr(err)
		is.Equal(members, []ticketing.Member{first})
		members, err = e.staff.ListMembers(t.Context(), other)
		is.NoErr(err)
		is.Equal(members, []ticketing.Member{second})
		none, err := e.staff.ListMembers(t.Context(), e.unverified(t))
		is.NoErr(err)
		is.Equal(show(t, none), "[]")
	})
}

func TestMembersAreAddedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		owner := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner)
		// Adding a member again with the same role changes nothing.
		is.Equal(e.join(t, company, "ADA@adire.ng", ticketing.RoleOwner), owner)
		_, err := e.staff.AddMember(t.Context(), company, ticketing.AddMemberParams{
			Email: "ada@adire.ng", Name: "Ada Obi", Role: ticketing.RoleViewer,
		})
		is.Equal(said(err), "The user is a member already, with the role OWNER.")

		e.clock.advance(time.Second)
		viewer := e.join(t, company, "bisi@adire.ng", ticketing.RoleViewer)
		changed, err := e.staff.UpdateMember(t.Context(), company, viewer.UserID, ticketing.RoleAdministrator)
		is.NoErr(err)
		viewer.Role = ticketing.RoleAdministrator
		is.Equal(changed, viewer)
		removed, err := e.staff.RemoveMember(t.Context(), company, viewer.UserID)
		is.NoErr(err)
		is.Equal(removed, viewer) // the member as it was
		members, err := e.staff.ListMembers(t.Context(), company)
		is.NoErr(err)
		is.Equal(members, []ticketing.Member{owner})
		for _, err := range []error{
			second(e.staff.RemoveMember(t.Context(), company, viewer.UserID)),
			second(e.staff.UpdateMember(t.Context(), company, viewer.UserID, ticketing.RoleViewer)),
			second(e.staff.UpdateMember(t.Context(), company, uuid.New(), ticketing.RoleViewer)),
		} {
			is.Equal(code(err), ticketing.CodeNotFound)
		}
		_, err = e.Member(t.Context(), company, viewer.UserID)
		is.Equal(code(err), ticketing.CodeNotFound)

		// A member that is added again has the same id as before.
		back := e.join(t, company, "bisi@adire.ng", ticketing.RoleViewer)
		is.Equal(back.UserID, viewer.UserID)
		is.Equal(back.CreatedAt, viewer.CreatedAt)
	})
}

func second[T any](_ T, err error) error { return err }

// TestTheLastOwnerStays checks that a company that has an owner keeps one, even if two owners leave concurrently.
func TestTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	const want = "A company that has an owner keeps one. Make somebody else an owner first."
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.unverified(t), e.unverified(t)
		ada := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID
		e.join(t, company, "chi@adire.ng", ticketing.RoleAdministrator)
		e.join(t, other, "bisi@adire.ng", ticketing.RoleOwner) // an owner of another company
		leave := func(user uuid.UUID) error { return second(e.staff.RemoveMember(t.Context(), company, user)) }
		step := func(user uuid.UUID) error {
			return second(e.staff.UpdateMember(t.Context(), company, user, ticketing.RoleAdministrator))
		}
		for _, err := range []error{leave(ada), step(ada)} {
			is.Equal(code(err), ticketing.CodeConflict)
			is.Equal(said(err), want)
		}
		is.NoErr(second(e.staff.UpdateMember(t.Context(), company, ada, ticketing.RoleOwner))) // This changes nothing.

		bisi := e.join(t, company, "bisi@adire.ng", ticketing.RoleOwner).UserID
		errs := make([]error, 2)
		var wg sync.WaitGroup
		wg.Go(func() { errs[0] = leave(ada) })
		wg.Go(func() { errs[1] = step(bisi) })
		wg.Wait()
		is.True((errs[0] == nil) != (errs[1] == nil)) // exactly one succeeds
		is.Equal(said(errors.Join(errs...)), want)
		members, err := e.staff.ListMembers(t.Context(), company)
		is.NoErr(err)
		owners := slices.DeleteFunc(members, func(m ticketing.Member) bool { return m.Role != ticketing.RoleOwner })
		is.Equal(len(owners), 1)
	})
}

// TestACompanyHasAThousandMembers checks that a company has at most a thousand members.
func TestACompanyHasAThousandMembers(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	e := newEnv(t, memory.New())
	company := e.unverified(t)
	e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
		for range 999 {
			err := tx.PutMember(ctx, driver.Member{
				CompanyID: company, UserID: uuid.New(), Role: ticketing.RoleViewer, CreatedAt: opening, UpdatedAt: opening,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	last := e.join(t, company, "ada@adire.ng", ticketing.RoleViewer)
	params := ticketing.AddMemberParams{Email: "bisi@adire.ng", Name: "Bisi", Role: ticketing.RoleViewer}
	_, err := e.staff.AddMember(t.Context(), company, params)
	is.Equal(said(err), "A company has at most 1000 members.")
	is.NoErr(second(e.staff.RemoveMember(t.Context(), company, last.UserID)))
	_, err = e.staff.AddMember(t.Context(), company, params)
	is.NoErr(err)
}

// TestOneUserIsMadeOfOneEmail checks that concurrent calls that add one new email, for several companies, create one
// user.
func TestOneUserIsMadeOfOneEmail(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		companies := []uuid.UUID{e.unverified(t), e.unverified(t), e.unverified(t)}
		ids, errs := make([]uuid.UUID, 6), make([]error, 6)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				member, err := e.staff.AddMember(t.Context(), companies[i%3], ticketing.AddMemberParams{
					Email: "ada@adire.ng", Name: "Ada Obi", Role: ticketing.RoleOwner,
				})
				ids[i], errs[i] = member.UserID, err
			})
		}
		wg.Wait()
		is.NoErr(errors.Join(errs...))
		is.Equal(len(slices.Compact(ids)), 1)
	})
}

func TestAMemberIsWellFormed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.unverified(t)
		good := ticketing.AddMemberParams{Email: "ada@adire.ng", Name: "Ada", Role: ticketing.RoleViewer}
		for _, test := range []struct {
			change func(p *ticketing.AddMemberParams)
			want   string
		}{
			{func(p *ticketing.AddMemberParams) { p.Email = "" }, "email: must not be empty"},
			{
				func(p *ticketing.AddMemberParams) { p.Email = "ada" }, "email: must be one email address, such as ada@example.com",
			},
			{
				func(p *ticketing.AddMemberParams) { p.Email = strings.Repeat("a", 309) + "@example.com" },
				"email: must be at most 320 characters",
			},
			{func(p *ticketing.AddMemberParams) { p.Email = strings.Repeat("a", 308) + "@example.com" }, ""},
			{func(p *ticketing.AddMemberParams) { p.Name = " " }, "name: must not be empty"},
			{func(p *ticketing.AddMemberParams) { p.Name = strings.Repeat("é", 201) }, "name: must be at most 200 characters"},
			{func(p *ticketing.AddMemberParams) { p.Name = strings.Repeat("é", 200) }, ""},
			{func(p *ticketing.AddMemberParams) { p.Role = "" }, "role: must be OWNER, ADMINISTRATOR or VIEWER"},
			{func(p *ticketing.AddMemberParams) { p.Role = "owner" }, "role: must be OWNER, ADMINISTRATOR or VIEWER"},
		} {
			params := good
			test.change(&params)
			_, err := e.staff.AddMember(t.Context(), company, params)
			is.New(t).Equal(said(err), test.want)
		}
		_, err := e.staff.UpdateMember(t.Context(), company, uuid.New(), "GUEST")
		is.New(t).Equal(said(err), "role: must be OWNER, ADMINISTRATOR or VIEWER")
	})
}

// TestAMemberMayDoWhatTheirRoleSays checks that a member may do exactly what the table of permissions grants to the
// role, and nothing in another company.
func TestAMemberMayDoWhatTheirRoleSays(t *testing.T) {
	t.Parallel()
	for _, role := range []ticketing.Role{ticketing.RoleOwner, ticketing.RoleAdministrator, ticketing.RoleViewer} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, memory.New())
			for _, right := range rights() {
				t.Run(right.method, func(t *testing.T) {
					may := slices.ContainsFunc(ticketing.PermissionRules(), func(rule ticketing.PermissionRule) bool {
						return slices.Contains(right.permissions(), rule.Permission) && slices.Contains(rule.Roles, role)
					})
					want, elsewhere := ticketing.CodePermissionDenied, ticketing.CodePermissionDenied
					if may {
						want, elsewhere = "", ticketing.CodeNotFound
					}
					if may && right.platform {
						want = ticketing.CodeNotFound
					}
					own := right.subject(t, e)
					if right.before != nil {
						is.New(t).NoErr(right.before(t.Context(), e.staff, own))
					}
					member := e.as(t, own.company, e.join(t, own.company, "ada@adire.ng", role).UserID)
					is.New(t).Equal(code(right.call(t.Context(), member, own)), want)
					is.New(t).Equal(code(right.call(t.Context(), member, right.subject(t, e))), elsewhere)
				})
			}
		})
	}
}

// TestAMemberWritesByTheRoleOfNow checks that a member who loses a role after the operator was created can no longer
// write.
func TestAMemberWritesByTheRoleOfNow(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		e.join(t, company, "ada@adire.ng", ticketing.RoleOwner)
		bisi := e.join(t, company, "bisi@adire.ng", ticketing.RoleOwner).UserID
		operator := e.as(t, company, bisi)
		brand := func(name string) error {
			return second(operator.UpdateBranding(t.Context(), company, ticketing.UpdateBrandingParams{BrandName: &name}))
		}
		is.NoErr(brand("One"))
		is.True(slices.ContainsFunc(e.acts(t, company), func(act ticketing.AuditEntry) bool {
			return act.Action == "branding.set" && act.Actor == "user "+bisi.String()
		}))
		_, err := e.staff.UpdateMember(t.Context(), company, bisi, ticketing.RoleAdministrator)
		is.NoErr(err)
		is.NoErr(brand("Two"))
		_, err = operator.AddMember(t.Context(), company, ticketing.AddMemberParams{
			Email: "chi@adire.ng", Name: "Chi", Role: ticketing.RoleOwner,
		})
		is.Equal(code(err), ticketing.CodePermissionDenied)
		_, err = e.staff.UpdateMember(t.Context(), company, bisi, ticketing.RoleViewer)
		is.NoErr(err)
		is.Equal(code(brand("Three")), ticketing.CodePermissionDenied)
		_, err = e.staff.RemoveMember(t.Context(), company, bisi)
		is.NoErr(err)
		is.Equal(said(brand("Four")), "The permission COMPANY:branding:manage is required.")
		branding, err := e.staff.GetBranding(t.Context(), company)
		is.NoErr(err)
		is.Equal(branding.BrandName, "Two")
	})
}

func TestNobodyIsAMemberOfWhatIsNone(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		ada := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID
		for _, of := range [][2]uuid.UUID{{uuid.New(), ada}, {company, uuid.New()}, {e.unverified(t), ada}, {}} {
			actor, err := e.Member(t.Context(), of[0], of[1])
			is.Equal(code(err), ticketing.CodeNotFound)
			is.Equal(len(actor.Permissions), 0)
		}
	})
}
