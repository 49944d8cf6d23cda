package ticketing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Member is a user with a role in a company.
//
// A user may be a member of several companies, with a name and a role in each.
type Member struct {
	UserID    uuid.UUID `json:"userId"`
	Email     string    `json:"email"`
	Name      string    `json:"name"` // the name that this company uses
	Role      Role      `json:"role"`
	CreatedAt Time      `json:"createdAt"`
}

// AddMemberParams describe who joins a company.
type AddMemberParams struct {
	Email string // at most 320 characters; trimmed and lower-cased
	Name  string // 1 to 200 characters; the name that this company uses
	Role  Role
}

const (
	maxMembers    = 1000 // per company
	maxMemberName = 200
)

var (
	errNoMember      = notFound("The member")
	errOwnMembership = &Error{
		Code:    CodePermissionDenied,
		Message: "Staff do not decide about their own membership of a company. Ask an administrator of the platform.",
	}
	errLastOwner = conflict("A company that has an owner keeps one. Make somebody else an owner first.")
)

// permissionsOf returns the permissions of a role, in the order of [PermissionRules].
func permissionsOf(r Role) []Permission {
	var held []Permission
	for _, rule := range PermissionRules() {
		if slices.Contains(rule.Roles, r) {
			held = append(held, rule.Permission)
		}
	}
	return held
}

// checkRole accepts the roles that a member may have.
func checkRole(v *violations, role Role) {
	switch role {
	case RoleOwner, RoleAdministrator, RoleViewer:
	default:
		v.add("role", "must be OWNER, ADMINISTRATOR or VIEWER")
	}
}

// showMember returns the member as an operator sees it.
func showMember(m driver.Member, user driver.User) Member {
	return Member{UserID: m.UserID, Email: user.Email, Name: m.Name, Role: m.Role, CreatedAt: Time{Time: m.CreatedAt}}
}

// Member returns the actor for a user in a company, for surfaces that users sign in to. The actor has the permissions
// of the user's role, and "user" with their id as its name. A user who is not a member gets NOT_FOUND, as for a company
// that does not exist.
//
// Call it for each request. A change checks the role that the user has at the time of the change. A read uses the role
// at the time of this call.
func (s *Service) Member(ctx context.Context, companyID, userID uuid.UUID) (Actor, error) {
	member, err := s.findMember(ctx, companyID, userID)
	if err != nil {
		return Actor{}, err
	}
	return Actor{
		Name: about("user", userID), CompanyID: companyID, Permissions: permissionsOf(member.Role), userID: userID,
	}, nil
}

// findMember returns a member of a company. A user who is not one is errNoCompany.
func (s *Service) findMember(ctx context.Context, companyID, userID uuid.UUID) (driver.Member, error) {
	var member driver.Member
	err := s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		member, err = firstRecord(tx.Members(ctx, []driver.MemberRef{{CompanyID: companyID, UserID: userID}}))
		return err
	})
	// A removed member has no role.
	if err == nil && member.Role == "" {
		err = errNoCompany
	}
	return member, err
}

// isStaffUser reports whether the actor is a member of staff, whose role is looked at again in each write.
func (o Operator) isStaffUser() bool { return o.actor.userID != uuid.Nil && o.actor.isStaff() }

// stillHolds checks that an actor who is a user still has the permission by their current role: as a member of the
// company, or as a member of staff. It runs in the transaction that needs it. Roles change only under the company's
// gate, and those of staff under the gate of the zero company, held exclusively. So the role stays as it is until the
// transaction ends.
func (o Operator) stillHolds(
	ctx context.Context, tx driver.ReadTx, permission Permission, companyID uuid.UUID,
) error {
	if o.actor.userID == uuid.Nil {
		return nil
	}
	role, staffRole, err := o.rolesOf(ctx, tx, companyID)
	if err != nil {
		return err
	}
	if !slices.Contains(permissionsOf(role), permission) && !slices.Contains(staffPermissions(staffRole), permission) {
		return errMissing(permission)
	}
	return nil
}

// rolesOf returns the roles that an actor who is a user acts by: that of a member of the company, that of a member of
// staff, or both. The role that the actor does not act by is empty.
func (o Operator) rolesOf(
	ctx context.Context, tx driver.ReadTx, companyID uuid.UUID,
) (role Role, staffRole StaffRole, err error) {
	if o.isStaffUser() {
		staff, err := firstRecord(tx.StaffMembers(ctx, []uuid.UUID{o.actor.userID}))
		if err != nil {
			return "", "", err
		}
		staffRole = staff.Role
	}
	if o.actor.CompanyID != uuid.Nil {
		member, err := firstRecord(tx.Members(ctx, []driver.MemberRef{{CompanyID: companyID, UserID: o.actor.userID}}))
		if err != nil {
			return "", "", err
		}
		role = member.Role
	}
	return role, staffRole, nil
}

