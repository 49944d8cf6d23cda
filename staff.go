package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// StaffRole is the role of a user on the platform: a set of permissions, which [PermissionRules] lists. Every role may
// read every company.
type StaffRole = driver.StaffRole

// The roles of the platform's staff.
const (
	// StaffAdministrator holds every permission.
	StaffAdministrator = driver.StaffAdministrator
	// StaffFinance schedules commission, decides settlements and refunds orders. It does not credit float:
	// StaffAdministrator does (section 2.9, item 2).
	StaffFinance = driver.StaffFinance
	// StaffOnboarding manages companies with their verification, commission, members and branding.
	StaffOnboarding = driver.StaffOnboarding
	// StaffSupport reads orders, and sends mails and webhooks again. It does not refund: StaffFinance does.
	StaffSupport = driver.StaffSupport
	// StaffAuditor reads everything, verifies the books and changes nothing.
	StaffAuditor = driver.StaffAuditor
)

// StaffMember is a user with a role on the platform.
type StaffMember struct {
	UserID    uuid.UUID `json:"userId"`
	Email     string    `json:"email"`
	Name      string    `json:"name"` // the name that the platform uses
	Role      StaffRole `json:"role"`
	CreatedAt Time      `json:"createdAt"`
}

// AddStaffParams describe who joins the staff.
type AddStaffParams struct {
	Email string // at most 320 characters; trimmed and lower-cased
	Name  string // 1 to 200 characters
	Role  StaffRole
}

// maxStaff is how many members of staff there are at most.
const maxStaff = 1000

var (
	errNoStaff           = notFound("The member of staff")
	errLastAdministrator = conflict(
		"A platform that has an administrator keeps one. Make somebody else an administrator first.",
	)
)

// staffPermissions returns the permissions of a role, in the order of [PermissionRules].
func staffPermissions(r StaffRole) []Permission {
	var held []Permission
	for _, rule := range PermissionRules() {
		if slices.Contains(rule.StaffRoles, r) {
			held = append(held, rule.Permission)
		}
	}
	return held
}

// checkStaffRole accepts the roles that a member of staff may have.
func checkStaffRole(v *violations, role StaffRole) {
	switch role {
	case StaffAdministrator, StaffFinance, StaffOnboarding, StaffSupport, StaffAuditor:
	default:
		v.add("role", "must be ADMINISTRATOR, FINANCE, ONBOARDING, SUPPORT or AUDITOR")
	}
}

// showStaff returns the member of staff as an operator sees them.
func showStaff(m driver.StaffMember, user driver.User) StaffMember {
	return StaffMember{
		UserID: m.UserID, Email: user.Email, Name: m.Name, Role: m.Role, CreatedAt: Time{Time: m.CreatedAt},
	}
}

// AddStaff gives a user a role on the platform. It creates the user if there is none with the email. It needs
// tenant_staff:manage.
//
// A member of staff who already has the role stays as they are. One with another role is CONFLICT, and so is one more
// than a thousand.
func (o Operator) AddStaff(ctx context.Context, params AddStaffParams) (StaffMember, error) {
	if err := o.allowWrite(PermissionStaffManage, uuid.Nil); err != nil {
		return StaffMember{}, err
	}
	var v violations
	params.Email = requiredEmail(&v, "email", params.Email, maxUserEmail)
	params.Name = requiredText(&v, "name", params.Name, 1, maxMemberName)
	checkStaffRole(&v, params.Role)
	if err := v.err(); err != nil {
		return StaffMember{}, err
	}
	id := o.s.newID()
	var added StaffMember
	err := o.updatePlatform(ctx, PermissionStaffManage, func(ctx context.Context, tx driver.Tx, at time.Time) error {
		user, err := findOrCreateUser(ctx, tx, driver.User{ID: id, Email: params.Email, CreatedAt: at})
		if err != nil {
			return err
		}
		member, err := firstRecord(tx.StaffMembers(ctx, []uuid.UUID{user.ID}))
		if err != nil {
			return err
		}
		// They keep the role that they have: another one is a change that UpdateStaff audits.
		switch member.Role {
		case params.Role:
			added = showStaff(member, user)
			return nil
		case "":
		default:
			return conflict("The user is a member of staff already, with the role %s.", member.Role)
		}
		staff, err := tx.ListStaff(ctx, maxStaff)
		if err != nil {
			return err
		}
		if len(staff) >= maxStaff {
			return conflict("There are at most %d members of staff.", maxStaff)
		}
		joined := driver.StaffMember{
			UserID: user.ID, Name: params.Name, Role: params.Role, CreatedAt: at, UpdatedAt: at,
		}
		// A former member keeps the first time of creation.
		if !member.CreatedAt.IsZero() {
			joined.CreatedAt, joined.UpdatedAt = member.CreatedAt, notBefore(at, member.UpdatedAt)
		}
		if err := o.dropInvited(ctx, tx, at, user.ID, uuid.Nil); err != nil {
			return err
		}
		added = showStaff(joined, user)
		return o.putStaff(ctx, tx, at, "staff.add", "", joined)
	})
	if err != nil {
		return StaffMember{}, err
	}
	return added, nil
}

