package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

func rateOf(t testing.TB, value string, unit money.Unit) money.Rate {
	t.Helper()
	rate, err := money.ParseRate(value, unit)
	is.New(t).NoErr(err)
	return rate
}

// TestCheckoutMembersHaveBounds checks Sections 4.7 and 8: the members of a checkout, on both sides of every limit. A
// refused checkout leaves nothing.
func TestCheckoutMembersHaveBounds(t *testing.T) {
	t.Parallel()
	local := func(n int) string { return strings.Repeat("a", n-len("@example.com")) + "@example.com" }
	const oneEmail = "buyer.email: must be one email address, such as ada@example.com"
	type params = ticketing.CheckoutParams
	tests := []struct {
		name   string
		change func(*params)
		want   string
	}{
		{name: "longest email", change: func(p *params) { p.Buyer.Email = local(320) }},
		{
			name: "email too long", change: func(p *params) { p.Buyer.Email = local(321) },
			want: "buyer.email: must be at most 320 characters",
		},
		{name: "quoted email", change: func(p *params) { p.Buyer.Email = `"ada obi"@example.com` }},
		{name: "no email", change: func(p *params) { p.Buyer.Email = "" }, want: "buyer.email: must not be empty"},
		{name: "blank email", change: func(p *params) { p.Buyer.Email = "  " }, want: "buyer.email: must not be empty"},
		{name: "display name", change: func(p *params) { p.Buyer.Email = "Ada <ada@example.com>" }, want: oneEmail},
		{name: "two emails", change: func(p *params) { p.Buyer.Email = "a@example.com,b@example.com" }, want: oneEmail},
		{name: "one label", change: func(p *params) { p.Buyer.Email = "ada@localhost" }, want: oneEmail},
		{name: "longest name", change: func(p *params) { p.Buyer.Fullname = wide(200) }},
		{
			name: "name too long", change: func(p *params) { p.Buyer.Fullname = wide(201) },
			want: "buyer.fullname: must be at most 200 characters",
		},
		{
			name: "name of lines", change: func(p *params) { p.Buyer.Fullname = "a\nb" },
			want: "buyer.fullname: must not contain control characters",
		},
		{name: "longest phone", change: func(p *params) { p.Buyer.Phone = wide(50) }},
		{
			name: "phone too long", change: func(p *params) { p.Buyer.Phone = wide(51) },
			want: "buyer.phone: must be at most 50 characters",
		},
		{name: "currency", change: func(p *params) { p.Lines[0].Currency = "USD" }, want: "lines[0].currency: must be NGN"},
		{name: "no currency", change: func(p *params) { p.Lines[0].Currency = "" }, want: "lines[0].currency: must be NGN"},
		{
			name: "negative price", change: func(p *params) { p.Lines[0].ExpectedUnitPrice = -1 },
			want: "lines[0].expectedUnitPrice: must be from 0 to 999999999999.99",
		},
		{
			name: "price too high", change: func(p *params) { p.Lines[0].ExpectedUnitPrice = money.MaxInput + 1 },
			want: "lines[0].expectedUnitPrice: must be from 0 to 999999999999.99",
		},
	}
	for _, line := range lineTests() {
		if line.want == "" {
			continue
		}
		tests = append(tests, struct {
			name   string
			change func(*params)
			want   string
		}{line.name, func(p *params) {
			p.Lines = nil
			for _, l := range line.lines {
				p.Lines = append(p.Lines,
					ticketing.CheckoutLineParams{Tier: l.Tier, Quantity: l.Quantity, ExpectedUnitPrice: 1_00, Currency: "NGN"})
			}
		}, line.want})
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		shop.Inventory(t, event.ID, "REGULAR", 1_00, 100)
		for _, test := range tests {
			basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
			test.change(&basket)
			before := holdings(t, shop)
			_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
			if said(err) != test.want {
				t.Errorf("%s: %v", test.name, err)
			}
			if test.want != "" {
				is.New(t).Equal(code(err), ticketing.CodeInvalidRequest)
				is.New(t).Equal(holdings(t, shop), before)
			}
		}
	})
}

