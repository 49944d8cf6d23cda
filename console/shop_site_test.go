package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/ticketingtest"
)

// shop is a site whose company sells, with a receiver of webhooks and a mail server that a test can stop.
type shop struct {
	*site

	books    *ticketingtest.Shop
	status   atomic.Int64 // of the receiver's answers
	refuses  atomic.Bool  // the mail server refuses every mail
	event    ticketing.Event
	neighbor *ticketingtest.Shop // another company of the service
}

// Post answers a delivery.
func (s *shop) Post(context.Context, ticketing.WebhookRequest) (int, error) {
	return int(s.status.Load()), nil
}

// postman is the mailer of a shop.
type postman struct {
	*mail.Renderer

	shop *shop
}

func (p postman) Mail(ctx context.Context, m ticketing.Mail) error {
	if p.shop.refuses.Load() {
		return &ticketing.MailError{Code: "550 5.1.1", Text: "the address was refused", Err: ticketing.ErrMailRefused}
	}
	return mailbox(p.shop.mails).Mail(ctx, m)
}

// newShop returns a shop with an owner, an administrator, a viewer, staff for support, and a stranger. Its receiver
// accepts what it gets.
func newShop(t *testing.T) *shop {
	t.Helper()
	return newShopOn(t, nil)
}

// newShopOn returns such a shop on a store; nil: one in memory.
func newShopOn(t *testing.T, on driver.Store) *shop {
	t.Helper()
	ok := is.New(t)
	books := ticketingtest.New(t, &ticketingtest.Config{Store: on})
	s := &shop{books: books, neighbor: books.Neighbour(t)}
	s.status.Store(http.StatusOK)
	s.site = &site{
		company: books.Company.ID, other: s.neighbor.Company.ID, mails: make(chan ticketing.Mail, 100),
		users: map[string]uuid.UUID{}, clients: map[string]*http.Client{}, log: new(lockedText),
	}
	post := postman{mail.NewRenderer(), s}
	svc, err := ticketing.New(books.Store, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: books.Clock.Now, Sender: s, Mailer: post,
	})
	ok.NoErr(err)
	s.Service, s.staff = svc, svc.As(ticketing.Staff("test"))
	_, err = s.staff.SetMailSender(t.Context(), ticketing.MailSenderParams{
		Address: "tickets@example.com", Name: "Tickets",
	})
	ok.NoErr(err)
	s.addMember(t, s.company, owner, ticketing.RoleOwner)
	s.addMember(t, s.company, administrator, ticketing.RoleAdministrator)
	s.addMember(t, s.company, viewer, ticketing.RoleViewer)
	s.addMember(t, s.other, stranger, ticketing.RoleOwner)
	for _, one := range []struct {
		name string
		role ticketing.StaffRole
	}{{chief, ticketing.StaffAdministrator}, {support, ticketing.StaffSupport}} {
		member, err := s.staff.AddStaff(t.Context(), ticketing.AddStaffParams{
			Email: address(one.name), Name: one.name, Role: one.role,
		})
		ok.NoErr(err)
		s.users[one.name] = member.UserID
	}
	s.handler, err = console.New(svc, &console.Config{Mailer: post, Clock: books.Clock.Now})
	ok.NoErr(err)
	s.server = httptest.NewServer(s.handler)
	t.Cleanup(s.server.Close)
	for name := range s.users {
		s.clients[name] = s.newClient(t)
		s.signIn(t, name)
	}
	s.event = books.Event(t)
	books.Inventory(t, s.event.ID, "VIP", 150_00, 100)
	return s
}

// endpoint registers an endpoint for orders.
func (s *shop) endpoint(t *testing.T) ticketing.WebhookEndpoint {
	t.Helper()
	made, err := s.staff.CreateWebhookEndpoint(t.Context(), s.company, ticketing.WebhookEndpointParams{
		URL: "https://hooks.example.com/in", Events: []ticketing.FactType{ticketing.FactOrderCreated},
	})
	is.New(t).NoErr(err)
	return made.WebhookEndpoint
}

// sendAll sends webhooks until nothing is due any more, for as many attempts as a delivery has.
func (s *shop) sendAll(t *testing.T) {
	t.Helper()
	for range 9 {
		_, err := s.SendWebhooks(t.Context())
		is.New(t).NoErr(err)
		s.books.Clock.Advance(10 * time.Minute)
	}
	for name := range s.users {
		s.signIn(t, name) // The time of a recent sign-in is over by now.
	}
}

// sell sells a ticket.
func (s *shop) sell(t *testing.T) ticketing.Order {
	t.Helper()
	return s.books.Sell(t, s.event.ID, "VIP", 1)
}

// decode decodes a JSON text.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	is.New(t).NoErr(json.Unmarshal([]byte(text), into))
}
