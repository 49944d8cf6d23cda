package store

import (
	"context"
	"database/sql"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const apiKeyColumns = `k.company_id, k.id, k.name, k.grants, k.status, k.digest, k.predecessor_id, k.created_at,
	k.last_used_at, k.revoked_at`

func scanAPIKey(row *sql.Rows, k *driver.APIKey) error {
	return row.Scan((*id)(&k.CompanyID), (*id)(&k.ID), &k.Name, (*texts[driver.Grant])(&k.Grants),
		(*string)(&k.Status), &k.Digest, (*id)(&k.PredecessorID), (*moment)(&k.CreatedAt), (*moment)(&k.LastUsedAt),
		(*moment)(&k.RevokedAt))
}

// FindAPIKeys finds keys by their ids alone, through the directory. On a distributed engine the query names the
// companies that the directory returned, so that it reaches no other node.
func (s *session) FindAPIKeys(ctx context.Context, keys []uuid.UUID) ([]driver.APIKey, error) {
	return lookUp(keys, func(k driver.APIKey) uuid.UUID { return k.ID },
		func(keys []uuid.UUID) ([]driver.APIKey, error) {
			if s.store.Grouping().ByCompany {
				scan := func(row *sql.Rows, company *uuid.UUID) error { return row.Scan((*id)(company)) }
				companies, err := query(ctx, s, "FindAPIKeys", scan,
					"SELECT DISTINCT company_id FROM ticketing_api_key_directory WHERE ?", amongIDs("id", keys))
				if err != nil || len(companies) == 0 {
					return nil, err
				}
				return query(ctx, s, "FindAPIKeys", scanAPIKey,
					"SELECT "+apiKeyColumns+" FROM ticketing_api_keys k WHERE ? AND ?",
					amongIDs("k.company_id", companies), amongIDs("k.id", keys))
			}
			return query(ctx, s, "FindAPIKeys", scanAPIKey,
				"SELECT "+apiKeyColumns+` FROM ticketing_api_key_directory d
				JOIN ticketing_api_keys k ON k.company_id = d.company_id AND k.id = d.id WHERE ?`,
				amongIDs("d.id", keys))
		})
}

// APIKeys finds keys of companies.
func (s *session) APIKeys(ctx context.Context, refs []driver.APIKeyRef) ([]driver.APIKey, error) {
	return lookUp(refs,
		func(k driver.APIKey) driver.APIKeyRef {
			return driver.APIKeyRef{CompanyID: k.CompanyID, ID: k.ID}
		},
		func(refs []driver.APIKeyRef) ([]driver.APIKey, error) {
			return query(ctx, s, "APIKeys", scanAPIKey,
				"SELECT "+apiKeyColumns+" FROM ?",
				found{table: "ticketing_api_keys k", set: of("company_id, id", refs, func(r driver.APIKeyRef) []any {
					return []any{r.CompanyID, r.ID}
				})})
		})
}

// ListAPIKeys returns a company's keys, newest first, those of one time by id.
func (s *session) ListAPIKeys(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.APIKey, error) {
	return query(ctx, s, "ListAPIKeys", scanAPIKey,
		"SELECT "+apiKeyColumns+` FROM ticketing_api_keys k WHERE k.company_id = ?
		ORDER BY k.created_at DESC, k.id LIMIT ?`,
		companyID, max(limit, 0))
}

// CountAPIKeys counts a company's keys of a status.
func (s *session) CountAPIKeys(
	ctx context.Context, companyID uuid.UUID, status driver.APIKeyStatus,
) (int, error) {
	scan := func(row *sql.Rows, count *int) error { return row.Scan(count) }
	return one(query(ctx, s, "CountAPIKeys", scan,
		"SELECT count(*) FROM ticketing_api_keys WHERE company_id = ? AND status = ?", companyID, string(status)))
}

// CreateAPIKey inserts a key and its row in the directory.
func (tx *transaction) CreateAPIKey(ctx context.Context, k driver.APIKey) error {
	err := tx.exec(ctx, "CreateAPIKey", "INSERT INTO ticketing_api_key_directory (id, company_id) VALUES (?, ?)",
		k.ID, k.CompanyID)
	if err != nil {
		return err
	}
	return tx.exec(ctx, "CreateAPIKey",
		`INSERT INTO ticketing_api_keys (company_id, id, name, grants, status, digest, predecessor_id, created_at,
			last_used_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.CompanyID, k.ID, k.Name, texts[driver.Grant](k.Grants).encode(), string(k.Status), k.Digest,
		optional(k.PredecessorID), k.CreatedAt, k.LastUsedAt, k.RevokedAt)
}

// UpdateAPIKey writes the status and the time of revocation.
func (tx *transaction) UpdateAPIKey(ctx context.Context, k driver.APIKey) error {
	return tx.changed(ctx, "UpdateAPIKey",
		"UPDATE ticketing_api_keys SET status = ?, revoked_at = ? WHERE company_id = ? AND id = ?",
		string(k.Status), k.RevokedAt, k.CompanyID, k.ID)
}

// TouchAPIKeys writes the time of the last use, never an earlier one, and the digest.
func (tx *transaction) TouchAPIKeys(ctx context.Context, uses []driver.APIKeyUse) error {
	// The latest time wins. Of several uses of one key, the last one counts.
	uses = slices.SortedStableFunc(slices.Values(uses), func(a, b driver.APIKeyUse) int {
		return a.UsedAt.Compare(b.UsedAt)
	})
	for _, use := range folded(uses, func(u driver.APIKeyUse) driver.APIKeyRef { return u.APIKeyRef }) {
		at := use.UsedAt.UnixMilli()
		if err := tx.changed(ctx, "TouchAPIKeys",
			`UPDATE ticketing_api_keys SET digest = ?,
				last_used_at = CASE WHEN last_used_at >= ? THEN last_used_at ELSE ? END
			WHERE company_id = ? AND id = ?`,
			use.Digest, at, at, use.CompanyID, use.ID); err != nil {
			return err
		}
	}
	return nil
}
