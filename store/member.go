package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

type userModel struct {
	bun.BaseModel `bun:"table:ticketing_users,alias:u"`
	userFields
}

type userFields struct {
	ID        uuid.UUID `bun:",pk"`
	Email     string
	CreatedAt time.Time
}

const userColumns = "id, email, created_at"

func scanUser(row rowSet, u *driver.User) error {
	return row.Scan((*id)(&u.ID), &u.Email, (*moment)(&u.CreatedAt))
}

type memberModel struct {
	bun.BaseModel `bun:"table:ticketing_members,alias:m"`
	memberFields
}

type memberFields struct {
	CompanyID uuid.UUID `bun:",pk"`
	UserID    uuid.UUID `bun:",pk"`
	Name      string
	Role      driver.Role
	CreatedAt time.Time
	UpdatedAt time.Time
}

func (m memberModel) record() driver.Member { return driver.Member(m.memberFields) }

const memberColumns = "company_id, user_id, name, role, created_at, updated_at"

func scanMember(row rowSet, m *driver.Member) error {
	return row.Scan((*id)(&m.CompanyID), (*id)(&m.UserID), &m.Name, (*string)(&m.Role), (*moment)(&m.CreatedAt),
		(*moment)(&m.UpdatedAt))
}

// Users finds users by their ids.
func (s *session) Users(ctx context.Context, users []uuid.UUID) ([]driver.User, error) {
	return findByRefs(users, func(u driver.User) uuid.UUID { return u.ID },
		func(users []uuid.UUID) ([]driver.User, error) {
			return query(ctx, s, "Users", scanUser,
				"SELECT "+userColumns+" FROM ticketing_users WHERE ?", inIDs("id", users))
		})
}

// FindUsers finds users by their emails.
func (s *session) FindUsers(ctx context.Context, emails []string) ([]driver.User, error) {
	return findByRefs(emails, func(u driver.User) string { return u.Email },
		func(emails []string) ([]driver.User, error) {
			return query(ctx, s, "FindUsers", scanUser, "SELECT "+userColumns+" FROM ticketing_users WHERE ?",
				inRows{columns: []string{"email"}, rows: columnOf(emails)})
		})
}

// Members finds members, including removed ones.
func (s *session) Members(ctx context.Context, refs []driver.MemberRef) ([]driver.Member, error) {
	return findByRefs(refs,
		func(m driver.Member) driver.MemberRef {
			return driver.MemberRef{CompanyID: m.CompanyID, UserID: m.UserID}
		},
		func(refs []driver.MemberRef) ([]driver.Member, error) {
			return query(ctx, s, "Members", scanMember, "SELECT "+memberColumns+" FROM ?",
				keyedRows{table: "ticketing_members m", set: newSet("company_id, user_id", refs,
					func(r driver.MemberRef) []any { return []any{r.CompanyID, r.UserID} })})
		})
}

// ListMembers returns a company's members by the ids of their users, without removed ones.
func (s *session) ListMembers(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.Member, error) {
	return find(ctx, s, "ListMembers", memberModel.record, s.newSelect().
		Where("company_id = ?", id(companyID)).Where("role <> ''").
		Apply(page("user_id", limit)))
}

// ListMemberships returns a user's memberships in companies, by the ids of the companies, without those that were
// removed. On a cluster one statement asks every shard, which shows all of them while shards move, too. While a node is
// away that statement fails, and each node is asked by itself. The result then lacks what is on the absent nodes, and
// comes with ErrIncomplete.
func (s *session) ListMemberships(
	ctx context.Context, userID uuid.UUID, limit int,
) ([]driver.Member, error) {
	e, ok := s.store.engine.(*postgresEngine)
	cluster := ok && e.distributed && (s.owner != nil || s.alone)
	if !cluster || !e.nodes.mayBeAway() {
		members, err := s.allMemberships(ctx, userID, limit)
		if !cluster || !errors.Is(err, driver.ErrUnavailable) {
			return members, err
		}
		e.nodes.doubt(true)
		if s.owner != nil {
			return nil, &transientError{err} // The transaction has failed. Its next run asks node by node.
		}
	}
	ask := askPresentNodes[driver.Member]
	if s.owner != nil {
		ask = askNodesWithin[driver.Member]
	}
	onNodes := func(q *nodeQuery) {
		q.columns = "company_id uuid, user_id uuid, name text, role text, created_at bigint, updated_at bigint"
		q.add(nil, build(e, "SELECT "+memberColumns+" FROM ticketing_members WHERE user_id = ? AND role <> ''"+
			" ORDER BY company_id LIMIT ?", userID, max(limit, 0)))
	}
	members, missing, asked, err := ask(ctx, s, "ListMemberships", onNodes, scanMember)
	if err != nil {
		return nil, err
	}
	if !asked || missing == 0 {
		e.nodes.doubt(false)
		return s.allMemberships(ctx, userID, limit)
	}
	compare := func(a, b driver.Member) int { return slices.Compare(a.CompanyID[:], b.CompanyID[:]) }
	slices.SortFunc(members, compare)
	members = slices.CompactFunc(members, func(a, b driver.Member) bool { return compare(a, b) == 0 })
	members = members[:min(len(members), max(limit, 0))]
	return members, fmt.Errorf("ticketing/store: memberships: %w", driver.ErrIncomplete)
}

// allMemberships is ListMemberships by one statement.
func (s *session) allMemberships(ctx context.Context, userID uuid.UUID, limit int) ([]driver.Member, error) {
	return find(ctx, s, "ListMemberships", memberModel.record, s.newSelect().
		Where("user_id = ?", id(userID)).Where("role <> ''").
		Apply(page("company_id", limit)))
}

// CreateUser inserts a user.
func (tx *transaction) CreateUser(ctx context.Context, u driver.User) error {
	return tx.create(ctx, "CreateUser", &userModel{userFields: userFields(u)})
}

// PutMember inserts or updates a member. The time of creation of an existing one stays.
func (tx *transaction) PutMember(ctx context.Context, m driver.Member) error {
	return tx.write(ctx, "PutMember", anyNumber, tx.insertion(&memberModel{memberFields: memberFields(m)}).
		On("CONFLICT (company_id, user_id) DO UPDATE").
		Set("name = EXCLUDED.name, role = EXCLUDED.role, updated_at = EXCLUDED.updated_at"))
}
