package ticketing

import (
	"context"
	"log/slog"
	"sync"
)

// maxExhausted is how many exhausted deliveries may wait for [Config.OnExhausted]. Further ones are logged and dropped:
// a host that never returns must not grow the memory of the process.
const maxExhausted = 1000

// exhaustedNotifier calls [Config.OnExhausted] for each delivery that failed for good, one at a time.
//
// It has a goroutine of its own, so that a slow host delays no delivery. The goroutine exists only while the queue has
// an entry: a [Service] starts nothing that it does not end.
type exhaustedNotifier struct {
	s     *Service
	mu    sync.Mutex
	idle  sync.Cond         // uses mu; signals that runs became false
	queue []WebhookDelivery // oldest first, at most maxExhausted
	runs  bool              // whether the goroutine of run is alive
}

// newExhaustedNotifier returns a notifier with an empty queue.
func newExhaustedNotifier(s *Service) *exhaustedNotifier {
	n := &exhaustedNotifier{s: s}
	n.idle.L = &n.mu
	return n
}

// notify counts and logs a delivery whose written outcome is FAILED, and queues it for the host. It does nothing for
// any other outcome. It must be called only after the outcome is committed, so that a host never learns of a failure
// that was rolled back.
func (n *exhaustedNotifier) notify(ctx context.Context, o *outcome) {
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
	// The store still shows the delivery as FAILED, so nothing is lost but the call.
	if len(n.queue) >= maxExhausted {
		n.s.log.ErrorContext(ctx, "OnExhausted is too slow and is not told of a delivery",
			slog.String("delivery", d.ID.String()))
		return
	}
	n.queue = append(n.queue, showDelivery(d, o.at))
	if !n.runs {
		n.runs = true
		go n.run(ctx)
	}
}

// run calls the host for each queued delivery and returns when the queue is empty. It releases mu during the call, so
// that deliveries can be queued meanwhile. Only one run is alive at a time, which keeps the calls in order.
func (n *exhaustedNotifier) run(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) > 0 {
		next := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		n.call(ctx, next)
		n.mu.Lock()
	}
	n.runs = false
	n.idle.Broadcast()
}

// call calls OnExhausted with one delivery and a context that ends after attemptTimeout. A panic in OnExhausted is
// logged and ends only this call.
func (n *exhaustedNotifier) call(ctx context.Context, d WebhookDelivery) {
	defer func() { n.s.contain("OnExhausted", recover()) }()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	n.s.onExhausted(ctx, d)
}

// wait returns after OnExhausted was called with every queued delivery.
func (n *exhaustedNotifier) wait() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.runs {
		n.idle.Wait()
	}
}
