package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

// connectionShare divides the connections of a pool by purpose. A few are reserved for the background work: no request
// takes them. Some more are reserved for groups of calls: requests that run by themselves do not take them. The
// background work may use all free connections. A nil *connectionShare divides nothing.
//
// Before a caller takes a connection it acquires a slot in requests, if it is a single request, and then one in
// foreground. It waits for neither while it holds a connection, so there is no deadlock.
type connectionShare struct {
	// requests has a slot for each connection that is available to calls that run by themselves.
	requests chan struct{}
	// foreground has a slot for each connection that is available to these calls and to groups.
	foreground chan struct{}
}

const (
	// leastDivided is the number of connections below which a pool is not divided.
	leastDivided = 3
	// backgroundPart and groupPart are the fractions of the connections that are reserved, at least one each: an eighth
	// and a quarter.
	backgroundPart, groupPart = 8, 4
)

func newConnectionShare(connections int) *connectionShare {
	if connections < leastDivided {
		return nil
	}
	foreground := connections - max(1, connections/backgroundPart)
	requests := foreground - max(1, connections/groupPart)
	return &connectionShare{requests: make(chan struct{}, requests), foreground: make(chan struct{}, foreground)}
}

// take waits until the purpose of ctx has a connection left, which the caller then takes from the pool. It fails with
// [driver.ErrBusy] after the given patience. give returns the slot.
func (r *connectionShare) take(ctx context.Context, patience time.Duration) (give func(), err error) {
	purpose := driver.PurposeOf(ctx)
	if r == nil || purpose == driver.PurposeBackground {
		return func() {}, nil
	}
	if purpose == driver.PurposeRequest {
		if err := acquireSlot(ctx, r.requests, patience); err != nil {
			return nil, err
		}
	}
	if err := acquireSlot(ctx, r.foreground, patience); err != nil {
		if purpose == driver.PurposeRequest {
			<-r.requests
		}
		return nil, err
	}
	return sync.OnceFunc(func() {
		<-r.foreground
		if purpose == driver.PurposeRequest {
			<-r.requests
		}
	}), nil
}

var errNoConnection = fmt.Errorf("%w: no connection was free in time", driver.ErrBusy)

func acquireSlot(ctx context.Context, slots chan struct{}, patience time.Duration) error {
	select {
	case slots <- struct{}{}:
		return nil
	default:
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case slots <- struct{}{}:
		return nil
	case <-timeout.C:
		return errNoConnection
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pooledConn is a connection that returns its slot when it is returned to the pool.
type pooledConn struct {
	bun.Conn

	give func()
}

// Close returns the connection to the pool.
func (c pooledConn) Close() error {
	err := c.Conn.Close()
	c.give()
	return err
}
