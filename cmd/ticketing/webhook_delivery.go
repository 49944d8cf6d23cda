package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// deliveryFilter holds the flags that select among a company's deliveries.
type deliveryFilter struct {
	Endpoint id             `help:"Of this endpoint only." placeholder:"ENDPOINT"`
	Status   deliveryStatus `help:"In this status only: PENDING, SUCCEEDED, FAILED or CANCELLED." placeholder:"STATUS"`
	Type     webhookType    `help:"Of this type of event only." placeholder:"TYPE"`
	Since    moment         `help:"Made then or later." placeholder:"TIME"`
	Until    moment         `help:"Made before." placeholder:"TIME"`
}

func (f deliveryFilter) filter() ticketing.DeliveryFilter {
	return ticketing.DeliveryFilter{
		EndpointID: f.Endpoint.UUID, Status: f.Status.DeliveryStatus, Type: f.Type.FactType,
		Since: f.Since.Time, Until: f.Until.Time,
	}
}

type webhookDeliveries struct {
	companyArg
	deliveryFilter

	Limit count `help:"So many at most; 0 is all." placeholder:"N"`
}

func (*webhookDeliveries) Help() string {
	return `Those that all eight attempts could not deliver, and nobody will try again:

    ticketing webhook deliveries COMPANY --status FAILED`
}

func (c *webhookDeliveries) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		list := p.list("ID", "CREATED", "TYPE", "STATUS", "ATTEMPTS", "HTTP", "NEXT ATTEMPT", "EVENT", "URL", "ERROR")
		params := ticketing.PageParams{Limit: ticketing.MaxPageLimit}
		for left := int(c.Limit); ; {
			if c.Limit > 0 {
				params.Limit = min(left, ticketing.MaxPageLimit)
			}
			page, err := op.ListDeliveries(ctx, c.Company.UUID, c.filter(), params)
			if err != nil {
				return err
			}
			for _, d := range page.Items {
				err := list.add(d, d.ID.String(), d.CreatedAt.String(), string(d.EventType), string(d.Status),
					strconv.Itoa(d.Attempts), httpStatus(d.LastHTTPStatus), timeOrDash(d.NextAttemptAt),
					d.EventID.String(), d.URL, orDash(d.LastError))
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

// httpStatus formats a status for a person, or returns a dash if there was no response.
func httpStatus(status *int) string {
	if status == nil {
		return "-"
	}
	return strconv.Itoa(*status)
}

type webhookDelivery struct {
	Delivery id `arg:"" help:"Id of the delivery." placeholder:"DELIVERY"`
}

func (c *webhookDelivery) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		delivery, err := op.GetDelivery(ctx, c.Delivery.UUID)
		if err != nil {
			return err
		}
		return p.showDelivery(delivery)
	})
}

// showDelivery prints a delivery with all its attempts.
func (p *program) showDelivery(d ticketing.WebhookDelivery) error {
	fields := []field{
		{"ID", d.ID.String()},
		{"Event", d.EventID.String()},
		{"Type", string(d.EventType)},
		{"Endpoint", d.EndpointID.String()},
		{"URL", d.URL},
		{"Status", string(d.Status)},
		{"Created", d.CreatedAt.String()},
		{"Next attempt", timeOrDash(d.NextAttemptAt)},
	}
	for i, a := range d.Log {
		outcome := "no answer"
		if a.Status != 0 {
			outcome = strconv.Itoa(a.Status)
		}
		if a.Error != "" {
			outcome += "  " + a.Error
		}
		fields = append(fields, field{
			"Attempt " + strconv.Itoa(i+1), fmt.Sprintf("%s  %d ms  %s", a.At, a.DurationMS, outcome),
		})
	}
	return p.showRecord(d.ID.String(), d, fields...)
}

type webhookReplay struct {
	deliveryFilter
	requiredConfirm

	Company id         `help:"Deliver again what was made for this company's endpoints and is chosen by the other flags." placeholder:"COMPANY"`
	Rate    replayRate `help:"So many a second at most, 1 to 10000. Defaults to 50." placeholder:"N"`

	Delivery id `arg:"" help:"Id of the delivery." optional:"" placeholder:"DELIVERY"`
}

