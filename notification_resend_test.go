package ticketing_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestMailIsSentAgain checks that a resent mail is a new copy, due at once, to the buyer or to another address, and
// that the audit log says so without an address.
func TestMailIsSentAgain(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		svc := mailing(t, shop, server)
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		is.Equal(sendMails(t, svc), 1)
		shop.Clock.Advance(time.Second)
		again, err := shop.Staff.ResendNotification(t.Context(), order.ID, "")
		is.NoErr(err)
		is.Equal(again.Copy, 2)
		is.Equal(again.Elsewhere, false)
		is.True(again.NextAttemptAt.Equal(shop.Clock.Now()))
		shop.Clock.Advance(time.Second)
		elsewhere, err := shop.Staff.ResendNotification(t.Context(), order.ID, " Right@Example.ORG ")
		is.NoErr(err)
		is.Equal(elsewhere.Copy, 3)
		is.Equal(elsewhere.Elsewhere, true)
		shop.Clock.Advance(time.Second)
		same, err := shop.Staff.ResendNotification(t.Context(), order.ID, strings.ToUpper(order.Buyer.Email))
		is.NoErr(err)
		is.Equal(same.Elsewhere, false) // It is the buyer's own address.
		is.Equal(sendMails(t, svc), 3)
		to := make(map[int]string)
		for _, m := range server.accepted() {
			to[m.Tickets.Copy] = m.To
		}
		is.Equal(to, map[int]string{
			1: order.Buyer.Email, 2: order.Buyer.Email, 3: "right@example.org", 4: order.Buyer.Email,
		})
		found, err := shop.Staff.GetOrder(t.Context(), order.ID)
		is.NoErr(err)
		is.Equal(found.Buyer, order.Buyer) // The order keeps its address.

		log, err := shop.Staff.ListAudit(t.Context(), shop.Company.ID, auditPage(3))
		is.NoErr(err)
		for i, want := range []string{
			`{"copy":{"before":null,"after":4},"elsewhere":{"before":null,"after":false}}`,
			`{"copy":{"before":null,"after":3},"elsewhere":{"before":null,"after":true}}`,
			`{"copy":{"before":null,"after":2},"elsewhere":{"before":null,"after":false}}`,
		} {
			is.Equal(log.Items[i].Action, "notification.resend")
			is.Equal(log.Items[i].Subject, "order "+order.ID.String())
			is.Equal(string(log.Items[i].Changes), want)
		}
	})
}

// TestResendIsRefused checks what is not sent again: an order that ended, one whose buyer was erased, one without a
// mail sender, an eleventh copy in 24 hours, a malformed address and an unknown order.
func TestResendIsRefused(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := sellable(t, shop)
		order := shop.Sell(t, event, "VIP", 1)
		resend := func(id uuid.UUID, to string) error {
			_, err := shop.Staff.ResendNotification(t.Context(), id, to)
			return err
		}
		is.True(errors.Is(resend(order.ID, ""), ticketing.CodeConflict)) // There is no sender.
		setSender(t, shop)
		for _, to := range []string{"none", "a@example.com, b@example.com", "a@example.com\r\nBcc: b@example.com"} {
			is.True(errors.Is(resend(order.ID, to), ticketing.CodeInvalidRequest))
		}
		is.True(errors.Is(resend(uuid.New(), ""), ticketing.CodeNotFound))
		is.NoErr(resend(order.ID, "")) // The first mail of an order that had none.
		for range 10 {
			is.NoErr(resend(order.ID, ""))
		}
		is.True(errors.Is(resend(order.ID, ""), ticketing.CodeConflict))
		shop.Clock.Advance(24*time.Hour - time.Millisecond)
		is.True(errors.Is(resend(order.ID, ""), ticketing.CodeConflict))
		shop.Clock.Advance(time.Millisecond)
		is.NoErr(resend(order.ID, ""))

		for _, end := range []func(id uuid.UUID) error{
			func(id uuid.UUID) error {
				_, err := shop.Staff.RefundOrder(t.Context(), id, ticketing.RefundParams{Reason: "ill"})
				return err
			},
			func(id uuid.UUID) error {
				_, err := shop.Staff.CancelOrder(t.Context(), id, "twice")
				return err
			},
		} {
			ended := shop.Sell(t, event, "VIP", 1)
			is.NoErr(end(ended.ID))
			is.True(errors.Is(resend(ended.ID, ""), ticketing.CodeConflict))
		}
		_, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, order.Buyer.Email)
		is.NoErr(err)
		is.True(errors.Is(resend(order.ID, "ada@example.com"), ticketing.CodeConflict))
	})
}

// TestResendsAtOnceHaveTheirNumbers checks that copies which are made at the same time, also beside the dispatch of the
// sale, have different numbers without gaps, and that none is lost.
func TestResendsAtOnceHaveTheirNumbers(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		svc := mailing(t, shop, server)
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		const resends = 5
		var all sync.WaitGroup
		for range resends {
			all.Go(func() {
				_, err := shop.Staff.ResendNotification(t.Context(), order.ID, "")
				is.NoErr(err)
			})
		}
		all.Go(func() { sendMails(t, svc) })
		all.Wait()
		sendMails(t, svc)
		got := copies(t, shop, order.ID)
		// The dispatch makes the first mail only if no copy was made before it.
		is.True(len(got) == resends || len(got) == resends+1)
		for i, n := range got {
			is.Equal(n.Copy, i+1)
			is.Equal(n.Status, ticketing.NotificationSent)
		}
		is.Equal(len(server.accepted()), len(got))
	})
}

