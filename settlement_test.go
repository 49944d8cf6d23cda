package ticketing_test

import (
	"context"
	"fmt"
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

// earning gives a shop's company a bank account and something to sell.
func earning(t testing.TB, shop *ticketingtest.Shop) ticketing.Event {
	t.Helper()
	banked(t, shop)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 1000_00, 50)
	return event
}

// request requests a settlement, which has to succeed.
func request(t testing.TB, shop *ticketingtest.Shop) ticketing.Settlement {
	t.Helper()
	settlement, err := shop.Staff.RequestSettlement(t.Context(), shop.Company.ID)
	is.New(t).NoErr(err)
	return settlement
}

// movements returns the movements of a wallet as text, oldest first.
func movements(t testing.TB, shop *ticketingtest.Shop, wallet ledger.Wallet) []string {
	t.Helper()
	var moved []string
	is.New(t).NoErr(shop.Staff.Ledger(t.Context(), shop.Company.ID, wallet, func(e ticketing.LedgerEntry) error {
		moved = append(moved, fmt.Sprintf("%s %s %s", e.Kind, e.Amount, e.Reference))
		return nil
	}))
	return moved
}

// TestMoneyMovesWithinTheApproval checks Section 2.9, items 2 and 6. If the time of a wallet is after that of the
// clock, the time of the wallet decides whether the company is currently verified, as for sales. So no movement is
// dated after the approval.
func TestMoneyMovesWithinTheApproval(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := earning(t, shop)
		early := shop.Clock.Now()
		shop.Clock.Advance(2 * time.Hour)
		shop.Sell(t, event.ID, "VIP", 1)
		shop.Clock.Set(early)
		approve := func(expires time.Time) {
			_, err := shop.Staff.ApproveVerification(t.Context(), shop.Company.ID, ticketing.ApprovalParams{
				ExpiresAt: &expires,
			})
			is.NoErr(err)
		}
		fund := func() error {
			return second(shop.Staff.CreditFloat(t.Context(), shop.Company.ID, "PSK-late-1", 5_00))
		}
		settle := func() error { return second(shop.Staff.RequestSettlement(t.Context(), shop.Company.ID)) }
		approve(early.Add(time.Hour))
		is.Equal(said(fund()), "Current company verification is required")
		is.Equal(said(settle()), "Current company verification is required")
		approve(early.Add(3 * time.Hour))
		is.NoErr(fund())
		is.NoErr(settle())
	})
}

// TestSettlementTakesTheWholeOfEarnings checks Section 2.9, item 6: "no amount field"; "It atomically debits the whole
// current earnings balance and starts as PENDING; it never debits FLOAT."
func TestSettlementTakesTheWholeOfEarnings(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := earning(t, shop)
		order := shop.Sell(t, event.ID, "VIP", 2)
		before, floats := shop.Wallets(t), movements(t, shop, ledger.Float)
		is.Equal(before.Earnings, money.Amount(50_00))
		shop.Clock.Advance(time.Hour)
		settlement := request(t, shop)
		is.Equal(show(t, settlement), fmt.Sprintf(`{"id":%q,"companyId":%q,"amount":{"amount":"50.00","currency":"NGN"},`+
			`"status":"PENDING","bankAccountLast4":"2653","reason":null,"requestedAt":"2026-11-21T10:30:00.000Z",`+
			`"decidedAt":null}`, settlement.ID, shop.Company.ID))
		after := shop.Wallets(t)
		is.Equal(after.Earnings, money.Amount(0))
		is.Equal(after.Float, before.Float)
		is.Equal(movements(t, shop, ledger.Float), floats)
		is.Equal(movements(t, shop, ledger.Earnings), []string{
			"COMMISSION_ACCRUAL 50.00 " + order.ID.String(), "SETTLEMENT_DEBIT -50.00 " + settlement.ID.String(),
		})

		found, err := shop.Staff.GetSettlement(t.Context(), settlement.ID)
		is.NoErr(err)
		is.Equal(found, settlement)
		// The commission of a later sale goes into the next settlement.
		shop.Sell(t, event.ID, "VIP", 1)
		is.Equal(shop.Wallets(t).Earnings, money.Amount(25_00))
	})
}

