package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func apiKeyKinds() []record {
	kept := newAPIKey(companyA, 30, at(20))
	changed := kept
	changed.Status, changed.RevokedAt = driver.APIKeyRevoked, at(21)
	holds := func(found driver.APIKey, listed ...driver.APIKey) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("FindAPIKeys", []driver.APIKey{found}).from(tx.FindAPIKeys(ctx, []uuid.UUID{kept.ID})),
				want("APIKeys", []driver.APIKey{found}).
					from(tx.APIKeys(ctx, []driver.APIKeyRef{{CompanyID: companyA, ID: kept.ID}})),
				want("ListAPIKeys", listed).from(tx.ListAPIKeys(ctx, companyA, 9)),
			)
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error { return tx.CreateAPIKey(ctx, kept) }
	return []record{{
		name: "api keys", create: create, created: holds(kept, kept), absent: holds(driver.APIKey{}),
		change: func(ctx context.Context, tx driver.Tx) error {
			// Everything but the status and the time of revocation must stay unchanged.
			other := newAPIKey(companyA, 30, at(99))
			other.Name, other.Grants, other.Digest, other.LastUsedAt = "other", nil, "other", at(98)
			other.Status, other.RevokedAt = changed.Status, changed.RevokedAt
			return tx.UpdateAPIKey(ctx, other)
		},
		changed: holds(changed, changed),
		taken: map[string]writes{"id": func(ctx context.Context, tx driver.Tx) error {
			other := newAPIKey(companyA, 30, at(22))
			return tx.CreateAPIKey(ctx, other)
		}},
	}}
}

func apiKeyChecks() []Check {
	return []Check{
		{"api keys/answers are aligned and of their company", grounded(apiKeysAligned)},
		{"api keys/list is in order", grounded(apiKeysListed)},
		{"api keys/count is by status", grounded(apiKeysCounted)},
		{
			"api keys/secrets in use are those of active keys, current bank accounts and signing secrets",
			grounded(secretsInUse),
		},
		{"api keys/another company's is not changed", grounded(apiKeyOfAnother)},
		{"api keys/the last use is never earlier", grounded(apiKeysTouched)},
	}
}

func secretsInUse(ctx context.Context, s driver.Store) error {
	named := func(company uuid.UUID, id int, name string, status driver.APIKeyStatus) driver.APIKey {
		key := newAPIKey(company, id, at(20))
		key.Digest, key.Status = "v1:"+name+":rest", status
		return key
	}
	const first, second, third = "00000000000000aa", "00000000000000bb", "00000000000000cc"
	err := createAPIKeys(ctx, s, named(companyA, 30, second, driver.APIKeyActive),
		named(companyB, 31, first, driver.APIKeyActive), named(companyB, 32, second, driver.APIKeyActive),
		named(companyA, 33, third, driver.APIKeyRevoked))
	if err != nil {
		return err
	}
	holds := func(names ...string) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("SecretsInUse", names).from(tx.SecretsInUse(ctx))
		})
	}
	if err := holds(first, second); err != nil {
		return err
	}
	// A bank account that was replaced no longer needs its secret key.
	sealed := func(company uuid.UUID, version int64, name string) driver.BankAccount {
		account := newBankAccount(company, version)
		account.Number = "s1:" + name + ":rest"
		return account
	}
	const fourth = "00000000000000dd"
	for _, account := range []driver.BankAccount{
		sealed(companyA, 1, third), sealed(companyB, 1, first), sealed(companyA, 2, fourth),
	} {
		err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendBankAccount(ctx, account) })
		if err != nil {
			return fmt.Errorf("append a bank account: %w", err)
		}
	}
	if err := holds(first, second, fourth); err != nil {
		return err
	}
	signing := signingSecret(companyB, 1, 1)
	signing.Secret = "s1:" + third + ":rest"
	if err := keepSecrets(ctx, s, signing); err != nil {
		return err
	}
	return holds(first, second, third, fourth)
}

func createAPIKeys(ctx context.Context, s driver.Store, keys ...driver.APIKey) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, key := range keys {
			if err := tx.CreateAPIKey(ctx, key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create API keys: %w", err)
	}
	return nil
}

func apiKeysAligned(ctx context.Context, s driver.Store) error {
	a, b := newAPIKey(companyA, 30, at(20)), newAPIKey(companyB, 31, at(20))
	b.Grants = []driver.Grant{driver.GrantOrderRead}
	next := newAPIKey(companyA, 32, at(21))
	next.PredecessorID = a.ID
	if err := createAPIKeys(ctx, s, a, b, next); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("by id", []driver.APIKey{{}, b, next, a, b}).
				from(tx.FindAPIKeys(ctx, []uuid.UUID{id(90), b.ID, next.ID, a.ID, b.ID})),
			want("by reference", []driver.APIKey{b, {}, a, {}}).from(tx.APIKeys(ctx, []driver.APIKeyRef{
				{CompanyID: companyB, ID: b.ID},
				{CompanyID: companyA, ID: b.ID},
				{CompanyID: companyA, ID: a.ID},
				{CompanyID: companyB, ID: a.ID},
			})),
			want("none", []driver.APIKey(nil)).from(tx.FindAPIKeys(ctx, nil)),
		)
	})
}

