package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
)

type webhookCommands struct {
	Create  webhookCreate  `cmd:"" help:"Register an endpoint. Its signing secret is shown only once."`
	List    webhookList    `cmd:"" help:"List the endpoints of a company."`
	Show    webhookShow    `cmd:"" help:"Show an endpoint."`
	Update  webhookUpdate  `cmd:"" help:"Change the URL or the event types of an endpoint."`
	Enable  webhookEnable  `cmd:"" help:"Enable an endpoint again, for events from now on."`
	Disable webhookDisable `cmd:"" help:"Disable an endpoint, and cancel its pending deliveries."`
	Delete  webhookDelete  `cmd:"" help:"Delete an endpoint, and cancel its pending deliveries."`

	Rotate   webhookRotate   `cmd:"" help:"Prepare the next signing secret. It is shown only once."`
	Activate webhookActivate `cmd:"" help:"Sign new deliveries with the prepared secret."`
	Reseal   webhookReseal   `cmd:"" help:"Re-encrypt all signing secrets with the first master secret."`

	Deliveries webhookDeliveries `cmd:"" help:"List the deliveries of a company, newest first."`
	Delivery   webhookDelivery   `cmd:"" help:"Show a delivery, attempt by attempt."`
	Replay     webhookReplay     `cmd:"" help:"Replay one delivery, or many."`

	Listen  webhookListen  `cmd:"" help:"Relay a company's events to this machine as they happen."`
	Trigger webhookTrigger `cmd:"" help:"Send a sample event."`
}

// endpointArg names the endpoint that a command is about.
type endpointArg struct {
	Endpoint id `arg:"" help:"Id of the endpoint." placeholder:"ENDPOINT"`
}

// allowPrivate is the flag of commands that may set an endpoint's address.
type allowPrivate struct {
	WebhookAllowPrivate bool `help:"Also accept localhost, IP addresses and private networks. For development only."`
}

func (a allowPrivate) config() *ticketing.Config {
	return &ticketing.Config{AllowPrivateWebhooks: a.WebhookAllowPrivate}
}

const privateWarning = "--webhook-allow-private is for development only: never use it in production"

// warn logs a warning if private addresses are allowed. It runs after the action, so that a refusal is the only line on
// standard error.
func (a allowPrivate) warn(ctx context.Context, p *program) {
	if !a.WebhookAllowPrivate {
		return
	}
	var handler slog.Handler = slog.NewTextHandler(p.stderr, nil)
	if p.JSON {
		handler = slog.NewJSONHandler(p.stderr, nil)
	}
	slog.New(handler).WarnContext(ctx, privateWarning)
}

type webhookCreate struct {
	companyArg
	allowPrivate

	URL    string   `help:"Public HTTPS URL to deliver to." name:"url" placeholder:"URL" required:""`
	Events []string `help:"Event types to deliver, see below." placeholder:"TYPE" required:""`
}

func (*webhookCreate) Help() string {
	return `A company has at most 10 endpoints, including disabled ones. The event types are

` + webhookTypeList() + `
A running server delivers events from now on, signed with the secret that is printed. With --quiet only the ` +
		`id is printed, and not the secret: "ticketing webhook rotate" and "ticketing webhook activate" set a new one.

    ticketing webhook create COMPANY --url https://lagos.example/hooks --events order.created,ticket.validated`
}

// webhookTypeList returns the event types, one on each line.
func webhookTypeList() string {
	var list strings.Builder
	for _, kind := range ticketing.WebhookEventTypes() {
		list.WriteString("    " + string(kind) + "\n")
	}
	return list.String()
}

func factTypes(names []string) []ticketing.FactType {
	if names == nil {
		return nil
	}
	types := make([]ticketing.FactType, len(names))
	for i, name := range names {
		types[i] = ticketing.FactType(name)
	}
	return types
}

