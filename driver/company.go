package driver

import (
	"bytes"
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

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
	// WebhookEndpoints is how many webhook endpoints the company ever registered. It is the number of the newest one.
	WebhookEndpoints int64
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// CompanyOrder is the order of a list of companies.
type CompanyOrder string

// The orders of a list of companies. Companies that are equal in it are ordered by id, in the same direction.
const (
	CompaniesNewest CompanyOrder = "NEWEST" // by creation, newest first
	CompaniesOldest CompanyOrder = "OLDEST" // by creation, oldest first
	CompaniesByName CompanyOrder = "NAME"   // by [FoldedName]
	// CompaniesByExpiry is by the end of the approval, earliest first. It leaves out companies without one.
	CompaniesByExpiry CompanyOrder = "EXPIRY"
)

// FoldedNameLength is the largest number of characters of a [FoldedName].
const FoldedNameLength = 60

// FoldedName returns the text by which a company's name and an event's title are listed and found: the first 60
// characters (code points), with the letters A to Z in lower case. Every other letter stays as it is, since databases
// lower-case them differently.
func FoldedName(name string) string {
	folded := []byte(name)
	characters := 0
	for i, b := range folded {
		if utf8.RuneStart(b) {
			if characters == FoldedNameLength {
				return string(folded[:i])
			}
			characters++
		}
		if 'A' <= b && b <= 'Z' {
			folded[i] = b + 'a' - 'A'
		}
	}
	return string(folded)
}

// CompanyPlace is the place of a company in a list. It has the id and the field that orders the list: the time of
// creation, the folded name or the end of the approval. The zero CompanyPlace is the beginning.
type CompanyPlace struct {
	At   time.Time
	Name string
	ID   uuid.UUID
}

// Compare compares two places of the same list in ascending order.
func (p CompanyPlace) Compare(other CompanyPlace) int {
	return cmp.Or(p.At.Compare(other.At), strings.Compare(p.Name, other.Name), bytes.Compare(p.ID[:], other.ID[:]))
}

// PlaceOf returns the place of a company in a list of this order.
func (o CompanyOrder) PlaceOf(company Company) CompanyPlace {
	switch o {
	case CompaniesByName:
		return CompanyPlace{Name: FoldedName(company.Name), ID: company.ID}
	case CompaniesByExpiry:
		return CompanyPlace{At: company.Verification.ApprovalExpiresAt, ID: company.ID}
	case CompaniesNewest, CompaniesOldest:
	}
	return CompanyPlace{At: company.CreatedAt, ID: company.ID}
}

// CompanyQuery selects companies. A zero field selects all; a company is selected if it matches every field.
type CompanyQuery struct {
	Prefix        string // of the folded name; it is folded itself
	Status        CompanyStatus
	Verification  VerificationStatus // the status of the company, not of its cases
	ExpiresBefore time.Time          // only those whose approval ends before then, or has ended
	Order         CompanyOrder
	After         CompanyPlace // only those after this place, in the order of the list
	Limit         int
}

// CompanyReader finds companies with their branding, their verification and their commission.
type CompanyReader interface {
	// Companies returns companies by their ids.
	Companies(ctx context.Context, ids []uuid.UUID) ([]Company, error)
	// ListCompanies returns the companies after a position, oldest first.
	ListCompanies(ctx context.Context, after Position, limit int) ([]Company, error)
	// SearchCompanies returns the companies that a query selects, in its order.
	SearchCompanies(ctx context.Context, query CompanyQuery) ([]Company, error)
	// Brandings returns versions of branding by their references.
	Brandings(ctx context.Context, refs []BrandingRef) ([]Branding, error)
	// ListBrandings returns versions of a company's branding, highest first.
	ListBrandings(ctx context.Context, query BrandingQuery) ([]Branding, error)
	// ListVerificationCases returns a company's verification cases, highest number first.
	ListVerificationCases(ctx context.Context, companyID uuid.UUID, limit int) ([]VerificationCase, error)
	// ListSubmittedCases returns the cases of all companies that are SUBMITTED, after a position. The one that has waited
	// longest comes first: they are ordered by SubmittedAt, then by the company's id. A company has at most one.
	ListSubmittedCases(ctx context.Context, after Position, limit int) ([]VerificationCase, error)
	// Rates returns entries of commission schedules by their references.
	Rates(ctx context.Context, refs []RateRef) ([]Rate, error)
	// EffectiveRates returns, for each company, the entry with the latest EffectiveFrom at or before a time. Of several
	// such entries it returns the one with the highest position.
	EffectiveRates(ctx context.Context, companies []uuid.UUID, at time.Time) ([]Rate, error)
	// ListRates returns a company's commission schedule, highest position first.
	ListRates(ctx context.Context, companyID uuid.UUID, limit int) ([]Rate, error)
}

// CompanyWriter keeps companies with their branding, their verification and their commission. All of it changes only
// under the company's gate, held exclusively. A checkout reads the company, its branding and its rate without locking
// them.
type CompanyWriter interface {
	// CreateCompany keeps a new company.
	CreateCompany(ctx context.Context, company Company) error
	// UpdateCompany updates all but the time of creation.
	UpdateCompany(ctx context.Context, company Company) error
	// AppendBranding keeps a new version of branding. Its number is one above the current one.
	AppendBranding(ctx context.Context, branding Branding) error
	// PutVerificationCase creates or replaces a verification case by its company and number. The time of creation of an
	// existing one stays.
	PutVerificationCase(ctx context.Context, record VerificationCase) error
	// AppendRate keeps a new entry of a commission schedule. Its position is one above the highest.
	AppendRate(ctx context.Context, rate Rate) error
}