// admitsAnybody reports whether the actor may decide about every membership of the company, and be handed the link of a
// new member. Staff who are no administrators may not: a membership of their own would give them what their role on the
// platform does not, such as keys and payouts. An owner may, whatever their role on the platform is.
func (o Operator) admitsAnybody(ctx context.Context, tx driver.ReadTx, companyID uuid.UUID) (bool, error) {
	if !o.isStaffUser() {
		return true, nil
	}
	role, staffRole, err := o.rolesOf(ctx, tx, companyID)
	return role == RoleOwner || staffRole == StaffAdministrator, err
}

// checkNotOwn refuses a change of the actor's own membership, unless the actor decides about every one.
func (o Operator) checkNotOwn(ctx context.Context, tx driver.ReadTx, companyID, userID uuid.UUID) error {
	if userID != o.actor.userID {
		return nil
	}
	anybody, err := o.admitsAnybody(ctx, tx, companyID)
	if err == nil && !anybody {
		err = errOwnMembership
	}
	return err
}

// AddMember makes a user a member of a company. It creates the user if there is none with the email. The name is this
// company's own: the name that another company uses is not shown. It needs COMPANY:member:manage.
//
// A member who already has the role stays as they are. A member with another role is CONFLICT, and so is a company with
// a thousand members. [Operator.InviteMember] also makes a link for a new user to sign in with.
func (o Operator) AddMember(ctx context.Context, companyID uuid.UUID, params AddMemberParams) (Member, error) {
	var added Member
	err := o.addMember(ctx, companyID, params,
		func(_ context.Context, _ driver.Tx, _ time.Time, member Member, _ driver.User) error {
			added = member
			return nil
		})
	if err != nil {
		return Member{}, err
	}
	return added, nil
}

// Invitation is a new member and the link to give them.
type Invitation struct {
	Member Member `json:"member"`
	// Link signs the member in once. It is nil for a user who has signed in before, is a member of another company or has
	// a staff role: with a link the inviting company could sign in as them. These users sign in as they do elsewhere. It
	// is also nil for an actor who may not get a link, see [Operator.InviteMember]. For the same reason a link that was
	// not mailed stops working once one of these conditions holds. The sessions and passkeys that it set up end with the
	// user's first role elsewhere, and with the first sign-in that proves who they are.
	Link *Link `json:"link"`
	// Withheld reports whether there is no link because the actor may not get one.
	Withheld bool `json:"-"`
}

// InviteMember is [Operator.AddMember] and makes a link for a new user to sign in with, see [Invitation]. Another call
// makes another link until the member has signed in. It needs COMPANY:member:manage.
//
// Staff who are not administrators get no link, since they could open it themselves. See [Operator.InviteMemberByMail].
func (o Operator) InviteMember(
	ctx context.Context, companyID uuid.UUID, params AddMemberParams,
) (Invitation, error) {
	return o.invite(ctx, companyID, params, driver.SignInInvitation)
}

// InviteMemberByMail is [Operator.InviteMember] for a caller that mails the link to the member's address and shows it
// to nobody. A person who opens the link has shown that the address is theirs, so what they set up stays when they get
// a role elsewhere. Every actor gets a link, also staff who are not administrators. It needs COMPANY:member:manage.
func (o Operator) InviteMemberByMail(
	ctx context.Context, companyID uuid.UUID, params AddMemberParams,
) (Invitation, error) {
	return o.invite(ctx, companyID, params, SignInLink)
}

// invite makes a user a member, with a link of a kind.
func (o Operator) invite(
	ctx context.Context, companyID uuid.UUID, params AddMemberParams, kind SignInMethod,
) (Invitation, error) {
	if err := o.allowWrite(PermissionMemberManage, companyID); err != nil {
		return Invitation{}, err
	}
	fresh, err := o.s.Accounts().newLink()
	if err != nil {
		return Invitation{}, err
	}
	var invited Invitation
	err = o.addMember(ctx, companyID, params,
		func(ctx context.Context, tx driver.Tx, at time.Time, member Member, user driver.User) error {
			invited = Invitation{Member: member}
			known, err := isKnownElsewhere(ctx, tx, companyID, user.ID)
			if err != nil || known {
				return err
			}
			if kind == driver.SignInInvitation {
				handed, err := o.admitsAnybody(ctx, tx, companyID)
				if invited.Withheld = !handed; err != nil || !handed {
					return err
				}
			}
			record := fresh.record(kind, at, user.ID, companyID)
			link, err := o.createLink(ctx, tx, at, record, companyID, fresh)
			invited.Link = &link
			return err
		})
	if err != nil {
		return Invitation{}, err
	}
	return invited, nil
}

