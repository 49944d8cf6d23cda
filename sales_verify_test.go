package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ticketingtest"
)

// changeSums changes the sums of a shop's company by hand.
func changeSums(t *testing.T, shop *ticketingtest.Shop, change func(ctx context.Context, tx driver.Tx) error) {
	t.Helper()
	is.New(t).NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{shop.Company.ID}}); err != nil {
			return err
		}
		return change(ctx, tx)
	}))
}

// TestVerificationFindsWrongSums checks that a verification names every sum that differs from the orders, with the
// figure that is wrong, and that a rebuild makes it right.
func TestVerificationFindsWrongSums(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	at := ticketingtest.Opening.Truncate(driver.SalesInterval)
	stranger := uuid.New()
	type sum = driver.SalesSum
	tests := []struct {
		name string
		of   func(event uuid.UUID) driver.SalesSumRef
		add  sum
		said string // EVENT stands for the id of the event
	}{
		{
			name: "an order of a tier", add: sum{Orders: 1},
			of: func(event uuid.UUID) driver.SalesSumRef {
				return driver.SalesSumRef{EventID: event, Tier: "VIP", At: at}
			},
			said: `of event EVENT tier "VIP" from 2026-11-21T09:30:00Z: it has 3 orders, the orders make 2`,
		},
		{
			name: "an admission of an event", add: sum{Admissions: 1},
			of:   func(event uuid.UUID) driver.SalesSumRef { return driver.SalesSumRef{EventID: event, At: at} },
			said: `of event EVENT from 2026-11-21T09:30:00Z: it has 4 admissions, the orders make 3`,
		},
		{
			name: "gross of all", add: sum{Gross: 1},
			of:   func(uuid.UUID) driver.SalesSumRef { return driver.SalesSumRef{At: at} },
			said: `of all events from 2026-11-21T09:30:00Z: it has 3001 kobo of gross, the orders make 3000`,
		},
		{
			name: "commission of all", add: sum{Commission: 7},
			of:   func(uuid.UUID) driver.SalesSumRef { return driver.SalesSumRef{At: at} },
			said: `of all events from 2026-11-21T09:30:00Z: it has 82 kobo of commission, the orders make 75`,
		},
		{
			name: "a refund of all", add: sum{Refunded: 1},
			of:   func(uuid.UUID) driver.SalesSumRef { return driver.SalesSumRef{At: at} },
			said: `of all events from 2026-11-21T09:30:00Z: it has 2001 kobo refunded, the orders make 2000`,
		},
		{
			name: "commission that was taken back", add: sum{Reversed: 1},
			of:   func(uuid.UUID) driver.SalesSumRef { return driver.SalesSumRef{At: at} },
			said: `of all events from 2026-11-21T09:30:00Z: it has 51 kobo of commission reversed, the orders make 50`,
		},
		{
			name: "a person who was admitted", add: sum{Admitted: 1},
			of: func(event uuid.UUID) driver.SalesSumRef {
				return driver.SalesSumRef{EventID: event, Tier: "VIP", At: at}
			},
			said: `of event EVENT tier "VIP" from 2026-11-21T09:30:00Z: it has 2 admitted, the orders make 1`,
		},
		{
			name: "sales at another time", add: sum{Orders: 1},
			of: func(uuid.UUID) driver.SalesSumRef {
				return driver.SalesSumRef{At: at.Add(driver.SalesInterval)}
			},
			said: `of all events from 2026-11-21T09:45:00Z: it has 1 orders, the orders make 0`,
		},
		{
			name: "sales of an event that does not exist", add: sum{Gross: 5},
			of:   func(uuid.UUID) driver.SalesSumRef { return driver.SalesSumRef{EventID: stranger, At: at} },
			said: `of event ` + stranger.String() + ` from 2026-11-21T09:30:00Z: it has 5 kobo of gross, the orders make 0`,
		},
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ctx, company := t.Context(), shop.Company.ID
		shop.BooksAreBroken()
		event := shop.Event(t).ID
		shop.Inventory(t, event, "VIP", 10_00, 9)
		admitted := shop.Sell(t, event, "VIP", 1)
		shop.Scan(t, event, admitted.Lines[0].AdmissionID)
		refund(t, shop, shop.Sell(t, event, "VIP", 2).ID)
		dispatch(t, shop)
		problems := func() []string {
			t.Helper()
			report, err := shop.Staff.VerifyLedger(ctx, company)
			is.NoErr(err)
			is.Equal(report.OK, len(report.Problems) == 0)
			return report.Problems
		}
		is.Equal(problems(), []string{})
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				wrong := test.add
				wrong.SalesSumRef = test.of(event)
				wrong.CompanyID = company
				changeSums(t, shop, func(ctx context.Context, tx driver.Tx) error { return tx.AddSales(ctx, []sum{wrong}) })
				found := problems()
				is.Equal(len(found), 1)
				said := "sum of sales " + strings.ReplaceAll(test.said, "EVENT", event.String())
				is.Equal(found[0][max(0, len(found[0])-len(said)):], said)
				_, err := shop.Staff.RebuildSales(ctx, company)
				is.NoErr(err)
				is.Equal(problems(), []string{})
			})
		}
		changeSums(t, shop, func(ctx context.Context, tx driver.Tx) error { return tx.DeleteSalesSums(ctx, company) })
		is.Equal(len(problems()), 3) // That of the company, of the event and of the tier.
	})
}

