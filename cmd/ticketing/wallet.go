package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
)

type walletCommands struct {
	Show     walletShow     `cmd:"" help:"Show both wallets of a company."`
	Suspend  walletSuspend  `cmd:"" help:"Suspend a wallet: no checkout goes through it."`
	Activate walletActivate `cmd:"" help:"Activate a suspended wallet."`
}

type walletShow struct{ companyArg }

func (c *walletShow) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		const latest = 10
		shown, err := op.Dashboard(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		shown.Movements = shown.Movements[:min(latest, len(shown.Movements))]
		fields := walletFields(shown.Wallets)
		for _, m := range shown.Movements {
			fields = append(fields, field{"Movement", strings.Join([]string{
				m.CreatedAt.String(), string(m.Wallet), strconv.FormatInt(m.Sequence, 10), string(m.Kind), naira(m.Amount),
				m.Reference,
			}, "\t")})
		}
		return p.show(shown, fields...)
	})
}

func walletFields(wallets ticketing.Wallets) []field {
	return []field{
		{"FLOAT", naira(wallets.Float) + "  " + string(wallets.FloatStatus)},
		{"EARNINGS", naira(wallets.Earnings) + "  " + string(wallets.EarningsStatus)},
		{"Low balance", yesNo(wallets.LowBalance)},
	}
}

// walletFlag names the wallet that a command is about.
type walletFlag struct {
	Wallet walletName `help:"FLOAT or EARNINGS." placeholder:"WALLET" required:""`
}

type walletSuspend struct {
	companyArg
	walletFlag
	requiredConfirm
}

func (c *walletSuspend) Run(ctx context.Context, p *program) error {
	return p.wallets(ctx, func(op ticketing.Operator) (ticketing.Wallets, error) {
		err := p.confirm(c.Yes, func() (string, error) {
			name, err := c.named(ctx, op)
			return fmt.Sprintf("Suspend the wallet %s of the company %s? Until it is activated no checkout goes through.",
				c.Wallet.Wallet, name), err
		})
		if err != nil {
			return ticketing.Wallets{}, err
		}
		return op.SuspendWallet(ctx, c.Company.UUID, c.Wallet.Wallet)
	})
}

type walletActivate struct {
	companyArg
	walletFlag
}

func (c *walletActivate) Run(ctx context.Context, p *program) error {
	return p.wallets(ctx, func(op ticketing.Operator) (ticketing.Wallets, error) {
		return op.ActivateWallet(ctx, c.Company.UUID, c.Wallet.Wallet)
	})
}

// wallets runs do, which returns a company's wallets, and prints the wallets.
func (p *program) wallets(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.Wallets, error),
) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		wallets, err := do(op)
		if err != nil {
			return err
		}
		return p.show(wallets, walletFields(wallets)...)
	})
}