// isKnownElsewhere reports whether a user is more than a member of the company who never signed in.
func isKnownElsewhere(ctx context.Context, tx driver.ReadTx, companyID, userID uuid.UUID) (bool, error) {
	members, err := tx.ListMemberships(ctx, userID, 2)
	elsewhere := slices.ContainsFunc(members, func(m driver.Member) bool { return m.CompanyID != companyID })
	if err != nil || elsewhere {
		if elsewhere && errors.Is(err, ErrIncomplete) {
			err = nil
		}
		return true, err
	}
	staff, err := firstRecord(tx.StaffMembers(ctx, []uuid.UUID{userID}))
	if err != nil || staff.Role != "" {
		return true, err
	}
	return hasSignedIn(ctx, tx, userID)
}

// addMember makes a user a member of a company and runs follow with both, in the same transaction.
func (o Operator) addMember(
	ctx context.Context, companyID uuid.UUID, params AddMemberParams,
	follow func(ctx context.Context, tx driver.Tx, at time.Time, member Member, user driver.User) error,
) error {
	if err := o.allowWrite(PermissionMemberManage, companyID); err != nil {
		return err
	}
	var v violations
	params.Email = requiredEmail(&v, "email", params.Email, maxUserEmail)
	params.Name = requiredText(&v, "name", params.Name, 1, maxMemberName)
	checkRole(&v, params.Role)
	if err := v.err(); err != nil {
		return err
	}
	id := o.s.newID()
	return o.changeAccess(ctx, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			user, err := findOrCreateUser(ctx, tx, driver.User{ID: id, Email: params.Email, CreatedAt: at})
			if err != nil {
				return err
			}
			if err := o.checkNotOwn(ctx, tx, companyID, user.ID); err != nil {
				return err
			}
			member, err := o.join(ctx, tx, at, companyID, user.ID, params)
			if err != nil {
				return err
			}
			return follow(ctx, tx, at, showMember(member, user), user)
		})
}

// changeAccess runs a rule by which a membership begins or ends. It holds the gate of the zero company, too: it keeps
// two calls from creating a user with one email, and guards whether a user may sign in at all.
func (o Operator) changeAccess(ctx context.Context, companyID uuid.UUID, rule operatorRule) error {
	in := driver.BeginOptions{Exclusive: []uuid.UUID{companyID, uuid.Nil}}
	return o.update(ctx, PermissionMemberManage, companyID, in, rule)
}

// join gives a user a role in a company.
func (o Operator) join(
	ctx context.Context, tx driver.Tx, at time.Time, companyID, userID uuid.UUID, params AddMemberParams,
) (driver.Member, error) {
	member, err := firstRecord(tx.Members(ctx, []driver.MemberRef{{CompanyID: companyID, UserID: userID}}))
	if err != nil {
		return driver.Member{}, err
	}
	// A member keeps the role that they have: another one is a change that UpdateMember audits.
	switch member.Role {
	case params.Role:
		return member, nil
	// A user without a role is no member, or was removed.
	case "":
	default:
		return driver.Member{}, conflict("The user is a member already, with the role %s.", member.Role)
	}
	// The exclusive gate makes the limit exact.
	members, err := tx.ListMembers(ctx, companyID, maxMembers)
	if err != nil {
		return driver.Member{}, err
	}
	if len(members) >= maxMembers {
		return driver.Member{}, conflict("A company has at most %d members.", maxMembers)
	}
	joined := driver.Member{
		CompanyID: companyID, UserID: userID, Name: params.Name, Role: params.Role, CreatedAt: at, UpdatedAt: at,
	}
	// A former member keeps the first time of creation.
	if !member.CreatedAt.IsZero() {
		joined.CreatedAt, joined.UpdatedAt = member.CreatedAt, notBefore(at, member.UpdatedAt)
	}
	if err := o.dropInvited(ctx, tx, at, userID, companyID); err != nil {
		return driver.Member{}, err
	}
	return joined, o.putMember(ctx, tx, at, "member.add", "", joined)
}

// findOrCreateUser returns the user with the email, or creates one. The caller holds the gate of the zero company
// exclusively. The constraint on emails is a second guard.
func findOrCreateUser(ctx context.Context, tx driver.Tx, fresh driver.User) (driver.User, error) {
	user, err := firstRecord(tx.FindUsers(ctx, []string{fresh.Email}))
	if err != nil || user.ID != uuid.Nil {
		return user, err
	}
	return fresh, tx.CreateUser(ctx, fresh)
}

