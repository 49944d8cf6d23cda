package ticketing

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// EmailMode is how ticket mail is sent.
type EmailMode string

// EmailServiceSender is the only mode of Phase 1: branded for the company, sent by the service's verified sender.
const EmailServiceSender EmailMode = "SERVICE_SENDER"

// Branding is how a company looks to its buyers, now or in the snapshot of an order (section 2.7). All text of it is
// the company's: whoever renders it escapes it.
type Branding struct {
	BrandName      string    `json:"brandName"`
	LogoURL        *string   `json:"logoUrl"`
	PrimaryColor   string    `json:"primaryColor"`
	AccentColor    string    `json:"accentColor"`
	CheckoutFooter *string   `json:"checkoutFooter"`
	TicketFooter   *string   `json:"ticketFooter"`
	EmailFooter    *string   `json:"emailFooter"`
	SupportEmail   *string   `json:"supportEmail"`
	EmailMode      EmailMode `json:"emailMode"`
}

// BrandingRecord is one version of a company's branding. Versions count from 1 and never change: an order keeps the
// number of the one it was sold under.
type BrandingRecord struct {
	CompanyID      uuid.UUID
	Version        int64
	BrandName      string
	LogoURL        string // empty: none, as for the footers and the email
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
	Brandings(ctx context.Context, refs []BrandingRef) ([]BrandingRecord, error)
}

// BrandingWriter keeps new versions of branding.
type BrandingWriter interface {
	AppendBranding(ctx context.Context, branding BrandingRecord) error
}

func (b BrandingRecord) branding() Branding {
	return Branding{
		BrandName: b.BrandName, LogoURL: optional(b.LogoURL), PrimaryColor: b.PrimaryColor,
		AccentColor: b.AccentColor, CheckoutFooter: optional(b.CheckoutFooter), TicketFooter: optional(b.TicketFooter),
		EmailFooter: optional(b.EmailFooter), SupportEmail: optional(b.SupportEmail), EmailMode: EmailServiceSender,
	}
}

// defaultBranding is what every company starts with.
func defaultBranding(company CompanyRecord) BrandingRecord {
	return BrandingRecord{
		CompanyID: company.ID, Version: 1, BrandName: company.Name,
		PrimaryColor: "#111827", AccentColor: "#2563EB", CreatedAt: company.CreatedAt,
	}
}

// UpdateBrandingParams change what is not nil; a pointer to "" clears what may be none. Texts are on one line and
// trimmed.
type UpdateBrandingParams struct {
	BrandName      *string // 1 to 120 characters
	LogoURL        *string // https with a public host name, at most 2048; no credentials, no fragment
	PrimaryColor   *string // # and six hexadecimal digits
	AccentColor    *string // likewise
	CheckoutFooter *string // at most 500
	TicketFooter   *string // at most 500
	EmailFooter    *string // at most 500
	SupportEmail   *string // at most 254
}

// GetBranding shows a company's current branding. It needs COMPANY:branding:read.
func (o Operator) GetBranding(ctx context.Context, companyID uuid.UUID) (Branding, error) {
	var found Branding
	err := o.view(ctx, PermissionBrandingRead, companyID,
		func(ctx context.Context, tx ReadTx, company CompanyRecord) error {
			current, err := currentBranding(ctx, tx, company)
			found = current.branding()
			return err
		})
	if err != nil {
		return Branding{}, err
	}
	return found, nil
}

// UpdateBranding changes a company's branding for what is sold from now on; orders keep the branding they were sold
// under. It needs COMPANY:branding:manage.
func (o Operator) UpdateBranding(
	ctx context.Context, companyID uuid.UUID, params UpdateBrandingParams,
) (Branding, error) {
	var updated Branding
	err := o.change(ctx, PermissionBrandingManage, companyID,
		func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
			current, err := currentBranding(ctx, tx, *company)
			if err != nil {
				return err
			}
			next, err := params.apply(current)
			if err != nil {
				return err
			}
			updated = next.branding()
			if next == current {
				return nil
			}
			next.Version, next.CreatedAt = current.Version+1, at
			company.BrandingVersion = next.Version
			if err := tx.AppendBranding(ctx, next); err != nil {
				return err
			}
			if err := tx.UpdateCompany(ctx, *company); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "branding.set", companyID, about("company", companyID),
				changes{current.branding(), updated})
		})
	if err != nil {
		return Branding{}, err
	}
	return updated, nil
}

func currentBranding(ctx context.Context, tx BrandingReader, company CompanyRecord) (BrandingRecord, error) {
	current, err := only(tx.Brandings(ctx, []BrandingRef{{CompanyID: company.ID, Version: company.BrandingVersion}}))
	if err == nil && current.Version == 0 {
		return current, fmt.Errorf("ticketing: company %s has no branding %d", company.ID, company.BrandingVersion)
	}
	return current, err
}

func (p UpdateBrandingParams) apply(b BrandingRecord) (BrandingRecord, error) {
	var v violations
	if p.BrandName != nil {
		b.BrandName = requiredText(&v, "brandName", *p.BrandName, 1, 120)
	}
	if p.LogoURL != nil {
		if b.LogoURL = strings.TrimSpace(*p.LogoURL); b.LogoURL != "" {
			publicURL(&v, "logoUrl", b.LogoURL, 2048)
		}
	}
	if p.PrimaryColor != nil {
		b.PrimaryColor = color(&v, "primaryColor", *p.PrimaryColor)
	}
	if p.AccentColor != nil {
		b.AccentColor = color(&v, "accentColor", *p.AccentColor)
	}
	if p.CheckoutFooter != nil {
		b.CheckoutFooter = text(&v, "checkoutFooter", *p.CheckoutFooter, 500, false)
	}
	if p.TicketFooter != nil {
		b.TicketFooter = text(&v, "ticketFooter", *p.TicketFooter, 500, false)
	}
	if p.EmailFooter != nil {
		b.EmailFooter = text(&v, "emailFooter", *p.EmailFooter, 500, false)
	}
	if p.SupportEmail != nil {
		b.SupportEmail = email(&v, "supportEmail", *p.SupportEmail, 254)
	}
	return b, v.err()
}

// color is six hexadecimal digits behind a #, in upper case.
func color(v *violations, path, s string) string {
	s = strings.ToUpper(s)
	if len(s) != 7 || s[0] != '#' || strings.Trim(s[1:], "0123456789ABCDEF") != "" {
		v.add(path, "must be # and six hexadecimal digits, such as #2563EB")
	}
	return s
}
