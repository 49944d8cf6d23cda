package ticketing_test

import (
	"context"
	"errors"
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

// staffRights are the methods about staff and invitations.
func staffRights() []right {
	// employ gives the user of the subject the role AUDITOR.
	employ := func(ctx context.Context, o ticketing.Operator, own subject) error {
		_, err := o.AddStaff(ctx, ticketing.AddStaffParams{
			Email: "bisi@adire.ng", Name: "Bisi", Role: ticketing.StaffAuditor,
		})
		if errors.Is(err, ticketing.CodeConflict) {
			_, err = o.UpdateStaff(ctx, own.user, ticketing.StaffAuditor)
		}
		return err
	}
	return []right{
		{
			method: "AddStaff", action: "staff.add", permission: ticketing.PermissionStaffManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.AddStaff(ctx, ticketing.AddStaffParams{
					Email: uuid.NewString() + "@platform.ng", Name: "Chi", Role: ticketing.StaffSupport,
				})
				return err
			},
		},
		{
			method: "UpdateStaff", action: "staff.update", permission: ticketing.PermissionStaffManage, before: employ,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.UpdateStaff(ctx, own.user, ticketing.StaffSupport)
				return err
			},
		},
		{
			method: "RemoveStaff", action: "staff.remove", permission: ticketing.PermissionStaffManage, before: employ,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RemoveStaff(ctx, own.user)
				return err
			},
		},
		{
			method: "ListStaff", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.ListStaff(ctx)
				return err
			},
		},
		{
			method: "InviteMember", action: "member.add", permission: ticketing.PermissionMemberManage,
			// The user is known elsewhere, so there is a member to add and no link to make.
			before: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.AddStaff(ctx, ticketing.AddStaffParams{
					Email: "ngozi@platform.ng", Name: "Ngozi", Role: ticketing.StaffAuditor,
				})
				return err
			},
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.InviteMember(ctx, own.company, ticketing.AddMemberParams{
					Email: "ngozi@platform.ng", Name: "Ngozi", Role: ticketing.RoleViewer,
				})
				return err
			},
		},
		{
			method: "InviteMemberByMail", action: "member.add", permission: ticketing.PermissionMemberManage,
			before: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.AddStaff(ctx, ticketing.AddStaffParams{
					Email: "ngozi@platform.ng", Name: "Ngozi", Role: ticketing.StaffAuditor,
				})
				return err
			},
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.InviteMemberByMail(ctx, own.company, ticketing.AddMemberParams{
					Email: "ngozi@platform.ng", Name: "Ngozi", Role: ticketing.RoleViewer,
				})
				return err
			},
		},
	}
}

// writes reports whether the method changes something.
func (r right) writes() bool { return r.action != "" || strings.HasPrefix(r.method, "Reencrypt") }

// employ gives a user a role on the platform.
func (e *env) employ(t testing.TB, email string, role ticketing.StaffRole) ticketing.StaffMember {
	t.Helper()
	member, err := e.staff.AddStaff(t.Context(), ticketing.AddStaffParams{Email: email, Name: "Chi Eze", Role: role})
	is.New(t).NoErr(err)
	return member
}

// asStaff returns the operator plane with the permissions of a member of staff.
func (e *env) asStaff(t testing.TB, userID uuid.UUID) ticketing.Operator {
	t.Helper()
	actor, err := e.Accounts().Staff(t.Context(), userID)
	is.New(t).NoErr(err)
	return e.As(actor)
}

// prepared returns a subject on which the method can be called.
func (r right) prepared(t *testing.T, e *env) subject {
	t.Helper()
	own := r.subject(t, e)
	if r.before != nil {
		is.New(t).NoErr(r.before(t.Context(), e.staff, own))
	}
	return own
}

func TestStaffAreAddedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		boss := e.employ(t, "boss@platform.ng", ticketing.StaffAdministrator)
		chi := e.employ(t, " Chi@Platform.NG ", ticketing.StaffSupport)
		is.Equal(chi.Email, "chi@platform.ng")
		is.Equal(e.employ(t, "chi@platform.ng", ticketing.StaffSupport), chi) // This changes nothing.
		_, err := e.staff.AddStaff(t.Context(), ticketing.AddStaffParams{
			Email: "chi@platform.ng", Name: "Chi", Role: ticketing.StaffFinance,
		})
		is.Equal(said(err), "The user is a member of staff already, with the role SUPPORT.")
		e.clock.advance(time.Second)
		changed, err := e.staff.UpdateStaff(t.Context(), chi.UserID, ticketing.StaffFinance)
		is.NoErr(err)
		chi.Role = ticketing.StaffFinance
		is.Equal(changed, chi)
		staff, err := e.staff.ListStaff(t.Context())
		is.NoErr(err)
		is.Equal(len(staff), 2)
		is.True(slices.Contains(staff, chi) && slices.Contains(staff, boss))
		removed, err := e.staff.RemoveStaff(t.Context(), chi.UserID)
		is.NoErr(err)
		is.Equal(removed, chi) // as they were
		for _, err := range []error{
			second(e.staff.RemoveStaff(t.Context(), chi.UserID)),
			second(e.staff.UpdateStaff(t.Context(), chi.UserID, ticketing.StaffAuditor)),
			second(e.Accounts().Staff(t.Context(), chi.UserID)),
			second(e.Accounts().Staff(t.Context(), uuid.New())),
		} {
			is.Equal(code(err), ticketing.CodeNotFound)
		}
		// One who returns has the same id and time as before.
		back := e.employ(t, "chi@platform.ng", ticketing.StaffFinance)
		is.Equal(back.UserID, chi.UserID)
		is.Equal(back.CreatedAt, chi.CreatedAt)
		_, err = e.staff.UpdateStaff(t.Context(), chi.UserID, "BOSS")
		is.Equal(said(err), "role: must be ADMINISTRATOR, FINANCE, ONBOARDING, SUPPORT or AUDITOR")
		_, err = e.staff.AddStaff(t.Context(), ticketing.AddStaffParams{})
		is.Equal(said(err), "email: must not be empty; name: must not be empty; "+
			"role: must be ADMINISTRATOR, FINANCE, ONBOARDING, SUPPORT or AUDITOR")
	})
}

// TestTheLastAdministratorStays checks that the platform keeps an administrator, even if two remove each other at the
// same time.
func TestTheLastAdministratorStays(t *testing.T) {
	t.Parallel()
	const want = "A platform that has an administrator keeps one. Make somebody else an administrator first."
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.employ(t, "ada@platform.ng", ticketing.StaffAdministrator).UserID
		e.employ(t, "chi@platform.ng", ticketing.StaffFinance)
		is.Equal(said(second(e.staff.RemoveStaff(t.Context(), ada))), want)
		is.Equal(said(second(e.staff.UpdateStaff(t.Context(), ada, ticketing.StaffAuditor))), want)

		bisi := e.employ(t, "bisi@platform.ng", ticketing.StaffAdministrator).UserID
		byAda, byBisi := e.asStaff(t, ada), e.asStaff(t, bisi)
		errs := make([]error, 2)
		var wg sync.WaitGroup
		wg.Go(func() { errs[0] = second(byAda.RemoveStaff(t.Context(), bisi)) })
		wg.Go(func() { errs[1] = second(byBisi.UpdateStaff(t.Context(), ada, ticketing.StaffSupport)) })
		wg.Wait()
		is.True((errs[0] == nil) != (errs[1] == nil)) // The second has lost the permission.
		is.Equal(code(errors.Join(errs...)), ticketing.CodePermissionDenied)
		staff, err := e.staff.ListStaff(t.Context())
		is.NoErr(err)
		administrators := slices.DeleteFunc(staff, func(m ticketing.StaffMember) bool {
			return m.Role != ticketing.StaffAdministrator
		})
		is.Equal(len(administrators), 1)
	})
}

// TestStaffMayDoWhatTheirRoleSays checks that a member of staff may do exactly what the table of permissions grants to
// the role, for every company.
func TestStaffMayDoWhatTheirRoleSays(t *testing.T) {
	t.Parallel()
	for _, role := range []ticketing.StaffRole{
		ticketing.StaffAdministrator, ticketing.StaffFinance, ticketing.StaffOnboarding, ticketing.StaffSupport,
		ticketing.StaffAuditor,
	} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, memory.New())
			user := e.employ(t, "ada@platform.ng", role).UserID
			for _, right := range rights() {
				t.Run(right.name(), func(t *testing.T) {
					may := slices.ContainsFunc(ticketing.PermissionRules(), func(rule ticketing.PermissionRule) bool {
						return slices.Contains(right.permissions(), rule.Permission) && slices.Contains(rule.StaffRoles, role)
					})
					own := right.prepared(t, e)
					err := right.call(t.Context(), e.asStaff(t, user), own)
					want := ticketing.Code("")
					if !may {
						want = ticketing.CodePermissionDenied
					}
					is.New(t).Equal(code(err), want)
				})
			}
		})
	}
}

