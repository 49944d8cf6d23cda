package ticketing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/floatgate/ticketing/driver"
)

// operation is one idempotent operation: what it requires of a caller, and the rules of its subject (section 4.11).
//
// Its methods work on a slice of calls; a single call is a slice of one. They decide each call against the state that
// the calls before it in the slice leave, so a group of calls has the same results as the same calls one by one.
type operation[P, R any] struct {
	name      string // part of the scope of the idempotency key: it can never be renamed
	grant     Grant
	verified  bool // the company must also be verified (section 4.7, rule 1)
	exclusive bool // the calls of a company exclude each other: they hold its gate exclusively
	// apply decides the calls and writes what the accepted ones change. It sets the err of each refused call, and the
	// result and the record of each accepted one. An error that it returns fails the whole transaction.
	apply func(ctx context.Context, tx driver.Tx, at time.Time, calls []*call[P, R]) error
	// reads announces what apply reads first, for [driver.BeginOptions]; nil: nothing.
	reads func(ctx context.Context, tx driver.Tx, at time.Time, calls []*call[P, R])
	// locks returns what apply locks first, if that is to be locked at once, see [driver.BeginOptions]; nil: never.
	locks func(calls []*call[P, R]) *driver.SaleLocks
	// replay sets the results of calls whose key is spent, from the records that their first calls left.
	replay func(ctx context.Context, tx driver.ReadTx, calls []*call[P, R]) error
	// hasFact reports whether a fact was written with a new result; nil: with none.
	hasFact func(result *R) bool
	// kept is called with each new result of a transaction after its commit; nil: with none.
	kept func(ctx context.Context, result *R)
	// lanes group the calls; nil: each call has a transaction of its own. weight is what a call adds to the weight of
	// its group, which is limited like the number of its calls.
	lanes  *lanes[*call[P, R]]
	weight func(P) int
}

// call is one request on its way through the pipeline.
//
// A call is used by one goroutine at a time: its caller until it joins a group, then the group, and its caller again
// after the outcome. A caller that leaves early does not look at it any more.
type call[P, R any] struct {
	caller   Caller
	ref      driver.IdempotencyKey
	digest   string        // of params, see inputDigest
	params   P             // normalised, as they are compared and applied
	inFlight *inFlightCall // the claim of its key in this process; nil in a transaction of the host's
	span     trace.Span    // of the operation; nil if nothing is traced

	// The outcome. The transaction may run more than once, so every run of it assigns all of these again.
	company driver.Company
	earlier driver.IdempotencyResult // of the first call with this key; zero: the key is unspent
	record  driver.IdempotencyResult // what a replay of the key will return: Outcome, Subject and Body
	result  R
	err     error
}

// requestSpan returns the span of the call's operation.
func (c *call[P, R]) requestSpan() trace.Span { return c.span }

// errNothingToKeep rolls back a transaction in which no call was accepted. It never reaches a caller: each call already
// has its own refusal or its replay.
var errNothingToKeep = errors.New("ticketing: no call was accepted")

// runKeyed checks the form of one request and runs it, alone or in a group. normalise returns the params as they are
// compared and applied.
//
// The order of the checks is part of the contract: grant, then idempotency key, then input. All three come before any
// transaction, so a malformed request costs no connection.
func runKeyed[P, R any](
	ctx context.Context, s *Service, op *operation[P, R], caller Caller, key string, params P,
	normalise func(*violations, P) P,
) (R, error) {
	var none R
	if err := caller.Require(op.grant); err != nil {
		return none, err
	}
	if err := CheckIdempotencyKey(key); err != nil {
		return none, err
	}
	// The input is normalised before it is digested, so that the same input in another spelling has the same digest.
	var v violations
	params = normalise(&v, params)
	if err := v.err(); err != nil {
		return none, err
	}
	sum, err := inputDigest(params)
	if err != nil {
		return none, err
	}
	ctx, end := s.observe(ctx, op.name)
	var result R
	err = s.runCurrent(ctx, caller, op.grant, func(caller Caller) error {
		c := &call[P, R]{
			caller: caller, params: params, digest: sum, span: s.telemetry.spanOf(ctx),
			ref: driver.IdempotencyKey{CompanyID: caller.companyID, Operation: op.name, Key: key},
		}
		// An error of join says nothing about the call: the transaction failed, or the call never ran. A refusal is in
		// c.err. The key is no longer in flight here after join, so the call may run again.
		if err := op.join(ctx, s, c); err != nil {
			return fmt.Errorf("ticketing: %s: %w", op.name, err)
		}
		result = c.result
		return c.err
	})
	end(err)
	return result, err
}