// TestSettlementIsRefusedInOrder checks Section 2.9, item 6: a request "requires an active company, an active NGN
// EARNINGS wallet with balance above zero, the company owner's payout bank account, and no existing request in
// PENDING"; "It is KYB-gated like float credit (…409, same message, before any debit)". The refusals come in this
// order, and each leaves everything as it was.
func TestSettlementIsRefusedInOrder(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		staff, company := shop.Staff, shop.Company.ID
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1000_00, 5)
		do := func(_ any, err error) {
			t.Helper()
			is.NoErr(err)
		}
		do(staff.SuspendCompany(t.Context(), company))
		do(staff.RevokeVerification(t.Context(), company))
		do(staff.SuspendWallet(t.Context(), company, ledger.Earnings))
		refused := func(want string) {
			t.Helper()
			before := holdings(t, shop)
			_, err := staff.RequestSettlement(t.Context(), company)
			is.Equal(code(err), ticketing.CodeConflict)
			is.Equal(said(err), want)
			is.Equal(holdings(t, shop), before)
		}
		refused("The company is not active.")
		do(staff.ActivateCompany(t.Context(), company))
		refused("Current company verification is required")
		do(staff.ApproveVerification(t.Context(), company, ticketing.ApprovalParams{
			ExpiresAt: new(shop.Clock.Now().Add(time.Hour)),
		}))
		refused("The company has no bank account.")
		banked(t, shop)
		refused("The EARNINGS wallet is not active.")
		do(staff.ActivateWallet(t.Context(), company, ledger.Earnings))
		inCurrency := func(currency string) {
			t.Helper()
			is.NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
				if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}}); err != nil {
					return err
				}
				locked, err := tx.LockWallets(ctx, []driver.WalletRef{{CompanyID: company, Wallet: ledger.Earnings}})
				if err != nil {
					return err
				}
				locked[0].Currency = currency
				return tx.UpdateWallets(ctx, []driver.Wallet{locked[0].Wallet})
			}))
		}
		inCurrency("USD")
		refused("The EARNINGS wallet is not active.")
		inCurrency("NGN")
		refused("EARNINGS holds nothing to settle.")
		shop.Sell(t, event.ID, "VIP", 1)
		// A suspended FLOAT does not matter.
		do(staff.SuspendWallet(t.Context(), company, ledger.Float))
		request(t, shop)
		refused("The company has a settlement that is PENDING.")
		do(staff.ActivateWallet(t.Context(), company, ledger.Float))
		shop.Sell(t, event.ID, "VIP", 1)
		refused("The company has a settlement that is PENDING.")

		// An expired approval does not suffice; a grace period does.
		shop.Clock.Advance(time.Hour)
		refused("Current company verification is required")
		do(staff.GrantGrace(t.Context(), company, shop.Clock.Now().Add(time.Hour)))
		refused("The company has a settlement that is PENDING.")
		_, err := staff.RequestSettlement(t.Context(), uuid.New())
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// TestSettlementsOfEveryStatus checks Section 2.9, item 6: "no existing request in PENDING, PROCESSING or APPROVED".
// Section 3.6 does not show the transitions that involve PROCESSING, APPROVED and FAILED, and the service makes none of
// them.
func TestSettlementsOfEveryStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status          ticketing.SettlementStatus
		request         string
		approve, reject string
	}{
		{ticketing.SettlementPending, "The company has a settlement that is PENDING.", "", ""},
		{
			ticketing.SettlementProcessing, "The company has a settlement that is PROCESSING.",
			"The settlement is PROCESSING.", "The settlement is PROCESSING.",
		},
		{
			ticketing.SettlementApproved, "The company has a settlement that is APPROVED.",
			"The settlement is APPROVED.", "The settlement is APPROVED.",
		},
		{ticketing.SettlementCompleted, "", "", "The settlement is COMPLETED."},
		{ticketing.SettlementFailed, "", "The settlement is FAILED.", "The settlement is FAILED."},
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event := earning(t, shop)
		for _, test := range tests {
			for _, act := range []struct {
				name string
				do   func(id uuid.UUID) error
				want string
			}{
				{"request", func(uuid.UUID) error {
					_, err := shop.Staff.RequestSettlement(t.Context(), shop.Company.ID)
					return err
				}, test.request},
				{"approve", func(id uuid.UUID) error {
					_, err := shop.Staff.ApproveSettlement(t.Context(), id)
					return err
				}, test.approve},
				{"reject", func(id uuid.UUID) error {
					_, err := shop.Staff.RejectSettlement(t.Context(), id, "No such account")
					return err
				}, test.reject},
			} {
				t.Run(string(test.status)+"/"+act.name, func(t *testing.T) {
					is := is.New(t)
					shop.Sell(t, event.ID, "VIP", 1)
					settlement := request(t, shop)
					shop.Sell(t, event.ID, "VIP", 1)
					setStatus(t, shop, settlement.ID, test.status)
					is.Equal(said(act.do(settlement.ID)), act.want)
					// Make room for the next settlement.
					setStatus(t, shop, settlement.ID, ticketing.SettlementCompleted)
					if open, err := shop.Staff.ListSettlements(t.Context(), shop.Company.ID,
						ticketing.PageParams{Limit: 1}); err == nil &&
						open.Items[0].Status == ticketing.SettlementPending {
						_, err := shop.Staff.ApproveSettlement(t.Context(), open.Items[0].ID)
						is.NoErr(err)
					}
				})
			}
		}
	})
}

