package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const (
	endpointColumns = `company_id, number, id, url, events, status, active_secret, pending_secret, last_secret,
	created_at, updated_at`
	secretColumns = "company_id, endpoint, version, secret, created_at"
)

func scanEndpoint(row *sql.Rows, e *driver.WebhookEndpoint) error {
	return row.Scan((*id)(&e.CompanyID), &e.Number, (*id)(&e.ID), &e.URL, (*types)(&e.Events), (*string)(&e.Status),
		&e.ActiveSecret, &e.PendingSecret, &e.LastSecret, (*moment)(&e.CreatedAt), (*moment)(&e.UpdatedAt))
}

func scanSecret(row *sql.Rows, s *driver.WebhookSecret) error {
	return row.Scan((*id)(&s.CompanyID), &s.Endpoint, &s.Version, &s.Secret, (*moment)(&s.CreatedAt))
}

// ListWebhookEndpoints returns a company's endpoints, by number.
func (s *session) ListWebhookEndpoints(
	ctx context.Context, companyID uuid.UUID,
) ([]driver.WebhookEndpoint, error) {
	return query(ctx, s, "ListWebhookEndpoints", scanEndpoint,
		"SELECT "+endpointColumns+" FROM ticketing_webhook_endpoints WHERE company_id = ? ORDER BY number", companyID)
}

// FindWebhookEndpoint finds an endpoint by its id alone.
func (s *session) FindWebhookEndpoint(
	ctx context.Context, id uuid.UUID,
) (driver.WebhookEndpoint, error) {
	return one(query(ctx, s, "FindWebhookEndpoint", scanEndpoint,
		"SELECT "+endpointColumns+" FROM ticketing_webhook_endpoints WHERE id = ? LIMIT 1", id))
}

func secretSet(refs []driver.WebhookSecretRef) set {
	return of("company_id, endpoint, version", refs, func(r driver.WebhookSecretRef) []any {
		return []any{r.CompanyID, r.Endpoint, r.Version}
	})
}

// WebhookSecrets finds versions of signing secrets.
func (s *session) WebhookSecrets(
	ctx context.Context, refs []driver.WebhookSecretRef,
) ([]driver.WebhookSecret, error) {
	return lookUp(refs,
		func(s driver.WebhookSecret) driver.WebhookSecretRef {
			return driver.WebhookSecretRef{CompanyID: s.CompanyID, Endpoint: s.Endpoint, Version: s.Version}
		},
		func(refs []driver.WebhookSecretRef) ([]driver.WebhookSecret, error) {
			return query(ctx, s, "WebhookSecrets", scanSecret, "SELECT "+secretColumns+" FROM ?",
				found{table: "ticketing_webhook_secrets s", set: secretSet(refs)})
		})
}

// StaleWebhookSecrets finds secrets that are encrypted under another secret key than the given one. It reads every
// secret, which only happens when a key is retired.
func (s *session) StaleWebhookSecrets(
	ctx context.Context, q driver.StaleWebhookSecretQuery,
) ([]driver.WebhookSecret, error) {
	return query(ctx, s, "StaleWebhookSecrets", scanSecret,
		"SELECT "+secretColumns+` FROM ticketing_webhook_secrets
		WHERE (company_id, endpoint, version) > (?, ?, ?) AND substr(secret, 4, 16) <> ?
		ORDER BY company_id, endpoint, version LIMIT ?`,
		q.After.CompanyID, q.After.Endpoint, q.After.Version, q.SecretName, max(q.Limit, 0))
}

