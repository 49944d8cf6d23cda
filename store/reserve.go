package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing"
)

// reserved divides the connections of a pool by what they are for: a few are left for the background work, which no
// request takes, and some more for groups, which no request takes that runs by itself. The background work may have all
// that are free. A nil *reserved divides nothing.
//
// Who takes a connection first takes a place in requests, where it is one, then in foreground, and then the connection,
// and waits for nothing of these while it has one. So there is no circle.
type reserved struct {
	requests   chan struct{} // a place for each connection that calls may have which run by themselves
	foreground chan struct{} // one for each that these and groups may have
}

const (
	// leastDivided is how many connections a pool has at least that is divided.
	leastDivided = 3
	// backgroundPart and groupPart are what part of the connections is reserved, at least one: an eighth, and a quarter.
	backgroundPart, groupPart = 8, 4
)

func newReserved(connections int) *reserved {
	if connections < leastDivided {
		return nil
	}
	foreground := connections - max(1, connections/backgroundPart)
	requests := foreground - max(1, connections/groupPart)
	return &reserved{requests: make(chan struct{}, requests), foreground: make(chan struct{}, foreground)}
}

// take waits until the purpose of ctx has a connection left, which is then to be taken from the pool, and is
// [ticketing.ErrBusy] where the patience ends before. give ends that.
func (r *reserved) take(ctx context.Context, patience time.Duration) (give func(), err error) {
	purpose := ticketing.PurposeOf(ctx)
	if r == nil || purpose == ticketing.PurposeBackground {
		return func() {}, nil
	}
	if purpose == ticketing.PurposeRequest {
		if err := enterPlace(ctx, r.requests, patience); err != nil {
			return nil, err
		}
	}
	if err := enterPlace(ctx, r.foreground, patience); err != nil {
		if purpose == ticketing.PurposeRequest {
			<-r.requests
		}
		return nil, err
	}
	return sync.OnceFunc(func() {
		<-r.foreground
		if purpose == ticketing.PurposeRequest {
			<-r.requests
		}
	}), nil
}

var errNoConnection = fmt.Errorf("%w: no connection was free in time", ticketing.ErrBusy)

func enterPlace(ctx context.Context, places chan struct{}, patience time.Duration) error {
	select {
	case places <- struct{}{}:
		return nil
	default:
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case places <- struct{}{}:
		return nil
	case <-timeout.C:
		return errNoConnection
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pooledConn is a connection that gives its place back when it is given back to the pool.
type pooledConn struct {
	bun.Conn

	give func()
}

// Close gives the connection back.
func (c pooledConn) Close() error {
	err := c.Conn.Close()
	c.give()
	return err
}
