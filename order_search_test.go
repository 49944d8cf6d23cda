package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestOrdersOfABuyerAreFoundWhereTheIndexEnds checks that the orders of a buyer are found whether their facts are
// dispatched or wait, also where so many were sold since that the place of the oldest fact is only found roughly.
func TestOrdersOfABuyerAreFoundWhereTheIndexEnds(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 1_00, 1000)
	shop.Inventory(t, event.ID, "VIP", 1_00, 1000)
	const before, since = 900, 700 // The index is only known to a few hundred orders.
	var want []uuid.UUID           // newest first
	for i := range before + since {
		if i == before {
			dispatch(t, shop)
		}
		shop.Clock.Advance(time.Second)
		basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
		basket.Buyer.Email = fmt.Sprintf("buyer-%d@example.com", i)
		if i%50 == 0 || max(i-before, before-i) < 5 {
			basket.Buyer.Email = "ada@example.com"
		}
		order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
		is.NoErr(err)
		if basket.Buyer.Email == "ada@example.com" {
			want = slices.Insert(want, 0, order.ID)
		}
	}
	found := func(search ticketing.OrderSearch) (ids []uuid.UUID) {
		search.Email = "ada@example.com"
		for {
			page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
			is.NoErr(err)
			for _, order := range page.Items {
				ids = append(ids, order.ID)
			}
			if !page.HasMore {
				return ids
			}
			search.Cursor = page.NextCursor
		}
	}
	for _, limit := range []int{1, 7, ticketing.MaxPageLimit} {
		search := ticketing.OrderSearch{}
		search.Limit = limit
		is.Equal(found(search), want) // limit
	}
	preview, err := shop.Staff.PreviewErasure(t.Context(), shop.Company.ID, "ada@example.com")
	is.NoErr(err)
	is.Equal(preview.Orders, len(want))
}

// grow appends entries of no order to the FLOAT chain of a company, each at a time after that of the one before.
func grow(t *testing.T, shop *ticketingtest.Shop, store driver.Store, length int, after time.Duration) {
	t.Helper()
	is.New(t).NoErr(appendFundings(t.Context(), store, shop.Company.ID, length,
		func(head ledger.Head) time.Time { return head.At.Add(after) }))
	shop.Clock.Advance(time.Duration(length) * after)
}

// appendFundings appends entries to the FLOAT chain of a company that belong to nothing, each at the time that the
// function returns for the head before it.
func appendFundings(
	ctx context.Context, store driver.Store, company uuid.UUID, length int, at func(ledger.Head) time.Time,
) error {
	return store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}}); err != nil {
			return err
		}
		locked, err := tx.LockWallets(ctx, driver.WalletRefs(company)[:1])
		if err != nil {
			return err
		}
		float := locked[0].Wallet
		head := float.Head()
		entries := make([]ledger.Entry, length)
		for i := range entries {
			if entries[i], head, err = head.Append(ledger.FloatCredit, 1, "reference", at(head)); err != nil {
				return err
			}
		}
		float.Sequence, float.Balance, float.Hash, float.LastAt = head.Sequence, head.Balance, head.Hash, head.At
		if err := tx.AppendEntries(ctx, entries); err != nil {
			return err
		}
		return tx.UpdateWallets(ctx, []driver.Wallet{float})
	})
}

// sellToAda sells a ticket to ada@example.com and returns the id of the order.
func sellToAda(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) uuid.UUID {
	t.Helper()
	basket := ticketingtest.Basket(event, "VIP", 1_00, 1)
	basket.Buyer.Email = "ada@example.com"
	order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
	is.New(t).NoErr(err)
	return order.ID
}

// TestOrdersOfABuyerReadFewEntries checks that a search for a buyer's orders reads few entries of a long chain to find
// how far the index goes: a handful while the oldest fact that waits is recent, whatever the length of the chain.
func TestOrdersOfABuyerReadFewEntries(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	is := is.New(t)
	counted := &countingReads{Store: memory.New()}
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: counted})
	shop.BooksAreBroken()
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 1_00, 10)
	dispatch(t, shop)
	grow(t, shop, counted, 100_000, time.Millisecond)
	order := sellToAda(t, shop, event.ID) // Its fact waits, and is the oldest.
	find := func(calls, entries int64) {
		t.Helper()
		counted.calls.Store(0)
		counted.entries.Store(0)
		page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, ticketing.OrderSearch{Email: "ada@example.com"})
		is.NoErr(err)
		is.Equal(len(page.Items), 1)
		is.Equal(page.Items[0].ID, order)
		is.True(counted.calls.Load() <= calls)     // statements
		is.True(counted.entries.Load() <= entries) // entries that they read
	}
	find(1, 5)
	grow(t, shop, counted, 3_000, time.Millisecond)
	find(2, 80)
	grow(t, shop, counted, 40_000, time.Millisecond)
	find(4, 200)
}

// TestOrdersOfABuyerAreFoundHoweverFarBack checks that a buyer's orders are found where the oldest fact that waits is
// at any distance from the end of the chain, also among entries of the same time and at the beginning of the chain.
func TestOrdersOfABuyerAreFoundHoweverFarBack(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	for _, before := range []int{0, 700} {
		for _, after := range []time.Duration{0, time.Millisecond} {
			t.Run(fmt.Sprint(before, " before, each ", after), func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				store := memory.New()
				shop := ticketingtest.New(t, &ticketingtest.Config{Store: store})
				shop.BooksAreBroken()
				event := shop.Event(t)
				shop.Inventory(t, event.ID, "VIP", 1_00, 10)
				indexed := sellToAda(t, shop, event.ID)
				grow(t, shop, store, before, after)
				dispatch(t, shop)
				waits := sellToAda(t, shop, event.ID)
				back := 0
				for _, next := range []int{0, 1, 510, 511, 512, 513, 1023, 1024, 1025, 8191, 8192, 8193, 20_000} {
					grow(t, shop, store, next-back, after)
					back = next
					found, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID,
						ticketing.OrderSearch{Email: "ada@example.com"})
					is.NoErr(err)
					is.Equal(len(found.Items), 2) // back
					is.Equal(found.Items[0].ID, waits)
					is.Equal(found.Items[1].ID, indexed)
				}
			})
		}
	}
}
