package storetest

import (
	"context"

	"github.com/floatgate/ticketing/driver"
)

func brandingKinds() []record {
	branding := newBranding(companyA, 2)
	refs := []driver.BrandingRef{{CompanyID: companyA, Version: 2}}
	holds := func(found driver.Branding) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return want("Brandings", []driver.Branding{found}).from(tx.Brandings(ctx, refs))
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error { return tx.AppendBranding(ctx, branding) }
	return []record{{
		name: "brandings", create: create, created: holds(branding), absent: holds(driver.Branding{}),
		taken: map[string]writes{"version": create},
	}}
}

func brandingChecks() []Check {
	return []Check{{"brandings/answers are aligned and of their company", grounded(brandingsAligned)}}
}

func brandingsAligned(ctx context.Context, s driver.Store) error {
	second := newBranding(companyB, 2)
	second.BrandName, second.LogoURL, second.SupportEmail = "second", "", ""
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendBranding(ctx, second) })
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("with gaps and out of order",
			[]driver.Branding{second, {}, {}, newBranding(companyA, 1), newBranding(companyB, 1)},
		).from(tx.Brandings(ctx, []driver.BrandingRef{
			{CompanyID: companyB, Version: 2},
			{CompanyID: companyA, Version: 2},
			{CompanyID: id(90), Version: 1},
			{CompanyID: companyA, Version: 1},
			{CompanyID: companyB, Version: 1},
		}))
	})
}
