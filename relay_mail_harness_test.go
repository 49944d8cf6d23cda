package ticketing_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// mailServer is the Mailer and MailRenderer of a test. It records each mail and returns what the test has set. A mail
// has the order's id as its subject and the copy's number as its text.
type mailServer struct {
	mu      sync.Mutex
	got     []mailed
	tickets map[string]ticketing.TicketMail // by message id
	answer  func(ctx context.Context, mail mailed) error
	came    chan struct{} // closed and replaced at every mail
}

// mailed is a mail as it was handed over.
type mailed struct {
	ticketing.Mail

	Tickets ticketing.TicketMail
}

func newMailServer() *mailServer {
	return &mailServer{tickets: make(map[string]ticketing.TicketMail), came: make(chan struct{})}
}

// RenderTickets implements [ticketing.MailRenderer].
func (s *mailServer) RenderTickets(_ context.Context, tickets ticketing.TicketMail) (ticketing.Mail, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("<%s.%d@example.com>", tickets.Order.ID, tickets.Copy)
	s.tickets[id] = tickets
	return ticketing.Mail{MessageID: id, To: tickets.To, Subject: tickets.Order.ID.String()}, nil
}

// Mail implements [ticketing.Mailer].
func (s *mailServer) Mail(ctx context.Context, mail ticketing.Mail) error {
	s.mu.Lock()
	got := mailed{Mail: mail, Tickets: s.tickets[mail.MessageID]}
	answer := s.answer
	s.mu.Unlock()
	var err error
	if answer != nil {
		err = answer(ctx, got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.got = append(s.got, got)
	}
	close(s.came)
	s.came = make(chan struct{})
	return err
}

// set sets what the server returns from now on; nil: it accepts every mail.
func (s *mailServer) set(answer func(ctx context.Context, mail mailed) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// always returns a function that always returns the same error.
func always(err error) func(context.Context, mailed) error {
	return func(context.Context, mailed) error { return err }
}

// accepted returns the mails that were accepted, oldest first.
func (s *mailServer) accepted() []mailed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// wait waits until n mails were accepted.
func (s *mailServer) wait(t testing.TB, n int) {
	t.Helper()
	for {
		s.mu.Lock()
		came := s.came
		got := len(s.got)
		s.mu.Unlock()
		if got >= n {
			return
		}
		select {
		case <-came:
		case <-t.Context().Done():
			t.Fatalf("%d of %d mails came", got, n)
		}
	}
}

// Errors of a mail server.
var (
	errMailAway    = &ticketing.MailError{Text: "no connection", Err: ticketing.ErrMailServer}
	errMailRefused = &ticketing.MailError{
		Code: "550 5.1.1", Text: "the address was refused", Err: ticketing.ErrMailRefused,
	}
	errMailLater = &ticketing.MailError{Code: "451 4.3.0", Text: "the mail was not accepted"}
)

// setSender gives the platform a mail sender.
func setSender(t testing.TB, shop *ticketingtest.Shop) ticketing.MailSender {
	t.Helper()
	sender, err := shop.Staff.SetMailSender(t.Context(), ticketing.MailSenderParams{
		Address: "tickets@mail.example.com", Name: "Floatgate Tickets",
	})
	is.New(t).NoErr(err)
	return sender
}

// mailing returns a service on the shop's store that mails through a server.
func mailing(
	t testing.TB, shop *ticketingtest.Shop, server ticketing.Mailer, more ...func(*ticketing.Config),
) *ticketing.Service {
	t.Helper()
	return sender(t, shop, nil, append([]func(*ticketing.Config){func(c *ticketing.Config) {
		c.Mailer = server
		c.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}}, more...)...)
}

// sendMails runs SendMails once, which must succeed, and returns how many mails it handed over.
func sendMails(t testing.TB, svc *ticketing.Service) int {
	t.Helper()
	sent, err := svc.SendMails(t.Context())
	is.New(t).NoErr(err)
	return sent
}

// sellable returns an event with admissions to sell.
func sellable(t testing.TB, shop *ticketingtest.Shop) uuid.UUID {
	t.Helper()
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
	return event.ID
}

// copies returns the notifications of an order.
func copies(t testing.TB, shop *ticketingtest.Shop, orderID uuid.UUID) []ticketing.Notification {
	t.Helper()
	found, err := shop.Staff.GetNotifications(t.Context(), orderID)
	is.New(t).NoErr(err)
	return found
}

// notifications returns all notifications of a shop as its store keeps them, newest order first.
func notifications(t testing.TB, shop *ticketingtest.Shop) []driver.Notification {
	t.Helper()
	var all []driver.Notification
	is.New(t).NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		all, err = tx.ListNotifications(ctx, driver.NotificationQuery{CompanyID: shop.Company.ID, Limit: 100_000})
		return err
	}))
	return all
}

// text returns a text that may be nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
