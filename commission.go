package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// CommissionRate is one entry of a company's commission schedule (section 2.9, item 1).
type CommissionRate struct {
	ID            uuid.UUID  `json:"id"`
	Value         string     `json:"value"`
	Unit          money.Unit `json:"unit"`
	EffectiveFrom Time       `json:"effectiveFrom"`
	CreatedAt     Time       `json:"createdAt"`
}

// RateRecord is an entry of the schedule as a store keeps it. It never changes.
type RateRecord struct {
	CompanyID     uuid.UUID
	ID            uuid.UUID
	Position      int64 // 1, 2, 3 … in order of creation: of two with one EffectiveFrom the later created holds
	Rate          money.Rate
	EffectiveFrom time.Time
	CreatedAt     time.Time
}

// RateRef names one entry of a schedule.
type RateRef struct{ CompanyID, ID uuid.UUID }

// CommissionReader finds entries of commission schedules.
type CommissionReader interface {
	Rates(ctx context.Context, refs []RateRef) ([]RateRecord, error)
	// EffectiveRates answers, for each company, with the entry of the latest EffectiveFrom at or before a time, of
	// several the one with the highest position.
	EffectiveRates(ctx context.Context, companies []uuid.UUID, at time.Time) ([]RateRecord, error)
	// ListRates answers with a company's schedule, highest position first.
	ListRates(ctx context.Context, companyID uuid.UUID, limit int) ([]RateRecord, error)
}

// CommissionWriter keeps new entries of commission schedules.
type CommissionWriter interface {
	AppendRate(ctx context.Context, rate RateRecord) error
}

func (r RateRecord) rate() CommissionRate {
	return CommissionRate{
		ID: r.ID, Value: r.Rate.Value(), Unit: r.Rate.Unit(),
		EffectiveFrom: Time{r.EffectiveFrom}, CreatedAt: Time{r.CreatedAt},
	}
}

// ScheduleCommission adds an entry to a company's schedule, which holds from a moment on, past or future, or (the zero
// time) from now on. Entries are never changed or removed. It needs tenant_commission:schedule.
func (o Operator) ScheduleCommission(
	ctx context.Context, companyID uuid.UUID, rate money.Rate, effectiveFrom time.Time,
) (CommissionRate, error) {
	if err := o.allowWrite(PermissionCommissionSchedule, companyID); err != nil {
		return CommissionRate{}, err
	}
	fromNow := effectiveFrom.IsZero()
	if effectiveFrom = moment(effectiveFrom); !fromNow {
		var v violations
		tellable(&v, "effectiveFrom", effectiveFrom)
		if err := v.err(); err != nil {
			return CommissionRate{}, err
		}
	}
	scheduled := RateRecord{CompanyID: companyID, ID: o.s.newID(), Rate: rate, EffectiveFrom: effectiveFrom}
	err := o.change(ctx, PermissionCommissionSchedule, companyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			newest, err := only(tx.ListRates(ctx, companyID, 1))
			if err != nil {
				return err
			}
			scheduled.Position, scheduled.CreatedAt = newest.Position+1, at
			if fromNow {
				scheduled.EffectiveFrom = at
			}
			if err := tx.AppendRate(ctx, scheduled); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "commission.schedule", companyID, about("rate", scheduled.ID),
				changes{after: scheduled.rate()})
		})
	if err != nil {
		return CommissionRate{}, err
	}
	return scheduled.rate(), nil
}

// ListCommissionRates shows a company's schedule, newest first. It needs COMPANY:wallet:read.
func (o Operator) ListCommissionRates(ctx context.Context, companyID uuid.UUID) ([]CommissionRate, error) {
	var rates []CommissionRate
	err := o.view(ctx, PermissionWalletRead, companyID, func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
		records, err := tx.ListRates(ctx, companyID, maxListed)
		rates = make([]CommissionRate, len(records))
		for i, record := range records {
			rates[i] = record.rate()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rates, nil
}
