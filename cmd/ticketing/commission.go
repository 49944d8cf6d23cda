package main

import (
	"context"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

type commissionCommands struct {
	Schedule commissionSchedule `cmd:"" help:"Schedule a commission rate."`
	List     commissionList     `cmd:"" help:"List a company's commission rates, newest first."`
}

type commissionSchedule struct {
	companyArg
	ignoredYes

	Value         string `help:"The rate, a plain decimal." placeholder:"VALUE" required:""`
	Unit          unit   `help:"What the value counts in: BASIS_POINTS, PERCENT or FRACTION." placeholder:"UNIT" required:""`
	EffectiveFrom moment `help:"When the rate takes effect. Defaults to now." placeholder:"TIME"`
}

func (*commissionSchedule) Help() string {
	return `At most 10000 BASIS_POINTS, 100 PERCENT or 1 FRACTION. Rates are only added, never changed: of two rates ` +
		`with the same start, the one added later applies.

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

type commissionList struct {
	companyArg
	listFlags
}

func (c *commissionList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		rates, err := op.ListCommissionRates(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		columns := []column{
			shortIDs("ID").optional(), numbers("VALUE"), words("UNIT"), times("EFFECTIVE FROM"), times("CREATED"),
		}
		return p.list(c.listFlags, columns, func(list *list) error {
			return eachOf(rates, func(rate ticketing.CommissionRate) error {
				return list.add(rate, rate.ID.String(), rate.Value, string(rate.Unit), rate.EffectiveFrom.String(),
					rate.CreatedAt.String())
			})
		})
	})
}
