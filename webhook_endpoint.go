package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/publicurl"
)

// MaxWebhookEndpoints is the most endpoints of a company, including disabled ones (section 6.2).
const MaxWebhookEndpoints = 10

// WebhookStatus says whether an endpoint receives deliveries.
type WebhookStatus = driver.WebhookStatus

// The statuses of an endpoint. Events from the time in which it is DISABLED are never delivered to it.
const (
	WebhookEnabled  = driver.WebhookEnabled
	WebhookDisabled = driver.WebhookDisabled
)

// WebhookEndpointParams are what an endpoint is registered with (section 6.2).
type WebhookEndpointParams struct {
	// URL is a public https URL of at most 2048 characters, with any port, without credentials and without a fragment. An
	// address in any spelling and a local name are refused. Each delivery checks again what the name resolves to.
	URL string
	// Events are the types that it subscribes to: at least one, none twice.
	Events []FactType
}

// WebhookEndpointUpdate changes the fields that are not nil, for what happens from then on.
type WebhookEndpointUpdate struct {
	URL    *string
	Events []FactType // the whole new subscription
}

// WebhookEndpoint is a receiver of a company's events, without its secret.
type WebhookEndpoint struct {
	ID        uuid.UUID     `json:"id"`
	CompanyID uuid.UUID     `json:"companyId"`
	URL       string        `json:"url"`
	Events    []FactType    `json:"events"` // in the order of section 6.1
	Status    WebhookStatus `json:"status"`
	// PendingSecret reports whether a secret was prepared and not activated.
	PendingSecret bool `json:"pendingSecret"`
	CreatedAt     Time `json:"createdAt"`
	UpdatedAt     Time `json:"updatedAt"`
}

// errEndpointNotFound is also for endpoints that the actor may not see.
var errEndpointNotFound = notFound("The webhook endpoint")

// showEndpoint returns what an operator sees of the record.
func showEndpoint(e driver.WebhookEndpoint) WebhookEndpoint {
	return WebhookEndpoint{
		ID: e.ID, CompanyID: e.CompanyID, URL: e.URL, Events: e.Events, Status: e.Status,
		PendingSecret: e.PendingSecret != 0, CreatedAt: Time{Time: e.CreatedAt}, UpdatedAt: Time{Time: e.UpdatedAt},
	}
}

// auditedEndpoint returns what the audit log keeps of an endpoint. It identifies secrets by their versions. The log
// shows a rotation by them, and no secret.
func auditedEndpoint(e driver.WebhookEndpoint) any {
	return struct {
		URL           string        `json:"url"`
		Events        []FactType    `json:"events"`
		Status        WebhookStatus `json:"status"`
		ActiveSecret  int64         `json:"activeSecret"`
		PendingSecret *int64        `json:"pendingSecret"`
	}{e.URL, e.Events, e.Status, e.ActiveSecret, version(e.PendingSecret)}
}

// version returns a pointer to n, and nil for zero, which is no version.
func version(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// WebhookEventTypes returns the types that an endpoint can subscribe to, in the order of section 6.1. The caller may
// change the result.
func WebhookEventTypes() []FactType {
	return []FactType{FactOrderCreated, FactCommissionAccrued, FactBalanceLow, FactTicketValidated}
}

// isDelivered reports whether webhooks deliver the fact. The ticket mail is the one kind that they do not.
func isDelivered(f driver.Fact) bool {
	return slices.Contains(WebhookEventTypes(), eventTypeOf(f))
}

// checkEventType checks the type of an event.
func checkEventType(v *violations, path string, event FactType) {
	if !slices.Contains(WebhookEventTypes(), event) {
		v.add(path, "must be order.created, commission.accrued, balance.low or ticket.validated")
	}
}

// checkEvents checks a subscription and returns it in the order of section 6.1, so that equal subscriptions are kept
// alike. Only the first few violations of a long list are reported.
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
			break // A longer list has an error already, and one report is enough.
		}
	}
	return slices.DeleteFunc(all, func(event FactType) bool { return !slices.Contains(events, event) })
}

