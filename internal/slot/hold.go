package slot

import (
	"context"
	"sync"
)

// hold is where a call leaves its slot for the one who began it.
type hold struct {
	mu      sync.Mutex
	over    bool
	release func()
}

type holdKey struct{}

// Hold returns a context under which [Leave] keeps a slot until done is called, for a caller who still has work to do
// with what the call returns. It keeps one slot: the last.
func Hold(ctx context.Context) (held context.Context, done func()) {
	h := &hold{}
	return context.WithValue(ctx, holdKey{}, h), func() { h.leave(nil, true) }
}

// Leave ends a call's use of a slot: it gives the slot back, or leaves it for the one who called [Hold] and is not done.
func Leave(ctx context.Context, release func()) {
	h, held := ctx.Value(holdKey{}).(*hold)
	if !held || !h.leave(release, false) {
		release()
	}
}

// leave takes a slot in place of the one that is kept, and reports whether it did.
func (h *hold) leave(release func(), over bool) bool {
	h.mu.Lock()
	if h.over {
		h.mu.Unlock()
		return false
	}
	before := h.release
	h.release, h.over = release, over
	h.mu.Unlock()
	if before != nil {
		before()
	}
	return true
}
