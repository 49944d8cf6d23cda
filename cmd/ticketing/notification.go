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
	Resend  notificationResend  `cmd:"" help:"Send ticket mails again: of one order, or of many."`
	Preview notificationPreview `cmd:"" help:"Write the mail of an order to a file. Sends nothing."`
}

type notificationList struct {
	companyArg
	listFlags

	Order  id                 `help:"Only those of this order." placeholder:"ORDER"`
	Event  id                 `help:"Only those of this event's orders." placeholder:"EVENT"`
	Status notificationStatus `help:"Only those that are PENDING, SENT, FAILED or CANCELLED." placeholder:"STATUS"`
	Since  moment             `help:"Only those made at this time or later." placeholder:"TIME"`
	Until  moment             `help:"Only those made before this time." placeholder:"TIME"`
}

func (*notificationList) Help() string {
	return `Mails that were refused, failed all ten attempts, or could not be sent within 72 hours:

    ticketing notification list COMPANY --status FAILED`
}

func (c *notificationList) Run(ctx context.Context, p *program) error {
	filter := ticketing.NotificationFilter{
		OrderID: c.Order.UUID, EventID: c.Event.UUID, Status: c.Status.NotificationStatus, Since: c.Since.Time,
		Until: c.Until.Time,
	}
	return p.operate(ctx, func(op ticketing.Operator) error {
		columns := []column{
			ids("ORDER"), numbers("COPY").optional(), states("STATUS"), numbers("ATTEMPTS").optional(),
			times("CREATED"), times("SENT"), times("NEXT ATTEMPT").optional(), texts("ERROR"),
		}
		return p.list(c.listFlags, columns, func(list *list) error {
			page := func(params ticketing.PageParams) (ticketing.Page[ticketing.Notification], error) {
				return op.ListNotifications(ctx, c.Company.UUID, filter, params)
			}
			return eachPage(list.params(), page, func(n ticketing.Notification) error {
				return list.add(n, n.OrderID.String(), strconv.Itoa(n.Copy), string(n.Status), strconv.Itoa(n.Attempts),
					n.CreatedAt.String(), timeOrDash(n.SentAt), timeOrDash(n.NextAttemptAt), orDash(n.LastError))
			})
		})
	})
}

type notificationShow struct{ orderArg }

func (*notificationShow) Help() string {
	return `An order that was sold when no mail sender was set has none.`
}

func (c *notificationShow) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		copies, err := op.GetNotifications(ctx, c.Order.UUID)
		if err != nil {
			return err
		}
		if p.JSON {
			return p.list(listFlags{}, nil, func(list *list) error {
				return eachOf(copies, func(n ticketing.Notification) error { return list.add(loggedOf(n)) })
			})
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

	To      string       `help:"Send to this address instead of the buyer's. The order keeps the buyer's." placeholder:"ADDRESS"`
	Company companyRef   `help:"Send the mails of this company's orders that the other flags select." placeholder:"COMPANY"`
	Event   id           `help:"With --company: of this event only." placeholder:"EVENT"`
	Status  failedStatus `help:"With --company: FAILED, the orders whose last mail failed." placeholder:"STATUS" xor:"chosen"`
	Missing bool         `help:"With --company: the orders without a mail, sold when no sender was set." xor:"chosen"`
	Rate    replayRate   `help:"With --company: at most N per second, 1 to 10000. Defaults to 50." placeholder:"N"`

	Order id `arg:"" help:"Id of the order." optional:"" placeholder:"ORDER"`
}

func (*notificationResend) Help() string {
	return `A mail that is sent again is a new copy, with the event as it is now. A server sends it; this command only ` +
		`queues it. The mail of an order can be sent again ten times in 24 hours. That of a refunded or cancelled order ` +
		`cannot.

One order, or the orders of a company that lack their mail:

    ticketing notification resend ORDER
    ticketing notification resend ORDER --to ada.obi@example.com
    ticketing notification resend --company COMPANY --status FAILED
    ticketing notification resend --company COMPANY --event EVENT --missing

Sending many asks for confirmation, and needs --yes without a terminal. "Skipped" are orders that ended or got a ` +
		`mail meanwhile, and those with ten copies. An interrupted command resumes when it is repeated.`
}

func (c *notificationResend) Run(ctx context.Context, p *program) error {
	many := c.Event.UUID != uuid.Nil || c.Status.failed || c.Missing || c.Rate != 0
	switch one := c.Order.UUID != uuid.Nil; {
	case one && (c.Company.given() || many):
		return wrongResend("ORDER takes only --to: leave out the other flags, or give --company instead of ORDER")
	case one:
		return p.operate(ctx, func(op ticketing.Operator) error {
			made, err := op.ResendNotification(ctx, c.Order.UUID, c.To)
			if err != nil {
				return err
			}
			return p.showRecord(made.OrderID.String(), loggedOf(made),
				append([]field{{"Order", made.OrderID.String()}}, notificationFields(made)...)...)
		})
	case !c.Company.given():
		return wrongResend("give ORDER, or --company to send many")
	case !c.chosen():
		return wrongResend("refusing to send all mails again: add --status FAILED or --missing")
	case c.To != "":
		return wrongResend("--to needs ORDER: the mails of many orders go to their buyers")
	default:
		return c.resendMany(ctx, p)
	}
}

// chosen reports whether the flags select orders of a company.
func (c *notificationResend) chosen() bool { return c.Status.failed || c.Missing }

// unconfirmed reports whether the command must ask for confirmation: if it sends many mails.
func (c *notificationResend) unconfirmed() bool {
	return !c.Yes && c.Order.UUID == uuid.Nil && c.Company.given() && c.chosen() && c.To == ""
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
			return fmt.Sprintf("Send the mails of %s of the company %s?", plural(number, "order", "orders"), name), err
		})
		if err != nil {
			return err
		}
		ctx, stop := interruptible(ctx) // Only from here on: during the question a signal ends the process.
		defer stop()
		result, err := op.ResendNotifications(ctx, c.Company.UUID, params)
		bar.end()
		if err != nil {
			_, code, message := p.explain(interrupted(ctx, err))
			return &failure{code: code, text: fmt.Sprintf("%s, after %s", message, plural(result.Made, "copy", "copies"))}
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

// failedStatus is the only status of mails that are sent again in bulk.
type failedStatus struct{ failed bool }

func (v *failedStatus) UnmarshalText(text []byte) error {
	if v.failed = ticketing.NotificationStatus(text) == ticketing.NotificationFailed; !v.failed {
		return badValue("must be FAILED")
	}
	return nil
}
