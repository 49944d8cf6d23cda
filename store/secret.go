package store

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

// secretModel is the name of a secret key, not the key.
type secretModel struct {
	bun.BaseModel `bun:"table:ticketing_secrets,alias:s"`

	Name      string `bun:",pk"`
	CreatedAt time.Time
}

func (m secretModel) name() string { return m.Name }

// SecretNames returns the names of secret keys, in order.
func (s *session) SecretNames(ctx context.Context) ([]string, error) {
	return find(ctx, s, "SecretNames", secretModel.name, s.newSelect().Column("name").OrderExpr("name"))
}

// SecretsInUse returns the names of the secret keys that the digests of active API keys, current bank accounts and
// signing secrets use.
func (s *session) SecretsInUse(ctx context.Context) ([]string, error) {
	scan := func(row rowSet, name *string) error { return row.Scan(name) }
	used := s.newSelect().Model((*apiKeyModel)(nil)).ColumnExpr("substr(digest, 4, 16) AS name").
		Where("status = ?", driver.APIKeyActive).
		Union(s.newSelect().Model((*bankAccountModel)(nil)).ColumnExpr("substr(number, 4, 16)").
			Where("version = (?)", s.newestBankAccount())).
		Union(s.newSelect().Model((*webhookSecretModel)(nil)).ColumnExpr("substr(secret, 4, 16)"))
	all := s.store.modelStatement(s.newSelect().TableExpr("(?) AS used", used).Column("name").OrderExpr("name"))
	names, asked, err := askNodes(ctx, s, "SecretsInUse", func(q *nodeQuery) {
		q.columns = "name text"
		q.add(nil, all)
	}, scan)
	if !asked {
		return fetch(ctx, s, "SecretsInUse", scan, all)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// AppendSecretName inserts a name; a name that exists already is no error.
func (tx *transaction) AppendSecretName(ctx context.Context, name string, at time.Time) error {
	return tx.write(ctx, "AppendSecretName", anyNumber,
		tx.insertion(&secretModel{Name: name, CreatedAt: at}).On("CONFLICT (name) DO NOTHING"))
}
