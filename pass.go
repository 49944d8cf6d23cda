package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

var errNoSender = errors.New("ticketing: there is no Config.Sender")

// SendWebhooks is a single pass of what [Service.Run] does for webhooks, for a host that does without it: it makes the
// deliveries of all facts, sends these and what else is due when it begins, and returns when all of it is answered or the
// context has ended, after what is in flight then. It tells how many attempts it made. What failed is due again later. It
// tells nothing to [Config.OnFact], but like every process it marks facts as told where there is none.
func (s *Service) SendWebhooks(ctx context.Context) (int, error) {
	if s.bound {
		return 0, errBoundRun
	}
	if s.sender == nil {
		return 0, errNoSender
	}
	c := newCourier(s)
	c.once = true
	s.couriers.add(c)
	defer s.couriers.remove(c)
	stop := context.AfterFunc(ctx, func() { c.close(ctx) })
	defer stop()
	failed := s.dispatchAll(ctx, c)
	at := s.now()
	c.wait()
	for claimed := 1; claimed > 0 && failed == nil && ctx.Err() == nil; {
		if now := s.now(); now.Before(at) {
			at = now // A clock that stepped back: what failed by it is not due already.
		}
		claimed, failed = s.claimAll(ctx, c, at)
		c.wait()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flights, errors.Join(failed, ctx.Err())
}

// dispatchAll makes the deliveries of all facts, and hands the courier those that it has room for.
func (s *Service) dispatchAll(ctx context.Context, c *courier) (failed error) {
	for more := true; more && failed == nil && ctx.Err() == nil; {
		more = false
		due, err := s.dueWork(ctx, WorkQuery{At: s.now(), After: []DueWork{{Kind: WorkDispatch}}, Limit: lookBatch})
		if err != nil {
			return err
		}
		for _, work := range due {
			done, err := s.dispatchCompany(ctx, work.CompanyID, c)
			failed = errors.Join(failed, err)
			more = more || done.facts == factBatch || done.facts > 0 && len(due) == lookBatch
		}
	}
	return failed
}

// claimAll has the courier claim a portion of what was due at a time of each company, and tells how many that were.
func (s *Service) claimAll(ctx context.Context, c *courier, at time.Time) (claimed int, failed error) {
	due, err := s.dueWork(ctx, WorkQuery{At: at, After: []DueWork{{Kind: WorkDeliver}}, Limit: lookBatch})
	if err != nil {
		return 0, err
	}
	var companies []uuid.UUID
	for _, work := range due {
		c.waiting(WebhookEndpointRef{CompanyID: work.CompanyID, Number: work.Endpoint})
		companies = append(companies, work.CompanyID)
	}
	for _, companyID := range distinct(companies) {
		some, err := c.claimSome(ctx, companyID, at)
		failed = errors.Join(failed, err)
		claimed += some
	}
	return claimed, failed
}
