package main

import (
	"context"
	"strconv"

	"github.com/floatgate/ticketing"
)

type statsCommands struct {
	Rebuild statsRebuild `cmd:"" help:"Compute the sums of sales of one company, or of all, from the orders."`
}

type statsRebuild struct {
	Company companyRef `help:"Id or name of the company. Defaults to all." placeholder:"COMPANY"`
}

func (*statsRebuild) Help() string {
	return `Run this once after an upgrade during which older processes kept selling, since they did not count their ` +
		`sales. "ledger verify" says whether it is needed. Sales continue meanwhile, and it uses a tenth of the time. If ` +
		`it is interrupted, the server completes it.`
}

func (c *statsRebuild) Run(ctx context.Context, p *program) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	bar := newBar(p)
	defer bar.end()
	return p.operate(ctx, func(op ticketing.Operator) error {
		rebuilt, err := op.RebuildSales(ctx, c.Company.UUID, func(done, total int64) {
			bar.bar("counting the orders", done, total)
		})
		bar.end()
		if err != nil {
			return interrupted(ctx, err)
		}
		return p.show(rebuilt,
			field{"Companies", strconv.Itoa(rebuilt.Companies)},
			field{"Orders", strconv.FormatInt(rebuilt.Orders, 10)},
			field{"Waiting", strconv.Itoa(rebuilt.Waiting)})
	})
}
