package ticketing_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// walk reads a list page by page to its end, and returns the ids and the sizes of the pages.
func walk[T any](
	t testing.TB, list func(ticketing.PageParams) (ticketing.Page[T], error), id func(T) uuid.UUID, limits ...int,
) (ids []uuid.UUID, sizes []int) {
	t.Helper()
	is := is.New(t)
	params := ticketing.PageParams{}
	for i := 0; ; i++ {
		params.Limit = limits[min(i, len(limits)-1)] // The limit may change between pages.
		page, err := list(params)
		is.NoErr(err)
		is.Equal(page.HasMore, page.NextCursor != "") // Section 2.2
		is.True(page.Items != nil)
		for _, item := range page.Items {
			ids = append(ids, id(item))
		}
		sizes = append(sizes, len(page.Items))
		if !page.HasMore {
			return ids, sizes
		}
		is.True(len(page.NextCursor) <= 512)
		is.Equal(strings.Trim(page.NextCursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"), "")
		params.Cursor = page.NextCursor
	}
}

func eventLister(
	t testing.TB, shop *ticketingtest.Shop, filter ticketing.EventFilter,
) func(ticketing.PageParams) (ticketing.Page[ticketing.Event], error) {
	t.Helper()
	return func(p ticketing.PageParams) (ticketing.Page[ticketing.Event], error) {
		filter.PageParams = p
		return shop.ListEvents(t.Context(), shop.Caller, filter)
	}
}

func orderLister(
	t testing.TB, shop *ticketingtest.Shop, filter ticketing.OrderFilter,
) func(ticketing.PageParams) (ticketing.Page[ticketing.Order], error) {
	t.Helper()
	return func(p ticketing.PageParams) (ticketing.Page[ticketing.Order], error) {
		filter.PageParams = p
		return shop.ListOrders(t.Context(), shop.Caller, filter)
	}
}

// having returns the filter of the orders with one of the statuses.
func having(statuses ...ticketing.OrderStatus) ticketing.OrderFilter {
	return ticketing.OrderFilter{Statuses: statuses}
}

func eventID(e ticketing.Event) uuid.UUID { return e.ID }
func orderID(o ticketing.Order) uuid.UUID { return o.ID }

// sizesOf returns the sizes of the pages that n items make.
func sizesOf(n, limit int) (sizes []int) {
	for n > limit {
		sizes, n = append(sizes, limit), n-limit
	}
	return append(sizes, n)
}

// TestEventPages checks Section 4.10: newest first, each item once, with any limit and at every border of a page.
func TestEventPages(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		_, sizes := walk(t, eventLister(t, shop, ticketing.EventFilter{}), eventID, 25)
		is.Equal(sizes, []int{0})
		const events = 51
		other := shop.Neighbour(t)
		want := make([]uuid.UUID, events)
		drafts := make([]uuid.UUID, 0, events)
		for i := range events {
			shop.Clock.Advance(time.Millisecond)
			other.Event(t)
			if i%2 == 0 {
				want[events-1-i] = shop.Event(t).ID
				continue
			}
			want[events-1-i] = shop.Event(t, ticketingtest.Draft).ID
			drafts = append([]uuid.UUID{want[events-1-i]}, drafts...)
		}
		for _, limit := range []int{1, 2, 24, 25, 26, 50, 51, 52, 100} {
			ids, sizes := walk(t, eventLister(t, shop, ticketing.EventFilter{}), eventID, limit)
			is.Equal(ids, want)
			is.Equal(sizes, sizesOf(events, limit))
		}
		ids, sizes := walk(t, eventLister(t, shop, ticketing.EventFilter{}), eventID, 0)
		is.Equal(ids, want)
		is.Equal(sizes, []int{25, 25, 1}) // The default is 25.
		ids, _ = walk(t, eventLister(t, shop, ticketing.EventFilter{}), eventID, 1, 7, 3)
		is.Equal(ids, want)
		ids, sizes = walk(t, eventLister(t, shop, ticketing.EventFilter{Status: ticketing.EventDraft}), eventID, 5)
		is.Equal(ids, drafts)
		is.Equal(sizes, []int{5, 5, 5, 5, 5})
		ids, _ = walk(t, eventLister(t, shop, ticketing.EventFilter{Status: ticketing.EventEnded}), eventID, 5)
		is.Equal(len(ids), 0)
	})
}

// TestEventsAreNewestFirstWhateverTheClock checks that events are listed newest first, even if they have the same time
// or the clock was set back. Each was created after the one before (Section 4.3).
func TestEventsAreNewestFirstWhateverTheClock(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		var made []uuid.UUID
		for i := range 20 {
			if i == 10 {
				shop.Clock.Advance(-time.Hour)
			}
			made = append(made, shop.Event(t).ID)
		}
		slices.Reverse(made)
		for _, limit := range []int{1, 3, 7, 20} {
			ids, _ := walk(t, eventLister(t, shop, ticketing.EventFilter{}), eventID, limit)
			is.Equal(ids, made)
		}
	})
}

