package ticketing_test

import (
	"context"
	"net/mail"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
)

func (e *env) brandingVersion(t *testing.T, companyID uuid.UUID) int64 {
	t.Helper()
	var version int64
	is.New(t).NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		companies, err := tx.Companies(ctx, []uuid.UUID{companyID})
		version = companies[0].BrandingVersion
		return err
	}))
	return version
}

// TestBrandingIsPatched checks Section 2.7: a patch keeps the value of an omitted field and clears a nullable field
// that is null. Colors are normalized to upper case and the support email to lower case.
func TestBrandingIsPatched(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		before, err := e.staff.GetCompany(t.Context(), company)
		is.NoErr(err)
		update := func(params ticketing.UpdateBrandingParams) ticketing.Branding {
			t.Helper()
			branding, err := e.staff.UpdateBranding(t.Context(), company, params)
			is.NoErr(err)
			found, err := e.staff.GetBranding(t.Context(), company)
			is.NoErr(err)
			is.Equal(found, branding)
			return branding
		}
		all := ticketing.UpdateBrandingParams{
			BrandName: new(" Adire "), LogoURL: new(" https://cdn.adire.ng/logo.png?v=2 "),
			PrimaryColor: new("#abcdef"), AccentColor: new("#00FF7f"), CheckoutFooter: new(" No refunds "),
			TicketFooter: new("<b>Bring</b> an id"), EmailFooter: new("Adire Ltd."), SupportEmail: new(" Help@Adire.NG "),
		}
		want := ticketing.Branding{
			BrandName: "Adire", LogoURL: new("https://cdn.adire.ng/logo.png?v=2"),
			PrimaryColor: "#ABCDEF", AccentColor: "#00FF7F", CheckoutFooter: new("No refunds"),
			TicketFooter: new("<b>Bring</b> an id"), EmailFooter: new("Adire Ltd."), SupportEmail: new("help@adire.ng"),
			EmailMode: ticketing.EmailServiceSender,
		}
		is.Equal(update(all), want)
		is.Equal(e.brandingVersion(t, company), int64(2))

		// A patch that changes nothing makes no version.
		is.Equal(update(all), want)
		is.Equal(update(ticketing.UpdateBrandingParams{}), want)
		is.Equal(e.brandingVersion(t, company), int64(2))

		// An omitted member keeps its value; an empty one clears it.
		want.TicketFooter = nil
		is.Equal(update(ticketing.UpdateBrandingParams{TicketFooter: new("")}), want)
		want.LogoURL, want.CheckoutFooter, want.EmailFooter, want.SupportEmail = nil, nil, nil, nil
		is.Equal(update(ticketing.UpdateBrandingParams{
			LogoURL: new(""), CheckoutFooter: new("  "), EmailFooter: new(""), SupportEmail: new(""),
		}), want)
		is.Equal(e.brandingVersion(t, company), int64(4))

		// Earlier versions stay as they were.
		is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			first, err := tx.Brandings(ctx, []driver.BrandingRef{{CompanyID: company, Version: 1}})
			is.NoErr(err)
			is.Equal(first[0].BrandName, "Adire Concerts")
			return nil
		}))
		after, err := e.staff.GetCompany(t.Context(), company)
		is.NoErr(err)
		is.Equal(after, before)
	})
}

