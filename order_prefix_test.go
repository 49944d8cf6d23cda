package ticketing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestOrdersByTheBeginningOfAnEmail checks that the orders of all buyers whose email begins with a text are listed,
// newest first and page by page, whether the index has them or not, and that too short a text is refused.
func TestOrdersByTheBeginningOfAnEmail(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 5_000_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		ids := map[string][]uuid.UUID{} // by the first letter, newest first
		for i := range 30 {
			if i == 20 {
				dispatch(t, shop)
			}
			shop.Clock.Advance(time.Second)
			begin := []string{"ada", "bayo"}[i%3/2]
			basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
			basket.Buyer.Email = fmt.Sprintf("%s-%d@example.com", begin, i%7)
			order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
			is.NoErr(err)
			ids[begin] = slices.Insert(ids[begin], 0, order.ID)
		}
		find := func(search ticketing.OrderSearch) (found []uuid.UUID) {
			for {
				page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
				is.NoErr(err)
				for _, order := range page.Items {
					found = append(found, order.ID)
				}
				if !page.HasMore {
					return found
				}
				search.Cursor = page.NextCursor
			}
		}
		for begin, want := range ids {
			for _, limit := range []int{1, 4, 100} {
				search := ticketing.OrderSearch{EmailPrefix: " " + strings.ToUpper(begin)}
				search.Limit = limit
				is.Equal(find(search), want) // limit
			}
			search := ticketing.OrderSearch{EmailPrefix: begin}
			search.Limit = 3
			exported, err := shop.Staff.ExportOrders(t.Context(), shop.Company.ID, search)
			is.NoErr(err)
			is.Equal(len(exported.Items), 3)
			is.Equal(exported.Items[2].ID, want[2])
		}
		is.Equal(len(find(ticketing.OrderSearch{EmailPrefix: "ada-1@example.comx"})), 0)
		is.Equal(len(find(ticketing.OrderSearch{EmailPrefix: "a%"})), 0)

		refused := func(search ticketing.OrderSearch, want string) {
			t.Helper()
			_, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
			is.Equal(said(err), want)
		}
		refused(ticketing.OrderSearch{Email: "ada@example.com", EmailPrefix: "a"},
			"emailPrefix: must not be sent beside email")
		page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, ticketing.OrderSearch{
			EmailPrefix: "ada", OrderFilter: ticketing.OrderFilter{PageParams: ticketing.PageParams{Limit: 1}},
		})
		is.NoErr(err)
		other := ticketing.OrderSearch{EmailPrefix: "bayo"}
		other.Cursor = page.NextCursor
		_, err = shop.Staff.ListOrders(t.Context(), shop.Company.ID, other)
		is.Equal(code(err), ticketing.CodeInvalidCursor)

		for i := range ticketing.MaxPrefixBuyers + 1 {
			basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
			basket.Buyer.Email = fmt.Sprintf("many-%d@example.com", i)
			_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
			is.NoErr(err)
			if i == ticketing.MaxPrefixBuyers-1 {
				is.Equal(len(find(ticketing.OrderSearch{EmailPrefix: "many"})), ticketing.MaxPrefixBuyers)
			}
		}
		refused(ticketing.OrderSearch{EmailPrefix: "many"},
			"emailPrefix: is the beginning of more than 20 emails; send more of it")
	})
}

// TestFileByTheBeginningOfAnEmailGoesOn checks that a file of the most buyers has all their orders, although another
// buyer comes before its end, and that a file which begins then is refused.
func TestFileByTheBeginningOfAnEmailGoesOn(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is, event := is.New(t), shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		buy := func(email string) uuid.UUID {
			basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
			basket.Buyer.Email = email
			order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
			is.NoErr(err)
			return order.ID
		}
		// The buyer whose email comes last has the oldest order, which is the last of the file.
		want := []uuid.UUID{}
		for i := range ticketing.MaxPrefixBuyers {
			want = slices.Insert(want, 0, buy(fmt.Sprintf("ada-%02d@example.com", 90-i)))
		}
		search := ticketing.OrderSearch{EmailPrefix: "ada"}
		search.Limit = 8
		found := []uuid.UUID{}
		for page := 0; ; page++ {
			exported, err := shop.Staff.ExportOrders(t.Context(), shop.Company.ID, search)
			is.NoErr(err)
			for _, order := range exported.Items {
				found = append(found, order.ID)
			}
			if !exported.HasMore {
				break
			}
			buy(fmt.Sprintf("ada-%02d@example.com", page)) // It comes before all others.
			search.Cursor = exported.NextCursor
		}
		is.Equal(found, want)
		search.Cursor = ""
		_, err := shop.Staff.ExportOrders(t.Context(), shop.Company.ID, search)
		is.Equal(said(err), "emailPrefix: is the beginning of more than 20 emails; send more of it")
	})
}
