package main

import (
	deque "container/list"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections limits how many clients are connected at a time. At the limit the next connection is accepted, but not
// served until another one ends. Later connections wait in the backlog of the operating system. Connections that are
// kept alive between two requests are closed at once to make room, longest idle first. Connections that have sent
// nothing for silentPatience are closed next. So neither kind keeps a new client out. All other connections end by the
// server's timeouts.
type connections struct {
	max    int // 0: no limit
	logger *slog.Logger
	slots  chan struct{}

	mu      sync.Mutex
	open    int
	full    int // how many connections found no room
	waiting bool
	logged  time.Time
	idle    *deque.List // of net.Conn, the longest idle first
	silent  *deque.List // of silentConn that have sent nothing yet, the oldest first
	places  map[net.Conn]*deque.Element
}

// silentConn is a connection that has sent nothing since it was accepted.
type silentConn struct {
	net.Conn

	since time.Time
}

// silentPatience is how long a connection that has sent nothing keeps its slot while others wait.
const silentPatience = time.Second

// fullLogInterval is the minimum time between two warnings that there is no room.
const fullLogInterval = time.Minute

func newConnections(most int, logger *slog.Logger) *connections {
	return &connections{
		max: most, logger: logger, slots: make(chan struct{}, most), idle: deque.New(), silent: deque.New(),
		places: map[net.Conn]*deque.Element{},
	}
}

// listener returns a listener that counts its connections.
func (c *connections) listener(l net.Listener) net.Listener {
	return &countedListener{Listener: l, connections: c, closed: make(chan struct{})}
}

// watch registers which connections of a server are idle.
func (c *connections) watch(server *http.Server) {
	next := server.ConnState
	server.ConnState = func(connection net.Conn, state http.ConnState) {
		if next != nil {
			next(connection, state)
		}
		if c.changed(connection, state) {
			_ = connection.Close()
		}
	}
}

// changed records the state of a connection, and reports whether the connection must be closed to make room.
func (c *connections) changed(connection net.Conn, state http.ConnState) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place, ok := c.places[connection]; ok {
		c.idle.Remove(place) // It is in one of the two lists.
		c.silent.Remove(place)
		delete(c.places, connection)
	}
	switch state {
	case http.StateNew:
		c.places[connection] = c.silent.PushBack(silentConn{connection, time.Now()})
		return false
	case http.StateIdle:
	case http.StateActive, http.StateHijacked, http.StateClosed:
		return false
	}
	if c.waiting {
		c.waiting = false // One closed connection makes room for one.
		return true
	}
	c.places[connection] = c.idle.PushBack(connection)
	return false
}

// enter takes a slot for a connection. It reports false if the listener was closed first.
func (c *connections) enter(closed <-chan struct{}) bool {
	if c.max > 0 {
		select {
		case c.slots <- struct{}{}:
		default:
			if !c.await(closed) {
				return false
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = false
	c.open++
	return true
}

// await makes room until it has a slot. It reports false if the listener was closed first.
func (c *connections) await(closed <-chan struct{}) bool {
	c.noRoom()
	retry := time.NewTicker(silentPatience / 4)
	defer retry.Stop()
	for {
		if ended := c.makeRoom(); ended != nil {
			_ = ended.Close()
		}
		select {
		case c.slots <- struct{}{}:
			return true
		case <-closed:
			return false
		case <-retry.C: // A silent connection may be old enough by now.
		}
	}
}

// noRoom counts a connection that found no room, and logs a warning at most once in fullLogInterval.
func (c *connections) noRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full++
	if now := time.Now(); now.Sub(c.logged) >= fullLogInterval {
		c.logged = now
		c.logger.WarnContext(context.Background(), "as many clients are connected as --max-connections allows: others wait",
			"limit", c.max)
	}
}

// makeRoom returns the connection to close: the one that has been idle longest, or else the one that has sent nothing
// for longest. If there is none, it marks that the next connection to become idle must be closed.
func (c *connections) makeRoom() net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if longest := c.idle.Front(); longest != nil {
		connection, _ := c.idle.Remove(longest).(net.Conn)
		delete(c.places, connection)
		return connection
	}
	if oldest := c.silent.Front(); oldest != nil {
		if silent, _ := oldest.Value.(silentConn); time.Since(silent.since) >= silentPatience {
			c.silent.Remove(oldest)
			delete(c.places, silent.Conn)
			return silent.Conn
		}
	}
	c.waiting = true
	return nil
}

func (c *connections) leave() {
	c.mu.Lock()
	c.open--
	c.mu.Unlock()
	if c.max > 0 {
		<-c.slots
	}
}

// counts returns how many clients are connected, how many of them are idle between two requests, and how many
// connections found no room.
func (c *connections) counts() (open, idle, full int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open, c.idle.Len(), c.full
}

type countedListener struct {
	net.Listener

	connections *connections
	closing     sync.Once
	closed      chan struct{}
}

// Accept waits for the next connection, and for a slot.
func (l *countedListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !l.connections.enter(l.closed) {
		_ = connection.Close()
		return nil, net.ErrClosed
	}
	return &countedConn{Conn: connection, leave: sync.OnceFunc(l.connections.leave)}, nil
}

// Close also ends the wait of Accept.
func (l *countedListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type countedConn struct {
	net.Conn

	leave func()
}

// Close releases the slot.
func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

// CloseWrite closes the writing side only, as net/http does before it closes a connection.
func (c *countedConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	return half.CloseWrite()
}
