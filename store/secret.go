package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// SecretNames returns the names of secret keys, in order.
func (s *session) SecretNames(ctx context.Context) ([]string, error) {
	scan := func(row *sql.Rows, name *string) error { return row.Scan(name) }
	return query(ctx, s, "SecretNames", scan, "SELECT name FROM ticketing_secrets ORDER BY name")
}

// SecretsInUse returns the names of the secret keys that the digests of active API keys, current bank accounts and
// signing secrets use.
func (s *session) SecretsInUse(ctx context.Context) ([]string, error) {
	scan := func(row *sql.Rows, name *string) error { return row.Scan(name) }
	return query(ctx, s, "SecretsInUse", scan,
		`SELECT DISTINCT substr(digest, 4, 16) AS name FROM ticketing_api_keys WHERE status = ?
		UNION SELECT substr(number, 4, 16) FROM ticketing_bank_accounts b WHERE version = (
			SELECT MAX(version) FROM ticketing_bank_accounts newer WHERE newer.company_id = b.company_id
		)
		UNION SELECT substr(secret, 4, 16) FROM ticketing_webhook_secrets
		ORDER BY name`,
		string(driver.APIKeyActive))
}

// AppendSecretName inserts a name; a name that exists already is no error.
func (tx *transaction) AppendSecretName(ctx context.Context, name string, at time.Time) error {
	return tx.exec(ctx, "AppendSecretName",
		"INSERT INTO ticketing_secrets (name, created_at) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", name, at)
}
