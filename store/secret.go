package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/floatgate/ticketing"
)

// SecretNames answers with the names of secret keys, in their order.
func (s *session) SecretNames(ctx context.Context) ([]string, error) {
	scan := func(row *sql.Rows, name *string) error { return row.Scan(name) }
	return query(ctx, s, "SecretNames", scan, "SELECT name FROM ticketing_secrets ORDER BY name")
}

// SecretsInUse answers with the names of the secret keys that the digests of active keys, current bank
// accounts and signing secrets name.
func (s *session) SecretsInUse(ctx context.Context) ([]string, error) {
	scan := func(row *sql.Rows, name *string) error { return row.Scan(name) }
	return query(ctx, s, "SecretsInUse", scan,
		`SELECT DISTINCT substr(digest, 4, 16) AS name FROM ticketing_api_keys WHERE status = ?
		UNION SELECT substr(number, 4, 16) FROM ticketing_bank_accounts b WHERE version = (
			SELECT MAX(version) FROM ticketing_bank_accounts newer WHERE newer.company_id = b.company_id
		)
		UNION SELECT substr(secret, 4, 16) FROM ticketing_webhook_secrets
		ORDER BY name`,
		string(ticketing.APIKeyActive))
}

// AppendSecretName keeps a name; one that is kept already is no error.
func (tx *transaction) AppendSecretName(ctx context.Context, name string, at time.Time) error {
	return tx.exec(ctx, "AppendSecretName",
		"INSERT INTO ticketing_secrets (name, created_at) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", name, at)
}
