package main

import (
	"context"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

type commissionCommands struct {
	Schedule commissionSchedule `cmd:"" help:"Add a rate to a company's schedule."`
	List     commissionList     `cmd:"" help:"List a company's schedule, the latest addition first."`
}

type commissionSchedule struct {
	companyArg
	ignoredYes

	Value         string `help:"The rate, a plain decimal." placeholder:"VALUE" required:""`
	Unit          unit   `help:"What the value counts in: BASIS_POINTS, PERCENT or FRACTION." placeholder:"UNIT" required:""`
	EffectiveFrom moment `help:"From when it holds. Defaults to now." placeholder:"TIME"`
}

func (*commissionSchedule) Help() string {
	return `At most 10000 BASIS_POINTS, 100 PERCENT or 1 FRACTION. A schedule only grows, its entries are never ` +
		`changed: of two rates from the same time on, the one added later holds.

    ticketing commission schedule COMPANY --value 250 --unit BASIS_POINTS
    ticketing commission schedule COMPANY --value 3 --unit PERCENT --effective-from 2027-01-01`
}

func (c *commissionSchedule) Run(ctx context.Context, p *program) error {
	rate, err := money.ParseRate(c.Value, c.Unit.Unit)
	if err != nil {
		return badValue("--value: %v", err)
	}
	return p.operate(ctx, func(op ticketing.Operator) error {
		rate, err := op.ScheduleCommission(ctx, c.Company.UUID, ticketing.CommissionParams{
			Rate: rate, EffectiveFrom: c.EffectiveFrom.optional(),
		})
		if err != nil {
			return err
		}
		return p.showRecord(rate.ID.String(), rate,
			field{"ID", rate.ID.String()},
			field{"Value", rate.Value},
			field{"Unit", string(rate.Unit)},
			field{"Effective from", rate.EffectiveFrom.String()},
		)
	})
}

type commissionList struct{ companyArg }

func (c *commissionList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		rates, err := op.ListCommissionRates(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		list := p.list("ID", "VALUE", "UNIT", "EFFECTIVE FROM", "CREATED")
		for _, rate := range rates {
			err := list.add(rate, rate.ID.String(), rate.Value, string(rate.Unit), rate.EffectiveFrom.String(),
				rate.CreatedAt.String())
			if err != nil {
				return err
			}
		}
		return list.end()
	})
}
