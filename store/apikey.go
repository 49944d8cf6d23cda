package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

const apiKeyColumns = `k.company_id, k.id, k.name, k.grants, k.status, k.digest, k.predecessor_id, k.created_at,
	k.last_used_at, k.revoked_at`

type apiKeyModel struct {
	bun.BaseModel `bun:"table:ticketing_api_keys,alias:k"`
	apiKeyFields
}

type apiKeyFields struct {
	CompanyID     uuid.UUID `bun:",pk"`
	ID            uuid.UUID `bun:",pk"`
	Name          string
	Grants        []driver.Grant
	Status        driver.APIKeyStatus
	Digest        string
	PredecessorID uuid.UUID `bun:",nullzero"`
	CreatedAt     time.Time
	LastUsedAt    time.Time
	RevokedAt     time.Time
}

// directoryModel maps a key to its company.
type directoryModel struct {
	bun.BaseModel `bun:"table:ticketing_api_key_directory,alias:d"`

	ID        uuid.UUID `bun:",pk"`
	CompanyID uuid.UUID
}

func scanAPIKey(row rowSet, k *driver.APIKey) error {
	return row.Scan((*id)(&k.CompanyID), (*id)(&k.ID), &k.Name, (*texts[driver.Grant])(&k.Grants),
		(*string)(&k.Status), &k.Digest, (*id)(&k.PredecessorID), (*moment)(&k.CreatedAt), (*moment)(&k.LastUsedAt),
		(*moment)(&k.RevokedAt))
}

// FindAPIKeys finds keys by their ids alone, through the directory. On a distributed engine the query names the
// companies that the directory returned, so that it reaches no other node.
func (s *session) FindAPIKeys(ctx context.Context, keys []uuid.UUID) ([]driver.APIKey, error) {
	return findByRefs(keys, func(k driver.APIKey) uuid.UUID { return k.ID },
		func(keys []uuid.UUID) ([]driver.APIKey, error) {
			if s.store.Grouping().ByCompany {
				scan := func(row rowSet, company *uuid.UUID) error { return row.Scan((*id)(company)) }
				companies, err := query(ctx, s, "FindAPIKeys", scan,
					"SELECT DISTINCT company_id FROM ticketing_api_key_directory WHERE ?", inIDs("id", keys))
				if err != nil || len(companies) == 0 {
					return nil, err
				}
				return query(ctx, s, "FindAPIKeys", scanAPIKey,
					"SELECT "+apiKeyColumns+" FROM ticketing_api_keys k WHERE ? AND ?",
					inIDs("k.company_id", companies), inIDs("k.id", keys))
			}
			return query(ctx, s, "FindAPIKeys", scanAPIKey,
				"SELECT "+apiKeyColumns+` FROM ticketing_api_key_directory d
				JOIN ticketing_api_keys k ON k.company_id = d.company_id AND k.id = d.id WHERE ?`,
				inIDs("d.id", keys))
		})
}

// APIKeys finds keys of companies.
func (s *session) APIKeys(ctx context.Context, refs []driver.APIKeyRef) ([]driver.APIKey, error) {
	return findByRefs(refs,
		func(k driver.APIKey) driver.APIKeyRef {
			return driver.APIKeyRef{CompanyID: k.CompanyID, ID: k.ID}
		},
		func(refs []driver.APIKeyRef) ([]driver.APIKey, error) {
			return queryRefs(ctx, s, refs, refsQuery[driver.APIKeyRef, driver.APIKey]{
				name: "APIKeys", scan: scanAPIKey, text: "SELECT " + apiKeyColumns + " FROM ?",
				value: func(refs []driver.APIKeyRef) fragment {
					return keyedRows{table: "ticketing_api_keys k", set: newSet("company_id, id", refs,
						func(r driver.APIKeyRef) []any { return []any{r.CompanyID, r.ID} })}
				},
				memory: &s.store.memory.apiKeys,
			})
		})
}

// ListAPIKeys returns a company's keys, newest first, those of one time by id.
func (s *session) ListAPIKeys(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.APIKey, error) {
	return fetch(ctx, s, "ListAPIKeys", scanAPIKey, s.selection((*apiKeyModel)(nil), apiKeyColumns, s.newSelect().
		Where("company_id = ?", id(companyID)).Apply(page("created_at DESC, id", limit))))
}

// CountAPIKeys counts a company's keys of a status.
func (s *session) CountAPIKeys(
	ctx context.Context, companyID uuid.UUID, status driver.APIKeyStatus,
) (int, error) {
	return s.count(ctx, "CountAPIKeys", s.newSelect().Model((*apiKeyModel)(nil)).
		Where("company_id = ?", id(companyID)).Where("status = ?", status))
}

// CreateAPIKey inserts a key and its row in the directory.
func (tx *transaction) CreateAPIKey(ctx context.Context, k driver.APIKey) error {
	if err := tx.create(ctx, "CreateAPIKey", &directoryModel{ID: k.ID, CompanyID: k.CompanyID}); err != nil {
		return err
	}
	return tx.create(ctx, "CreateAPIKey", &apiKeyModel{apiKeyFields: apiKeyFields(k)})
}

// UpdateAPIKey writes the status and the time of revocation.
func (tx *transaction) UpdateAPIKey(ctx context.Context, k driver.APIKey) error {
	return tx.save(ctx, "UpdateAPIKey", &apiKeyModel{apiKeyFields: apiKeyFields(k)}, "status", "revoked_at")
}

// TouchAPIKeys writes the time of the last use, never an earlier one, and the digest.
func (tx *transaction) TouchAPIKeys(ctx context.Context, uses []driver.APIKeyUse) error {
	// The latest time wins. Of several uses of one key, the last one counts.
	uses = slices.SortedStableFunc(slices.Values(uses), func(a, b driver.APIKeyUse) int {
		return a.UsedAt.Compare(b.UsedAt)
	})
	for _, use := range lastChanges(uses, func(u driver.APIKeyUse) driver.APIKeyRef { return u.APIKeyRef }) {
		at := use.UsedAt.UnixMilli()
		if err := tx.updateOne(ctx, "TouchAPIKeys",
			`UPDATE ticketing_api_keys SET digest = ?,
				last_used_at = CASE WHEN last_used_at >= ? THEN last_used_at ELSE ? END
			WHERE company_id = ? AND id = ?`,
			use.Digest, at, at, use.CompanyID, use.ID); err != nil {
			return err
		}
	}
	return nil
}
