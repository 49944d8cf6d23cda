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

	"github.com/floatgate/ticketing/internal/seal"
	"github.com/floatgate/ticketing/webhook"
)

const webhookSecretDomain = "webhook-secret" // of the encryption

// WebhookSecret signs the deliveries of an endpoint: svc_whsec_ and 43 characters, 32 random bytes in unpadded base64url
// (section 5.2); all of its bytes are the key (section 6.4). However it is printed, logged or marshalled, it shows
// nothing: string(secret) is its text, and the answers that hand one out show it in their JSON.
type WebhookSecret string

// String is what may be seen of it.
func (WebhookSecret) String() string { return webhook.SecretPrefix + "…" }

// Format writes what String answers, whatever the verb.
func (s WebhookSecret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText writes what String answers.
func (s WebhookSecret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// IssuedWebhookEndpoint is a new endpoint and its first secret: the only time that it is shown. Whatever answers a
// browser with it sends Cache-Control: no-store.
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

// LogValue is the endpoint without its secret.
func (e IssuedWebhookEndpoint) LogValue() slog.Value { return slog.AnyValue(e.WebhookEndpoint) }

// PreparedWebhookSecret is the next secret of an endpoint: the only time that it is shown. Whatever answers a browser
// with it sends Cache-Control: no-store.
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

// LogValue is the id without the secret.
func (p PreparedWebhookSecret) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", p.ID.String()))
}

// WebhookSecretResealing tells what became of the signing secrets of webhooks that were encrypted under another than the
// first secret key.
type WebhookSecretResealing struct {
	// Resealed is how many were encrypted anew.
	Resealed int `json:"resealed"`
	// Left is how many still are not encrypted under the first: what does not decrypt, or was made meanwhile by a process
	// with another first key. While there are any, their keys must be given.
	Left int `json:"left"`
}

// WebhookSecretRecord is a version of an endpoint's signing secret as a store keeps it.
type WebhookSecretRecord struct {
	CompanyID uuid.UUID
	Endpoint  int64 // its number
	Version   int64
	Secret    string // sealed, see package internal/seal
	CreatedAt time.Time
}

// WebhookSecretRef names a version of an endpoint's signing secret.
type WebhookSecretRef struct {
	CompanyID uuid.UUID
	Endpoint  int64
	Version   int64
}

// StaleWebhookSecretQuery asks for a part of the signing secrets that were sealed under another key than one.
type StaleWebhookSecretQuery struct {
	SecretName string           // of the one
	After      WebhookSecretRef // zero: from the beginning
	Limit      int
}

func (s WebhookSecretRecord) ref() WebhookSecretRef {
	return WebhookSecretRef{CompanyID: s.CompanyID, Endpoint: s.Endpoint, Version: s.Version}
}

// sealedFor is whose secret it is: one that was moved to another endpoint or version does not open.
func (s WebhookSecretRecord) sealedFor() string {
	return fmt.Sprintf("%s/%d/%d", s.CompanyID, s.Endpoint, s.Version)
}

// newWebhookSecret makes a secret.
func (s *Service) newWebhookSecret() (WebhookSecret, error) {
	random := make([]byte, secretSize)
	if _, err := io.ReadFull(s.rand, random); err != nil {
		return "", fmt.Errorf("ticketing: make a webhook secret: %w", err)
	}
	return WebhookSecret(webhook.SecretPrefix + secretEncoding.EncodeToString(random)), nil
}

// sealWebhookSecret encrypts a signing secret under the first secret key.
func (s *Service) sealWebhookSecret(record *WebhookSecretRecord, secret WebhookSecret) error {
	sealed, err := s.seals.Seal(s.rand, webhookSecretDomain, record.sealedFor(), []byte(secret))
	record.Secret = sealed
	return err
}

// openWebhookSecret decrypts a signing secret, and tells whether the first secret key had encrypted it.
func (s *Service) openWebhookSecret(record WebhookSecretRecord) (secret WebhookSecret, current bool, err error) {
	opened, current, err := s.seals.Open(record.Secret, webhookSecretDomain, record.sealedFor())
	switch {
	case errors.Is(err, seal.ErrUnknownKey):
		err = fmt.Errorf("%w: a webhook secret of company %s was encrypted under another one", ErrSecretKeys, record.CompanyID)
	case err != nil:
		err = fmt.Errorf("ticketing: a webhook secret of company %s was changed from outside: %w", record.CompanyID, err)
	}
	return WebhookSecret(opened), current, err
}

// appendSecret keeps a secret as the next version of an endpoint's, which the endpoint's record does not tell yet.
func (s *Service) appendSecret(
	ctx context.Context, tx WebhookEndpointWriter, at time.Time, endpoint *WebhookEndpointRecord, secret WebhookSecret,
) error {
	endpoint.LastSecret++
	record := WebhookSecretRecord{
		CompanyID: endpoint.CompanyID, Endpoint: endpoint.Number, Version: endpoint.LastSecret, CreatedAt: at,
	}
	if err := s.sealWebhookSecret(&record, secret); err != nil {
		return err
	}
	return tx.AppendWebhookSecret(ctx, record)
}

func findWebhookSecrets(
	ctx context.Context, tx ReadTx, refs []WebhookSecretRef,
) (map[WebhookSecretRef]WebhookSecretRecord, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	refs = distinct(refs)
	found, err := tx.WebhookSecrets(ctx, refs)
	if err != nil {
		return nil, err
	}
	secrets := make(map[WebhookSecretRef]WebhookSecretRecord, len(refs))
	for i, ref := range refs {
		secrets[ref] = found[i]
	}
	return secrets, nil
}

// PrepareWebhookSecret makes the next secret of an endpoint and shows it, this once; deliveries are signed with the
// present one until [Operator.ActivateWebhookSecret]. Prepared again before that, the one that was waiting is gone. It
// needs COMPANY:webhook:manage.
//
// It is the first of two steps (section 6.5): prepare, have the receiver accept both secrets, activate.
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
		func(ctx context.Context, tx Tx, at time.Time, endpoint *WebhookEndpointRecord) error {
			if endpoint.PendingSecret != 0 { // It never signed anything.
				err := tx.DeleteWebhookSecrets(ctx, []WebhookSecretRef{endpoint.secret(endpoint.PendingSecret)})
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

// ActivateWebhookSecret has the secret that was prepared sign every delivery that is made from now on, replays too.
// Deliveries that were made before keep the one they were made with, which is removed when the last of them is final. It
// is CONFLICT where none was prepared. It needs COMPANY:webhook:manage.
func (o Operator) ActivateWebhookSecret(ctx context.Context, id uuid.UUID) (WebhookEndpoint, error) {
	if err := o.holds(PermissionWebhookManage); err != nil {
		return WebhookEndpoint{}, err
	}
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return WebhookEndpoint{}, err
	}
	return o.changeEndpoint(ctx, "webhook.activate_secret", id,
		func(ctx context.Context, tx Tx, _ time.Time, endpoint *WebhookEndpointRecord) error {
			if endpoint.PendingSecret == 0 {
				return conflict("The endpoint has no prepared secret. Prepare one first.")
			}
			pending, err := only(tx.WebhookSecrets(ctx, []WebhookSecretRef{endpoint.secret(endpoint.PendingSecret)}))
			if err != nil {
				return err
			}
			// What nobody could sign with does not become what everything is signed with.
			if _, _, err := o.s.openWebhookSecret(pending); err != nil {
				return err
			}
			endpoint.ActiveSecret, endpoint.PendingSecret = endpoint.PendingSecret, 0
			return nil
		})
}

// ResealWebhookSecrets encrypts every signing secret of webhooks under the first of [Config.SecretKeys] that another had
// encrypted, so that the other can be given up; sales and deliveries go on meanwhile. It may be repeated. No secret
// becomes another one, and the audit log does not tell of it, as of other uses of the keys. One that does not decrypt
// stays as it is and is told to the log: rotating the endpoint's secret, or deleting the endpoint, mends it. It needs
// tenant:manage.
func (o Operator) ResealWebhookSecrets(ctx context.Context) (WebhookSecretResealing, error) {
	resealed, left, err := resealAll(ctx, o,
		func(ctx context.Context, tx ReadTx, after WebhookSecretRecord) ([]WebhookSecretRecord, error) {
			return tx.StaleWebhookSecrets(ctx, StaleWebhookSecretQuery{
				SecretName: o.s.keys.Names()[0], After: after.ref(), Limit: resealPage,
			})
		},
		func(ctx context.Context, stale WebhookSecretRecord) (bool, error) {
			return o.s.resealWebhookSecret(ctx, stale.ref())
		})
	return WebhookSecretResealing{Resealed: resealed, Left: left}, err
}

// resealWebhookSecret encrypts a signing secret under the first secret key, and tells whether it had to and could. The
// closed gate keeps whoever removes secrets out meanwhile.
func (s *Service) resealWebhookSecret(ctx context.Context, ref WebhookSecretRef) (resealed bool, err error) {
	err = s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		resealed = false
		if _, err := tx.Enter(ctx, Entrance{Close: []uuid.UUID{ref.CompanyID}}); err != nil {
			return err
		}
		record, err := only(tx.WebhookSecrets(ctx, []WebhookSecretRef{ref}))
		if err != nil || record.Version == 0 {
			return err
		}
		secret, current, err := s.openWebhookSecret(record)
		if err != nil {
			s.log.WarnContext(ctx, "a webhook secret was not encrypted anew", "company", ref.CompanyID,
				"endpoint", ref.Endpoint, "error", err)
			return nil
		}
		if current {
			return nil
		}
		if err := s.sealWebhookSecret(&record, secret); err != nil {
			return err
		}
		resealed = true
		return tx.UpdateWebhookSecret(ctx, record)
	})
	return resealed && err == nil, err
}

// secret names a version of an endpoint's secret.
func (e WebhookEndpointRecord) secret(version int64) WebhookSecretRef {
	return WebhookSecretRef{CompanyID: e.CompanyID, Endpoint: e.Number, Version: version}
}
