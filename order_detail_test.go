package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestOrderDetailShowsWhatWasScanned checks that an operator gets the order of Section 2.6 and, for each line, when and
// where it was scanned.
func TestOrderDetailShowsWhatWasScanned(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := sold(t, shop)
		detail, err := shop.Staff.GetOrder(t.Context(), order.ID)
		is.NoErr(err)
		is.Equal(show(t, detail.Order), show(t, order))
		is.True(detail.Ending == nil)
		is.True(detail.Lines[0].Validation == nil && detail.Lines[1].Validation == nil)

		scan := shop.Scan(t, event.ID, order.Lines[1].AdmissionID)
		detail, err = shop.Staff.GetOrder(t.Context(), order.ID)
		is.NoErr(err)
		text := show(t, detail)
		line := fmt.Sprintf(`{"id":%q,"admissionId":%q,"title":"Front row","tier":"VIP","unitPrice":{"amount":"150.00",`+
			`"currency":"NGN"},"voided":false,"validation":`, order.Lines[1].ID, order.Lines[1].AdmissionID)
		is.True(strings.Contains(text, line+fmt.Sprintf(
			`{"id":%q,"location":"Main gate","validatedAt":"2026-11-21T09:30:00.000Z"}}],"ending":null}`, scan.ID)))
		is.True(strings.Contains(text, `"object":"order"`))
		is.True(strings.Contains(text, `"companyId":"`+shop.Company.ID.String()+`"`))
		is.Equal(strings.Count(text, `"lines"`), 1)
		_, err = shop.Staff.GetOrder(t.Context(), uuid.New())
		is.Equal(said(err), "The order was not found.")
	})
}

// TestOrdersAreFoundByBuyer checks that orders are found by buyer, event and status, newest first and in pages, and
// that none belongs to another company.
func TestOrdersAreFoundByBuyer(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		one, two := shop.Event(t), shop.Event(t)
		neighbour := shop.Neighbour(t)
		var orders []ticketing.OrderDetail
		buy := func(shop *ticketingtest.Shop, event uuid.UUID, email string) ticketing.Order {
			t.Helper()
			basket := ticketingtest.Basket(event, "VIP", 10_00, 1)
			basket.Buyer.Email = email
			order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
			is.NoErr(err)
			return order
		}
		for _, event := range []uuid.UUID{one.ID, two.ID} {
			shop.Inventory(t, event, "VIP", 10_00, 20)
		}
		for i := range 12 {
			order := buy(shop, []uuid.UUID{one.ID, two.ID}[i%2],
				[]string{"Ada@Example.com", "bob@example.com", "eve@example.com"}[i%3])
			shop.Credit(t, 1) // numbers have gaps
			detail, err := shop.Staff.GetOrder(t.Context(), order.ID)
			is.NoErr(err)
			switch i % 4 {
			case 1:
				detail = refund(t, shop, order.ID)
			case 2:
				detail = cancel(t, shop, order.ID)
			}
			orders = slices.Insert(orders, 0, detail)
		}
		other := neighbour.Event(t)
		neighbour.Inventory(t, other.ID, "VIP", 10_00, 1)
		buy(neighbour, other.ID, "nia@example.com")

		for _, email := range []string{
			"", "ada@example.com", " ADA@example.com ", "eve@example.com", "nia@example.com", "nobody@example.com",
		} {
			for _, event := range []uuid.UUID{{}, one.ID, two.ID, uuid.New()} {
				for _, statuses := range [][]ticketing.OrderStatus{
					nil, {ticketing.OrderConfirmed}, {ticketing.OrderRefunded}, {ticketing.OrderCancelled, ticketing.OrderRefunded},
				} {
					var search ticketing.OrderSearch
					search.Email, search.EventID, search.Statuses = email, event, statuses
					var want []string
					for _, order := range orders {
						if (email == "" || order.Buyer.Email == strings.ToLower(strings.TrimSpace(email))) &&
							(event == uuid.Nil || order.EventID == event) &&
							(statuses == nil || slices.Contains(statuses, order.Status)) {
							want = append(want, show(t, order))
						}
					}
					for _, search.Limit = range []int{1, 3, 100} {
						var got []string
						for more := true; more; {
							page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
							is.NoErr(err)
							for _, order := range page.Items {
								got = append(got, show(t, order))
							}
							more, search.Cursor = page.HasMore, page.NextCursor
						}
						is.Equal(got, want)
					}
				}
			}
		}
		_, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, ticketing.OrderSearch{Email: "ada"})
		is.Equal(said(err), "email: must be one email address, such as ada@example.com")
		_, err = shop.Staff.ListOrders(t.Context(), uuid.New(), ticketing.OrderSearch{})
		is.Equal(code(err), ticketing.CodeNotFound)
		page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, ticketing.OrderSearch{
			OrderFilter: ticketing.OrderFilter{PageParams: ticketing.PageParams{Limit: 1}},
		})
		is.NoErr(err)
		_, err = shop.Staff.ListOrders(t.Context(), shop.Company.ID, ticketing.OrderSearch{
			OrderFilter: ticketing.OrderFilter{PageParams: ticketing.PageParams{Cursor: page.NextCursor}},
			Email:       "ada@example.com",
		})
		is.Equal(code(err), ticketing.CodeInvalidCursor)
	})
}

// TestOrdersOfABuyerLieFarApart checks that a buyer's orders are found however many other orders lie between them.
func TestOrdersOfABuyerLieFarApart(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.broken = true // These orders have no ledger entries.
		company := e.verified(t)
		numbers := []int64{1, 199_999, 200_000, 200_001, 200_002, 400_001, 999_999, 1_000_000}
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
			var orders []driver.Order
			for i, number := range numbers {
				orders = append(orders, driver.Order{
					CompanyID: company, Number: number, ID: uuid.New(), Status: ticketing.OrderConfirmed, Branding: 1,
					BuyerEmail: []string{"ada@example.com", "bob@example.com"}[i%2], ConfirmedAt: opening, CreatedAt: opening,
				})
			}
			if err := tx.AppendOrders(ctx, orders); err != nil {
				return err
			}
			if err := tx.PutBuyers(ctx, []driver.Buyer{
				{CompanyID: company, Email: "ada@example.com", CreatedAt: opening, UpdatedAt: opening},
				{CompanyID: company, Email: "bob@example.com", CreatedAt: opening, UpdatedAt: opening},
			}); err != nil {
				return err
			}
			locked, err := tx.LockWallets(ctx, []driver.WalletRef{{CompanyID: company, Wallet: ledger.Float}})
			if err != nil {
				return err
			}
			locked[0].Sequence = 1_000_000
			// They are from before the index of buyers.
			if err := tx.PutSalesProgress(ctx, uncounted(company)); err != nil {
				return err
			}
			return tx.UpdateWallets(ctx, []driver.Wallet{locked[0].Wallet})
		})
		for email, want := range map[string]int{"": 8, "ada@example.com": 4, "bob@example.com": 4} {
			for _, limit := range []int{1, 2, 3, 100} {
				seen := map[uuid.UUID]bool{}
				var search ticketing.OrderSearch
				search.Email, search.Limit = email, limit
				for more := true; more; {
					page, err := e.staff.ListOrders(t.Context(), company, search)
					is.NoErr(err)
					for _, order := range page.Items {
						is.True(!seen[order.ID] && (email == "" || order.Buyer.Email == email))
						seen[order.ID] = true
					}
					more, search.Cursor = page.HasMore, page.NextCursor
				}
				is.Equal(len(seen), want)
			}
		}
	})
}
