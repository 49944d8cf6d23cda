package ticketing_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// moneyDeeds take money out, and give it back.
func moneyDeeds() []deed {
	return []deed{
		{
			name: "set a bank account",
			do: func(ctx context.Context, o office, n int) error {
				return o.setAccount(ctx, 1000+n)
			},
			made: func(ctx context.Context, o office, n int) (bool, error) {
				account, err := o.staff.GetBankAccount(ctx, o.company)
				if errors.Is(err, ticketing.CodeNotFound) {
					return false, nil
				}
				made := account.BankAccountLast4 == fmt.Sprint(1000+n)
				if made && account.AccountName != fmt.Sprintf("Account %d", 1000+n) {
					err = errHalfDone
				}
				return made, err
			},
		},
		{
			name:  "request a settlement",
			ready: earned("requested"),
			do: func(ctx context.Context, o office, _ int) error {
				_, err := o.staff.RequestSettlement(ctx, o.company)
				return err
			},
			made: func(ctx context.Context, o office, _ int) (bool, error) {
				latest, earnings, err := o.latestSettlement(ctx)
				made := latest.Status == ticketing.SettlementPending
				if err == nil && made != (earnings == 0) {
					err = errHalfDone
				}
				return made, err
			},
			after: func(ctx context.Context, o office, _ int) error {
				latest, _, err := o.latestSettlement(ctx)
				if err == nil && latest.Status == ticketing.SettlementPending {
					_, err = o.staff.ApproveSettlement(ctx, latest.ID)
				}
				return err
			},
		},
		{
			name:  "approve a settlement",
			ready: requested("approved"),
			do: func(ctx context.Context, o office, _ int) error {
				latest, _, err := o.latestSettlement(ctx)
				if err == nil {
					_, err = o.staff.ApproveSettlement(ctx, latest.ID)
				}
				return err
			},
			made: func(ctx context.Context, o office, _ int) (bool, error) {
				latest, earnings, err := o.latestSettlement(ctx)
				made := latest.Status == ticketing.SettlementCompleted
				if err == nil && (earnings != 0 || made != (latest.DecidedAt != nil)) {
					err = errHalfDone
				}
				return made, err
			},
			after: decideOpen,
		},
		{
			name:  "reject a settlement",
			ready: requested("rejected"),
			do: func(ctx context.Context, o office, _ int) error {
				latest, _, err := o.latestSettlement(ctx)
				if err == nil {
					_, err = o.staff.RejectSettlement(ctx, latest.ID, "The bank knows no such account.")
				}
				return err
			},
			made: func(ctx context.Context, o office, _ int) (bool, error) {
				latest, earnings, err := o.latestSettlement(ctx)
				made := latest.Status == ticketing.SettlementRejected
				if err == nil && made != (earnings == latest.Amount) {
					err = errHalfDone
				}
				return made, err
			},
			after: decideOpen,
		},
		{
			name:  "refund an order",
			ready: sell("refunded"),
			do: func(ctx context.Context, o office, n int) error {
				order, err := o.sale(ctx, "refunded", n)
				if err == nil {
					_, err = o.staff.RefundOrder(ctx, order.ID, ticketing.RefundParams{Reason: "It rains.", Restock: true})
				}
				return err
			},
			made: func(ctx context.Context, o office, n int) (bool, error) {
				return o.over(ctx, "refunded", n, ticketing.OrderRefunded)
			},
		},
		{
			name:  "cancel an order",
			ready: sell("cancelled"),
			do: func(ctx context.Context, o office, n int) error {
				order, err := o.sale(ctx, "cancelled", n)
				if err == nil {
					_, err = o.staff.CancelOrder(ctx, order.ID, "It was a test.")
				}
				return err
			},
			made: func(ctx context.Context, o office, n int) (bool, error) {
				return o.over(ctx, "cancelled", n, ticketing.OrderCancelled)
			},
		},
	}
}

func (o office) setAccount(ctx context.Context, number int) error {
	_, err := o.staff.SetBankAccount(ctx, o.company, ticketing.BankAccountParams{
		Bank: "First Bank", AccountNumber: ticketing.AccountNumber(fmt.Sprintf("012345%d", number)),
		AccountName: fmt.Sprintf("Account %d", number),
	})
	return err
}

// sell makes an order for the n-th deed of a name.
func sell(name string) func(ctx context.Context, o office, n int) error {
	return func(ctx context.Context, o office, n int) error {
		_, err := o.sale(ctx, name, n)
		return err
	}
}

// sale is that order. Asked again, it is the same.
func (o office) sale(ctx context.Context, name string, n int) (ticketing.Order, error) {
	return settle(func() (ticketing.Order, error) {
		return o.svc.Checkout(ctx, o.caller, fmt.Sprintf("%s-%d", name, 1000+n),
			ticketingtest.Basket(o.event, "VIP", 100_00, 1))
	})
}

// over tells whether an order has ended, and its admission with it.
func (o office) over(ctx context.Context, name string, n int, status ticketing.OrderStatus) (bool, error) {
	order, err := o.sale(ctx, name, n)
	if err != nil {
		return false, err
	}
	found, err := o.staff.GetOrder(ctx, order.ID)
	if err == nil && (found.Status == status) != (found.Ending != nil) {
		err = errHalfDone
	}
	return found.Status == status, err
}

// earned sees to it that EARNINGS holds something and that there is an account to pay it to.
func earned(name string) func(ctx context.Context, o office, n int) error {
	return func(ctx context.Context, o office, n int) error {
		if err := o.setAccount(ctx, 9999); err != nil {
			return err
		}
		return sell(name)(ctx, o, n)
	}
}

func requested(name string) func(ctx context.Context, o office, n int) error {
	return func(ctx context.Context, o office, n int) error {
		if err := earned(name)(ctx, o, n); err != nil {
			return err
		}
		_, err := o.staff.RequestSettlement(ctx, o.company)
		return err
	}
}

// decideOpen leaves no settlement open, and nothing in EARNINGS.
func decideOpen(ctx context.Context, o office, _ int) error {
	latest, earnings, err := o.latestSettlement(ctx)
	if err == nil && earnings != 0 {
		latest, err = o.staff.RequestSettlement(ctx, o.company)
	}
	if err == nil && latest.Status == ticketing.SettlementPending {
		_, err = o.staff.ApproveSettlement(ctx, latest.ID)
	}
	return err
}

// latestSettlement is the newest, and what EARNINGS holds beside it.
func (o office) latestSettlement(ctx context.Context) (ticketing.Settlement, money.Amount, error) {
	wallets, err := o.staff.GetWallets(ctx, o.company)
	if err != nil {
		return ticketing.Settlement{}, 0, err
	}
	page, err := o.staff.ListSettlements(ctx, o.company, ticketing.PageParams{Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return ticketing.Settlement{}, wallets.Earnings, err
	}
	return page.Items[0], wallets.Earnings, nil
}