// fault is one reason to refuse a checkout, with functions that cause and remove it.
type fault struct {
	code  ticketing.Code
	says  string
	cause func(t *testing.T, shop *ticketingtest.Shop, event ticketing.Event)
	mend  func(t *testing.T, shop *ticketingtest.Shop, event ticketing.Event)
}

// faults returns the reasons for a 409 of a checkout, in the order in which they are reported.
func faults() []fault {
	ok := func(t *testing.T, err error) {
		t.Helper()
		is.New(t).NoErr(err)
	}
	return []fault{
		{
			code: ticketing.CodeVerificationRequired, says: "Current company verification is required",
			cause: func(t *testing.T, shop *ticketingtest.Shop, _ ticketing.Event) {
				_, err := shop.Staff.RevokeVerification(t.Context(), shop.Company.ID)
				ok(t, err)
			},
			mend: func(t *testing.T, shop *ticketingtest.Shop, _ ticketing.Event) {
				_, err := shop.Staff.GrantGrace(t.Context(), shop.Company.ID, shop.Clock.Now().Add(time.Millisecond))
				ok(t, err)
			},
		},
		{
			code: ticketing.CodeConflict, says: "The event is not published.",
			cause: func(t *testing.T, shop *ticketingtest.Shop, event ticketing.Event) { unpublish(t, shop, event.ID) },
			mend:  func(t *testing.T, shop *ticketingtest.Shop, event ticketing.Event) { publish(t, shop, event.ID) },
		},
		{
			code: ticketing.CodeInventoryUnavailable, says: "The inventory is no longer available at the expected price.",
			cause: func(*testing.T, *ticketingtest.Shop, ticketing.Event) {},
			mend: func(t *testing.T, shop *ticketingtest.Shop, event ticketing.Event) {
				shop.Inventory(t, event.ID, "VIP", 150_00, 2)
			},
		},
		{
			code: ticketing.CodeCommissionUnavailable, says: "No commission rate is effective for the company.",
			cause: func(t *testing.T, shop *ticketingtest.Shop, _ ticketing.Event) { // There is only a future rate.
				_, err := shop.Staff.ScheduleCommission(t.Context(), shop.Company.ID, ticketing.CommissionParams{
					EffectiveFrom: new(shop.Clock.Now().Add(time.Millisecond)),
				})
				ok(t, err)
			},
			mend: func(t *testing.T, shop *ticketingtest.Shop, _ ticketing.Event) {
				_, err := shop.Staff.ScheduleCommission(t.Context(), shop.Company.ID, ticketing.CommissionParams{
					EffectiveFrom: new(shop.Clock.Now()),
				})
				ok(t, err)
			},
		},
		{
			code: ticketing.CodeCheckoutUnavailable, says: "The company's balances are not available for checkout.",
			cause: func(t *testing.T, shop *ticketingtest.Shop, _ ticketing.Event) {
				_, err := shop.Staff.SuspendWallet(t.Context(), shop.Company.ID, ledger.Earnings)
				ok(t, err)
			},
			mend: func(t *testing.T, shop *ticketingtest.Shop, _ ticketing.Event) {
				_, err := shop.Staff.ActivateWallet(t.Context(), shop.Company.ID, ledger.Earnings)
				ok(t, err)
			},
		},
		{
			code: ticketing.CodeInsufficientFloat, says: "The FLOAT balance cannot fund the checkout.",
			cause: func(t *testing.T, shop *ticketingtest.Shop, _ ticketing.Event) { shop.Credit(t, 299_99) },
			mend:  func(t *testing.T, shop *ticketingtest.Shop, _ ticketing.Event) { shop.Credit(t, 1) },
		},
	}
}

