package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Member is a user with a role in a company.
type Member struct {
	UserID    uuid.UUID `json:"userId"`
	Email     string    `json:"email"`
	Name      string    `json:"name"` // what this company calls them
	Role      Role      `json:"role"`
	CreatedAt Time      `json:"createdAt"`
}

// MemberRecord is a member as a store keeps it. It changes only behind the company's closed gate.
type MemberRecord struct {
	CompanyID uuid.UUID
	UserID    uuid.UUID
	Name      string // what the company calls them: no other company sees it
	Role      Role   // empty: was removed
	CreatedAt time.Time
	UpdatedAt time.Time
}

// MemberRef names a member.
type MemberRef struct{ CompanyID, UserID uuid.UUID }

// MemberReader finds members.
type MemberReader interface {
	// Members finds members, those who were removed as well.
	Members(ctx context.Context, refs []MemberRef) ([]MemberRecord, error)
	// ListMembers answers with a company's members by the ids of their users, without those who were removed.
	ListMembers(ctx context.Context, companyID uuid.UUID, limit int) ([]MemberRecord, error)
}

// MemberWriter keeps members.
type MemberWriter interface {
	// PutMember keeps a member, new or known; the time of creation of a known one stays.
	PutMember(ctx context.Context, member MemberRecord) error
}

// AddMemberParams say who joins a company.
type AddMemberParams struct {
	Email string // at most 320 characters; trimmed and lower-cased
	Name  string // 1 to 200 characters; what this company calls them
	Role  Role
}

const (
	maxMembers    = 1000 // of a company
	maxMemberName = 200
)

var (
	errNoMember  = notFound("The member")
	errLastOwner = conflict("A company that has an owner keeps one. Make somebody else an owner first.")
)

// permissions are what a role stands for, in the order of the table.
func (r Role) permissions() []Permission {
	var held []Permission
	for _, rule := range PermissionRules() {
		if slices.Contains(rule.Roles, r) {
			held = append(held, rule.Permission)
		}
	}
	return held
}

func checkRole(v *violations, role Role) {
	switch role {
	case RoleOwner, RoleAdministrator, RoleViewer:
	default:
		v.add("role", "must be OWNER, ADMINISTRATOR or VIEWER")
	}
}

func (m MemberRecord) member(user UserRecord) Member {
	return Member{UserID: m.UserID, Email: user.Email, Name: m.Name, Role: m.Role, CreatedAt: Time{m.CreatedAt}}
}

// Member is the actor that a user is in a company, for surfaces that users sign in to: with the permissions of their
// role, and "user" and their id for a name. Whoever is no member gets NOT_FOUND, as does anybody for a company that is
// none. Ask for it with each request: what an actor changes rests on the role that the user has then, what an actor
// reads on the role at the time of this call.
func (s *Service) Member(ctx context.Context, companyID, userID uuid.UUID) (Actor, error) {
	var member MemberRecord
	err := s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		member, err = only(tx.Members(ctx, []MemberRef{{CompanyID: companyID, UserID: userID}}))
		return err
	})
	if err != nil {
		return Actor{}, err
	}
	if member.Role == "" {
		return Actor{}, errNoCompany
	}
	return Actor{
		Name: about("user", userID), CompanyID: companyID, Permissions: member.Role.permissions(), userID: userID,
	}, nil
}

// stillHolds checks, within the transaction that rests on it, that an actor who is a member has the permission by the
// role of now. Roles change only behind the company's closed gate.
func (o Operator) stillHolds(ctx context.Context, tx MemberReader, permission Permission, companyID uuid.UUID) error {
	if o.actor.userID == uuid.Nil {
		return nil
	}
	member, err := only(tx.Members(ctx, []MemberRef{{CompanyID: companyID, UserID: o.actor.userID}}))
	if err == nil && !slices.Contains(member.Role.permissions(), permission) {
		err = errMissing(permission)
	}
	return err
}