// grouped gives the operation its lanes, unless [Grouping.Off] is set, and registers them for [Service.Drain]. A group
// has at most the given total weight.
//
// Each run marks its calls as running in Service.inFlight. After a run that may be repeated the keys stay
// claimed, so that no equal call enters between two runs.
func (o *operation[P, R]) grouped(s *Service, g Grouping, most int, weight func(P) int) *operation[P, R] {
	o.weight = weight
	o.lanes = lanesOf(s, g, o.name, most, func(ctx context.Context, patience time.Duration, calls []*call[P, R]) error {
		inFlight := make([]*inFlightCall, len(calls))
		for i, c := range calls {
			inFlight[i] = c.inFlight
		}
		s.inFlight.begin(inFlight)
		// A panic leaves this value: the calls of a group of several run again in smaller groups.
		again := len(calls) > 1
		defer func() { s.inFlight.end(inFlight, again) }()
		err := o.run(ctx, s, s.groups, patience, calls)
		again = mayRunAgain(err, len(calls), patience)
		return err
	})
	if o.lanes != nil {
		// A bound service has no lanes and so nothing to drain.
		s.drains = append(s.drains, o.lanes.Drain)
	}
	return o
}

// join runs a call in a group where the operation has lanes, else on a slot of its company. Before either it claims the
// key in this process. A call whose key is in flight here is refused at once, without waiting for a lock of the store.
func (o *operation[P, R]) join(ctx context.Context, s *Service, c *call[P, R]) error {
	if s.bound { // One goroutine at a time uses the host's transaction, so the second of two equal calls is a replay.
		return o.run(ctx, s, s.store, 0, []*call[P, R]{c})
	}
	var free bool
	if c.inFlight, free = s.inFlight.take(c.ref); !free {
		// The refusal reads authority in a transaction, so it needs a slot like any other call.
		return s.runOnSlot(ctx, o.name, c.caller.companyID, false, func() error {
			return o.refuseInFlight(ctx, s.store, s.now(), []*call[P, R]{c})
		})
	}
	if o.lanes == nil {
		// The call runs in this goroutine, so it cannot run any more after the return.
		defer s.inFlight.leave(c.inFlight, true)
		return s.runOnSlot(ctx, o.name, c.caller.companyID, o.exclusive, func() error {
			return o.run(ctx, s, s.store, 0, []*call[P, R]{c})
		})
	}
	// A caller may leave before its call has an outcome. Its key then stays claimed until the call can no longer run,
	// or an equal call would run beside it.
	answered := false
	defer func() { s.inFlight.leave(c.inFlight, answered) }()
	// The company is the key of the lane: its calls run in the order in which they came.
	err := inGroup(ctx, o.lanes, c.caller.companyID, o.weight(c.params), c)
	answered = err == nil || ctx.Err() == nil
	return err
}

// refuseInFlight refuses calls whose keys are in flight, with CONFLICT. It checks authority first: a caller that may
// not act at all gets that error, and learns nothing about the key.
func (o *operation[P, R]) refuseInFlight(
	ctx context.Context, store driver.Store, at time.Time, calls []*call[P, R],
) error {
	// It takes no gate. The refusal changes nothing, and a revocation that is not seen yet only changes which refusal
	// it is.
	return store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		if err := o.authorise(ctx, tx, at, calls); err != nil {
			return err
		}
		refuse(calls, errStillProcessing)
		return nil
	})
}

// run is the one pipeline of every idempotent write: begin, check authority, replay spent keys, apply the rest, keep
// the results. A returned error is that of the transaction, and then no call has an outcome. A refusal is the outcome
// of its call, and is not returned.
//
// Three things make it correct under concurrency. The claim of a key excludes every equal call in any process. The
// shared gate keeps authority and event status as they were read. And apply locks the rows that it decides on.
//
// The time is read once, before the transaction, and is the same in every repetition of it.
func (o *operation[P, R]) run(
	ctx context.Context, s *Service, store driver.Store, patience time.Duration, calls []*call[P, R],
) error {
	at := s.now()
	// The transaction may run again, so everything that it must not repeat is done before it: the clock is read once.
	in := o.beginOptions(calls)
	in.LockTimeout = patience
	in.Reads = func(ctx context.Context, tx driver.Tx) { o.announce(ctx, tx, at, calls) }
	// Calls that run again because a lock was busy, with all patience, lock only after the refusals that come before.
	if o.locks != nil && patience > 0 {
		in.Locks = o.locks(calls)
	}
	begun := false
	err := store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		inFlight, err := tx.Begin(ctx, in)
		if err != nil {
			return err
		}
		// If all keys are in flight, Begin took no gate and this function must not read.
		begun = slices.Contains(inFlight, false)
		if !begun {
			return nil
		}
		return o.decide(ctx, tx, at, calls, inFlight)
	})
	// Every claim was in flight elsewhere, so the store began no transaction.
	if err == nil && !begun {
		err = o.refuseInFlight(ctx, store, at, calls)
	}
	if errors.Is(err, errNothingToKeep) {
		return nil
	}
	if err == nil && begun {
		s.commits.send()
		o.report(ctx, s, calls)
	}
	return err
}

// report calls kept with the new results of a committed transaction, and has their facts dispatched. In a transaction
// of the host's nothing is committed yet.
func (o *operation[P, R]) report(ctx context.Context, s *Service, calls []*call[P, R]) {
	if s.bound {
		return
	}
	var due []driver.DueWork
	for _, c := range calls {
		if c.err != nil || c.earlier.Digest != "" {
			continue
		}
		if o.kept != nil {
			o.kept(ctx, &c.result)
		}
		if o.hasFact != nil && o.hasFact(&c.result) {
			due = append(due, driver.DueWork{Kind: driver.WorkDispatch, CompanyID: c.caller.companyID})
		}
	}
	s.wakeFor(due...)
}

