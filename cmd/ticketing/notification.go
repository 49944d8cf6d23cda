package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type notificationCommands struct {
	List    notificationList    `cmd:"" help:"List the ticket mails of a company, newest order first."`
	Show    notificationShow    `cmd:"" help:"Show the ticket mails of an order, attempt by attempt."`
	Resend  notificationResend  `cmd:"" help:"Send again: the mail of an order, or of all that lack it."`
	Preview notificationPreview `cmd:"" help:"Write the mail of an order to a file. Sends nothing."`
}

type notificationList struct {
	companyArg

	Order  id                 `help:"Of this order only." placeholder:"ORDER"`
	Event  id                 `help:"Of orders of this event only." placeholder:"EVENT"`
	Status notificationStatus `help:"In this status only: PENDING, SENT, FAILED or CANCELLED." placeholder:"STATUS"`
	Since  moment             `help:"Made then or later." placeholder:"TIME"`
	Until  moment             `help:"Made before." placeholder:"TIME"`
	Limit  count              `help:"So many at most; 0 is all." placeholder:"N"`
}

func (*notificationList) Help() string {
	return `Those that were refused, that all ten attempts could not send, or that nobody could send within 72 hours:

    ticketing notification list COMPANY --status FAILED`
}

func (c *notificationList) Run(ctx context.Context, p *program) error {
	filter := ticketing.NotificationFilter{
		OrderID: c.Order.UUID, EventID: c.Event.UUID, Status: c.Status.NotificationStatus, Since: c.Since.Time,
		Until: c.Until.Time,
	}
	return p.operate(ctx, func(op ticketing.Operator) error {
		list := p.list("ORDER", "COPY", "STATUS", "ATTEMPTS", "CREATED", "SENT", "NEXT ATTEMPT", "ERROR")
		params := ticketing.PageParams{Limit: ticketing.MaxPageLimit}
		for left := int(c.Limit); ; {
			if c.Limit > 0 {
				params.Limit = min(left, ticketing.MaxPageLimit)
			}
			page, err := op.ListNotifications(ctx, c.Company.UUID, filter, params)
			if err != nil {
				return err
			}
			for _, n := range page.Items {
				err := list.add(n, n.OrderID.String(), strconv.Itoa(n.Copy), string(n.Status), strconv.Itoa(n.Attempts),
					n.CreatedAt.String(), timeOrDash(n.SentAt), timeOrDash(n.NextAttemptAt), orDash(n.LastError))
				if err != nil {
					return err
				}
			}
			left -= len(page.Items)
			if !page.HasMore || (c.Limit > 0 && left <= 0) {
				return list.end()
			}
			params.Cursor = page.NextCursor
		}
	})
}

type notificationShow struct{ orderArg }

func (*notificationShow) Help() string {
	return `An order that was sold while no mail sender was set has none.`
}

