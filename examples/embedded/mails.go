package main

import (
	"context"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// platformName is in the sender of each mail, after the company's: Freedom Park via Lagos Tickets.
const platformName = "Lagos Tickets"

// mailer sends the ticket mails and makes them.
type mailer interface {
	ticketing.Mailer
	ticketing.MailRenderer
}

// newMailer returns what sends the ticket mails: to a mail server, or without one to a folder, for development. The
// returned function ends the connections to the server.
func newMailer(smtpURL, folder string) (mailer, func() error, error) {
	if smtpURL == "" {
		files, err := mail.NewFolder(folder)
		return files, func() error { return nil }, err
	}
	server, err := mail.NewSMTP(smtpURL, nil)
	return server, server.Close, err
}

// setSender sets from whom the tickets come: from then on each sale makes a mail. The same sender at the next start
// changes nothing. It stands for the work of a platform's staff, whose domain needs SPF, DKIM and DMARC.
func setSender(ctx context.Context, svc *ticketing.Service, address string) error {
	_, err := svc.As(ticketing.Staff("set-up")).SetMailSender(ctx, ticketing.MailSenderParams{
		Address: address, Name: platformName,
	})
	return err
}
