package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// webhookMutations returns the mutations of a company's webhook endpoints, their secrets and their deliveries.
func webhookMutations() []mutation {
	return []mutation{
		{
			name: "register an endpoint",
			do:   registerHook,
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				endpoints, err := f.hooksOf(ctx, n)
				return once(len(endpoints), err)
			},
			after: deleteHooks,
		},
		{
			name:  "change an endpoint",
			ready: registerHook,
			do: toHook(func(ctx context.Context, f fixture, endpoint ticketing.WebhookEndpoint) error {
				_, err := f.staff.UpdateWebhookEndpoint(ctx, endpoint.ID, ticketing.WebhookEndpointUpdate{
					URL: of(endpoint.URL + "/changed"), Events: []ticketing.FactType{ticketing.FactBalanceLow},
				})
				return err
			}),
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				endpoints, err := f.staff.ListWebhookEndpoints(ctx, f.company)
				if err != nil {
					return false, err
				}
				changed := endpoints[0].URL == hookNumber(n)+"/changed"
				if changed != (endpoints[0].Events[0] == ticketing.FactBalanceLow) {
					err = errHalfDone
				}
				return changed, err
			},
			after: deleteHooks,
		},
		{
			name:  "disable an endpoint",
			ready: deliverTo(ticketing.DeliveryPending),
			do: toHook(func(ctx context.Context, f fixture, endpoint ticketing.WebhookEndpoint) error {
				_, err := f.staff.DisableWebhookEndpoint(ctx, endpoint.ID)
				return err
			}),
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				endpoints, err := f.hooksOf(ctx, n)
				if err != nil {
					return false, err
				}
				disabled := endpoints[0].Status == ticketing.WebhookDisabled
				pending, err := f.deliveries(ctx, ticketing.DeliveryPending)
				if err == nil && disabled == (pending > 0) {
					err = errHalfDone
				}
				return disabled, err
			},
			after: deleteHooks,
		},
		{
			name: "enable an endpoint",
			ready: func(ctx context.Context, f fixture, n int) error {
				err := registerHook(ctx, f, n)
				endpoints, failed := f.hooksOf(ctx, n)
				if err = errors.Join(err, failed); err == nil {
					_, err = f.staff.DisableWebhookEndpoint(ctx, endpoints[0].ID)
				}
				return err
			},
			do: toHook(func(ctx context.Context, f fixture, endpoint ticketing.WebhookEndpoint) error {
				_, err := f.staff.EnableWebhookEndpoint(ctx, endpoint.ID)
				return err
			}),
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				endpoints, err := f.hooksOf(ctx, n)
				return err == nil && endpoints[0].Status == ticketing.WebhookEnabled, err
			},
			after: deleteHooks,
		},
		{
			name:  "delete an endpoint",
			ready: deliverTo(ticketing.DeliveryPending),
			do: toHook(func(ctx context.Context, f fixture, endpoint ticketing.WebhookEndpoint) error {
				return f.staff.DeleteWebhookEndpoint(ctx, endpoint.ID)
			}),
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				endpoints, err := f.hooksOf(ctx, n)
				if err != nil {
					return false, err
				}
				pending, err := f.deliveries(ctx, ticketing.DeliveryPending)
				if err == nil && len(endpoints) != pending {
					err = errHalfDone
				}
				return len(endpoints) == 0, err
			},
			after: deleteHooks,
		},
		{
			name:  "prepare a webhook secret",
			ready: registerHook,
			do:    prepareHook,
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				endpoints, err := f.hooksOf(ctx, n)
				return err == nil && endpoints[0].PendingSecret, err
			},
			after: deleteHooks,
		},
		{
			name: "activate a webhook secret",
			ready: func(ctx context.Context, f fixture, n int) error {
				if err := registerHook(ctx, f, n); err != nil {
					return err
				}
				return prepareHook(ctx, f, n)
			},
			do: toHook(func(ctx context.Context, f fixture, endpoint ticketing.WebhookEndpoint) error {
				_, err := f.staff.ActivateWebhookSecret(ctx, endpoint.ID)
				return err
			}),
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				endpoints, err := f.hooksOf(ctx, n)
				return err == nil && !endpoints[0].PendingSecret, err
			},
			after: deleteHooks,
		},
		{
			name:  "replay a delivery",
			ready: deliverTo(ticketing.DeliveryFailed),
			do: toHook(func(ctx context.Context, f fixture, endpoint ticketing.WebhookEndpoint) error {
				page, err := f.staff.ListDeliveries(ctx, f.company, ticketing.DeliveryFilter{EndpointID: endpoint.ID},
					ticketing.PageParams{Limit: 1})
				if err == nil {
					_, err = f.staff.ReplayDelivery(ctx, page.Items[0].ID)
				}
				return err
			}),
			made:  replayMade,
			after: deleteHooks,
		},
		{
			name:  "replay a window",
			ready: deliverTo(ticketing.DeliveryFailed),
			do: toHook(func(ctx context.Context, f fixture, endpoint ticketing.WebhookEndpoint) error {
				_, err := f.staff.ReplayDeliveries(ctx, f.company, ticketing.ReplayParams{
					DeliveryFilter: ticketing.DeliveryFilter{EndpointID: endpoint.ID, Status: ticketing.DeliveryFailed},
				})
				return err
			}),
			made:  replayMade,
			after: deleteHooks,
		},
	}
}

