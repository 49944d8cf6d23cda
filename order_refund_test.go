package ticketing_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

const ill = "The headliner fell ill"

func refund(t testing.TB, shop *ticketingtest.Shop, orderID uuid.UUID) ticketing.OrderDetail {
	t.Helper()
	refunded, err := shop.Staff.RefundOrder(t.Context(), orderID, ticketing.RefundParams{Reason: ill})
	is.New(t).NoErr(err)
	return refunded
}

func cancel(t testing.TB, shop *ticketingtest.Shop, orderID uuid.UUID) ticketing.OrderDetail {
	t.Helper()
	cancelled, err := shop.Staff.CancelOrder(t.Context(), orderID, ill)
	is.New(t).NoErr(err)
	return cancelled
}

// TestRefundMovesTheMoneyBack checks a refund of a CONFIRMED order, since Section 3.3 leaves the transitions to
// REFUNDED and CANCELLED open. It adds the gross to FLOAT and takes the commission from EARNINGS, with a ledger entry
// for each.
func TestRefundMovesTheMoneyBack(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, first := sold(t, shop)
		shop.Inventory(t, event.ID, "VIP", 150_00, 1)
		second := shop.Sell(t, event.ID, "VIP", 1)
		before, kept := shop.Wallets(t), holdings(t, shop)
		shop.Clock.Advance(time.Hour)
		refunded := refund(t, shop, first.ID)

		after := shop.Wallets(t)
		is.Equal(after.Float, before.Float+300_00)
		is.Equal(after.Earnings, before.Earnings-7_50)
		floats, earnings := movements(t, shop, ledger.Float), movements(t, shop, ledger.Earnings)
		is.Equal(floats[len(floats)-1], "CHECKOUT_REFUND 300.00 "+first.ID.String())
		is.Equal(earnings[len(earnings)-1], "COMMISSION_REVERSAL -7.50 "+first.ID.String())
		now := holdings(t, shop)
		is.Equal(now.Stock, kept.Stock) // without a restock, what was sold stays sold
		is.Equal(now.Facts, kept.Facts) // a refund makes no webhook (Section 6.1)

		// All of the order but its status is still the snapshot. The result also has its ending.
		want := first
		want.Status = ticketing.OrderRefunded
		is.Equal(show(t, refunded.Order), show(t, want))
		is.Equal(show(t, refunded.Ending),
			`{"reason":"The headliner fell ill","restocked":false,"at":"2026-11-21T10:30:00.000Z"}`)
		read, err := shop.GetOrder(t.Context(), shop.Caller, first.ID)
		is.NoErr(err)
		is.Equal(show(t, read), show(t, want))
		page, err := shop.ListOrders(t.Context(), shop.Caller, ticketing.OrderFilter{
			Statuses: []ticketing.OrderStatus{ticketing.OrderRefunded},
		})
		is.NoErr(err)
		is.Equal(show(t, page.Items), show(t, []ticketing.Order{want}))
		read, err = shop.GetOrder(t.Context(), shop.Caller, second.ID)
		is.NoErr(err)
		is.Equal(read.Status, ticketing.OrderConfirmed)
	})
}

// TestCancelMovesNoMoney checks that a cancellation moves no money and voids the admissions.
func TestCancelMovesNoMoney(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := sold(t, shop)
		before := holdings(t, shop)
		cancelled := cancel(t, shop, order.ID)
		is.Equal(cancelled.Status, ticketing.OrderCancelled)
		is.Equal(show(t, cancelled.Ending),
			`{"reason":"The headliner fell ill","restocked":false,"at":"2026-11-21T09:30:00.000Z"}`)
		is.Equal(holdings(t, shop), before)
		_, err := shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, order.Lines[0].AdmissionID, shop.Key(),
			ticketing.ValidateParams{})
		is.Equal(said(err), "The order of the admission is cancelled or refunded.")
		read, err := shop.GetOrder(t.Context(), shop.Caller, order.ID)
		is.NoErr(err)
		is.Equal(read.Status, ticketing.OrderCancelled)
	})
}

// TestEndingsComeAfterTheOrder checks that an order ends no earlier than it was confirmed, even if the clock was set
// back meanwhile.
func TestEndingsComeAfterTheOrder(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 2)
		cancelled, refunded := shop.Sell(t, event.ID, "VIP", 1), shop.Sell(t, event.ID, "VIP", 1)
		shop.Clock.Advance(-time.Hour)
		is.Equal(cancel(t, shop, cancelled.ID).Ending.At, cancelled.ConfirmedAt)
		is.Equal(refund(t, shop, refunded.ID).Ending.At, refunded.ConfirmedAt)
	})
}

