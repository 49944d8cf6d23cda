package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Member is a member as a store keeps it. It changes only under the company's gate, held exclusively. A removed
// member stays as a record without a role, so that a new membership keeps the first time of creation.
type Member struct {
	CompanyID uuid.UUID
	UserID    uuid.UUID
	Name      string // the name that this company uses; no other company sees it
	Role      Role   // empty: the member was removed
	CreatedAt time.Time
	UpdatedAt time.Time
}

// MemberRef names a member.
type MemberRef struct{ CompanyID, UserID uuid.UUID }

// Role is what a user is in a company. It stands for a set of permissions, which ticketing.PermissionRules lists.
type Role string

// The roles of a company's members.
const (
	// RoleOwner holds every permission of a company.
	RoleOwner Role = "OWNER"
	// RoleAdministrator runs the company, but neither requests its money nor manages its members.
	RoleAdministrator Role = "ADMINISTRATOR"
	// RoleViewer reads everything and changes nothing.
	RoleViewer Role = "VIEWER"
)

// User is a person as a store keeps them: one for each email on the whole platform. It has no name, because each
// company names its own members. It has no password either: the applications that people use decide how they sign in.
type User struct {
	ID        uuid.UUID
	Email     string // like a buyer's: trimmed, in lower case
	CreatedAt time.Time
}

// PeopleReader finds users and members of companies.
type PeopleReader interface {
	// Users returns users by id.
	Users(ctx context.Context, ids []uuid.UUID) ([]User, error)
	// FindUsers finds users by their emails, in the order of emails.
	FindUsers(ctx context.Context, emails []string) ([]User, error)
	// Members finds members, including those who were removed.
	Members(ctx context.Context, refs []MemberRef) ([]Member, error)
	// ListMembers returns a company's members by the ids of their users, without those who were removed.
	ListMembers(ctx context.Context, companyID uuid.UUID, limit int) ([]Member, error)
	// ListMemberships returns a user's memberships in companies, by the ids of the companies, without those that were
	// removed. A store of several nodes returns those of the nodes that respond, and [ErrIncomplete] if one does not.
	ListMemberships(ctx context.Context, userID uuid.UUID, limit int) ([]Member, error)
}

// PeopleWriter keeps users and members of companies.
type PeopleWriter interface {
	// CreateUser keeps a new user. It fails with a [ConstraintError] if the email is taken.
	CreateUser(ctx context.Context, user User) error
	// PutMember creates or replaces a member. The time of creation of an existing one stays.
	PutMember(ctx context.Context, member Member) error
}
