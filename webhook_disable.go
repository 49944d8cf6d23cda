package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// cancelBatch is how many deliveries are cancelled in one transaction.
const cancelBatch = 1000

// DisableWebhookEndpoint stops an endpoint: nothing that happens meanwhile is delivered to it later, and its pending
// deliveries become CANCELLED (section 3.5), one whose attempt is in flight when that has failed. One that is disabled
// already stays as it is. Where many are pending, they are cancelled portion by portion; cut off, the same call again, or
// [Service.Run], ends the work. It needs COMPANY:webhook:manage.
func (o Operator) DisableWebhookEndpoint(ctx context.Context, id uuid.UUID) (WebhookEndpoint, error) {
	var ref WebhookEndpointRef
	var left bool
	disabled, err := o.changeEndpoint(ctx, "webhook.disable", id,
		func(ctx context.Context, tx Tx, at time.Time, endpoint *WebhookEndpointRecord) (err error) {
			endpoint.Status = WebhookDisabled
			ref = endpoint.ref()
			left, err = cancelSome(ctx, tx, at, ref)
			return err
		})
	if err == nil {
		o.s.couriers.stop(ctx, ref)
		if left {
			err = o.s.cancelPending(ctx, ref)
		}
	}
	if err != nil {
		return WebhookEndpoint{}, err
	}
	return disabled, nil
}

// EnableWebhookEndpoint has an endpoint delivered to again, what happens from now on. What was pending when it was
// disabled is cancelled before. One that is enabled already stays as it is. It needs COMPANY:webhook:manage.
func (o Operator) EnableWebhookEndpoint(ctx context.Context, id uuid.UUID) (WebhookEndpoint, error) {
	for {
		var ref WebhookEndpointRef
		var left bool
		enabled, err := o.changeEndpoint(ctx, "webhook.enable", id,
			func(ctx context.Context, tx Tx, at time.Time, endpoint *WebhookEndpointRecord) (err error) {
				ref, left = endpoint.ref(), false
				if endpoint.Status == WebhookEnabled {
					return nil
				}
				// What a disabling that was cut off has left would be delivered after all.
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

// DeleteWebhookEndpoint removes an endpoint and its secrets, which frees its place among the ten. Its pending deliveries
// become CANCELLED as those of one that is disabled, and all stay to be seen; none can be replayed. It needs
// COMPANY:webhook:manage.
func (o Operator) DeleteWebhookEndpoint(ctx context.Context, id uuid.UUID) error {
	found, err := o.findEndpoint(ctx, PermissionWebhookManage, id)
	if err != nil {
		return err
	}
	var left bool
	err = o.change(ctx, PermissionWebhookManage, found.CompanyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			endpoint, err := presentEndpoint(ctx, tx, id)
			if err != nil {
				return err
			}
			if left, err = cancelSome(ctx, tx, at, endpoint.ref()); err != nil {
				return err
			}
			if err := tx.DeleteWebhookEndpoint(ctx, endpoint.ref()); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "webhook.delete", endpoint.CompanyID, about("webhook", id),
				changes{before: endpoint.audited()})
		})
	if err == nil {
		o.s.couriers.stop(ctx, found.ref())
		if left {
			err = o.s.cancelPending(ctx, found.ref())
		}
	}
	return err
}

// cancelPending cancels the pending deliveries of an endpoint that was disabled or deleted, portion by portion, until
// none is left or it is enabled again. The shared gate keeps it as it is during a portion.
func (s *Service) cancelPending(ctx context.Context, endpoint WebhookEndpointRef) error {
	for more := true; more; {
		err := s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
			more = false
			if _, err := tx.Enter(ctx, Entrance{Share: []uuid.UUID{endpoint.CompanyID}}); err != nil {
				return err
			}
			enabled, err := enabledEndpoints(ctx, tx, endpoint.CompanyID)
			if err != nil {
				return err
			}
			if _, is := enabled[endpoint.Number]; is {
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

// cancelSome cancels a portion of the pending deliveries of an endpoint, and tells whether there may be more.
func cancelSome(ctx context.Context, tx DeliveryWriter, at time.Time, endpoint WebhookEndpointRef) (more bool, err error) {
	pending, err := tx.LockPending(ctx, endpoint, cancelBatch)
	if err != nil || len(pending) == 0 {
		return false, err
	}
	for i, d := range pending {
		pending[i] = d.cancelled(at)
	}
	return len(pending) == cancelBatch, tx.UpdateDeliveries(ctx, pending)
}
