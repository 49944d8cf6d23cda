package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

const (
	endpointColumns = `company_id, number, id, url, events, status, active_secret, pending_secret, last_secret,
	created_at, updated_at`
	secretColumns = "company_id, endpoint, version, secret, created_at"
)

type endpointModel struct {
	bun.BaseModel `bun:"table:ticketing_webhook_endpoints,alias:e"`
	endpointFields
}

type endpointFields struct {
	CompanyID     uuid.UUID `bun:",pk"`
	Number        int64     `bun:",pk"`
	ID            uuid.UUID `bun:",skipupdate"`
	URL           string
	Events        []driver.FactType
	Status        driver.WebhookStatus
	ActiveSecret  int64
	PendingSecret int64
	LastSecret    int64
	CreatedAt     time.Time `bun:",skipupdate"`
	UpdatedAt     time.Time
}

type webhookSecretModel struct {
	bun.BaseModel `bun:"table:ticketing_webhook_secrets,alias:s"`
	webhookSecretFields
}

type webhookSecretFields struct {
	CompanyID uuid.UUID `bun:",pk"`
	Endpoint  int64     `bun:",pk"`
	Version   int64     `bun:",pk"`
	Secret    string
	CreatedAt time.Time
}

func (m webhookSecretModel) ref() driver.WebhookSecretRef {
	return driver.WebhookSecretRef{CompanyID: m.CompanyID, Endpoint: m.Endpoint, Version: m.Version}
}

func scanEndpoint(row rowSet, e *driver.WebhookEndpoint) error {
	return row.Scan((*id)(&e.CompanyID), &e.Number, (*id)(&e.ID), &e.URL, (*types)(&e.Events), (*string)(&e.Status),
		&e.ActiveSecret, &e.PendingSecret, &e.LastSecret, (*moment)(&e.CreatedAt), (*moment)(&e.UpdatedAt))
}

func scanSecret(row rowSet, s *driver.WebhookSecret) error {
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
	ctx context.Context, endpoint uuid.UUID,
) (driver.WebhookEndpoint, error) {
	return firstRow(fetch(ctx, s, "FindWebhookEndpoint", scanEndpoint,
		s.selection((*endpointModel)(nil), endpointColumns, s.newSelect().
			Where("id = ?", id(endpoint)).Limit(1))))
}

func secretSet(refs []driver.WebhookSecretRef) set {
	return newSet("company_id, endpoint, version", refs, func(r driver.WebhookSecretRef) []any {
		return []any{r.CompanyID, r.Endpoint, r.Version}
	})
}

// WebhookSecrets finds versions of signing secrets.
func (s *session) WebhookSecrets(
	ctx context.Context, refs []driver.WebhookSecretRef,
) ([]driver.WebhookSecret, error) {
	return findByRefs(refs,
		func(s driver.WebhookSecret) driver.WebhookSecretRef {
			return driver.WebhookSecretRef{CompanyID: s.CompanyID, Endpoint: s.Endpoint, Version: s.Version}
		},
		func(refs []driver.WebhookSecretRef) ([]driver.WebhookSecret, error) {
			return query(ctx, s, "WebhookSecrets", scanSecret, "SELECT "+secretColumns+" FROM ?",
				keyedRows{table: "ticketing_webhook_secrets s", set: secretSet(refs)})
		})
}

// StaleWebhookSecrets finds secrets that are encrypted under another secret key than the given one. It reads every
// secret, which only happens when a key is retired.
func (s *session) StaleWebhookSecrets(
	ctx context.Context, q driver.StaleWebhookSecretQuery,
) ([]driver.WebhookSecret, error) {
	return fetch(ctx, s, "StaleWebhookSecrets", scanSecret,
		s.selection((*webhookSecretModel)(nil), secretColumns, s.newSelect().
			Apply(afterSecret(q.After, q.Limit)).
			Where("substr(secret, 4, 16) <> ?", q.SecretName)))
}