// TestCheckoutRefusalsComeInOrderAndLeaveNothing checks the order of the 409s of a checkout. Each refusal leaves no
// row, no movement and no used key: the same body and key succeed after the last reason is removed.
func TestCheckoutRefusalsComeInOrderAndLeaveNothing(t *testing.T) {
	t.Parallel()
	config := &ticketingtest.Config{Float: ticketingtest.NoFloat, NoRate: true}
	onShops(t, config, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		basket, key := ticketingtest.Basket(event.ID, "VIP", 150_00, 2), shop.Key()
		for _, fault := range slices.Backward(faults()) {
			fault.cause(t, shop, event)
		}
		for _, fault := range faults() {
			before := holdings(t, shop)
			order, err := shop.Checkout(t.Context(), shop.Caller, key, basket)
			is.Equal(code(err), fault.code)
			is.Equal(said(err), fault.says)
			is.Equal(order.ID, uuid.Nil)
			is.Equal(holdings(t, shop), before)
			fault.mend(t, shop, event)
		}
		order, err := shop.Checkout(t.Context(), shop.Caller, key, basket)
		is.NoErr(err)
		is.Equal(order.Balances.FloatAfter, money.Amount(0))
		// The key is used now. Its conflict is reported before NOT_FOUND, the event's state and all later reasons.
		basket.EventID = uuid.New()
		_, err = shop.Checkout(t.Context(), shop.Caller, key, basket)
		is.Equal(said(err), "The idempotency key was used with different input.")
		_, err = shop.Staff.RevokeVerification(t.Context(), shop.Company.ID)
		is.NoErr(err)
		_, err = shop.Checkout(t.Context(), shop.Caller, key, basket)
		is.Equal(code(err), ticketing.CodeVerificationRequired)
	})
}

// TestCheckoutTakesOnlyWhatWasQuoted checks which prices and tiers a checkout refuses, and on which events.
func TestCheckoutTakesOnlyWhatWasQuoted(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100, 2)
		shop.Inventory(t, event.ID, "VIP", 200, 2)
		shop.Inventory(t, event.ID, "REGULAR", 100, 5, ticketingtest.Paused)
		for name, test := range map[string]struct {
			basket ticketing.CheckoutParams
			want   ticketing.Code
		}{
			"too few at the price":    {ticketingtest.Basket(event.ID, "VIP", 100, 3), ticketing.CodeInventoryUnavailable},
			"too few at the other":    {ticketingtest.Basket(event.ID, "VIP", 200, 3), ticketing.CodeInventoryUnavailable},
			"none at the price below": {ticketingtest.Basket(event.ID, "VIP", 99, 1), ticketing.CodeInventoryUnavailable},
			"none at the price above": {ticketingtest.Basket(event.ID, "VIP", 101, 1), ticketing.CodeInventoryUnavailable},
			"free":                    {ticketingtest.Basket(event.ID, "VIP", 0, 1), ticketing.CodeInventoryUnavailable},
			"paused":                  {ticketingtest.Basket(event.ID, "REGULAR", 100, 1), ticketing.CodeInventoryUnavailable},
			"without admissions":      {ticketingtest.Basket(event.ID, "STUDENT", 100, 1), ticketing.CodeInventoryUnavailable},
			"unknown tier":            {ticketingtest.Basket(event.ID, "Balcony", 100, 1), ticketing.CodeInventoryUnavailable},
			"case of the tier":        {ticketingtest.Basket(event.ID, "vip", 100, 1), ticketing.CodeInventoryUnavailable},
			"draft": {
				ticketingtest.Basket(shop.Event(t, ticketingtest.Draft).ID, "VIP", 100, 1), ticketing.CodeConflict,
			},
			"cancelled":     {ticketingtest.Basket(cancelled(t, shop).ID, "VIP", 100, 1), ticketing.CodeConflict},
			"ended":         {ticketingtest.Basket(ended(t, shop).ID, "VIP", 100, 1), ticketing.CodeConflict},
			"unknown event": {ticketingtest.Basket(uuid.New(), "VIP", 100, 1), ticketing.CodeNotFound},
		} {
			before := holdings(t, shop)
			_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), test.basket)
			if code(err) != test.want {
				t.Errorf("%s: %v", name, err)
			}
			is.New(t).Equal(holdings(t, shop), before)
		}
		// One line that cannot be filled refuses the whole checkout.
		basket := ticketingtest.Basket(event.ID, "VIP", 100, 1)
		basket.Lines = append(basket.Lines,
			ticketing.CheckoutLineParams{Tier: "REGULAR", Quantity: 1, ExpectedUnitPrice: 100, Currency: "NGN"})
		_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
		is.New(t).Equal(code(err), ticketing.CodeInventoryUnavailable)
		is.New(t).Equal(tiers(t, shop, event.ID)["VIP"].AvailableQuantity, int64(4))
	})
}

