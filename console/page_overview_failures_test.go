package console_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/ticketingtest"
)

// refuser refuses every webhook and every mail.
type refuser struct{ *mail.Renderer }

func (refuser) Post(context.Context, ticketing.WebhookRequest) (int, error) {
	return http.StatusInternalServerError, nil
}

func (refuser) Mail(context.Context, ticketing.Mail) error {
	return &ticketing.MailError{Code: "550 5.1.1", Text: "the address was refused", Err: ticketing.ErrMailRefused}
}

func TestOverviewCountsDeadLettersAndFailedMails(t *testing.T) {
	t.Parallel()
	ok, ctx := is.New(t), t.Context()
	books := ticketingtest.New(t, nil)
	svc, err := ticketing.New(books.Store, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: books.Clock.Now, Sender: refuser{},
		Mailer: refuser{mail.NewRenderer()},
	})
	ok.NoErr(err)
	s := &site{
		Service: svc, staff: svc.As(ticketing.Staff("test")), company: books.Company.ID, users: map[string]uuid.UUID{},
		clients: map[string]*http.Client{},
	}
	s.addMember(t, s.company, owner, ticketing.RoleOwner)
	_, err = s.staff.SetMailSender(ctx, ticketing.MailSenderParams{Address: "tickets@example.com", Name: "Tickets"})
	ok.NoErr(err)
	_, err = s.staff.CreateWebhookEndpoint(ctx, s.company, ticketing.WebhookEndpointParams{
		URL: "https://shop.example.com/hooks", Events: []ticketing.FactType{ticketing.FactOrderCreated},
	})
	ok.NoErr(err)
	s.handler, err = console.New(svc, &console.Config{Clock: books.Clock.Now})
	ok.NoErr(err)
	s.server = httptest.NewServer(s.handler)
	t.Cleanup(s.server.Close)
	s.clients[owner] = s.newClient(t)
	s.signIn(t, owner)

	event := books.Event(t)
	books.Inventory(t, event.ID, "VIP", 1_000_00, 2)
	books.Sell(t, event.ID, "VIP", 1)
	for range 30 {
		_, err := svc.SendWebhooks(ctx)
		ok.NoErr(err)
		_, err = svc.SendMails(ctx)
		ok.NoErr(err)
		books.Clock.Advance(6 * time.Hour)
	}
	s.signIn(t, owner)
	got := words(s.get(t, owner, overviewPath))
	ok.True(strings.Contains(got, "Dead letters 1 Webhooks that failed for good"))
	ok.True(strings.Contains(got, "Failed mails 1 Tickets that were not delivered"))
}
