package store

import (
	"context"
	"database/sql"

	"github.com/floatgate/ticketing"
)

const brandingColumns = `company_id, version, brand_name, logo_url, primary_color, accent_color, checkout_footer,
	ticket_footer, email_footer, support_email, created_at`

func scanBranding(row *sql.Rows, b *ticketing.BrandingRecord) error {
	return row.Scan((*id)(&b.CompanyID), &b.Version, &b.BrandName, &b.LogoURL, &b.PrimaryColor, &b.AccentColor,
		&b.CheckoutFooter, &b.TicketFooter, &b.EmailFooter, &b.SupportEmail, (*moment)(&b.CreatedAt))
}

// Brandings finds versions of branding.
func (s *session) Brandings(
	ctx context.Context, refs []ticketing.BrandingRef,
) ([]ticketing.BrandingRecord, error) {
	return lookUp(refs,
		func(b ticketing.BrandingRecord) ticketing.BrandingRef {
			return ticketing.BrandingRef{CompanyID: b.CompanyID, Version: b.Version}
		},
		func(refs []ticketing.BrandingRef) ([]ticketing.BrandingRecord, error) {
			return query(ctx, s, "Brandings", scanBranding,
				"SELECT "+brandingColumns+" FROM ?",
				found{table: "ticketing_brandings b", set: of("company_id, version", refs, func(r ticketing.BrandingRef) []any {
					return []any{r.CompanyID, r.Version}
				})})
		})
}

// AppendBranding keeps a new version of branding.
func (tx *transaction) AppendBranding(ctx context.Context, b ticketing.BrandingRecord) error {
	return tx.exec(ctx, "AppendBranding",
		"INSERT INTO ticketing_brandings ("+brandingColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		b.CompanyID, b.Version, b.BrandName, b.LogoURL, b.PrimaryColor, b.AccentColor, b.CheckoutFooter,
		b.TicketFooter, b.EmailFooter, b.SupportEmail, b.CreatedAt)
}
