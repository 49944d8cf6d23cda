package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type apiKeys struct {
	byID      map[uuid.UUID]driver.APIKey
	byCompany map[uuid.UUID]*index[driver.Position]
}

func newAPIKeys() apiKeys {
	return apiKeys{
		byID:      make(map[uuid.UUID]driver.APIKey),
		byCompany: make(map[uuid.UUID]*index[driver.Position]),
	}
}

// newestFirst orders positions by time, latest first, and positions of the same time by id.
func newestFirst(a, b driver.Position) int {
	return cmp.Or(b.At.Compare(a.At), compareIDs(a.ID, b.ID))
}

func (k *apiKeys) find(id uuid.UUID) driver.APIKey {
	key := k.byID[id]
	key.Grants = slices.Clone(key.Grants)
	return key
}

func (k *apiKeys) of(companyID uuid.UUID, limit int) []driver.Position {
	keys, ok := k.byCompany[companyID]
	if !ok {
		return nil
	}
	return keys.first(limit)
}

func (k *apiKeys) change(
	u *undo, ref driver.APIKeyRef, change func(key *driver.APIKey),
) error {
	key, ok := k.byID[ref.ID]
	if !ok || key.CompanyID != ref.CompanyID {
		return driver.ErrNotFound
	}
	change(&key)
	put(u, k.byID, key.ID, key)
	return nil
}

func (r reading) FindAPIKeys(ctx context.Context, ids []uuid.UUID) ([]driver.APIKey, error) {
	return ask(ctx, r, func(s *state) []driver.APIKey { return each(ids, s.apiKeys.find) })
}

func (r reading) APIKeys(ctx context.Context, refs []driver.APIKeyRef) ([]driver.APIKey, error) {
	return ask(ctx, r, func(s *state) []driver.APIKey {
		return each(refs, func(ref driver.APIKeyRef) driver.APIKey {
			key := s.apiKeys.find(ref.ID)
			if key.CompanyID != ref.CompanyID {
				return driver.APIKey{}
			}
			return key
		})
	})
}

// SecretsInUse reads every key, bank account and signing secret. A service calls it once, when it starts.
func (r reading) SecretsInUse(ctx context.Context) ([]string, error) {
	return ask(ctx, r, func(s *state) []string {
		var names []string
		for _, key := range s.apiKeys.byID {
			if name, found := strings.CutPrefix(key.Digest, "v1:"); found && key.Status == driver.APIKeyActive {
				names = append(names, name[:min(len(name), 16)])
			}
		}
		for _, account := range s.accounts.current {
			if name, found := sealedUnder(account.Number); found {
				names = append(names, name)
			}
		}
		for _, secret := range s.endpoints.secrets {
			if name, found := sealedUnder(secret.Secret); found {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	})
}

func (r reading) ListAPIKeys(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.APIKey, error) {
	return ask(ctx, r, func(s *state) []driver.APIKey {
		return each(s.apiKeys.of(companyID, limit), func(p driver.Position) driver.APIKey {
			return s.apiKeys.find(p.ID)
		})
	})
}

func (r reading) CountAPIKeys(
	ctx context.Context, companyID uuid.UUID, status driver.APIKeyStatus,
) (int, error) {
	return ask(ctx, r, func(s *state) int {
		count := 0
		if keys, ok := s.apiKeys.byCompany[companyID]; ok {
			for _, p := range keys.keys {
				if s.apiKeys.byID[p.ID].Status == status {
					count++
				}
			}
		}
		return count
	})
}

func (tx *updating) CreateAPIKey(ctx context.Context, key driver.APIKey) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		key.Grants = slices.Clone(key.Grants)
		key.CreatedAt, key.LastUsedAt = moment(key.CreatedAt), moment(key.LastUsedAt)
		key.RevokedAt = moment(key.RevokedAt)
		if err := create(u, s.apiKeys.byID, key.ID, key, "api_keys_pkey"); err != nil {
			return err
		}
		need(s.apiKeys.byCompany, key.CompanyID, func() *index[driver.Position] { return newIndex(newestFirst) }).
			add(u, driver.Position{At: key.CreatedAt, ID: key.ID})
		return nil
	})
}

func (tx *updating) UpdateAPIKey(ctx context.Context, key driver.APIKey) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		ref := driver.APIKeyRef{CompanyID: key.CompanyID, ID: key.ID}
		return s.apiKeys.change(u, ref, func(kept *driver.APIKey) {
			kept.Status, kept.RevokedAt = key.Status, moment(key.RevokedAt)
		})
	})
}

func (tx *updating) TouchAPIKeys(ctx context.Context, uses []driver.APIKeyUse) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, use := range uses {
			err := s.apiKeys.change(u, use.APIKeyRef, func(kept *driver.APIKey) {
				kept.Digest = use.Digest
				if used := moment(use.UsedAt); used.After(kept.LastUsedAt) {
					kept.LastUsedAt = used
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