// TestOrdersEndOnce checks that an order ends once: repeating a refund or cancellation returns the order as it is, and
// the other of the two is a conflict.
func TestOrdersEndOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 150_00, 5)
		one, two := shop.Sell(t, event.ID, "VIP", 1), shop.Sell(t, event.ID, "VIP", 1)
		refunded, cancelled := refund(t, shop, one.ID), cancel(t, shop, two.ID)
		before := holdings(t, shop)
		shop.Clock.Advance(time.Hour)
		again, err := shop.Staff.RefundOrder(t.Context(), one.ID, ticketing.RefundParams{Reason: "Another", Restock: true})
		is.NoErr(err)
		is.Equal(show(t, again), show(t, refunded))
		again, err = shop.Staff.CancelOrder(t.Context(), two.ID, "Another")
		is.NoErr(err)
		is.Equal(show(t, again), show(t, cancelled))
		_, err = shop.Staff.CancelOrder(t.Context(), one.ID, ill)
		is.Equal(code(err), ticketing.CodeConflict)
		is.Equal(said(err), "The order is REFUNDED.")
		_, err = shop.Staff.RefundOrder(t.Context(), two.ID, ticketing.RefundParams{Reason: ill, Restock: true})
		is.Equal(code(err), ticketing.CodeConflict)
		is.Equal(said(err), "The order is CANCELLED.")
		is.Equal(holdings(t, shop), before)
		_, err = shop.Staff.RefundOrder(t.Context(), uuid.New(), ticketing.RefundParams{Reason: ill})
		is.Equal(said(err), "The order was not found.")
	})
}

// TestEndedOrdersStillAnswerWhatTheyDid checks that both a refund and a cancellation void the admissions. A new scan is
// refused. A replay of a scan and ALREADY_VALIDATED still succeed (Section 3.4). A replay of the checkout returns
// CONFIRMED, as the original did (Section 4.11).
func TestEndedOrdersStillAnswerWhatTheyDid(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		for name, end := range map[string]func(testing.TB, *ticketingtest.Shop, uuid.UUID) ticketing.OrderDetail{
			"refund": refund, "cancel": cancel,
		} {
			t.Run(name, func(t *testing.T) {
				is := is.New(t)
				event := shop.Event(t)
				shop.Inventory(t, event.ID, "VIP", 150_00, 2)
				bought, scanned := shop.Key(), shop.Key()
				basket := ticketingtest.Basket(event.ID, "VIP", 150_00, 2)
				order, err := shop.Checkout(t.Context(), shop.Caller, bought, basket)
				is.NoErr(err)
				scan := func(line int, key string) (ticketing.TicketValidation, error) {
					return shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, order.Lines[line].AdmissionID, key,
						ticketing.ValidateParams{Location: "Gate 1"})
				}
				admitted, err := scan(0, scanned)
				is.NoErr(err)
				ended := end(t, shop, order.ID)
				is.Equal(show(t, ended.Lines[0].Validation), fmt.Sprintf(
					`{"id":%q,"location":"Gate 1","validatedAt":"2026-11-21T09:30:00.000Z"}`, admitted.ID))
				is.True(ended.Lines[0].Voided && ended.Lines[1].Voided)
				is.True(ended.Lines[1].Validation == nil)

				replay, err := scan(0, scanned)
				is.NoErr(err)
				is.Equal(show(t, replay), show(t, admitted))
				again, err := scan(0, shop.Key())
				is.NoErr(err)
				is.Equal(again.Outcome, ticketing.OutcomeAlreadyValidated)
				is.Equal(again.ID, admitted.ID)
				_, err = scan(1, shop.Key())
				is.Equal(code(err), ticketing.CodeConflict)

				replayed, err := shop.Checkout(t.Context(), shop.Caller, bought, basket)
				is.NoErr(err)
				is.Equal(show(t, replayed), show(t, order))
			})
		}
	})
}