// setStatus makes a transition that the service does not make. A rejected settlement stays as it is.
func setStatus(t testing.TB, shop *ticketingtest.Shop, id uuid.UUID, status ticketing.SettlementStatus) {
	t.Helper()
	is.New(t).NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
			return err
		}
		settlement, err := tx.LockSettlement(ctx, driver.SettlementRef{CompanyID: shop.Company.ID, ID: id})
		if err != nil || settlement.Status == ticketing.SettlementRejected {
			return err
		}
		settlement.Status = status
		return tx.UpdateSettlement(ctx, settlement)
	}))
}

// TestSettlementApprovalCompletes checks Section 3.6: "In Phase 1 staff approval completes a manual payout."
func TestSettlementApprovalCompletes(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := earning(t, shop)
		shop.Sell(t, event.ID, "VIP", 1)
		settlement := request(t, shop)
		before := holdings(t, shop)
		// The state of the company does not matter, since the money has left its EARNINGS.
		_, err := shop.Staff.SuspendCompany(t.Context(), shop.Company.ID)
		is.NoErr(err)
		_, err = shop.Staff.RevokeVerification(t.Context(), shop.Company.ID)
		is.NoErr(err)
		shop.Clock.Advance(time.Minute)
		approved, err := shop.Staff.ApproveSettlement(t.Context(), settlement.ID)
		is.NoErr(err)
		want := settlement
		want.Status, want.DecidedAt = ticketing.SettlementCompleted, &ticketing.Time{Time: shop.Clock.Now()}
		is.Equal(show(t, approved), show(t, want))
		is.Equal(holdings(t, shop), before) // no money moved

		shop.Clock.Advance(time.Minute)
		again, err := shop.Staff.ApproveSettlement(t.Context(), settlement.ID)
		is.NoErr(err)
		is.Equal(show(t, again), show(t, want))
		_, err = shop.Staff.RejectSettlement(t.Context(), settlement.ID, "Too late")
		is.Equal(said(err), "The settlement is COMPLETED.")
		is.Equal(holdings(t, shop), before)
	})
}

// TestSettlementRejectionRefundsOnce checks Section 3.6: "Rejection refunds the exact original amount to the company's
// EARNINGS wallet once, through a guarded ledger entry."
func TestSettlementRejectionRefundsOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := earning(t, shop)
		shop.Sell(t, event.ID, "VIP", 2)
		settlement := request(t, shop)
		shop.Sell(t, event.ID, "VIP", 1)
		float := shop.Wallets(t).Float

		_, err := shop.Staff.SuspendWallet(t.Context(), shop.Company.ID, ledger.Earnings)
		is.NoErr(err)
		_, err = shop.Staff.RejectSettlement(t.Context(), settlement.ID, "No such account")
		is.Equal(said(err), "The EARNINGS wallet is not active.")
		_, err = shop.Staff.ActivateWallet(t.Context(), shop.Company.ID, ledger.Earnings)
		is.NoErr(err)

		shop.Clock.Advance(time.Minute)
		rejected, err := shop.Staff.RejectSettlement(t.Context(), settlement.ID, "  No such account ")
		is.NoErr(err)
		want := settlement
		want.Status, want.Reason = ticketing.SettlementRejected, of("No such account")
		want.DecidedAt = &ticketing.Time{Time: shop.Clock.Now()}
		is.Equal(show(t, rejected), show(t, want))
		is.Equal(shop.Wallets(t).Earnings, money.Amount(75_00))
		is.Equal(shop.Wallets(t).Float, float)
		moved := movements(t, shop, ledger.Earnings)
		is.Equal(moved[len(moved)-1], "SETTLEMENT_REFUND 50.00 "+settlement.ID.String())

		before := holdings(t, shop)
		again, err := shop.Staff.RejectSettlement(t.Context(), settlement.ID, "For another reason")
		is.NoErr(err)
		is.Equal(show(t, again), show(t, want))
		_, err = shop.Staff.ApproveSettlement(t.Context(), settlement.ID)
		is.Equal(said(err), "The settlement is REJECTED.")
		is.Equal(holdings(t, shop), before)

		// The refunded amount can be settled again, together with the rest.
		is.Equal(request(t, shop).Amount, money.Amount(75_00))
	})
}