func hookNumber(n int) string { return fmt.Sprintf("https://hooks.adire.ng/%d", n) }

func registerHook(ctx context.Context, f fixture, n int) error {
	_, err := f.staff.CreateWebhookEndpoint(ctx, f.company, ticketing.WebhookEndpointParams{
		URL: hookNumber(n), Events: []ticketing.FactType{ticketing.FactOrderCreated},
	})
	return err
}

func prepareHook(ctx context.Context, f fixture, n int) error {
	endpoints, err := f.hooksOf(ctx, n)
	if err == nil {
		_, err = f.staff.PrepareWebhookSecret(ctx, endpoints[0].ID)
	}
	return err
}

// toHook returns a function that calls do with the endpoint that was made for the n-th mutation.
func toHook(
	do func(ctx context.Context, f fixture, endpoint ticketing.WebhookEndpoint) error,
) func(ctx context.Context, f fixture, n int) error {
	return func(ctx context.Context, f fixture, n int) error {
		endpoints, err := f.hooksOf(ctx, n)
		if err != nil {
			return err
		}
		return do(ctx, f, endpoints[0])
	}
}

// hooksOf returns the endpoints that were made for the n-th mutation.
func (f fixture) hooksOf(ctx context.Context, n int) ([]ticketing.WebhookEndpoint, error) {
	endpoints, err := f.staff.ListWebhookEndpoints(ctx, f.company)
	return slices.DeleteFunc(endpoints, func(endpoint ticketing.WebhookEndpoint) bool {
		return endpoint.URL != hookNumber(n)
	}), err
}

func (f fixture) deliveries(ctx context.Context, status ticketing.DeliveryStatus) (int, error) {
	return f.staff.CountDeliveries(ctx, f.company, ticketing.DeliveryFilter{Status: status})
}

// replayMade reports whether there is a pending replay.
func replayMade(ctx context.Context, f fixture, _ int) (bool, error) {
	pending, err := f.deliveries(ctx, ticketing.DeliveryPending)
	return once(pending, err)
}

// deleteHooks deletes all endpoints, which also cancels their pending deliveries.
func deleteHooks(ctx context.Context, f fixture, _ int) error {
	endpoints, err := f.staff.ListWebhookEndpoints(ctx, f.company)
	for _, endpoint := range endpoints {
		err = errors.Join(err, f.staff.DeleteWebhookEndpoint(ctx, endpoint.ID))
	}
	return err
}

// deliverTo returns a function that registers an endpoint with a delivery to it.
func deliverTo(status ticketing.DeliveryStatus) func(ctx context.Context, f fixture, n int) error {
	return func(ctx context.Context, f fixture, n int) error {
		if err := registerHook(ctx, f, n); err != nil {
			return err
		}
		endpoints, err := f.hooksOf(ctx, n)
		if err != nil {
			return err
		}
		_, err = keepDelivery(ctx, f.keeper, endpoints[0].ID, status)
		return err
	}
}