// TestRefundNeedsItsMoney checks that a refund is refused with a clear message if EARNINGS no longer holds the
// commission, or if a wallet is suspended. Nothing of it is kept.
func TestRefundNeedsItsMoney(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := earning(t, shop)
		order := shop.Sell(t, event.ID, "VIP", 2)
		do := func(_ any, err error) {
			t.Helper()
			is.NoErr(err)
		}
		refused := func(want string) {
			t.Helper()
			before := holdings(t, shop)
			_, err := shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: ill, Restock: true})
			is.Equal(code(err), ticketing.CodeConflict)
			is.Equal(said(err), want)
			is.Equal(holdings(t, shop), before)
			read, err := shop.Staff.GetOrder(t.Context(), order.ID)
			is.NoErr(err)
			is.Equal(read.Status, ticketing.OrderConfirmed)
			is.True(!read.Lines[0].Voided && read.Ending == nil)
		}
		for _, wallet := range []ledger.Wallet{ledger.Float, ledger.Earnings} {
			do(shop.Staff.SuspendWallet(t.Context(), shop.Company.ID, wallet))
			refused("The " + string(wallet) + " wallet is not active.")
			do(shop.Staff.ActivateWallet(t.Context(), shop.Company.ID, wallet))
		}
		settlement := request(t, shop)
		refused("EARNINGS does not hold the commission of the order any more.")
		shop.Sell(t, event.ID, "VIP", 1) // half of what is missing
		refused("EARNINGS does not hold the commission of the order any more.")
		do(shop.Staff.RejectSettlement(t.Context(), settlement.ID, "To refund an order"))
		refund(t, shop, order.ID)
		is.Equal(shop.Wallets(t).Earnings, money.Amount(25_00))
	})
}

// TestRefundTakesTheLastKobo checks that a refund succeeds if EARNINGS holds exactly the commission.
func TestRefundTakesTheLastKobo(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		_, order := sold(t, shop)
		before := shop.Wallets(t)
		is.Equal(before.Earnings, order.Commission.Amount)
		refund(t, shop, order.ID)
		is.Equal(shop.Wallets(t).Earnings, money.Amount(0))
	})
}

// TestRefundOfAFreeOrder checks that a free order is refunded like any other, with movements of 0.
func TestRefundOfAFreeOrder(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: ticketingtest.NoFloat}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 0, 1)
		order := shop.Sell(t, event.ID, "VIP", 1)
		is.Equal(refund(t, shop, order.ID).Status, ticketing.OrderRefunded)
		is.Equal(movements(t, shop, ledger.Float)[1], "CHECKOUT_REFUND 0.00 "+order.ID.String())
	})
}

// TestRefundOfASuspendedCompany checks that a refund is possible for a company that is suspended or not verified.
func TestRefundOfASuspendedCompany(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		_, order := sold(t, shop)
		_, err := shop.Staff.SuspendCompany(t.Context(), shop.Company.ID)
		is.NoErr(err)
		_, err = shop.Staff.RevokeVerification(t.Context(), shop.Company.ID)
		is.NoErr(err)
		refund(t, shop, order.ID)
		is.Equal(shop.Wallets(t).Float, ticketingtest.DefaultFloat)
	})
}

// TestRefundNeverOverflows checks that a refund that would take FLOAT above its maximum is refused.
func TestRefundNeverOverflows(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	// This takes a thousand credits, so it runs in memory.
	shop := ticketingtest.New(t, &ticketingtest.Config{Float: money.MaxInput})
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", money.MaxInput, 1)
	order := shop.Sell(t, event.ID, "VIP", 1)
	for range 1000 {
		shop.Credit(t, money.MaxInput)
	}
	before := holdings(t, shop)
	_, err := shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: ill, Restock: true})
	is.Equal(code(err), ticketing.CodeConflict)
	is.Equal(said(err), "FLOAT would pass its maximum of 999999999999999.99.")
	is.Equal(holdings(t, shop), before)
}

// TestRefundArmsTheLowBalanceAgain checks Section 2.9, item 4: balance.low "fires once when a checkout moves FLOAT from
// at least 1000.00 to below". A refund that lifts FLOAT to the threshold arms it again. A refund itself never fires it,
// since it is not a checkout.
func TestRefundArmsTheLowBalanceAgain(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 1200_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 300_00, 5)
		order := shop.Sell(t, event.ID, "VIP", 1)
		is.True(shop.Wallets(t).LowBalance)
		refund(t, shop, order.ID)
		is.True(!shop.Wallets(t).LowBalance)
		shop.Sell(t, event.ID, "VIP", 1)
		is.True(shop.Wallets(t).LowBalance)
		shop.Work(t)
		told, err := shop.Facts.Wait(t.Context(), 8)
		is.NoErr(err)
		is.Equal(len(told), 8) // three of each sale, and balance.low of both
		is.Equal(len(shop.Facts.Of(ticketing.FactBalanceLow)), 2)
	})
}