func (*webhookReplay) Help() string {
	return `A delivery that is replayed is a new one, of the same event with the same body, to the endpoint's present ` +
		`address and signed with its active secret. The endpoint has to be enabled. A receiver knows by the id of the ` +
		`event what it had before.

One delivery, or those of a company since a time, of a status, or both:

    ticketing webhook replay DELIVERY
    ticketing webhook replay --company COMPANY --status FAILED
    ticketing webhook replay --company COMPANY --since 2026-12-24T18:00:00+01:00 --until 2026-12-24T19:00:00+01:00

A replay of many asks first, and needs --yes where nobody can be asked. Of several deliveries of an event to one ` +
		`endpoint one is replayed. The others are "skipped", as are those that are still PENDING, and those of endpoints ` +
		`that are disabled or deleted; --endpoint with one of these is refused. What was interrupted does not go on ` +
		`where it was.`
}

func (c *webhookReplay) Run(ctx context.Context, p *program) error {
	filtered := c.filter() != (ticketing.DeliveryFilter{})
	switch one := c.Delivery.UUID != uuid.Nil; {
	case one && (c.Company.UUID != uuid.Nil || filtered || c.Rate != 0):
		return wrongReplay("DELIVERY is one: give no other flags, or --company instead of it")
	case one:
		return p.operate(ctx, func(op ticketing.Operator) error {
			delivery, err := op.ReplayDelivery(ctx, c.Delivery.UUID)
			if err != nil {
				return err
			}
			return p.showDelivery(delivery)
		})
	case c.Company.UUID == uuid.Nil:
		return wrongReplay("give DELIVERY, or --company for many")
	case !c.narrowed():
		return wrongReplay("--company needs --since, --status, or both: all that was ever delivered is hardly meant")
	default:
		return c.replayMany(ctx, p)
	}
}

// narrowed reports whether the flags select less than every past delivery.
func (c *webhookReplay) narrowed() bool { return !c.Since.IsZero() || c.Status.DeliveryStatus != "" }

// unconfirmed reports whether the command must ask for confirmation: for a valid replay of many.
func (c *webhookReplay) unconfirmed() bool {
	return !c.Yes && c.Delivery.UUID == uuid.Nil && c.Company.UUID != uuid.Nil && c.narrowed()
}

func wrongReplay(text string) error {
	return &usageError{text: text + "\nRun \"ticketing webhook replay --help\" for how it is used."}
}

// replayMany replays the selected deliveries, and shows its progress.
func (c *webhookReplay) replayMany(ctx context.Context, p *program) error {
	bar := newBar(p)
	defer bar.end()
	return p.operate(ctx, func(op ticketing.Operator) error {
		err := c.confirm(p, func() (string, error) {
			number, err := op.CountDeliveries(ctx, c.Company.UUID, c.filter())
			if err != nil {
				return "", err
			}
			name, err := companyArg{Company: c.Company}.named(ctx, op)
			return fmt.Sprintf("Deliver again what %d deliveries of the company %s were about?", number, name), err
		})
		if err != nil {
			return err
		}
		ctx, stop := interruptible(ctx) // Only from here on: at the question a signal ends the process.
		defer stop()
		result, err := op.ReplayDeliveries(ctx, c.Company.UUID, ticketing.ReplayParams{
			DeliveryFilter: c.filter(), Rate: int(c.Rate),
			Progress: func(done, total int) { bar.bar("replaying", int64(done), int64(total)) },
		})
		bar.end()
		if err != nil {
			_, code, message := p.explain(interrupted(ctx, err))
			return &failure{code: code, text: fmt.Sprintf("%s; %d were replayed until then", message, result.Replayed)}
		}
		return p.show(result,
			field{"Replayed", strconv.Itoa(result.Replayed)},
			field{"Skipped", strconv.Itoa(result.Skipped)},
		)
	})
}