func (c *notificationShow) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		copies, err := op.GetNotifications(ctx, c.Order.UUID)
		if err != nil {
			return err
		}
		if p.JSON {
			list := p.list()
			for _, n := range copies {
				if err := list.add(loggedOf(n)); err != nil {
					return err
				}
			}
			return list.end()
		}
		if p.Quiet {
			return p.printID(c.Order.String())
		}
		if err := p.printFields(field{"Order", c.Order.String()}, field{"Copies", strconv.Itoa(len(copies))}); err != nil {
			return err
		}
		for _, n := range copies {
			fmt.Fprintln(p.stdout)
			if err := p.printFields(notificationFields(n)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// logged is a notification that always has its log.
type logged struct {
	ticketing.Notification

	Log []ticketing.NotificationAttempt `json:"log"`
}

func loggedOf(n ticketing.Notification) logged {
	return logged{n, append([]ticketing.NotificationAttempt{}, n.Log...)}
}

// notificationFields returns a notification for a person, with its attempts.
func notificationFields(n ticketing.Notification) []field {
	to := "the buyer"
	if n.Elsewhere {
		to = "another address"
	}
	fields := []field{
		{"Copy", strconv.Itoa(n.Copy)},
		{"To", to},
		{"Status", string(n.Status)},
		{"Error", orDash(n.LastError)},
		{"Created", n.CreatedAt.String()},
		{"Sent", timeOrDash(n.SentAt)},
		{"Next attempt", timeOrDash(n.NextAttemptAt)},
	}
	for i, a := range n.Log {
		outcome := "accepted"
		if a.Error != "" {
			outcome = a.Error
		}
		if a.Code != "" {
			outcome += " (" + a.Code + ")"
		}
		fields = append(fields, field{"Attempt " + strconv.Itoa(i+1), a.At.String() + "  " + outcome})
	}
	return fields
}

type notificationResend struct {
	requiredConfirm

	To      string       `help:"Send it to this address, such as a corrected one, instead of the buyer's. The order keeps its own." placeholder:"ADDRESS"`
	Company id           `help:"Send the mails of orders of this company that are chosen by the other flags." placeholder:"COMPANY"`
	Event   id           `help:"With --company: of this event only." placeholder:"EVENT"`
	Status  failedStatus `help:"With --company: FAILED, the orders whose last mail failed." placeholder:"STATUS" xor:"chosen"`
	Missing bool         `help:"With --company: the orders that have no mail, since no sender was set when they were sold." xor:"chosen"`
	Rate    replayRate   `help:"With --company: so many a second at most, 1 to 10000. Defaults to 50." placeholder:"N"`

	Order id `arg:"" help:"Id of the order." optional:"" placeholder:"ORDER"`
}

func (*notificationResend) Help() string {
	return `A mail that is sent again is a new copy, with the event as it is now. Servers send it; this command only ` +
		`asks for it. The mail of an order can be sent again ten times in 24 hours, and not at all once the order was ` +
		`refunded or cancelled.

One order, or those of a company that lack their mail:

    ticketing notification resend ORDER
    ticketing notification resend ORDER --to ada.obi@example.com
    ticketing notification resend --company COMPANY --status FAILED
    ticketing notification resend --company COMPANY --event EVENT --missing

Many are asked about first, and need --yes where nobody can be asked. "Skipped" are those that ended or got a mail ` +
		`meanwhile, and those with ten copies. What was interrupted goes on where it was if it is called again.`
}

func (c *notificationResend) Run(ctx context.Context, p *program) error {
	many := c.Event.UUID != uuid.Nil || c.Status.failed || c.Missing || c.Rate != 0
	switch one := c.Order.UUID != uuid.Nil; {
	case one && (c.Company.UUID != uuid.Nil || many):
		return wrongResend("ORDER is one: give only --to beside it, or --company instead of it")
	case one:
		return p.operate(ctx, func(op ticketing.Operator) error {
			made, err := op.ResendNotification(ctx, c.Order.UUID, c.To)
			if err != nil {
				return err
			}
			return p.showRecord(made.OrderID.String(), loggedOf(made), append([]field{{"Order", made.OrderID.String()}}, notificationFields(made)...)...)
		})
	case c.Company.UUID == uuid.Nil:
		return wrongResend("give ORDER, or --company for many")
	case !c.chosen():
		return wrongResend("--company needs --status FAILED or --missing: who has a mail needs no other")
	case c.To != "":
		return wrongResend("--to is for one ORDER: the mails of many go to their buyers")
	default:
		return c.resendMany(ctx, p)
	}
}

// chosen reports whether the flags say which orders of a company are meant.
func (c *notificationResend) chosen() bool { return c.Status.failed || c.Missing }

// unconfirmed reports whether the command must ask for confirmation: if it sends the mails of many.
func (c *notificationResend) unconfirmed() bool {
	return !c.Yes && c.Order.UUID == uuid.Nil && c.Company.UUID != uuid.Nil && c.chosen() && c.To == ""
}

func wrongResend(text string) error {
	return &usageError{text: text + "\nRun \"ticketing notification resend --help\" for how it is used."}
}

// resendMany makes copies for the selected orders, and shows its progress.
func (c *notificationResend) resendMany(ctx context.Context, p *program) error {
	bar := newBar(p)
	defer bar.end()
	params := ticketing.ResendParams{
		EventID: c.Event.UUID, Failed: c.Status.failed, Missing: c.Missing, Rate: int(c.Rate),
		Progress: func(done, total int) { bar.bar("sending again", int64(done), int64(total)) },
	}
	return p.operate(ctx, func(op ticketing.Operator) error {
		err := c.confirm(p, func() (string, error) {
			number, err := op.CountResends(ctx, c.Company.UUID, params)
			if err != nil {
				return "", err
			}
			name, err := companyArg{Company: c.Company}.named(ctx, op)
			return fmt.Sprintf("Send the mails of %d orders of the company %s?", number, name), err
		})
		if err != nil {
			return err
		}
		ctx, stop := interruptible(ctx) // Only from here on: at the question a signal ends the process.
		defer stop()
		result, err := op.ResendNotifications(ctx, c.Company.UUID, params)
		bar.end()
		if err != nil {
			_, code, message := p.explain(interrupted(ctx, err))
			return &failure{code: code, text: fmt.Sprintf("%s; %d were made until then", message, result.Made)}
		}
		return p.show(result,
			field{"Made", strconv.Itoa(result.Made)},
			field{"Skipped", strconv.Itoa(result.Skipped)},
		)
	})
}

// notificationStatus is the status of a notification.
type notificationStatus struct{ ticketing.NotificationStatus }

func (v *notificationStatus) UnmarshalText(text []byte) error {
	switch status := ticketing.NotificationStatus(text); status {
	case ticketing.NotificationPending, ticketing.NotificationSent, ticketing.NotificationFailed,
		ticketing.NotificationCancelled:
		v.NotificationStatus = status
		return nil
	default:
		return badValue("must be PENDING, SENT, FAILED or CANCELLED")
	}
}

// failedStatus is the only status that mails of many are sent again from.
type failedStatus struct{ failed bool }

func (v *failedStatus) UnmarshalText(text []byte) error {
	if v.failed = ticketing.NotificationStatus(text) == ticketing.NotificationFailed; !v.failed {
		return badValue("must be FAILED")
	}
	return nil
}