// UpdateMember gives a member another role. A member who already has it stays as they are. The last owner must stay
// one, else CONFLICT. It needs COMPANY:member:manage.
//
// The permissions of the new role hold from the member's next write on. An owner may lower their own role, as long as
// another owner is left.
func (o Operator) UpdateMember(ctx context.Context, companyID, userID uuid.UUID, role Role) (Member, error) {
	if err := o.allowWrite(PermissionMemberManage, companyID); err != nil {
		return Member{}, err
	}
	var v violations
	checkRole(&v, role)
	if err := v.err(); err != nil {
		return Member{}, err
	}
	return o.changeMember(ctx, "member.update", companyID, userID, role)
}

// RemoveMember ends a membership and returns what it was. The last owner cannot be removed, else CONFLICT. The user and
// their other memberships stay. With the last membership of a user without a staff role all their sessions end. It
// needs COMPANY:member:manage.
func (o Operator) RemoveMember(ctx context.Context, companyID, userID uuid.UUID) (Member, error) {
	return o.changeMember(ctx, "member.remove", companyID, userID, "")
}

// changeMember changes a member's role. An empty role ends the membership.
func (o Operator) changeMember(
	ctx context.Context, action string, companyID, userID uuid.UUID, role Role,
) (Member, error) {
	var changed Member
	change := func(ctx context.Context, rule operatorRule) error {
		return o.changeExclusive(ctx, PermissionMemberManage, companyID, rule)
	}
	if role == "" {
		change = func(ctx context.Context, rule operatorRule) error { return o.changeAccess(ctx, companyID, rule) }
	}
	err := change(ctx,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			member, err := firstRecord(tx.Members(ctx, []driver.MemberRef{{CompanyID: companyID, UserID: userID}}))
			if err != nil {
				return err
			}
			if member.Role == "" {
				return errNoMember
			}
			if err := o.checkNotOwn(ctx, tx, companyID, userID); err != nil {
				return err
			}
			// The result shows the email, which belongs to the user and not to the membership.
			user, err := firstRecord(tx.Users(ctx, []uuid.UUID{userID}))
			if err != nil {
				return err
			}
			// A member who has the role already is not written.
			if changed = showMember(member, user); member.Role == role {
				return nil
			}
			// An owner is about to lose the role.
			if member.Role == RoleOwner {
				if err := hasAnotherOwner(ctx, tx, member); err != nil {
					return err
				}
			}
			before := member.Role
			member.Role, member.UpdatedAt = role, notBefore(at, member.UpdatedAt)
			// The result of a removal is the membership that ended.
			if role != "" {
				changed.Role = role
			}
			if err := o.putMember(ctx, tx, at, action, before, member); err != nil || role != "" {
				return err
			}
			return endAccess(ctx, tx, user)
		})
	if err != nil {
		return Member{}, err
	}
	return changed, nil
}

// hasAnotherOwner returns CONFLICT if the company has no other owner. The exclusive gate makes the answer exact: two
// owners cannot remove each other at the same time.
func hasAnotherOwner(ctx context.Context, tx driver.PeopleReader, owner driver.Member) error {
	members, err := tx.ListMembers(ctx, owner.CompanyID, maxMembers)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(members, func(m driver.Member) bool {
		return m.Role == RoleOwner && m.UserID != owner.UserID
	}) {
		return errLastOwner
	}
	return nil
}

// putMember keeps and audits a member. before is the role that the member had, or empty. A removed member stays as a
// record without a role, which keeps the time at which the user first joined.
func (o Operator) putMember(
	ctx context.Context, tx driver.Tx, at time.Time, action string, before Role, member driver.Member,
) error {
	if err := tx.PutMember(ctx, member); err != nil {
		return err
	}
	return o.audit(ctx, tx, at, action, member.CompanyID, about("user", member.UserID), changes{
		map[string]any{"role": optional(string(before))}, map[string]any{"role": optional(string(member.Role))},
	})
}

// ListMembers returns a company's members by the ids of their users. It needs COMPANY:member:read.
func (o Operator) ListMembers(ctx context.Context, companyID uuid.UUID) ([]Member, error) {
	var members []Member
	err := o.view(ctx, PermissionMemberRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			records, err := tx.ListMembers(ctx, companyID, maxMembers)
			if err != nil {
				return err
			}
			// One query finds the users of all members.
			ids := make([]uuid.UUID, len(records))
			for i, record := range records {
				ids[i] = record.UserID
			}
			users, err := tx.Users(ctx, ids)
			if err != nil {
				return err
			}
			members = make([]Member, len(records))
			for i, record := range records {
				members[i] = showMember(record, users[i])
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return members, nil
}

// maxUserEmail is the most characters of a user's email, as of a buyer's.
const maxUserEmail = 320