func TestSettlementRejectionsHaveAReason(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := earning(t, shop)
		shop.Sell(t, event.ID, "VIP", 1)
		settlement := request(t, shop)
		for reason, want := range map[string]string{
			"":                       "reason: must not be empty",
			" \u00a0":                "reason: must not be empty",
			strings.Repeat("ọ", 501): "reason: must be at most 500 characters",
			"a\nb":                   "reason: must not contain control characters",
			"\xff":                   "reason: must be valid UTF-8",
			strings.Repeat("ọ", 500): "",
		} {
			_, err := shop.Staff.RejectSettlement(t.Context(), settlement.ID, reason)
			if want == "" {
				continue
			}
			is.Equal(said(err), want)
		}
		_, err := shop.Staff.RejectSettlement(t.Context(), uuid.New(), "reason")
		is.Equal(said(err), "The settlement was not found.")
		_, err = shop.Staff.ApproveSettlement(t.Context(), uuid.New())
		is.Equal(said(err), "The settlement was not found.")
		_, err = shop.Staff.GetSettlement(t.Context(), uuid.New())
		is.Equal(said(err), "The settlement was not found.")
	})
}

// TestSettlementRejectionNeverOverflows checks that a rejection that would take EARNINGS above its maximum is refused,
// and that the settlement stays open.
func TestSettlementRejectionNeverOverflows(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	whole, err := money.ParseRate("100", money.Percent)
	is.NoErr(err)
	// This takes a thousand credits, so it runs in memory.
	shop := ticketingtest.New(t, &ticketingtest.Config{Rate: whole, Float: money.MaxInput})
	banked(t, shop)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", money.MaxInput, 1000)
	shop.Inventory(t, event.ID, "VIP", money.MaxInput, 1)
	shop.Sell(t, event.ID, "VIP", 1)
	settlement := request(t, shop)
	for range 20 {
		for range 50 {
			shop.Credit(t, money.MaxInput)
		}
		shop.Sell(t, event.ID, "VIP", 50)
	}
	is.Equal(shop.Wallets(t).Earnings, 1000*money.MaxInput) // another MaxInput would exceed the maximum
	before := holdings(t, shop)
	_, err = shop.Staff.RejectSettlement(t.Context(), settlement.ID, "No such account")
	is.Equal(code(err), ticketing.CodeConflict)
	is.Equal(said(err), "EARNINGS would pass its maximum of 999999999999999.99.")
	is.Equal(holdings(t, shop), before)
	approved, err := shop.Staff.ApproveSettlement(t.Context(), settlement.ID)
	is.NoErr(err)
	is.Equal(approved.Status, ticketing.SettlementCompleted)
}

// TestSettlementsAtOnce checks concurrent administrators: exactly one side succeeds, and the others get a clear
// conflict.
func TestSettlementsAtOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event := earning(t, shop)
		const calls = 8
		atOnce := func(call func(i int) (ticketing.Settlement, error)) (found []ticketing.Settlement, errs []error) {
			found, errs = make([]ticketing.Settlement, calls), make([]error, calls)
			var done sync.WaitGroup
			for i := range calls {
				done.Go(func() { found[i], errs[i] = call(i) })
			}
			done.Wait()
			return found, errs
		}
		t.Run("requests", func(t *testing.T) {
			is := is.New(t)
			shop.Sell(t, event.ID, "VIP", 1)
			_, errs := atOnce(func(int) (ticketing.Settlement, error) {
				return shop.Staff.RequestSettlement(t.Context(), shop.Company.ID)
			})
			accepted := 0
			for _, err := range errs {
				if err == nil {
					accepted++
					continue
				}
				is.Equal(said(err), "The company has a settlement that is PENDING.")
			}
			is.Equal(accepted, 1)
			is.Equal(shop.Wallets(t).Earnings, money.Amount(0))
		})
		newest := func(t *testing.T) ticketing.Settlement {
			t.Helper()
			page, err := shop.Staff.ListSettlements(t.Context(), shop.Company.ID, ticketing.PageParams{Limit: 1})
			is.New(t).NoErr(err)
			return page.Items[0]
		}
		t.Run("rejections", func(t *testing.T) {
			is := is.New(t)
			id := newest(t).ID
			found, errs := atOnce(func(i int) (ticketing.Settlement, error) {
				return shop.Staff.RejectSettlement(t.Context(), id, fmt.Sprintf("reason %d", i))
			})
			for i, err := range errs {
				is.NoErr(err)
				is.Equal(show(t, found[i]), show(t, found[0])) // one reason, that of the first call
			}
			is.Equal(shop.Wallets(t).Earnings, money.Amount(25_00)) // refunded once
		})
		t.Run("approvals and rejections", func(t *testing.T) {
			for range 5 {
				is := is.New(t)
				settlement := request(t, shop)
				_, errs := atOnce(func(i int) (ticketing.Settlement, error) {
					if i%2 == 0 {
						return shop.Staff.ApproveSettlement(t.Context(), settlement.ID)
					}
					return shop.Staff.RejectSettlement(t.Context(), settlement.ID, "No such account")
				})
				decided := newest(t)
				for i, err := range errs {
					won := (i%2 == 0) == (decided.Status == ticketing.SettlementCompleted)
					is.Equal(err == nil, won)
					if !won {
						is.Equal(said(err), "The settlement is "+string(decided.Status)+".")
					}
				}
				want := money.Amount(0)
				if decided.Status == ticketing.SettlementRejected {
					want = settlement.Amount
				}
				is.Equal(shop.Wallets(t).Earnings, want)
				shop.Sell(t, event.ID, "VIP", 1)
			}
		})
	})
}