func (c *webhookCreate) Run(ctx context.Context, p *program) error {
	outlivePipe()
	return p.operateWith(ctx, c.config(), func(op ticketing.Operator) error {
		issued, err := op.CreateWebhookEndpoint(ctx, c.Company.UUID, ticketing.WebhookEndpointParams{
			URL: c.URL, Events: factTypes(c.Events),
		})
		if err != nil {
			return err
		}
		c.warn(ctx, p)
		err = p.showRecord(issued.ID.String(), issued, slices.Insert(endpointFields(issued.WebhookEndpoint), 1,
			field{"Secret", string(issued.Secret)})...)
		if err == nil && p.Quiet {
			fmt.Fprintf(p.stderr, "The signing secret was not shown. To get one, run \"ticketing webhook rotate %s\" and then "+
				"\"ticketing webhook activate %[1]s\".\n", issued.ID)
		}
		return outputErrorAfter(err,
			"the endpoint "+issued.ID.String()+" was registered but its secret could not be shown: delete it")
	})
}

func endpointFields(endpoint ticketing.WebhookEndpoint) []field {
	return []field{
		{"ID", endpoint.ID.String()},
		{"URL", endpoint.URL},
		{"Events", typeNames(endpoint.Events)},
		{"Status", string(endpoint.Status)},
		{"Next secret", map[bool]string{true: "prepared", false: "-"}[endpoint.PendingSecret]},
	}
}

// typeNames formats event types for a person, and for --events.
func typeNames(types []ticketing.FactType) string {
	names := make([]string, len(types))
	for i, kind := range types {
		names[i] = string(kind)
	}
	return strings.Join(names, ",")
}

type webhookList struct {
	companyArg
	listFlags
}

func (c *webhookList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		endpoints, err := op.ListWebhookEndpoints(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		columns := []column{ids("ID"), states("STATUS"), texts("URL"), texts("EVENTS").optional()}
		return p.list(c.listFlags, columns, func(list *list) error {
			return eachOf(endpoints, func(endpoint ticketing.WebhookEndpoint) error {
				return list.add(endpoint, endpoint.ID.String(), string(endpoint.Status), endpoint.URL,
					typeNames(endpoint.Events))
			})
		})
	})
}

type webhookShow struct{ endpointArg }

func (c *webhookShow) Run(ctx context.Context, p *program) error {
	return p.endpoint(ctx, nil, func(op ticketing.Operator) (ticketing.WebhookEndpoint, error) {
		return op.GetWebhookEndpoint(ctx, c.Endpoint.UUID)
	})
}

type webhookUpdate struct {
	endpointArg
	allowPrivate

	URL    *string  `help:"URL to deliver to from now on." name:"url" placeholder:"URL"`
	Events []string `help:"Event types to deliver from now on. They replace the old ones." placeholder:"TYPE"`
}

func (*webhookUpdate) Help() string {
	return `Pending deliveries keep the URL that they were made for. The event types are

` + webhookTypeList() + `
    ticketing webhook update ENDPOINT --url https://lagos.example/v2/hooks`
}

func (c *webhookUpdate) Run(ctx context.Context, p *program) error {
	if c.URL == nil && c.Events == nil {
		return badValue("nothing to change: give --url, --events or both")
	}
	return p.endpoint(ctx, c.config(), func(op ticketing.Operator) (ticketing.WebhookEndpoint, error) {
		endpoint, err := op.UpdateWebhookEndpoint(ctx, c.Endpoint.UUID, ticketing.WebhookEndpointUpdate{
			URL: c.URL, Events: factTypes(c.Events),
		})
		if err == nil {
			c.warn(ctx, p)
		}
		return endpoint, err
	})
}

type webhookEnable struct{ endpointArg }

func (*webhookEnable) Help() string {
	return `Events from the time when the endpoint was disabled are not delivered. "ticketing webhook replay" delivers ` +
		`those that were cancelled.`
}

func (c *webhookEnable) Run(ctx context.Context, p *program) error {
	return p.endpoint(ctx, nil, func(op ticketing.Operator) (ticketing.WebhookEndpoint, error) {
		return op.EnableWebhookEndpoint(ctx, c.Endpoint.UUID)
	})
}

type webhookDisable struct {
	endpointArg
	requiredConfirm
}

func (c *webhookDisable) Run(ctx context.Context, p *program) error {
	return p.endpoint(ctx, nil, func(op ticketing.Operator) (ticketing.WebhookEndpoint, error) {
		if err := c.asked(ctx, p, op, c.confirm, "Disable %s and cancel its pending deliveries?"); err != nil {
			return ticketing.WebhookEndpoint{}, err
		}
		return op.DisableWebhookEndpoint(ctx, c.Endpoint.UUID)
	})
}

