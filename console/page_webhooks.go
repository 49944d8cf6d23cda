package console

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const (
	webhooksPath   = "/business/{companyId}/webhooks"
	endpointPath   = webhooksPath + "/{endpointId}"
	deliveriesPath = webhooksPath + "/deliveries"
	deliveryPath   = deliveriesPath + "/{deliveryId}"
	replayPath     = webhooksPath + "/replay"
)

// webhookPages returns the pages of a company's webhooks.
func webhookPages() []page {
	read := []ticketing.Permission{ticketing.PermissionWebhookRead}
	filter := withZone(deliveryFilterNames())
	return []page{
		{
			group: groupIntegrations, bar: true,
			path: webhooksPath, scope: scopeCompany, title: "Webhooks", nav: "Webhooks", icon: "hook", permissions: read,
			template: "webhooks.html", load: loadWebhooks, live: []ticketing.WatchTopic{ticketing.WatchDeliveries},
		},
		{
			path: endpointPath, scope: scopeCompany, title: "Webhook endpoint", permissions: read, template: "endpoint.html",
			load: loadEndpoint,
		},
		{
			path: deliveriesPath, scope: scopeCompany, title: "Deliveries", permissions: read, template: "deliveries.html",
			query: append([]string{"cursor"}, filter...), load: loadDeliveries,
			live: []ticketing.WatchTopic{ticketing.WatchDeliveries},
		},
		{
			path: deliveryPath, scope: scopeCompany, title: "Delivery", permissions: read, template: "delivery.html",
			load: loadDelivery, live: []ticketing.WatchTopic{ticketing.WatchDelivery, ticketing.WatchDeliveries},
		},
		{
			path: replayPath, scope: scopeCompany, title: "Replay deliveries",
			permissions: []ticketing.Permission{ticketing.PermissionWebhookRead, ticketing.PermissionWebhookReplay},
			template:    "replay.html", query: filter, load: loadReplay,
		},
	}
}

// webhookActs returns the acts about a company's webhooks. The paths of an endpoint's acts have a word between its id
// and the verb. Without it, they could not be distinguished from the act of a delivery with the id "enable".
func webhookActs() []act {
	const manage, replay = ticketing.PermissionWebhookManage, ticketing.PermissionWebhookReplay
	return []act{
		newAct(act{
			name: "webhook.create", scope: scopeCompany, path: webhooksPath + "/create", page: webhooksPath,
			permission: manage, recent: true,
		}, readEndpoint, createEndpoint),
		newAct(act{
			name: "webhook.trigger", scope: scopeCompany, path: webhooksPath + "/sample", page: webhooksPath,
			permission: manage,
		}, readSample, sendSample),
		newAct(act{
			name: "webhook.update", scope: scopeCompany, path: endpointPath + "/endpoint/update", page: endpointPath,
			permission: manage, done: "The endpoint was changed.",
		}, readEndpoint, onEndpoint(updateEndpoint)),
		newAct(act{
			name: "webhook.enable", scope: scopeCompany, path: endpointPath + "/endpoint/enable", page: endpointPath,
			permission: manage, done: "The endpoint is enabled. It receives events from now on.",
		}, noMembers, onEndpoint(enableEndpoint)),
		newAct(act{
			name: "webhook.disable", scope: scopeCompany, path: endpointPath + "/endpoint/disable", page: endpointPath,
			permission: manage, done: "The endpoint is disabled. Its waiting deliveries were cancelled.",
		}, noMembers, onEndpoint(disableEndpoint)),
		newAct(act{
			name: "webhook.delete", scope: scopeCompany, path: endpointPath + "/endpoint/delete", page: endpointPath,
			permission: manage, done: "The endpoint was deleted.",
		}, noMembers, onEndpoint(deleteEndpoint)),
		newAct(act{
			name: "webhook.prepare_secret", scope: scopeCompany, path: endpointPath + "/secret/prepare", page: endpointPath,
			permission: manage, recent: true,
		}, noMembers, onEndpoint(prepareSecret)),
		newAct(act{
			name: "webhook.activate_secret", scope: scopeCompany, path: endpointPath + "/secret/activate", page: endpointPath,
			permission: manage, done: "Deliveries are now signed with the new secret.",
		}, noMembers, onEndpoint(activateSecret)),
		newAct(act{
			name: "webhook.replay", scope: scopeCompany, path: deliveryPath + "/replay", page: deliveryPath,
			permission: replay, done: "The event is being delivered again. This page shows the new delivery.",
		}, noMembers, replayDelivery),
		newAct(act{
			name: "webhook.replay_many", scope: scopeCompany, path: replayPath + "/start", page: replayPath, permission: replay,
		}, readReplay, replayDeliveries),
	}
}

// shownEndpoint is an endpoint with its health.
type shownEndpoint struct {
	ticketing.WebhookEndpoint

	Health ticketing.EndpointHealth `json:"health"`
}

// webhookList is what the first page of webhooks shows.
type webhookList struct {
	itemList[shownEndpoint]

	Most int // endpoints
	Full bool
}

func loadWebhooks(ctx context.Context, c *call) (view, error) {
	endpoints, err := endpointsWithHealth(ctx, c)
	shown := webhookList{Most: ticketing.MaxWebhookEndpoints, Full: len(endpoints) >= ticketing.MaxWebhookEndpoints}
	shown.Items = endpoints
	return view{data: shown}, err
}

func endpointsWithHealth(ctx context.Context, c *call) ([]shownEndpoint, error) {
	endpoints, err := c.operator.ListWebhookEndpoints(ctx, c.companyID)
	if err != nil {
		return nil, err
	}
	health, err := healthByEndpoint(ctx, c)
	if err != nil {
		return nil, err
	}
	var shown []shownEndpoint
	for _, endpoint := range endpoints {
		shown = append(shown, shownEndpoint{endpoint, health[endpoint.ID]})
	}
	return shown, nil
}

func healthByEndpoint(ctx context.Context, c *call) (map[uuid.UUID]ticketing.EndpointHealth, error) {
	all, err := c.operator.EndpointHealth(ctx, c.companyID)
	of := make(map[uuid.UUID]ticketing.EndpointHealth, len(all))
	for _, one := range all {
		of[one.EndpointID] = one
	}
	return of, err
}

// endpointParams are the members of a new and of a changed endpoint.
type endpointParams struct {
	url    string
	events []ticketing.FactType
}

func readEndpoint(m *members) endpointParams {
	return endpointParams{url: m.text("url"), events: enums[ticketing.FactType](m, "events")}
}

// issuedEndpoint is a new endpoint with its secret, which is shown once.
type issuedEndpoint struct {
	ticketing.IssuedWebhookEndpoint
}

// SecretText returns the secret itself.
func (i issuedEndpoint) SecretText() string { return string(i.Secret) }

func createEndpoint(ctx context.Context, c *call, p endpointParams) (outcome, error) {
	issued, err := c.operator.CreateWebhookEndpoint(ctx, c.companyID,
		ticketing.WebhookEndpointParams{URL: p.url, Events: p.events})
	return outcome{data: issuedEndpoint{issued}, show: "webhook-created.html"}, err
}

func readSample(m *members) ticketing.FactType { return enum[ticketing.FactType](m, "type") }

func sendSample(ctx context.Context, c *call, event ticketing.FactType) (outcome, error) {
	sent, err := c.operator.TriggerWebhook(ctx, c.companyID, event)
	return outcome{
		data: sent, done: "A sample of " + string(event) + " is on its way.", next: c.expand(deliveriesPath),
	}, err
}
