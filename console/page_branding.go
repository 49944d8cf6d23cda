package console

import (
	"context"
	"net/url"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
)

const brandingPath = "/business/{companyId}/branding"

// brandingPage is where a company sets how it looks to its buyers (section 2.7).
func brandingPage() page {
	return page{
		group: groupSelling,
		path:  brandingPath, scope: scopeCompany, title: "Branding", nav: "Branding", icon: "palette",
		permissions: []ticketing.Permission{ticketing.PermissionBrandingRead}, template: "branding.html",
		query: []string{"cursor", "pictures"}, load: loadBranding,
	}
}

// brandingActs returns the acts of the page.
func brandingActs() []act {
	return []act{
		newAct(act{
			name: "branding.save", scope: scopeCompany, path: brandingPath + "/save",
			page: brandingPath, permission: ticketing.PermissionBrandingManage,
			done: "The branding was saved. New sales use it.",
		}, readBranding, func(ctx context.Context, c *call, params ticketing.UpdateBrandingParams) (outcome, error) {
			saved, err := c.operator.UpdateBranding(ctx, c.companyID, params)
			return outcome{data: saved}, err
		}),
	}
}

// readBranding reads a patch: a member that is absent stays as it is, and null or an empty text clears an optional one.
func readBranding(m *members) ticketing.UpdateBrandingParams {
	return ticketing.UpdateBrandingParams{
		BrandName: m.changedText("brandName"), LogoURL: clearableText(m, "logoUrl"),
		PrimaryColor: m.changedText("primaryColor"), AccentColor: m.changedText("accentColor"),
		CheckoutFooter: clearableText(m, "checkoutFooter"), TicketFooter: clearableText(m, "ticketFooter"),
		EmailFooter: clearableText(m, "emailFooter"), SupportEmail: clearableText(m, "supportEmail"),
	}
}

// clearableText reads a text of a change that null clears.
func clearableText(m *members, name string) *string {
	if m.object != nil {
		return strictjson.Clearable(m.object, name, strictjson.Text)
	}
	return m.changedText(name)
}

// companyBranding is a company's branding, how readable its colours are, and its versions.
type companyBranding struct {
	Branding  ticketing.Branding `json:"branding"`
	Contrasts []contrastNote     `json:"contrasts"`
	Versions  []brandingVersion  `json:"versions"` // one page of them, newest first

	pictures bool
}

// brandingVersion is a version and what it changed.
type brandingVersion struct {
	ticketing.BrandingVersion

	Changed []string `json:"-"` // in words; nil: the version before it is on the next page
}

// Pictures reports whether the person asked to see the logo. Otherwise its host would learn who looks.
func (b companyBranding) Pictures() bool { return b.pictures && b.Branding.LogoURL != nil }

// Style returns the path of the stylesheet with the colours of the preview.
func (b companyBranding) Style() string { return lookPath + colorsOf(b.Branding) + ".css" }

// LogoHost returns the host of the logo.
func (b companyBranding) LogoHost() string {
	if b.Branding.LogoURL == nil {
		return ""
	}
	logo, err := url.Parse(*b.Branding.LogoURL)
	if err != nil {
		return ""
	}
	return logo.Host
}

// Text returns an optional text, and "" where there is none.
func (b companyBranding) Text(name string) string {
	text := map[string]*string{
		"logoUrl": b.Branding.LogoURL, "checkoutFooter": b.Branding.CheckoutFooter,
		"ticketFooter": b.Branding.TicketFooter, "emailFooter": b.Branding.EmailFooter,
		"supportEmail": b.Branding.SupportEmail,
	}[name]
	if text == nil {
		return ""
	}
	return *text
}

// colorsOf returns both colours without their signs.
func colorsOf(look ticketing.Branding) string {
	return look.PrimaryColor[1:] + "-" + look.AccentColor[1:]
}

func loadBranding(ctx context.Context, c *call) (view, error) {
	look, err := c.operator.GetBranding(ctx, c.companyID)
	if err != nil {
		return view{}, err
	}
	versions, err := c.operator.ListBrandings(ctx, c.companyID, c.paging())
	if err != nil {
		return view{}, err
	}
	shown := companyBranding{
		Branding: look, Contrasts: contrastsOf(look), Versions: newBrandingVersions(versions.Items),
		pictures: c.query("pictures") == "show",
	}
	loaded := view{data: shown, paged: true, next: versions.NextCursor, accent: accentOf(look)}
	if host := shown.LogoHost(); shown.Pictures() && host != "" {
		loaded.images = []string{"https://" + host}
	}
	return loaded, nil
}

// newBrandingVersions returns versions, newest first, each with what it changed in the one after it in the list.
func newBrandingVersions(found []ticketing.BrandingVersion) []brandingVersion {
	versions := make([]brandingVersion, len(found))
	for i, version := range found {
		versions[i].BrandingVersion = version
		switch {
		case version.Version == 1:
			versions[i].Changed = []string{"as the company began"}
		case i+1 < len(found):
			versions[i].Changed = changesOf(found[i+1].Branding, version.Branding)
		}
	}
	return versions
}

// changesOf returns the words for what differs between two versions.
func changesOf(before, after ticketing.Branding) []string {
	changed := []string{}
	for _, one := range []struct {
		word          string
		before, after *string
	}{
		{"name", &before.BrandName, &after.BrandName},
		{"logo", before.LogoURL, after.LogoURL},
		{"primary colour", &before.PrimaryColor, &after.PrimaryColor},
		{"accent colour", &before.AccentColor, &after.AccentColor},
		{"checkout footer", before.CheckoutFooter, after.CheckoutFooter},
		{"ticket footer", before.TicketFooter, after.TicketFooter},
		{"email footer", before.EmailFooter, after.EmailFooter},
		{"support email", before.SupportEmail, after.SupportEmail},
	} {
		if (one.before == nil) != (one.after == nil) || one.before != nil && *one.before != *one.after {
			changed = append(changed, one.word)
		}
	}
	return changed
}