// TestManyMailsAreSentAgain checks that the mails of many orders are sent again: of those whose latest mail failed, or
// of those that have none, of one event or of all, with progress. Another call finds nothing left to do.
func TestManyMailsAreSentAgain(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		server := newMailServer()
		svc := mailing(t, shop, server)
		event, other := sellable(t, shop), sellable(t, shop)
		var missing []ticketing.Order
		for range 7 {
			missing = append(missing, shop.Sell(t, event, "VIP", 2))
		}
		elsewhere := shop.Sell(t, other, "VIP", 1)
		refunded := shop.Sell(t, event, "VIP", 1)
		_, err := shop.Staff.RefundOrder(t.Context(), refunded.ID, ticketing.RefundParams{Reason: "ill"})
		is.NoErr(err)
		is.Equal(sendMails(t, svc), 0)
		resend := func(params ticketing.ResendParams) ticketing.ResendResult {
			t.Helper()
			var last [2]int
			params.Rate, params.Progress = 10_000, func(done, total int) { last = [2]int{done, total} }
			want, err := shop.Staff.CountResends(t.Context(), shop.Company.ID, params)
			is.NoErr(err)
			result, err := shop.Staff.ResendNotifications(t.Context(), shop.Company.ID, params)
			is.NoErr(err)
			is.Equal(result.Made, want)
			is.Equal(last, [2]int{want, want})
			return result
		}
		_, err = shop.Staff.ResendNotifications(t.Context(), shop.Company.ID, ticketing.ResendParams{Missing: true})
		is.True(errors.Is(err, ticketing.CodeConflict)) // There is no sender.
		setSender(t, shop)
		is.Equal(resend(ticketing.ResendParams{Missing: true, EventID: event}), ticketing.ResendResult{Made: 7})
		is.Equal(resend(ticketing.ResendParams{Missing: true, EventID: event}), ticketing.ResendResult{})
		is.Equal(len(copies(t, shop, elsewhere.ID)), 0)
		is.Equal(len(copies(t, shop, refunded.ID)), 0)

		server.set(func(_ context.Context, m mailed) error {
			if m.Subject == missing[0].ID.String() {
				return nil
			}
			return errMailRefused
		})
		is.Equal(sendMails(t, svc), 7)
		is.Equal(resend(ticketing.ResendParams{Failed: true, EventID: other}), ticketing.ResendResult{})
		is.Equal(resend(ticketing.ResendParams{Failed: true}), ticketing.ResendResult{Made: 6})
		is.Equal(resend(ticketing.ResendParams{Failed: true}), ticketing.ResendResult{}) // Their latest copy waits.
		server.set(nil)
		is.Equal(sendMails(t, svc), 6)
		is.Equal(resend(ticketing.ResendParams{Failed: true}), ticketing.ResendResult{})
		for i, order := range missing {
			got := copies(t, shop, order.ID)
			is.Equal(len(got), 1+min(i, 1))
			is.Equal(got[len(got)-1].Status, ticketing.NotificationSent)
		}
		is.Equal(resend(ticketing.ResendParams{Missing: true}), ticketing.ResendResult{Made: 1})

		for _, params := range []ticketing.ResendParams{
			{}, {Failed: true, Missing: true}, {Failed: true, Rate: -1}, {Failed: true, Rate: 10_001},
		} {
			_, err := shop.Staff.ResendNotifications(t.Context(), shop.Company.ID, params)
			is.True(errors.Is(err, ticketing.CodeInvalidRequest))
			_, err = shop.Staff.CountResends(t.Context(), shop.Company.ID, params)
			is.True(errors.Is(err, ticketing.CodeInvalidRequest))
		}
	})
}

// TestManyMailsInPages checks that a resend of more orders than a page reads reaches each of them once, that the end of
// the context ends it between two batches with what was done, and that another call goes on.
func TestManyMailsInPages(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
		is := is.New(t)
		const orders = 1234
		sellMany(t, shop, 1000)
		sellMany(t, shop, orders-1000)
		setSender(t, shop)
		// Nothing was dispatched with a sender: the facts are of no use here.
		dropFacts(t, shop)
		ctx, cancel := context.WithCancel(t.Context())
		first, err := shop.Staff.ResendNotifications(ctx, shop.Company.ID, ticketing.ResendParams{
			Missing: true, Rate: 1000, Progress: func(done, total int) {
				is.Equal(total, orders)
				if done >= 700 {
					cancel()
				}
			},
		})
		is.True(errors.Is(err, context.Canceled))
		is.Equal(first.Made, 700)
		began := time.Now()
		rest, err := shop.Staff.ResendNotifications(t.Context(), shop.Company.ID, ticketing.ResendParams{
			Missing: true, Rate: 100,
		})
		is.NoErr(err)
		is.Equal(rest, ticketing.ResendResult{Made: orders - 700})
		is.True(time.Since(began) >= 5*time.Second) // Ten at a time, a tenth of a second each.
		is.Equal(len(notifications(t, shop)), orders)
	})
}

// dropFacts dispatches and handles all facts of a shop without making anything of them.
func dropFacts(t testing.TB, shop *ticketingtest.Shop) {
	t.Helper()
	for {
		var taken []driver.Fact
		onCompany(t, shop, func(ctx context.Context, tx driver.Tx) error {
			var err error
			if taken, err = tx.TakeFacts(ctx, shop.Company.ID, 1000); err != nil {
				return err
			}
			if len(taken) == 0 {
				return tx.PutSalesProgress(ctx, uncounted(shop.Company.ID))
			}
			return tx.DispatchFacts(ctx, taken, true)
		})
		if len(taken) == 0 {
			return
		}
	}
}
