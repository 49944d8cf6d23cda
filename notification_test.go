package ticketing_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestSaleIsNotifiedOnce checks that each sale gets one notification where the platform has a sender at the moment of
// the dispatch, and none where it has not (section 1, item 7). The mail has the order, the event and the sender, and
// goes to the buyer.
func TestSaleIsNotifiedOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		server := newMailServer()
		svc := mailing(t, shop, server)
		event := sellable(t, shop)
		before := shop.Sell(t, event, "VIP", 1)
		is.Equal(sendMails(t, svc), 0) // There is no sender.
		is.Equal(len(copies(t, shop, before.ID)), 0)

		sender := setSender(t, shop)
		order := shop.Sell(t, event, "VIP", 2)
		shop.Scan(t, event, order.Lines[0].AdmissionID) // A validation notifies nobody.
		is.Equal(sendMails(t, svc), 1)
		is.Equal(sendMails(t, svc), 0)
		got := server.accepted()
		is.Equal(len(got), 1)
		is.Equal(got[0].To, order.Buyer.Email)
		is.Equal(show(t, got[0].Tickets.Order), show(t, order))
		is.Equal(got[0].Tickets.Event.ID, event)
		is.Equal(got[0].Tickets.Sender, sender)
		is.Equal(got[0].Tickets.Copy, 1)
		is.True(got[0].Tickets.At.Equal(shop.Clock.Now()))

		now := ticketing.Time{Time: shop.Clock.Now()}
		is.Equal(copies(t, shop, order.ID), []ticketing.Notification{{
			OrderID: order.ID, CompanyID: shop.Company.ID, Copy: 1, Kind: ticketing.FactTicketEmail,
			Status: ticketing.NotificationSent, Attempts: 1, SentAt: &now, CreatedAt: now,
			Log: []ticketing.NotificationAttempt{{At: now}},
		}})
		is.Equal(len(copies(t, shop, before.ID)), 0) // Orders of before get no mail by themselves.

		_, err := shop.Staff.RemoveMailSender(t.Context())
		is.NoErr(err)
		late := shop.Sell(t, event, "VIP", 1)
		is.Equal(sendMails(t, svc), 0)
		is.Equal(len(copies(t, shop, late.ID)), 0)
	})
}

// TestAnyProcessNotifies checks that notifications do not depend on who dispatches a fact: a process without a mailer
// and without OnFact makes them, and leaves them to others.
func TestAnyProcessNotifies(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		in := newInbox(shop.Clock.Now)
		in.register(t, shop, ticketing.FactOrderCreated)
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		is.Equal(send(t, sender(t, shop, in)), 1) // It makes the webhook of the sale as well.
		got := copies(t, shop, order.ID)
		is.Equal(len(got), 1)
		is.Equal(got[0].Status, ticketing.NotificationPending)
		is.True(got[0].NextAttemptAt.Equal(shop.Clock.Now()))

		server := newMailServer()
		is.Equal(sendMails(t, mailing(t, shop, server)), 1)
		is.Equal(len(server.accepted()), 1)
	})
}

