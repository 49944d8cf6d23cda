package ticketing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/seal"
	"github.com/floatgate/ticketing/webhook"
)

// webhookSecretDomain separates the encryption of webhook secrets from that of other values: one does not decrypt as
// the other.
const webhookSecretDomain = "webhook-secret"

// WebhookSecret signs the deliveries of an endpoint. It is svc_whsec_ and 43 characters, which are 32 random bytes in
// unpadded base64url (section 5.2). All bytes of the text are the signing key (section 6.4).
//
// It shows nothing when it is printed, logged or marshalled. string(secret) is its text, and the responses that issue a
// secret write it to their JSON.
type WebhookSecret string

// String returns the prefix and an ellipsis: nothing of the secret.
func (WebhookSecret) String() string { return webhook.SecretPrefix + "…" }

// Format writes what String returns, for every verb.
func (s WebhookSecret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns what String returns.
func (s WebhookSecret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// IssuedWebhookEndpoint is a new endpoint and its first secret, which is not shown again. An HTTP response with it has
// Cache-Control: no-store.
type IssuedWebhookEndpoint struct {
	WebhookEndpoint

	Secret WebhookSecret `json:"secret"`
}

// MarshalJSON writes the endpoint and the text of the secret.
func (e IssuedWebhookEndpoint) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		WebhookEndpoint

		Secret string `json:"secret"`
	}{e.WebhookEndpoint, string(e.Secret)})
}

// LogValue returns the endpoint without its secret.
func (e IssuedWebhookEndpoint) LogValue() slog.Value { return slog.AnyValue(e.WebhookEndpoint) }

// PreparedWebhookSecret is the next secret of an endpoint, which is not shown again. An HTTP response with it has
// Cache-Control: no-store.
type PreparedWebhookSecret struct {
	ID     uuid.UUID     `json:"id"` // of the endpoint
	Secret WebhookSecret `json:"secret"`
}

// MarshalJSON writes the id and the text of the secret.
func (p PreparedWebhookSecret) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID     uuid.UUID `json:"id"`
		Secret string    `json:"secret"`
	}{p.ID, string(p.Secret)})
}

// LogValue returns the id without the secret.
func (p PreparedWebhookSecret) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", p.ID.String()))
}

// WebhookSecretReencryption is the result of [Operator.ReencryptWebhookSecrets].
type WebhookSecretReencryption struct {
	// Reencrypted is how many secrets were encrypted with the first key.
	Reencrypted int `json:"resealed"`
	// Left is how many secrets are still encrypted with another key than the first. They do not decrypt, or were made
	// meanwhile by a process with another first key. While there are any, their keys must stay in [Config.SecretKeys].
	Left int `json:"left"`
}

// webhookSecretSealName returns the owner that is bound into the encryption: a secret that was moved to another
// endpoint or version does not decrypt.
func webhookSecretSealName(s driver.WebhookSecret) string {
	return fmt.Sprintf("%s/%d/%d", s.CompanyID, s.Endpoint, s.Version)
}

// newWebhookSecret returns a random secret.
func (s *Service) newWebhookSecret() (WebhookSecret, error) {
	random := make([]byte, secretSize)
	if _, err := io.ReadFull(s.rand, random); err != nil {
		return "", fmt.Errorf("ticketing: make a webhook secret: %w", err)
	}
	return WebhookSecret(webhook.SecretPrefix + secretEncoding.EncodeToString(random)), nil
}

// sealWebhookSecret encrypts a signing secret with the first secret key.
func (s *Service) sealWebhookSecret(record *driver.WebhookSecret, secret WebhookSecret) error {
	sealed, err := s.seals.Seal(s.rand, webhookSecretDomain, webhookSecretSealName(*record), []byte(secret))
	record.Secret = sealed
	return err
}

