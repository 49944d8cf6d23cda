package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func termsChecks() []Check {
	return []Check{{"terms/are those of the calls they spare", grounded(termsAgree)}}
}

func termsAgree(ctx context.Context, s driver.Store) error {
	second := newBranding(companyB, 2)
	second.BrandName, second.LogoURL, second.SupportEmail = "second", "", ""
	published := newEvent(driver.EventRef{CompanyID: companyB, ID: id(50)})
	published.Status = driver.EventPublished
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return steps(
			func() error { return tx.AppendBranding(ctx, second) },
			func() error { return tx.CreateEvent(ctx, published) },
		)
	})
	if err != nil {
		return err
	}
	err = appendRates(ctx, s, newRate(companyA, 29, 1, at(100)), newRate(companyA, 28, 2, at(100)),
		newRate(companyA, 27, 3, at(50)), newRate(companyB, 26, 1, at(200)))
	if err != nil {
		return err
	}
	ref := func(company uuid.UUID, event int, version int64) driver.SaleTermsRef {
		return driver.SaleTermsRef{
			EventRef: driver.EventRef{CompanyID: company, ID: id(event)}, BrandingVersion: version,
		}
	}
	all := []driver.SaleTermsRef{
		ref(companyB, 50, 2), ref(companyA, 3, 1), ref(companyB, 4, 1), ref(companyB, 50, 1), ref(companyA, 50, 1),
		ref(companyA, 3, 2), ref(companyA, 90, 1), ref(id(90), 3, 1),
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for _, refs := range [][]driver.SaleTermsRef{nil, all[:1], all[6:7], all[7:], all} {
			for _, when := range []int{49, 50, 100, 199, 200} {
				terms, err := composed(ctx, tx, refs, when)
				if err != nil {
					return err
				}
				err = want(fmt.Sprintf("%d at %d", len(refs), when), terms).from(tx.SaleTerms(ctx, refs, at(when)))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// composed returns the terms, made from the results of other methods.
func composed(
	ctx context.Context, tx driver.ReadTx, refs []driver.SaleTermsRef, when int,
) ([]driver.SaleTerms, error) {
	terms := make([]driver.SaleTerms, len(refs))
	for i, ref := range refs {
		events, err1 := tx.Events(ctx, []driver.EventRef{ref.EventRef})
		looks, err2 := tx.Brandings(ctx, []driver.BrandingRef{{CompanyID: ref.CompanyID, Version: ref.BrandingVersion}})
		rates, err3 := tx.EffectiveRates(ctx, []uuid.UUID{ref.CompanyID}, at(when))
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		terms[i] = driver.SaleTerms{SaleTermsRef: ref, Status: events[0].Status, Branding: looks[0], Rate: rates[0]}
	}
	return terms, nil
}
