package delivery

import (
	"net"
	"sync"
)

// connections counts the open connections and the attempts in progress, so that closing the sender leaves nothing open.
// The transport alone would leave some: for a moment after the last response it still takes a connection for busy, and
// it goes on connecting after the request that needed it has ended.
type connections struct {
	mu       sync.Mutex // It guards all fields below.
	closed   bool
	attempts int
	open     map[*connection]struct{}
}

// connection is removed from its connections when it is closed.
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

// begin reports whether another attempt may be made. The caller calls end after an attempt that begin allowed.
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

// add records a new connection. It closes the connection if the sender is closed and no attempt is in progress.
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

// sweep closes all connections once the sender is closed and the last attempt is over.
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
		_ = conn.Close() // It was idle, so no byte is lost.
	}
}
