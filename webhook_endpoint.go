package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/publicurl"
)

// MaxWebhookEndpoints is the most endpoints of a company, disabled ones counted (section 6.2).
const MaxWebhookEndpoints = 10

// WebhookStatus is whether an endpoint gets deliveries.
type WebhookStatus string

// The statuses of an endpoint. What happens while it is disabled is not delivered to it later.
const (
	WebhookEnabled  WebhookStatus = "ENABLED"
	WebhookDisabled WebhookStatus = "DISABLED"
)

// WebhookEndpointRecord is an endpoint as a store keeps it. It changes only behind the company's closed gate.
type WebhookEndpointRecord struct {
	CompanyID uuid.UUID
	// Number is 1, 2, 3 … in the order in which the company registered its endpoints, those that were deleted counted:
	// an endpoint existed when a fact was written where its number is at most [FactRecord.Endpoints].
	Number int64
	ID     uuid.UUID
	URL    string
	Events []FactType // those it is subscribed to, at least one, each once, in the order of section 6.1
	Status WebhookStatus
	// ActiveSecret is the version that signs new deliveries, PendingSecret the one that was prepared (zero: none), and
	// LastSecret the highest that there ever was.
	ActiveSecret  int64
	PendingSecret int64
	LastSecret    int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// WebhookEndpointRef names an endpoint of a company.
type WebhookEndpointRef struct {
	CompanyID uuid.UUID
	Number    int64
}

// WebhookEndpointReader finds endpoints and their secrets.
type WebhookEndpointReader interface {
	// ListWebhookEndpoints answers with all of a company, by number.
	ListWebhookEndpoints(ctx context.Context, companyID uuid.UUID) ([]WebhookEndpointRecord, error)
	// FindWebhookEndpoint finds an endpoint by its id alone; the zero record where there is none.
	FindWebhookEndpoint(ctx context.Context, id uuid.UUID) (WebhookEndpointRecord, error)
	WebhookSecrets(ctx context.Context, refs []WebhookSecretRef) ([]WebhookSecretRecord, error)
	// StaleWebhookSecrets answers with secrets of whichever company that were sealed under another key than one, by
	// company, endpoint and version.
	StaleWebhookSecrets(ctx context.Context, query StaleWebhookSecretQuery) ([]WebhookSecretRecord, error)
	// RetiredWebhookSecrets answers with secrets of whichever company that are neither active nor pending, by company,
	// endpoint and version, behind one.
	RetiredWebhookSecrets(ctx context.Context, after WebhookSecretRef, limit int) ([]WebhookSecretRef, error)
}

// WebhookEndpointWriter keeps endpoints and their secrets.
type WebhookEndpointWriter interface {
	CreateWebhookEndpoint(ctx context.Context, endpoint WebhookEndpointRecord) error
	// UpdateWebhookEndpoint keeps all but company, number, id and time of creation.
	UpdateWebhookEndpoint(ctx context.Context, endpoint WebhookEndpointRecord) error
	// DeleteWebhookEndpoint removes an endpoint and all its secrets. Its deliveries stay.
	DeleteWebhookEndpoint(ctx context.Context, ref WebhookEndpointRef) error
	AppendWebhookSecret(ctx context.Context, secret WebhookSecretRecord) error
	// UpdateWebhookSecret keeps the sealed secret, which another key has sealed anew.
	UpdateWebhookSecret(ctx context.Context, secret WebhookSecretRecord) error
	// DeleteWebhookSecrets removes secrets; one that is gone already is no error.
	DeleteWebhookSecrets(ctx context.Context, refs []WebhookSecretRef) error
}

// WebhookEndpointParams are what an endpoint is registered with.
type WebhookEndpointParams struct {
	// URL is a public https URL of at most 2048 characters, with any port, without credentials and without a fragment; no
	// address in any spelling, no local name (section 6.2). What it resolves to is looked at before each delivery.
	URL string
	// Events are the types it is subscribed to, at least one, no two alike.
	Events []FactType
}

// WebhookEndpointUpdate changes what is not nil, for what happens from then on.
type WebhookEndpointUpdate struct {
	URL    *string
	Events []FactType // all that it is subscribed to from now on
}

// WebhookEndpoint is where a company's events are delivered to, without its secret.
type WebhookEndpoint struct {
	ID        uuid.UUID     `json:"id"`
	CompanyID uuid.UUID     `json:"companyId"`
	URL       string        `json:"url"`
	Events    []FactType    `json:"events"` // in the order of section 6.1
	Status    WebhookStatus `json:"status"`
	// PendingSecret tells that a secret was prepared and not activated.
	PendingSecret bool `json:"pendingSecret"`
	CreatedAt     Time `json:"createdAt"`
	UpdatedAt     Time `json:"updatedAt"`
}

var errEndpointNotFound = notFound("The webhook endpoint")

func (e WebhookEndpointRecord) ref() WebhookEndpointRef {
	return WebhookEndpointRef{CompanyID: e.CompanyID, Number: e.Number}
}

func (e WebhookEndpointRecord) endpoint() WebhookEndpoint {
	return WebhookEndpoint{
		ID: e.ID, CompanyID: e.CompanyID, URL: e.URL, Events: e.Events, Status: e.Status,
		PendingSecret: e.PendingSecret != 0, CreatedAt: Time{e.CreatedAt}, UpdatedAt: Time{e.UpdatedAt},
	}
}

// audited is what the audit log tells of an endpoint. The versions tell secrets apart.
func (e WebhookEndpointRecord) audited() any {
	return struct {
		URL           string        `json:"url"`
		Events        []FactType    `json:"events"`
		Status        WebhookStatus `json:"status"`
		ActiveSecret  int64         `json:"activeSecret"`
		PendingSecret *int64        `json:"pendingSecret"`
	}{e.URL, e.Events, e.Status, e.ActiveSecret, version(e.PendingSecret)}
}

// version is nil for none.
func version(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// WebhookEventTypes are the types that an endpoint can be subscribed to, in the order of section 6.1.
func WebhookEventTypes() []FactType {
	return []FactType{FactOrderCreated, FactCommissionAccrued, FactBalanceLow, FactTicketValidated}
}

// delivered tells whether a fact is one that webhooks tell.
func (f FactRecord) delivered() bool { return slices.Contains(WebhookEventTypes(), f.eventType()) }

func checkEventType(v *violations, path string, event FactType) {
	if !slices.Contains(WebhookEventTypes(), event) {
		v.add(path, "must be order.created, commission.accrued, balance.low or ticket.validated")
	}
}

// checkEvents checks a subscription, and brings it into the order of section 6.1.
func checkEvents(v *violations, events []FactType) []FactType {
	all := WebhookEventTypes()
	if len(events) == 0 {
		v.add("events", "must have at least one event type")
	}
	for i, event := range events {
		switch {
		case !slices.Contains(all, event):
			checkEventType(v, indexed("events", i), event)
		case slices.Contains(events[:i], event):
			v.add(indexed("events", i), "must not repeat an event type")
		}
		if i == len(all) {
			break // There is something wrong with five; how much more need not be told.
		}
	}
	return slices.DeleteFunc(all, func(event FactType) bool { return !slices.Contains(events, event) })
}

// checkURL checks the URL of an endpoint, and answers with it as it is kept.
func (s *Service) checkURL(v *violations, raw string) string {
	checked, err := publicurl.Check(raw, s.privateHooks)
	if err != nil {
		v.add("url", err.Error())
	}
	return checked
}

// CreateWebhookEndpoint registers an endpoint, enabled, for what happens from now on, and shows its secret, this once. It
// is INVALID_REQUEST where the URL or the types are not what [WebhookEndpointParams] says, and CONFLICT where the company
// has ten endpoints, disabled ones counted. A company that is suspended or not verified may have endpoints: they tell of
// sales that happened. It needs COMPANY:webhook:manage.
//
// An endpoint gets the facts that were written after it was registered. The closed gate decides which those are: each
// sale and validation writes, in its own transaction and behind the shared gate, how many endpoints the company had ever
// registered.
func (o Operator) CreateWebhookEndpoint(
	ctx context.Context, companyID uuid.UUID, params WebhookEndpointParams,
) (IssuedWebhookEndpoint, error) {
	if err := o.allowWrite(PermissionWebhookManage, companyID); err != nil {
		return IssuedWebhookEndpoint{}, err
	}
	var v violations
	params.URL = o.s.checkURL(&v, params.URL)
	params.Events = checkEvents(&v, params.Events)
	if err := v.err(); err != nil {
		return IssuedWebhookEndpoint{}, err
	}
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return IssuedWebhookEndpoint{}, err
	}
	id := o.s.newID()
	secret, err := o.s.newWebhookSecret()
	if err != nil {
		return IssuedWebhookEndpoint{}, err
	}
	var made WebhookEndpointRecord
	err = o.change(ctx, PermissionWebhookManage, companyID,
		func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
			present, err := tx.ListWebhookEndpoints(ctx, companyID)
			if err != nil {
				return err
			}
			if len(present) >= MaxWebhookEndpoints {
				return conflict("A company has at most %d webhook endpoints, disabled ones counted. Delete one first.",
					MaxWebhookEndpoints)
			}
			company.WebhookEndpoints++
			made = WebhookEndpointRecord{
				CompanyID: companyID, Number: company.WebhookEndpoints, ID: id, URL: params.URL, Events: params.Events,
				Status: WebhookEnabled, CreatedAt: at, UpdatedAt: at,
			}
			if err := o.s.appendSecret(ctx, tx, at, &made, secret); err != nil {
				return err
			}
			made.ActiveSecret = made.LastSecret
			if err := tx.CreateWebhookEndpoint(ctx, made); err != nil {
				return err
			}
			if err := tx.UpdateCompany(ctx, *company); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "webhook.create", companyID, about("webhook", id), changes{after: made.audited()})
		})
	if err != nil {
		return IssuedWebhookEndpoint{}, err
	}
	return IssuedWebhookEndpoint{WebhookEndpoint: made.endpoint(), Secret: secret}, nil
}

