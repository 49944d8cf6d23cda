package ticketing_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testdb"
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
			name: "sales of all time", add: sum{Admissions: 1},
			of:   func(event uuid.UUID) driver.SalesSumRef { return driver.SalesSumRef{EventID: event} },
			said: `of event EVENT of all time: it has 4 admissions, the orders make 3`,
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
		changeSums(t, shop, func(ctx context.Context, tx driver.Tx) error { return removeAll(ctx, tx, company) })
		is.Equal(len(problems()), 4) // Of the company, of the event, also of all time, and of the tier.
		// While a rebuild removes them, they are not compared. The test ends with the books broken.
		progress := func(uncounted int64) {
			changeSums(t, shop, func(ctx context.Context, tx driver.Tx) error {
				return tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: company, Uncounted: uncounted})
			})
		}
		progress(driver.SalesReset)
		report, err := shop.Staff.VerifyLedger(ctx, company)
		is.NoErr(err)
		is.True(report.OK)
		is.Equal(report.Notes, []string{
			fmt.Sprintf("company %s: its sums of sales and its index of buyers are being rebuilt and were not "+
				"compared", company),
		})
		changeSums(t, shop, func(ctx context.Context, tx driver.Tx) error { return removeAll(ctx, tx, company) })
		progress(1_000) // More than there are: none is counted.
		report, err = shop.Staff.VerifyLedger(ctx, company)
		is.NoErr(err)
		is.Equal(report.Problems, []string{})
		is.Equal(report.Notes, []string{
			fmt.Sprintf("company %s: its orders up to number 1000 are not counted yet: the sums of sales and the index of "+
				"buyers were compared without them", company),
		})
		progress(0)
	})
}

// TestTheIndexOfBuyersIsVerifiedAndRebuilt checks that a verification finds the orders that the index of buyers lacks,
// and that a rebuild enters them, but no order of an erased buyer under the old email.
func TestTheIndexOfBuyersIsVerifiedAndRebuilt(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	for _, store := range storesFor(t) {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			ctx, entries := t.Context(), new(entered)
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: enteringStore{store.Open(t), entries}})
			company, event := shop.Company.ID, shop.Event(t).ID
			shop.Inventory(t, event, "VIP", 10_00, 99)
			sell := func(email string) ticketing.Order {
				basket := ticketingtest.Basket(event, "VIP", 10_00, 1)
				basket.Buyer.Email = email
				order, err := shop.Checkout(ctx, shop.Caller, shop.Key(), basket)
				is.NoErr(err)
				return order
			}
			const ada, eve = "ada@example.com", "eve@example.com"
			lost := []uuid.UUID{sell(ada).ID, sell(ada).ID}
			kept, erased := sell(ada).ID, sell(eve).ID
			dispatch(t, shop)
			_, err := shop.Staff.EraseBuyer(ctx, company, eve)
			is.NoErr(err)
			found := func() (ids []uuid.UUID) {
				page, err := shop.Staff.ListOrders(ctx, company, ticketing.OrderSearch{Email: ada})
				is.NoErr(err)
				for _, order := range page.Items {
					ids = append(ids, order.ID)
				}
				return ids
			}
			problems := func() []string {
				report, err := shop.Staff.VerifyLedger(ctx, company)
				is.NoErr(err)
				return report.Problems
			}
			all := []uuid.UUID{kept, lost[1], lost[0]}
			is.Equal(found(), all)
			is.Equal(problems(), []string{})
			// A process of an earlier version has no entry for what it dispatched.
			onCompany(t, shop, func(ctx context.Context, tx driver.Tx) error {
				return tx.DeleteBuyerOrders(ctx, driver.BuyerRef{CompanyID: company, Email: ada}, numbersOf(ctx, tx, company, lost))
			})
			is.Equal(found(), all[:1])
			is.Equal(problems(), []string{fmt.Sprintf("company %s index of buyers: 2 orders are missing, the first is order "+
				"%s: a search by email does not find them until the sums of sales are rebuilt (ticketing stats rebuild)",
				company, lost[0])})
			shop.Clock.Advance(time.Second)
			sell(ada) // Its fact waits, so it needs no entry yet.
			is.Equal(len(problems()), 1)
			dispatch(t, shop)
			entries.all = nil
			_, err = shop.Staff.RebuildSales(ctx, company)
			is.NoErr(err)
			is.Equal(found()[1:], all)
			is.Equal(problems(), []string{})
			is.True(len(entries.all) >= 5)
			for _, entry := range entries.all {
				is.True(entry.Email == ada || entry.Email == "erased-"+erased.String()+"@erased.invalid")
			}
		})
	}
}