// TestOldestBatchIsSoldFirst checks that the oldest batch at a price is sold first.
func TestOldestBatchIsSoldFirst(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		titled := func(title string) func(*ticketing.CreateInventoryParams) {
			return func(p *ticketing.CreateInventoryParams) { p.Title = title }
		}
		shop.Inventory(t, event.ID, "VIP", 100, 2, titled("first"))
		shop.Inventory(t, event.ID, "VIP", 200, 2, titled("dear"))
		shop.Inventory(t, event.ID, "VIP", 100, 2, titled("second"))
		shop.Inventory(t, event.ID, "VIP", 100, 9, titled("third"))
		titles := func(quantity int) (found []string) {
			order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(),
				ticketingtest.Basket(event.ID, "VIP", 100, quantity))
			is.NoErr(err)
			for _, line := range order.Lines {
				found = append(found, line.Title)
			}
			return found
		}
		is.Equal(titles(1), []string{"first"})
		is.Equal(titles(4), []string{"first", "second", "second", "third"})
		is.Equal(titles(1), []string{"third"})
	})
}

// TestFreeCheckout checks that a free checkout succeeds with an empty FLOAT, writes its ledger entries, and needs a
// rate like any other checkout.
func TestFreeCheckout(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: ticketingtest.NoFloat, NoRate: true},
		func(t *testing.T, shop *ticketingtest.Shop) {
			is := is.New(t)
			event := shop.Event(t)
			shop.Inventory(t, event.ID, "VIP", 0, 2)
			_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 0, 1))
			is.Equal(code(err), ticketing.CodeCommissionUnavailable)
			_, err = shop.Staff.ScheduleCommission(t.Context(), shop.Company.ID, ticketing.CommissionParams{
				Rate: rateOf(t, "100", money.Percent),
			})
			is.NoErr(err)
			order := shop.Sell(t, event.ID, "VIP", 2)
			is.Equal([]money.Amount{order.Gross, order.FloatDebited, order.Commission.Amount}, []money.Amount{0, 0, 0})
			is.Equal(order.Balances, ticketing.OrderBalances{})
			after := holdings(t, shop)
			is.Equal([]int64{after.Float, after.Earnings, int64(after.Orders)}, []int64{1, 1, 1})
		})
}

// TestCheckoutTakesTheEffectiveRate checks Section 2.9: the rate is the latest whose effectiveFrom is at or before the
// moment of sale, and of two with the same effectiveFrom the later created. An order keeps the rate that it was sold
// under.
func TestCheckoutTakesTheEffectiveRate(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{NoRate: true}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 100)
		schedule := func(value string, unit money.Unit, in time.Duration) {
			_, err := shop.Staff.ScheduleCommission(t.Context(), shop.Company.ID, ticketing.CommissionParams{
				Rate: rateOf(t, value, unit), EffectiveFrom: new(ticketingtest.Opening.Add(in)),
			})
			is.NoErr(err)
		}
		schedule("250", money.BasisPoints, -2*time.Hour)
		schedule("9.99", money.Percent, -3*time.Hour) // This is created later, and effective earlier.
		schedule("0.1", money.Fraction, time.Hour)
		schedule("50", money.Percent, 2*time.Hour)
		schedule("20", money.Percent, 2*time.Hour) // This is the later created of two of the same time.
		var orders []ticketing.Order
		for _, test := range []struct {
			at    time.Duration
			value string
			unit  money.Unit
			want  money.Amount
		}{
			{0, "250", money.BasisPoints, 2_50},
			{time.Hour - time.Millisecond, "250", money.BasisPoints, 2_50},
			{time.Hour, "0.1", money.Fraction, 10_00},
			{2 * time.Hour, "20", money.Percent, 20_00},
		} {
			shop.Clock.Set(ticketingtest.Opening.Add(test.at))
			order := shop.Sell(t, event.ID, "VIP", 1)
			is.Equal(order.Commission.Amount, test.want)
			is.Equal([]string{order.Commission.Rate.Value, string(order.Commission.Rate.Unit)},
				[]string{test.value, string(test.unit)})
			orders = append(orders, order)
		}
		for _, order := range orders {
			found, err := shop.GetOrder(t.Context(), shop.Caller, order.ID)
			is.NoErr(err)
			is.Equal(found, order)
		}
	})
}