// GetWebhookEndpoint shows an endpoint, never its secret. It needs COMPANY:webhook:read.
func (o Operator) GetWebhookEndpoint(ctx context.Context, id uuid.UUID) (WebhookEndpoint, error) {
	found, err := o.findEndpoint(ctx, PermissionWebhookRead, id)
	if err != nil {
		return WebhookEndpoint{}, err
	}
	return found.endpoint(), nil
}

// ListWebhookEndpoints shows a company's endpoints in the order in which they were registered, never a secret. It needs
// COMPANY:webhook:read.
func (o Operator) ListWebhookEndpoints(ctx context.Context, companyID uuid.UUID) ([]WebhookEndpoint, error) {
	var endpoints []WebhookEndpoint
	err := o.view(ctx, PermissionWebhookRead, companyID, func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
		records, err := tx.ListWebhookEndpoints(ctx, companyID)
		endpoints = make([]WebhookEndpoint, len(records))
		for i, record := range records {
			endpoints[i] = record.endpoint()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return endpoints, nil
}

// UpdateWebhookEndpoint changes the URL or the types of an endpoint, by the rules of its registration. Deliveries that
// were made before keep the URL they were made with (section 6.5). An endpoint that is so already stays as it is. It
// needs COMPANY:webhook:manage.
func (o Operator) UpdateWebhookEndpoint(
	ctx context.Context, id uuid.UUID, update WebhookEndpointUpdate,
) (WebhookEndpoint, error) {
	if err := o.holds(PermissionWebhookManage); err != nil {
		return WebhookEndpoint{}, err
	}
	var v violations
	var checkedURL string
	if update.URL != nil {
		checkedURL = o.s.checkURL(&v, *update.URL)
	}
	if update.Events != nil {
		update.Events = checkEvents(&v, update.Events)
	}
	if err := v.err(); err != nil {
		return WebhookEndpoint{}, err
	}
	return o.changeEndpoint(ctx, "webhook.update", id,
		func(_ context.Context, _ Tx, _ time.Time, endpoint *WebhookEndpointRecord) error {
			if update.URL != nil {
				endpoint.URL = checkedURL
			}
			if update.Events != nil {
				endpoint.Events = update.Events
			}
			return nil
		})
}

// endpointRule decides about an endpoint, and changes it.
type endpointRule func(ctx context.Context, tx Tx, at time.Time, endpoint *WebhookEndpointRecord) error

// changeEndpoint changes an endpoint behind the closed gate and keeps it, unless nothing changed.
func (o Operator) changeEndpoint(
	ctx context.Context, action string, id uuid.UUID, rule endpointRule,
) (WebhookEndpoint, error) {
	found, err := o.findEndpoint(ctx, PermissionWebhookManage, id)
	if err != nil {
		return WebhookEndpoint{}, err
	}
	var changed WebhookEndpointRecord
	err = o.change(ctx, PermissionWebhookManage, found.CompanyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			before, err := presentEndpoint(ctx, tx, id)
			if err != nil {
				return err
			}
			changed = before
			if err := rule(ctx, tx, at, &changed); err != nil {
				return err
			}
			if changed.equal(before) {
				return nil
			}
			changed.UpdatedAt = later(at, before.UpdatedAt)
			if err := tx.UpdateWebhookEndpoint(ctx, changed); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, action, changed.CompanyID, about("webhook", id),
				changes{before.audited(), changed.audited()})
		})
	if err != nil {
		return WebhookEndpoint{}, err
	}
	return changed.endpoint(), nil
}

