package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// arrivals knows the connections on which the body of a request is still on its way, so that a drain need not wait for
// clients that never send the rest. A request that is whole is never cut off by it.
type arrivals struct {
	mu      sync.Mutex
	partial map[net.Conn]bool
	cut     bool
}

func newArrivals() *arrivals { return &arrivals{partial: map[net.Conn]bool{}} }

type connectionKey struct{}

// watch makes a server tell about its connections and requests.
func (a *arrivals) watch(server *http.Server) {
	server.ConnContext = func(ctx context.Context, connection net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, connection)
	}
	server.ConnState = func(connection net.Conn, state http.ConnState) {
		// A body that its handler left behind is read, or given up, before the connection is idle or closed.
		if state == http.StateIdle || state == http.StateClosed || state == http.StateHijacked {
			a.end(connection)
		}
	}
	handler := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection, ok := r.Context().Value(connectionKey{}).(net.Conn)
		if ok && r.Body != nil && r.Body != http.NoBody {
			a.begin(connection)
			r.Body = &arriving{ReadCloser: r.Body, whole: func() { a.end(connection) }}
		}
		handler.ServeHTTP(w, r)
	})
}

func (a *arrivals) begin(connection net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.partial[connection] = true
	if a.cut {
		_ = connection.SetReadDeadline(time.Now().Add(arrivalTimeout))
	}
}

func (a *arrivals) end(connection net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.partial, connection)
}

// cutOff fails the reading of all that has not arrived; the handlers then answer what they answer to half a request.
func (a *arrivals) cutOff() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cut = true
	for connection := range a.partial {
		_ = connection.SetReadDeadline(time.Now())
	}
}

// arriving is the body of a request; whole is called at its end.
type arriving struct {
	io.ReadCloser

	whole func()
}

func (b *arriving) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.whole()
	}
	return n, err
}
