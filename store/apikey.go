package store

import (
	"context"
	"database/sql"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const apiKeyColumns = `k.company_id, k.id, k.name, k.grants, k.status, k.digest, k.predecessor_id, k.created_at,
	k.last_used_at, k.revoked_at`

func scanAPIKey(row *sql.Rows, k *ticketing.APIKeyRecord) error {
	return row.Scan((*id)(&k.CompanyID), (*id)(&k.ID), &k.Name, (*texts[ticketing.Grant])(&k.Grants),
		(*string)(&k.Status), &k.Digest, (*id)(&k.PredecessorID), (*moment)(&k.CreatedAt), (*moment)(&k.LastUsedAt),
		(*moment)(&k.RevokedAt))
}

// FindAPIKeys finds keys by their ids alone, by way of the directory. A distributed engine is told the companies that the
// directory names, so that it asks no other node.
func (s *session) FindAPIKeys(ctx context.Context, keys []uuid.UUID) ([]ticketing.APIKeyRecord, error) {
	return lookUp(keys, func(k ticketing.APIKeyRecord) uuid.UUID { return k.ID },
		func(keys []uuid.UUID) ([]ticketing.APIKeyRecord, error) {
			if s.store.Grouping().ByCompany {
				scan := func(row *sql.Rows, company *uuid.UUID) error { return row.Scan((*id)(company)) }
				companies, err := query(ctx, s, "FindAPIKeys", scan,
					"SELECT DISTINCT company_id FROM ticketing_api_key_directory WHERE ?", ids("id", keys))
				if err != nil || len(companies) == 0 {
					return nil, err
				}
				return query(ctx, s, "FindAPIKeys", scanAPIKey,
					"SELECT "+apiKeyColumns+" FROM ticketing_api_keys k WHERE ? AND ?",
					ids("k.company_id", companies), ids("k.id", keys))
			}
			return query(ctx, s, "FindAPIKeys", scanAPIKey,
				"SELECT "+apiKeyColumns+` FROM ticketing_api_key_directory d
				JOIN ticketing_api_keys k ON k.company_id = d.company_id AND k.id = d.id WHERE ?`,
				ids("d.id", keys))
		})
}

// APIKeys finds keys of companies.
func (s *session) APIKeys(ctx context.Context, refs []ticketing.APIKeyRef) ([]ticketing.APIKeyRecord, error) {
	return lookUp(refs,
		func(k ticketing.APIKeyRecord) ticketing.APIKeyRef {
			return ticketing.APIKeyRef{CompanyID: k.CompanyID, ID: k.ID}
		},
		func(refs []ticketing.APIKeyRef) ([]ticketing.APIKeyRecord, error) {
			return query(ctx, s, "APIKeys", scanAPIKey,
				"SELECT "+apiKeyColumns+" FROM ?",
				found{table: "ticketing_api_keys k", set: of("company_id, id", refs, func(r ticketing.APIKeyRef) []any {
					return []any{r.CompanyID, r.ID}
				})})
		})
}

// ListAPIKeys answers with a company's keys, newest first, of one time by id.
func (s *session) ListAPIKeys(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]ticketing.APIKeyRecord, error) {
	return query(ctx, s, "ListAPIKeys", scanAPIKey,
		"SELECT "+apiKeyColumns+` FROM ticketing_api_keys k WHERE k.company_id = ?
		ORDER BY k.created_at DESC, k.id LIMIT ?`,
		companyID, max(limit, 0))
}

// CountAPIKeys counts a company's keys of a status.
func (s *session) CountAPIKeys(
	ctx context.Context, companyID uuid.UUID, status ticketing.APIKeyStatus,
) (int, error) {
	scan := func(row *sql.Rows, count *int) error { return row.Scan(count) }
	return one(query(ctx, s, "CountAPIKeys", scan,
		"SELECT count(*) FROM ticketing_api_keys WHERE company_id = ? AND status = ?", companyID, string(status)))
}

// CreateAPIKey keeps a new key and its place in the directory.
func (tx *transaction) CreateAPIKey(ctx context.Context, k ticketing.APIKeyRecord) error {
	err := tx.exec(ctx, "CreateAPIKey", "INSERT INTO ticketing_api_key_directory (id, company_id) VALUES (?, ?)",
		k.ID, k.CompanyID)
	if err != nil {
		return err
	}
	return tx.exec(ctx, "CreateAPIKey",
		`INSERT INTO ticketing_api_keys (company_id, id, name, grants, status, digest, predecessor_id, created_at,
			last_used_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.CompanyID, k.ID, k.Name, texts[ticketing.Grant](k.Grants).encode(), string(k.Status), k.Digest,
		optional(k.PredecessorID), k.CreatedAt, k.LastUsedAt, k.RevokedAt)
}

// UpdateAPIKey keeps the status and the time of revocation.
func (tx *transaction) UpdateAPIKey(ctx context.Context, k ticketing.APIKeyRecord) error {
	return tx.changed(ctx, "UpdateAPIKey",
		"UPDATE ticketing_api_keys SET status = ?, revoked_at = ? WHERE company_id = ? AND id = ?",
		string(k.Status), k.RevokedAt, k.CompanyID, k.ID)
}

// TouchAPIKeys keeps the time of the last use, never an earlier one, and the digest.
func (tx *transaction) TouchAPIKeys(ctx context.Context, uses []ticketing.APIKeyUse) error {
	// The last use is the latest, and of several of one key the last holds.
	uses = slices.SortedStableFunc(slices.Values(uses), func(a, b ticketing.APIKeyUse) int {
		return a.UsedAt.Compare(b.UsedAt)
	})
	for _, use := range folded(uses, func(u ticketing.APIKeyUse) ticketing.APIKeyRef { return u.APIKeyRef }) {
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
