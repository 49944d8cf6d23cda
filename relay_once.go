package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// errNoSender is the error of [Service.SendWebhooks] on a service without a sender.
var errNoSender = errors.New("ticketing: there is no Config.Sender")

// SendWebhooks does once what [Service.Run] does for webhooks all the time, for a host that does not call Run, such as
// a scheduled job. It makes the deliveries of all facts, and sends these and everything else that was due when it
// began. It returns the number of attempts that it made, after all of them have ended. A delivery that failed is due
// again later.
//
// If the context ends, it starts no further attempt, waits for those in flight and returns the context's error. It does
// not call [Config.OnFact]. Without an OnFact it marks facts as handled, as every process does.
func (s *Service) SendWebhooks(ctx context.Context) (int, error) {
	if s.bound {
		return 0, errBoundRun
	}
	if s.sender == nil {
		return 0, errNoSender
	}
	c := newDeliverer(s)
	c.once = true
	s.deliverers.add(c)
	defer s.deliverers.remove(c)
	// At the end of the context what is queued is released, and attempts in flight are finished.
	stop := context.AfterFunc(ctx, func() { c.close(ctx) })
	defer stop()
	failed := s.dispatchAll(ctx, c)
	at := s.now()
	c.wait()
	// Each round claims as much as there is room for. A round that claims nothing shows that all due work is done.
	for claimed := 1; claimed > 0 && failed == nil && ctx.Err() == nil; {
		// The clock stepped back. The earlier time keeps deliveries that failed since then from being due already.
		if now := s.now(); now.Before(at) {
			at = now
		}
		claimed, failed = s.claimAll(ctx, c, at)
		c.wait()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts, errors.Join(failed, ctx.Err())
}

// dispatchAll makes the deliveries of all facts, and enqueues those that the deliverer has room for. It repeats while a
// full batch shows that there may be more. The error of one company does not keep the facts of another from being
// dispatched.
func (s *Service) dispatchAll(ctx context.Context, c *deliverer) (failed error) {
	for more := true; more && failed == nil && ctx.Err() == nil; {
		more = false
		due, err := s.dueWork(ctx, driver.WorkQuery{At: s.now(), After: []driver.DueWork{{Kind: driver.WorkDispatch}}, Limit: lookBatch})
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

// claimAll claims, for each company, a batch of the deliveries that were due at a time, and returns how many it
// claimed.
func (s *Service) claimAll(ctx context.Context, c *deliverer, at time.Time) (claimed int, failed error) {
	due, err := s.dueWork(ctx, driver.WorkQuery{At: at, After: []driver.DueWork{{Kind: driver.WorkDeliver}}, Limit: lookBatch})
	if err != nil {
		return 0, err
	}
	var companies []uuid.UUID
	for _, work := range due {
		c.waiting(driver.WebhookEndpointRef{CompanyID: work.CompanyID, Number: work.Endpoint})
		companies = append(companies, work.CompanyID)
	}
	for _, companyID := range distinct(companies) {
		some, err := c.claimSome(ctx, companyID, at)
		failed = errors.Join(failed, err)
		claimed += some
	}
	return claimed, failed
}
