package storetest

import (
	"context"
	"errors"

	"github.com/floatgate/ticketing/driver"
)

func brandingKinds() []record {
	branding := newBranding(companyA, 2)
	refs := []driver.BrandingRef{{CompanyID: companyA, Version: 2}}
	holds := func(found driver.Branding) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			listed := []driver.Branding{newBranding(companyA, 1)}
			if found.Version != 0 {
				listed = []driver.Branding{found, listed[0]}
			}
			return errors.Join(
				want("Brandings", []driver.Branding{found}).from(tx.Brandings(ctx, refs)),
				want("ListBrandings", listed).from(tx.ListBrandings(ctx, driver.BrandingQuery{CompanyID: companyA, Limit: 9})),
			)
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error { return tx.AppendBranding(ctx, branding) }
	return []record{{
		name: "brandings", create: create, created: holds(branding), absent: holds(driver.Branding{}),
		taken: map[string]writes{"version": create},
	}}
}

func brandingChecks() []Check {
	return []Check{
		{"brandings/answers are aligned and of their company", grounded(brandingsAligned)},
		{"brandings/list is in order and in pages", grounded(brandingsListed)},
	}
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

func brandingsListed(ctx context.Context, s driver.Store) error {
	var order []driver.Branding
	for version := int64(12); version >= 1; version-- {
		order = append(order, newBranding(companyA, version))
	}
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for i := len(order) - 2; i >= 0; i-- {
			if err := tx.AppendBranding(ctx, order[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		err := pages(order, func(after *driver.Branding, limit int) ([]driver.Branding, error) {
			query := driver.BrandingQuery{CompanyID: companyA, Limit: limit}
			if after != nil {
				query.After = after.Version
			}
			return tx.ListBrandings(ctx, query)
		})
		return errors.Join(err,
			want("of another company", []driver.Branding{newBranding(companyB, 1)}).
				from(tx.ListBrandings(ctx, driver.BrandingQuery{CompanyID: companyB, Limit: 9})),
			want("of nobody", []driver.Branding(nil)).
				from(tx.ListBrandings(ctx, driver.BrandingQuery{CompanyID: id(99), Limit: 9})),
		)
	})
}
