package ticketing_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// moneyMutations returns the mutations that pay money out or give it back.
func moneyMutations() []mutation {
	return []mutation{
		{
			name: "set a bank account",
			do: func(ctx context.Context, f fixture, n int) error {
				return f.setAccount(ctx, 1000+n)
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				account, err := f.staff.GetBankAccount(ctx, f.company)
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
			do: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.RequestSettlement(ctx, f.company)
				return err
			},
			made: func(ctx context.Context, f fixture, _ int) (bool, error) {
				latest, earnings, err := f.latestSettlement(ctx)
				made := latest.Status == ticketing.SettlementPending
				if err == nil && made != (earnings == 0) {
					err = errHalfDone
				}
				return made, err
			},
			after: func(ctx context.Context, f fixture, _ int) error {
				latest, _, err := f.latestSettlement(ctx)
				if err == nil && latest.Status == ticketing.SettlementPending {
					_, err = f.staff.ApproveSettlement(ctx, latest.ID)
				}
				return err
			},
		},
		{
			name:  "approve a settlement",
			ready: requested("approved"),
			do: func(ctx context.Context, f fixture, _ int) error {
				latest, _, err := f.latestSettlement(ctx)
				if err == nil {
					_, err = f.staff.ApproveSettlement(ctx, latest.ID)
				}
				return err
			},
			made: func(ctx context.Context, f fixture, _ int) (bool, error) {
				latest, earnings, err := f.latestSettlement(ctx)
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
			do: func(ctx context.Context, f fixture, _ int) error {
				latest, _, err := f.latestSettlement(ctx)
				if err == nil {
					_, err = f.staff.RejectSettlement(ctx, latest.ID, "The bank knows no such account.")
				}
				return err
			},
			made: func(ctx context.Context, f fixture, _ int) (bool, error) {
				latest, earnings, err := f.latestSettlement(ctx)
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
			ready: notified("refunded"),
			do: func(ctx context.Context, f fixture, n int) error {
				order, err := f.sale(ctx, "refunded", n)
				if err == nil {
					_, err = f.staff.RefundOrder(ctx, order.ID, ticketing.RefundParams{Reason: "It rains.", Restock: true})
				}
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				return f.over(ctx, "refunded", n, ticketing.OrderRefunded)
			},
		},
		{
			name:  "cancel an order",
			ready: notified("cancelled"),
			do: func(ctx context.Context, f fixture, n int) error {
				order, err := f.sale(ctx, "cancelled", n)
				if err == nil {
					_, err = f.staff.CancelOrder(ctx, order.ID, "It was a test.")
				}
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				return f.over(ctx, "cancelled", n, ticketing.OrderCancelled)
			},
		},
	}
}

func (f fixture) setAccount(ctx context.Context, number int) error {
	_, err := f.staff.SetBankAccount(ctx, f.company, ticketing.BankAccountParams{
		Bank: "First Bank", AccountNumber: ticketing.AccountNumber(fmt.Sprintf("012345%d", number)),
		AccountName: fmt.Sprintf("Account %d", number),
	})
	return err
}

// sell returns a function that makes the order for the n-th mutation of a name.
func sell(name string) func(ctx context.Context, f fixture, n int) error {
	return func(ctx context.Context, f fixture, n int) error {
		_, err := f.sale(ctx, name, n)
		return err
	}
}

// sale returns the order for the n-th mutation of a name, and makes it if necessary. A further call replays the
// checkout.
func (f fixture) sale(ctx context.Context, name string, n int) (ticketing.Order, error) {
	return settle(func() (ticketing.Order, error) {
		return f.svc.Checkout(ctx, f.caller, fmt.Sprintf("%s-%d", name, 1000+n),
			ticketingtest.Basket(f.event, "VIP", 100_00, 1))
	})
}

// over reports whether an order has the given status. It returns errHalfDone if its ending or its mails do not agree.
func (f fixture) over(ctx context.Context, name string, n int, status ticketing.OrderStatus) (bool, error) {
	order, err := f.sale(ctx, name, n)
	if err != nil {
		return false, err
	}
	found, err := f.staff.GetOrder(ctx, order.ID)
	if err == nil && (found.Status == status) != (found.Ending != nil) {
		err = errHalfDone
	}
	if err != nil {
		return false, err
	}
	return found.Status == status, f.cancelledMails(ctx, order.ID, found.Status == status, false)
}

// earned returns a function that makes sure that EARNINGS holds something and that there is a bank account for its
// payout.
func earned(name string) func(ctx context.Context, f fixture, n int) error {
	return func(ctx context.Context, f fixture, n int) error {
		if err := f.setAccount(ctx, 9999); err != nil {
			return err
		}
		return sell(name)(ctx, f, n)
	}
}

func requested(name string) func(ctx context.Context, f fixture, n int) error {
	return func(ctx context.Context, f fixture, n int) error {
		if err := earned(name)(ctx, f, n); err != nil {
			return err
		}
		_, err := f.staff.RequestSettlement(ctx, f.company)
		return err
	}
}

// decideOpen leaves no settlement open, and nothing in EARNINGS.
func decideOpen(ctx context.Context, f fixture, _ int) error {
	latest, earnings, err := f.latestSettlement(ctx)
	if err == nil && earnings != 0 {
		latest, err = f.staff.RequestSettlement(ctx, f.company)
	}
	if err == nil && latest.Status == ticketing.SettlementPending {
		_, err = f.staff.ApproveSettlement(ctx, latest.ID)
	}
	return err
}

// latestSettlement returns the newest settlement, and the balance of EARNINGS.
func (f fixture) latestSettlement(ctx context.Context) (ticketing.Settlement, money.Amount, error) {
	wallets, err := f.staff.GetWallets(ctx, f.company)
	if err != nil {
		return ticketing.Settlement{}, 0, err
	}
	page, err := f.staff.ListSettlements(ctx, f.company, ticketing.PageParams{Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return ticketing.Settlement{}, wallets.Earnings, err
	}
	return page.Items[0], wallets.Earnings, nil
}