func TestEndingsHaveAReason(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		_, order := sold(t, shop)
		for _, test := range []struct{ reason, want string }{
			{"", "reason: must not be empty"},
			{" \t", "reason: must not be empty"},
			{strings.Repeat("ọ", 501), "reason: must be at most 500 characters"},
			{"a\x00b", "reason: must not contain control characters"},
		} {
			_, err := shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: test.reason})
			is.Equal(said(err), test.want)
			_, err = shop.Staff.CancelOrder(t.Context(), order.ID, test.reason)
			is.Equal(said(err), test.want)
		}
		cancelled, err := shop.Staff.CancelOrder(t.Context(), order.ID, " "+strings.Repeat("ọ", 500))
		is.NoErr(err)
		is.Equal(cancelled.Ending.Reason, strings.Repeat("ọ", 500))
	})
}

// TestOrdersEndOnceAtOnce checks that of concurrent refunds and cancellations one kind wins. A refund moves the money
// once, and a scan is either before the end of the order or refused.
func TestOrdersEndOnceAtOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 60)
		for range 6 {
			order := shop.Sell(t, event.ID, "VIP", 2)
			before := shop.Wallets(t)
			var done sync.WaitGroup
			var refunds, cancels, admitted atomic.Int64
			for i := range 4 {
				done.Go(func() {
					_, err := shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: ill, Restock: i == 0})
					if err == nil {
						refunds.Add(1)
					} else if said(err) != "The order is CANCELLED." {
						t.Errorf("refund: %v", err)
					}
				})
				done.Go(func() {
					_, err := shop.Staff.CancelOrder(t.Context(), order.ID, ill)
					if err == nil {
						cancels.Add(1)
					} else if said(err) != "The order is REFUNDED." {
						t.Errorf("cancel: %v", err)
					}
				})
				key := shop.Key()
				done.Go(func() {
					scan, err := shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, order.Lines[i%2].AdmissionID, key,
						ticketing.ValidateParams{})
					switch {
					case err == nil && scan.Outcome == ticketing.OutcomeAdmitted:
						admitted.Add(1)
					case err != nil && said(err) != "The order of the admission is cancelled or refunded.":
						t.Errorf("scan: %v", err)
					}
				})
			}
			done.Go(func() { shop.Sell(t, event.ID, "VIP", 1) })
			done.Wait()
			is.True((refunds.Load() == 4 && cancels.Load() == 0) || (refunds.Load() == 0 && cancels.Load() == 4))
			ended, err := shop.Staff.GetOrder(t.Context(), order.ID)
			is.NoErr(err)
			scans := int64(0)
			for _, line := range ended.Lines {
				is.True(line.Voided)
				if line.Validation != nil {
					scans++
				}
			}
			is.Equal(scans, admitted.Load())
			after := shop.Wallets(t)
			want := before.Float - 100_00
			if ended.Status == ticketing.OrderRefunded {
				want += 200_00
			}
			is.Equal(after.Float, want)
		}
	})
}

// TestRestocksAmongSales checks that concurrent sales of the last admissions and refunds that restock them never sell
// an admission twice. The books are verified when the test ends.
func TestRestocksAmongSales(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 3)
		var done sync.WaitGroup
		for range 6 {
			done.Go(func() {
				for range 5 {
					order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
					if code(err) == ticketing.CodeInventoryUnavailable {
						continue
					}
					if err != nil {
						t.Errorf("checkout: %v", err)
						continue
					}
					if _, err := shop.Staff.RefundOrder(t.Context(), order.ID,
						ticketing.RefundParams{Reason: ill, Restock: true}); err != nil {
						t.Errorf("refund: %v", err)
					}
				}
			})
		}
		done.Wait()
		is.Equal(show(t, tiers(t, shop, event.ID)["VIP"]), `{"object":"inventory_tier","tier":"VIP","status":"AVAILABLE",`+
			`"availableQuantity":3,"totalAdmissions":3,"unitPrice":{"amount":"100.00","currency":"NGN"}}`)
		is.Equal(shop.Wallets(t).Float, ticketingtest.DefaultFloat)
	})
}
