package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestMessages checks how many messages an operation sends to PostgreSQL with a key that was used lately, since each
// costs a round trip. The first call of each kind may send more.
func TestMessages(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	var mu sync.Mutex
	var sent []string
	db := testdb.Open(t, testdb.DSN(t), &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, statement.Name)
	}})
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: db})
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
	basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 2)
	var order ticketing.Order
	n := 0
	calls := []struct {
		name string
		call func(caller ticketing.Caller) error
		want []string
	}{
		{"checkout", func(caller ticketing.Caller) (err error) {
			order, err = shop.Checkout(t.Context(), caller, fmt.Sprintf("checkout-%d", n), basket)
			return err
		}, []string{"begin", "LockStock", "commit"}},
		{"replay", func(caller ticketing.Caller) error {
			_, err := shop.Checkout(t.Context(), caller, fmt.Sprintf("checkout-%d", n), basket)
			return err
		}, []string{"begin", "Orders", "OrderLines", "Rates", "Brandings", "rollback"}},
		{"order", func(caller ticketing.Caller) error {
			_, err := shop.GetOrder(t.Context(), caller, order.ID)
			return err
		}, []string{"Orders"}},
		{"page of orders", func(caller ticketing.Caller) error {
			_, err := shop.ListOrders(t.Context(), caller, ticketing.OrderFilter{})
			return err
		}, []string{"ListOrders"}},
		{"unknown order", func(caller ticketing.Caller) error {
			_, err := shop.GetOrder(t.Context(), caller, uuid.New())
			is.Equal(code(err), ticketing.CodeNotFound)
			return nil
		}, []string{"Orders"}},
		{"quote", func(caller ticketing.Caller) error {
			_, err := shop.Quote(t.Context(), caller, ticketing.QuoteParams{
				EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}},
			})
			return err
		}, []string{"PriceList"}},
		{"event", func(caller ticketing.Caller) error {
			_, err := shop.GetEvent(t.Context(), caller, event.ID)
			return err
		}, []string{"Events"}},
		{"validation", func(caller ticketing.Caller) error {
			_, err := shop.ValidateAdmission(t.Context(), caller, event.ID, order.Lines[0].AdmissionID,
				fmt.Sprintf("validation-%d", n), ticketing.ValidateParams{})
			return err
		}, []string{"begin", "LockAdmissions", "Orders", "Brandings", "commit"}},
	}
	for range 2 {
		n++
		for _, c := range calls {
			caller, err := shop.Identify(t.Context(), shop.APIKey)
			is.NoErr(err)
			mu.Lock()
			sent = nil
			mu.Unlock()
			is.NoErr(c.call(caller))
			mu.Lock()
			if n == 2 && !slices.Equal(sent, c.want) {
				t.Errorf("%s: %q, want %q", c.name, sent, c.want)
			}
			mu.Unlock()
		}
	}
}