// keepDelivery stores a delivery to an endpoint, as the delivery pipeline creates one.
func keepDelivery(
	ctx context.Context, store driver.Store, endpointID uuid.UUID, status ticketing.DeliveryStatus,
) (delivery driver.Delivery, err error) {
	var endpoint driver.WebhookEndpoint
	err = store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		endpoint, err = tx.FindWebhookEndpoint(ctx, endpointID)
		return err
	})
	if err != nil {
		return delivery, err
	}
	at := ticketingtest.Opening
	message := driver.Message{
		CompanyID: endpoint.CompanyID, At: at, ID: uuid.New(), Type: ticketing.FactOrderCreated, Subject: uuid.New(),
		Body: "{}",
	}
	delivery = driver.Delivery{
		CompanyID: endpoint.CompanyID, CreatedAt: at, ID: uuid.New(), Endpoint: endpoint.Number, EndpointID: endpointID,
		MessageAt: at, MessageID: message.ID, Type: message.Type, URL: endpoint.URL, SecretVersion: endpoint.ActiveSecret,
		Status: status, DueAt: at,
	}
	if status != ticketing.DeliveryPending {
		delivery.FinishedAt = at
	}
	return delivery, store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{endpoint.CompanyID}}); err != nil {
			return err
		}
		if err := tx.AppendMessages(ctx, []driver.Message{message}); err != nil {
			return err
		}
		return tx.AppendDeliveries(ctx, []driver.Delivery{delivery})
	})
}

