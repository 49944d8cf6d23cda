package ticketing

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Accounts are the people who sign in: users with their memberships, staff roles, sessions, links, codes and passkeys.
// [Service.Accounts] returns them. They are for trusted surfaces that let people sign in, such as package console: no
// method checks a permission, and the caller decides whose request it serves.
//
// A person signs in to the platform and not to a company. What they may do there follows from [Accounts.Member],
// [Accounts.Staff] and [Accounts.Caller].
type Accounts struct{ s *Service }

// Accounts returns the people who sign in.
func (s *Service) Accounts() Accounts { return Accounts{s: s} }

// User is a person: one for each email on the whole platform.
type User struct {
	ID        uuid.UUID `json:"id"`
	Email     string    `json:"email"`
	CreatedAt Time      `json:"createdAt"`
}

// PersonRef identifies a user. With a company, [Accounts.People] returns the name that the user has there.
type PersonRef struct{ CompanyID, UserID uuid.UUID }

// Person is a user with the name to show in place of their id, for example on a page of the audit log.
type Person struct {
	ID    uuid.UUID `json:"id"`
	Email string    `json:"email"`
	// Name is the user's name as a member of the company, otherwise as a member of the staff, also after they were
	// removed. It is empty for a user who was neither.
	Name string `json:"name,omitempty"`
}

// Membership is a company that a user is a member of, with their role there.
type Membership struct {
	CompanyID     uuid.UUID     `json:"companyId"`
	CompanyName   string        `json:"companyName"`
	CompanyStatus CompanyStatus `json:"companyStatus"`
	Role          Role          `json:"role"`
	Name          string        `json:"name"` // the user's name in this company
	JoinedAt      Time          `json:"joinedAt"`
}

// maxMemberships is how many companies of a user are listed.
const maxMemberships = 1000

var errNoUser = notFound("The user")

// showUser returns the user as a surface sees them.
func showUser(u driver.User) User {
	return User{ID: u.ID, Email: u.Email, CreatedAt: Time{Time: u.CreatedAt}}
}

// GetUser returns a user by id. An unknown one is NOT_FOUND.
func (a Accounts) GetUser(ctx context.Context, userID uuid.UUID) (User, error) {
	return a.findUser(ctx, func(tx driver.ReadTx, ctx context.Context) ([]driver.User, error) {
		return tx.Users(ctx, []uuid.UUID{userID})
	})
}

// FindUser returns the user with an email address. Case and surrounding white space do not matter. An unknown address
// is NOT_FOUND.
func (a Accounts) FindUser(ctx context.Context, address string) (User, error) {
	var v violations
	address = requiredEmail(&v, "email", address, maxUserEmail)
	if err := v.err(); err != nil {
		return User{}, err
	}
	return a.findUser(ctx, func(tx driver.ReadTx, ctx context.Context) ([]driver.User, error) {
		return tx.FindUsers(ctx, []string{address})
	})
}

// findUser returns the user that find finds.
func (a Accounts) findUser(
	ctx context.Context, find func(driver.ReadTx, context.Context) ([]driver.User, error),
) (User, error) {
	var user driver.User
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		user, err = firstRecord(find(tx, ctx))
		return err
	})
	if err == nil && user.ID == uuid.Nil {
		err = errNoUser
	}
	if err != nil {
		return User{}, err
	}
	return showUser(user), nil
}

