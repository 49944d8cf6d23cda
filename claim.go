package ticketing

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

const (
	// deliveryLease is how long a delivery is one process's: an attempt, and the writing of what became of it. A process
	// that ends in between loses it to another when the lease has run out.
	deliveryLease = 30 * time.Second
	claimPatience = 500 * time.Millisecond // as dispatchPatience
)

// want is a part of a company's deliveries that there is room for.
type want struct {
	endpoint int64
	limit    int
	seen     int // the route's signs, when it was asked
}

// waiting is told that deliveries of an endpoint are due in the store.
func (c *courier) waiting(endpoint WebhookEndpointRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.route(endpoint)
	r.more++
	c.claimable(r)
}

// claimable has a route's deliveries claimed, where some wait and it is worth a transaction. The caller has the lock.
func (c *courier) claimable(r *route) {
	if r.more > 0 && !c.closed && c.room(r) >= max(1, c.ahead(r)/2) {
		c.claims.add(r.endpoint.CompanyID)
	}
}

// wants are those of a company, and how many stops there were until now.
func (c *courier) wants(companyID uuid.UUID) (wants []want, stops int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number, r := range c.routes[companyID] {
		if limit := c.room(r); r.more > 0 && limit > 0 && !c.closed {
			r.granted = max(0, r.granted-limit)
			wants = append(wants, want{endpoint: number, limit: limit, seen: r.more})
		}
	}
	slices.SortFunc(wants, func(a, b want) int { return cmp.Compare(a.endpoint, b.endpoint) })
	return wants, c.stops
}

// claim takes a company's deliveries that are due, as many as there is room for, and sends them.
func (c *courier) claim(ctx context.Context, companyID uuid.UUID) error {
	_, err := c.claimSome(ctx, companyID, c.s.now())
	return err
}

// claimSome claims what was due at a time, and tells how many that were.
func (c *courier) claimSome(ctx context.Context, companyID uuid.UUID, at time.Time) (int, error) {
	wants, stops := c.wants(companyID)
	if len(wants) == 0 {
		return 0, nil
	}
	claimed, counts, err := c.s.claimDeliveries(ctx, companyID, at, wants)
	if err != nil {
		return 0, err
	}
	due := 0
	done := false
	c.mu.Lock()
	for i, w := range wants {
		r := c.route(WebhookEndpointRef{CompanyID: companyID, Number: w.endpoint})
		due += counts[i]
		if counts[i] < w.limit && r.more == w.seen {
			r.more, done = 0, true
		}
	}
	c.mu.Unlock()
	if done {
		c.goOn(companyID)
	}
	c.hand(ctx, claimed, stops)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range wants {
		c.claimable(c.route(WebhookEndpointRef{CompanyID: companyID, Number: w.endpoint}))
	}
	return due, nil
}

// claimDeliveries leases deliveries that were due at a time, and finds what an attempt takes, in one transaction: their
// locks keep other processes from them. Those that are to be cancelled are. It tells how many were due of each part.
func (s *Service) claimDeliveries(
	ctx context.Context, companyID uuid.UUID, due time.Time, wants []want,
) (claimed []parcel, counts []int, err error) {
	at := s.now()
	var enabled map[int64]WebhookEndpointRecord
	var leased []DeliveryRecord
	var bodies map[uuid.UUID][]byte
	var secrets map[WebhookSecretRef]WebhookSecretRecord
	err = s.background.Update(ctx, func(ctx context.Context, tx Tx) error {
		leased, counts = nil, make([]int, len(wants))
		in := Entrance{Share: []uuid.UUID{companyID}, Patience: claimPatience}
		if _, err := tx.Enter(ctx, in); err != nil {
			return err
		}
		var err error
		if enabled, err = enabledEndpoints(ctx, tx, companyID); err != nil {
			return err
		}
		var cancelled []DeliveryRecord
		for i, w := range wants {
			_, delivers := enabled[w.endpoint]
			claim := DeliveryClaim{
				CompanyID: companyID, Endpoint: w.endpoint, At: due, Until: at.Add(deliveryLease), Limit: w.limit,
			}
			if !delivers {
				claim.Limit = cancelBatch
			}
			taken, err := tx.ClaimDeliveries(ctx, claim)
			if err != nil {
				return err
			}
			counts[i] = len(taken)
			for _, d := range taken {
				if d.Cancelling || !delivers {
					cancelled = append(cancelled, d.finished(DeliveryCancelled, at))
				} else {
					leased = append(leased, d)
				}
			}
		}
		if len(cancelled) > 0 {
			if err := tx.UpdateDeliveries(ctx, cancelled); err != nil {
				return err
			}
		}
		if len(leased) == 0 {
			return nil
		}
		if bodies, err = s.findBodies(ctx, tx, leased); err != nil {
			return err
		}
		refs := make([]WebhookSecretRef, len(leased))
		for i, d := range leased {
			refs[i] = d.secret()
		}
		secrets, err = findWebhookSecrets(ctx, tx, refs)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return s.parcels(leased, bodies, secrets, enabled), counts, nil
}