// webhookContests returns the contests over the same endpoints, secrets or deliveries.
func webhookContests() []contest {
	registered := func(t *testing.T, a *admins, number int) []uuid.UUID {
		t.Helper()
		ids := make([]uuid.UUID, number)
		for n := range ids {
			made, err := a.Staff.CreateWebhookEndpoint(t.Context(), a.Company.ID, hookParams())
			is.New(t).NoErr(err)
			ids[n] = made.ID
		}
		return ids
	}
	delivered := func(t *testing.T, a *admins, endpoint uuid.UUID, status ticketing.DeliveryStatus) driver.Delivery {
		t.Helper()
		delivery, err := keepDelivery(t.Context(), a.Store, endpoint, status)
		is.New(t).NoErr(err)
		return delivery
	}
	kept := func(t *testing.T, a *admins, id uuid.UUID) (record driver.Delivery) {
		t.Helper()
		is.New(t).NoErr(a.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
			record, err = tx.FindDelivery(ctx, id)
			return err
		}))
		return record
	}
	return []contest{
		{
			name: "endpoints at the limit (6.2)",
			won:  1,
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				registered(t, a, ticketing.MaxWebhookEndpoints-1)
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.CreateWebhookEndpoint(ctx, a.Company.ID, hookParams())
				}
			},
			check: func(t *testing.T, a *admins, _ []attempt) {
				t.Helper()
				is := is.New(t)
				listed, err := a.Staff.ListWebhookEndpoints(t.Context(), a.Company.ID)
				is.NoErr(err)
				is.Equal(len(listed), ticketing.MaxWebhookEndpoints)
			},
		},
		{
			name: "activations of a webhook secret (6.5)",
			won:  1,
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				endpoint := registered(t, a, 1)[0]
				_, err := a.Staff.PrepareWebhookSecret(t.Context(), endpoint)
				is.New(t).NoErr(err)
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.ActivateWebhookSecret(ctx, endpoint)
				}
			},
			check: asListed,
		},
		{
			name: "preparations of a webhook secret (6.5)",
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				endpoint := registered(t, a, 1)[0]
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.PrepareWebhookSecret(ctx, endpoint)
				}
			},
			check: func(t *testing.T, a *admins, got []attempt) {
				t.Helper()
				is := is.New(t)
				var secrets []driver.WebhookSecret
				is.NoErr(a.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
					refs := make([]driver.WebhookSecretRef, numberOfAdmins+2)
					for n := range refs {
						refs[n] = driver.WebhookSecretRef{CompanyID: a.Company.ID, Endpoint: 1, Version: int64(n + 1)}
					}
					secrets, err = tx.WebhookSecrets(ctx, refs)
					return err
				}))
				found := 0
				for _, secret := range secrets {
					if secret.Version != 0 {
						found++
					}
				}
				is.Equal(found, 2) // These are the active secret and the one that was prepared last.
				seen := make(map[ticketing.WebhookSecret]bool)
				for _, one := range got {
					seen[one.result.(ticketing.PreparedWebhookSecret).Secret] = true
				}
				is.Equal(len(seen), numberOfAdmins)
			},
		},
		{
			name: "an activation and replays (6.5)",
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				endpoint := registered(t, a, 1)[0]
				failed := delivered(t, a, endpoint, ticketing.DeliveryFailed)
				_, err := a.Staff.PrepareWebhookSecret(t.Context(), endpoint)
				is.New(t).NoErr(err)
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					if n == 0 {
						return staff.ActivateWebhookSecret(ctx, endpoint)
					}
					return staff.ReplayDelivery(ctx, failed.ID)
				}
			},
			check: func(t *testing.T, a *admins, got []attempt) {
				t.Helper()
				is := is.New(t)
				for _, one := range got[1:] { // Each replay is signed with a secret that exists.
					version := kept(t, a, one.result.(ticketing.WebhookDelivery).ID).SecretVersion
					is.True(version == 1 || version == 2)
				}
			},
		},
		{
			name: "disabling and replays (3.5)",
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				endpoint := registered(t, a, 1)[0]
				failed := delivered(t, a, endpoint, ticketing.DeliveryFailed)
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					if n%4 == 0 {
						return staff.DisableWebhookEndpoint(ctx, endpoint)
					}
					replay, err := staff.ReplayDelivery(ctx, failed.ID)
					if code(err) == ticketing.CodeConflict {
						err = nil // It was disabled already.
					}
					return replay, err
				}
			},
			check: func(t *testing.T, a *admins, got []attempt) {
				t.Helper()
				for _, one := range got {
					if replay, ok := one.result.(ticketing.WebhookDelivery); ok && replay.ID != uuid.Nil {
						is.New(t).Equal(kept(t, a, replay.ID).Status, ticketing.DeliveryCancelled) // No replay is left pending.
					}
				}
			},
		},
		{
			name: "deletion and claims",
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				endpoint := registered(t, a, 1)[0]
				for range 20 {
					delivered(t, a, endpoint, ticketing.DeliveryPending)
				}
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					if n == 0 {
						return nil, staff.DeleteWebhookEndpoint(ctx, endpoint)
					}
					return nil, a.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) (err error) {
						if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{a.Company.ID}}); err != nil {
							return err
						}
						_, err = tx.ClaimDeliveries(ctx, driver.DeliveryClaim{
							CompanyID: a.Company.ID, Endpoint: 1, At: ticketingtest.Opening, Until: ticketingtest.Opening.AddDate(1, 0, 0),
							Limit: 3,
						})
						return err
					})
				}
			},
			check: func(t *testing.T, a *admins, _ []attempt) {
				t.Helper()
				is := is.New(t)
				var all []driver.Delivery
				is.NoErr(a.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
					all, err = tx.ListDeliveries(ctx, driver.DeliveryQuery{CompanyID: a.Company.ID, Limit: 100})
					return err
				}))
				is.Equal(len(all), 20)
				// A delivery in flight is cancelled when its attempt fails. All others are cancelled already.
				for _, delivery := range all {
					is.Equal(delivery.Status == ticketing.DeliveryPending, !delivery.LeasedUntil.IsZero())
					is.Equal(delivery.Cancelling, delivery.Status == ticketing.DeliveryPending)
				}
			},
		},
		{
			name: "endpoints that are disabled and enabled",
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				endpoint := registered(t, a, 1)[0]
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					if n%4 < 2 {
						return staff.DisableWebhookEndpoint(ctx, endpoint)
					}
					return staff.EnableWebhookEndpoint(ctx, endpoint)
				}
			},
		},
	}
}

// asListed checks that the winner's result is the endpoint that is stored.
func asListed(t *testing.T, a *admins, got []attempt) {
	t.Helper()
	is := is.New(t)
	listed, err := a.Staff.ListWebhookEndpoints(t.Context(), a.Company.ID)
	is.NoErr(err)
	for _, one := range got {
		if one.err == nil {
			is.Equal(one.result, listed[0])
		}
	}
}
