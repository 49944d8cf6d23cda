package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// The limits of a server. It disconnects clients that are slower.
const (
	headerTimeout  = 10 * time.Second
	readTimeout    = 30 * time.Second
	writeTimeout   = 60 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	// drainTimeout is less than the half minute that supervisors commonly wait before they kill a process.
	drainTimeout = 25 * time.Second
	// pendingBodyTimeout is how long a drain waits for the rest of requests that are still arriving.
	pendingBodyTimeout = 3 * time.Second
	readyTimeout       = 2 * time.Second
)

var errDrainTimeout = &failure{code: "DRAIN_TIMEOUT", text: fmt.Sprintf("requests in flight did not finish within %s "+
	"and were cut off", drainTimeout)}

// server is an HTTP server that drains.
type server struct {
	*http.Server

	bodies *pendingBodies
}

// newServer returns a server with the limits above. Its handler also serves OPTIONS *, so that every response of the
// API follows the contract.
func newServer(handler http.Handler, logger *slog.Logger) *server {
	s := &server{
		Server: &http.Server{
			Handler:                      handler,
			DisableGeneralOptionsHandler: true,
			ReadHeaderTimeout:            headerTimeout,
			ReadTimeout:                  readTimeout,
			WriteTimeout:                 writeTimeout,
			IdleTimeout:                  idleTimeout,
			MaxHeaderBytes:               maxHeaderBytes,
			ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		},
		bodies: newPendingBodies(),
	}
	s.bodies.watch(s.Server)
	return s
}

// drain accepts no new requests and waits for the requests in flight. It gives up on those that do not arrive
// completely within pendingBodyTimeout, and cuts the others off when ctx ends.
func (s *server) drain(ctx context.Context) error {
	late := time.AfterFunc(pendingBodyTimeout, s.bodies.cutOff)
	defer late.Stop()
	err := s.Shutdown(ctx)
	if err != nil {
		_ = s.Close()
	}
	return err
}
