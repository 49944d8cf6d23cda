package ticketing

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/safename"
)

// The results of operations are stored under their idempotency keys in the transaction of the operation itself
// (operation.go). This file has the form of a key, the digest of an input, the storing and replaying of results, and
// the keys of calls that have no result yet.

var (
	// errKeyRequired is a code of its own, so that a client can see that it forgot the header.
	errKeyRequired = &Error{
		Code: CodeIdempotencyKeyRequired, Message: "The Idempotency-Key header is required for this operation.",
	}
	// errStillProcessing refuses the second of two equal calls while the first runs. The message is the contract's
	// (section 4.11, rule 4). The client retries the identical request later.
	errStillProcessing = &Error{Code: CodeConflict, Message: "Idempotent request is still processing"}
	// errKeyReused refuses a spent key whose input has another digest.
	errKeyReused = &Error{
		Code: CodeConflict, Message: "The idempotency key was used with different input.",
	}
)

// CheckIdempotencyKey returns nil for a well-formed key, IDEMPOTENCY_KEY_REQUIRED for none, and INVALID_REQUEST for
// anything else (section 4.1). Every idempotent operation calls it; an adapter may call it before it reads a body.
func CheckIdempotencyKey(key string) error {
	if key == "" {
		return errKeyRequired
	}
	if !safename.Valid(key, 8, 128) {
		return Invalid(Violation{Message: "Idempotency-Key: must be 8 to 128 characters of A-Z a-z 0-9 . _ : - " +
			"that begin with a letter or digit"})
	}
	return nil
}

// inputDigest returns "v1:" and the SHA-256, in unpadded base64url, of the JSON of the normalised params. The params
// include the ids of the path. Two calls with one key have the same input if and only if their digests are equal.
//
// Results outlive releases, so the JSON of given params must never change: a new field has omitzero, and a renamed
// field keeps its old name in a tag. Golden vectors in the tests hold it.
func inputDigest(params any) (string, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return "", fmt.Errorf("ticketing: digest the input: %w", err)
	}
	sum := sha256.Sum256(text)
	return "v1:" + base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// keepBody sets the result of an accepted call and keeps its JSON for replays.
func (c *call[P, R]) keepBody(subject uuid.UUID, result R) error {
	body, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("store the result: %w", err)
	}
	c.result, c.record = result, driver.IdempotencyResult{Subject: subject, Body: body}
	return nil
}

// keepResults stores the results of accepted calls under their keys, which spends the keys. The results are the last
// rows of the transaction. A key that is taken by another transaction breaks the constraint of its table, so it is
// never spent twice.
func keepResults[P, R any](ctx context.Context, tx driver.Tx, at time.Time, accepted []*call[P, R]) error {
	results := make([]driver.IdempotencyResult, len(accepted))
	for i, c := range accepted {
		c.record.IdempotencyKey, c.record.Digest, c.record.CreatedAt = c.ref, c.digest, at
		results[i] = c.record
	}
	return tx.AppendResults(ctx, results)
}

// replaySpent sets the outcome of the calls whose key is spent and returns the others. The same input is replayed;
// other input is CONFLICT (section 4.11, rules 3 and 4). It runs after authority was checked again, so a revoked key
// gets no replay.
func (o *operation[P, R]) replaySpent(ctx context.Context, tx driver.Tx, calls []*call[P, R]) ([]*call[P, R], error) {
	if len(calls) == 0 {
		return nil, nil
	}
	earlier, err := tx.Results(ctx, refsOf(calls))
	if err != nil {
		return nil, err
	}
	var fresh, again []*call[P, R]
	for i, c := range calls {
		// Every kept result has a digest, so an empty one says that the key is unspent.
		switch c.earlier = earlier[i]; c.earlier.Digest {
		case "":
			fresh = append(fresh, c)
		// The stored digest is that of the first call's normalised input.
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

// replayBody is the replay of operations that keep the JSON of their result, because the subject changes later.
// Checkout and validation do not need it: they render the result from columns that never change.
func replayBody[P, R any](_ context.Context, _ driver.ReadTx, calls []*call[P, R]) error {
	for _, c := range calls {
		if err := json.Unmarshal(c.earlier.Body, &c.result); err != nil {
			return fmt.Errorf("read the stored result: %w", err)
		}
	}
	return nil
}

// inFlightKeys holds the idempotency keys of this service that wait for a lane or a slot, or that run. The store knows
// the keys that run anywhere. This registry refuses the second of two equal calls at once, while the first still waits
// in this process (section 4.11, rule 4).
//
// Two equal calls are never in one group. The second call gets no entry before the first has given up its own, and by
// then the first waits in no queue. The first was answered, or was taken out of the queue, or its caller left while it
// ran. In the last case it can run again only as a part of the group that it was in, and calls whose caller left never
// go back to a queue.
type inFlightKeys struct {
	mu    sync.Mutex
	calls map[driver.IdempotencyKey]*inFlightCall
}

// inFlightCall is a call's entry of inFlightKeys. The lock of inFlightKeys guards its fields.
type inFlightCall struct {
	ref     driver.IdempotencyKey
	running bool
	left    bool // the caller has left
	again   bool // it ran, its result was not kept, and it may run again
}

// inFlightTimeout is how long a key stays in flight after its last run, if the caller has left and the call may run
// again. The parts of a group run in quick succession. Only a call that was given up does not run within this time.
const inFlightTimeout = 5 * time.Second

// take returns the entry of a call under a key, or false if the key is in flight.
func (f *inFlightKeys) take(ref driver.IdempotencyKey) (*inFlightCall, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls[ref] != nil {
		return nil, false
	}
	if f.calls == nil {
		f.calls = make(map[driver.IdempotencyKey]*inFlightCall)
	}
	c := &inFlightCall{ref: ref}
	// The entry is in the map until drop. That is what makes the key in flight.
	f.calls[ref] = c
	return c, true
}

// leave gives an entry up. The key is free at once if the call was answered or never ran. If the caller left before the
// answer, the key is free when the call will not run again.
func (f *inFlightKeys) leave(c *inFlightCall, answered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.left = true
	c.again = c.again && !answered
	f.free(c)
}

// begin marks calls as running. A running call keeps its key even if its caller leaves: the transaction goes on.
func (f *inFlightKeys) begin(calls []*inFlightCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range calls {
		c.running = true
	}
}

// end marks calls as not running. again means that they may run again, as parts of their group. end is called after
// every run, also after one that panicked.
func (f *inFlightKeys) end(calls []*inFlightCall, again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range calls {
		c.running, c.again = false, again
		f.free(c)
	}
}

// free frees the key of a call that was left. A call that runs keeps its key, and a call that may run again keeps it
// for inFlightTimeout. The caller holds the lock.
func (f *inFlightKeys) free(c *inFlightCall) {
	switch {
	// The caller or the run will come here again when it is done.
	case !c.left || c.running:
	case c.again:
		// The key of a call that is given up must not stay in flight forever.
		time.AfterFunc(inFlightTimeout, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if !c.running {
				f.drop(c)
			}
		})
	default:
		f.drop(c)
	}
}

// drop removes an entry, and not that of a later call with the same key.
func (f *inFlightKeys) drop(c *inFlightCall) {
	if f.calls[c.ref] == c {
		delete(f.calls, c.ref)
	}
}