// checkURL checks the URL of an endpoint and returns it in the form in which it is kept.
//
// The name is not looked up: it may resolve to another address tomorrow. The sender checks the address of every
// connection.
func (s *Service) checkURL(v *violations, raw string) string {
	checked, err := publicurl.Check(raw, s.privateHooks)
	if err != nil {
		v.add("url", err.Error())
	}
	return checked
}

// CreateWebhookEndpoint registers an endpoint, ENABLED, for what happens from then on, and returns its secret, which is
// not shown again. It is INVALID_REQUEST if the URL or the types are not as [WebhookEndpointParams] requires, and
// CONFLICT if the company has ten endpoints, including disabled ones. It is [ErrSecretKeys] if the service has other
// secret keys than the database. A company that is suspended or not verified may register endpoints, since they report
// sales that happened. It needs COMPANY:webhook:manage.
//
// An endpoint receives the facts that were written after its registration. Each fact records how many endpoints the
// company had ever registered, so no clock takes part in the decision.
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
	// Before the first use of the keys: a secret under a wrong key could never sign anything.
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return IssuedWebhookEndpoint{}, err
	}
	id := o.s.newID()
	secret, err := o.s.newWebhookSecret()
	if err != nil {
		return IssuedWebhookEndpoint{}, err
	}
	var made driver.WebhookEndpoint
	err = o.changeExclusive(ctx, PermissionWebhookManage, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			present, err := tx.ListWebhookEndpoints(ctx, companyID)
			if err != nil {
				return err
			}
			// The exclusive gate makes the count final: two registrations cannot both be the tenth.
			if len(present) >= MaxWebhookEndpoints {
				return conflict("A company has at most %d webhook endpoints, disabled ones counted. Delete one first.",
					MaxWebhookEndpoints)
			}
			// The company's record counts all endpoints ever registered. Sales read it under the shared gate.
			company.WebhookEndpoints++
			made = driver.WebhookEndpoint{
				CompanyID: companyID, Number: company.WebhookEndpoints, ID: id, URL: params.URL, Events: params.Events,
				Status: WebhookEnabled, CreatedAt: at, UpdatedAt: at,
			}
			if err := o.s.appendSecret(ctx, tx, at, &made, secret); err != nil {
				return err
			}
			// A new endpoint signs with its first secret at once, so it has none that is pending.
			made.ActiveSecret = made.LastSecret
			if err := tx.CreateWebhookEndpoint(ctx, made); err != nil {
				return err
			}
			if err := tx.UpdateCompany(ctx, *company); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "webhook.create", companyID, about("webhook", id), changes{after: auditedEndpoint(made)})
		})
	if err != nil {
		return IssuedWebhookEndpoint{}, err
	}
	return IssuedWebhookEndpoint{WebhookEndpoint: showEndpoint(made), Secret: secret}, nil
}

// GetWebhookEndpoint returns an endpoint, never its secret. It needs COMPANY:webhook:read.
func (o Operator) GetWebhookEndpoint(ctx context.Context, id uuid.UUID) (WebhookEndpoint, error) {
	found, err := o.findEndpoint(ctx, PermissionWebhookRead, id)
	if err != nil {
		return WebhookEndpoint{}, err
	}
	return showEndpoint(found), nil
}

// ListWebhookEndpoints returns a company's endpoints in the order in which they were registered, never a secret. It
// needs COMPANY:webhook:read.
func (o Operator) ListWebhookEndpoints(ctx context.Context, companyID uuid.UUID) ([]WebhookEndpoint, error) {
	var endpoints []WebhookEndpoint
	err := o.view(ctx, PermissionWebhookRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			records, err := tx.ListWebhookEndpoints(ctx, companyID)
			endpoints = make([]WebhookEndpoint, len(records))
			for i, record := range records {
				endpoints[i] = showEndpoint(record)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return endpoints, nil
}

// UpdateWebhookEndpoint changes the URL or the subscription of an endpoint, by the rules of its registration.
// Deliveries that exist keep the URL that they were made with (section 6.5). An update that changes nothing leaves the
// endpoint as it is. It needs COMPANY:webhook:manage.
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
		func(_ context.Context, _ driver.Tx, _ time.Time, endpoint *driver.WebhookEndpoint) error {
			if update.URL != nil {
				endpoint.URL = checkedURL
			}
			if update.Events != nil {
				endpoint.Events = update.Events
			}
			return nil
		})
}