// TestCheckoutTakesTheRateOfItsTime checks the rate of a checkout if the clock shows a time before the last sale of the
// company. The checkout has the time of that sale, and the rate that is effective then: not that of the clock's time,
// and not a later one. Without a rate that is effective by then it is refused.
func TestCheckoutTakesTheRateOfItsTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ahead  time.Duration // of the last sale
		begins time.Duration // of the second rate
		want   money.Amount
	}{
		{0, time.Millisecond, 1_00},
		{time.Second, time.Millisecond, 2_00},
		{time.Second, time.Second, 2_00},
		{time.Second, time.Second + time.Millisecond, 1_00},
		{10 * time.Second, 10 * time.Second, 2_00},
		{10 * time.Second, 10*time.Second + time.Millisecond, 1_00},
		{10*time.Second + time.Millisecond, 10*time.Second + time.Millisecond, 2_00},
		{time.Hour, time.Hour, 2_00},
		{time.Hour, time.Hour + time.Millisecond, 1_00},
	} {
		t.Run(fmt.Sprintf("%v behind, a rate %v later", test.ahead, test.begins), func(t *testing.T) {
			t.Parallel()
			onShops(t, &ticketingtest.Config{NoRate: true}, func(t *testing.T, shop *ticketingtest.Shop) {
				is := is.New(t)
				event := shop.Event(t)
				shop.Inventory(t, event.ID, "VIP", 100_00, 3)
				schedule := func(percent string, in time.Duration) {
					_, err := shop.Staff.ScheduleCommission(t.Context(), shop.Company.ID, ticketing.CommissionParams{
						Rate: rateOf(t, percent, money.Percent), EffectiveFrom: new(ticketingtest.Opening.Add(in)),
					})
					is.NoErr(err)
				}
				schedule("9", test.begins)
				schedule("2", test.begins) // The later created of two of the same time counts.
				_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
				is.Equal(code(err), ticketing.CodeCommissionUnavailable) // Neither rate is effective yet.
				schedule("1", -time.Hour)
				last := ticketingtest.Opening.Add(test.ahead)
				shop.Clock.Set(last)
				shop.Sell(t, event.ID, "VIP", 1)
				shop.Clock.Set(ticketingtest.Opening)
				order := shop.Sell(t, event.ID, "VIP", 1)
				is.True(order.ConfirmedAt.Equal(last))
				is.Equal(order.Commission.Amount, test.want)
			})
		})
	}
}

// TestCommissionIsRoundedOnce checks Section 2.6: the commission is rounded once, on the gross of the order, half up.
func TestCommissionIsRoundedOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value    string
		price    money.Amount
		quantity int
		want     money.Amount
	}{
		{"2.5", 20, 1, 1},  // 0.5 is rounded up
		{"2.5", 19, 1, 0},  // 0.475
		{"2.5", 10, 3, 1},  // 0.75; the 0.25 of each line alone would be rounded to 0
		{"2.5", 60, 1, 2},  // 1.5 is rounded up, as rounding to even does, too
		{"2.5", 100, 1, 3}, // 2.5 is rounded up; rounding to even would give 2
		{"100", 33, 2, 66},
		{"0", 33, 2, 0},
	} {
		t.Run(fmt.Sprintf("%s of %d times %d", test.value, test.quantity, test.price), func(t *testing.T) {
			t.Parallel()
			onShops(t, &ticketingtest.Config{Rate: rateOf(t, test.value, money.Percent)},
				func(t *testing.T, shop *ticketingtest.Shop) {
					event := shop.Event(t)
					shop.Inventory(t, event.ID, "VIP", test.price, test.quantity)
					is.New(t).Equal(shop.Sell(t, event.ID, "VIP", test.quantity).Commission.Amount, test.want)
				})
		})
	}
}