// AddMember makes a user a member of a company, and the user where there is none of the email. The name is this
// company's own: what another company calls them is not shown. A member of that role already stays as they are; one
// of another role, and a company with a thousand members, is CONFLICT. It needs COMPANY:member:manage.
func (o Operator) AddMember(ctx context.Context, companyID uuid.UUID, params AddMemberParams) (Member, error) {
	if err := o.allowWrite(PermissionMemberManage, companyID); err != nil {
		return Member{}, err
	}
	var v violations
	params.Email = requiredEmail(&v, "email", params.Email, maxUserEmail)
	params.Name = requiredText(&v, "name", params.Name, 1, maxMemberName)
	checkRole(&v, params.Role)
	if err := v.err(); err != nil {
		return Member{}, err
	}
	id := o.s.newID()
	var added Member
	// Behind the gate of the zero company no two make a user of one email.
	in := Entrance{Close: []uuid.UUID{companyID, uuid.Nil}}
	err := o.update(ctx, PermissionMemberManage, companyID, in,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			user, err := findOrCreateUser(ctx, tx, UserRecord{ID: id, Email: params.Email, CreatedAt: at})
			if err != nil {
				return err
			}
			member, err := only(tx.Members(ctx, []MemberRef{{CompanyID: companyID, UserID: user.ID}}))
			if err != nil {
				return err
			}
			switch member.Role {
			case params.Role:
				added = member.member(user)
				return nil
			case "":
			default:
				return conflict("The user is a member already, with the role %s.", member.Role)
			}
			members, err := tx.ListMembers(ctx, companyID, maxMembers)
			if err != nil {
				return err
			}
			if len(members) >= maxMembers {
				return conflict("A company has at most %d members.", maxMembers)
			}
			joined := MemberRecord{
				CompanyID: companyID, UserID: user.ID, Name: params.Name, Role: params.Role, CreatedAt: at, UpdatedAt: at,
			}
			if !member.CreatedAt.IsZero() {
				joined.CreatedAt, joined.UpdatedAt = member.CreatedAt, later(at, member.UpdatedAt)
			}
			added = joined.member(user)
			return o.putMember(ctx, tx, at, "member.add", "", joined)
		})
	if err != nil {
		return Member{}, err
	}
	return added, nil
}

func findOrCreateUser(ctx context.Context, tx Tx, fresh UserRecord) (UserRecord, error) {
	user, err := only(tx.FindUsers(ctx, []string{fresh.Email}))
	if err != nil || user.ID != uuid.Nil {
		return user, err
	}
	return fresh, tx.CreateUser(ctx, fresh)
}

// UpdateMember gives a member another role. One who has it already stays as they are; the last owner keeps theirs, else
// CONFLICT. It needs COMPANY:member:manage.
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

// RemoveMember ends a membership and tells what it was. The last owner stays, else CONFLICT. The user stays, as do their
// other memberships. It needs COMPANY:member:manage.
func (o Operator) RemoveMember(ctx context.Context, companyID, userID uuid.UUID) (Member, error) {
	return o.changeMember(ctx, "member.remove", companyID, userID, "")
}

// changeMember changes a role, and ends a membership with none.
func (o Operator) changeMember(
	ctx context.Context, action string, companyID, userID uuid.UUID, role Role,
) (Member, error) {
	var changed Member
	err := o.change(ctx, PermissionMemberManage, companyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			member, err := only(tx.Members(ctx, []MemberRef{{CompanyID: companyID, UserID: userID}}))
			if err != nil {
				return err
			}
			if member.Role == "" {
				return errNoMember
			}
			user, err := only(tx.Users(ctx, []uuid.UUID{userID}))
			if err != nil {
				return err
			}
			if changed = member.member(user); member.Role == role {
				return nil
			}
			if member.Role == RoleOwner {
				if err := hasAnotherOwner(ctx, tx, member); err != nil {
					return err
				}
			}
			before := member.Role
			member.Role, member.UpdatedAt = role, later(at, member.UpdatedAt)
			if role != "" {
				changed.Role = role
			}
			return o.putMember(ctx, tx, at, action, before, member)
		})
	if err != nil {
		return Member{}, err
	}
	return changed, nil
}

func hasAnotherOwner(ctx context.Context, tx MemberReader, owner MemberRecord) error {
	members, err := tx.ListMembers(ctx, owner.CompanyID, maxMembers)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(members, func(m MemberRecord) bool {
		return m.Role == RoleOwner && m.UserID != owner.UserID
	}) {
		return errLastOwner
	}
	return nil
}

// putMember keeps a member who had another role before, or none.
func (o Operator) putMember(
	ctx context.Context, tx Tx, at time.Time, action string, before Role, member MemberRecord,
) error {
	if err := tx.PutMember(ctx, member); err != nil {
		return err
	}
	return o.audit(ctx, tx, at, action, member.CompanyID, about("user", member.UserID), changes{
		map[string]any{"role": optional(string(before))}, map[string]any{"role": optional(string(member.Role))},
	})
}

// ListMembers shows a company's members by the ids of their users. It needs COMPANY:member:read.
func (o Operator) ListMembers(ctx context.Context, companyID uuid.UUID) ([]Member, error) {
	var members []Member
	err := o.view(ctx, PermissionMemberRead, companyID, func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
		records, err := tx.ListMembers(ctx, companyID, maxMembers)
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
		members = make([]Member, len(records))
		for i, record := range records {
			members[i] = record.member(users[i])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return members, nil
}