// endpointRule decides about an endpoint and changes it. It may run again. The exclusive gate is held, so what it reads
// of the endpoint and its secrets cannot change.
type endpointRule func(ctx context.Context, tx driver.Tx, at time.Time, endpoint *driver.WebhookEndpoint) error

// changeEndpoint changes an endpoint under the exclusive gate, and writes it and an audit row, unless nothing changed.
// It finds the endpoint twice: first without a lock, to learn its company, and then under the gate.
func (o Operator) changeEndpoint(
	ctx context.Context, action string, id uuid.UUID, rule endpointRule,
) (WebhookEndpoint, error) {
	found, err := o.findEndpoint(ctx, PermissionWebhookManage, id)
	if err != nil {
		return WebhookEndpoint{}, err
	}
	var changed driver.WebhookEndpoint
	err = o.changeExclusive(ctx, PermissionWebhookManage, found.CompanyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			before, err := presentEndpoint(ctx, tx, id)
			if err != nil {
				return err
			}
			changed = before
			if err := rule(ctx, tx, at, &changed); err != nil {
				return err
			}
			// No write and no audit row: the audit log records what was done.
			if equalEndpoints(changed, before) {
				return nil
			}
			changed.UpdatedAt = notBefore(at, before.UpdatedAt)
			if err := tx.UpdateWebhookEndpoint(ctx, changed); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, action, changed.CompanyID, about("webhook", id),
				changes{auditedEndpoint(before), auditedEndpoint(changed)})
		})
	if err != nil {
		return WebhookEndpoint{}, err
	}
	return showEndpoint(changed), nil
}

// equalEndpoints reports whether two records of one endpoint agree in everything that can be changed by an operator.
// The version of the last secret is left out: a secret that is prepared also changes PendingSecret.
func equalEndpoints(e, other driver.WebhookEndpoint) bool {
	return e.URL == other.URL && slices.Equal(e.Events, other.Events) && e.Status == other.Status &&
		e.ActiveSecret == other.ActiveSecret && e.PendingSecret == other.PendingSecret
}

// presentEndpoint reads an endpoint under the exclusive gate, so it cannot be deleted until the end of the transaction.
func presentEndpoint(ctx context.Context, tx driver.ReadTx, id uuid.UUID) (driver.WebhookEndpoint, error) {
	endpoint, err := tx.FindWebhookEndpoint(ctx, id)
	if err == nil && endpoint.ID == uuid.Nil {
		err = errEndpointNotFound
	}
	return endpoint, err
}

// enabledEndpoints returns the enabled endpoints of a company, by number. A company has at most ten, so all of them are
// read and no query selects some.
func enabledEndpoints(
	ctx context.Context, tx driver.WebhookEndpointReader, companyID uuid.UUID,
) (map[int64]driver.WebhookEndpoint, error) {
	all, err := tx.ListWebhookEndpoints(ctx, companyID)
	enabled := make(map[int64]driver.WebhookEndpoint, len(all))
	for _, endpoint := range all {
		if endpoint.Status == WebhookEnabled {
			enabled[endpoint.Number] = endpoint
		}
	}
	return enabled, err
}

// findEndpoint finds an endpoint by its id alone, for an actor that may see it. An endpoint of a company that the actor
// does not reach is NOT_FOUND. A change reads the endpoint again under the gate, see presentEndpoint.
func (o Operator) findEndpoint(
	ctx context.Context, permission Permission, id uuid.UUID,
) (driver.WebhookEndpoint, error) {
	return findReached(ctx, o, permission, id, errEndpointNotFound, driver.ReadTx.FindWebhookEndpoint,
		func(e driver.WebhookEndpoint) uuid.UUID { return e.CompanyID })
}
