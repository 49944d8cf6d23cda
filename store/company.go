package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const companyColumns = `id, name, status, verification, approval_expires_at, grace_until, reason, branding_version,
	webhook_endpoints, created_at, updated_at`

func scanCompany(row *sql.Rows, c *driver.Company) error {
	v := &c.Verification
	return row.Scan((*id)(&c.ID), &c.Name, (*string)(&c.Status), (*string)(&v.Status), (*moment)(&v.ApprovalExpiresAt),
		(*moment)(&v.GraceUntil), &v.Reason, &c.BrandingVersion, &c.WebhookEndpoints, (*moment)(&c.CreatedAt),
		(*moment)(&c.UpdatedAt))
}

// Companies finds companies by their ids.
func (s *session) Companies(ctx context.Context, companies []uuid.UUID) ([]driver.Company, error) {
	return lookUp(companies, func(c driver.Company) uuid.UUID { return c.ID },
		func(companies []uuid.UUID) ([]driver.Company, error) {
			return query(ctx, s, "Companies", scanCompany,
				"SELECT "+companyColumns+" FROM ticketing_companies WHERE ?", amongIDs("id", companies))
		})
}

// ListCompanies returns the companies after a position, oldest first.
func (s *session) ListCompanies(
	ctx context.Context, after driver.Position, limit int,
) ([]driver.Company, error) {
	return query(ctx, s, "ListCompanies", scanCompany,
		"SELECT "+companyColumns+" FROM ticketing_companies WHERE (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?",
		after.At.UnixMilli(), after.ID, max(limit, 0))
}

// CreateCompany inserts a company.
func (tx *transaction) CreateCompany(ctx context.Context, c driver.Company) error {
	v := c.Verification
	return tx.exec(ctx, "CreateCompany",
		"INSERT INTO ticketing_companies ("+companyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		c.ID, c.Name, string(c.Status), string(v.Status), v.ApprovalExpiresAt, v.GraceUntil, v.Reason,
		c.BrandingVersion, c.WebhookEndpoints, c.CreatedAt, c.UpdatedAt)
}

// UpdateCompany writes everything but the time of creation.
func (tx *transaction) UpdateCompany(ctx context.Context, c driver.Company) error {
	v := c.Verification
	return tx.changed(ctx, "UpdateCompany",
		`UPDATE ticketing_companies SET name = ?, status = ?, verification = ?, approval_expires_at = ?,
			grace_until = ?, reason = ?, branding_version = ?, webhook_endpoints = ?,
			updated_at = ? WHERE id = ?`,
		c.Name, string(c.Status), string(v.Status), v.ApprovalExpiresAt, v.GraceUntil, v.Reason, c.BrandingVersion,
		c.WebhookEndpoints, c.UpdatedAt, c.ID)
}