// TestCheckoutSpendsFloatToTheLastKobo checks that FLOAT is spent to the last kobo and not beyond (Section 2.9, item
// 5).
func TestCheckoutSpendsFloatToTheLastKobo(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 300_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 5)
		shop.Inventory(t, event.ID, "REGULAR", 100_01, 5)
		is.Equal(shop.Sell(t, event.ID, "VIP", 2).Balances.FloatAfter, money.Amount(100_00))
		_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "REGULAR", 100_01, 1))
		is.Equal(code(err), ticketing.CodeInsufficientFloat)
		is.Equal(shop.Sell(t, event.ID, "VIP", 1).Balances.FloatAfter, money.Amount(0))
		_, err = shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
		is.Equal(code(err), ticketing.CodeInsufficientFloat)
	})
}

// TestCheckoutNeedsBothWallets checks CHECKOUT_UNAVAILABLE: a wallet is suspended, or disagrees with its last ledger
// entry. A wallet of another currency has the same code.
func TestCheckoutNeedsBothWallets(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		wallet ledger.Wallet
		change func(*driver.Wallet)
		broken bool
	}{
		{"FLOAT suspended", ledger.Float, func(w *driver.Wallet) { w.Status = ticketing.WalletSuspended }, false},
		{"EARNINGS suspended", ledger.Earnings, func(w *driver.Wallet) { w.Status = ticketing.WalletSuspended }, false},
		{"FLOAT higher than its ledger", ledger.Float, func(w *driver.Wallet) { w.Balance++ }, true},
		{"EARNINGS higher than its ledger", ledger.Earnings, func(w *driver.Wallet) { w.Balance++ }, true},
		{"FLOAT behind its ledger", ledger.Float, func(w *driver.Wallet) { w.Hash[0]++ }, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
				is := is.New(t)
				event := shop.Event(t)
				shop.Inventory(t, event.ID, "VIP", 100_00, 2)
				shop.Sell(t, event.ID, "VIP", 1)
				if test.broken {
					shop.BooksAreBroken()
				}
				is.NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
					if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
						return err
					}
					locked, err := tx.LockWallets(ctx, []driver.WalletRef{{CompanyID: shop.Company.ID, Wallet: test.wallet}})
					if err != nil {
						return err
					}
					test.change(&locked[0].Wallet)
					return tx.UpdateWallets(ctx, []driver.Wallet{locked[0].Wallet})
				}))
				_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
				is.Equal(code(err), ticketing.CodeCheckoutUnavailable)
			})
		})
	}
}

// TestEarningsHaveAMaximum checks that EARNINGS holds at most money.MaxBalance. A commission that reaches it exactly is
// taken. The next checkout is CHECKOUT_UNAVAILABLE and leaves nothing.
func TestEarningsHaveAMaximum(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		shop.BooksAreBroken() // The entry that is written here belongs to no order.
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 2) // Each has a commission of 2.50.
		is.NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
				return err
			}
			entry, head, err := ledger.Genesis(shop.Company.ID, ledger.Earnings).Append(
				ledger.CommissionAccrual, money.MaxBalance-2_50, "elsewhere", shop.Clock.Now())
			if err != nil {
				return err
			}
			locked, err := tx.LockWallets(ctx, []driver.WalletRef{{CompanyID: shop.Company.ID, Wallet: ledger.Earnings}})
			if err != nil {
				return err
			}
			wallet := locked[0].Wallet
			wallet.Balance, wallet.Sequence, wallet.Hash, wallet.LastAt = head.Balance, head.Sequence, head.Hash, head.At
			if err := tx.UpdateWallets(ctx, []driver.Wallet{wallet}); err != nil {
				return err
			}
			return tx.AppendEntries(ctx, []ledger.Entry{entry})
		}))
		order := shop.Sell(t, event.ID, "VIP", 1)
		is.Equal(order.Balances.EarningsAfter, money.MaxBalance)
		before := shop.Wallets(t)
		_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
		is.Equal(code(err), ticketing.CodeCheckoutUnavailable)
		is.Equal(shop.Wallets(t), before)
	})
}