func apiKeysListed(ctx context.Context, s driver.Store) error {
	order := []place{{30, 9}, {35, 7}, {36, 7}, {37, 7}, {31, 5}, {39, 1}}
	var keys []driver.APIKey
	for _, i := range []int{3, 0, 5, 1, 4, 2} {
		keys = append(keys, newAPIKey(companyA, order[i].id, at(order[i].ms)))
	}
	keys = append(keys, newAPIKey(companyB, 40, at(8)))
	if err := createAPIKeys(ctx, s, keys...); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for limit := 1; limit <= len(order)+1; limit++ {
			found, err := tx.ListAPIKeys(ctx, companyA, limit)
			err = want(fmt.Sprint("the newest ", limit), order[:min(limit, len(order))]).
				from(placesOf(found, err, func(k driver.APIKey) (time.Time, uuid.UUID) { return k.CreatedAt, k.ID }))
			if err != nil {
				return err
			}
		}
		return want("of none", []driver.APIKey(nil)).from(tx.ListAPIKeys(ctx, id(90), 9))
	})
}

func apiKeysCounted(ctx context.Context, s driver.Store) error {
	revoked := newAPIKey(companyA, 32, at(22))
	revoked.Status, revoked.RevokedAt = driver.APIKeyRevoked, at(23)
	err := createAPIKeys(ctx, s, newAPIKey(companyA, 30, at(20)), newAPIKey(companyA, 31, at(21)), revoked,
		newAPIKey(companyB, 33, at(24)))
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("active", 2).from(tx.CountAPIKeys(ctx, companyA, driver.APIKeyActive)),
			want("revoked", 1).from(tx.CountAPIKeys(ctx, companyA, driver.APIKeyRevoked)),
			want("revoked of another company", 0).from(tx.CountAPIKeys(ctx, companyB, driver.APIKeyRevoked)),
			want("of no company", 0).from(tx.CountAPIKeys(ctx, id(90), driver.APIKeyActive)),
		)
	})
}

func apiKeyOfAnother(ctx context.Context, s driver.Store) error {
	key := newAPIKey(companyA, 30, at(20))
	if err := createAPIKeys(ctx, s, key); err != nil {
		return err
	}
	foreign := key
	foreign.CompanyID, foreign.Status, foreign.RevokedAt = companyB, driver.APIKeyRevoked, at(21)
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.UpdateAPIKey(ctx, foreign) })
	if err := misses("change another company's key", err); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("the key", []driver.APIKey{key}).from(tx.FindAPIKeys(ctx, []uuid.UUID{key.ID}))
	})
}

func apiKeysTouched(ctx context.Context, s driver.Store) error {
	first, second := newAPIKey(companyA, 30, at(20)), newAPIKey(companyB, 31, at(20))
	if err := createAPIKeys(ctx, s, first, second); err != nil {
		return err
	}
	for _, use := range []struct{ used, kept int }{{50, 50}, {40, 50}, {50, 50}, {51, 51}} {
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return tx.TouchAPIKeys(ctx, []driver.APIKeyUse{
				{APIKeyRef: driver.APIKeyRef{CompanyID: companyB, ID: second.ID}, UsedAt: at(use.used + 1), Digest: "v1.b"},
				{APIKeyRef: driver.APIKeyRef{CompanyID: companyA, ID: first.ID}, UsedAt: at(use.used), Digest: "v1.a"},
			})
		})
		if err != nil {
			return fmt.Errorf("touch: %w", err)
		}
		first.LastUsedAt, first.Digest = at(use.kept), "v1.a"
		second.LastUsedAt, second.Digest = at(use.kept+1), "v1.b"
		err = everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("touched", []driver.APIKey{first, second}).
				from(tx.FindAPIKeys(ctx, []uuid.UUID{first.ID, second.ID}))
		})
		if err != nil {
			return err
		}
	}
	// A change of status leaves the last use unchanged.
	revoked := first
	revoked.Status, revoked.RevokedAt, revoked.LastUsedAt = driver.APIKeyRevoked, at(60), time.Time{}
	revoked.Digest = "other"
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.UpdateAPIKey(ctx, revoked) })
	if err != nil {
		return err
	}
	first.Status, first.RevokedAt = revoked.Status, revoked.RevokedAt
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("revoked", []driver.APIKey{first}).from(tx.FindAPIKeys(ctx, []uuid.UUID{first.ID}))
	})
}