// TestTheRolesOfStaffFollowFromTheTable checks what the roles promise: an administrator holds everything, all read
// everything, an auditor changes nothing, and float is for an administrator alone.
func TestTheRolesOfStaffFollowFromTheTable(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	held := make(map[ticketing.StaffRole][]ticketing.Permission)
	for _, rule := range ticketing.PermissionRules() {
		is.True(slices.Contains(rule.StaffRoles, ticketing.StaffAdministrator))
		reads := strings.HasSuffix(string(rule.Permission), ":read")
		is.Equal(slices.Contains(rule.StaffRoles, ticketing.StaffAuditor), reads)
		for _, role := range rule.StaffRoles {
			if !reads && role != ticketing.StaffAdministrator {
				held[role] = append(held[role], rule.Permission)
			}
		}
		is.True(!reads || len(rule.StaffRoles) == 5)
	}
	is.Equal(held, map[ticketing.StaffRole][]ticketing.Permission{
		ticketing.StaffFinance: {
			ticketing.PermissionCommissionSchedule, ticketing.PermissionSettlementDecide, ticketing.PermissionOrderRefund,
		},
		ticketing.StaffOnboarding: {
			ticketing.PermissionKYBManage, ticketing.PermissionKYBSubmit, ticketing.PermissionBrandingManage,
			ticketing.PermissionMemberManage, ticketing.PermissionCommissionSchedule, ticketing.PermissionKYBDecide,
			ticketing.PermissionManage,
		},
		ticketing.StaffSupport: {
			ticketing.PermissionWebhookReplay, ticketing.PermissionNotificationResend,
		},
	})
}

// TestStaffWriteByTheRoleOfNow checks that every method that changes something reads the role of a member of staff in
// its transaction: after the role was lowered or removed it changes nothing.
func TestStaffWriteByTheRoleOfNow(t *testing.T) {
	t.Parallel()
	for _, right := range rights() {
		if !right.writes() {
			continue
		}
		t.Run(right.name(), func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				e.employ(t, "boss@platform.ng", ticketing.StaffAdministrator)
				ada := e.employ(t, "ada@platform.ng", ticketing.StaffAdministrator).UserID
				operator := e.asStaff(t, ada)
				own := right.prepared(t, e)
				losses := []func() error{
					func() error { return second(e.staff.UpdateStaff(t.Context(), ada, ticketing.StaffAuditor)) },
					func() error { return second(e.staff.RemoveStaff(t.Context(), ada)) },
				}
				// An auditor may export what they read. An administrator holds both permissions that let them in.
				if strings.HasSuffix(right.action, ".export") {
					losses = losses[1:]
					switch {
					case right.permission == ticketing.PermissionManage:
						right.permission = ticketing.PermissionTenantRead
					case right.method == "RecordOrderExport":
						right.permission = ticketing.PermissionOrderRead
					}
				}
				for _, lose := range losses {
					is.NoErr(lose())
					before := e.books(t, own)
					err := right.call(t.Context(), operator, own)
					is.Equal(said(err), "The permission "+string(right.permission)+" is required.")
					is.Equal(code(err), ticketing.CodePermissionDenied)
					is.Equal(e.books(t, own), before)
				}
				// The same call works as soon as the role is back.
				e.employ(t, "ada@platform.ng", ticketing.StaffAdministrator)
				is.NoErr(right.call(t.Context(), operator, own))
			})
		})
	}
}

// TestARoleIsReadBesideWrites checks that a role that is taken away while a member of staff writes stops every write
// that begins afterwards.
func TestARoleIsReadBesideWrites(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		e.employ(t, "boss@platform.ng", ticketing.StaffAdministrator)
		ada := e.employ(t, "ada@platform.ng", ticketing.StaffOnboarding).UserID
		operator := e.asStaff(t, ada)
		rename := func() error { return second(operator.RenameCompany(t.Context(), company, "Night "+uuid.NewString())) }
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for done := false; !done; {
					done = rename() != nil
				}
			})
		}
		is.NoErr(second(e.staff.RemoveStaff(t.Context(), ada)))
		before, err := e.staff.GetCompany(t.Context(), company)
		is.NoErr(err)
		wg.Wait()
		is.Equal(code(rename()), ticketing.CodePermissionDenied)
		after, err := e.staff.GetCompany(t.Context(), company)
		is.NoErr(err)
		is.Equal(after, before)
	})
}
