package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type endpoints struct {
	byRef     map[ticketing.WebhookEndpointRef]ticketing.WebhookEndpointRecord
	byID      map[uuid.UUID]ticketing.WebhookEndpointRef
	ofCompany map[uuid.UUID]*index[int64]
	secrets   map[ticketing.WebhookSecretRef]ticketing.WebhookSecretRecord
	versions  *index[ticketing.WebhookSecretRef] // of all secrets
}

func newEndpoints() endpoints {
	return endpoints{
		byRef:     make(map[ticketing.WebhookEndpointRef]ticketing.WebhookEndpointRecord),
		byID:      make(map[uuid.UUID]ticketing.WebhookEndpointRef),
		ofCompany: make(map[uuid.UUID]*index[int64]),
		secrets:   make(map[ticketing.WebhookSecretRef]ticketing.WebhookSecretRecord),
		versions:  newIndex(compareSecrets),
	}
}

func compareEndpoints(a, b ticketing.WebhookEndpointRef) int {
	return cmp.Or(compareIDs(a.CompanyID, b.CompanyID), cmp.Compare(a.Number, b.Number))
}

func compareSecrets(a, b ticketing.WebhookSecretRef) int {
	return cmp.Or(compareIDs(a.CompanyID, b.CompanyID), cmp.Compare(a.Endpoint, b.Endpoint),
		cmp.Compare(a.Version, b.Version))
}

func endpointRef(endpoint ticketing.WebhookEndpointRecord) ticketing.WebhookEndpointRef {
	return ticketing.WebhookEndpointRef{CompanyID: endpoint.CompanyID, Number: endpoint.Number}
}

func secretRef(secret ticketing.WebhookSecretRecord) ticketing.WebhookSecretRef {
	return ticketing.WebhookSecretRef{CompanyID: secret.CompanyID, Endpoint: secret.Endpoint, Version: secret.Version}
}

func (e *endpoints) find(ref ticketing.WebhookEndpointRef) ticketing.WebhookEndpointRecord {
	endpoint := e.byRef[ref]
	endpoint.Events = slices.Clone(endpoint.Events)
	return endpoint
}

// used tells whether a secret is its endpoint's active or pending one.
func (e *endpoints) used(ref ticketing.WebhookSecretRef) bool {
	of := e.byRef[ticketing.WebhookEndpointRef{CompanyID: ref.CompanyID, Number: ref.Endpoint}]
	return ref.Version == of.ActiveSecret || ref.Version == of.PendingSecret
}

func checkEndpoint(endpoint ticketing.WebhookEndpointRecord) error {
	if err := check(endpoint.Number >= 1, "webhook_endpoints_number_check"); err != nil {
		return err
	}
	if err := check(len(endpoint.Events) > 0, "webhook_endpoints_events_check"); err != nil {
		return err
	}
	known := endpoint.Status == ticketing.WebhookEnabled || endpoint.Status == ticketing.WebhookDisabled
	if err := check(known, "webhook_endpoints_status_check"); err != nil {
		return err
	}
	active := endpoint.ActiveSecret >= 1 && endpoint.ActiveSecret <= endpoint.LastSecret
	pending := endpoint.PendingSecret == 0 ||
		endpoint.PendingSecret > endpoint.ActiveSecret && endpoint.PendingSecret <= endpoint.LastSecret
	return check(active && pending, "webhook_endpoints_secrets_check")
}

func (r reading) ListWebhookEndpoints(
	ctx context.Context, companyID uuid.UUID,
) ([]ticketing.WebhookEndpointRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.WebhookEndpointRecord {
		numbers, ok := s.endpoints.ofCompany[companyID]
		if !ok {
			return nil
		}
		return each(numbers.keys, func(number int64) ticketing.WebhookEndpointRecord {
			return s.endpoints.find(ticketing.WebhookEndpointRef{CompanyID: companyID, Number: number})
		})
	})
}

func (r reading) FindWebhookEndpoint(ctx context.Context, id uuid.UUID) (ticketing.WebhookEndpointRecord, error) {
	return ask(ctx, r, func(s *state) ticketing.WebhookEndpointRecord {
		return s.endpoints.find(s.endpoints.byID[id])
	})
}

func (r reading) WebhookSecrets(
	ctx context.Context, refs []ticketing.WebhookSecretRef,
) ([]ticketing.WebhookSecretRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.WebhookSecretRecord {
		return each(refs, func(ref ticketing.WebhookSecretRef) ticketing.WebhookSecretRecord {
			return s.endpoints.secrets[ref]
		})
	})
}

// some are the references of secrets behind one that are as wanted.
func (e *endpoints) some(
	after ticketing.WebhookSecretRef, limit int, wanted func(ref ticketing.WebhookSecretRef) bool,
) []ticketing.WebhookSecretRef {
	var found []ticketing.WebhookSecretRef
	for _, ref := range e.versions.after(after, len(e.versions.keys)) {
		if len(found) >= limit {
			break
		}
		if wanted(ref) {
			found = append(found, ref)
		}
	}
	return found
}

