package main

import (
	"context"

	"github.com/floatgate/ticketing"
)

type kybCommands struct {
	Approve kybApprove `cmd:"" help:"Approve a company's verification."`
	Reject  kybReject  `cmd:"" help:"Reject a company's verification."`
	Grace   kybGrace   `cmd:"" help:"Let a company sell without an approval until a time."`
	Revoke  kybRevoke  `cmd:"" help:"Revoke a company's verification, and its grace."`
}

type kybApprove struct {
	companyArg

	Expires moment `help:"When the approval expires. Defaults to never." placeholder:"TIME"`
}

func (c *kybApprove) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.ApproveVerification(ctx, c.Company.UUID, c.Expires.Time)
	})
}

type kybReject struct {
	companyArg

	Reason string `help:"Why, for staff only." placeholder:"TEXT" required:""`
}

func (*kybReject) Help() string {
	return `A grace stays in force: only revoke ends it.

    ticketing kyb reject COMPANY --reason 'no papers'`
}

func (c *kybReject) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.RejectVerification(ctx, c.Company.UUID, c.Reason)
	})
}

type kybGrace struct {
	companyArg

	Until moment `help:"When the grace ends." placeholder:"TIME" required:""`
}

func (c *kybGrace) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.GrantGrace(ctx, c.Company.UUID, c.Until.Time)
	})
}

type kybRevoke struct{ companyArg }

func (c *kybRevoke) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.RevokeVerification(ctx, c.Company.UUID)
	})
}
