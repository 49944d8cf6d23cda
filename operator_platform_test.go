package ticketing_test

import (
	"context"

	"github.com/floatgate/ticketing"
)

// platformRights are the methods that read about all companies at once.
func platformRights() []right {
	read := func(call func(ctx context.Context, o ticketing.Operator) error) func(
		context.Context, ticketing.Operator, subject,
	) error {
		return func(ctx context.Context, o ticketing.Operator, _ subject) error { return call(ctx, o) }
	}
	return []right{
		{
			method: "ListSubmittedCases", permission: ticketing.PermissionTenantRead, platform: true,
			call: read(func(ctx context.Context, o ticketing.Operator) error {
				_, err := o.ListSubmittedCases(ctx, ticketing.PageParams{})
				return err
			}),
		},
		{
			method: "PlatformSales", permission: ticketing.PermissionTenantRead, platform: true,
			also: ticketing.PermissionWalletRead,
			call: read(func(ctx context.Context, o ticketing.Operator) error {
				_, err := o.PlatformSales(ctx, ticketing.SalesFilter{From: opening}, 0)
				return err
			}),
		},
		{
			method: "LowFloats", permission: ticketing.PermissionTenantRead, platform: true,
			call: read(func(ctx context.Context, o ticketing.Operator) error {
				_, err := o.LowFloats(ctx, 0)
				return err
			}),
		},
		{
			method: "CountDeadLetters", permission: ticketing.PermissionTenantRead, platform: true,
			call: read(func(ctx context.Context, o ticketing.Operator) error {
				_, err := o.CountDeadLetters(ctx)
				return err
			}),
		},
		{
			method: "Backlog", permission: ticketing.PermissionTenantRead, platform: true,
			call: read(func(ctx context.Context, o ticketing.Operator) error {
				_, err := o.Backlog(ctx)
				return err
			}),
		},
		{
			method: "ListOpenSettlements", permission: ticketing.PermissionSettlementRead, platform: true,
			call: read(func(ctx context.Context, o ticketing.Operator) error {
				_, err := o.ListOpenSettlements(ctx, ticketing.PageParams{})
				return err
			}),
		},
		{
			method: "GetSettlements", permission: ticketing.PermissionSettlementRead, platform: true,
			call: read(func(ctx context.Context, o ticketing.Operator) error {
				_, err := o.GetSettlements(ctx, nil)
				return err
			}),
		},
		{
			method: "CompanyNames", permission: ticketing.PermissionTenantRead, platform: true,
			call: read(func(ctx context.Context, o ticketing.Operator) error {
				_, err := o.CompanyNames(ctx, nil)
				return err
			}),
		},
		{
			method: "ListBookChecks", permission: ticketing.PermissionWalletRead, platform: true,
			call: read(func(ctx context.Context, o ticketing.Operator) error {
				_, err := o.ListBookChecks(ctx, ticketing.PageParams{})
				return err
			}),
		},
	}
}
