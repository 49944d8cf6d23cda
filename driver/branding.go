package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Branding is one version of a company's branding. Versions count from 1 and never change: an order keeps the
// version that it was sold under, so a later change does not rewrite tickets and receipts.
type Branding struct {
	CompanyID      uuid.UUID
	Version        int64
	BrandName      string
	LogoURL        string // empty: none; so for the footers and the email
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

// BrandingReader finds versions of branding.
type BrandingReader interface {
	// Brandings returns versions by their references.
	Brandings(ctx context.Context, refs []BrandingRef) ([]Branding, error)
}

// BrandingWriter keeps new versions of branding. The current version changes only under the company's gate, held
// exclusively, because a checkout reads it.
type BrandingWriter interface {
	// AppendBranding keeps a new version, whose number is one above the current one.
	AppendBranding(ctx context.Context, branding Branding) error
}