// TestPagesHoldStillWhileTheListGrows checks that a creation or a change between two pages neither repeats nor hides an
// existing event.
func TestPagesHoldStillWhileTheListGrows(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		var want []uuid.UUID
		for range 6 {
			shop.Clock.Advance(time.Millisecond)
			want = append([]uuid.UUID{shop.Event(t).ID}, want...)
		}
		list := eventLister(t, shop, ticketing.EventFilter{})
		ids, _ := walk(t, func(p ticketing.PageParams) (ticketing.Page[ticketing.Event], error) {
			page, err := list(p)
			shop.Clock.Advance(time.Millisecond)
			shop.Event(t)
			patch(t, shop, want[5], ticketing.UpdateEventParams{Title: of("New")})
			return page, err
		}, eventID, 2)
		is.Equal(ids, want)
	})
}

// TestOrderPages checks Section 4.8: the filters of orders, and their pages.
func TestOrderPages(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		one, two, other := shop.Event(t), shop.Event(t), shop.Neighbour(t)
		foreign := other.Event(t)
		other.Inventory(t, foreign.ID, "VIP", 1_00, 1)
		foreignOrder := other.Sell(t, foreign.ID, "VIP", 1)
		shop.Inventory(t, one.ID, "VIP", 1_00, 1000)
		shop.Inventory(t, two.ID, "VIP", 1_00, 1000)
		const orders = 26
		var want, ofOne []uuid.UUID
		for i := range orders {
			event := []ticketing.Event{one, two, two}[i%3]
			id := shop.Sell(t, event.ID, "VIP", 1+i%2).ID
			want = append([]uuid.UUID{id}, want...)
			if event.ID == one.ID {
				ofOne = append([]uuid.UUID{id}, ofOne...)
			}
			shop.Credit(t, 1) // This makes gaps in the numbers of orders.
		}
		for _, limit := range []int{1, 25, 26, 27, 100} {
			ids, sizes := walk(t, orderLister(t, shop, ticketing.OrderFilter{}), orderID, limit)
			is.Equal(ids, want)
			is.Equal(sizes, sizesOf(orders, limit))
		}
		const confirmed, void, refunded = ticketing.OrderConfirmed, ticketing.OrderCancelled, ticketing.OrderRefunded
		for _, test := range []struct {
			filter ticketing.OrderFilter
			want   []uuid.UUID
		}{
			{ticketing.OrderFilter{EventID: one.ID}, ofOne},
			{ticketing.OrderFilter{EventID: foreign.ID}, nil}, // 200 with an empty page
			{ticketing.OrderFilter{EventID: uuid.New()}, nil},
			{ticketing.OrderFilter{Statuses: []ticketing.OrderStatus{confirmed}}, want},
			{ticketing.OrderFilter{Statuses: []ticketing.OrderStatus{refunded, confirmed, void}}, want},
			{ticketing.OrderFilter{Statuses: []ticketing.OrderStatus{refunded, void}}, nil},
			{ticketing.OrderFilter{EventID: one.ID, Statuses: []ticketing.OrderStatus{confirmed, void}}, ofOne},
		} {
			ids, _ := walk(t, orderLister(t, shop, test.filter), orderID, 4)
			is.Equal(ids, test.want)
		}
		_, err := shop.GetOrder(t.Context(), shop.Caller, foreignOrder.ID)
		is.Equal(code(err), ticketing.CodeNotFound)
		_, err = shop.GetOrder(t.Context(), shop.Caller, uuid.New())
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// TestPageParamsHaveBounds checks the limits of Section 8, and the values that the filters accept.
func TestPageParamsHaveBounds(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		const limit = "limit: must be from 1 to 100"
		for value, want := range map[int]string{-1: limit, 1: "", 100: "", 101: limit, 1 << 40: limit} {
			_, err := eventLister(t, shop, ticketing.EventFilter{})(ticketing.PageParams{Limit: value})
			is.New(t).Equal(said(err), want)
			_, err = orderLister(t, shop, ticketing.OrderFilter{})(ticketing.PageParams{Limit: value})
			is.New(t).Equal(said(err), want)
		}
		for status, want := range map[ticketing.EventStatus]string{
			"DRAFT": "", "PUBLISHED": "", "ENDED": "", "CANCELLED": "",
			"draft":       "status: must be DRAFT, PUBLISHED, ENDED or CANCELLED",
			"DRAFT,ENDED": "status: must be DRAFT, PUBLISHED, ENDED or CANCELLED",
		} {
			_, err := eventLister(t, shop, ticketing.EventFilter{Status: status})(ticketing.PageParams{})
			is.New(t).Equal(said(err), want)
		}
		for statuses, want := range map[string]string{
			"CONFIRMED CANCELLED REFUNDED": "", "PENDING": "status: must be of CONFIRMED, CANCELLED and REFUNDED",
			"confirmed":           "status: must be of CONFIRMED, CANCELLED and REFUNDED",
			"CONFIRMED CONFIRMED": "status: names CONFIRMED twice",
		} {
			var filter ticketing.OrderFilter
			for status := range strings.FieldsSeq(statuses) {
				filter.Statuses = append(filter.Statuses, ticketing.OrderStatus(status))
			}
			_, err := orderLister(t, shop, filter)(ticketing.PageParams{})
			is.New(t).Equal(said(err), want)
		}
	})
}

