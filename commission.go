package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// CommissionRate is one entry of a company's commission schedule (section 2.9, item 1). Value is a plain decimal
// without trailing zeros. It has no meaning without Unit (section 2.6). An order names the entry that it was sold
// under. Entries never change, so the order always shows the same rate.
type CommissionRate struct {
	ID            uuid.UUID  `json:"id"`
	Value         string     `json:"value"`
	Unit          money.Unit `json:"unit"`
	EffectiveFrom Time       `json:"effectiveFrom"`
	CreatedAt     Time       `json:"createdAt"`
}

// showRate returns the entry as an operator sees it.
func showRate(r driver.Rate) CommissionRate {
	return CommissionRate{
		ID: r.ID, Value: r.Rate.Value(), Unit: r.Rate.Unit(),
		EffectiveFrom: Time{Time: r.EffectiveFrom}, CreatedAt: Time{Time: r.CreatedAt},
	}
}

// CommissionParams are a new entry of a company's commission schedule.
type CommissionParams struct {
	Rate          money.Rate // the zero Rate pays no commission
	EffectiveFrom *time.Time // past or future; nil: the rate takes effect now
}

// ScheduleCommission adds an entry to a company's commission schedule (section 2.9, item 1). Entries are never changed
// or removed, and an order keeps the rate it was sold under. An entry that begins in the past applies to sales from now
// on and changes no earlier order. It needs tenant_commission:schedule.
//
// A company without an effective rate cannot sell: its checkouts fail with COMMISSION_RATE_UNAVAILABLE. An
// EffectiveFrom outside the years 1 to 9999 is INVALID_REQUEST.
func (o Operator) ScheduleCommission(
	ctx context.Context, companyID uuid.UUID, params CommissionParams,
) (CommissionRate, error) {
	if err := o.allowWrite(PermissionCommissionSchedule, companyID); err != nil {
		return CommissionRate{}, err
	}
	scheduled := driver.Rate{CompanyID: companyID, ID: o.s.newID(), Rate: params.Rate}
	if params.EffectiveFrom != nil {
		// Rates are kept in milliseconds, as the times of sales are, so that an entry holds exactly from its time on.
		scheduled.EffectiveFrom = storedTime(*params.EffectiveFrom)
		var v violations
		// A time on the wire has a year of four digits.
		checkYear(&v, "effectiveFrom", scheduled.EffectiveFrom)
		if err := v.err(); err != nil {
			return CommissionRate{}, err
		}
	}
	err := o.changeExclusive(ctx, PermissionCommissionSchedule, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			// The exclusive gate makes the position unique.
			newest, err := firstRecord(tx.ListRates(ctx, companyID, 1))
			if err != nil {
				return err
			}
			// Of two entries with one time the higher position holds: the one that was added later.
			scheduled.Position, scheduled.CreatedAt = newest.Position+1, at
			if params.EffectiveFrom == nil {
				scheduled.EffectiveFrom = at
			}
			if err := tx.AppendRate(ctx, scheduled); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "commission.schedule", companyID, about("rate", scheduled.ID),
				changes{after: showRate(scheduled)})
		})
	if err != nil {
		return CommissionRate{}, err
	}
	return showRate(scheduled), nil
}

// ListCommissionRates returns a company's schedule, newest first. It needs COMPANY:wallet:read.
func (o Operator) ListCommissionRates(ctx context.Context, companyID uuid.UUID) ([]CommissionRate, error) {
	var rates []CommissionRate
	err := o.view(ctx, PermissionWalletRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			records, err := tx.ListRates(ctx, companyID, maxListed)
			rates = make([]CommissionRate, len(records))
			for i, record := range records {
				rates[i] = showRate(record)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return rates, nil
}
