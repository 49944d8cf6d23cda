package ticketing_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// hookFor gives a subject an endpoint, and a delivery to it whose retries are exhausted.
func (e *env) hookFor(t *testing.T, own *subject) {
	t.Helper()
	own.endpoint = e.hook(t, own.company).ID
	delivery := e.delivered(t, own.endpoint, 1, failed)[0]
	own.delivery, own.message = delivery.ID, delivery.MessageID
}

// hooks returns everything about a company's webhooks that an operator could have changed.
func (e *env) hooks(t *testing.T, own subject) []any {
	t.Helper()
	is := is.New(t)
	endpoints, err := e.staff.ListWebhookEndpoints(t.Context(), own.company)
	is.NoErr(err)
	deliveries, err := e.staff.ListDeliveries(t.Context(), own.company, ticketing.DeliveryFilter{}, ticketing.PageParams{})
	is.NoErr(err)
	var facts, kept string
	is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		written, err := tx.ListFacts(ctx, own.company, driver.Position{}, 100)
		if err != nil {
			return err
		}
		records, err := tx.ListWebhookEndpoints(ctx, own.company)
		facts, kept = fmt.Sprint(written), fmt.Sprint(records)
		return err
	}))
	return []any{endpoints, deliveries, facts, kept}
}

func prepareSecret(ctx context.Context, o ticketing.Operator, own subject) error {
	_, err := o.PrepareWebhookSecret(ctx, own.endpoint)
	return err
}

func disableHook(ctx context.Context, o ticketing.Operator, own subject) error {
	_, err := o.DisableWebhookEndpoint(ctx, own.endpoint)
	return err
}

func webhookRights() []right {
	const (
		read   = ticketing.PermissionWebhookRead
		manage = ticketing.PermissionWebhookManage
		replay = ticketing.PermissionWebhookReplay
	)
	rights := []right{
		{
			method: "CreateWebhookEndpoint", action: "webhook.create", permission: manage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.CreateWebhookEndpoint(ctx, own.company, hookParams())
				return err
			},
		},
		{
			method: "GetWebhookEndpoint", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetWebhookEndpoint(ctx, own.endpoint)
				return err
			},
		},
		{
			method: "ListWebhookEndpoints", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListWebhookEndpoints(ctx, own.company)
				return err
			},
		},
		{
			method: "UpdateWebhookEndpoint", action: "webhook.update", permission: manage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.UpdateWebhookEndpoint(ctx, own.endpoint, ticketing.WebhookEndpointUpdate{
					URL: of("https://other.adire.ng/"),
				})
				return err
			},
		},
		{
			method: "EnableWebhookEndpoint", action: "webhook.enable", permission: manage, before: disableHook,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.EnableWebhookEndpoint(ctx, own.endpoint)
				return err
			},
		},
		{method: "DisableWebhookEndpoint", action: "webhook.disable", permission: manage, call: disableHook},
		{
			method: "DeleteWebhookEndpoint", action: "webhook.delete", permission: manage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				return o.DeleteWebhookEndpoint(ctx, own.endpoint)
			},
		},
		{method: "PrepareWebhookSecret", action: "webhook.prepare_secret", permission: manage, call: prepareSecret},
		{
			method: "ActivateWebhookSecret", action: "webhook.activate_secret", permission: manage, before: prepareSecret,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ActivateWebhookSecret(ctx, own.endpoint)
				return err
			},
		},
		{
			method: "TriggerWebhook", action: "webhook.trigger", permission: manage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.TriggerWebhook(ctx, own.company, ticketing.FactOrderCreated)
				return err
			},
		},
		{
			method: "GetDelivery", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetDelivery(ctx, own.delivery)
				return err
			},
		},
		{
			method: "ListDeliveries", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListDeliveries(ctx, own.company, ticketing.DeliveryFilter{EndpointID: own.endpoint},
					ticketing.PageParams{})
				return err
			},
		},
		{
			method: "CountDeliveries", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.CountDeliveries(ctx, own.company, ticketing.DeliveryFilter{EndpointID: own.endpoint})
				return err
			},
		},
		{
			method: "CountDeliveriesTo", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.CountDeliveriesTo(ctx, own.company, ticketing.DeliveryFilter{EndpointID: own.endpoint}, 9)
				return err
			},
		},
		{
			method: "EndpointHealth", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.EndpointHealth(ctx, own.company)
				return err
			},
		},
		{
			method: "GetMessage", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetMessage(ctx, own.company, own.message)
				return err
			},
		},
		{
			method: "TailWebhooks", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, _, err := o.TailWebhooks(ctx, own.company, ticketing.WebhookCursor{}, 0)
				return err
			},
		},
		{
			method: "ReplayDelivery", action: "webhook.replay", permission: replay,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ReplayDelivery(ctx, own.delivery)
				return err
			},
		},
		{
			method: "ReplayDeliveries", action: "webhook.replay", permission: replay,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ReplayDeliveries(ctx, own.company, ticketing.ReplayParams{})
				return err
			},
		},
	}
	for i := range rights {
		rights[i].hooks = true
	}
	rights = append(rights, mailRights()...)
	return append(rights, right{
		method: "ReencryptWebhookSecrets", permission: ticketing.PermissionManage, platform: true,
		call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
			_, err := o.ReencryptWebhookSecrets(ctx)
			return err
		},
	})
}

// TestMembersRunTheirCompanysWebhooks checks that a member with the role VIEWER may read the company's webhooks, and
// that an administrator may manage and replay them.
func TestMembersRunTheirCompanysWebhooks(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own := e.subject(t)
		e.hookFor(t, &own)
		for _, test := range []struct {
			role                  ticketing.Role
			read, manage, replays ticketing.Code
		}{
			{ticketing.RoleViewer, "", ticketing.CodePermissionDenied, ticketing.CodePermissionDenied},
			{ticketing.RoleAdministrator, "", "", ""},
			{ticketing.RoleOwner, "", "", ""},
		} {
			_, err := e.staff.UpdateMember(t.Context(), own.company, own.user, test.role)
			is.NoErr(err)
			actor, err := e.Member(t.Context(), own.company, own.user)
			is.NoErr(err)
			member := e.As(actor)
			_, err = member.ListDeliveries(t.Context(), own.company, ticketing.DeliveryFilter{}, ticketing.PageParams{})
			is.Equal(code(err), test.read)
			_, err = member.PrepareWebhookSecret(t.Context(), own.endpoint)
			is.Equal(code(err), test.manage)
			_, err = member.ReplayDelivery(t.Context(), own.delivery)
			is.Equal(code(err), test.replays)
		}
	})
}