// TestBrandingHasRules checks 2.7: brandName "required after normalization, max 120, no control characters";
// primaryColor and accentColor "six-digit hex with leading #"; checkoutFooter, ticketFooter and emailFooter "max 500,
// treated as text".
func TestBrandingHasRules(t *testing.T) {
	t.Parallel()
	const color = "must be # and six hexadecimal digits, such as #2563EB"
	tests := []struct {
		name string
		give ticketing.UpdateBrandingParams
		want string
	}{
		{name: "120 in the name", give: ticketing.UpdateBrandingParams{BrandName: new(strings.Repeat("é", 120))}},
		{
			name: "121 in the name", give: ticketing.UpdateBrandingParams{BrandName: new(strings.Repeat("é", 121))},
			want: "brandName: must be at most 120 characters",
		},
		{
			name: "blank name", give: ticketing.UpdateBrandingParams{BrandName: new(" ")},
			want: "brandName: must not be empty",
		},
		{
			name: "tab in the name", give: ticketing.UpdateBrandingParams{BrandName: new("A\tB")},
			want: "brandName: must not contain control characters",
		},
		{
			name: "500 in the footers", give: ticketing.UpdateBrandingParams{
				CheckoutFooter: new(strings.Repeat("é", 500)), TicketFooter: new(strings.Repeat("é", 500)),
				EmailFooter: new(strings.Repeat("é", 500)),
			},
		},
		{
			name: "501 in the footers", give: ticketing.UpdateBrandingParams{
				CheckoutFooter: new(strings.Repeat("a", 501)), TicketFooter: new(strings.Repeat("a", 501)),
				EmailFooter: new(strings.Repeat("a", 501)),
			},
			want: "checkoutFooter: must be at most 500 characters; ticketFooter: must be at most 500 characters; " +
				"emailFooter: must be at most 500 characters",
		},
		{
			name: "line break in a footer", give: ticketing.UpdateBrandingParams{EmailFooter: new("a\nb")},
			want: "emailFooter: must not contain control characters",
		},
		{
			name: "short color", give: ticketing.UpdateBrandingParams{PrimaryColor: new("#FFF")},
			want: "primaryColor: " + color,
		},
		{
			name: "color without #", give: ticketing.UpdateBrandingParams{AccentColor: new("2563EB")},
			want: "accentColor: " + color,
		},
		{
			name: "color with opacity", give: ticketing.UpdateBrandingParams{AccentColor: new("#2563EB80")},
			want: "accentColor: " + color,
		},
		{
			name: "color of other letters", give: ticketing.UpdateBrandingParams{PrimaryColor: new("#GGGGGG")},
			want: "primaryColor: " + color,
		},
		{
			name: "no color", give: ticketing.UpdateBrandingParams{PrimaryColor: new("")},
			want: "primaryColor: " + color,
		},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.unverified(t)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				before := e.brandingVersion(t, company)
				_, err := e.staff.UpdateBranding(t.Context(), company, test.give)
				is.Equal(said(err), test.want)
				is.Equal(e.brandingVersion(t, company) == before, test.want != "")
			})
		}
	})
}

