package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const companyColumns = `id, name, status, verification, approval_expires_at, grace_until, reason, branding_version,
	webhook_endpoints, created_at, updated_at`

func scanCompany(row *sql.Rows, c *ticketing.CompanyRecord) error {
	v := &c.Verification
	return row.Scan((*id)(&c.ID), &c.Name, (*string)(&c.Status), (*string)(&v.Status), (*moment)(&v.ApprovalExpiresAt),
		(*moment)(&v.GraceUntil), &v.Reason, &c.BrandingVersion, &c.WebhookEndpoints, (*moment)(&c.CreatedAt),
		(*moment)(&c.UpdatedAt))
}

// Companies finds companies by their ids.
func (s *session) Companies(ctx context.Context, companies []uuid.UUID) ([]ticketing.CompanyRecord, error) {
	return lookUp(companies, func(c ticketing.CompanyRecord) uuid.UUID { return c.ID },
		func(companies []uuid.UUID) ([]ticketing.CompanyRecord, error) {
			return query(ctx, s, "Companies", scanCompany,
				"SELECT "+companyColumns+" FROM ticketing_companies WHERE ?", ids("id", companies))
		})
}

// ListCompanies answers with those after a position, oldest first.
func (s *session) ListCompanies(
	ctx context.Context, after ticketing.Position, limit int,
) ([]ticketing.CompanyRecord, error) {
	return query(ctx, s, "ListCompanies", scanCompany,
		"SELECT "+companyColumns+" FROM ticketing_companies WHERE (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?",
		after.At.UnixMilli(), after.ID, max(limit, 0))
}

// CreateCompany keeps a new company.
func (tx *transaction) CreateCompany(ctx context.Context, c ticketing.CompanyRecord) error {
	v := c.Verification
	return tx.exec(ctx, "CreateCompany",
		"INSERT INTO ticketing_companies ("+companyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		c.ID, c.Name, string(c.Status), string(v.Status), v.ApprovalExpiresAt, v.GraceUntil, v.Reason,
		c.BrandingVersion, c.WebhookEndpoints, c.CreatedAt, c.UpdatedAt)
}

// UpdateCompany keeps all but the time of creation.
func (tx *transaction) UpdateCompany(ctx context.Context, c ticketing.CompanyRecord) error {
	v := c.Verification
	return tx.changed(ctx, "UpdateCompany",
		`UPDATE ticketing_companies SET name = ?, status = ?, verification = ?, approval_expires_at = ?,
			grace_until = ?, reason = ?, branding_version = ?, webhook_endpoints = ?,
			updated_at = ? WHERE id = ?`,
		c.Name, string(c.Status), string(v.Status), v.ApprovalExpiresAt, v.GraceUntil, v.Reason, c.BrandingVersion,
		c.WebhookEndpoints, c.UpdatedAt, c.ID)
}
