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
	Endpoint id             `help:"Only those of this endpoint." placeholder:"ENDPOINT"`
	Status   deliveryStatus `help:"Only those that are PENDING, SUCCEEDED, FAILED or CANCELLED." placeholder:"STATUS"`
	Type     webhookType    `help:"Only those of this event type." placeholder:"TYPE"`
	Since    moment         `help:"Only those made at this time or later." placeholder:"TIME"`
	Until    moment         `help:"Only those made before this time." placeholder:"TIME"`
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
	listFlags
}

func (*webhookDeliveries) Help() string {
	return `Deliveries that failed all eight attempts, and are not tried again:

    ticketing webhook deliveries COMPANY --status FAILED`
}

func (c *webhookDeliveries) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		columns := []column{
			ids("ID"), times("CREATED"), words("TYPE"), states("STATUS"), numbers("ATTEMPTS").optional(),
			numbers("HTTP").optional(), times("NEXT ATTEMPT").optional(), ids("EVENT").optional(),
			texts("URL").optional(), texts("ERROR").optional(),
		}
		return p.list(c.listFlags, columns, func(list *list) error {
			page := func(params ticketing.PageParams) (ticketing.Page[ticketing.WebhookDelivery], error) {
				return op.ListDeliveries(ctx, c.Company.UUID, c.filter(), params)
			}
			return eachPage(list.params(), page, func(d ticketing.WebhookDelivery) error {
				return list.add(d, d.ID.String(), d.CreatedAt.String(), string(d.EventType), string(d.Status),
					strconv.Itoa(d.Attempts), httpStatus(d.LastHTTPStatus), timeOrDash(d.NextAttemptAt),
					d.EventID.String(), d.URL, orDash(d.LastError))
			})
		})
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

	Company companyRef `help:"Replay the deliveries of this company that the other flags select." placeholder:"COMPANY"`
	Rate    replayRate `help:"At most N per second, 1 to 10000. Defaults to 50." placeholder:"N"`

	Delivery id `arg:"" help:"Id of the delivery." optional:"" placeholder:"DELIVERY"`
}

func (*webhookReplay) Help() string {
	return `A replay is a new delivery of the same event, with the same body, to the endpoint's current URL and signed ` +
		`with its active secret. The endpoint must be enabled. A receiver recognizes a repeated event by its id.

One delivery, or those of a company since a time, with a status, or both:

    ticketing webhook replay DELIVERY
    ticketing webhook replay --company COMPANY --status FAILED
    ticketing webhook replay --company COMPANY --since 2026-12-24T18:00:00+01:00 --until 2026-12-24T19:00:00+01:00

A replay of many asks for confirmation, and needs --yes without a terminal. Of several deliveries of one event to ` +
		`one endpoint, one is replayed. The others are "skipped". Also skipped are PENDING deliveries, and those of ` +
		`disabled or deleted endpoints; --endpoint with one of these is refused. An interrupted replay does not resume.`
}

func (c *webhookReplay) Run(ctx context.Context, p *program) error {
	filtered := c.filter() != (ticketing.DeliveryFilter{})
	switch one := c.Delivery.UUID != uuid.Nil; {
	case one && (c.Company.given() || filtered || c.Rate != 0):
		return wrongReplay("DELIVERY takes no other flags: leave them out, or give --company instead of DELIVERY")
	case one:
		return p.operate(ctx, func(op ticketing.Operator) error {
			delivery, err := op.ReplayDelivery(ctx, c.Delivery.UUID)
			if err != nil {
				return err
			}
			return p.showDelivery(delivery)
		})
	case !c.Company.given():
		return wrongReplay("give DELIVERY, or --company to replay many")
	case !c.narrowed():
		return wrongReplay("refusing to replay everything: add --since or --status")
	default:
		return c.replayMany(ctx, p)
	}
}

// narrowed reports whether the flags select fewer than all past deliveries.
func (c *webhookReplay) narrowed() bool { return !c.Since.IsZero() || c.Status.DeliveryStatus != "" }

// unconfirmed reports whether the command must ask for confirmation: for a valid replay of many.
func (c *webhookReplay) unconfirmed() bool {
	return !c.Yes && c.Delivery.UUID == uuid.Nil && c.Company.given() && c.narrowed()
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
			return fmt.Sprintf("Replay %s of the company %s?", plural(number, "delivery", "deliveries"), name), err
		})
		if err != nil {
			return err
		}
		ctx, stop := interruptible(ctx) // Only from here on: during the question a signal ends the process.
		defer stop()
		result, err := op.ReplayDeliveries(ctx, c.Company.UUID, ticketing.ReplayParams{
			DeliveryFilter: c.filter(), Rate: int(c.Rate),
			Progress: func(done, total int) { bar.bar("replaying", int64(done), int64(total)) },
		})
		bar.end()
		if err != nil {
			_, code, message := p.explain(interrupted(ctx, err))
			return &failure{code: code, text: fmt.Sprintf("%s, after %s", message, plural(result.Replayed, "replay", "replays"))}
		}
		return p.show(result,
			field{"Replayed", strconv.Itoa(result.Replayed)},
			field{"Skipped", strconv.Itoa(result.Skipped)},
		)
	})
}
