package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const caseColumns = `company_id, number, status, legal_name, registration_number, country, address, contact_name,
	contact_email, contact_phone, reason, submitted_at, decided_at, created_at, updated_at`

func scanCase(row *sql.Rows, c *driver.VerificationCase) error {
	f := &c.Facts
	return row.Scan((*id)(&c.CompanyID), &c.Number, (*string)(&c.Status), &f.LegalName, &f.RegistrationNumber,
		&f.Country, &f.Address, &f.ContactName, &f.ContactEmail, &f.ContactPhone, &c.Reason, (*moment)(&c.SubmittedAt),
		(*moment)(&c.DecidedAt), (*moment)(&c.CreatedAt), (*moment)(&c.UpdatedAt))
}

// ListVerificationCases returns a company's cases, highest number first.
func (s *session) ListVerificationCases(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.VerificationCase, error) {
	return query(ctx, s, "ListVerificationCases", scanCase,
		"SELECT "+caseColumns+` FROM ticketing_verification_cases WHERE company_id = ?
		ORDER BY number DESC LIMIT ?`,
		companyID, max(limit, 0))
}

// PutVerificationCase inserts or updates a case. The time of creation of an existing one stays.
func (tx *transaction) PutVerificationCase(ctx context.Context, c driver.VerificationCase) error {
	f := c.Facts
	return tx.exec(ctx, "PutVerificationCase",
		"INSERT INTO ticketing_verification_cases ("+caseColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (company_id, number) DO UPDATE SET status = excluded.status, legal_name = excluded.legal_name,
			registration_number = excluded.registration_number, country = excluded.country, address = excluded.address,
			contact_name = excluded.contact_name, contact_email = excluded.contact_email,
			contact_phone = excluded.contact_phone, reason = excluded.reason, submitted_at = excluded.submitted_at,
			decided_at = excluded.decided_at, updated_at = excluded.updated_at`,
		c.CompanyID, c.Number, string(c.Status), f.LegalName, f.RegistrationNumber, f.Country, f.Address, f.ContactName,
		f.ContactEmail, f.ContactPhone, c.Reason, c.SubmittedAt, c.DecidedAt, c.CreatedAt, c.UpdatedAt)
}