// TestALogoIsOnThePublicInternet checks logoUrl of Section 2.7: HTTPS, a host that looks public, no credentials, no
// fragment, at most 2048 characters.
func TestALogoIsOnThePublicInternet(t *testing.T) {
	t.Parallel()
	const (
		form   = "logoUrl: must be an absolute https URL with a host, without credentials or a fragment"
		public = "logoUrl: must have a public host name, not an address, a local name or a name with a trailing dot"
	)
	path := func(length int) string {
		return "https://adire.ng/" + strings.Repeat("a", length-len("https://adire.ng/"))
	}
	tests := []struct{ give, want string }{
		{"https://adire.ng", ""},
		{"HTTPS://CDN.Adire.NG/Logo.png", ""},
		{"https://cdn.adire.ng:8443/logo.png?size=2&v=%20", ""},
		{"https://xn--adir-epa.ng/logo.png", ""},
		{"https://local.adire.ng/", ""},
		{"https://1.adire.ng/", ""},
		{"https://adire.ng:1/", ""},
		{"https://adire.ng:65535/", ""},
		{path(2048), ""},
		{path(2049), "logoUrl: must be at most 2048 characters"},

		{"http://adire.ng/logo.png", form},
		{"//adire.ng/logo.png", form},
		{"/logo.png", form},
		{"adire.ng/logo.png", form},
		{"https:adire.ng", form},
		{"https:/adire.ng", form},
		{"https:///logo.png", form},
		{"https://", form},
		{"https://?a=b", form},
		{"https://:443/", form},
		{"https://ada@adire.ng/", form},
		{"https://ada:secret@adire.ng/", form},
		{"https://@adire.ng/", form},
		{"https://adire.ng/#top", form},
		{"https://adire.ng/#", form},
		{"https://adire.ng/a b.png", form},
		{"https://adire.ng\\@evil.example/", form},
		{"https://adire .ng/", form},
		{"https://adire..ng/", form},
		{"https://.ng/", form},
		{"https://adire.ng:0/", form},
		{"https://adire.ng:65536/", form},
		{"https://adire.ng:port/", form},
		{"https://adire.ng/%zz", form},
		{"https://adire<b>.ng/", form},
		{"javascript:alert(1)", form},
		{"data:image/png;base64,AAAA", form},
		{"https://127.1/", form},
		{"https://2130706433/", form},
		{"https://0x7f.1/", form},
		{"https://0x7f000001/", form},
		{"https://0177.0.0.1/", form},
		{"https://1.2.3.4.5/", form},
		{"https://adire.123/", form},
		{"https://[fe80::1%25eth0]/", form},

		{"https://127.0.0.1/", public},
		{"https://8.8.8.8/", public},
		{"https://[::1]/", public},
		{"https://[2001:db8::1]:8443/", public},
		{"https://localhost/", public},
		{"https://LOCALHOST:8443/", public},
		{"https://adire.localhost/", public},
		{"https://adire/", public},
		{"https://adire.ng./", public},
		{"https://printer.local/", public},
		{"https://a.b.LOCAL:8443/logo.png", public},
		{"https://vault.internal/", public},
		{"https://metadata.google.internal/", public},
		{"https://internal/", public},
		{"https://local/", public},
		{"https://internal.adire.ng/", ""},
		{"https://adire.ng.local./", public},
		{"https://127.0.0.1./", form},
		{"https://0300.0250.0.1/", form},
		{"https://0x7f.0.0.0x1/", form},
		{"https://①②⑦.0.0.1/", public},
		{"https://[::ffff:127.0.0.1]/", public},
		{"https://[0:0:0:0:0:0:0:1]/", public},
		{"https://adire.ng:00443/", ""},
		{"https://adire.ng:99999/", form},
		{"https://adire.ng:-1/", form},
		{"https://api.INTERNAL/", public},
		{"https://adiré.ng/", public},
		{"https://adire。ng/", public},
		{"https://-adire.ng/", form},
		{"https://a_b.adire.ng/", public},
		{"https://" + strings.Repeat("a", 64) + ".ng/", public},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.unverified(t)
		for _, test := range tests {
			t.Run(test.give[:min(len(test.give), 60)], func(t *testing.T) {
				_, err := e.staff.UpdateBranding(t.Context(), company, ticketing.UpdateBrandingParams{LogoURL: &test.give})
				is.New(t).Equal(said(err), test.want)
			})
		}
	})
}

// TestAnEmailIsOneAddress checks 2.7: supportEmail "max 254, normalized to lowercase".
func TestAnEmailIsOneAddress(t *testing.T) {
	t.Parallel()
	const form = "supportEmail: must be one email address, such as ada@example.com"
	tests := []struct{ give, want string }{
		{"ada@example.com", ""},
		{" ADA@Example.COM ", ""},
		{"ada.o'brien+tickets@mail.example.com", ""},
		{"!#$%&'*+-/=?^_`{|}~@example.com", ""},
		{`"ada lovelace"@example.com`, ""},
		{`"a\"b\\c@d"@example.com`, ""},
		{`""@example.com`, form},
		{"a@b.co", ""},
		{"a@xn--bcher-kva.example", ""},
		{strings.Repeat("a", 242) + "@example.com", ""},
		{strings.Repeat("a", 243) + "@example.com", "supportEmail: must be at most 254 characters"},

		{"ada", form},
		{"@example.com", form},
		{"ada@", form},
		{"ada@example", form},
		{"ada@localhost", form},
		{"ada@@example.com", form},
		{"ada@b@example.com", form},
		{".ada@example.com", form},
		{"ada.@example.com", form},
		{"a..da@example.com", form},
		{"ada@.example.com", form},
		{"ada@example.com.", form},
		{"ada@example..com", form},
		{"ada@-example.com", form},
		{"ada@example-.com", form},
		{"ada@exa_mple.com", form},
		{"ada@[127.0.0.1]", form},
		{"ada@127.0.0.1", form},
		{"Ada <ada@example.com>", form},
		{"<ada@example.com>", form},
		{"ada@example.com, bob@example.com", form},
		{"ada@example.com bob@example.com", form},
		{"ada(comment)@example.com", form},
		{"ada lovelace@example.com", form},
		{`"ada@example.com`, form},
		{`"ada"lovelace@example.com`, form},
		{`"ada\"@example.com`, form},
		{"adé@example.com", form},
		{"ada@exämple.com", form},
		{"\u212aarl@example.com", form}, // a Kelvin sign, which is k in lower case
		{"ada\n@example.com", "supportEmail: must not contain control characters"},
		{"ada@example.com\r\nBcc: b@example.com", "supportEmail: must not contain control characters"},
		{"ada@example.com\x00", "supportEmail: must not contain control characters"},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.unverified(t)
		for _, test := range tests {
			t.Run(test.give[:min(len(test.give), 60)], func(t *testing.T) {
				is := is.New(t)
				branding, err := e.staff.UpdateBranding(t.Context(), company,
					ticketing.UpdateBrandingParams{SupportEmail: &test.give})
				is.Equal(said(err), test.want)
				if test.want == "" {
					is.Equal(*branding.SupportEmail, strings.ToLower(strings.TrimSpace(test.give)))
				}
			})
		}
	})
}

