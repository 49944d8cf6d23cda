package driver

import (
	"time"

	"github.com/google/uuid"
)

// Branding is one version of a company's branding. Versions count from 1 and never change: an order keeps the
// version that it was sold under, so a later change does not rewrite tickets and receipts.
type Branding struct {
	CompanyID      uuid.UUID
	Version        int64
	BrandName      string
	LogoURL        string // empty: none; the same holds for the footers and the email
	PrimaryColor   string
	AccentColor    string
	CheckoutFooter string
	TicketFooter   string
	EmailFooter    string
	SupportEmail   string
	CreatedAt      time.Time
}

// BrandingRef names one version.
type BrandingRef struct {
	CompanyID uuid.UUID
	Version   int64
}

// BrandingQuery selects versions of a company's branding, highest first.
type BrandingQuery struct {
	CompanyID uuid.UUID
	After     int64 // the version before the first result in the list; zero: from the highest
	Limit     int
}
