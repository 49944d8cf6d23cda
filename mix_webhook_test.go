package ticketing_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// everyOther is a receiver that accepts every second webhook.
type everyOther struct{ posts atomic.Int64 }

func (e *everyOther) Post(context.Context, ticketing.WebhookRequest) (int, error) {
	return 200 + 300*int(e.posts.Add(1)%2), nil
}

func mixedSender(t testing.TB, shop *ticketingtest.Shop) *ticketing.Service {
	t.Helper()
	svc, err := ticketing.New(shop.Store, &ticketing.Config{
		SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, Sender: new(everyOther),
	})
	is.New(t).NoErr(err)
	return svc
}

// endpoint returns one of the webhook endpoints of a company, or uuid.Nil if it has none.
func (a actor) endpoint(ctx context.Context) (uuid.UUID, error) {
	endpoints, err := a.staff.ListWebhookEndpoints(ctx, a.company())
	if err != nil || len(endpoints) == 0 {
		return uuid.Nil, err
	}
	return endpoints[a.choose(len(endpoints), "endpoint")].ID, nil
}

func (a actor) webhook(ctx context.Context) error {
	if a.choose(2, "new") == 0 {
		_, err := a.staff.CreateWebhookEndpoint(ctx, a.company(), hookParams())
		return err
	}
	id, err := a.endpoint(ctx)
	if err == nil {
		_, err = a.staff.UpdateWebhookEndpoint(ctx, id, ticketing.WebhookEndpointUpdate{
			Events: ticketing.WebhookEventTypes()[a.choose(4, "type"):],
		})
	}
	return err
}

func (a actor) webhookSecret(ctx context.Context) error {
	id, err := a.endpoint(ctx)
	switch {
	case err != nil:
	case a.choose(2, "step") == 0:
		_, err = a.staff.PrepareWebhookSecret(ctx, id)
	default:
		_, err = a.staff.ActivateWebhookSecret(ctx, id)
	}
	return err
}

func (a actor) webhookStatus(ctx context.Context) error {
	id, err := a.endpoint(ctx)
	switch {
	case err != nil:
	case a.often("enable"):
		_, err = a.staff.EnableWebhookEndpoint(ctx, id)
	default:
		_, err = a.staff.DisableWebhookEndpoint(ctx, id)
	}
	return err
}

func (a actor) deleteWebhook(ctx context.Context) error {
	id, err := a.endpoint(ctx)
	if err == nil && !a.often("leave it") {
		err = a.staff.DeleteWebhookEndpoint(ctx, id)
	}
	return err
}

// sendWebhooks runs one pass of a service with a sender of its own, since the services of a mix send nothing. In a
// transaction it does nothing.
func (a actor) sendWebhooks(ctx context.Context) error {
	if a.within {
		return nil
	}
	_, err := a.sender.SendWebhooks(ctx)
	return err
}

func (a actor) replay(ctx context.Context) error {
	company := a.company()
	if a.choose(3, "window") == 0 {
		_, err := a.staff.ReplayDeliveries(ctx, company, ticketing.ReplayParams{
			DeliveryFilter: ticketing.DeliveryFilter{Status: ticketing.DeliveryFailed}, Rate: 10_000,
		})
		return err
	}
	page, err := a.staff.ListDeliveries(ctx, company, ticketing.DeliveryFilter{}, ticketing.PageParams{})
	if err == nil && len(page.Items) > 0 {
		_, err = a.staff.ReplayDelivery(ctx, page.Items[a.choose(len(page.Items), "delivery")].ID)
	}
	return err
}

func (a actor) sample(ctx context.Context) error {
	company := a.company()
	_, err := a.staff.TriggerWebhook(ctx, company, ticketing.WebhookEventTypes()[a.choose(4, "type")])
	if err == nil {
		_, _, err = a.staff.TailWebhooks(ctx, company, ticketing.WebhookCursor{}, 0)
	}
	return err
}

// webhooksInOrder returns an error if an endpoint or a pending delivery has no signing secret, if a company has too
// many endpoints, or if a delivery to an endpoint that is not enabled is pending.
func webhooksInOrder(ctx context.Context, m *mix) error {
	return m.shop.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		for _, company := range m.companies {
			endpoints, err := tx.ListWebhookEndpoints(ctx, company)
			if err != nil {
				return err
			}
			if len(endpoints) > ticketing.MaxWebhookEndpoints {
				return fmt.Errorf("there are %d endpoints", len(endpoints))
			}
			var needed []driver.WebhookSecretRef
			enabled := make(map[int64]bool)
			for _, endpoint := range endpoints {
				enabled[endpoint.Number] = endpoint.Status == ticketing.WebhookEnabled
				for _, version := range []int64{endpoint.ActiveSecret, endpoint.PendingSecret} {
					if version != 0 {
						needed = append(needed, driver.WebhookSecretRef{
							CompanyID: company, Endpoint: endpoint.Number, Version: version,
						})
					}
				}
			}
			pending, err := tx.ListDeliveries(ctx, driver.DeliveryQuery{
				CompanyID: company, Status: ticketing.DeliveryPending, Limit: 10_000,
			})
			if err != nil {
				return err
			}
			for _, delivery := range pending {
				if !enabled[delivery.Endpoint] {
					return fmt.Errorf("delivery %s to endpoint %d is pending", delivery.ID, delivery.Endpoint)
				}
				needed = append(needed, driver.WebhookSecretRef{
					CompanyID: company, Endpoint: delivery.Endpoint, Version: delivery.SecretVersion,
				})
			}
			secrets, err := tx.WebhookSecrets(ctx, needed)
			if err != nil {
				return err
			}
			for n, secret := range secrets {
				if secret.Version == 0 {
					return fmt.Errorf("secret %d of endpoint %d is gone", needed[n].Version, needed[n].Endpoint)
				}
			}
		}
		return nil
	})
}
