package main

import (
	"context"
	"fmt"

	"github.com/floatgate/ticketing"
)

type mailSenderCommands struct {
	Set    mailSenderSet    `cmd:"" help:"Set the sender of all ticket mails. From then on each sale sends one."`
	Show   mailSenderShow   `cmd:"" help:"Show the sender of ticket mails."`
	Remove mailSenderRemove `cmd:"" help:"Remove the sender. Later sales send no mail."`
	Check  mailSenderCheck  `cmd:"" help:"Check the sender's domain and the mail server. Sends nothing."`
	Test   mailSenderTest   `cmd:"" help:"Send a sample mail with two tickets that no gate accepts."`
}

type mailSenderSet struct {
	From    string `help:"Sender address. Its domain must allow your mail server." placeholder:"ADDRESS" required:""`
	Name    string `help:"The platform's name, 1 to 100 characters. A mail is from \"BRAND via NAME\"." placeholder:"NAME" required:""`
	Bounces string `help:"Address for reports of failed deliveries. Defaults to --from." placeholder:"ADDRESS"`
}

func (*mailSenderSet) Help() string {
	return `The sender belongs to the platform: it is the same for all companies and servers. Once it is set, each sale ` +
		`makes a mail with the tickets, which a server with --smtp sends. Earlier orders get none by themselves: ` +
		`"ticketing notification resend --company COMPANY --missing" sends theirs.

    ticketing mail-sender set --from tickets@lagos.example --name 'Lagos Tickets'
    TICKETING_SMTP='smtps://USER:PASSWORD@smtp.lagos.example' ticketing mail-sender check`
}

func (c *mailSenderSet) Run(ctx context.Context, p *program) error {
	return p.mailSender(ctx, func(op ticketing.Operator) (ticketing.MailSender, error) {
		return op.SetMailSender(ctx, ticketing.MailSenderParams{Address: c.From, Name: c.Name, Bounces: c.Bounces})
	})
}

type mailSenderShow struct{}

func (*mailSenderShow) Run(ctx context.Context, p *program) error {
	return p.mailSender(ctx, func(op ticketing.Operator) (ticketing.MailSender, error) {
		return op.GetMailSender(ctx)
	})
}

type mailSenderRemove struct{ requiredConfirm }

func (*mailSenderRemove) Help() string {
	return `Waiting mails are sent if a sender is set again within 72 hours of their sale. Otherwise they fail.`
}

func (c *mailSenderRemove) Run(ctx context.Context, p *program) error {
	return p.mailSender(ctx, func(op ticketing.Operator) (ticketing.MailSender, error) {
		err := p.confirm(c.Yes, func() (string, error) {
			sender, err := op.GetMailSender(ctx)
			return fmt.Sprintf("Remove the mail sender %s (%s)? Until one is set again no sale of any company gets a mail.",
				quoted(sender.Name), sender.Address), err
		})
		if err != nil {
			return ticketing.MailSender{}, err
		}
		return op.RemoveMailSender(ctx)
	})
}

// mailSender runs do, which returns the mail sender, and prints the sender.
func (p *program) mailSender(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.MailSender, error),
) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		sender, err := do(op)
		if err != nil {
			return err
		}
		return p.show(sender,
			field{"From", sender.Address},
			field{"Name", sender.Name},
			field{"Bounces", orDash(sender.Bounces)},
			field{"Since", sender.Since.String()},
		)
	})
}