// RetiredWebhookSecrets finds secrets that are neither active nor pending. It reads every secret: there are few more
// than endpoints.
func (s *session) RetiredWebhookSecrets(
	ctx context.Context, after driver.WebhookSecretRef, limit int,
) ([]driver.WebhookSecretRef, error) {
	used := s.newSelect().Model((*endpointModel)(nil)).ColumnExpr("1").
		Where("e.company_id = s.company_id AND e.number = s.endpoint").
		Where("s.version IN (e.active_secret, e.pending_secret)")
	retired := func(query *bun.SelectQuery) *bun.SelectQuery {
		return query.Column("company_id", "endpoint", "version").Apply(afterSecret(after, limit)).
			Where("NOT EXISTS (?)", used)
	}
	scan := func(row rowSet, ref *driver.WebhookSecretRef) error {
		return row.Scan((*id)(&ref.CompanyID), &ref.Endpoint, &ref.Version)
	}
	refs, asked, err := askNodes(ctx, s, "RetiredWebhookSecrets", func(q *nodeQuery) {
		q.columns = "company_id uuid, endpoint bigint, version bigint"
		q.add(nil, s.store.modelStatement(retired(s.newSelect().Model((*webhookSecretModel)(nil)))))
	}, scan)
	if !asked {
		return find(ctx, s, "RetiredWebhookSecrets", webhookSecretModel.ref, retired(s.newSelect()))
	}
	slices.SortFunc(refs, func(a, b driver.WebhookSecretRef) int {
		return cmp.Or(slices.Compare(a.CompanyID[:], b.CompanyID[:]), cmp.Compare(a.Endpoint, b.Endpoint),
			cmp.Compare(a.Version, b.Version))
	})
	refs = slices.Compact(refs) // While a shard moves, two nodes may return its secrets.
	return refs[:min(max(limit, 0), len(refs))], err
}

// afterSecret selects a page of secrets by their keys, after a secret.
func afterSecret(after driver.WebhookSecretRef, limit int) func(*bun.SelectQuery) *bun.SelectQuery {
	return func(query *bun.SelectQuery) *bun.SelectQuery {
		return query.
			Where("(company_id, endpoint, version) > (?, ?, ?)",
				id(after.CompanyID), integer(after.Endpoint), integer(after.Version)).
			Apply(page("company_id, endpoint, version", limit))
	}
}

// CreateWebhookEndpoint inserts an endpoint.
func (tx *transaction) CreateWebhookEndpoint(ctx context.Context, e driver.WebhookEndpoint) error {
	return tx.create(ctx, "CreateWebhookEndpoint", &endpointModel{endpointFields: endpointFields(e)})
}

// UpdateWebhookEndpoint writes everything but the company, the number, the id and the time of creation.
func (tx *transaction) UpdateWebhookEndpoint(ctx context.Context, e driver.WebhookEndpoint) error {
	return tx.save(ctx, "UpdateWebhookEndpoint", &endpointModel{endpointFields: endpointFields(e)})
}

// DeleteWebhookEndpoint removes an endpoint and its secrets.
func (tx *transaction) DeleteWebhookEndpoint(ctx context.Context, ref driver.WebhookEndpointRef) error {
	const name = "DeleteWebhookEndpoint"
	err := tx.write(ctx, name, anyNumber, tx.store.models.NewDelete().Model((*webhookSecretModel)(nil)).
		Where("company_id = ?", id(ref.CompanyID)).Where("endpoint = ?", integer(ref.Number)))
	if err != nil {
		return err
	}
	return tx.write(ctx, name, 1, tx.store.models.NewDelete().
		Model(&endpointModel{endpointFields: endpointFields{CompanyID: ref.CompanyID, Number: ref.Number}}).WherePK())
}

// AppendWebhookSecret inserts a version.
func (tx *transaction) AppendWebhookSecret(ctx context.Context, s driver.WebhookSecret) error {
	return tx.create(ctx, "AppendWebhookSecret", &webhookSecretModel{webhookSecretFields: webhookSecretFields(s)})
}

// UpdateWebhookSecret writes the encrypted secret.
func (tx *transaction) UpdateWebhookSecret(ctx context.Context, s driver.WebhookSecret) error {
	return tx.save(ctx, "UpdateWebhookSecret", &webhookSecretModel{webhookSecretFields: webhookSecretFields(s)}, "secret")
}

// DeleteWebhookSecrets removes those of the secrets that still exist.
func (tx *transaction) DeleteWebhookSecrets(ctx context.Context, refs []driver.WebhookSecretRef) error {
	return inParts(refs, func(refs []driver.WebhookSecretRef) error {
		return tx.write(ctx, "DeleteWebhookSecrets", anyNumber, tx.store.models.NewDelete().
			Model((*webhookSecretModel)(nil)).Where("?", tx.expr(inRows(secretSet(refs)))))
	})
}
