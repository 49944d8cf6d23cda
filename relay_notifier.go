package ticketing

import (
	"context"
	"log/slog"
	"sync"
)

// maxNotices is how many failures may wait for a function of the host. Further ones are logged and dropped: a host that
// never returns must not grow the memory of the process.
const maxNotices = 1000

// failureNotifier calls a function of the host for each delivery or mail that failed for good, one at a time.
//
// It has a goroutine of its own, so that a slow host delays no delivery. The goroutine exists only while the queue has
// an entry: a [Service] starts nothing that it does not end.
type failureNotifier[T any] struct {
	s        *Service
	function string // the name of the host's function, such as OnExhausted
	hook     func(context.Context, T)
	mu       sync.Mutex
	idle     sync.Cond // uses mu; signals that runs became false
	queue    []T       // oldest first, at most maxNotices
	runs     bool      // whether the goroutine of run is alive
}

// newFailureNotifier returns a notifier with an empty queue. A nil hook is never called.
func newFailureNotifier[T any](
	s *Service, function string, hook func(context.Context, T),
) *failureNotifier[T] {
	n := &failureNotifier[T]{s: s, function: function, hook: hook}
	n.idle.L = &n.mu
	return n
}

// notify queues a failure for the host. It must be called only after the failure is committed, so that a host never
// learns of one that was rolled back. subject names the failure in the log.
func (n *failureNotifier[T]) notify(ctx context.Context, failure T, subject slog.Attr) {
	if n.hook == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	// The store still shows the failure, so nothing is lost but the call.
	if len(n.queue) >= maxNotices {
		n.s.log.ErrorContext(ctx, "a function of the host is too slow, so it is not called for a failure",
			slog.String("function", n.function), subject)
		return
	}
	n.queue = append(n.queue, failure)
	if !n.runs {
		n.runs = true
		go n.run(ctx)
	}
}

// run calls the host for each queued failure and returns when the queue is empty. It releases mu during the call, so
// that failures can be queued meanwhile. Only one run is alive at a time, which keeps the calls in order.
func (n *failureNotifier[T]) run(ctx context.Context) {
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

// call calls the host with one failure and a context that ends after attemptTimeout. A panic of the host is logged and
// ends only this call.
func (n *failureNotifier[T]) call(ctx context.Context, failure T) {
	defer func() { n.s.contain(n.s.logError(ctx), n.function, recover()) }()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	n.hook(ctx, failure)
}

// wait returns after the host was called with every queued failure.
func (n *failureNotifier[T]) wait() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.runs {
		n.idle.Wait()
	}
}