func (r reading) StaleWebhookSecrets(
	ctx context.Context, query ticketing.StaleWebhookSecretQuery,
) ([]ticketing.WebhookSecretRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.WebhookSecretRecord {
		stale := s.endpoints.some(query.After, query.Limit, func(ref ticketing.WebhookSecretRef) bool {
			name, _ := sealedUnder(s.endpoints.secrets[ref].Secret)
			return name != query.SecretName
		})
		return each(stale, func(ref ticketing.WebhookSecretRef) ticketing.WebhookSecretRecord {
			return s.endpoints.secrets[ref]
		})
	})
}

func (r reading) RetiredWebhookSecrets(
	ctx context.Context, after ticketing.WebhookSecretRef, limit int,
) ([]ticketing.WebhookSecretRef, error) {
	return ask(ctx, r, func(s *state) []ticketing.WebhookSecretRef {
		return s.endpoints.some(after, limit, func(ref ticketing.WebhookSecretRef) bool { return !s.endpoints.used(ref) })
	})
}

func (tx *updating) CreateWebhookEndpoint(ctx context.Context, endpoint ticketing.WebhookEndpointRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		if err := checkEndpoint(endpoint); err != nil {
			return err
		}
		endpoint.Events = slices.Clone(endpoint.Events)
		endpoint.CreatedAt, endpoint.UpdatedAt = moment(endpoint.CreatedAt), moment(endpoint.UpdatedAt)
		ref := endpointRef(endpoint)
		if err := create(u, s.endpoints.byRef, ref, endpoint, "webhook_endpoints_pkey"); err != nil {
			return err
		}
		need(s.endpoints.ofCompany, endpoint.CompanyID, newNumbers).add(u, endpoint.Number)
		return create(u, s.endpoints.byID, endpoint.ID, ref, "webhook_endpoints_id_company_id_key")
	})
}

func (tx *updating) UpdateWebhookEndpoint(ctx context.Context, endpoint ticketing.WebhookEndpointRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		kept, ok := s.endpoints.byRef[endpointRef(endpoint)]
		if !ok {
			return ticketing.ErrNotFound
		}
		if err := checkEndpoint(endpoint); err != nil {
			return err
		}
		endpoint.Events = slices.Clone(endpoint.Events)
		endpoint.ID, endpoint.CreatedAt, endpoint.UpdatedAt = kept.ID, kept.CreatedAt, moment(endpoint.UpdatedAt)
		put(u, s.endpoints.byRef, endpointRef(endpoint), endpoint)
		return nil
	})
}

func (tx *updating) DeleteWebhookEndpoint(ctx context.Context, ref ticketing.WebhookEndpointRef) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		kept, ok := s.endpoints.byRef[ref]
		if !ok {
			return ticketing.ErrNotFound
		}
		take(u, s.endpoints.byRef, ref)
		take(u, s.endpoints.byID, kept.ID)
		s.endpoints.ofCompany[ref.CompanyID].drop(u, ref.Number)
		first := ticketing.WebhookSecretRef{CompanyID: ref.CompanyID, Endpoint: ref.Number}
		for _, secret := range slices.Clone(s.endpoints.versions.after(first, len(s.endpoints.versions.keys))) {
			if secret.CompanyID != ref.CompanyID || secret.Endpoint != ref.Number {
				break
			}
			s.endpoints.drop(u, secret)
		}
		return nil
	})
}

func (e *endpoints) drop(u *undo, secret ticketing.WebhookSecretRef) {
	take(u, e.secrets, secret)
	e.versions.drop(u, secret)
}

func (tx *updating) AppendWebhookSecret(ctx context.Context, secret ticketing.WebhookSecretRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		if err := check(secret.Version >= 1, "webhook_secrets_version_check"); err != nil {
			return err
		}
		secret.CreatedAt = moment(secret.CreatedAt)
		if err := create(u, s.endpoints.secrets, secretRef(secret), secret, "webhook_secrets_pkey"); err != nil {
			return err
		}
		s.endpoints.versions.add(u, secretRef(secret))
		return nil
	})
}

func (tx *updating) UpdateWebhookSecret(ctx context.Context, secret ticketing.WebhookSecretRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		kept, ok := s.endpoints.secrets[secretRef(secret)]
		if !ok {
			return ticketing.ErrNotFound
		}
		kept.Secret = secret.Secret
		put(u, s.endpoints.secrets, secretRef(kept), kept)
		return nil
	})
}

func (tx *updating) DeleteWebhookSecrets(ctx context.Context, refs []ticketing.WebhookSecretRef) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, ref := range refs {
			if _, kept := s.endpoints.secrets[ref]; kept {
				s.endpoints.drop(u, ref)
			}
		}
		return nil
	})
}
