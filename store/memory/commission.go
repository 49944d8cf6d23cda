package memory

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type commissions struct {
	byRef     map[driver.RateRef]driver.Rate
	schedules map[uuid.UUID]*schedule
}

// schedule holds a company's rates in the order of their positions, and in the order in which they take effect.
type schedule struct {
	positions map[int64]uuid.UUID
	created   *index[int64]
	effective *index[effect]
}

type effect struct {
	from     time.Time
	position int64
}

func newCommissions() commissions {
	return commissions{
		byRef:     make(map[driver.RateRef]driver.Rate),
		schedules: make(map[uuid.UUID]*schedule),
	}
}

func newSchedule() *schedule {
	return &schedule{
		positions: make(map[int64]uuid.UUID),
		created:   newIndex(cmp.Compare[int64]),
		effective: newIndex(func(a, b effect) int {
			return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.position, b.position))
		}),
	}
}

func (c *commissions) at(companyID uuid.UUID, position int64) driver.Rate {
	return c.byRef[driver.RateRef{CompanyID: companyID, ID: c.schedules[companyID].positions[position]}]
}

func (c *commissions) effective(companyID uuid.UUID, at time.Time) driver.Rate {
	of, ok := c.schedules[companyID]
	if !ok {
		return driver.Rate{}
	}
	// This place comes after all rates that take effect at this time, unless a rate has the highest position itself.
	past := of.effective.below(effect{from: at, position: math.MaxInt64})
	if len(past) == 0 {
		return driver.Rate{}
	}
	return c.at(companyID, past[len(past)-1].position)
}

func (r reading) Rates(ctx context.Context, refs []driver.RateRef) ([]driver.Rate, error) {
	return ask(ctx, r, func(s *state) []driver.Rate {
		return each(refs, func(ref driver.RateRef) driver.Rate { return s.commissions.byRef[ref] })
	})
}

func (r reading) EffectiveRates(
	ctx context.Context, companies []uuid.UUID, at time.Time,
) ([]driver.Rate, error) {
	return ask(ctx, r, func(s *state) []driver.Rate {
		return each(companies, func(id uuid.UUID) driver.Rate { return s.commissions.effective(id, at) })
	})
}

func (r reading) ListRates(ctx context.Context, companyID uuid.UUID, limit int) ([]driver.Rate, error) {
	return ask(ctx, r, func(s *state) []driver.Rate {
		of, ok := s.commissions.schedules[companyID]
		if !ok {
			return nil
		}
		newest := last([][]int64{of.created.keys}, limit, of.created.compare)
		return each(newest, func(position int64) driver.Rate { return s.commissions.at(companyID, position) })
	})
}

func (tx *updating) AppendRate(ctx context.Context, rate driver.Rate) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		rate.EffectiveFrom, rate.CreatedAt = moment(rate.EffectiveFrom), moment(rate.CreatedAt)
		of := need(s.commissions.schedules, rate.CompanyID, newSchedule)
		ref := driver.RateRef{CompanyID: rate.CompanyID, ID: rate.ID}
		if err := create(u, s.commissions.byRef, ref, rate, "commission_rates_pkey"); err != nil {
			return err
		}
		if err := create(u, of.positions, rate.Position, rate.ID, "commission_rates_position_key"); err != nil {
			return err
		}
		of.created.add(u, rate.Position)
		of.effective.add(u, effect{rate.EffectiveFrom, rate.Position})
		return nil
	})
}