// TestEndedOrderIsNotMailed checks that what was not sent before its order was refunded or cancelled, or its buyer
// erased, is CANCELLED with the reason: whether the order ends before the dispatch or between the dispatch and the
// mail. What was sent stays SENT.
func TestEndedOrderIsNotMailed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, reason string
		end          func(t *testing.T, shop *ticketingtest.Shop, order ticketing.Order) error
	}{
		{"refund", "the order was refunded", func(t *testing.T, shop *ticketingtest.Shop, order ticketing.Order) error {
			t.Helper()
			_, err := shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: "ill"})
			return err
		}},
		{"cancel", "the order was cancelled", func(t *testing.T, shop *ticketingtest.Shop, order ticketing.Order) error {
			t.Helper()
			_, err := shop.Staff.CancelOrder(t.Context(), order.ID, "twice")
			return err
		}},
		{"erase", "the buyer was erased", func(t *testing.T, shop *ticketingtest.Shop, order ticketing.Order) error {
			t.Helper()
			_, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, order.Buyer.Email)
			return err
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
				is := is.New(t)
				setSender(t, shop)
				server := newMailServer()
				svc := mailing(t, shop, server)
				event := sellable(t, shop)
				sent := shop.Sell(t, event, "VIP", 1)
				is.Equal(sendMails(t, svc), 1)
				dispatched := shop.Sell(t, event, "VIP", 1)
				work, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- shop.Run(work) }()
				eventually(t, func() bool { return len(copies(t, shop, dispatched.ID)) == 1 })
				stop()
				is.NoErr(<-ended)
				fresh := shop.Sell(t, event, "VIP", 1)
				for _, order := range []ticketing.Order{sent, dispatched, fresh} {
					is.NoErr(row.end(t, shop, order))
				}
				is.Equal(sendMails(t, svc), 0)
				is.Equal(len(server.accepted()), 1)
				is.Equal(copies(t, shop, sent.ID)[0].Status, ticketing.NotificationSent)
				for _, order := range []ticketing.Order{dispatched, fresh} {
					got := copies(t, shop, order.ID)
					is.Equal(len(got), 1)
					is.Equal(got[0].Status, ticketing.NotificationCancelled)
					is.Equal(text(got[0].LastError), row.reason)
					is.Equal(got[0].NextAttemptAt, nil)
				}
			})
		})
	}
}

// TestErasureRemovesAddressesOfCopies checks that the erasure of a buyer empties the addresses that copies of their
// mails went to, also of those that were sent.
func TestErasureRemovesAddressesOfCopies(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		svc := mailing(t, shop, server)
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		is.Equal(sendMails(t, svc), 1)
		_, err := shop.Staff.ResendNotification(t.Context(), order.ID, "friend@example.org")
		is.NoErr(err)
		is.Equal(sendMails(t, svc), 1)
		waiting, err := shop.Staff.ResendNotification(t.Context(), order.ID, "other@example.org")
		is.NoErr(err)
		is.True(waiting.Elsewhere)
		is.Equal(server.accepted()[1].To, "friend@example.org")

		_, err = shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, order.Buyer.Email)
		is.NoErr(err)
		is.Equal(sendMails(t, svc), 0)
		for _, n := range notifications(t, shop) {
			is.Equal(n.Recipient, "")
		}
		got := copies(t, shop, order.ID)
		is.Equal([]ticketing.NotificationStatus{got[0].Status, got[1].Status, got[2].Status}, []ticketing.NotificationStatus{
			ticketing.NotificationSent, ticketing.NotificationSent, ticketing.NotificationCancelled,
		})
	})
}

// TestMailSaysWhatHoldsWhenItIsSent checks that a mail has the event and the sender as they are when it is sent, and
// the branding of the sale (section 2.7). A suspended company's buyers get their tickets: the sale happened.
func TestMailSaysWhatHoldsWhenItIsSent(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		svc := mailing(t, shop, server)
		event := sellable(t, shop)
		order := shop.Sell(t, event, "VIP", 1)
		// The notification is made before the changes, by another process. A fact is published after that.
		shop.Work(t)
		_, err := shop.Facts.Wait(t.Context(), 3)
		is.NoErr(err)
		_, err = shop.Staff.UpdateBranding(t.Context(), shop.Company.ID,
			ticketing.UpdateBrandingParams{BrandName: of("New")})
		is.NoErr(err)
		patch(t, shop, event, ticketing.UpdateEventParams{Venue: of("Another hall")})
		_, err = shop.Staff.SetMailSender(t.Context(), ticketing.MailSenderParams{Address: "new@example.net", Name: "New"})
		is.NoErr(err)
		_, err = shop.Staff.SuspendCompany(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.Equal(sendMails(t, svc), 1)
		got := server.accepted()[0].Tickets
		is.Equal(got.Order.Branding, order.Branding)
		is.Equal(text(got.Event.Location.Venue), "Another hall")
		is.Equal(got.Sender.Address, "new@example.net")
	})
}

