package ticketing

import (
	"context"
	"log/slog"
	"sync"
)

// maxNotices is how many exhausted deliveries wait for the host's function.
const maxNotices = 1000

// notices tell the host of deliveries that are exhausted, one after another, beside the sending: a host that takes its
// time holds up nothing.
type notices struct {
	s     *Service
	mu    sync.Mutex
	idle  sync.Cond // by mu
	queue []WebhookDelivery
	runs  bool
}

func newNotices(s *Service) *notices {
	n := &notices{s: s}
	n.idle.L = &n.mu
	return n
}

// of tells what there is to tell of an outcome that was kept.
func (n *notices) of(ctx context.Context, o *outcome) {
	d := o.after
	if d.Status != DeliveryFailed {
		return
	}
	n.s.telemetry.exhaust(ctx, d.Type)
	n.s.log.WarnContext(ctx, "a webhook delivery is exhausted", slog.String("endpoint", d.EndpointID.String()),
		slog.String("delivery", d.ID.String()), slog.String("type", string(d.Type)),
		slog.Int("status", o.attempt.Status))
	if n.s.onExhausted == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) >= maxNotices {
		n.s.log.ErrorContext(ctx, "OnExhausted is too slow and is not told of a delivery",
			slog.String("delivery", d.ID.String()))
		return
	}
	n.queue = append(n.queue, d.delivery(o.at))
	if !n.runs {
		n.runs = true
		go n.run(ctx)
	}
}

func (n *notices) run(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) > 0 {
		next := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		n.tell(ctx, next)
		n.mu.Lock()
	}
	n.runs = false
	n.idle.Broadcast()
}

func (n *notices) tell(ctx context.Context, d WebhookDelivery) {
	defer func() { n.s.contain("OnExhausted", recover()) }()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	n.s.onExhausted(ctx, d)
}

// wait returns when the host was told of all.
func (n *notices) wait() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.runs {
		n.idle.Wait()
	}
}
