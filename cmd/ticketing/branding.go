package main

import (
	"context"

	"github.com/floatgate/ticketing"
)

type brandingCommands struct {
	Set  brandingSet  `cmd:"" help:"Change the branding of a company."`
	Show brandingShow `cmd:"" help:"Show the branding of a company."`
}

type brandingSet struct {
	companyArg

	BrandName      *string `help:"Name shown to buyers, at most 120 characters." placeholder:"NAME"`
	LogoURL        *string `help:"Absolute https URL of the logo." name:"logo-url" placeholder:"URL"`
	PrimaryColor   *string `help:"Color, such as #0F766E." placeholder:"COLOR"`
	AccentColor    *string `help:"Color, such as #0F766E." placeholder:"COLOR"`
	CheckoutFooter *string `help:"Text, at most 500 characters." placeholder:"TEXT"`
	TicketFooter   *string `help:"Text, at most 500 characters." placeholder:"TEXT"`
	EmailFooter    *string `help:"Text, at most 500 characters." placeholder:"TEXT"`
	SupportEmail   *string `help:"Address that buyers write to." placeholder:"EMAIL"`
}

func (*brandingSet) Help() string {
	return `Flags that are not given keep their values. An empty value clears the logo, a footer or the support email. ` +
		`Orders keep the branding of the time of their sale.

    ticketing branding set COMPANY --primary-color '#0F766E' --support-email help@lagos.example
    ticketing branding set COMPANY --logo-url ''`
}

func (c *brandingSet) Run(ctx context.Context, p *program) error {
	return p.branding(ctx, func(op ticketing.Operator) (ticketing.Branding, error) {
		return op.UpdateBranding(ctx, c.Company.UUID, ticketing.UpdateBrandingParams{
			BrandName: c.BrandName, LogoURL: c.LogoURL, PrimaryColor: c.PrimaryColor, AccentColor: c.AccentColor,
			CheckoutFooter: c.CheckoutFooter, TicketFooter: c.TicketFooter, EmailFooter: c.EmailFooter,
			SupportEmail: c.SupportEmail,
		})
	})
}

type brandingShow struct{ companyArg }

func (c *brandingShow) Run(ctx context.Context, p *program) error {
	return p.branding(ctx, func(op ticketing.Operator) (ticketing.Branding, error) {
		return op.GetBranding(ctx, c.Company.UUID)
	})
}

// branding runs do, which returns a company's branding, and prints the branding.
func (p *program) branding(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.Branding, error),
) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		branding, err := do(op)
		if err != nil {
			return err
		}
		return p.show(branding,
			field{"Brand name", branding.BrandName},
			field{"Logo URL", orDash(branding.LogoURL)},
			field{"Primary color", branding.PrimaryColor},
			field{"Accent color", branding.AccentColor},
			field{"Checkout footer", orDash(branding.CheckoutFooter)},
			field{"Ticket footer", orDash(branding.TicketFooter)},
			field{"Email footer", orDash(branding.EmailFooter)},
			field{"Support email", orDash(branding.SupportEmail)},
			field{"Email mode", string(branding.EmailMode)},
		)
	})
}