// UpdateStaff gives a member of staff another role. One who already has it stays as they are. The last administrator
// stays one, else CONFLICT. The permissions of the new role hold from their next write on. It needs
// tenant_staff:manage.
func (o Operator) UpdateStaff(ctx context.Context, userID uuid.UUID, role StaffRole) (StaffMember, error) {
	if err := o.allowWrite(PermissionStaffManage, uuid.Nil); err != nil {
		return StaffMember{}, err
	}
	var v violations
	checkStaffRole(&v, role)
	if err := v.err(); err != nil {
		return StaffMember{}, err
	}
	return o.changeStaff(ctx, "staff.update", userID, role)
}

// RemoveStaff takes the role of a member of staff away and returns what it was. The last administrator cannot be
// removed, else CONFLICT. The user and their memberships stay. All sessions of a user without a membership end. It
// needs tenant_staff:manage.
func (o Operator) RemoveStaff(ctx context.Context, userID uuid.UUID) (StaffMember, error) {
	return o.changeStaff(ctx, "staff.remove", userID, "")
}

// changeStaff changes the role of a member of staff. An empty role removes them.
func (o Operator) changeStaff(
	ctx context.Context, action string, userID uuid.UUID, role StaffRole,
) (StaffMember, error) {
	var changed StaffMember
	err := o.updatePlatform(ctx, PermissionStaffManage, func(ctx context.Context, tx driver.Tx, at time.Time) error {
		member, err := firstRecord(tx.StaffMembers(ctx, []uuid.UUID{userID}))
		if err != nil {
			return err
		}
		if member.Role == "" {
			return errNoStaff
		}
		user, err := firstRecord(tx.Users(ctx, []uuid.UUID{userID}))
		if err != nil {
			return err
		}
		// One who has the role already is not written.
		if changed = showStaff(member, user); member.Role == role {
			return nil
		}
		if member.Role == StaffAdministrator {
			if err := hasAnotherAdministrator(ctx, tx, userID); err != nil {
				return err
			}
		}
		before := member.Role
		member.Role, member.UpdatedAt = role, notBefore(at, member.UpdatedAt)
		if err := o.putStaff(ctx, tx, at, action, before, member); err != nil {
			return err
		}
		// The result of a removal is the role that ended.
		if role == "" {
			return endAccess(ctx, tx, user)
		}
		changed.Role = role
		return nil
	})
	if err != nil {
		return StaffMember{}, err
	}
	return changed, nil
}

// hasAnotherAdministrator returns CONFLICT if there is no other administrator than the user. The exclusive gate makes
// the answer exact: two administrators cannot remove each other at the same time.
func hasAnotherAdministrator(ctx context.Context, tx driver.ReadTx, userID uuid.UUID) error {
	staff, err := tx.ListStaff(ctx, maxStaff)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(staff, func(m driver.StaffMember) bool {
		return m.Role == StaffAdministrator && m.UserID != userID
	}) {
		return errLastAdministrator
	}
	return nil
}

// putStaff keeps and audits a member of staff. before is the role that they had, or empty.
func (o Operator) putStaff(
	ctx context.Context, tx driver.Tx, at time.Time, action string, before StaffRole, member driver.StaffMember,
) error {
	if err := tx.PutStaffMember(ctx, member); err != nil {
		return err
	}
	return o.audit(ctx, tx, at, action, uuid.Nil, about("user", member.UserID), changes{
		map[string]any{"staffRole": optional(string(before))}, map[string]any{"staffRole": optional(string(member.Role))},
	})
}

// ListStaff returns the platform's staff by the ids of their users. It needs tenant:read.
func (o Operator) ListStaff(ctx context.Context) ([]StaffMember, error) {
	if err := o.allowPlatformRead(uuid.Nil); err != nil {
		return nil, err
	}
	var staff []StaffMember
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		records, err := tx.ListStaff(ctx, maxStaff)
		if err != nil {
			return err
		}
		ids := make([]uuid.UUID, len(records))
		for i, record := range records {
			ids[i] = record.UserID
		}
		users, err := tx.Users(ctx, ids)
		if err != nil {
			return err
		}
		staff = make([]StaffMember, len(records))
		for i, record := range records {
			staff[i] = showStaff(record, users[i])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return staff, nil
}
