package ticketing

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// operation is one idempotent operation: what it asks of a caller, and the rules of its subject. Its methods work on
// a slice of calls, of which a single call is the slice of one, and decide each call against the state that the
// ones before it leave.
type operation[P, R any] struct {
	name     string // part of the key's scope, kept for ever
	grant    Grant
	verified bool // the company must be verified, too
	closed   bool // the calls of a company take turns
	// apply decides the calls and writes what the accepted ones do. It sets each call's err, or its result and record.
	apply func(ctx context.Context, tx Tx, at time.Time, calls []*call[P, R]) error
	// replay gives calls the result that their earlier record stands for.
	replay func(ctx context.Context, tx ReadTx, calls []*call[P, R]) error
	// lanes group the calls; nil: each runs alone. weight is what a call adds to its group.
	lanes  *lanes[*call[P, R]]
	weight func(P) int
}

// call is one request on its way through the pipeline.
type call[P, R any] struct {
	caller Caller
	ref    ResultRef
	digest string
	params P // normalised
	seat   *seat

	// The outcome, assigned afresh whenever the transaction runs.
	company CompanyRecord
	earlier ResultRecord
	record  ResultRecord // what the key will answer with: Outcome, Subject and Body
	result  R
	err     error
}

var (
	errStillProcessing = &Error{Code: CodeConflict, Message: "Idempotent request is still processing"}
	errKeyReused       = &Error{
		Code: CodeConflict, Message: "The idempotency key was used with different input.",
	}

	// errNothingToKeep takes back a transaction in which no call was accepted.
	errNothingToKeep = errors.New("ticketing: no call was accepted")
)

// do checks the form of one request and runs it, alone or in a group. normalise gives the params as they are compared
// and applied.
func do[P, R any](
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
	var v violations
	params = normalise(&v, params)
	if err := v.err(); err != nil {
		return none, err
	}
	sum, err := inputDigest(params)
	if err != nil {
		return none, err
	}
	c := &call[P, R]{
		caller: caller, params: params, digest: sum,
		ref: ResultRef{CompanyID: caller.companyID, Operation: op.name, Key: key},
	}
	ctx, end := s.observe(ctx, op.name)
	if err := op.join(ctx, s, c); err != nil {
		end(err)
		return none, fmt.Errorf("ticketing: %s: %w", op.name, err)
	}
	end(c.err)
	return c.result, c.err
}

// inputDigest is "v1:" and the SHA-256, in unpadded base64url, of the JSON of the normalised params, the ids of the
// path among them: what tells whether a key is used for the same input again. Results outlive releases: a field may
// be added with omitzero, and a field that is renamed keeps its name in a tag. Golden vectors hold it.
func inputDigest(params any) (string, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return "", fmt.Errorf("ticketing: digest the input: %w", err)
	}
	sum := sha256.Sum256(text)
	return "v1:" + base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// grouped gives the operation lanes, in which a call weighs what weight says.
func (o *operation[P, R]) grouped(s *Service, g Grouping, most int, weight func(P) int) *operation[P, R] {
	o.weight = weight
	o.lanes = lanesOf(s, g, o.name, most, func(ctx context.Context, patience time.Duration, calls []*call[P, R]) error {
		seats := make([]*seat, len(calls))
		for i, c := range calls {
			seats[i] = c.seat
		}
		s.flights.begin(seats)
		again := len(calls) > 1 // after a panic
		defer func() { s.flights.end(seats, again) }()
		err := o.run(ctx, s, s.groups, patience, calls)
		again = mayRunAgain(err, len(calls), patience)
		return err
	})
	if o.lanes != nil {
		s.drains = append(s.drains, o.lanes.Drain)
	}
	return o
}

// join runs a call in a group where the operation has lanes, else on a slot of its company.
func (o *operation[P, R]) join(ctx context.Context, s *Service, c *call[P, R]) error {
	if s.bound { // Calls take turns in the host's transaction, and the second of two equal ones is a replay.
		return o.run(ctx, s, s.store, 0, []*call[P, R]{c})
	}
	var free bool
	if c.seat, free = s.flights.take(c.ref); !free {
		return s.onOwnSlot(ctx, o.name, c.caller.companyID, false, func() error {
			return o.refuseInFlight(ctx, s.store, s.now(), []*call[P, R]{c})
		})
	}
	if o.lanes == nil {
		defer s.flights.leave(c.seat, true)
		return s.onOwnSlot(ctx, o.name, c.caller.companyID, o.closed, func() error {
			return o.run(ctx, s, s.store, 0, []*call[P, R]{c})
		})
	}
	answered := false
	defer func() { s.flights.leave(c.seat, answered) }()
	err := inGroup(ctx, o.lanes, c.caller.companyID, o.weight(c.params), c)
	answered = err == nil || ctx.Err() == nil
	return err
}

// refuseInFlight answers calls whose keys are in flight. Whoever may not act at all is told that first.
func (o *operation[P, R]) refuseInFlight(ctx context.Context, store Store, at time.Time, calls []*call[P, R]) error {
	return store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		if err := o.authorise(ctx, tx, at, calls); err != nil {
			return err
		}
		refuse(calls, errStillProcessing)
		return nil
	})
}

