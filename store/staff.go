package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

type staffModel struct {
	bun.BaseModel `bun:"table:ticketing_staff,alias:s"`
	staffFields
}

type staffFields struct {
	UserID    uuid.UUID `bun:",pk"`
	Name      string
	Role      driver.StaffRole
	CreatedAt time.Time
	UpdatedAt time.Time
}

func (m staffModel) record() driver.StaffMember { return driver.StaffMember(m.staffFields) }

const staffColumns = "user_id, name, role, created_at, updated_at"

func scanStaffMember(row rowSet, m *driver.StaffMember) error {
	return row.Scan((*id)(&m.UserID), &m.Name, (*string)(&m.Role), (*moment)(&m.CreatedAt), (*moment)(&m.UpdatedAt))
}

// StaffMembers finds staff, including those who were removed.
func (s *session) StaffMembers(ctx context.Context, userIDs []uuid.UUID) ([]driver.StaffMember, error) {
	return findByRefs(userIDs, func(m driver.StaffMember) uuid.UUID { return m.UserID },
		func(userIDs []uuid.UUID) ([]driver.StaffMember, error) {
			return query(ctx, s, "StaffMembers", scanStaffMember,
				"SELECT "+staffColumns+" FROM ticketing_staff WHERE ?", inIDs("user_id", userIDs))
		})
}

// ListStaff returns staff by the ids of their users, without those who were removed. The condition on the id makes
// SQLite search the index instead of scanning it.
func (s *session) ListStaff(ctx context.Context, limit int) ([]driver.StaffMember, error) {
	return find(ctx, s, "ListStaff", staffModel.record,
		s.newSelect().Where("role <> ''").Where("user_id >= ?", id(uuid.Nil)).Apply(page("user_id", limit)))
}

// PutStaffMember inserts or updates a member of the staff. The time of creation of an existing one stays.
func (tx *transaction) PutStaffMember(ctx context.Context, m driver.StaffMember) error {
	return tx.write(ctx, "PutStaffMember", anyNumber, tx.insertion(&staffModel{staffFields: staffFields(m)}).
		On("CONFLICT (user_id) DO UPDATE").
		Set("name = EXCLUDED.name, role = EXCLUDED.role, updated_at = EXCLUDED.updated_at"))
}
