package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

const rateColumns = "r.company_id, r.id, r.position, r.value, r.unit, r.effective_from, r.created_at"

func scanRate(row rowSet, r *driver.Rate) error {
	var value, unit string
	err := row.Scan((*id)(&r.CompanyID), (*id)(&r.ID), &r.Position, &value, &unit, (*moment)(&r.EffectiveFrom),
		(*moment)(&r.CreatedAt))
	if err != nil {
		return err
	}
	if r.Rate, err = money.ParseRate(value, money.Unit(unit)); err != nil {
		return fmt.Errorf("commission rate %s: %w", r.ID, err)
	}
	return nil
}

// Rates finds entries of commission schedules.
func (s *session) Rates(ctx context.Context, refs []driver.RateRef) ([]driver.Rate, error) {
	return findByRefs(refs,
		func(r driver.Rate) driver.RateRef {
			return driver.RateRef{CompanyID: r.CompanyID, ID: r.ID}
		},
		func(refs []driver.RateRef) ([]driver.Rate, error) {
			return query(ctx, s, "Rates", scanRate,
				"SELECT "+rateColumns+" FROM ?",
				keyedRows{table: "ticketing_commission_rates r", set: newSet("company_id, id", refs, func(r driver.RateRef) []any {
					return []any{r.CompanyID, r.ID}
				})})
		})
}

// EffectiveRates finds the entry that is effective at a time, for each company.
func (s *session) EffectiveRates(
	ctx context.Context, companies []uuid.UUID, at time.Time,
) ([]driver.Rate, error) {
	return findByRefs(companies, func(r driver.Rate) uuid.UUID { return r.CompanyID },
		func(companies []uuid.UUID) ([]driver.Rate, error) {
			if len(companies) == 1 {
				return query(ctx, s, "EffectiveRates", scanRate,
					"SELECT "+rateColumns+` FROM ticketing_commission_rates r
					WHERE r.company_id = ? AND r.effective_from <= ?
					ORDER BY r.effective_from DESC, r.position DESC LIMIT 1`,
					companies[0], at.UnixMilli())
			}
			return query(ctx, s, "EffectiveRates", scanRate,
				"SELECT "+rateColumns+" FROM ?", effective{companies, at.UnixMilli()})
		})
}

// effective is a fragment: the table of the rates that are effective at a time.
type effective struct {
	companies []uuid.UUID
	at        int64
}

func (e effective) appendTo(to *builder) { to.engine.appendRates(to, e.companies, e.at) }

// ListRates returns a company's schedule, highest position first.
func (s *session) ListRates(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.Rate, error) {
	return query(ctx, s, "ListRates", scanRate,
		"SELECT "+rateColumns+" FROM ticketing_commission_rates r WHERE r.company_id = ? ORDER BY r.position DESC LIMIT ?",
		companyID, max(limit, 0))
}

// AppendRate inserts an entry of a commission schedule.
func (tx *transaction) AppendRate(ctx context.Context, r driver.Rate) error {
	return tx.exec(ctx, "AppendRate",
		`INSERT INTO ticketing_commission_rates (company_id, id, position, value, unit, effective_from, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`,
		r.CompanyID, r.ID, r.Position, r.Rate.Value(), string(r.Rate.Unit()), r.EffectiveFrom, r.CreatedAt)
}