// run is the one pipeline of every idempotent write. The error is of the transaction, and then no call has an answer;
// a refusal is the outcome of its call.
//
// What makes it true under concurrency: the claim of a key excludes its equals, the shared gate keeps authority and
// event status as they were read, and apply locks what it decides on.
func (o *operation[P, R]) run(
	ctx context.Context, s *Service, store Store, patience time.Duration, calls []*call[P, R],
) error {
	at := s.now()
	in := o.entrance(calls)
	in.Patience = patience
	begun := false
	err := store.Update(ctx, func(ctx context.Context, tx Tx) error {
		inFlight, err := tx.Enter(ctx, in)
		if err != nil {
			return err
		}
		begun = slices.Contains(inFlight, false)
		if !begun {
			return nil
		}
		return o.decide(ctx, tx, at, calls, inFlight)
	})
	if err == nil && !begun {
		err = o.refuseInFlight(ctx, store, at, calls) // The store began nothing.
	}
	if errors.Is(err, errNothingToKeep) {
		return nil
	}
	if err == nil && begun {
		s.Wake()
	}
	return err
}

func (o *operation[P, R]) decide(
	ctx context.Context, tx Tx, at time.Time, calls []*call[P, R], inFlight []bool,
) error {
	if err := o.authorise(ctx, tx, at, calls); err != nil {
		return err
	}
	refuse(filter(calls, func(i int, _ *call[P, R]) bool { return inFlight[i] }), errStillProcessing)
	fresh, err := o.recall(ctx, tx, open(calls))
	if err != nil {
		return err
	}
	if len(fresh) > 0 {
		if err := o.apply(ctx, tx, at, fresh); err != nil {
			return err
		}
	}
	accepted := open(fresh)
	if len(accepted) == 0 {
		return errNothingToKeep
	}
	results := make([]ResultRecord, len(accepted))
	for i, c := range accepted {
		c.record.ResultRef, c.record.Digest, c.record.CreatedAt = c.ref, c.digest, at
		results[i] = c.record
	}
	return tx.AppendResults(ctx, results)
}

// authorise begins the calls' outcomes afresh and refuses those whose authority is gone (section 5, rule 5; for a
// checkout also section 4.7, rule 1).
func (o *operation[P, R]) authorise(ctx context.Context, tx ReadTx, at time.Time, calls []*call[P, R]) error {
	callers := make([]Caller, len(calls))
	for i, c := range calls {
		callers[i] = c.caller
	}
	held, err := authorities(ctx, tx, callers)
	if err != nil {
		return err
	}
	for i, c := range calls {
		var none R
		c.company, c.earlier, c.record, c.result = held[i].company, ResultRecord{}, ResultRecord{}, none
		c.err = held[i].check(c.caller, o.grant)
		if c.err == nil && o.verified && !c.company.Verification.current(at) {
			c.err = errVerificationRequired
		}
	}
	return nil
}

// recall answers the calls whose key is spent and returns the others.
func (o *operation[P, R]) recall(ctx context.Context, tx Tx, calls []*call[P, R]) ([]*call[P, R], error) {
	if len(calls) == 0 {
		return nil, nil
	}
	refs := make([]ResultRef, len(calls))
	for i, c := range calls {
		refs[i] = c.ref
	}
	earlier, err := tx.Results(ctx, refs)
	if err != nil {
		return nil, err
	}
	var fresh, again []*call[P, R]
	for i, c := range calls {
		switch c.earlier = earlier[i]; c.earlier.Digest {
		case "":
			fresh = append(fresh, c)
		case c.digest:
			again = append(again, c)
		default:
			c.err = errKeyReused
		}
	}
	if len(again) > 0 {
		err = o.replay(ctx, tx, again)
	}
	return fresh, err
}

// recallBody is the replay of operations that keep their result's JSON, since its subject changes later.
func recallBody[P, R any](_ context.Context, _ ReadTx, calls []*call[P, R]) error {
	for _, c := range calls {
		if err := json.Unmarshal(c.earlier.Body, &c.result); err != nil {
			return fmt.Errorf("read the kept result: %w", err)
		}
	}
	return nil
}

// keepBody makes a call's result what its key answers with.
func (c *call[P, R]) keepBody(subject uuid.UUID, result R) error {
	body, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("keep the result: %w", err)
	}
	c.result, c.record = result, ResultRecord{Subject: subject, Body: body}
	return nil
}

func (o *operation[P, R]) entrance(calls []*call[P, R]) Entrance {
	companies := make([]uuid.UUID, len(calls))
	claims := make([]ResultRef, len(calls))
	for i, c := range calls {
		companies[i], claims[i] = c.caller.companyID, c.ref
	}
	companies = distinct(companies)
	if o.closed {
		return Entrance{Close: companies, Claim: claims}
	}
	return Entrance{Share: companies, Claim: claims}
}

// open are the calls that nothing was said to yet.
func open[P, R any](calls []*call[P, R]) []*call[P, R] {
	return filter(calls, func(_ int, c *call[P, R]) bool { return c.err == nil })
}

func refuse[P, R any](calls []*call[P, R], err error) {
	for _, c := range open(calls) {
		c.err = err
	}
}

func filter[T any](items []T, keep func(int, T) bool) []T {
	kept := make([]T, 0, len(items))
	for i, item := range items {
		if keep(i, item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// distinct drops what came before; it keeps the order.
func distinct[T comparable](items []T) []T {
	seen := make(map[T]bool, len(items))
	return filter(items, func(_ int, item T) bool {
		first := !seen[item]
		seen[item] = true
		return first
	})
}
