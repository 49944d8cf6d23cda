package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
)

func newEndpoint(company uuid.UUID, number64 int64) driver.WebhookEndpoint {
	return driver.WebhookEndpoint{
		CompanyID: company, Number: number64, ID: number(7000 + int(number64)), URL: "https://example.com/hooks",
		Events: []driver.FactType{driver.FactOrderCreated, driver.FactBalanceLow},
		Status: driver.WebhookEnabled, ActiveSecret: 1, LastSecret: 1, CreatedAt: minute(1), UpdatedAt: minute(1),
	}
}

// newDelivery returns a delivery that is pending and due from minute 3 on.
func newDelivery(company uuid.UUID, endpoint int64, n int) driver.Delivery {
	return driver.Delivery{
		CompanyID: company, CreatedAt: minute(2), ID: number(8000 + n), Endpoint: endpoint,
		EndpointID: number(7000 + int(endpoint)), MessageAt: minute(1), MessageID: number(9000 + n),
		Type: driver.FactOrderCreated, URL: "https://example.com/hooks", SecretVersion: 1,
		Status: driver.DeliveryPending, DueAt: minute(3),
	}
}

func newMessage(n int) driver.Message {
	return driver.Message{
		CompanyID: company, At: minute(1), ID: number(9000 + n), Type: driver.FactOrderCreated,
		Subject: number(1_000_001), Body: "{}",
	}
}

// dueWork returns a query for work of every kind.
func dueWork(at time.Time) driver.WorkQuery {
	return driver.WorkQuery{At: at, Limit: 10, After: []driver.DueWork{
		{Kind: driver.WorkDispatch},
		{Kind: driver.WorkPublish},
		{Kind: driver.WorkDeliver},
		{Kind: driver.WorkPrune},
		{Kind: driver.WorkPruneFacts},
		{Kind: driver.WorkMail},
		{Kind: driver.WorkPruneMail},
	}}
}

// hookWrites returns all calls that write and lock the records of webhooks.
func hookWrites(ctx context.Context, tx driver.Tx) []func() error {
	const limit = 10
	secrets := []driver.WebhookSecretRef{
		{CompanyID: company, Endpoint: 1, Version: 1}, {CompanyID: company, Endpoint: 1, Version: 2},
	}
	deliveries := []driver.Delivery{newDelivery(company, 1, 1), newDelivery(company, 1, 2)}
	return []func() error{
		func() error { return tx.CreateWebhookEndpoint(ctx, newEndpoint(company, 1)) },
		func() error { return tx.UpdateWebhookEndpoint(ctx, newEndpoint(company, 1)) },
		func() error {
			return tx.AppendWebhookSecret(ctx, driver.WebhookSecret{
				CompanyID: company, Endpoint: 1, Version: 1, CreatedAt: minute(1),
			})
		},
		func() error {
			return tx.UpdateWebhookSecret(ctx, driver.WebhookSecret{CompanyID: company, Endpoint: 1, Version: 1, Secret: "s1"})
		},
		func() error {
			facts, err := tx.TakeFacts(ctx, company, limit)
			if err != nil {
				return err
			}
			return tx.DispatchFacts(ctx, facts, false)
		},
		func() error {
			return tx.AppendMessages(ctx, []driver.Message{newMessage(1), newMessage(2), newMessage(3)})
		},
		func() error {
			return tx.UpdateMessages(ctx, []driver.Message{newMessage(1), newMessage(2)})
		},
		func() error {
			return tx.ForgetMessages(ctx, []driver.Order{
				{CompanyID: company, ID: number(1_000_001), ConfirmedAt: minute(1)},
				{CompanyID: company, ID: number(1_000_002), ConfirmedAt: minute(2)},
			})
		},
		func() error { return tx.AppendDeliveries(ctx, deliveries) },
		func() error {
			_, err := tx.ClaimDeliveries(ctx, driver.DeliveryClaim{
				CompanyID: company, Endpoint: 1, At: minute(4), Until: minute(5), Limit: limit,
			})
			return err
		},
		func() error {
			_, err := tx.LockDeliveries(ctx, []driver.DeliveryRef{
				{CompanyID: company, CreatedAt: minute(2), ID: number(8001)},
				{CompanyID: company, CreatedAt: minute(2), ID: number(8002)},
			})
			return err
		},
		func() error { return tx.UpdateDeliveries(ctx, deliveries) },
		func() error {
			_, err := tx.LockPending(ctx, driver.WebhookEndpointRef{CompanyID: company, Number: 1}, limit)
			return err
		},
		func() error { return tx.DeleteWebhookSecrets(ctx, secrets) },
	}
}