// TestCursorsBelongToTheirListing checks Section 4.10: a cursor is valid only for its resource, filter and company.
func TestCursorsBelongToTheirListing(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, second := shop.Event(t), shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1_00, 10)
		shop.Sell(t, event.ID, "VIP", 1)
		shop.Sell(t, event.ID, "VIP", 1)
		first := ticketing.PageParams{Limit: 1}
		const confirmed, refunded = ticketing.OrderConfirmed, ticketing.OrderRefunded
		next := func(page any, err error) string {
			is.NoErr(err)
			switch page := page.(type) {
			case ticketing.Page[ticketing.Event]:
				return page.NextCursor
			case ticketing.Page[ticketing.Order]:
				return page.NextCursor
			default:
				return ""
			}
		}
		cursors := map[string]string{}
		add := func(name string, page any, err error) { cursors[name] = next(page, err) }
		page, err := eventLister(t, shop, ticketing.EventFilter{})(first)
		add("events", page, err)
		page, err = eventLister(t, shop, ticketing.EventFilter{Status: ticketing.EventPublished})(first)
		add("published events", page, err)
		orders, err := orderLister(t, shop, ticketing.OrderFilter{})(first)
		add("orders", orders, err)
		orders, err = orderLister(t, shop, ticketing.OrderFilter{EventID: event.ID})(first)
		add("orders of an event", orders, err)
		orders, err = orderLister(t, shop, having(confirmed))(first)
		add("confirmed orders", orders, err)
		orders, err = orderLister(t, shop, having(confirmed, refunded))(first)
		add("confirmed and refunded orders", orders, err)

		other := shop.Neighbour(t)
		use := map[string]func(cursor string) error{
			"events": func(c string) error {
				_, err := eventLister(t, shop, ticketing.EventFilter{})(ticketing.PageParams{Cursor: c})
				return err
			},
			"published events": func(c string) error {
				published := ticketing.EventFilter{Status: ticketing.EventPublished}
				_, err := eventLister(t, shop, published)(ticketing.PageParams{Cursor: c, Limit: 100})
				return err
			},
			"drafts": func(c string) error {
				_, err := eventLister(t, shop, ticketing.EventFilter{Status: ticketing.EventDraft})(ticketing.PageParams{Cursor: c})
				return err
			},
			"orders": func(c string) error {
				_, err := orderLister(t, shop, ticketing.OrderFilter{})(ticketing.PageParams{Cursor: c})
				return err
			},
			"orders of an event": func(c string) error {
				_, err := orderLister(t, shop, ticketing.OrderFilter{EventID: event.ID})(ticketing.PageParams{Cursor: c})
				return err
			},
			"orders of another event": func(c string) error {
				_, err := orderLister(t, shop, ticketing.OrderFilter{EventID: second.ID})(ticketing.PageParams{Cursor: c})
				return err
			},
			"confirmed orders": func(c string) error {
				_, err := orderLister(t, shop, having(confirmed))(ticketing.PageParams{Cursor: c})
				return err
			},
			"confirmed and refunded orders": func(c string) error { // the same filter in another order
				_, err := orderLister(t, shop, having(refunded, confirmed))(ticketing.PageParams{Cursor: c})
				return err
			},
			"events of another company": func(c string) error {
				_, err := eventLister(t, other, ticketing.EventFilter{})(ticketing.PageParams{Cursor: c})
				return err
			},
			"orders of another company": func(c string) error {
				_, err := orderLister(t, other, ticketing.OrderFilter{})(ticketing.PageParams{Cursor: c})
				return err
			},
		}
		for from, cursor := range cursors {
			for to, list := range use {
				want := ticketing.CodeInvalidCursor
				if from == to {
					want = ""
				}
				if got := code(list(cursor)); got != want {
					t.Errorf("a cursor of %s for %s: %q", from, to, got)
				}
			}
		}
		// A malformed cursor is refused without any detail.
		good := cursors["orders"]
		position, err := base64.RawURLEncoding.DecodeString(good)
		is.NoErr(err)
		negative := append([]byte(nil), position...)
		for i := len(negative) - 8; i < len(negative); i++ {
			negative[i] = 0xff
		}
		zero := append(append([]byte(nil), position[:len(position)-8]...), make([]byte, 8)...)
		for name, cursor := range map[string]string{
			"blank": " ", "padded": good + "=", "cut": good[:len(good)-1], "longer": good + "A",
			"too long":            strings.Repeat("A", 513),
			"of another alphabet": strings.Repeat("+", len(good)), "of nothing": strings.Repeat("A", len(good)),
			"with a line break": good[:4] + "\n" + good[4:],
			"before the first":  base64.RawURLEncoding.EncodeToString(zero),
			"negative":          base64.RawURLEncoding.EncodeToString(negative),
		} {
			for _, list := range []string{"orders", "events"} {
				if got := code(use[list](cursor)); got != ticketing.CodeInvalidCursor {
					t.Errorf("a cursor %s for %s: %q", name, list, got)
				}
			}
		}
	})
}
