package delivery

import (
	"net"
	"sync"
)

// connections knows what is open and how many attempts are under way, so that closing leaves nothing behind. The
// transport alone would: it takes a connection for busy for a moment after its last answer, and goes on connecting when
// nobody waits any more.
type connections struct {
	mu       sync.Mutex // It guards all below.
	closed   bool
	attempts int
	open     map[*connection]struct{}
}

// connection is one that is forgotten when it is closed.
type connection struct {
	net.Conn
	of *connections
}

// Close closes the connection.
func (c *connection) Close() error {
	defer func() {
		c.of.mu.Lock()
		delete(c.of.open, c)
		c.of.mu.Unlock()
	}()
	return c.Conn.Close()
}

// begin tells whether another attempt may be made; who is told so calls end after it.
func (c *connections) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.attempts++
	}
	return !c.closed
}

func (c *connections) end() {
	c.mu.Lock()
	c.attempts--
	c.mu.Unlock()
	c.sweep()
}

func (c *connections) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.sweep()
}

// add takes a new connection, or closes it where nobody is left to use it.
func (c *connections) add(conn net.Conn) net.Conn {
	known := &connection{Conn: conn, of: c}
	c.mu.Lock()
	if c.open == nil {
		c.open = make(map[*connection]struct{})
	}
	c.open[known] = struct{}{}
	c.mu.Unlock()
	c.sweep()
	return known
}

// sweep closes everything once the sender is closed and the last attempt over.
func (c *connections) sweep() {
	var left []*connection
	c.mu.Lock()
	if c.closed && c.attempts == 0 {
		for conn := range c.open {
			left = append(left, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range left {
		_ = conn.Close() // It was idle: nobody misses a byte.
	}
}