// TestTheLastAdmissionsAreSoldOnce checks that 64 concurrent buyers of the last 10 admissions get exactly 10, each
// admission once.
func TestTheLastAdmissionsAreSoldOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 7)
		shop.Inventory(t, event.ID, "VIP", 100_00, 3, func(p *ticketing.CreateInventoryParams) { p.Title = "Other" })
		orders, codes := make([]ticketing.Order, 64), make([]ticketing.Code, 64)
		var done sync.WaitGroup
		for i := range orders {
			key := shop.Key()
			done.Go(func() {
				var err error
				orders[i], err = shop.Checkout(t.Context(), shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
				codes[i] = code(err)
			})
		}
		done.Wait()
		admissions := make(map[uuid.UUID]bool)
		for i, order := range orders {
			switch codes[i] {
			case "":
				admissions[order.Lines[0].AdmissionID] = true
			default:
				is.Equal(codes[i], ticketing.CodeInventoryUnavailable)
			}
		}
		is.Equal(len(admissions), 10)
		is.Equal(tiers(t, shop, event.ID)["VIP"].Status, ticketing.InventorySoldOut)
		is.Equal(holdings(t, shop).Orders, 10)
		is.Equal(shop.Wallets(t).Float, ticketingtest.DefaultFloat-1000_00)
	})
}

// TestConcurrentCheckoutsNeverOverdrawFloat checks that of 30 concurrent buyers on a FLOAT for ten, ten succeed, and
// FLOAT never goes below zero.
func TestConcurrentCheckoutsNeverOverdrawFloat(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 1000_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 100)
		codes := make([]ticketing.Code, 30)
		var done sync.WaitGroup
		for i := range codes {
			key := shop.Key()
			done.Go(func() {
				_, err := shop.Checkout(t.Context(), shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
				codes[i] = code(err)
			})
		}
		done.Wait()
		slices.Sort(codes)
		is.Equal(codes, slices.Concat(
			slices.Repeat([]ticketing.Code{""}, 10), slices.Repeat([]ticketing.Code{ticketing.CodeInsufficientFloat}, 20)))
		is.Equal(shop.Wallets(t).Float, money.Amount(0))
	})
}

// TestCheckoutsRaceWithTheEvent runs checkouts while the event is taken off sale, put on sale and finally cancelled.
// Nothing is sold after the cancellation, each admission is sold once, and no unsold admission is left on sale.
func TestCheckoutsRaceWithTheEvent(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1_00, 1000)
		var done sync.WaitGroup
		stop := make(chan struct{})
		var sold [4]int
		for i := range sold {
			keys := make([]string, 400)
			for k := range keys {
				keys[k] = shop.Key()
			}
			done.Go(func() {
				for _, key := range keys {
					_, err := shop.Checkout(t.Context(), shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", 1_00, 1))
					switch code(err) {
					case "":
						sold[i]++
					case ticketing.CodeConflict, ticketing.CodeInventoryUnavailable:
					default:
						t.Errorf("a checkout: %v", err)
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		for range 10 {
			unpublish(t, shop, event.ID)
			tier := tiers(t, shop, event.ID)["VIP"]
			is.True(tier.AvailableQuantity == 0) // Nothing is on sale while the event is a draft.
			orders := holdings(t, shop).Orders
			is.Equal(orders, holdings(t, shop).Orders) // Nothing is sold in the meantime either.
			publish(t, shop, event.ID)
		}
		_, err := shop.CancelEvent(t.Context(), shop.Caller, event.ID)
		is.NoErr(err)
		orders := holdings(t, shop).Orders
		close(stop)
		done.Wait()
		is.Equal(holdings(t, shop).Orders, orders)
		is.Equal(sold[0]+sold[1]+sold[2]+sold[3], orders)
		tier := tiers(t, shop, event.ID)["VIP"]
		is.Equal(tier.AvailableQuantity, int64(0))
		is.Equal(tier.Status == ticketing.InventorySoldOut, orders == 1000)
	})
}