// asked asks for confirmation of an action on the endpoint. The question names the endpoint.
func (c endpointArg) asked(
	ctx context.Context, p *program, op ticketing.Operator, confirm confirmer, question string,
) error {
	return confirm(p, func() (string, error) {
		endpoint, err := op.GetWebhookEndpoint(ctx, c.Endpoint.UUID)
		if err != nil {
			return "", err
		}
		name, err := companyNamed(ctx, op, endpoint.CompanyID)
		return fmt.Sprintf(question, fmt.Sprintf("the endpoint %s of the company %s", endpoint.URL, name)), err
	})
}

type webhookDelete struct {
	endpointArg
	requiredConfirm
}

func (*webhookDelete) Help() string {
	return `The endpoint no longer counts towards the company's ten. Its past deliveries can still be listed.`
}

func (c *webhookDelete) Run(ctx context.Context, p *program) error {
	return p.endpoint(ctx, nil, func(op ticketing.Operator) (ticketing.WebhookEndpoint, error) {
		err := c.asked(ctx, p, op, c.confirm, "Delete %s and cancel its pending deliveries?")
		if err != nil {
			return ticketing.WebhookEndpoint{}, err
		}
		endpoint, err := op.GetWebhookEndpoint(ctx, c.Endpoint.UUID)
		if err != nil {
			return endpoint, err
		}
		return endpoint, op.DeleteWebhookEndpoint(ctx, c.Endpoint.UUID)
	})
}

type webhookRotate struct{ endpointArg }

func (*webhookRotate) Help() string {
	return `The active secret keeps signing. With --quiet only the new secret is printed. Let the receiver accept ` +
		`both, then

    ticketing webhook activate ENDPOINT

Preparing again replaces a prepared secret that was not activated.`
}

func (c *webhookRotate) Run(ctx context.Context, p *program) error {
	outlivePipe()
	return p.operate(ctx, func(op ticketing.Operator) error {
		prepared, err := op.PrepareWebhookSecret(ctx, c.Endpoint.UUID)
		if err != nil {
			return err
		}
		err = p.showRecord(string(prepared.Secret), prepared,
			field{"ID", prepared.ID.String()},
			field{"Secret", string(prepared.Secret)},
		)
		return outputErrorAfter(err, "a secret was prepared for the endpoint "+prepared.ID.String()+
			" but could not be shown: prepare another")
	})
}

type webhookActivate struct {
	endpointArg
	optionalConfirm
}

func (*webhookActivate) Help() string {
	return `The receiver must accept the prepared secret by now. It must also accept the old one until the deliveries ` +
		`signed with it have ended: ten minutes, and longer if the receiver is down.`
}

func (c *webhookActivate) Run(ctx context.Context, p *program) error {
	return p.endpoint(ctx, nil, func(op ticketing.Operator) (ticketing.WebhookEndpoint, error) {
		err := c.asked(ctx, p, op, c.confirm, "Activate the prepared secret of %s? "+
			"The old one signs nothing new afterwards.")
		if err != nil {
			return ticketing.WebhookEndpoint{}, err
		}
		return op.ActivateWebhookSecret(ctx, c.Endpoint.UUID)
	})
}

// endpoint runs do, which returns an endpoint, and prints the endpoint.
func (p *program) endpoint(
	ctx context.Context, cfg *ticketing.Config, do func(op ticketing.Operator) (ticketing.WebhookEndpoint, error),
) error {
	return p.operateWith(ctx, cfg, func(op ticketing.Operator) error {
		endpoint, err := do(op)
		if err != nil {
			return err
		}
		return p.showRecord(endpoint.ID.String(), endpoint, endpointFields(endpoint)...)
	})
}

type webhookReseal struct{}

func (*webhookReseal) Help() string {
	return `This is a step of replacing the master secret: give the new secret first, then the old one. It is safe to ` +
		`repeat, and deliveries continue. "Left" are those that could not be re-encrypted; they still need the old secret.

    TICKETING_SECRET_KEY=NEW,OLD ticketing webhook reseal`
}

func (*webhookReseal) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		done, err := op.ReencryptWebhookSecrets(ctx)
		if err != nil {
			return err
		}
		return p.show(done,
			field{"Resealed", strconv.Itoa(done.Reencrypted)},
			field{"Left", strconv.Itoa(done.Left)},
		)
	})
}
