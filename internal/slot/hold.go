package slot

import (
	"context"
	"sync"
)

// hold keeps the slot of a call for the caller that called Hold.
type hold struct {
	mu      sync.Mutex
	over    bool
	release func()
}

type holdKey struct{}

// Hold returns a context under which [Leave] keeps a slot until done is called. It is for a caller that still has work
// to do with the result of the call. It keeps only one slot: the last.
func Hold(ctx context.Context) (held context.Context, done func()) {
	h := &hold{}
	return context.WithValue(ctx, holdKey{}, h), func() { h.leave(nil, true) }
}

// Leave ends a call's use of a slot. It releases the slot, or keeps it if the context is from [Hold] and done was not
// called.
func Leave(ctx context.Context, release func()) {
	h, held := ctx.Value(holdKey{}).(*hold)
	if !held || !h.leave(release, false) {
		release()
	}
}

// Release releases the slot that is kept under a context from [Hold], if any. It is for a call that begins again: the
// slot of its first run must not keep out the second one.
func Release(ctx context.Context) {
	if h, held := ctx.Value(holdKey{}).(*hold); held {
		h.leave(nil, false)
	}
}

// leave keeps a slot instead of the one kept before, which it releases. With over, it also ends the hold. It reports
// whether it kept the slot: it does nothing after the end of the hold.
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