// TestSettlementsAmongSales checks that concurrent sales, requests and decisions lose no kobo. The books are verified
// when the test ends.
func TestSettlementsAmongSales(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := earning(t, shop)
		var done sync.WaitGroup
		for range 4 {
			done.Go(func() {
				for range 6 {
					shop.Sell(t, event.ID, "VIP", 1)
				}
			})
		}
		var paid money.Amount
		done.Go(func() {
			for i := range 12 {
				settlement, err := shop.Staff.RequestSettlement(t.Context(), shop.Company.ID)
				if err != nil {
					continue
				}
				if i%3 == 0 {
					_, err = shop.Staff.RejectSettlement(t.Context(), settlement.ID, "No such account")
				} else {
					paid += settlement.Amount
					_, err = shop.Staff.ApproveSettlement(t.Context(), settlement.ID)
				}
				if err != nil {
					t.Errorf("decide: %v", err)
				}
			}
		})
		done.Wait()
		is.Equal(shop.Wallets(t).Earnings+paid, money.Amount(24*25_00))
	})
}

// TestSettlementsAreListedNewestFirst checks Section 2.9, item 6: "Dashboard and list responses expose only the last
// four digits of the bank account". They are those of the account at the time of the request.
func TestSettlementsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := earning(t, shop)
		neighbour := shop.Neighbour(t)
		var want []string
		for i := range 5 {
			params := accountParams()
			params.AccountNumber = ticketing.AccountNumber(fmt.Sprintf("000000%04d", i))
			_, err := shop.Staff.SetBankAccount(t.Context(), shop.Company.ID, params)
			is.NoErr(err)
			shop.Sell(t, event.ID, "VIP", 1)
			settlement := request(t, shop)
			is.Equal(settlement.BankAccountLast4, fmt.Sprintf("%04d", i))
			settlement, err = shop.Staff.ApproveSettlement(t.Context(), settlement.ID)
			is.NoErr(err)
			want = append([]string{show(t, settlement)}, want...)
		}
		for _, limit := range []int{1, 2, 5, 100} {
			var got []string
			params := ticketing.PageParams{Limit: limit}
			for more := true; more; {
				page, err := shop.Staff.ListSettlements(t.Context(), shop.Company.ID, params)
				is.NoErr(err)
				for _, settlement := range page.Items {
					got = append(got, show(t, settlement))
				}
				more, params.Cursor = page.HasMore, page.NextCursor
			}
			is.Equal(got, want)
		}
		none, err := shop.Staff.ListSettlements(t.Context(), neighbour.Company.ID, ticketing.PageParams{})
		is.NoErr(err)
		is.Equal(show(t, none.Items), "[]")
		page, err := shop.Staff.ListSettlements(t.Context(), shop.Company.ID, ticketing.PageParams{Limit: 1})
		is.NoErr(err)
		_, err = shop.Staff.ListSettlements(t.Context(), neighbour.Company.ID, ticketing.PageParams{Cursor: page.NextCursor})
		is.Equal(code(err), ticketing.CodeInvalidCursor)
		_, err = shop.Staff.ListSettlements(t.Context(), shop.Company.ID, ticketing.PageParams{Limit: 101})
		is.Equal(said(err), "limit: must be from 1 to 100")
	})
}
