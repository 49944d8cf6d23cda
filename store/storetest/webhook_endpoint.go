package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func newEndpoint(companyID uuid.UUID, number int64) driver.WebhookEndpoint {
	return driver.WebhookEndpoint{
		CompanyID: companyID, Number: number, ID: id(300_000 + int(number)), URL: "https://example.com/%20a?b=c#d",
		Events: []driver.FactType{driver.FactTicketValidated, driver.FactOrderCreated},
		Status: driver.WebhookEnabled, ActiveSecret: 1, LastSecret: 1, CreatedAt: at(200), UpdatedAt: at(201),
	}
}

func signingSecret(companyID uuid.UUID, endpoint, version int64) driver.WebhookSecret {
	return driver.WebhookSecret{
		CompanyID: companyID, Endpoint: endpoint, Version: version, Secret: fmt.Sprintf("s1:%016x:sealed", version),
		CreatedAt: at(202),
	}
}

func signingSecretRef(companyID uuid.UUID, endpoint, version int64) driver.WebhookSecretRef {
	return driver.WebhookSecretRef{CompanyID: companyID, Endpoint: endpoint, Version: version}
}

func endpointKinds() []record {
	kept := newEndpoint(companyA, 1)
	changed := kept
	changed.URL, changed.Events = "https://example.org/", []driver.FactType{driver.FactBalanceLow}
	changed.Status, changed.UpdatedAt = driver.WebhookDisabled, at(210)
	changed.ActiveSecret, changed.PendingSecret, changed.LastSecret = 2, 4, 5
	holds := func(found driver.WebhookEndpoint, listed ...driver.WebhookEndpoint) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("FindWebhookEndpoint", found).from(tx.FindWebhookEndpoint(ctx, kept.ID)),
				want("ListWebhookEndpoints", listed).from(tx.ListWebhookEndpoints(ctx, companyA)),
				want("of another company", []driver.WebhookEndpoint(nil)).from(tx.ListWebhookEndpoints(ctx, companyB)),
			)
		}
	}
	put := func(endpoint driver.WebhookEndpoint) writes {
		return func(ctx context.Context, tx driver.Tx) error { return tx.CreateWebhookEndpoint(ctx, endpoint) }
	}
	sameNumber, sameID := newEndpoint(companyA, 2), newEndpoint(companyA, 2)
	sameNumber.Number, sameID.ID = kept.Number, kept.ID
	return []record{{
		name: "webhook endpoints", create: put(kept), created: holds(kept, kept),
		absent: holds(driver.WebhookEndpoint{}),
		change: func(ctx context.Context, tx driver.Tx) error {
			// The fields that an endpoint keeps for life must stay unchanged.
			other := changed
			other.ID, other.CreatedAt = id(9), at(211)
			return tx.UpdateWebhookEndpoint(ctx, other)
		},
		changed: holds(changed, changed),
		taken:   map[string]writes{"number": put(sameNumber), "id": put(sameID)},
	}}
}

func signingSecretKinds() []record {
	kept := signingSecret(companyA, 1, 3)
	changed := kept
	changed.Secret = "s1:00000000000000ff:again"
	holds := func(found driver.WebhookSecret) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return want("WebhookSecrets", []driver.WebhookSecret{found}).
				from(tx.WebhookSecrets(ctx, []driver.WebhookSecretRef{signingSecretRef(companyA, 1, 3)}))
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error { return tx.AppendWebhookSecret(ctx, kept) }
	return []record{{
		name: "webhook secrets", create: create, created: holds(kept), absent: holds(driver.WebhookSecret{}),
		change: func(ctx context.Context, tx driver.Tx) error {
			other := changed
			other.CreatedAt = at(211)
			return tx.UpdateWebhookSecret(ctx, other)
		},
		changed: holds(changed), taken: map[string]writes{"version": create},
	}}
}

func endpointChecks() []Check {
	return []Check{
		{"webhook endpoints/list is in order and of its company", grounded(endpointsListed)},
		{"webhook endpoints/one that is removed takes its secrets along", grounded(endpointRemoved)},
		{"webhook endpoints/a removal is taken back", grounded(endpointRestored)},
		{"webhook endpoints/are sound", grounded(endpointsSound)},
		{"webhook secrets/answers are aligned and of their endpoint", grounded(signingSecretsAligned)},
		{"webhook secrets/those of another key are listed", grounded(signingSecretsStale)},
		{"webhook secrets/those that are neither active nor pending are listed", grounded(signingSecretsRetired)},
	}
}

func keepEndpoints(ctx context.Context, s driver.Store, endpoints ...driver.WebhookEndpoint) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, endpoint := range endpoints {
			if err := tx.CreateWebhookEndpoint(ctx, endpoint); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create endpoints: %w", err)
	}
	return nil
}

func keepSecrets(ctx context.Context, s driver.Store, secrets ...driver.WebhookSecret) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, secret := range secrets {
			if err := tx.AppendWebhookSecret(ctx, secret); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append signing secrets: %w", err)
	}
	return nil
}

