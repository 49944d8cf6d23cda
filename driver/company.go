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

// CompanyReader finds companies with their branding, their verification and their commission.
type CompanyReader interface {
	// Companies returns companies by their ids.
	Companies(ctx context.Context, ids []uuid.UUID) ([]Company, error)
	// ListCompanies returns the companies after a position, oldest first.
	ListCompanies(ctx context.Context, after Position, limit int) ([]Company, error)
	// Brandings returns versions of branding by their references.
	Brandings(ctx context.Context, refs []BrandingRef) ([]Branding, error)
	// ListVerificationCases returns a company's verification cases, highest number first.
	ListVerificationCases(ctx context.Context, companyID uuid.UUID, limit int) ([]VerificationCase, error)
	// Rates returns entries of commission schedules by their references.
	Rates(ctx context.Context, refs []RateRef) ([]Rate, error)
	// EffectiveRates returns, for each company, the entry with the latest EffectiveFrom at or before a time. Of several
	// such entries it returns the one with the highest position.
	EffectiveRates(ctx context.Context, companies []uuid.UUID, at time.Time) ([]Rate, error)
	// ListRates returns a company's commission schedule, highest position first.
	ListRates(ctx context.Context, companyID uuid.UUID, limit int) ([]Rate, error)
}

// CompanyWriter keeps companies with their branding, their verification and their commission. All of it changes only
// under the company's gate, held exclusively. A checkout reads the company, its branding and its rate without a lock of
// their own.
type CompanyWriter interface {
	// CreateCompany keeps a new company.
	CreateCompany(ctx context.Context, company Company) error
	// UpdateCompany updates all but the time of creation.
	UpdateCompany(ctx context.Context, company Company) error
	// AppendBranding keeps a new version of branding, whose number is one above the current one.
	AppendBranding(ctx context.Context, branding Branding) error
	// PutVerificationCase keeps a verification case, new or known, by its company and number. A known one keeps its time
	// of creation.
	PutVerificationCase(ctx context.Context, record VerificationCase) error
	// AppendRate keeps a new entry of a commission schedule. Its position is one above the highest.
	AppendRate(ctx context.Context, rate Rate) error
}
