package ticketing

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// EmailMode is how ticket mail is sent.
type EmailMode string

// EmailServiceSender is the only mode of Phase 1: the mail is branded for the company and sent through the service's
// verified sender (section 1, item 7).
const EmailServiceSender EmailMode = "SERVICE_SENDER"

// Branding is how a company looks to its buyers, now or in the snapshot of an order (section 2.7). All text in it is
// the company's own and untrusted: code that renders it must escape it. A logo must have a public-looking host, since
// buyers' browsers and mail programs load it.
type Branding struct {
	BrandName string `json:"brandName"`
	// LogoURL is an https URL with a public-looking host name.
	LogoURL *string `json:"logoUrl"`
	// PrimaryColor and AccentColor are # and six hexadecimal digits, in upper case.
	PrimaryColor string `json:"primaryColor"`
	AccentColor  string `json:"accentColor"`
	// The footers are plain text, never HTML.
	CheckoutFooter *string   `json:"checkoutFooter"`
	TicketFooter   *string   `json:"ticketFooter"`
	EmailFooter    *string   `json:"emailFooter"`
	SupportEmail   *string   `json:"supportEmail"`
	EmailMode      EmailMode `json:"emailMode"`
}

// showBranding returns the version as the contract shows it.
func showBranding(b driver.Branding) Branding {
	return Branding{
		BrandName: b.BrandName, LogoURL: optional(b.LogoURL), PrimaryColor: b.PrimaryColor,
		AccentColor: b.AccentColor, CheckoutFooter: optional(b.CheckoutFooter), TicketFooter: optional(b.TicketFooter),
		EmailFooter: optional(b.EmailFooter), SupportEmail: optional(b.SupportEmail), EmailMode: EmailServiceSender,
	}
}

// defaultBranding returns the branding that every company starts with, so that a checkout always has one to snapshot.
func defaultBranding(company driver.Company) driver.Branding {
	return driver.Branding{
		CompanyID: company.ID, Version: 1, BrandName: company.Name,
		PrimaryColor: "#111827", AccentColor: "#2563EB", CreatedAt: company.CreatedAt,
	}
}

// UpdateBrandingParams change the members that are not nil (section 2.7). A pointer to "" clears an optional member.
// Texts are on one line and trimmed. The lengths are in characters.
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

// GetBranding returns a company's current branding. It needs COMPANY:branding:read.
func (o Operator) GetBranding(ctx context.Context, companyID uuid.UUID) (Branding, error) {
	var found Branding
	err := o.lookAt(ctx, driver.Store.View, PermissionBrandingRead, companyID,
		func(ctx context.Context, tx driver.ReadTx, company driver.Company) error {
			current, err := currentBranding(ctx, tx, company)
			found = showBranding(current)
			return err
		})
	if err != nil {
		return Branding{}, err
	}
	return found, nil
}

// UpdateBranding changes a company's branding for future sales. Orders keep the branding they were sold under (section
// 2.6). A change that changes nothing makes no version. It needs COMPANY:branding:manage.
//
// INVALID_REQUEST has a violation for each wrong member. The company's gate is held exclusively: a checkout uses either
// the old branding or the new one, and no version is lost to a concurrent change.
func (o Operator) UpdateBranding(
	ctx context.Context, companyID uuid.UUID, params UpdateBrandingParams,
) (Branding, error) {
	var updated Branding
	err := o.changeExclusive(ctx, PermissionBrandingManage, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			current, err := currentBranding(ctx, tx, *company)
			if err != nil {
				return err
			}
			next, err := params.apply(current)
			if err != nil {
				return err
			}
			updated = showBranding(next)
			// The current branding again makes no version and is not audited.
			if next == current {
				return nil
			}
			// Orders name the version that they were sold under, so an old version stays as it is.
			next.Version, next.CreatedAt = current.Version+1, at
			// The company names its current version. A sale reads both under the shared gate.
			company.BrandingVersion = next.Version
			if err := tx.AppendBranding(ctx, next); err != nil {
				return err
			}
			if err := tx.UpdateCompany(ctx, *company); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "branding.set", companyID, about("company", companyID),
				changes{showBranding(current), updated})
		})
	if err != nil {
		return Branding{}, err
	}
	return updated, nil
}

// currentBranding returns the company's current version. Every company has one, so a missing version is a fault of the
// store.
func currentBranding(ctx context.Context, tx driver.CompanyReader, company driver.Company) (driver.Branding, error) {
	ref := driver.BrandingRef{CompanyID: company.ID, Version: company.BrandingVersion}
	current, err := firstRecord(tx.Brandings(ctx, []driver.BrandingRef{ref}))
	if err == nil && current.Version == 0 {
		return current, fmt.Errorf("ticketing: company %s has no branding %d", company.ID, company.BrandingVersion)
	}
	return current, err
}

// apply returns the branding after the change, or INVALID_REQUEST. The result has the version of b.
//
// It works on a copy and checks every member, so that the client learns all violations at once. The caller's record
// stays as it is.
func (p UpdateBrandingParams) apply(b driver.Branding) (driver.Branding, error) {
	var v violations
	if p.BrandName != nil {
		b.BrandName = requiredText(&v, "brandName", *p.BrandName, 1, 120)
	}
	if p.LogoURL != nil {
		// An empty logo clears it; any other must be a URL that a browser may load.
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
		b.CheckoutFooter = trimmedText(&v, "checkoutFooter", *p.CheckoutFooter, 500, false)
	}
	if p.TicketFooter != nil {
		b.TicketFooter = trimmedText(&v, "ticketFooter", *p.TicketFooter, 500, false)
	}
	if p.EmailFooter != nil {
		b.EmailFooter = trimmedText(&v, "emailFooter", *p.EmailFooter, 500, false)
	}
	if p.SupportEmail != nil {
		b.SupportEmail = email(&v, "supportEmail", *p.SupportEmail, 254)
	}
	return b, v.err()
}

// color returns the color in upper case, as the contract normalises it, after it has checked that it is # and six
// hexadecimal digits (section 2.7). The upper case makes one spelling of each color, so that the same color again makes
// no version.
func color(v *violations, path, s string) string {
	s = strings.ToUpper(s)
	if len(s) != 7 || s[0] != '#' || strings.Trim(s[1:], "0123456789ABCDEF") != "" {
		v.add(path, "must be # and six hexadecimal digits, such as #2563EB")
	}
	return s
}
