package ticketing_test

import (
	"context"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// sellFor gives a subject an open settlement and an order that can be refunded.
func (e *env) sellFor(t *testing.T, own *subject) {
	t.Helper()
	is := is.New(t)
	rate, err := money.ParseRate("10", money.Percent)
	is.NoErr(err)
	_, err = e.staff.ScheduleCommission(t.Context(), own.company, ticketing.CommissionParams{
		Rate: rate, EffectiveFrom: new(e.clock.now().Add(-time.Hour)),
	})
	is.NoErr(err)
	e.credit(t, own.company, 1000_00, "PSK-of-"+own.company.String())
	_, err = e.staff.SetBankAccount(t.Context(), own.company, accountParams())
	is.NoErr(err)
	caller := ticketing.TrustedCaller(own.company, ticketing.AllGrants()...)
	_, err = e.CreateInventory(t.Context(), caller, own.event, "stock-0001",
		ticketingtest.InventoryParams("VIP", 100_00, 2))
	is.NoErr(err)
	for _, key := range []string{"cart-0001", "cart-0002"} {
		order, err := e.Checkout(t.Context(), caller, key, ticketingtest.Basket(own.event, "VIP", 100_00, 1))
		is.NoErr(err)
		own.order = order.ID
		if key == "cart-0001" {
			settlement, err := e.staff.RequestSettlement(t.Context(), own.company)
			is.NoErr(err)
			own.settlement = settlement.ID
		}
	}
}

// payouts returns everything about a company's payouts and refunds that an operator could have changed.
func (e *env) payouts(t *testing.T, own subject) []any {
	t.Helper()
	is := is.New(t)
	settlements, err := e.staff.ListSettlements(t.Context(), own.company, ticketing.PageParams{})
	is.NoErr(err)
	orders, err := e.staff.ListOrders(t.Context(), own.company, ticketing.OrderSearch{})
	is.NoErr(err)
	account, err := e.staff.GetBankAccount(t.Context(), own.company)
	is.True(err == nil || code(err) == ticketing.CodeNotFound)
	return []any{settlements, orders, account}
}

func moneyRights() []right {
	return []right{
		{
			method: "RecordMovementExport", action: "movement.export", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				return o.RecordMovementExport(ctx, own.company, ticketing.MovementFilter{Wallet: ledger.Float})
			},
		},
		{
			method: "RecordStatementExport", action: "statement.export", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				return o.RecordStatementExport(ctx, own.company, ticketing.Period{})
			},
		},
		{
			method: "RecordLedgerExport", action: "ledger.export", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				return o.RecordLedgerExport(ctx, own.company)
			},
		},
		{
			method: "SetBankAccount", action: "bank-account.set", permission: ticketing.PermissionSettlementRequest,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.SetBankAccount(ctx, own.company, accountParams())
				return err
			},
		},
		{
			method: "GetBankAccount", permission: ticketing.PermissionSettlementRead, sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetBankAccount(ctx, own.company)
				return err
			},
		},
		{
			method: "RequestSettlement", action: "settlement.request", permission: ticketing.PermissionSettlementRequest,
			sells: true,
			before: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ApproveSettlement(ctx, own.settlement)
				return err
			},
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RequestSettlement(ctx, own.company)
				return err
			},
		},
		{
			method: "ApproveSettlement", action: "settlement.approve", permission: ticketing.PermissionSettlementDecide,
			sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ApproveSettlement(ctx, own.settlement)
				return err
			},
		},
		{
			method: "RejectSettlement", action: "settlement.reject", permission: ticketing.PermissionSettlementDecide,
			sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RejectSettlement(ctx, own.settlement, "No such account")
				return err
			},
		},
		{
			method: "GetSettlement", permission: ticketing.PermissionSettlementRead, sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetSettlement(ctx, own.settlement)
				return err
			},
		},
		{
			method: "ListSettlements", permission: ticketing.PermissionSettlementRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListSettlements(ctx, own.company, ticketing.PageParams{})
				return err
			},
		},
		{
			method: "GetOrder", permission: ticketing.PermissionOrderRead, sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetOrder(ctx, own.order)
				return err
			},
		},
		{
			method: "FindOrder", permission: ticketing.PermissionOrderRead, sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.FindOrder(ctx, own.company, own.order.String())
				return err
			},
		},
		{
			method: "Find", permission: ticketing.PermissionOrderRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.Find(ctx, own.company, "Adire")
				return err
			},
		},
		{
			method: "RecordOrderExport", action: "order.export", permission: ticketing.PermissionOrderRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				return o.RecordOrderExport(ctx, own.company, ticketing.OrderSearch{})
			},
		},
		{
			method: "ExportOrders", permission: ticketing.PermissionOrderRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ExportOrders(ctx, own.company, ticketing.OrderSearch{})
				return err
			},
		},
		{
			method: "ListOrders", permission: ticketing.PermissionOrderRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListOrders(ctx, own.company, ticketing.OrderSearch{})
				return err
			},
		},
		{
			method: "RefundOrder", action: "order.refund", permission: ticketing.PermissionOrderRefund, sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RefundOrder(ctx, own.order, ticketing.RefundParams{Reason: ill, Restock: true})
				return err
			},
		},
		{
			method: "CancelOrder", action: "order.cancel", permission: ticketing.PermissionOrderRefund, sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.CancelOrder(ctx, own.order, ill)
				return err
			},
		},
	}
}