// openWebhookSecret decrypts a signing secret, and reports whether it was encrypted with the first secret key. A secret
// whose key is not given is [ErrSecretKeys]. A sender opens secrets with the leases of deliveries, and keeps them no
// longer than those.
func (s *Service) openWebhookSecret(record driver.WebhookSecret) (secret WebhookSecret, current bool, err error) {
	opened, current, err := s.seals.Open(record.Secret, webhookSecretDomain, webhookSecretSealName(record))
	switch {
	case errors.Is(err, seal.ErrUnknownKey):
		err = fmt.Errorf("%w: a webhook secret of company %s was encrypted under another one", ErrSecretKeys,
			record.CompanyID)
	case err != nil:
		err = fmt.Errorf("ticketing: a webhook secret of company %s was changed from outside: %w", record.CompanyID, err)
	}
	return WebhookSecret(opened), current, err
}

// appendSecret keeps a secret as the next version of an endpoint's. It counts the version in the endpoint's record,
// which the caller writes. Versions are never used again. The caller holds the company's gate exclusively, so no two
// secrets get one version.
func (s *Service) appendSecret(
	ctx context.Context, tx driver.WebhookEndpointWriter, at time.Time, endpoint *driver.WebhookEndpoint,
	secret WebhookSecret,
) error {
	endpoint.LastSecret++
	record := driver.WebhookSecret{
		CompanyID: endpoint.CompanyID, Endpoint: endpoint.Number, Version: endpoint.LastSecret, CreatedAt: at,
	}
	if err := s.sealWebhookSecret(&record, secret); err != nil {
		return err
	}
	return tx.AppendWebhookSecret(ctx, record)
}

// findWebhookSecrets returns secrets by reference. One that does not exist is the zero record.
func findWebhookSecrets(
	ctx context.Context, tx driver.ReadTx, refs []driver.WebhookSecretRef,
) (map[driver.WebhookSecretRef]driver.WebhookSecret, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	refs = distinct(refs)
	found, err := tx.WebhookSecrets(ctx, refs)
	if err != nil {
		return nil, err
	}
	secrets := make(map[driver.WebhookSecretRef]driver.WebhookSecret, len(refs))
	for i, ref := range refs {
		secrets[ref] = found[i]
	}
	return secrets, nil
}

// PrepareWebhookSecret makes the next secret of an endpoint and returns it, which it does only once. Deliveries are
// signed with the active secret until [Operator.ActivateWebhookSecret]. A second call before that replaces the prepared
// secret. It needs COMPANY:webhook:manage.
//
// It is the first step of a rotation (section 6.5): prepare, have the receiver accept both secrets, activate.
func (o Operator) PrepareWebhookSecret(ctx context.Context, id uuid.UUID) (PreparedWebhookSecret, error) {
	if err := o.holds(PermissionWebhookManage); err != nil {
		return PreparedWebhookSecret{}, err
	}
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return PreparedWebhookSecret{}, err
	}
	secret, err := o.s.newWebhookSecret()
	if err != nil {
		return PreparedWebhookSecret{}, err
	}
	_, err = o.changeEndpoint(ctx, "webhook.prepare_secret", id,
		func(ctx context.Context, tx driver.Tx, at time.Time, endpoint *driver.WebhookEndpoint) error {
			if endpoint.PendingSecret != 0 { // It never signed anything, so it can be removed at once.
				err := tx.DeleteWebhookSecrets(ctx, []driver.WebhookSecretRef{endpoint.SecretRef(endpoint.PendingSecret)})
				if err != nil {
					return err
				}
			}
			if err := o.s.appendSecret(ctx, tx, at, endpoint, secret); err != nil {
				return err
			}
			endpoint.PendingSecret = endpoint.LastSecret
			return nil
		})
	if err != nil {
		return PreparedWebhookSecret{}, err
	}
	return PreparedWebhookSecret{ID: id, Secret: secret}, nil
}

