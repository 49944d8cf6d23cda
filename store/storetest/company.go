package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func companyKinds() []record {
	company := newCompany(id(10))
	company.CreatedAt = at(100)
	changed := company
	changed.Name, changed.Status, changed.UpdatedAt = awkward+"2", driver.CompanySuspended, at(101)
	changed.BrandingVersion = 2
	changed.Verification = driver.Verification{Status: driver.VerificationRevoked, GraceUntil: at(102)}
	holds := func(found driver.Company, listed ...driver.Company) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("Companies", []driver.Company{found}).from(tx.Companies(ctx, []uuid.UUID{company.ID})),
				want("ListCompanies", listed).from(tx.ListCompanies(ctx, driver.Position{At: at(50)}, 9)),
			)
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error {
		if err := tx.CreateCompany(ctx, company); err != nil {
			return err
		}
		if err := tx.AppendBranding(ctx, newBranding(company.ID, 1)); err != nil {
			return err
		}
		return tx.AppendBranding(ctx, newBranding(company.ID, 2))
	}
	return []record{{
		name: "companies", create: create, created: holds(company, company), absent: holds(driver.Company{}),
		change:  func(ctx context.Context, tx driver.Tx) error { return tx.UpdateCompany(ctx, changed) },
		changed: holds(changed, changed),
		taken: map[string]writes{"id": func(ctx context.Context, tx driver.Tx) error {
			return tx.CreateCompany(ctx, changed)
		}},
	}}
}

func companyChecks() []Check {
	return []Check{
		{"companies/answers are aligned", grounded(companiesAligned)},
		{"companies/list is in order and in pages", companiesListed},
	}
}

func companiesAligned(ctx context.Context, s driver.Store) error {
	a, b := newCompany(companyA), newCompany(companyB)
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []driver.Company{{}, b, a, {}, b}).
				from(tx.Companies(ctx, []uuid.UUID{id(90), companyB, companyA, {}, companyB})),
			want("none", []driver.Company(nil)).from(tx.Companies(ctx, nil)),
		)
	})
}

func companiesListed(ctx context.Context, s driver.Store) error {
	// Inserted out of order; three share a time, and the ids do not ascend with the times.
	order := []place{{60, 1}, {50, 2}, {20, 3}, {30, 3}, {40, 3}, {10, 4}}
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, i := range []int{3, 5, 0, 4, 2, 1} {
			company := newCompany(id(order[i].id))
			company.CreatedAt = at(order[i].ms)
			if err := tx.CreateCompany(ctx, company); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return pages(order, func(after *place, limit int) ([]place, error) {
			var from driver.Position
			if after != nil {
				from = after.position()
			}
			found, err := tx.ListCompanies(ctx, from, limit)
			return placesOf(found, err, func(c driver.Company) (time.Time, uuid.UUID) { return c.CreatedAt, c.ID })
		})
	})
}