func (e WebhookEndpointRecord) equal(other WebhookEndpointRecord) bool {
	return e.URL == other.URL && slices.Equal(e.Events, other.Events) && e.Status == other.Status &&
		e.ActiveSecret == other.ActiveSecret && e.PendingSecret == other.PendingSecret
}

// presentEndpoint reads an endpoint behind the gate, where nobody deletes it.
func presentEndpoint(ctx context.Context, tx ReadTx, id uuid.UUID) (WebhookEndpointRecord, error) {
	endpoint, err := tx.FindWebhookEndpoint(ctx, id)
	if err == nil && endpoint.ID == uuid.Nil {
		err = errEndpointNotFound
	}
	return endpoint, err
}

// enabledEndpoints are a company's endpoints that deliveries go to, by number.
func enabledEndpoints(
	ctx context.Context, tx WebhookEndpointReader, companyID uuid.UUID,
) (map[int64]WebhookEndpointRecord, error) {
	all, err := tx.ListWebhookEndpoints(ctx, companyID)
	enabled := make(map[int64]WebhookEndpointRecord, len(all))
	for _, endpoint := range all {
		if endpoint.Status == WebhookEnabled {
			enabled[endpoint.Number] = endpoint
		}
	}
	return enabled, err
}

// findEndpoint finds an endpoint by its id alone, for an actor that may see it.
func (o Operator) findEndpoint(
	ctx context.Context, permission Permission, id uuid.UUID,
) (WebhookEndpointRecord, error) {
	if err := o.holds(permission); err != nil {
		return WebhookEndpointRecord{}, err
	}
	var found WebhookEndpointRecord
	err := o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		found, err = tx.FindWebhookEndpoint(ctx, id)
		return err
	})
	if err == nil && (found.ID == uuid.Nil || !o.reaches(found.CompanyID)) {
		err = errEndpointNotFound
	}
	return found, err
}
