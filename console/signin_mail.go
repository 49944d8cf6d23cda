package console

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// mailPatience limits the making and sending of a mail.
const mailPatience = 2 * time.Minute

// staff returns the operator of the console itself, for acts without a person.
func (c *console) staff() ticketing.Operator { return c.svc.As(ticketing.Staff("console")) }

// canMail reports whether the service can mail a code: there is a mailer, and the platform has an address to send from.
func (c *console) canMail(ctx context.Context) (bool, error) {
	if c.config.Mailer == nil {
		return false, nil
	}
	sender, err := c.staff().GetMailSender(ctx)
	if errors.Is(err, ticketing.CodeNotFound) {
		return false, nil
	}
	return sender.Address != "", err
}

// mailCode mails a code and a link in the background, so that the response takes as long for an unknown address.
func (x *exchange) mailCode(ctx context.Context, email, browserSecret string) {
	ctx = context.WithoutCancel(ctx)
	select {
	case x.mails <- struct{}{}:
	default:
		x.config.Logger.LogAttrs(ctx, slog.LevelError, "sign-in mail not sent: too many at once",
			slog.String("requestId", x.id))
		return
	}
	origin, id := x.originOf(x.r), x.id
	go func() {
		defer func() { <-x.mails }()
		ctx, cancel := context.WithTimeout(ctx, mailPatience)
		defer cancel()
		err := guarded(func() error { return x.sendCode(ctx, email, browserSecret, origin) })
		if err != nil {
			x.config.Logger.LogAttrs(ctx, slog.LevelError, "sign-in mail not sent", slog.String("requestId", id),
				slog.String("error", safeText(err)))
		}
	}()
}

// safeText returns the text of a mailer's error that is fit for the log. Other errors may repeat an address.
func safeText(err error) string {
	if failed, ok := errors.AsType[*ticketing.MailError](err); ok {
		return failed.Error()
	}
	if failed, ok := errors.AsType[*panicError](err); ok {
		return failed.Error()
	}
	return fmt.Sprintf("%T", err)
}

// sendCode makes a code and a link for an address and mails them. It sends nothing to an address without a user.
func (c *console) sendCode(ctx context.Context, email, browserSecret, origin string) error {
	request, err := c.accounts.RequestCode(ctx, email, browserSecret)
	if err != nil || request.User == nil {
		return err
	}
	sender, err := c.staff().GetMailSender(ctx)
	if err != nil {
		return err
	}
	return c.config.Mailer.Mail(ctx, signInMail(c.config.Title, sender, request, origin, c.config.Clock()))
}

// signInMail returns the mail with a code and a link.
func signInMail(
	title string, sender ticketing.MailSender, request ticketing.CodeRequest, origin string, at time.Time,
) ticketing.Mail {
	link := LinkURL(origin, request.LinkToken)
	code := request.Code
	if len(code) == 8 {
		code = code[:4] + "-" + code[4:]
	}
	const once = "Both work once, within 30 minutes. If you did not ask for this, nobody can sign in without it: " +
		"you need to do nothing."
	return ticketing.Mail{
		FromName: sender.Name, FromAddress: sender.Address, To: request.User.Email, Subject: "Your code to sign in: " + code,
		MessageID: "<" + uuid.NewString() + "@" + hostName(origin) + ">", Date: at,
		Text: "Your code to sign in to " + title + " is\n\n    " + code +
			"\n\nType it in the browser that asked for it. Or open this link in any browser:\n\n" + link + "\n\n" + once + "\n",
		HTML: `<!doctype html><html lang="en"><body style="font:16px/1.5 system-ui,sans-serif;color:#1c1f26">` +
			`<p>Your code to sign in to ` + html.EscapeString(title) + ` is</p>` +
			`<p style="font-size:28px;letter-spacing:2px"><strong>` + html.EscapeString(code) +
			`</strong></p><p>Type it in the browser that asked for it. Or open this link in any browser:</p><p><a href="` +
			html.EscapeString(link) + `">Sign in</a></p><p>` + once + `</p></body></html>`,
	}
}
