package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type apiKeys struct {
	byID      map[uuid.UUID]ticketing.APIKeyRecord
	byCompany map[uuid.UUID]*index[ticketing.Position]
}

func newAPIKeys() apiKeys {
	return apiKeys{
		byID:      make(map[uuid.UUID]ticketing.APIKeyRecord),
		byCompany: make(map[uuid.UUID]*index[ticketing.Position]),
	}
}

// newestFirst orders by time, the latest first, and of one time by id.
func newestFirst(a, b ticketing.Position) int {
	return cmp.Or(b.At.Compare(a.At), compareIDs(a.ID, b.ID))
}

func (k *apiKeys) find(id uuid.UUID) ticketing.APIKeyRecord {
	key := k.byID[id]
	key.Grants = slices.Clone(key.Grants)
	return key
}

func (k *apiKeys) of(companyID uuid.UUID, limit int) []ticketing.Position {
	keys, ok := k.byCompany[companyID]
	if !ok {
		return nil
	}
	return keys.first(limit)
}

func (k *apiKeys) change(
	u *undo, ref ticketing.APIKeyRef, change func(key *ticketing.APIKeyRecord),
) error {
	key, ok := k.byID[ref.ID]
	if !ok || key.CompanyID != ref.CompanyID {
		return ticketing.ErrNotFound
	}
	change(&key)
	put(u, k.byID, key.ID, key)
	return nil
}

func (r reading) FindAPIKeys(ctx context.Context, ids []uuid.UUID) ([]ticketing.APIKeyRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.APIKeyRecord { return each(ids, s.apiKeys.find) })
}

func (r reading) APIKeys(ctx context.Context, refs []ticketing.APIKeyRef) ([]ticketing.APIKeyRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.APIKeyRecord {
		return each(refs, func(ref ticketing.APIKeyRef) ticketing.APIKeyRecord {
			key := s.apiKeys.find(ref.ID)
			if key.CompanyID != ref.CompanyID {
				return ticketing.APIKeyRecord{}
			}
			return key
		})
	})
}

// SecretsInUse looks at every key, bank account and signing secret: it is asked once, when a service starts.
func (r reading) SecretsInUse(ctx context.Context) ([]string, error) {
	return ask(ctx, r, func(s *state) []string {
		var names []string
		for _, key := range s.apiKeys.byID {
			if name, found := strings.CutPrefix(key.Digest, "v1:"); found && key.Status == ticketing.APIKeyActive {
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
) ([]ticketing.APIKeyRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.APIKeyRecord {
		return each(s.apiKeys.of(companyID, limit), func(p ticketing.Position) ticketing.APIKeyRecord {
			return s.apiKeys.find(p.ID)
		})
	})
}

func (r reading) CountAPIKeys(
	ctx context.Context, companyID uuid.UUID, status ticketing.APIKeyStatus,
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

func (tx *updating) CreateAPIKey(ctx context.Context, key ticketing.APIKeyRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		key.Grants = slices.Clone(key.Grants)
		key.CreatedAt, key.LastUsedAt = moment(key.CreatedAt), moment(key.LastUsedAt)
		key.RevokedAt = moment(key.RevokedAt)
		if err := create(u, s.apiKeys.byID, key.ID, key, "api_keys_pkey"); err != nil {
			return err
		}
		need(s.apiKeys.byCompany, key.CompanyID, func() *index[ticketing.Position] { return newIndex(newestFirst) }).
			add(u, ticketing.Position{At: key.CreatedAt, ID: key.ID})
		return nil
	})
}

func (tx *updating) UpdateAPIKey(ctx context.Context, key ticketing.APIKeyRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		ref := ticketing.APIKeyRef{CompanyID: key.CompanyID, ID: key.ID}
		return s.apiKeys.change(u, ref, func(kept *ticketing.APIKeyRecord) {
			kept.Status, kept.RevokedAt = key.Status, moment(key.RevokedAt)
		})
	})
}

func (tx *updating) TouchAPIKeys(ctx context.Context, uses []ticketing.APIKeyUse) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, use := range uses {
			err := s.apiKeys.change(u, use.APIKeyRef, func(kept *ticketing.APIKeyRecord) {
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
