package ticketing

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
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
	announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) { _, _ = authorities(ctx, tx, callers) })
	if err := r.read(ctx, s.cached(tx), calls); err != nil {
		return err
	}
	held, err := authorities(ctx, tx, callers)
	if err != nil {
		return err
	}
	for i, c := range calls {
		if err := held[i].checkProvisional(c.caller); err != nil {
			c.err = err
		}
	}
	return nil
}

// readOrders reads orders with their lines.
func readOrders(ctx context.Context, tx driver.ReadTx, calls []*readCall[uuid.UUID, Order]) error {
	asked := make([]driver.OrderRef, len(calls))
	for i, c := range calls {
		asked[i] = driver.OrderRef{CompanyID: c.caller.companyID, ID: c.params}
	}
	refs := distinct(asked)
	records, lines, err := ordersWithLines(ctx, tx, refs)
	if err != nil {
		return err
	}
	places := make(map[driver.OrderRef]int, len(refs))
	for i, ref := range refs {
		places[ref] = i
	}
	// Calls of one order do not share what is returned, which a caller may change.
	var found []driver.Order
	var of []*readCall[uuid.UUID, Order]
	for i, c := range calls {
		if record := records[places[asked[i]]]; record.ID == uuid.Nil {
			c.err = errOrderNotFound
		} else {
			found, of = append(found, record), append(of, c)
		}
	}
	shown, err := showOrdersOf(ctx, tx, found, lines)
	if err != nil {
		return err
	}
	for i, c := range of {
		c.result = shown[i]
	}
	return nil
}

// priceQuery is what a quote reads: the prices of some tiers of an event.
type priceQuery struct {
	eventID uuid.UUID
	tiers   []string // sorted
}

// readPriceLists reads the prices of quotes, in one message where the store can. Calls of equal tiers share the list,
// which none of them changes.
//
// Status and prices come from one statement, so a quote never has the prices of a moment at which the event was not on
// sale.
func readPriceLists(
	ctx context.Context, tx driver.ReadTx, calls []*readCall[priceQuery, driver.PriceList],
) error {
	type query struct {
		event driver.EventRef
		tiers string
	}
	queries := make([]query, len(calls))
	for i, c := range calls {
		queries[i].event = driver.EventRef{CompanyID: c.caller.companyID, ID: c.params.eventID}
		// The text of the tiers is one that no others have.
		queries[i].tiers = fmt.Sprintf("%q", c.params.tiers)
	}
	announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
		for i, c := range calls {
			_, _ = tx.PriceList(ctx, queries[i].event, c.params.tiers)
		}
	})
	lists := make(map[query]driver.PriceList, len(calls))
	for i, c := range calls {
		of := queries[i]
		list, known := lists[of]
		if !known {
			var err error
			if list, err = tx.PriceList(ctx, of.event, c.params.tiers); err != nil {
				return err
			}
			lists[of] = list
		}
		c.result = list
		switch list.EventStatus {
		case "":
			c.err = errEventNotFound
		case EventPublished:
		default:
			c.err = errPricingUnavailable
		}
	}
	return nil
}
