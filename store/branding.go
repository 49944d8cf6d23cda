package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

const brandingColumns = `company_id, version, brand_name, logo_url, primary_color, accent_color, checkout_footer,
	ticket_footer, email_footer, support_email, created_at`

func scanBranding(row rowSet, b *driver.Branding) error {
	return row.Scan((*id)(&b.CompanyID), &b.Version, &b.BrandName, &b.LogoURL, &b.PrimaryColor, &b.AccentColor,
		&b.CheckoutFooter, &b.TicketFooter, &b.EmailFooter, &b.SupportEmail, (*moment)(&b.CreatedAt))
}

type brandingModel struct {
	bun.BaseModel `bun:"table:ticketing_brandings,alias:b"`
	brandingFields
}

type brandingFields struct {
	CompanyID      uuid.UUID `bun:",pk"`
	Version        int64     `bun:",pk"`
	BrandName      string
	LogoURL        string
	PrimaryColor   string
	AccentColor    string
	CheckoutFooter string
	TicketFooter   string
	EmailFooter    string
	SupportEmail   string
	CreatedAt      time.Time
}

// Brandings finds versions of branding. Scans and reads of orders call it often, so its SQL is written by hand.
func (s *session) Brandings(
	ctx context.Context, refs []driver.BrandingRef,
) ([]driver.Branding, error) {
	return findByRefs(refs,
		func(b driver.Branding) driver.BrandingRef {
			return driver.BrandingRef{CompanyID: b.CompanyID, Version: b.Version}
		},
		func(refs []driver.BrandingRef) ([]driver.Branding, error) {
			return query(ctx, s, "Brandings", scanBranding,
				"SELECT "+brandingColumns+" FROM ?",
				keyedRows{table: "ticketing_brandings b", set: newSet("company_id, version", refs,
					func(r driver.BrandingRef) []any { return []any{r.CompanyID, r.Version} })})
		})
}

func (m brandingModel) record() driver.Branding { return driver.Branding(m.brandingFields) }

// ListBrandings returns a page of the versions of a company's branding, highest first.
func (s *session) ListBrandings(ctx context.Context, ask driver.BrandingQuery) ([]driver.Branding, error) {
	query := s.newSelect().Apply(page("version DESC", ask.Limit)).Where("company_id = ?", id(ask.CompanyID))
	if ask.After != 0 {
		query.Where("version < ?", integer(ask.After))
	}
	return find(ctx, s, "ListBrandings", brandingModel.record, query)
}

// AppendBranding inserts a version of branding.
func (tx *transaction) AppendBranding(ctx context.Context, b driver.Branding) error {
	return tx.create(ctx, "AppendBranding", &brandingModel{brandingFields: brandingFields(b)})
}