func endpointsListed(ctx context.Context, s driver.Store) error {
	// By number, not by id or time.
	first, second, tenth := newEndpoint(companyA, 1), newEndpoint(companyA, 2), newEndpoint(companyA, 10)
	first.ID, first.CreatedAt = id(400_000), at(900)
	foreign := newEndpoint(companyB, 1)
	if err := keepEndpoints(ctx, s, tenth, foreign, second, first); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("endpoints", []driver.WebhookEndpoint{first, second, tenth}).from(tx.ListWebhookEndpoints(ctx, companyA)),
			want("of another company", []driver.WebhookEndpoint{foreign}).from(tx.ListWebhookEndpoints(ctx, companyB)),
			want("by its id", foreign).from(tx.FindWebhookEndpoint(ctx, foreign.ID)),
			want("of no id", driver.WebhookEndpoint{}).from(tx.FindWebhookEndpoint(ctx, uuid.Nil)),
		)
	})
}

// twoEndpoints creates two endpoints with their secrets, the first with two, and one of another company with the same
// number.
func twoEndpoints(ctx context.Context, s driver.Store) error {
	foreign := newEndpoint(companyB, 1)
	foreign.ID = id(400_000)
	return errors.Join(
		keepEndpoints(ctx, s, newEndpoint(companyA, 1), newEndpoint(companyA, 2), foreign),
		keepSecrets(ctx, s, signingSecret(companyA, 1, 1), signingSecret(companyA, 1, 2), signingSecret(companyA, 2, 1),
			signingSecret(companyB, 1, 1)),
	)
}

func twoEndpointsKept(removed bool) reads {
	return func(ctx context.Context, tx driver.ReadTx) error {
		endpoints := []driver.WebhookEndpoint{newEndpoint(companyA, 1), newEndpoint(companyA, 2)}
		secrets := []driver.WebhookSecret{
			signingSecret(companyA, 1, 1), signingSecret(companyA, 1, 2), signingSecret(companyA, 2, 1),
			signingSecret(companyB, 1, 1),
		}
		first := endpoints[0]
		if removed {
			endpoints, first = endpoints[1:], driver.WebhookEndpoint{}
			secrets[0], secrets[1] = driver.WebhookSecret{}, driver.WebhookSecret{}
		}
		return errors.Join(
			want("endpoints", endpoints).from(tx.ListWebhookEndpoints(ctx, companyA)),
			want("by its id", first).from(tx.FindWebhookEndpoint(ctx, newEndpoint(companyA, 1).ID)),
			want("secrets", secrets).from(tx.WebhookSecrets(ctx, []driver.WebhookSecretRef{
				signingSecretRef(companyA, 1, 1), signingSecretRef(companyA, 1, 2), signingSecretRef(companyA, 2, 1),
				signingSecretRef(companyB, 1, 1),
			})),
		)
	}
}

func endpointRemoved(ctx context.Context, s driver.Store) error {
	ref := driver.WebhookEndpointRef{CompanyID: companyA, Number: 1}
	remove := func(ctx context.Context, tx driver.Tx) error { return tx.DeleteWebhookEndpoint(ctx, ref) }
	delivery := newDelivery(companyA, 10, at(0))
	return steps(
		func() error { return misses("remove what is missing", update(ctx, s, remove)) },
		func() error { return twoEndpoints(ctx, s) },
		func() error { return keepDeliveries(ctx, s, delivery) },
		func() error { return update(ctx, s, remove) },
		func() error { return everywhere(ctx, s, twoEndpointsKept(true)) },
		func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want("its delivery", delivery).from(tx.FindDelivery(ctx, delivery.ID))
			})
		},
		// For a store, its number and id are free again, whatever the rules of the service are.
		func() error {
			return errors.Join(
				keepEndpoints(ctx, s, newEndpoint(companyA, 1)),
				keepSecrets(ctx, s, signingSecret(companyA, 1, 1)),
			)
		},
	)
}

func endpointRestored(ctx context.Context, s driver.Store) error {
	if err := twoEndpoints(ctx, s); err != nil {
		return err
	}
	err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			tx.DeleteWebhookSecrets(ctx, []driver.WebhookSecretRef{signingSecretRef(companyA, 2, 1)}),
			tx.DeleteWebhookEndpoint(ctx, driver.WebhookEndpointRef{CompanyID: companyA, Number: 1}),
		)
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, twoEndpointsKept(false))
}

func endpointsSound(ctx context.Context, s driver.Store) error {
	if err := keepEndpoints(ctx, s, newEndpoint(companyA, 1)); err != nil {
		return err
	}
	for name, spoil := range map[string]func(e *driver.WebhookEndpoint){
		"no event":                     func(e *driver.WebhookEndpoint) { e.Events = nil },
		"a status of its own":          func(e *driver.WebhookEndpoint) { e.Status = "PAUSED" },
		"no active secret":             func(e *driver.WebhookEndpoint) { e.ActiveSecret = 0 },
		"an active secret to come":     func(e *driver.WebhookEndpoint) { e.ActiveSecret = 2 },
		"a pending secret of the past": func(e *driver.WebhookEndpoint) { e.PendingSecret, e.LastSecret = 1, 2 },
		"a pending secret to come":     func(e *driver.WebhookEndpoint) { e.PendingSecret = 2 },
	} {
		created, changed := newEndpoint(companyA, 2), newEndpoint(companyA, 1)
		spoil(&created)
		spoil(&changed)
		err := errors.Join(
			refuses("create an endpoint with "+name, keepEndpoints(ctx, s, created)),
			refuses("change an endpoint to one with "+name, update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.UpdateWebhookEndpoint(ctx, changed)
			})),
		)
		if err != nil {
			return err
		}
	}
	zeroth := newEndpoint(companyA, 0)
	return errors.Join(
		refuses("create an endpoint without a number", keepEndpoints(ctx, s, zeroth)),
		refuses("append a secret without a version", keepSecrets(ctx, s, signingSecret(companyA, 1, 0))),
	)
}

