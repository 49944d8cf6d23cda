package console

import (
	"context"
	"errors"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

const schedulePath = companyPath + "/commission"

// schedulePages returns the page of a company's schedule of commission, for staff.
func schedulePages() []page {
	return []page{{
		path: schedulePath, scope: scopePlatform, title: "Commission",
		permissions: companyReads(ticketing.PermissionWalletRead), template: "platform-commission.html", load: loadSchedule,
	}}
}

// scheduleActs returns the adding of a rate.
func scheduleActs() []act {
	return []act{newAct(act{
		name: "commission.schedule", scope: scopePlatform, path: schedulePath + "/schedule", page: schedulePath,
		permission: ticketing.PermissionCommissionSchedule, recent: true,
	}, readRate, scheduleRate)}
}

func readRate(m *members) (p ticketing.CommissionParams) {
	value, unit := m.text("value"), enum[money.Unit](m, "unit")
	if from, sent := optionalParsed(m, "effectiveFrom", m.parseTime); sent {
		p.EffectiveFrom = &from
	}
	var err error
	p.Rate, err = money.ParseRate(strings.TrimSpace(value), unit)
	switch {
	case errors.Is(err, money.ErrUnit):
		m.reader.Refuse("unit", err.Error())
	case err != nil && value != "":
		m.reader.Refuse("value", err.Error())
	case err != nil:
		m.reader.Refuse("value", "is required")
	}
	return p
}

func scheduleRate(ctx context.Context, c *call, p ticketing.CommissionParams) (outcome, error) {
	made, err := c.operator.ScheduleCommission(ctx, c.pathID("companyId"), p)
	return outcome{data: made, done: percentOf(made) + " holds from " +
		made.EffectiveFrom.In(shownZone()).Format("2 January 2006, 15:04") + "."}, err
}

func loadSchedule(ctx context.Context, c *call) (view, error) {
	company, err := c.companyOfPath(ctx)
	if err != nil {
		return view{}, err
	}
	rates, err := c.operator.ListCommissionRates(ctx, company.ID)
	if err != nil {
		return view{}, err
	}
	return companyView(company, "Commission", schedule{company, newCommission(rates, c.now)}), nil
}

// schedule is a company's schedule as staff see it.
type schedule struct {
	Company ticketing.Company `json:"company"`

	companyCommission
}
