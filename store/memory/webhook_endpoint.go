package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type endpoints struct {
	byRef     map[driver.WebhookEndpointRef]driver.WebhookEndpoint
	byID      map[uuid.UUID]driver.WebhookEndpointRef
	ofCompany map[uuid.UUID]*index[int64]
	secrets   map[driver.WebhookSecretRef]driver.WebhookSecret
	versions  *index[driver.WebhookSecretRef] // of all secrets
}

func newEndpoints() endpoints {
	return endpoints{
		byRef:     make(map[driver.WebhookEndpointRef]driver.WebhookEndpoint),
		byID:      make(map[uuid.UUID]driver.WebhookEndpointRef),
		ofCompany: make(map[uuid.UUID]*index[int64]),
		secrets:   make(map[driver.WebhookSecretRef]driver.WebhookSecret),
		versions:  newIndex(compareSecrets),
	}
}

func compareEndpoints(a, b driver.WebhookEndpointRef) int {
	return cmp.Or(compareIDs(a.CompanyID, b.CompanyID), cmp.Compare(a.Number, b.Number))
}

func compareSecrets(a, b driver.WebhookSecretRef) int {
	return cmp.Or(compareIDs(a.CompanyID, b.CompanyID), cmp.Compare(a.Endpoint, b.Endpoint),
		cmp.Compare(a.Version, b.Version))
}

func endpointRef(endpoint driver.WebhookEndpoint) driver.WebhookEndpointRef {
	return driver.WebhookEndpointRef{CompanyID: endpoint.CompanyID, Number: endpoint.Number}
}

func secretRef(secret driver.WebhookSecret) driver.WebhookSecretRef {
	return driver.WebhookSecretRef{CompanyID: secret.CompanyID, Endpoint: secret.Endpoint, Version: secret.Version}
}

func (e *endpoints) find(ref driver.WebhookEndpointRef) driver.WebhookEndpoint {
	endpoint := e.byRef[ref]
	endpoint.Events = slices.Clone(endpoint.Events)
	return endpoint
}

// used reports whether a secret is the active or pending one of its endpoint.
func (e *endpoints) used(ref driver.WebhookSecretRef) bool {
	of := e.byRef[driver.WebhookEndpointRef{CompanyID: ref.CompanyID, Number: ref.Endpoint}]
	return ref.Version == of.ActiveSecret || ref.Version == of.PendingSecret
}

func checkEndpoint(endpoint driver.WebhookEndpoint) error {
	if err := check(endpoint.Number >= 1, "webhook_endpoints_number_check"); err != nil {
		return err
	}
	if err := check(len(endpoint.Events) > 0, "webhook_endpoints_events_check"); err != nil {
		return err
	}
	known := endpoint.Status == driver.WebhookEnabled || endpoint.Status == driver.WebhookDisabled
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
) ([]driver.WebhookEndpoint, error) {
	return ask(ctx, r, func(s *state) []driver.WebhookEndpoint {
		numbers, ok := s.endpoints.ofCompany[companyID]
		if !ok {
			return nil
		}
		return each(numbers.keys, func(number int64) driver.WebhookEndpoint {
			return s.endpoints.find(driver.WebhookEndpointRef{CompanyID: companyID, Number: number})
		})
	})
}

func (r reading) FindWebhookEndpoint(ctx context.Context, id uuid.UUID) (driver.WebhookEndpoint, error) {
	return ask(ctx, r, func(s *state) driver.WebhookEndpoint {
		return s.endpoints.find(s.endpoints.byID[id])
	})
}

func (r reading) WebhookSecrets(
	ctx context.Context, refs []driver.WebhookSecretRef,
) ([]driver.WebhookSecret, error) {
	return ask(ctx, r, func(s *state) []driver.WebhookSecret {
		return each(refs, func(ref driver.WebhookSecretRef) driver.WebhookSecret {
			return s.endpoints.secrets[ref]
		})
	})
}

// some returns the references of wanted secrets after one, at most limit of them.
func (e *endpoints) some(
	after driver.WebhookSecretRef, limit int, wanted func(ref driver.WebhookSecretRef) bool,
) []driver.WebhookSecretRef {
	var found []driver.WebhookSecretRef
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
	ctx context.Context, query driver.StaleWebhookSecretQuery,
) ([]driver.WebhookSecret, error) {
	return ask(ctx, r, func(s *state) []driver.WebhookSecret {
		stale := s.endpoints.some(query.After, query.Limit, func(ref driver.WebhookSecretRef) bool {
			name, _ := sealedUnder(s.endpoints.secrets[ref].Secret)
			return name != query.SecretName
		})
		return each(stale, func(ref driver.WebhookSecretRef) driver.WebhookSecret {
			return s.endpoints.secrets[ref]
		})
	})
}

func (r reading) RetiredWebhookSecrets(
	ctx context.Context, after driver.WebhookSecretRef, limit int,
) ([]driver.WebhookSecretRef, error) {
	return ask(ctx, r, func(s *state) []driver.WebhookSecretRef {
		return s.endpoints.some(after, limit, func(ref driver.WebhookSecretRef) bool { return !s.endpoints.used(ref) })
	})
}

func (tx *updating) CreateWebhookEndpoint(ctx context.Context, endpoint driver.WebhookEndpoint) error {
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

func (tx *updating) UpdateWebhookEndpoint(ctx context.Context, endpoint driver.WebhookEndpoint) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		kept, ok := s.endpoints.byRef[endpointRef(endpoint)]
		if !ok {
			return driver.ErrNotFound
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

func (tx *updating) DeleteWebhookEndpoint(ctx context.Context, ref driver.WebhookEndpointRef) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		kept, ok := s.endpoints.byRef[ref]
		if !ok {
			return driver.ErrNotFound
		}
		take(u, s.endpoints.byRef, ref)
		take(u, s.endpoints.byID, kept.ID)
		s.endpoints.ofCompany[ref.CompanyID].drop(u, ref.Number)
		first := driver.WebhookSecretRef{CompanyID: ref.CompanyID, Endpoint: ref.Number}
		for _, secret := range slices.Clone(s.endpoints.versions.after(first, len(s.endpoints.versions.keys))) {
			if secret.CompanyID != ref.CompanyID || secret.Endpoint != ref.Number {
				break
			}
			s.endpoints.drop(u, secret)
		}
		return nil
	})
}

func (e *endpoints) drop(u *undo, secret driver.WebhookSecretRef) {
	take(u, e.secrets, secret)
	e.versions.drop(u, secret)
}

func (tx *updating) AppendWebhookSecret(ctx context.Context, secret driver.WebhookSecret) error {
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

func (tx *updating) UpdateWebhookSecret(ctx context.Context, secret driver.WebhookSecret) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		kept, ok := s.endpoints.secrets[secretRef(secret)]
		if !ok {
			return driver.ErrNotFound
		}
		kept.Secret = secret.Secret
		put(u, s.endpoints.secrets, secretRef(kept), kept)
		return nil
	})
}

func (tx *updating) DeleteWebhookSecrets(ctx context.Context, refs []driver.WebhookSecretRef) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, ref := range refs {
			if _, kept := s.endpoints.secrets[ref]; kept {
				s.endpoints.drop(u, ref)
			}
		}
		return nil
	})
}
