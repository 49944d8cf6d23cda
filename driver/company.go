package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// CompanyStatus is the status of a company. A company that is not active cannot act at all.
type CompanyStatus string

// The statuses of a company. The keys of a suspended company give the same error as unknown ones (section 5, rule 3).
const (
	CompanyActive    CompanyStatus = "ACTIVE"
	CompanySuspended CompanyStatus = "SUSPENDED"
)

// Company is a company as a store keeps it. It changes only under the company's gate, held exclusively.
type Company struct {
	ID              uuid.UUID
	Name            string
	Status          CompanyStatus
	Verification    Verification
	BrandingVersion int64 // the current branding, see Branding
	// WebhookEndpoints is how many webhook endpoints the company ever registered. That is the number of the newest one.
	WebhookEndpoints int64
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// CompanyReader finds companies.
type CompanyReader interface {
	// Companies returns companies by their ids.
	Companies(ctx context.Context, ids []uuid.UUID) ([]Company, error)
	// ListCompanies returns the companies after a position, oldest first.
	ListCompanies(ctx context.Context, after Position, limit int) ([]Company, error)
}

// CompanyWriter keeps companies.
type CompanyWriter interface {
	// CreateCompany keeps a new company.
	CreateCompany(ctx context.Context, company Company) error
	// UpdateCompany updates all but the time of creation.
	UpdateCompany(ctx context.Context, company Company) error
}
