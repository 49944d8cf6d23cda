package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

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
	CreatedAt      time.Time `bun:",skipupdate"`
}

func (m brandingModel) record() driver.Branding { return driver.Branding(m.brandingFields) }

// Brandings finds versions of branding.
func (s *session) Brandings(
	ctx context.Context, refs []driver.BrandingRef,
) ([]driver.Branding, error) {
	return lookUp(refs,
		func(b driver.Branding) driver.BrandingRef {
			return driver.BrandingRef{CompanyID: b.CompanyID, Version: b.Version}
		},
		func(refs []driver.BrandingRef) ([]driver.Branding, error) {
			return find(ctx, s, "Brandings", brandingModel.record, s.newSelect().ModelTableExpr("?",
				s.expr(found{table: "ticketing_brandings b", set: of("company_id, version", refs,
					func(r driver.BrandingRef) []any { return []any{r.CompanyID, r.Version} })})))
		})
}

// AppendBranding inserts a version of branding.
func (tx *transaction) AppendBranding(ctx context.Context, b driver.Branding) error {
	return tx.create(ctx, "AppendBranding", &brandingModel{brandingFields: brandingFields(b)})
}