// TestNotificationsAreListed checks that the list of a company's notifications is newest order first and the latest
// copy first, without logs, by pages, and by each filter. A cursor is good for its filter alone.
func TestNotificationsAreListed(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		svc := mailing(t, shop, server)
		event, other := sellable(t, shop), sellable(t, shop)
		first := shop.Sell(t, event, "VIP", 1)
		is.Equal(sendMails(t, svc), 1)
		shop.Clock.Advance(time.Hour)
		noon := shop.Clock.Now()
		server.set(always(errMailRefused))
		second := shop.Sell(t, other, "VIP", 1)
		is.Equal(sendMails(t, svc), 1)
		_, err := shop.Staff.ResendNotification(t.Context(), first.ID, "")
		is.NoErr(err)
		neighbour := shop.Neighbour(t)
		neighbour.Sell(t, sellable(t, neighbour), "VIP", 1)
		neighbour.Work(t)

		list := func(
			filter ticketing.NotificationFilter, params ticketing.PageParams,
		) ticketing.Page[ticketing.Notification] {
			page, err := shop.Staff.ListNotifications(t.Context(), shop.Company.ID, filter, params)
			is.NoErr(err)
			return page
		}
		names := func(filter ticketing.NotificationFilter) string {
			var b strings.Builder
			for params := (ticketing.PageParams{Limit: 1}); ; {
				page := list(filter, params)
				for _, n := range page.Items {
					is.Equal(n.Log, nil)
					b.WriteString(map[uuid.UUID]string{first.ID: "first", second.ID: "second"}[n.OrderID])
					b.WriteString([]string{"", "1", "2"}[n.Copy] + " ")
				}
				if params.Cursor = page.NextCursor; !page.HasMore {
					return b.String()
				}
			}
		}
		is.Equal(names(ticketing.NotificationFilter{}), "second1 first2 first1 ")
		is.Equal(names(ticketing.NotificationFilter{OrderID: first.ID}), "first2 first1 ")
		is.Equal(names(ticketing.NotificationFilter{EventID: other}), "second1 ")
		is.Equal(names(ticketing.NotificationFilter{Status: ticketing.NotificationFailed}), "second1 ")
		is.Equal(names(ticketing.NotificationFilter{Status: ticketing.NotificationPending}), "first2 ")
		is.Equal(names(ticketing.NotificationFilter{Since: noon}), "second1 first2 ")
		is.Equal(names(ticketing.NotificationFilter{Until: noon}), "first1 ")

		ask := func(filter ticketing.NotificationFilter, params ticketing.PageParams) error {
			_, err := shop.Staff.ListNotifications(t.Context(), shop.Company.ID, filter, params)
			return err
		}
		cursor := list(ticketing.NotificationFilter{}, ticketing.PageParams{Limit: 1}).NextCursor
		is.True(errors.Is(ask(ticketing.NotificationFilter{EventID: event}, ticketing.PageParams{Cursor: cursor}),
			ticketing.CodeInvalidCursor))
		is.True(errors.Is(ask(ticketing.NotificationFilter{Status: "LOST"}, ticketing.PageParams{}),
			ticketing.CodeInvalidRequest))
		is.True(errors.Is(ask(ticketing.NotificationFilter{Since: noon, Until: noon}, ticketing.PageParams{}),
			ticketing.CodeInvalidRequest))
		is.True(errors.Is(ask(ticketing.NotificationFilter{OrderID: uuid.New()}, ticketing.PageParams{}),
			ticketing.CodeNotFound))
		_, err = shop.Staff.GetNotifications(t.Context(), uuid.New())
		is.True(errors.Is(err, ticketing.CodeNotFound))
	})
}

