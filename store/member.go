package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const (
	userColumns   = "id, email, created_at"
	memberColumns = "company_id, user_id, name, role, created_at, updated_at"
)

func scanUser(row *sql.Rows, u *driver.User) error {
	return row.Scan((*id)(&u.ID), &u.Email, (*moment)(&u.CreatedAt))
}

func scanMember(row *sql.Rows, m *driver.Member) error {
	return row.Scan((*id)(&m.CompanyID), (*id)(&m.UserID), &m.Name, (*string)(&m.Role), (*moment)(&m.CreatedAt),
		(*moment)(&m.UpdatedAt))
}

// Users finds users by their ids.
func (s *session) Users(ctx context.Context, users []uuid.UUID) ([]driver.User, error) {
	return lookUp(users, func(u driver.User) uuid.UUID { return u.ID },
		func(users []uuid.UUID) ([]driver.User, error) {
			return query(ctx, s, "Users", scanUser, "SELECT "+userColumns+" FROM ticketing_users WHERE ?", amongIDs("id", users))
		})
}

// FindUsers finds users by their emails.
func (s *session) FindUsers(ctx context.Context, emails []string) ([]driver.User, error) {
	return lookUp(emails, func(u driver.User) string { return u.Email },
		func(emails []string) ([]driver.User, error) {
			return query(ctx, s, "FindUsers", scanUser, "SELECT "+userColumns+" FROM ticketing_users WHERE ?",
				among{columns: []string{"email"}, rows: columnOf(emails)})
		})
}

// Members finds members, including removed ones.
func (s *session) Members(ctx context.Context, refs []driver.MemberRef) ([]driver.Member, error) {
	return lookUp(refs,
		func(m driver.Member) driver.MemberRef {
			return driver.MemberRef{CompanyID: m.CompanyID, UserID: m.UserID}
		},
		func(refs []driver.MemberRef) ([]driver.Member, error) {
			return query(ctx, s, "Members", scanMember,
				"SELECT "+memberColumns+" FROM ?",
				found{table: "ticketing_members m", set: of("company_id, user_id", refs, func(r driver.MemberRef) []any {
					return []any{r.CompanyID, r.UserID}
				})})
		})
}

// ListMembers returns a company's members by the ids of their users, without removed ones.
func (s *session) ListMembers(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.Member, error) {
	return query(ctx, s, "ListMembers", scanMember,
		"SELECT "+memberColumns+` FROM ticketing_members WHERE company_id = ? AND role <> ''
		ORDER BY user_id LIMIT ?`,
		companyID, max(limit, 0))
}

// CreateUser inserts a user.
func (tx *transaction) CreateUser(ctx context.Context, u driver.User) error {
	return tx.exec(ctx, "CreateUser", "INSERT INTO ticketing_users ("+userColumns+") VALUES (?, ?, ?)",
		u.ID, u.Email, u.CreatedAt)
}

// PutMember inserts or updates a member. The time of creation of an existing one stays.
func (tx *transaction) PutMember(ctx context.Context, m driver.Member) error {
	return tx.exec(ctx, "PutMember",
		"INSERT INTO ticketing_members ("+memberColumns+`) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (company_id, user_id) DO UPDATE
		SET name = excluded.name, role = excluded.role, updated_at = excluded.updated_at`,
		m.CompanyID, m.UserID, m.Name, string(m.Role), m.CreatedAt, m.UpdatedAt)
}