// decide sets the outcome of every call within a transaction, in the order that the contract gives refusals: authority,
// verification, a key in flight, a spent key, then the rules of the subject. It keeps a result for each accepted call
// in the same transaction, so a key is spent if and only if its effect is committed. A refused call leaves its key
// unspent.
func (o *operation[P, R]) decide(
	ctx context.Context, tx driver.Tx, at time.Time, calls []*call[P, R], inFlight []bool,
) error {
	if err := o.authorise(ctx, tx, at, calls); err != nil {
		return err
	}
	refuse(filter(calls, func(i int, _ *call[P, R]) bool { return inFlight[i] }), errStillProcessing)
	// Results are read after the claims were granted, in a later statement. So the result of an equal call that has
	// just committed is seen.
	fresh, err := o.replaySpent(ctx, tx, openCalls(calls))
	if err != nil {
		return err
	}
	if len(fresh) > 0 {
		// apply sees only calls that are authorised, claimed and new. It refuses the rest of what the subject does not
		// allow.
		if err := o.apply(ctx, tx, at, fresh); err != nil {
			return err
		}
	}
	// Replays need no write. A group of replays alone is rolled back like one of refusals.
	accepted := openCalls(fresh)
	if len(accepted) == 0 {
		return errNothingToKeep
	}
	return keepResults(ctx, tx, at, accepted)
}

// authorise resets the outcome of every call and refuses the calls whose authority is gone (section 5, rule 5; for a
// checkout also section 4.7, rule 1). It reads under the shared gate, so a revocation that commits first is seen here,
// and one that comes later waits for this transaction.
func (o *operation[P, R]) authorise(ctx context.Context, tx driver.ReadTx, at time.Time, calls []*call[P, R]) error {
	// One read serves the whole group, also when its calls are of several companies.
	held, err := authorities(ctx, tx, callersOf(calls))
	if err != nil {
		return err
	}
	for i, c := range calls {
		var none R
		c.company, c.result = held[i].company, none
		c.earlier, c.record = driver.IdempotencyResult{}, driver.IdempotencyResult{}
		c.err = held[i].check(c.caller, o.grant)
		if c.err == nil && o.verified && !isCurrent(c.company.Verification, at) {
			c.err = errVerificationRequired
		}
	}
	return nil
}

// beginOptions returns how the transaction of the calls begins: the gates of their companies, shared or exclusive, and
// the claims of their keys.
func (o *operation[P, R]) beginOptions(calls []*call[P, R]) driver.BeginOptions {
	companies := make([]uuid.UUID, len(calls))
	claims := make([]driver.IdempotencyKey, len(calls))
	for i, c := range calls {
		companies[i], claims[i] = c.caller.companyID, c.ref
	}
	// No key repeats: a call whose key is in flight never gets this far.
	companies = distinct(companies)
	if o.exclusive {
		return driver.BeginOptions{Exclusive: companies, Keys: claims}
	}
	return driver.BeginOptions{Shared: companies, Keys: claims}
}

// announce makes the reads that decide makes first, as if no call were refused. Where one is, or a key is spent, decide
// reads again what it needs.
func (o *operation[P, R]) announce(ctx context.Context, tx driver.Tx, at time.Time, calls []*call[P, R]) {
	_, _ = authorities(ctx, tx, callersOf(calls))
	_, _ = tx.Results(ctx, refsOf(calls))
	if o.reads != nil {
		o.reads(ctx, tx, at, calls)
	}
}

// callersOf returns the callers of calls.
func callersOf[P, R any](calls []*call[P, R]) []Caller {
	callers := make([]Caller, len(calls))
	for i, c := range calls {
		callers[i] = c.caller
	}
	return callers
}

// refsOf returns the idempotency keys of calls.
func refsOf[P, R any](calls []*call[P, R]) []driver.IdempotencyKey {
	refs := make([]driver.IdempotencyKey, len(calls))
	for i, c := range calls {
		refs[i] = c.ref
	}
	return refs
}

// openCalls returns the calls that have no refusal yet.
func openCalls[P, R any](calls []*call[P, R]) []*call[P, R] {
	return filter(calls, func(_ int, c *call[P, R]) bool { return c.err == nil })
}

// refuse refuses every call that has no refusal yet: the first refusal of a call stays.
func refuse[P, R any](calls []*call[P, R], err error) {
	for _, c := range openCalls(calls) {
		c.err = err
	}
}

// filter returns the items for which keep returns true, in their order, as a new slice.
func filter[T any](items []T, keep func(int, T) bool) []T {
	kept := make([]T, 0, len(items))
	for i, item := range items {
		if keep(i, item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// distinct returns the items without repetitions, in the order of their first occurrence.
func distinct[T comparable](items []T) []T {
	seen := make(map[T]bool, len(items))
	return filter(items, func(_ int, item T) bool {
		first := !seen[item]
		seen[item] = true
		return first
	})
}
