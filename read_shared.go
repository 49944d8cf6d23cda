package ticketing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/floatgate/ticketing/driver"
)

// sharedRead is a read of one resource, as an operation of the data plane. A call that is alone is one message to the
// store, with the authority of a provisional caller. If more than manyReads run, and the store can make several reads
// in one message, the calls that come while others read share the next transaction.
type sharedRead[P, R any] struct {
	name  string
	grant Grant
	// read sets the result or the err of each call. An error that it returns fails all of them.
	read  func(ctx context.Context, tx driver.ReadTx, calls []*readCall[P, R]) error
	lanes *lanes[*readCall[P, R]] // nil: nothing is shared
}

// readCall is one call of a sharedRead. A call is used by one goroutine at a time, as in [call].
type readCall[P, R any] struct {
	caller Caller
	params P
	span   trace.Span // of the operation; nil if nothing is traced

	// The outcome. The transaction may run more than once, so every run of it assigns both again.
	result R
	err    error
}

// requestSpan returns the span of the request.
func (c *readCall[P, R]) requestSpan() trace.Span { return c.span }

// groupReads is how many calls a group of reads has at most. An order has up to 50 lines, so a group reads at most some
// hundreds.
const groupReads = 16

// share gives the read its lanes, unless grouping is off or saves no message.
func (r *sharedRead[P, R]) share(s *Service, g Grouping) {
	if !g.reads {
		return
	}
	r.lanes = lanesOf(s, g, r.name, groupReads,
		func(ctx context.Context, _ time.Duration, calls []*readCall[P, R]) error {
			return s.groups.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
				return r.readAll(ctx, s, tx, calls)
			})
		})
	if r.lanes != nil {
		s.drains = append(s.drains, r.lanes.Drain)
	}
}

// waiting returns how many calls wait for a group.
func (r *sharedRead[P, R]) waiting() int {
	if r.lanes == nil {
		return 0
	}
	return r.lanes.Waiting()
}

// do returns the result of a call. The caller has the grant already. A call that is alone takes a slot of its company.
// One in a group takes none: a group has its fair share of each company's calls, see [Grouping].
func (r *sharedRead[P, R]) do(ctx context.Context, s *Service, caller Caller, params P) (result R, err error) {
	ctx, end := s.observe(ctx, r.name)
	defer func() { end(err) }()
	run := func(caller Caller, read func(context.Context, *Service, *readCall[P, R]) error) error {
		call := &readCall[P, R]{caller: caller, params: params, span: s.telemetry.spanOf(ctx)}
		err := read(ctx, s, call)
		if err == nil {
			result = call.result
		}
		return err
	}
	if r.lanes == nil || s.reads.Load() < manyReads {
		err = s.readCurrent(ctx, caller, r.grant, func(caller Caller) error { return run(caller, r.readAlone) })
		return result, err
	}
	defer s.reads.Add(-1)
	s.reads.Add(1)
	err = s.runCurrent(ctx, caller, r.grant, func(caller Caller) error { return run(caller, r.readGrouped) })
	return result, err
}

// readGrouped reads a call in a transaction with others.
func (r *sharedRead[P, R]) readGrouped(ctx context.Context, _ *Service, call *readCall[P, R]) error {
	if err := inGroup(ctx, r.lanes, call.caller.companyID, 1, call); err != nil {
		return err // The group may still use the call.
	}
	return call.err
}

// readAlone reads one call in a transaction of its own.
func (r *sharedRead[P, R]) readAlone(ctx context.Context, s *Service, call *readCall[P, R]) error {
	return s.runOnSlot(ctx, r.name, call.caller.companyID, false, func() error {
		return s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			return s.readAuthorised(ctx, tx, call.caller, func(ctx context.Context, tx driver.ReadTx) error {
				call.err = nil
				if err := r.read(ctx, tx, []*readCall[P, R]{call}); err != nil {
					return err
				}
				return call.err
			})
		})
	})
}

// readAll reads the calls of a group, and the authority of their callers. As in readAuthorised, what was read counts
// only if the caller is as it was remembered.
func (r *sharedRead[P, R]) readAll(
	ctx context.Context, s *Service, tx driver.ReadTx, calls []*readCall[P, R],
) error {
	callers := make([]Caller, len(calls))
	for i, c := range calls {
		callers[i], c.err = c.caller, nil
	}
	held, err := s.readForAll(ctx, tx, callers, func(ctx context.Context, tx driver.ReadTx) error {
		return r.read(ctx, tx, calls)
	})
	if err != nil {
		return err
	}
	for i, c := range calls {
		if held[i] != nil {
			c.err = held[i]
		}
	}
	return nil
}