// fuzzBranding creates a company in a store of its own, and returns a function that updates its branding.
func fuzzBranding(f *testing.F) func(context.Context, ticketing.UpdateBrandingParams) (ticketing.Branding, error) {
	f.Helper()
	svc, err := ticketing.New(memory.New(), &ticketing.Config{Clock: func() time.Time { return opening }})
	if err != nil {
		f.Fatal(err)
	}
	staff := svc.As(ticketing.Staff("fuzz"))
	company, err := staff.CreateCompany(f.Context(), "Adire Concerts")
	if err != nil {
		f.Fatal(err)
	}
	return func(ctx context.Context, params ticketing.UpdateBrandingParams) (ticketing.Branding, error) {
		return staff.UpdateBranding(ctx, company.ID, params)
	}
}

// FuzzEmail checks that net/mail parses every accepted email as an address, and that an accepted email is accepted
// again unchanged.
func FuzzEmail(f *testing.F) {
	update := fuzzBranding(f)
	for _, seed := range []string{
		"", "ada@example.com", `"a\"b"@example.com`, "Ada <ada@example.com>", "a@b@c.de", "ada@[127.0.0.1]",
		"K@example.com", "ada@example.com\n", `"\`, "\xff@example.com", `""@example.com`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, give string) {
		is := is.New(t)
		branding, err := update(t.Context(), ticketing.UpdateBrandingParams{SupportEmail: &give})
		if err != nil {
			is.Equal(code(err), ticketing.CodeInvalidRequest)
			return
		}
		if branding.SupportEmail == nil {
			is.Equal(strings.TrimSpace(give), "")
			return
		}
		address, err := mail.ParseAddress(*branding.SupportEmail)
		is.NoErr(err)
		is.Equal(address.Name, "")
		is.True(utf8.RuneCountInString(*branding.SupportEmail) <= 254)
		again, err := update(t.Context(), ticketing.UpdateBrandingParams{SupportEmail: branding.SupportEmail})
		is.NoErr(err)
		is.Equal(again, branding)
	})
}

// FuzzLogoURL checks that every accepted logo is an https URL whose host has at least two labels, without credentials
// or a fragment.
func FuzzLogoURL(f *testing.F) {
	update := fuzzBranding(f)
	for _, seed := range []string{
		"", "https://adire.ng/logo.png", "https://127.1/", "https://[::1]/", "https://a@b.ng", "https://adire.ng\\@x.ng",
		"https://adire.ng:99999/", "https://１２７.0.0.1/", "https://%61dire.ng/", "https:adire.ng",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, give string) {
		is := is.New(t)
		branding, err := update(t.Context(), ticketing.UpdateBrandingParams{LogoURL: &give})
		if err != nil {
			is.Equal(code(err), ticketing.CodeInvalidRequest)
			return
		}
		if branding.LogoURL == nil {
			is.Equal(strings.TrimSpace(give), "")
			return
		}
		u, err := url.Parse(*branding.LogoURL)
		is.NoErr(err)
		is.Equal(u.Scheme, "https")
		is.True(u.User == nil)
		is.True(!strings.ContainsAny(*branding.LogoURL, "# \\"))
		is.True(strings.Contains(u.Hostname(), "."))
		is.Equal(strings.Trim(strings.ToLower(u.Hostname()), "abcdefghijklmnopqrstuvwxyz0123456789.-"), "")
	})
}
