package ticketing

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/recent"
	"github.com/floatgate/ticketing/internal/slot"
)

// Identify returns the caller of an API key, like [Service.Authenticate], and reads nothing for a key that
// authenticated here within the last minute. The secret is always verified. The caller of such a key is provisional:
// it has the company and the grants of then.
//
// Each operation reads the company and the key of a provisional caller in its own transaction. If they have changed in
// any way, it looks up the key as Authenticate does. The error of that look-up is the operation's, such as
// AUTHENTICATION_FAILED for a revoked key. Without an error the operation runs once more, for the caller of now. So a
// revocation holds from its commit on, as with Authenticate.
//
// An error that comes before the transaction depends on what was remembered: that of [Caller.Require], of a malformed
// argument, and of a request that the host refuses by itself. Call [Service.Confirm] before you report one.
//
// Errors: those of Authenticate.
func (s *Service) Identify(ctx context.Context, key string) (Caller, error) {
	if err := s.secrets.check(ctx, s); err != nil {
		return Caller{}, err
	}
	id, secret, ok := parseAPIKey(key)
	if !ok {
		return Caller{}, errAuthenticationFailed
	}
	at := s.now()
	if known, ok := s.knownKeys.Get(id); ok && known.lasts(at) {
		// A wrong secret is looked up like that of any other key, and gets the same answer. One more digest is computed for
		// it, which takes about a microsecond and says no more than that the key was used here within a minute.
		if _, current := s.keys.Verify(known.digest, secretDomain, id.String(), secret); current {
			return known.provisional(secret, at), nil
		}
	}
	return s.lookUpKey(ctx, id, secret)
}

// Confirm returns the caller that [Service.Authenticate] returns for the key of a provisional caller, see
// [Service.Identify]. It looks up the key, unless an operation of this caller has read it already. Any other caller is
// returned as it is.
//
// Errors: those of Authenticate.
func (s *Service) Confirm(ctx context.Context, caller Caller) (Caller, error) {
	if caller.provisional == nil {
		return caller, nil
	}
	if confirmed := caller.provisional.confirmed.Load(); confirmed != nil {
		return *confirmed, nil
	}
	return s.confirm(ctx, caller)
}

// confirm looks up the key of a provisional caller.
func (s *Service) confirm(ctx context.Context, caller Caller) (Caller, error) {
	// The look-up may record the use of the key, which takes a slot of the company.
	slot.Release(ctx)
	confirmed, err := caller.provisional.lookUp(ctx, s)
	switch {
	case err == nil:
		caller.provisional.confirmed.Store(&confirmed)
	case errors.Is(err, errAuthenticationFailed):
		s.knownKeys.Forget(caller.keyID)
	}
	return confirmed, err
}

// errOutdatedCaller is the outcome of a call whose provisional caller is not as it was remembered. It never reaches a
// caller: runCurrent looks up the key.
var errOutdatedCaller = errors.New("ticketing: the API key or its company has changed")

// runCurrent runs an operation for a caller that has its grant. If the operation finds that a provisional caller is out
// of date, runCurrent looks up the key, and runs the operation once more for the caller that it finds. The first run
// has changed nothing.
func (s *Service) runCurrent(ctx context.Context, caller Caller, grant Grant, run func(Caller) error) error {
	err := run(caller)
	if !errors.Is(err, errOutdatedCaller) {
		return err
	}
	s.knownKeys.Forget(caller.keyID)
	confirmed, err := s.confirm(ctx, caller)
	if err != nil {
		return err
	}
	return s.runConfirmed(caller, confirmed, grant, run)
}

// manyReads is how many reads of one resource run or wait at a time before the next ones share transactions. Those that
// are no [sharedRead] share only the look-ups of provisional callers, which costs less than to read the authority with
// each of them. A call that is alone waits for one message instead of three.
const manyReads = 8

// readCurrent is runCurrent for a read of one resource. A page costs more than its authority, so it is one message
// however many run.
func (s *Service) readCurrent(ctx context.Context, caller Caller, grant Grant, run func(Caller) error) error {
	defer s.reads.Add(-1)
	if s.reads.Add(1) <= manyReads || caller.provisional == nil {
		return s.runCurrent(ctx, caller, grant, run)
	}
	confirmed, err := s.Confirm(ctx, caller)
	if err != nil {
		return err
	}
	return s.runConfirmed(caller, confirmed, grant, run)
}

// runConfirmed runs an operation for the caller that a look-up found in place of a provisional one.
func (*Service) runConfirmed(caller, confirmed Caller, grant Grant, run func(Caller) error) error {
	// The operation was prepared for the company of before.
	if confirmed.companyID != caller.companyID {
		return errAuthenticationFailed
	}
	if err := confirmed.Require(grant); err != nil {
		return err
	}
	return run(confirmed)
}

// provisional is what a caller of [Service.Identify] has beside the company and grants that were remembered. All copies
// of a Caller share it.
type provisional struct {
	// hasDigest reports whether a digest is the one that was remembered. lookUp looks up the key in a service. Both are
	// functions because package fmt would print the digest and the secret even through a pointer.
	hasDigest func(digest string) bool
	lookUp    func(ctx context.Context, s *Service) (Caller, error)
	// since is when the caller was identified.
	since time.Time
	// confirmed is the caller of now: what was remembered, once a transaction has found the same, or what a look-up has
	// found. It is nil before either. A group sets it in another goroutine.
	confirmed atomic.Pointer[Caller]
}