// ActivateWebhookSecret makes the prepared secret the active one: it signs every delivery that is made from then on,
// including replays. Deliveries that exist keep their secret, which is removed after the last of them is final. It is
// CONFLICT if no secret was prepared. It needs COMPANY:webhook:manage.
func (o Operator) ActivateWebhookSecret(ctx context.Context, id uuid.UUID) (WebhookEndpoint, error) {
	if err := o.holds(PermissionWebhookManage); err != nil {
		return WebhookEndpoint{}, err
	}
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return WebhookEndpoint{}, err
	}
	return o.changeEndpoint(ctx, "webhook.activate_secret", id,
		func(ctx context.Context, tx driver.Tx, _ time.Time, endpoint *driver.WebhookEndpoint) error {
			if endpoint.PendingSecret == 0 {
				return conflict("The endpoint has no prepared secret. Prepare one first.")
			}
			prepared := endpoint.SecretRef(endpoint.PendingSecret)
			pending, err := firstRecord(tx.WebhookSecrets(ctx, []driver.WebhookSecretRef{prepared}))
			if err != nil {
				return err
			}
			// A secret that cannot be decrypted must not become the one that signs everything.
			if _, _, err := o.s.openWebhookSecret(pending); err != nil {
				return err
			}
			// Deliveries that exist name their version, so the former secret stays until the last of them is final.
			endpoint.ActiveSecret, endpoint.PendingSecret = endpoint.PendingSecret, 0
			return nil
		})
}

// ReencryptWebhookSecrets encrypts every signing secret with the first of [Config.SecretKeys] that another key had
// encrypted, so that the other key can be removed. Sales and deliveries go on meanwhile. It may be repeated. No secret
// changes, and the audit log does not record it, as it does not record other uses of the keys. It needs tenant:manage.
//
// A secret that does not decrypt stays as it is and is logged. Rotating the endpoint's secret, or deleting the
// endpoint, removes it.
func (o Operator) ReencryptWebhookSecrets(ctx context.Context) (WebhookSecretReencryption, error) {
	reencrypted, left, err := reencryptAll(ctx, o,
		func(ctx context.Context, tx driver.ReadTx, after driver.WebhookSecret) ([]driver.WebhookSecret, error) {
			return tx.StaleWebhookSecrets(ctx, driver.StaleWebhookSecretQuery{
				SecretName: o.s.keys.Names()[0], After: after.Ref(), Limit: reencryptPage,
			})
		},
		func(ctx context.Context, stale driver.WebhookSecret) (bool, error) {
			return o.reencryptWebhookSecret(ctx, stale.Ref())
		})
	return WebhookSecretReencryption{Reencrypted: reencrypted, Left: left}, err
}

// reencryptWebhookSecret encrypts a signing secret with the first secret key, and reports whether it did. It does
// nothing if the secret is gone, is current, or cannot be decrypted. The exclusive gate keeps others from removing the
// secret meanwhile.
func (o Operator) reencryptWebhookSecret(
	ctx context.Context, ref driver.WebhookSecretRef,
) (reencrypted bool, err error) {
	s := o.s
	err = s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		reencrypted = false
		in := driver.BeginOptions{Exclusive: []uuid.UUID{ref.CompanyID}}
		if err := o.begin(ctx, tx, in, PermissionManage, uuid.Nil); err != nil {
			return err
		}
		record, err := firstRecord(tx.WebhookSecrets(ctx, []driver.WebhookSecretRef{ref}))
		if err != nil || record.Version == 0 {
			return err
		}
		secret, current, err := s.openWebhookSecret(record)
		if err != nil {
			s.log.WarnContext(ctx, "a webhook secret was not re-encrypted", "company", ref.CompanyID,
				"endpoint", ref.Endpoint, "error", err)
			return nil
		}
		// Another process has encrypted it meanwhile.
		if current {
			return nil
		}
		if err := s.sealWebhookSecret(&record, secret); err != nil {
			return err
		}
		reencrypted = true
		return tx.UpdateWebhookSecret(ctx, record)
	})
	return reencrypted && err == nil, err
}
