package console

import (
	"context"
	"strings"

	"github.com/floatgate/ticketing"
)

// endpointDetail is what the page of an endpoint shows.
type endpointDetail struct {
	shownEndpoint

	Deliveries []ticketing.WebhookDelivery `json:"deliveries"` // the newest
}

// EventList returns the types that the endpoint subscribes to, as the value of a field.
func (d endpointDetail) EventList() string {
	names := make([]string, len(d.Events))
	for i, event := range d.Events {
		names[i] = string(event)
	}
	return strings.Join(names, ",")
}

// newestDeliveries is how many deliveries the page of an endpoint shows.
const newestDeliveries = 10

func loadEndpoint(ctx context.Context, c *call) (view, error) {
	endpoint, err := ownEndpoint(ctx, c)
	if err != nil {
		return view{}, err
	}
	health, err := healthByEndpoint(ctx, c)
	if err != nil {
		return view{}, err
	}
	newest, err := c.operator.ListDeliveries(ctx, c.companyID, ticketing.DeliveryFilter{EndpointID: endpoint.ID},
		ticketing.PageParams{Limit: newestDeliveries})
	if err != nil {
		return view{}, err
	}
	return view{data: endpointDetail{shownEndpoint{endpoint, health[endpoint.ID]}, newest.Items}}, nil
}

// ownEndpoint returns the endpoint of the path. Staff can reach the endpoints of every company, but here only those of
// the company in the path.
func ownEndpoint(ctx context.Context, c *call) (ticketing.WebhookEndpoint, error) {
	endpoint, err := c.operator.GetWebhookEndpoint(ctx, c.pathID("endpointId"))
	if err == nil && endpoint.CompanyID != c.companyID {
		err = missing("The webhook endpoint")
	}
	return endpoint, err
}

// onEndpoint returns an act on the endpoint of the path.
func onEndpoint[P any](
	run func(context.Context, *call, ticketing.WebhookEndpoint, P) (outcome, error),
) func(context.Context, *call, P) (outcome, error) {
	return func(ctx context.Context, c *call, params P) (outcome, error) {
		endpoint, err := ownEndpoint(ctx, c)
		if err != nil {
			return outcome{}, err
		}
		return run(ctx, c, endpoint, params)
	}
}

func updateEndpoint(
	ctx context.Context, c *call, endpoint ticketing.WebhookEndpoint, p endpointParams,
) (outcome, error) {
	// To the service an empty list means no change, but the person has cleared every box.
	if len(p.events) == 0 {
		return outcome{}, invalid("events: must have at least one event type")
	}
	changed, err := c.operator.UpdateWebhookEndpoint(ctx, endpoint.ID,
		ticketing.WebhookEndpointUpdate{URL: &p.url, Events: p.events})
	return outcome{data: changed}, err
}

func enableEndpoint(ctx context.Context, c *call, endpoint ticketing.WebhookEndpoint, _ none) (outcome, error) {
	enabled, err := c.operator.EnableWebhookEndpoint(ctx, endpoint.ID)
	return outcome{data: enabled}, err
}

func disableEndpoint(ctx context.Context, c *call, endpoint ticketing.WebhookEndpoint, _ none) (outcome, error) {
	disabled, err := c.operator.DisableWebhookEndpoint(ctx, endpoint.ID)
	return outcome{data: disabled}, err
}

func deleteEndpoint(ctx context.Context, c *call, endpoint ticketing.WebhookEndpoint, _ none) (outcome, error) {
	err := c.operator.DeleteWebhookEndpoint(ctx, endpoint.ID)
	return outcome{data: struct{}{}, next: c.expand(webhooksPath)}, err
}

// preparedSecret is the next secret of an endpoint, which is shown once.
type preparedSecret struct {
	ticketing.PreparedWebhookSecret
}

// SecretText returns the secret itself.
func (p preparedSecret) SecretText() string { return string(p.Secret) }

func prepareSecret(ctx context.Context, c *call, endpoint ticketing.WebhookEndpoint, _ none) (outcome, error) {
	prepared, err := c.operator.PrepareWebhookSecret(ctx, endpoint.ID)
	return outcome{data: preparedSecret{prepared}, show: "webhook-secret.html"}, err
}

func activateSecret(ctx context.Context, c *call, endpoint ticketing.WebhookEndpoint, _ none) (outcome, error) {
	activated, err := c.operator.ActivateWebhookSecret(ctx, endpoint.ID)
	return outcome{data: activated}, err
}