// TestCompanySeesItsNotificationsAlone checks that an administrator reads and sends again what is of their company, and
// finds the orders of another company absent. A viewer sends nothing.
func TestCompanySeesItsNotificationsAlone(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		neighbour := shop.Neighbour(t)
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		as := func(company uuid.UUID, permissions ...ticketing.Permission) ticketing.Operator {
			return shop.As(ticketing.Actor{Name: "Ada", CompanyID: company, Permissions: permissions})
		}
		both := []ticketing.Permission{ticketing.PermissionNotificationRead, ticketing.PermissionNotificationResend}
		_, err := as(shop.Company.ID, both...).ResendNotification(t.Context(), order.ID, "")
		is.NoErr(err)
		_, err = as(neighbour.Company.ID, both...).ResendNotification(t.Context(), order.ID, "")
		is.True(errors.Is(err, ticketing.CodeNotFound))
		_, err = as(neighbour.Company.ID, both...).GetNotifications(t.Context(), order.ID)
		is.True(errors.Is(err, ticketing.CodeNotFound))
		_, err = as(shop.Company.ID, both[0]).ResendNotification(t.Context(), order.ID, "")
		is.True(errors.Is(err, ticketing.CodePermissionDenied))
		page, err := as(shop.Company.ID, both[0]).ListNotifications(t.Context(), shop.Company.ID,
			ticketing.NotificationFilter{}, ticketing.PageParams{})
		is.NoErr(err)
		is.Equal(len(page.Items), 1)
	})
}

// TestPreviewSendsNothing checks that a preview renders the mail of an order as it would be sent now and keeps nothing,
// with or without a mail sender.
func TestPreviewSendsNothing(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		server := newMailServer()
		svc := mailing(t, shop, nil, func(c *ticketing.Config) { c.Mailer, c.MailRenderer = nil, server })
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		got, err := svc.As(ticketing.Staff("ada")).PreviewNotification(t.Context(), order.ID)
		is.NoErr(err)
		is.Equal(got.To, order.Buyer.Email)
		is.Equal(len(copies(t, shop, order.ID)), 0)
		is.Equal(len(server.accepted()), 0)
		_, err = shop.Staff.PreviewNotification(t.Context(), order.ID)
		is.True(errors.Is(err, ticketing.CodeConflict)) // The shop's own service renders nothing.
	})
}

// TestNotificationsArePruned checks that final notifications are removed after Config.MailRetention and pending ones
// stay, and that an order whose notification was removed does not count as missing one.
func TestNotificationsArePruned(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		svc := mailing(t, shop, server, func(c *ticketing.Config) { c.MailRetention = 24 * time.Hour })
		event := sellable(t, shop)
		old := shop.Sell(t, event, "VIP", 1)
		is.Equal(sendMails(t, svc), 1)
		shop.Clock.Advance(23 * time.Hour)
		recent := shop.Sell(t, event, "VIP", 1)
		is.Equal(sendMails(t, svc), 1)
		shop.Clock.Advance(time.Hour + time.Millisecond)
		end := running(t, svc)
		eventually(t, func() bool { return len(copies(t, shop, old.ID)) == 0 })
		end()
		is.Equal(len(copies(t, shop, recent.ID)), 1)
		missing, err := shop.Staff.CountResends(t.Context(), shop.Company.ID, ticketing.ResendParams{Missing: true})
		is.NoErr(err)
		is.Equal(missing, 0)

		// The number of the first mail is not used again: mail servers drop a second mail with its message id.
		again, err := shop.Staff.ResendNotification(t.Context(), old.ID, "")
		is.NoErr(err)
		is.True(again.Copy > 1)
		more, err := shop.Staff.ResendNotification(t.Context(), old.ID, "")
		is.NoErr(err)
		is.Equal(more.Copy, again.Copy+1)
	})
}