func signingSecretsAligned(ctx context.Context, s driver.Store) error {
	one, two := signingSecret(companyA, 1, 1), signingSecret(companyA, 1, 2)
	other, foreign := signingSecret(companyA, 2, 1), signingSecret(companyB, 1, 1)
	other.Secret, foreign.Secret = "s1:00000000000000aa:x", "s1:00000000000000bb:x"
	if err := keepSecrets(ctx, s, two, foreign, one, other); err != nil {
		return err
	}
	aligned := func(found ...driver.WebhookSecret) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("with gaps, out of order and twice", found).from(tx.WebhookSecrets(ctx, []driver.WebhookSecretRef{
					signingSecretRef(companyA, 2, 1), signingSecretRef(companyA, 2, 2), signingSecretRef(companyA, 1, 2),
					{},
					signingSecretRef(companyB, 1, 1), signingSecretRef(companyA, 1, 1), signingSecretRef(companyA, 2, 1),
				})),
				want("none", []driver.WebhookSecret(nil)).from(tx.WebhookSecrets(ctx, nil)),
			)
		})
	}
	if err := aligned(other, driver.WebhookSecret{}, two, driver.WebhookSecret{}, foreign, one, other); err != nil {
		return err
	}
	none := driver.WebhookSecret{}
	for range 2 { // A secret that is gone already is no error.
		err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return tx.DeleteWebhookSecrets(ctx, []driver.WebhookSecretRef{
				signingSecretRef(companyA, 1, 2), signingSecretRef(companyB, 1, 1), signingSecretRef(companyA, 9, 9),
			})
		})
		if err != nil {
			return fmt.Errorf("delete secrets: %w", err)
		}
		if err := aligned(other, none, none, none, none, one, other); err != nil {
			return err
		}
	}
	return nil
}

func signingSecretsStale(ctx context.Context, s driver.Store) error {
	// The key's name is derived from the version.
	secrets := []driver.WebhookSecret{
		signingSecret(companyA, 1, 1), signingSecret(companyA, 1, 2), signingSecret(companyA, 2, 2),
		signingSecret(companyA, 10, 3), signingSecret(companyB, 1, 2),
	}
	if err := keepSecrets(ctx, s, secrets[4], secrets[3], secrets[1], secrets[0], secrets[2]); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		list := func(name string) func(*driver.WebhookSecret, int) ([]driver.WebhookSecret, error) {
			return func(after *driver.WebhookSecret, limit int) ([]driver.WebhookSecret, error) {
				query := driver.StaleWebhookSecretQuery{SecretName: name, Limit: limit}
				if after != nil {
					query.After = signingSecretRef(after.CompanyID, after.Endpoint, after.Version)
				}
				return tx.StaleWebhookSecrets(ctx, query)
			}
		}
		return errors.Join(
			pages(secrets, list(fmt.Sprintf("%016x", 9))),
			pages([]driver.WebhookSecret{secrets[0], secrets[3]}, list(fmt.Sprintf("%016x", 2))),
		)
	})
}

func signingSecretsRetired(ctx context.Context, s driver.Store) error {
	rotated, plain := newEndpoint(companyA, 1), newEndpoint(companyB, 1)
	rotated.ActiveSecret, rotated.PendingSecret, rotated.LastSecret = 3, 5, 5
	plain.ID = id(400_000)
	// Those of endpoint 2 belong to an endpoint that does not exist.
	retired := []driver.WebhookSecretRef{
		signingSecretRef(companyA, 1, 1), signingSecretRef(companyA, 1, 2), signingSecretRef(companyA, 1, 4),
		signingSecretRef(companyA, 2, 1), signingSecretRef(companyB, 1, 2),
	}
	err := errors.Join(
		keepEndpoints(ctx, s, rotated, plain),
		keepSecrets(ctx, s, signingSecret(companyA, 1, 3), signingSecret(companyA, 1, 5), signingSecret(companyB, 1, 1)),
	)
	for _, ref := range retired {
		err = errors.Join(err, keepSecrets(ctx, s, signingSecret(ref.CompanyID, ref.Endpoint, ref.Version)))
	}
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return pages(retired, func(after *driver.WebhookSecretRef, limit int) ([]driver.WebhookSecretRef, error) {
			var from driver.WebhookSecretRef
			if after != nil {
				from = *after
			}
			return tx.RetiredWebhookSecrets(ctx, from, limit)
		})
	})
}
