package mail

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pool keeps the connections that no mail uses.
type pool struct {
	mu     sync.Mutex // It guards all fields below.
	closed bool
	idle   []*connection // the one that was used last comes last
}

// whileOpen calls f if the pool is not closed, and reports whether it is not. Closing waits for f.
func (p *pool) whileOpen(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		f()
	}
	return !p.closed
}

// take returns the connection that was used last, or nil. So the others become old enough to be closed.
func (p *pool) take() *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	c := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	c.idle.Stop()
	return c
}

// put keeps the connection, and calls expired with it unless it is taken again in time. It reports whether the
// connection is kept: a closed pool keeps none.
func (p *pool) put(c *connection, expired func(*connection)) bool {
	return p.whileOpen(func() {
		c.idle = time.AfterFunc(idleTimeout, func() {
			p.expire(c, expired)
		})
		p.idle = append(p.idle, c)
	})
}

// expire calls expired with the connection if it is still there. Closing waits for that.
func (p *pool) expire(c *connection, expired func(*connection)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.idle, c); at >= 0 {
		p.idle = slices.Delete(p.idle, at, at+1)
		expired(c)
	}
}

// close returns the connections that were kept. The pool keeps none from then on.
func (p *pool) close() []*connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle
	p.idle, p.closed = nil, true
	for _, c := range idle {
		c.idle.Stop()
	}
	return idle
}

// kept returns a kept connection that still responds, or nil. It tries only one: if the server has closed that, it may
// have closed all.
func (s *SMTP) kept(ctx context.Context) *connection {
	c := s.pool.take()
	if c == nil {
		return nil
	}
	c.watch(ctx)
	if !c.renew() {
		c.drop()
		return nil
	}
	return c
}

// keep keeps the connection for the next mail, or ends it. The mail does not wait for that.
func (s *SMTP) keep(c *connection) {
	if !c.unwatch() || c.wire.err != nil {
		c.drop()
		return
	}
	end := func(c *connection) { s.running.Go(c.quit) }
	if c.mails >= maxMails || c.closing || !s.pool.put(c, end) {
		end(c)
	}
}
