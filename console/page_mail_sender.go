package console

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const mailSenderPath = "/platform/mail-sender"

// mailSenderPages returns the page of whom all mails come from.
func mailSenderPages() []page {
	return []page{{
		group: groupSettings,
		path:  mailSenderPath, scope: scopePlatform, title: "Mail sender", nav: "Mail sender", icon: "mail",
		permissions: []ticketing.Permission{ticketing.PermissionTenantRead}, template: "mail-sender.html",
		load: loadMailSender,
	}}
}

// mailSenderActs returns what staff do about the sender.
func mailSenderActs() []act {
	of := func(verb, done string) act {
		return act{
			name: "mail_sender." + verb, scope: scopePlatform, path: mailSenderPath + "/" + verb, page: mailSenderPath,
			permission: ticketing.PermissionManage, done: done,
		}
	}
	return []act{
		newAct(of("set", "The sender is set. Each sale makes a mail from now on."), readMailSender,
			func(ctx context.Context, c *call, params ticketing.MailSenderParams) (outcome, error) {
				sender, err := c.operator.SetMailSender(ctx, params)
				return outcome{data: sender}, err
			}),
		newAct(of("remove", "The sender was removed. No sale makes a mail any more."), noMembers,
			func(ctx context.Context, c *call, _ none) (outcome, error) {
				sender, err := c.operator.RemoveMailSender(ctx)
				return outcome{data: sender}, err
			}),
		newAct(of("test", ""), noMembers, testMailSender),
	}
}

func readMailSender(m *members) ticketing.MailSenderParams {
	return ticketing.MailSenderParams{
		Address: m.text("from"), Name: m.text("name"), Bounces: m.optionalText("bounces"),
	}
}

// mailSender is the platform's sender; nil: there is none.
type mailSender struct {
	Sender  *ticketing.MailSender `json:"sender"`
	CanTest bool                  `json:"canTest"` // this service can send a mail
}

// Bounces returns the address of reports if it is another one.
func (m mailSender) Bounces() string {
	if m.Sender == nil || m.Sender.Bounces == nil {
		return ""
	}
	return *m.Sender.Bounces
}

func loadMailSender(ctx context.Context, c *call) (view, error) {
	var shown mailSender
	sender, err := c.operator.GetMailSender(ctx)
	switch {
	case errors.Is(err, ticketing.CodeNotFound):
		return view{data: shown}, nil
	case err != nil:
		return view{}, err
	}
	shown.Sender, shown.CanTest = &sender, c.console.config.Mailer != nil
	return view{data: shown}, nil
}

// mailTested is the result of a test.
type mailTested struct {
	To string `json:"to"`
}

// testMailSender sends a mail to the person who tests.
func testMailSender(ctx context.Context, c *call, _ none) (outcome, error) {
	if c.console.config.Mailer == nil {
		return outcome{}, conflicted("This service sends no mail: it was started without a mail server.")
	}
	sender, err := c.operator.GetMailSender(ctx)
	if err != nil {
		return outcome{}, err
	}
	const text = "This is a test. Mails in the name of this sender leave the service."
	to := c.visitor.email
	ctx, cancel := context.WithTimeout(ctx, invitePatience)
	defer cancel()
	err = c.console.config.Mailer.Mail(ctx, ticketing.Mail{
		FromName: sender.Name, FromAddress: sender.Address, To: to, Subject: "Test of " + sender.Name,
		MessageID: "<" + uuid.NewString() + "@" + hostName(c.console.originOf(c.r)) + ">", Date: c.now, Text: text + "\n",
		HTML: `<!doctype html><html lang="en"><body style="font:16px/1.5 system-ui,sans-serif;color:#1c1f26"><p>` + text +
			`</p></body></html>`,
	})
	if err != nil {
		c.console.config.Logger.LogAttrs(ctx, slog.LevelError, "test mail not sent",
			slog.String("requestId", c.exchange.id), slog.String("error", safeText(err)))
		return outcome{}, conflicted("The mail server refused the mail. The service's log has the reply.")
	}
	return outcome{
		data: mailTested{to}, done: "A mail was sent to " + to + ". Check that it arrived. Look in the spam folder, too.",
	}, nil
}