// RetiredWebhookSecrets finds secrets that are neither active nor pending. It reads every secret: there are few more
// than endpoints.
func (s *session) RetiredWebhookSecrets(
	ctx context.Context, after driver.WebhookSecretRef, limit int,
) ([]driver.WebhookSecretRef, error) {
	scan := func(row *sql.Rows, r *driver.WebhookSecretRef) error {
		return row.Scan((*id)(&r.CompanyID), &r.Endpoint, &r.Version)
	}
	return query(ctx, s, "RetiredWebhookSecrets", scan,
		`SELECT company_id, endpoint, version FROM ticketing_webhook_secrets s
		WHERE (company_id, endpoint, version) > (?, ?, ?) AND NOT EXISTS (
			SELECT 1 FROM ticketing_webhook_endpoints e WHERE e.company_id = s.company_id AND e.number = s.endpoint
				AND s.version IN (e.active_secret, e.pending_secret)
		)
		ORDER BY company_id, endpoint, version LIMIT ?`,
		after.CompanyID, after.Endpoint, after.Version, max(limit, 0))
}

// CreateWebhookEndpoint inserts an endpoint.
func (tx *transaction) CreateWebhookEndpoint(ctx context.Context, e driver.WebhookEndpoint) error {
	return tx.exec(ctx, "CreateWebhookEndpoint",
		"INSERT INTO ticketing_webhook_endpoints ("+endpointColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		e.CompanyID, e.Number, e.ID, e.URL, types(e.Events).encode(), string(e.Status), e.ActiveSecret, e.PendingSecret,
		e.LastSecret, e.CreatedAt, e.UpdatedAt)
}

// UpdateWebhookEndpoint writes everything but the company, the number, the id and the time of creation.
func (tx *transaction) UpdateWebhookEndpoint(ctx context.Context, e driver.WebhookEndpoint) error {
	return tx.changed(ctx, "UpdateWebhookEndpoint",
		`UPDATE ticketing_webhook_endpoints SET url = ?, events = ?, status = ?, active_secret = ?, pending_secret = ?,
			last_secret = ?, updated_at = ? WHERE company_id = ? AND number = ?`,
		e.URL, types(e.Events).encode(), string(e.Status), e.ActiveSecret, e.PendingSecret, e.LastSecret, e.UpdatedAt,
		e.CompanyID, e.Number)
}

// DeleteWebhookEndpoint removes an endpoint and its secrets.
func (tx *transaction) DeleteWebhookEndpoint(ctx context.Context, ref driver.WebhookEndpointRef) error {
	err := tx.exec(ctx, "DeleteWebhookEndpoint",
		"DELETE FROM ticketing_webhook_secrets WHERE company_id = ? AND endpoint = ?", ref.CompanyID, ref.Number)
	if err != nil {
		return err
	}
	return tx.changed(ctx, "DeleteWebhookEndpoint",
		"DELETE FROM ticketing_webhook_endpoints WHERE company_id = ? AND number = ?", ref.CompanyID, ref.Number)
}

// AppendWebhookSecret inserts a version.
func (tx *transaction) AppendWebhookSecret(ctx context.Context, s driver.WebhookSecret) error {
	return tx.exec(ctx, "AppendWebhookSecret",
		"INSERT INTO ticketing_webhook_secrets ("+secretColumns+") VALUES (?, ?, ?, ?, ?)",
		s.CompanyID, s.Endpoint, s.Version, s.Secret, s.CreatedAt)
}

// UpdateWebhookSecret writes the encrypted secret.
func (tx *transaction) UpdateWebhookSecret(ctx context.Context, s driver.WebhookSecret) error {
	return tx.changed(ctx, "UpdateWebhookSecret",
		"UPDATE ticketing_webhook_secrets SET secret = ? WHERE company_id = ? AND endpoint = ? AND version = ?",
		s.Secret, s.CompanyID, s.Endpoint, s.Version)
}

// DeleteWebhookSecrets removes those of the secrets that still exist.
func (tx *transaction) DeleteWebhookSecrets(ctx context.Context, refs []driver.WebhookSecretRef) error {
	return inParts(refs, func(refs []driver.WebhookSecretRef) error {
		return tx.exec(ctx, "DeleteWebhookSecrets", "DELETE FROM ticketing_webhook_secrets WHERE ?",
			among(secretSet(refs)))
	})
}