// checkProvisional returns errOutdatedCaller if the company and the key of a provisional caller are not as they were
// remembered. For any other caller it returns nil.
func (a authority) checkProvisional(c Caller) error {
	if c.provisional == nil {
		return nil
	}
	if a.company.Status != CompanyActive || a.key.Status != APIKeyActive || !c.provisional.hasDigest(a.key.Digest) ||
		!slices.Equal(a.key.Grants, c.grants) {
		return errOutdatedCaller
	}
	c.setConfirmed()
	return nil
}

// setConfirmed makes a provisional caller the caller of now.
func (c Caller) setConfirmed() {
	if c.provisional.confirmed.Load() == nil {
		confirmed := c
		confirmed.provisional = nil
		c.provisional.confirmed.Store(&confirmed)
	}
}

// lostMeanwhile reports whether a provisional caller had its authority when it was identified, and lost it while its
// write waited. Then its key was good, and the write is refused as that of any other caller would be.
func (a authority) lostMeanwhile(c Caller) bool {
	revoked, suspended := a.key.Status != APIKeyActive, a.company.Status != CompanyActive
	return (revoked || suspended) && c.provisional.hasDigest(a.key.Digest) && slices.Equal(a.key.Grants, c.grants) &&
		(!revoked || a.key.RevokedAt.After(c.provisional.since)) &&
		(!suspended || a.company.UpdatedAt.After(c.provisional.since))
}

// readAuthorised runs fn for reading. For a provisional caller it reads the authority, with the first read of fn in one
// message where the store can. What fn has read counts only if the caller is as it was remembered.
func (s *Service) readAuthorised(
	ctx context.Context, tx driver.ReadTx, caller Caller, fn func(context.Context, driver.ReadTx) error,
) error {
	if caller.provisional == nil {
		return fn(ctx, s.cached(tx))
	}
	announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) { _, _ = authorities(ctx, tx, []Caller{caller}) })
	read := fn(ctx, s.cached(tx))
	if _, refused := errors.AsType[*Error](read); read != nil && !refused {
		return read // The store failed.
	}
	held, err := authorities(ctx, tx, []Caller{caller})
	if err == nil {
		err = held[0].checkProvisional(caller)
	}
	if err != nil {
		return err
	}
	return read
}

// readForAll runs fn, for reading, with the authority of the provisional callers, in one message where the store can.
// It returns what that says of each caller. An error of fn is that of the store: fn refuses nobody.
func (s *Service) readForAll(
	ctx context.Context, tx driver.ReadTx, callers []Caller, fn func(context.Context, driver.ReadTx) error,
) (held []error, err error) {
	held = make([]error, len(callers))
	var unsure []Caller
	var places []int
	for i, c := range callers {
		if c.provisional != nil {
			unsure, places = append(unsure, c), append(places, i)
		}
	}
	if len(unsure) == 0 {
		return held, fn(ctx, s.cached(tx))
	}
	announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) { _, _ = authorities(ctx, tx, unsure) })
	if err := fn(ctx, s.cached(tx)); err != nil {
		return nil, err
	}
	authority, err := authorities(ctx, tx, unsure)
	if err != nil {
		return nil, err
	}
	for i, c := range unsure {
		held[places[i]] = authority[i].checkProvisional(c)
	}
	return held, nil
}

// knownKeys are the API keys that authenticated lately in this process. Only a successful look-up adds one, so made-up
// keys do not fill it. What is remembered never allows anything: the transaction of each operation compares it with
// what is stored.
//
// An entry ends when the next use of its key is due to be recorded. So each key is still looked up about once a minute,
// and its last use and its digest are kept up to date as if nothing was remembered.
type knownKeys struct {
	recent.Map[uuid.UUID, knownKey]
}

// knownKey is a key as a look-up has found it. Its digest is one of the first secret key.
type knownKey struct {
	caller       Caller
	digest       string
	since, until time.Time
}

// add remembers a key that was found at a time, and replaces what was remembered of it.
func (k *knownKeys) add(caller Caller, digest string, at, until time.Time) {
	// The recorded use may be of a process whose clock is ahead.
	if latest := at.Add(lastUseInterval); until.After(latest) {
		until = latest
	}
	if at.Before(until) {
		k.Put(caller.keyID, knownKey{caller: caller, digest: digest, since: at, until: until})
	}
}

// lasts reports whether the entry is still good. If the clock was set back it is not.
func (k knownKey) lasts(at time.Time) bool { return !at.Before(k.since) && at.Before(k.until) }

// provisional returns a new caller with what was remembered, at a time. The secret was verified.
func (k knownKey) provisional(secret []byte, at time.Time) Caller {
	caller := k.caller
	caller.provisional = &provisional{
		since:     at,
		hasDigest: func(digest string) bool { return digest == k.digest },
		lookUp: func(ctx context.Context, s *Service) (Caller, error) {
			return s.lookUpKey(ctx, k.caller.keyID, secret)
		},
	}
	return caller
}
