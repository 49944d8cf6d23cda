package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/webhook"
)

type webhookListen struct {
	companyArg

	ForwardTo     forwardURL    `help:"HTTP or HTTPS address to relay to, usually on this machine." placeholder:"URL" required:""`
	Secret        listenSecret  `help:"Secret to sign with. Defaults to a new one, which is printed." placeholder:"SECRET"`
	Events        []webhookType `help:"Relay only these event types." placeholder:"TYPE"`
	PrintJSON     bool          `help:"Also print the body of each event." name:"print-json"`
	WebhookCAFile roots         `help:"PEM file of additional CA certificates for the address." name:"webhook-ca-file" placeholder:"FILE"`
}

func (*webhookListen) Help() string {
	return `This is for developers who run the service themselves: it reads the database, and needs --database and the ` +
		`master secret of the operator. Developers of a company have neither; they register an endpoint.

It relays events ` +
		`from now on, including replays, as an endpoint for all types would get them: with the same body, headers and a ` +
		`valid signature. It needs no endpoint and no running server, and tries each event once. Ctrl-C ends it.

    ticketing webhook listen COMPANY --forward-to http://127.0.0.1:3000/hooks
    ticketing webhook trigger COMPANY order.created --yes

The secret is printed on standard error. Each event is a line on standard output, with --json an object.`
}

// The intervals and limits of the loop that follows the events.
const (
	followInterval = 500 * time.Millisecond // how often the loop asks for new events
	followBatch    = 100
	followPatience = 5 * time.Second // how long one query may take
)

func (c *webhookListen) Run(ctx context.Context, p *program) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	fwd := newForwarder(c.ForwardTo.url, c.Secret.secret(), c.WebhookCAFile.pool)
	defer fwd.close()
	err := p.operate(ctx, func(op ticketing.Operator) error {
		_, place, err := op.TailWebhooks(ctx, c.Company.UUID, ticketing.WebhookCursor{}, followBatch)
		if err != nil {
			return err
		}
		if err := c.begin(p, fwd); err != nil {
			return err
		}
		return c.follow(ctx, p, op, fwd, place)
	})
	if ctx.Err() != nil {
		return ignoring(err, context.Canceled)
	}
	return err
}

// begin prints that events are relayed from now on, and the secret that signs them.
func (c *webhookListen) begin(p *program, fwd *forwarder) error {
	if p.JSON {
		return encode(p.stderr, struct {
			ForwardTo string `json:"forwardTo"`
			Secret    string `json:"secret"`
		}{fwd.url, fwd.secret})
	}
	_, err := fmt.Fprintf(p.stderr, "relaying to %s, signed with %s\n", escape(fwd.url), escape(fwd.secret))
	return outputError(err)
}

// follow relays new events until ctx ends. If the database is unavailable, it waits for it.
func (c *webhookListen) follow(
	ctx context.Context, p *program, op ticketing.Operator, fwd *forwarder, place ticketing.WebhookCursor,
) error {
	away := false
	for {
		events, next, err := c.ask(ctx, op, place)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !isTransient(err):
			return err
		case err != nil && !away:
			_, _, message := p.explain(err)
			fmt.Fprintln(p.stderr, "ticketing: "+escape(message)+"; waiting for it")
		case err == nil:
			place = next
		}
		away = err != nil
		for _, event := range events {
			if !c.wants(event.Type) {
				continue
			}
			if err := c.printResult(p, event, fwd.post(ctx, event)); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if len(events) == followBatch {
			continue // There may be more already.
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followInterval):
		}
	}
}

func (c *webhookListen) ask(
	ctx context.Context, op ticketing.Operator, place ticketing.WebhookCursor,
) ([]ticketing.WebhookEvent, ticketing.WebhookCursor, error) {
	ctx, cancel := context.WithTimeout(ctx, followPatience)
	defer cancel()
	return op.TailWebhooks(ctx, c.Company.UUID, place, followBatch)
}

// isTransient reports whether an error may disappear by itself after a while.
func isTransient(err error) bool {
	return errors.Is(err, ticketing.ErrUnavailable) || errors.Is(err, ticketing.ErrBusy) ||
		errors.Is(err, context.DeadlineExceeded)
}

func (c *webhookListen) wants(kind ticketing.FactType) bool {
	return len(c.Events) == 0 || slices.Contains(c.Events, webhookType{kind})
}

// forwardResult is the result of relaying an event.
type forwardResult struct {
	At         ticketing.Time     `json:"at"`
	EventID    uuid.UUID          `json:"eventId"`
	EventType  ticketing.FactType `json:"eventType"`
	DeliveryID uuid.UUID          `json:"deliveryId"`
	HTTPStatus *int               `json:"httpStatus"` // nil if there was no response
	Error      *string            `json:"error"`
	DurationMS int64              `json:"durationMs"`
	Body       json.RawMessage    `json:"body,omitempty"`
}

// printResult prints the result of relaying an event.
func (c *webhookListen) printResult(p *program, event ticketing.WebhookEvent, result forwardResult) error {
	if p.JSON {
		if c.PrintJSON {
			result.Body = event.Body
		}
		return encode(p.stdout, result)
	}
	outcome := ""
	if result.HTTPStatus != nil {
		outcome = strconv.Itoa(*result.HTTPStatus)
	}
	if result.Error != nil {
		outcome = *result.Error
	}
	text := fmt.Sprintf("%s  %-18s  %s  %s  %d ms\n",
		result.At, result.EventType, result.EventID, escape(outcome), result.DurationMS)
	if c.PrintJSON {
		text += string(jsonFor(p.stdout, event.Body)) + "\n"
	}
	_, err := fmt.Fprint(p.stdout, text)
	return outputError(err)
}

type webhookTrigger struct {
	companyArg
	requiredConfirm

	Type webhookType `arg:"" help:"Type of the event." placeholder:"TYPE"`
}

func (*webhookTrigger) Help() string {
	return `The event has made-up data. A running server delivers it to the endpoints that are subscribed to its type, ` +
		`and "ticketing webhook listen" relays it. Nothing is sold, but the event is signed and looks real to a receiver: ` +
		`use a company whose endpoints are for testing. The event types are

` + webhookTypeList() + `
    ticketing webhook trigger COMPANY order.created --yes`
}

func (c *webhookTrigger) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		err := c.confirm(p, func() (string, error) {
			name, err := c.named(ctx, op)
			return fmt.Sprintf("Send a made-up %s, which looks real, to the endpoints of the company %s?",
				c.Type.FactType, name), err
		})
		if err != nil {
			return err
		}
		event, err := op.TriggerWebhook(ctx, c.Company.UUID, c.Type.FactType)
		if err != nil {
			return err
		}
		return p.showRecord(event.ID.String(), event,
			field{"ID", event.ID.String()},
			field{"Type", string(event.Type)},
			field{"Body", string(event.Body)},
		)
	})
}

// listenSecret is a signing secret chosen by the developer.
type listenSecret struct{ text string }

func (v *listenSecret) UnmarshalText(text []byte) error {
	const shortest, longest = 8, 256
	if len(text) < shortest || len(text) > longest {
		return badValue("must be %d to %d bytes", shortest, longest)
	}
	v.text = string(text)
	return nil
}

// secret returns the given secret, or a new one in the format of the endpoints' secrets.
func (v listenSecret) secret() string {
	if v.text != "" {
		return v.text
	}
	return webhook.SecretPrefix + newSecretText()
}
