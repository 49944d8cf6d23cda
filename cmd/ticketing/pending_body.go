package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// pendingBodies tracks the connections whose request body is still arriving, so that a drain need not wait for clients
// that never send the rest. It never cuts off a request that has arrived completely.
type pendingBodies struct {
	mu      sync.Mutex
	partial map[net.Conn]bool
	cut     bool
}

func newPendingBodies() *pendingBodies { return &pendingBodies{partial: map[net.Conn]bool{}} }

type connectionKey struct{}

// watch registers the connections and requests of a server.
func (a *pendingBodies) watch(server *http.Server) {
	server.ConnContext = func(ctx context.Context, connection net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, connection)
	}
	server.ConnState = func(connection net.Conn, state http.ConnState) {
		// The server reads or abandons a body that its handler left unread before the connection becomes idle or
		// closed.
		if state == http.StateIdle || state == http.StateClosed || state == http.StateHijacked {
			a.end(connection)
		}
	}
	handler := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection, ok := r.Context().Value(connectionKey{}).(net.Conn)
		if ok && r.Body != nil && r.Body != http.NoBody {
			a.begin(connection)
			r.Body = &pendingBody{ReadCloser: r.Body, onEnd: func() { a.end(connection) }}
		}
		handler.ServeHTTP(w, r)
	})
}

func (a *pendingBodies) begin(connection net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.partial[connection] = true
	if a.cut {
		_ = connection.SetReadDeadline(time.Now().Add(pendingBodyTimeout))
	}
}

func (a *pendingBodies) end(connection net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.partial, connection)
}

// cutOff makes reads fail on every connection whose body has not fully arrived. The handlers then respond as to any
// incomplete request.
func (a *pendingBodies) cutOff() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cut = true
	for connection := range a.partial {
		_ = connection.SetReadDeadline(time.Now())
	}
}

// pendingBody is the body of a request. It calls onEnd at the end of the body.
type pendingBody struct {
	io.ReadCloser

	onEnd func()
}

func (b *pendingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.onEnd()
	}
	return n, err
}
