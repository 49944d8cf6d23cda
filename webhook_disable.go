package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// cancelBatch is the most deliveries that one transaction cancels.
const cancelBatch = 1000

// DisableWebhookEndpoint disables an endpoint. What happens from then on is never delivered to it. Its pending
// deliveries become CANCELLED (section 3.5); one whose attempt is in flight does so if the attempt fails. An endpoint
// that is DISABLED already stays as it is. It needs COMPANY:webhook:manage.
//
// The events of a sale that commits later are not delivered to this endpoint. Many pending deliveries are cancelled in
// batches. If the call is interrupted, repeat it: otherwise [Service.Run] finishes the work.
func (o Operator) DisableWebhookEndpoint(ctx context.Context, id uuid.UUID) (WebhookEndpoint, error) {
	var ref driver.WebhookEndpointRef
	var left bool
	disabled, err := o.changeEndpoint(ctx, "webhook.disable", id,
		func(ctx context.Context, tx driver.Tx, at time.Time, endpoint *driver.WebhookEndpoint) (err error) {
			// The status changes in the first transaction, with the first batch. From its commit on nothing new is made
			// for the endpoint.
			endpoint.Status = WebhookDisabled
			ref = endpoint.Ref()
			left, err = cancelSome(ctx, tx, at, ref)
			return err
		})
	if err == nil {
		// After the commit: no delivery can be leased for the endpoint any more.
		o.s.deliverers.stop(ctx, ref)
		if left {
			err = o.s.cancelPending(ctx, ref)
		}
	}
	if err != nil {
		return WebhookEndpoint{}, err
	}
	return disabled, nil
}

// EnableWebhookEndpoint enables an endpoint for what happens from then on; events of the time in between are not
// delivered to it. Deliveries that were pending when it was disabled are cancelled first. A replay needs an enabled
// endpoint (section 3.5). An endpoint that is ENABLED already stays as it is. It needs COMPANY:webhook:manage.
//
// The cancelling ends, because a disabled endpoint gets no new deliveries.
func (o Operator) EnableWebhookEndpoint(ctx context.Context, id uuid.UUID) (WebhookEndpoint, error) {
	// Each round cancels a batch together with the attempt to enable. The endpoint stays disabled until none is left,
	// so no delivery that was pending is sent after all.
	for {
		var ref driver.WebhookEndpointRef
		var left bool
		enabled, err := o.changeEndpoint(ctx, "webhook.enable", id,
			func(ctx context.Context, tx driver.Tx, at time.Time, endpoint *driver.WebhookEndpoint) (err error) {
				ref, left = endpoint.Ref(), false
				if endpoint.Status == WebhookEnabled {
					return nil
				}
				// Deliveries that an interrupted disabling left pending would be delivered after all.
				if left, err = cancelSome(ctx, tx, at, ref); err == nil && !left {
					endpoint.Status = WebhookEnabled
				}
				return err
			})
		if err == nil && left {
			err = o.s.cancelPending(ctx, ref)
		}
		if err != nil {
			return WebhookEndpoint{}, err
		}
		if !left {
			return enabled, nil
		}
	}
}

// DeleteWebhookEndpoint removes an endpoint and its secrets, and makes room for another one among the ten. Its pending
// deliveries become CANCELLED as with [Operator.DisableWebhookEndpoint]. All its deliveries stay visible, but none can
// be replayed. It needs COMPANY:webhook:manage.
func (o Operator) DeleteWebhookEndpoint(ctx context.Context, id uuid.UUID) error {
	found, err := o.findEndpoint(ctx, PermissionWebhookManage, id)
	if err != nil {
		return err
	}
	var left bool
	err = o.changeExclusive(ctx, PermissionWebhookManage, found.CompanyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			endpoint, err := presentEndpoint(ctx, tx, id)
			if err != nil {
				return err
			}
			if left, err = cancelSome(ctx, tx, at, endpoint.Ref()); err != nil {
				return err
			}
			if err := tx.DeleteWebhookEndpoint(ctx, endpoint.Ref()); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "webhook.delete", endpoint.CompanyID, about("webhook", id),
				changes{before: auditedEndpoint(endpoint)})
		})
	if err == nil {
		// After the commit: no delivery can be leased for the endpoint any more.
		o.s.deliverers.stop(ctx, found.Ref())
		if left {
			err = o.s.cancelPending(ctx, found.Ref())
		}
	}
	return err
}

// cancelPending cancels the pending deliveries of an endpoint that was disabled or deleted, in batches, until none is
// left or the endpoint is enabled again. The shared gate keeps the endpoint as it is during a batch. Sales go on
// meanwhile, which they could not if one transaction under the exclusive gate cancelled all of them. cancelPending
// writes no audit row: the first transaction has recorded the act.
func (s *Service) cancelPending(ctx context.Context, endpoint driver.WebhookEndpointRef) error {
	for more := true; more; {
		err := s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			more = false
			if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{endpoint.CompanyID}}); err != nil {
				return err
			}
			enabled, err := enabledEndpoints(ctx, tx, endpoint.CompanyID)
			if err != nil {
				return err
			}
			if _, is := enabled[endpoint.Number]; is { // It was enabled again: what is pending now is to be delivered.
				return nil
			}
			more, err = cancelSome(ctx, tx, s.now(), endpoint)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cancelSome cancels a batch of the pending deliveries of an endpoint, and reports whether there may be more.
// LockPending passes over deliveries that are Cancelling, so each batch makes progress even if an attempt is in flight.
func cancelSome(
	ctx context.Context, tx driver.DeliveryWriter, at time.Time, endpoint driver.WebhookEndpointRef,
) (more bool, err error) {
	pending, err := tx.LockPending(ctx, endpoint, cancelBatch)
	if err != nil || len(pending) == 0 {
		return false, err
	}
	for i, d := range pending {
		pending[i] = cancelDelivery(d, at)
	}
	// Both kinds are written: those that are CANCELLED now, and those that are marked and still under way.
	return len(pending) == cancelBatch, tx.UpdateDeliveries(ctx, pending)
}