// hookEnds returns the calls that remove the records of webhooks.
func hookEnds(ctx context.Context, tx driver.Tx) []func() error {
	const limit = 10
	return []func() error{
		func() error { _, err := tx.PruneFacts(ctx, company, minute(1), limit); return err },
		func() error { _, err := tx.PruneDeliveries(ctx, company, minute(1), limit); return err },
		func() error { _, err := tx.PruneMessages(ctx, company, minute(1), limit); return err },
		func() error {
			return tx.DeleteWebhookEndpoint(ctx, driver.WebhookEndpointRef{CompanyID: company, Number: 1})
		},
	}
}

// hookReads returns all calls that read the records of webhooks.
func hookReads(ctx context.Context, tx driver.ReadTx) []func() error {
	const limit = 10
	secret := driver.WebhookSecretRef{CompanyID: company, Endpoint: 1, Version: 1}
	calls := []func() error{
		func() error { _, err := tx.ListWebhookEndpoints(ctx, company); return err },
		func() error { _, err := tx.FindWebhookEndpoint(ctx, number(7001)); return err },
		func() error {
			_, err := tx.WebhookSecrets(ctx, []driver.WebhookSecretRef{secret, {CompanyID: company, Endpoint: 1, Version: 2}})
			return err
		},
		func() error {
			_, err := tx.StaleWebhookSecrets(ctx, driver.StaleWebhookSecretQuery{SecretName: "x", After: secret, Limit: limit})
			return err
		},
		func() error { _, err := tx.RetiredWebhookSecrets(ctx, secret, limit); return err },
		func() error {
			_, err := tx.Messages(ctx, []driver.MessageRef{
				{CompanyID: company, At: minute(1), ID: number(9001)}, {CompanyID: company, At: minute(1), ID: number(9002)},
			})
			return err
		},
		func() error {
			_, err := tx.(driver.WaitingReader).Waiting(ctx, []driver.WorkKind{
				driver.WorkDispatch, driver.WorkPublish, driver.WorkDeliver, driver.WorkMail,
			}, limit)
			return err
		},
		func() error { _, err := tx.FindDelivery(ctx, number(8001)); return err },
		func() error { _, err := tx.DeliversUnder(ctx, secret); return err },
		func() error { _, err := tx.ListMessageDeliveries(ctx, company, number(9001), limit); return err },
		func() error {
			_, err := tx.EndpointHealth(ctx, driver.EndpointHealthQuery{
				Companies: []uuid.UUID{company, number(2)}, Since: minute(1), Most: limit,
			})
			return err
		},
		func() error { _, err := tx.DueWork(ctx, dueWork(minute(20))); return err },
	}
	for _, status := range []driver.DeliveryStatus{
		"", driver.DeliveryPending, driver.DeliverySucceeded, driver.DeliveryFailed, driver.DeliveryCancelled,
	} {
		for _, oldest := range []bool{false, true} {
			query := driver.DeliveryQuery{
				CompanyID: company, Status: status, Since: minute(1), Until: minute(600),
				After: driver.Position{At: minute(300), ID: number(9)}, OldestFirst: oldest, Limit: limit,
			}
			calls = append(calls,
				func() error { _, err := tx.ListDeliveries(ctx, query); return err },
				func() error {
					query.Until = minute(30)
					_, err := tx.CountDeliveries(ctx, query, 0)
					return err
				},
				func() error { _, err := tx.CountDeliveries(ctx, query, limit); return err })
		}
	}
	return calls
}

// TestAttemptsAreKept checks the stored form of attempts, which every later version must be able to read.
func TestAttemptsAreKept(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	furnish(t, s)
	delivery := newDelivery(company, 1, 1)
	delivery.Attempts = []driver.DeliveryAttempt{
		{At: driver.Time{Time: minute(1)}, Status: 503, DurationMS: 12, Error: "the receiver answered with 503"},
		{At: driver.Time{Time: minute(2)}, DurationMS: 10_000, Error: `no answer: "tls" <&>`},
		{At: driver.Time{Time: minute(3)}, Status: 200, DurationMS: 7},
	}
	written(t, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendDeliveries(ctx, []driver.Delivery{delivery})
	})
	is.Equal(texts(t, s.Writer().DB, "SELECT attempts FROM ticketing_webhook_deliveries"), []string{
		`[{"at":1772600467089,"status":503,"ms":12,"error":"the receiver answered with 503"},` +
			`{"at":1772600527089,"ms":10000,"error":"no answer: \"tls\" \u003c\u0026\u003e"},` +
			`{"at":1772600587089,"status":200,"ms":7}]`,
	})
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.FindDelivery(ctx, delivery.ID)
		is.Equal(found, delivery)
		return err
	}))
}
