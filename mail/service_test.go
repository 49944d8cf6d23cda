package mail_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/store/memory"
)

// A service needs nothing but a mailer of this package to send mails: the mailer renders them, too.
func TestMailerAloneIsEnough(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server, err := mail.NewSMTP("smtp://127.0.0.1:1", nil)
	is.NoErr(err)
	t.Cleanup(func() { is.NoErr(server.Close()) })
	folder, err := mail.NewFolder(t.TempDir())
	is.NoErr(err)
	for _, mailer := range []ticketing.Mailer{server, folder} {
		svc, err := ticketing.New(memory.New(), &ticketing.Config{Mailer: mailer})
		is.NoErr(err)
		staff := svc.As(ticketing.Staff("test"))
		_, err = staff.SetMailSender(t.Context(), ticketing.MailSenderParams{
			Address: "tickets@lagos.example", Name: "Lagos Tickets",
		})
		is.NoErr(err)
		sample, err := staff.SampleTicketMail(t.Context(), [16]byte{})
		is.NoErr(err)
		sample.To = "ada@example.com"
		rendered, err := mailer.(ticketing.MailRenderer).RenderTickets(t.Context(), sample)
		is.NoErr(err)
		is.True(strings.HasSuffix(rendered.FromName, " via Lagos Tickets"))
	}
}