// TestReportsSayFromWhenTheyAreWhole checks that while orders from before are being counted, a report has all sales
// from CompleteFrom on and none from earlier, also of orders that are refunded meanwhile, and that Run counts the rest.
func TestReportsSayFromWhenTheyAreWhole(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	for _, store := range storesFor(t) {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			ctx := t.Context()
			// One count takes two orders.
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: smallSteps{store.Open(t)}})
			company, event := shop.Company.ID, shop.Event(t).ID
			shop.Inventory(t, event, "VIP", 10_00, 99)
			var sold []time.Time
			var orders []ticketing.Order
			for range 7 {
				shop.Clock.Advance(time.Hour)
				orders = append(orders, shop.Sell(t, event, "VIP", 1))
				sold = append(sold, shop.Clock.Now())
			}
			for range sold {
				dispatch(t, shop) // two facts at a time
			}
			report := func() ticketing.SalesReport {
				t.Helper()
				found, err := shop.Staff.Sales(ctx, company, ticketing.SalesFilter{
					From: ticketingtest.Opening, To: shop.Clock.Now().Add(time.Hour), Interval: ticketing.SalesHourly,
				})
				is.NoErr(err)
				return found
			}
			is.True(report().CompleteFrom == nil)
			changeSums(t, shop, func(ctx context.Context, tx driver.Tx) error {
				wallets, err := tx.Wallets(ctx, driver.WalletRefs(company)[:1])
				if err != nil {
					return err
				}
				if err := tx.DeleteSalesSums(ctx, company); err != nil {
					return err
				}
				return tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: company, Uncounted: wallets[0].Sequence})
			})
			refund(t, shop, orders[1].ID) // It is not counted yet, so its refund is not in the report either.
			var from []string
			for whole := false; !whole; {
				found := report()
				var got, want []string
				for _, row := range found.Items {
					got = append(got, fmt.Sprint(row.From, row.Orders))
				}
				for _, at := range sold {
					if found.CompleteFrom != nil && !at.Before(found.CompleteFrom.Time) {
						want = append(want, fmt.Sprint(ticketing.Time{Time: at.Truncate(time.Hour)}, 1))
					}
				}
				if whole = found.CompleteFrom == nil; whole {
					break
				}
				is.Equal(got, want)
				is.Equal(found.Total.Refunded.String(), "0.00")
				from = append(from, found.CompleteFrom.String())
				if len(from) == 3 {
					// Another process of the service counts what is left.
					end := running(t, mixedSender(t, shop))
					eventually(t, func() bool { return report().CompleteFrom == nil })
					end()
					continue
				}
				_, err := shop.CountSales(ctx)
				is.NoErr(err)
			}
			after := func(order int) string {
				return ticketing.Time{Time: sold[order].Add(time.Millisecond)}.String()
			}
			is.Equal(from, []string{after(6), after(4), after(2)})
			is.Equal(report().Total.Orders, int64(7))
			is.Equal(report().Total.Refunded.String(), "10.00")
			is.True(slices.IsSortedFunc(report().Items, func(a, b ticketing.SalesRow) int {
				return a.From.Compare(b.From.Time)
			}))
		})
	}
}
