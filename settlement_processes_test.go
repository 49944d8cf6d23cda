package ticketing_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// TestProcessesMoveMoneyOutAndBackOnce checks concurrent administrators on two servers. One of several requests
// succeeds, one kind of decision does, and a refund moves the money once.
func TestProcessesMoveMoneyOutAndBackOnce(t *testing.T) {
	t.Parallel()
	inTwo(t, func(t *testing.T, p two) {
		is := is.New(t)
		event := earning(t, p.shop)
		staff := []ticketing.Operator{p.shop.As(ticketing.Staff("one")), p.other.As(ticketing.Staff("two"))}
		atOnce := func(call func(o ticketing.Operator, i int) error) (accepted int, refusals []string) {
			const calls = 8
			errs := make([]error, calls)
			var done sync.WaitGroup
			for i := range calls {
				done.Go(func() { errs[i] = call(staff[i%2], i) })
			}
			done.Wait()
			for _, err := range errs {
				if err == nil {
					accepted++
					continue
				}
				is.Equal(code(err), ticketing.CodeConflict)
				refusals = append(refusals, said(err))
			}
			return accepted, refusals
		}
		for range 4 {
			order := p.shop.Sell(t, event.ID, "VIP", 1)
			before := p.shop.Wallets(t)
			accepted, refusals := atOnce(func(o ticketing.Operator, i int) error {
				_, err := o.RefundOrder(t.Context(), order.ID,
					ticketing.RefundParams{Reason: fmt.Sprint("reason ", i), Restock: true})
				return err
			})
			is.Equal(accepted, 8)
			is.Equal(len(refusals), 0)
			is.Equal(p.shop.Wallets(t).Float, before.Float+order.Gross)

			p.shop.Sell(t, event.ID, "VIP", 1)
			accepted, refusals = atOnce(func(o ticketing.Operator, _ int) error {
				_, err := o.RequestSettlement(t.Context(), p.shop.Company.ID)
				return err
			})
			is.Equal(accepted, 1)
			is.Equal(refusals[0], "The company has a settlement that is PENDING.")
			page, err := staff[1].ListSettlements(t.Context(), p.shop.Company.ID, ticketing.PageParams{Limit: 1})
			is.NoErr(err)
			accepted, _ = atOnce(func(o ticketing.Operator, i int) error {
				var err error
				if i < 4 {
					_, err = o.ApproveSettlement(t.Context(), page.Items[0].ID)
				} else {
					_, err = o.RejectSettlement(t.Context(), page.Items[0].ID, "No such account")
				}
				return err
			})
			is.Equal(accepted, 4)
			decided, err := staff[0].GetSettlement(t.Context(), page.Items[0].ID)
			is.NoErr(err)
			want := money.Amount(0)
			if decided.Status == ticketing.SettlementRejected {
				want = decided.Amount
			}
			is.Equal(p.shop.Wallets(t).Earnings, want)
		}
	})
}