// numbersOf returns the numbers of orders.
func numbersOf(ctx context.Context, tx driver.ReadTx, companyID uuid.UUID, ids []uuid.UUID) (numbers []int64) {
	for _, id := range ids {
		if found, err := tx.Orders(ctx, []driver.OrderRef{{CompanyID: companyID, ID: id}}); err == nil {
			numbers = append(numbers, found[0].Number)
		}
	}
	return numbers
}

// entered is what was entered in the index of buyers.
type entered struct{ all []driver.BuyerOrder }

// enteringStore is a store that remembers the entries of the index of buyers.
type enteringStore struct {
	driver.Store

	entries *entered
}

func (s enteringStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error { return fn(ctx, enteringTx{tx, s.entries}) })
}

type enteringTx struct {
	driver.Tx

	entries *entered
}

func (e enteringTx) PutBuyerOrders(ctx context.Context, entries []driver.BuyerOrder) error {
	e.entries.all = append(e.entries.all, entries...)
	return e.Tx.PutBuyerOrders(ctx, entries)
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
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: smallSteps{Store: store.Open(t)}})
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
				if err := removeAll(ctx, tx, company); err != nil {
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
				events, err := shop.Staff.EventSales(ctx, company, []uuid.UUID{event, {}}, ticketing.Period{})
				is.NoErr(err)
				is.Equal(events.Items, []ticketing.SalesFigures{found.Total, found.Total})
				is.Equal(events.CompleteFrom, found.CompleteFrom)
				from = append(from, found.CompleteFrom.String())
				if len(from) == 3 {
					// Another process of the service counts what is left.
					end := running(t, mixedSender(t, shop))
					eventually(t, func() bool { return report().CompleteFrom == nil })
					end()
					continue
				}
				_, err = shop.CountSales(ctx)
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

// TestManualRemovesEntriesOfErasedBuyers runs the statement of docs/operating.md that removes what the erasure of an
// earlier version left in the index of buyers: what belongs to an order stays.
func TestManualRemovesEntriesOfErasedBuyers(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("docs/operating.md")
	is.New(t).NoErr(err)
	statement := regexp.MustCompile(`DELETE FROM ticketing_buyer_orders[^;]*`).FindString(string(manual))
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": testdb.SQLiteDSN, "postgres": testdb.DSN} {
		t.Run(name, func(t *testing.T) {
			is, address := is.New(t), dsn(t)
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: testdb.Open(t, address, nil)})
			event := shop.Event(t).ID
			shop.Inventory(t, event, "VIP", 10_00, 99)
			for range 3 {
				shop.Sell(t, event, "VIP", 1)
			}
			dispatch(t, shop)
			onCompany(t, shop, func(ctx context.Context, tx driver.Tx) error {
				return tx.PutBuyerOrders(ctx, []driver.BuyerOrder{
					{CompanyID: shop.Company.ID, Email: "old@example.com", Number: 1},
					{CompanyID: shop.Company.ID, Email: "old@example.com", Number: 3},
				})
			})
			pool := testdb.Pool(t, address)
			left := func() (entries, old int) {
				is.NoErr(pool.QueryRowContext(t.Context(), `SELECT count(*), count(CASE WHEN email = 'old@example.com' THEN 1 END)
					FROM ticketing_buyer_orders`).Scan(&entries, &old))
				return entries, old
			}
			entries, old := left()
			is.Equal([]int{entries, old}, []int{5, 2})
			_, err := pool.ExecContext(t.Context(), statement)
			is.NoErr(err)
			entries, old = left()
			is.Equal([]int{entries, old}, []int{3, 0})
		})
	}
}