// People returns users with their names, in the order of the references, and the zero Person for an unknown id. It
// makes three reads, however many references there are.
func (a Accounts) People(ctx context.Context, refs []PersonRef) ([]Person, error) {
	people := make([]Person, len(refs))
	if len(refs) == 0 {
		return people, nil
	}
	ids := make([]uuid.UUID, len(refs))
	members := make([]driver.MemberRef, len(refs))
	for i, ref := range refs {
		ids[i], members[i] = ref.UserID, driver.MemberRef(ref)
	}
	ids, members = distinct(ids), distinct(members)
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		users, err := tx.Users(ctx, ids)
		if err != nil {
			return err
		}
		staff, err := tx.StaffMembers(ctx, ids)
		if err != nil {
			return err
		}
		known := make(map[uuid.UUID]Person, len(ids))
		for i, user := range users {
			known[ids[i]] = Person{ID: user.ID, Email: user.Email, Name: staff[i].Name}
		}
		joined, err := tx.Members(ctx, members)
		names := make(map[driver.MemberRef]string, len(joined))
		for i, member := range joined {
			names[members[i]] = member.Name
		}
		for i, ref := range refs {
			if people[i] = known[ref.UserID]; people[i].ID != uuid.Nil {
				people[i].Name = cmp.Or(names[driver.MemberRef(ref)], people[i].Name)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return people, nil
}

// Companies returns the companies that a user is a member of, by name and then by id: at most 1,000. The list is empty
// for a user without a membership and for an unknown user.
//
// While a node of a cluster is away, it returns the companies of the other nodes, and [ErrIncomplete].
func (a Accounts) Companies(ctx context.Context, userID uuid.UUID) ([]Membership, error) {
	var memberships []Membership
	var incomplete error
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		members, err := tx.ListMemberships(ctx, userID, maxMemberships)
		memberships, incomplete = make([]Membership, 0, len(members)), nil
		if errors.Is(err, ErrIncomplete) {
			incomplete, err = err, nil
		}
		if err != nil || len(members) == 0 {
			return err
		}
		ids := make([]uuid.UUID, len(members))
		for i, member := range members {
			ids[i] = member.CompanyID
		}
		companies, err := tx.Companies(ctx, ids)
		if err != nil {
			return err
		}
		for i, member := range members {
			memberships = append(memberships, Membership{
				CompanyID: member.CompanyID, CompanyName: companies[i].Name, CompanyStatus: companies[i].Status,
				Role: member.Role, Name: member.Name, JoinedAt: Time{Time: member.CreatedAt},
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(memberships, func(a, b Membership) int {
		return cmp.Or(cmp.Compare(a.CompanyName, b.CompanyName), cmp.Compare(a.CompanyID.String(), b.CompanyID.String()))
	})
	return memberships, incomplete
}

// Member returns the actor for a user in a company: see [Service.Member].
func (a Accounts) Member(ctx context.Context, companyID, userID uuid.UUID) (Actor, error) {
	return a.s.Member(ctx, companyID, userID)
}

// Actor returns the actor for a user on the pages of one company, by everything that they hold there: the role of a
// member, the role of staff, or both. Who has both may do what either role gives, for this company alone. A user who
// has neither is NOT_FOUND, as for a company that does not exist.
//
// Call it for each request, as [Accounts.Member] and [Accounts.Staff].
func (a Accounts) Actor(ctx context.Context, companyID, userID uuid.UUID) (Actor, error) {
	held, err := a.roles(ctx, companyID, userID)
	if err != nil {
		return Actor{}, err
	}
	return held.actor()
}

// Staff returns the platform actor for a user with a staff role. It has the permissions of that role, and "user" with
// their id as its name. A user without a staff role is NOT_FOUND.
//
// Call it for each request. A change checks the role that the user has at the time of the change: it reads the role
// again in its transaction. A read uses the role at the time of this call.
func (a Accounts) Staff(ctx context.Context, userID uuid.UUID) (Actor, error) {
	held, err := a.roles(ctx, uuid.Nil, userID)
	if err != nil {
		return Actor{}, err
	}
	return held.staffActor()
}

// Caller returns the caller on the data plane for a user in a company. An owner and an administrator have all seven
// grants, a viewer has the three that read. Staff read every company, so a member of staff who is no member has the
// three that read, too. Any other user is NOT_FOUND, as for a company that does not exist.
//
// Call it for each request. Every write reads the role again in its transaction, as it does an API key: a member who
// was removed or whose role no longer has the grant gets PERMISSION_DENIED. A role on the platform writes nothing.
func (a Accounts) Caller(ctx context.Context, companyID, userID uuid.UUID) (Caller, error) {
	held, err := a.roles(ctx, companyID, userID)
	if err != nil {
		return Caller{}, err
	}
	return held.caller()
}

// readingGrants returns the grants that read.
func readingGrants() []Grant { return []Grant{GrantEventRead, GrantInventoryRead, GrantOrderRead} }

// grantsOf returns the grants of a role on the data plane, and none for no role.
func grantsOf(r Role) []Grant {
	switch r {
	case RoleOwner, RoleAdministrator:
		return AllGrants()
	case RoleViewer:
		return readingGrants()
	}
	return nil
}

// access is why a user may sign in: a membership of a company, or a staff role.
type access struct {
	user   driver.User
	member bool // of at least one company
	staff  bool
}

// allowed reports whether the user may sign in.
func (a access) allowed() bool { return a.user.ID != uuid.Nil && (a.member || a.staff) }

// findAccess returns why a user may sign in. It is exact in a transaction that holds the gate of the zero company:
// memberships and staff roles begin and end under it, held exclusively. While a node of a cluster is away, it fails for
// a user who may have nothing but memberships there.
func findAccess(ctx context.Context, tx driver.ReadTx, user driver.User) (access, error) {
	found := access{user: user}
	if user.ID == uuid.Nil {
		return found, nil
	}
	members, unknown := tx.ListMemberships(ctx, user.ID, 1)
	if unknown != nil && !errors.Is(unknown, ErrIncomplete) {
		return access{}, unknown
	}
	staff, err := firstRecord(tx.StaffMembers(ctx, []uuid.UUID{user.ID}))
	if err != nil {
		return access{}, err
	}
	if found.member, found.staff = len(members) > 0, staff.Role != ""; !found.allowed() {
		err = unknown
	}
	return found, err
}

// as returns the plane of operators in the name of a user, for the audit log.
func (a Accounts) as(userID uuid.UUID) Operator {
	return a.s.As(Actor{Name: about("user", userID)})
}