// TestExtraSenderVersionChangesNothing checks that setting the same mail sender again appends no version, and that the
// last version holds.
func TestExtraSenderVersionChangesNothing(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		version := func() (found driver.MailSender) {
			is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
				var err error
				found, err = tx.MailSender(ctx)
				return err
			}))
			return found
		}
		_, err := e.staff.GetMailSender(t.Context())
		is.True(errors.Is(err, ticketing.CodeNotFound))
		_, err = e.staff.RemoveMailSender(t.Context())
		is.True(errors.Is(err, ticketing.CodeNotFound))
		params := ticketing.MailSenderParams{Address: " Tickets@Example.com ", Name: " Floatgate ", Bounces: "b@example.com"}
		set, err := e.staff.SetMailSender(t.Context(), params)
		is.NoErr(err)
		is.Equal(show(t, set), `{"from":"tickets@example.com","name":"Floatgate","bounces":"b@example.com","since":"`+
			ticketing.Time{Time: e.clock.now()}.String()+`"}`)
		e.clock.advance(time.Hour)
		again, err := e.staff.SetMailSender(t.Context(), params)
		is.NoErr(err)
		is.Equal(again, set)
		is.Equal(version().Version, int64(1))
		removed, err := e.staff.RemoveMailSender(t.Context())
		is.NoErr(err)
		is.Equal(removed, set)
		is.Equal(version().Version, int64(2))
		_, err = e.staff.GetMailSender(t.Context())
		is.True(errors.Is(err, ticketing.CodeNotFound))
		_, err = e.staff.SampleTicketMail(t.Context(), uuid.Nil)
		is.True(errors.Is(err, ticketing.CodeNotFound))

		log, err := e.staff.ListAudit(t.Context(), uuid.Nil, ticketing.AuditFilter{})
		is.NoErr(err)
		is.Equal(len(log.Items), 2) // The repetition is not audited.
		is.Equal(log.Items[0].Action, "mail_sender.remove")
		is.Equal(log.Items[1].Action, "mail_sender.set")
		for _, row := range []ticketing.MailSenderParams{
			{Address: "", Name: "N"},
			{Address: "no address", Name: "N"},
			{Address: "a@example.com"},
			{Address: "a@example.com", Name: "N\r\nBcc: x"},
			{Address: "a@example.com", Name: strings.Repeat("n", 101)},
			{Address: "a@example.com", Name: "N", Bounces: "b"},
			{Address: strings.Repeat("a", 250) + "@b.co", Name: "N"},
		} {
			_, err := e.staff.SetMailSender(t.Context(), row)
			is.True(errors.Is(err, ticketing.CodeInvalidRequest))
		}
	})
}

// TestPreviewOfTheTicketMailIsInTheBrandingOfNow checks that a company's people see a sample in their branding, whether
// the platform has a mail sender or not.
func TestPreviewOfTheTicketMailIsInTheBrandingOfNow(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		svc := mailing(t, shop, nil, func(c *ticketing.Config) { c.Mailer, c.MailRenderer = nil, mail.NewRenderer() })
		reader := svc.As(ticketing.Actor{
			Name: "ada", CompanyID: shop.Company.ID, Permissions: []ticketing.Permission{ticketing.PermissionBrandingRead},
		})
		_, err := shop.Staff.UpdateBranding(t.Context(), shop.Company.ID, ticketing.UpdateBrandingParams{
			BrandName: new("Bogolan Nights"),
		})
		is.NoErr(err)
		made, err := reader.PreviewTicketMail(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.True(strings.Contains(made.HTML, "Bogolan Nights"))
		is.Equal(made.FromAddress, "tickets@example.com")
		is.Equal(made.To, "buyer@example.com")
		is.Equal(len(made.Inline), 2)
		_, err = shop.Staff.SetMailSender(t.Context(), ticketing.MailSenderParams{Address: "hall@example.org", Name: "Hall"})
		is.NoErr(err)
		made, err = reader.PreviewTicketMail(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.Equal(made.FromAddress, "hall@example.org")
		_, err = shop.Staff.PreviewTicketMail(t.Context(), shop.Company.ID)
		is.True(errors.Is(err, ticketing.CodeConflict)) // The shop's own service renders nothing.
	})
}

// TestSampleMailValidatesNowhere checks that a sample has two admissions that do not exist, in the branding of a
// company.
func TestSampleMailValidatesNowhere(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		sample, err := shop.Staff.SampleTicketMail(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.True(sample.Sample)
		is.Equal(sample.Order.Branding.BrandName, shop.Company.Name)
		is.Equal(len(sample.Order.Lines), 2)
		for _, line := range sample.Order.Lines {
			_, err := shop.ValidateAdmission(t.Context(), shop.Caller, sample.Event.ID, line.AdmissionID, shop.Key(),
				ticketing.ValidateParams{})
			is.True(errors.Is(err, ticketing.CodeNotFound))
		}
		_, err = shop.Staff.SampleTicketMail(t.Context(), uuid.Nil)
		is.NoErr(err)
	})
}
