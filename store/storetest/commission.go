package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

func commissionKinds() []record {
	rate := newRate(companyA, 20, 1, at(100))
	holds := func(found driver.Rate, listed ...driver.Rate) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("Rates", []driver.Rate{found}).
					from(tx.Rates(ctx, []driver.RateRef{{CompanyID: companyA, ID: rate.ID}})),
				want("EffectiveRates", []driver.Rate{found}).
					from(tx.EffectiveRates(ctx, []uuid.UUID{companyA}, at(100))),
				want("ListRates", listed).from(tx.ListRates(ctx, companyA, 9)),
			)
		}
	}
	another := newRate(companyA, 21, 2, at(200))
	return []record{{
		name: "rates", created: holds(rate, rate), absent: holds(driver.Rate{}),
		create: func(ctx context.Context, tx driver.Tx) error { return tx.AppendRate(ctx, rate) },
		taken: map[string]writes{
			"id": func(ctx context.Context, tx driver.Tx) error {
				same := another
				same.ID = rate.ID
				return tx.AppendRate(ctx, same)
			},
			"position": func(ctx context.Context, tx driver.Tx) error {
				same := another
				same.Position = rate.Position
				return tx.AppendRate(ctx, same)
			},
		},
	}}
}

func commissionChecks() []Check {
	return []Check{
		{"rates/the effective one", grounded(effectiveRates)},
		{"rates/list is in order and of its company", grounded(ratesListed)},
		{"rates/values are exact in every unit", grounded(ratesExact)},
	}
}

func appendRates(ctx context.Context, s driver.Store, rates ...driver.Rate) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, rate := range rates {
			if err := tx.AppendRate(ctx, rate); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append rates: %w", err)
	}
	return nil
}

func effectiveRates(ctx context.Context, s driver.Store) error {
	// Of the rates that take effect at the same time, the last created counts, whatever its id. A rate that is created
	// later may take effect earlier.
	first, second := newRate(companyA, 29, 1, at(100)), newRate(companyA, 28, 2, at(100))
	third, fourth := newRate(companyA, 27, 3, at(50)), newRate(companyA, 26, 10, at(100))
	last := newRate(companyA, 25, 11, at(200))
	other := newRate(companyB, 24, 1, at(100).Add(time.Millisecond))
	if err := appendRates(ctx, s, first, second, third, fourth, last, other); err != nil {
		return err
	}
	none := driver.Rate{}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for _, test := range []struct {
			when time.Time
			a, b driver.Rate
		}{
			{at(49), none, none},
			{at(50), third, none},
			{at(99), third, none},
			{at(100), fourth, none},
			{at(101), fourth, other},
			{at(199), fourth, other},
			{at(200), last, other},
			{at(9999), last, other},
		} {
			err := want(fmt.Sprint("at ", test.when), []driver.Rate{test.b, none, test.a, test.b}).
				from(tx.EffectiveRates(ctx, []uuid.UUID{companyB, id(90), companyA, companyB}, test.when))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func ratesListed(ctx context.Context, s driver.Store) error {
	one, two := newRate(companyA, 29, 1, at(300)), newRate(companyA, 28, 2, at(100))
	ten, other := newRate(companyA, 27, 10, at(200)), newRate(companyB, 30, 3, at(100))
	if err := appendRates(ctx, s, ten, other, one, two); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("whole", []driver.Rate{ten, two, one}).from(tx.ListRates(ctx, companyA, 3)),
			want("two", []driver.Rate{ten, two}).from(tx.ListRates(ctx, companyA, 2)),
			want("of the other company", []driver.Rate{other}).from(tx.ListRates(ctx, companyB, 100)),
			want("of none", []driver.Rate(nil)).from(tx.ListRates(ctx, id(90), 100)),
			want("by reference", []driver.Rate{{}, two, {}}).from(tx.Rates(ctx, []driver.RateRef{
				{CompanyID: companyB, ID: two.ID}, {CompanyID: companyA, ID: two.ID}, {CompanyID: companyA, ID: id(90)},
			})),
		)
	})
}

func ratesExact(ctx context.Context, s driver.Store) error {
	var rates []driver.Rate
	for i, text := range []struct {
		value string
		unit  money.Unit
	}{
		{"0", money.BasisPoints},
		{"10000", money.BasisPoints},
		{"9999.999999999999", money.BasisPoints},
		{"250.5", money.BasisPoints},
		{"0.000000000001", money.Percent},
		{"100", money.Percent},
		{"0", money.Percent},
		{"1", money.Fraction},
		{"0.025", money.Fraction},
		{"0.999999999999", money.Fraction},
	} {
		rate := newRate(companyA, 40+i, int64(i+1), at(i))
		var err error
		if rate.Rate, err = money.ParseRate(text.value, text.unit); err != nil {
			return fmt.Errorf("parse %s %s: %w", text.value, text.unit, err)
		}
		rates = append([]driver.Rate{rate}, rates...)
	}
	if err := appendRates(ctx, s, rates...); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("list", rates).from(tx.ListRates(ctx, companyA, 100))
	})
}
