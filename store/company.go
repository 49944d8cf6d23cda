package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

const companyColumns = `id, name, status, verification, approval_expires_at, grace_until, reason, branding_version,
	webhook_endpoints, created_at, updated_at`

// companyModel has the verification of a company among its columns.
type companyModel struct {
	bun.BaseModel `bun:"table:ticketing_companies,alias:c"`

	ID                uuid.UUID `bun:",pk"`
	Name              string
	Status            driver.CompanyStatus
	Verification      driver.VerificationStatus
	ApprovalExpiresAt time.Time
	GraceUntil        time.Time
	Reason            string
	BrandingVersion   int64
	WebhookEndpoints  int64
	CreatedAt         time.Time `bun:",skipupdate"`
	UpdatedAt         time.Time
}

func companyModelOf(c driver.Company) *companyModel {
	v := c.Verification
	return &companyModel{
		ID: c.ID, Name: c.Name, Status: c.Status, Verification: v.Status, ApprovalExpiresAt: v.ApprovalExpiresAt,
		GraceUntil: v.GraceUntil, Reason: v.Reason, BrandingVersion: c.BrandingVersion,
		WebhookEndpoints: c.WebhookEndpoints, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}

func scanCompany(row rowSet, c *driver.Company) error {
	v := &c.Verification
	return row.Scan((*id)(&c.ID), &c.Name, (*string)(&c.Status), (*string)(&v.Status), (*moment)(&v.ApprovalExpiresAt),
		(*moment)(&v.GraceUntil), &v.Reason, &c.BrandingVersion, &c.WebhookEndpoints, (*moment)(&c.CreatedAt),
		(*moment)(&c.UpdatedAt))
}

// Companies finds companies by their ids. A sale and a validation call it, so its SQL is written by hand.
func (s *session) Companies(ctx context.Context, companies []uuid.UUID) ([]driver.Company, error) {
	return findByRefs(companies, func(c driver.Company) uuid.UUID { return c.ID },
		func(companies []uuid.UUID) ([]driver.Company, error) {
			return queryRefs(ctx, s, companies, refsQuery[uuid.UUID, driver.Company]{
				name: "Companies", scan: scanCompany, text: "SELECT " + companyColumns + " FROM ticketing_companies WHERE ?",
				value: func(companies []uuid.UUID) fragment { return inIDs("id", companies) },
				company: func(companies []uuid.UUID) uuid.UUID {
					return soleCompanyOf(companies, func(id uuid.UUID) uuid.UUID { return id })
				},
				memory: &s.store.memory.companies,
			})
		})
}

// ListCompanies returns the companies after a position, oldest first.
func (s *session) ListCompanies(
	ctx context.Context, after driver.Position, limit int,
) ([]driver.Company, error) {
	return fetch(ctx, s, "ListCompanies", scanCompany, s.selection((*companyModel)(nil), companyColumns, s.newSelect().
		Where("(created_at, id) > (?, ?)", integer(after.At.UnixMilli()), id(after.ID)).
		Apply(page("created_at, id", limit))))
}

// CreateCompany inserts a company.
func (tx *transaction) CreateCompany(ctx context.Context, c driver.Company) error {
	return tx.create(ctx, "CreateCompany", companyModelOf(c))
}

// UpdateCompany writes everything but the time of creation.
func (tx *transaction) UpdateCompany(ctx context.Context, c driver.Company) error {
	return tx.save(ctx, "UpdateCompany", companyModelOf(c))
}
