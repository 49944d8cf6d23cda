package ticketing

import (
	"context"
	"encoding/base64"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/floatgate/ticketing/driver"
)

const (
	// Parts of the text of an API key and of its digest. See formatAPIKey for the format.
	secretSize   = 32
	secretDomain = "api-key"
	keyPrefix    = "svc_live."
	idLength     = 36

	// lastUseInterval is how old the recorded time of a key's last use may be. A write for every request would make
	// each of them wait for a transaction.
	lastUseInterval = time.Minute
	// lastUsePatience is how long a request waits for the recording of its key's use.
	lastUsePatience = 250 * time.Millisecond
	// lastUseRetry is how long no use of a key is recorded after a recording failed.
	lastUseRetry = 10 * time.Second
)

// secretEncoding is strict, so that a secret has exactly one spelling.
var secretEncoding = base64.RawURLEncoding.Strict()

// formatAPIKey returns the text of a key as its owner sends it: svc_live.<key-id>.<secret> (section 5, rule 1). It has
// 89 characters. The id is in lower case, and the secret is 32 bytes in unpadded base64url (RFC 4648, section 5).
func formatAPIKey(id uuid.UUID, secret []byte) string {
	return keyPrefix + id.String() + "." + secretEncoding.EncodeToString(secret)
}

// parseAPIKey is the inverse of formatAPIKey. It accepts exactly what formatAPIKey writes.
func parseAPIKey(s string) (id uuid.UUID, secret []byte, ok bool) {
	rest, found := strings.CutPrefix(s, keyPrefix)
	if !found || len(rest) != idLength+1+secretEncoding.EncodedLen(secretSize) || rest[idLength] != '.' {
		return uuid.Nil, nil, false
	}
	id, err := ParseID(rest[:idLength])
	if err != nil || id.String() != rest[:idLength] {
		return uuid.Nil, nil, false
	}
	// The decoder skips line breaks, so a secret with one in it is too short.
	secret, err = secretEncoding.DecodeString(rest[idLength+1:])
	return id, secret, err == nil && len(secret) == secretSize
}

// Authenticate returns the caller of an API key (section 5). The key is the whole text after "Bearer ". An absent,
// malformed, unknown or revoked key and a key of a company that is not active all give the same AUTHENTICATION_FAILED.
// Every call reads the key from the store: a revocation holds from its commit on. [Service.Identify] saves that read
// for a key that was used lately.
//
// It records the time of the key's last use, at most about once a minute. It also renews a digest that another than the
// first secret key made. A failure of that recording is only logged.
//
// Errors: AUTHENTICATION_FAILED, [ErrSecretKeys], and [ErrBusy] where too many calls wait.
func (s *Service) Authenticate(ctx context.Context, key string) (Caller, error) {
	if err := s.secrets.check(ctx, s); err != nil {
		return Caller{}, err
	}
	// A malformed key costs no look-up and takes no slot.
	id, secret, ok := parseAPIKey(key)
	if !ok {
		return Caller{}, errAuthenticationFailed
	}
	return s.lookUpKey(ctx, id, secret)
}

// lookUpKey returns the caller of a well-formed key, which may be made up. It reads the key from the store.
func (s *Service) lookUpKey(ctx context.Context, id uuid.UUID, secret []byte) (Caller, error) {
	return s.limitUnknownKey(ctx, id, func(ctx context.Context) (Caller, error) {
		return s.authenticate(ctx, id, secret)
	})
}

// authenticate returns the caller of a well-formed key. The look-up joins a group with those of other calls, unless
// grouping is off.
func (s *Service) authenticate(ctx context.Context, id uuid.UUID, secret []byte) (Caller, error) {
	// The look-up is keyed by the id of the key: the company is not known before it.
	asked := &keyLookup{id: id, span: s.telemetry.spanOf(ctx)}
	var err error
	if s.lookups == nil {
		err = s.lookUpKeys(ctx, 0, []*keyLookup{asked})
	} else {
		err = inGroup(ctx, s.lookups, id, 1, asked)
	}
	if err != nil {
		return Caller{}, err
	}
	// The secret is compared with a digest even where no key was found. The time still differs for an unknown id: the
	// same statements find no rows, which takes 45 µs less by measurement. That is no leak, because an id is no secret.
	// The time says nothing about the secret.
	found := asked.key
	digest := found.Digest
	if found.ID == uuid.Nil {
		digest = s.keys.Dummy()
	}
	genuine, current := s.keys.Verify(digest, secretDomain, id.String(), secret)
	// One check for all causes gives one error, so a client cannot find out whether a key exists.
	if !genuine || found.Status != APIKeyActive || asked.company.Status != CompanyActive {
		return Caller{}, errAuthenticationFailed
	}
	caller := Caller{companyID: found.CompanyID, keyID: found.ID, grants: found.Grants}
	// A bound service writes nothing into the host's transaction that the host did not ask for. It remembers nothing
	// either: what it read may be rolled back.
	if s.bound {
		return caller, nil
	}
	at, until := s.now(), found.LastUsedAt.Add(lastUseInterval)
	if !current || at.Sub(found.LastUsedAt) >= lastUseInterval {
		until = s.recordLastUse(ctx, driver.APIKeyUse{
			APIKeyRef: found.Ref(), UsedAt: at, Digest: s.keys.Sum(secretDomain, id.String(), secret),
		})
	}
	// A digest that was to be renewed is not the one in the store any more.
	if current {
		s.knownKeys.add(caller, found.Digest, at, until)
	}
	return caller, nil
}

// keyLookup is a look-up of an API key and its company. An unknown id leaves both zero.
type keyLookup struct {
	id      uuid.UUID
	key     driver.APIKey
	company driver.Company
	span    trace.Span // of the request; nil if nothing is traced
}

// requestSpan returns the span of the request that the look-up is a part of.
func (k *keyLookup) requestSpan() trace.Span { return k.span }

// lookUpKeys reads keys and their companies in one transaction. A call joins only a group that has not begun, so what a
// call gets is never older than its request.
//
// An unknown id leaves the zero records in its look-up.
func (s *Service) lookUpKeys(ctx context.Context, _ time.Duration, asked []*keyLookup) error {
	ids := make([]uuid.UUID, len(asked))
	for i, ask := range asked {
		ids[i] = ask.id
	}
	ids = distinct(ids)
	return s.groups.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		keys, err := tx.FindAPIKeys(ctx, ids)
		if err != nil {
			return err
		}
		// The company is read after its key, in a second statement of the same transaction.
		owners := make([]uuid.UUID, len(keys))
		for i, key := range keys {
			owners[i] = key.CompanyID
		}
		owners = distinct(owners)
		companies, err := tx.Companies(ctx, owners)
		if err != nil {
			return err
		}
		// An unknown id has the zero company, which is not active.
		for _, ask := range asked {
			ask.key = keys[slices.Index(ids, ask.id)]
			ask.company = companies[slices.Index(owners, ask.key.CompanyID)]
		}
		return nil
	})
}

// lastUseThrottle limits how often the use of a key is recorded. It holds, for each key, the time until which no call
// records: because a call is recording, because a use was recorded a moment ago, or because recording failed lately. It
// is safe for concurrent use.
//
// It is in memory only. Each process records a use once in a while, which is all that the time of the last use
// promises.
type lastUseThrottle struct {
	mu    sync.Mutex
	until map[uuid.UUID]time.Time
	sweep int // the number of keys at which expired ones are removed
}

// fewLastUses is how many keys are remembered before expired ones are looked for.
const fewLastUses = 10_000

// begin reports whether the caller is to record the use of a key. If so, the caller calls end afterwards. The key is
// reserved for lastUseInterval, so that of concurrent calls only one records.
func (t *lastUseThrottle) begin(id uuid.UUID, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until, ok := t.until[id]; ok && at.Before(until) {
		return false
	}
	if t.until == nil {
		t.until, t.sweep = make(map[uuid.UUID]time.Time), fewLastUses
	}
	// The limit doubles with what is left, so a sweep costs little for each call.
	if len(t.until) >= t.sweep {
		maps.DeleteFunc(t.until, func(_ uuid.UUID, until time.Time) bool { return !at.Before(until) })
		t.sweep = max(fewLastUses, 2*len(t.until))
	}
	t.until[id] = at.Add(lastUseInterval)
	return true
}

// end ends a recording. After a success the key keeps its whole reservation, because concurrent calls may have read the
// time before it was updated. After a failure the next recording comes after lastUseRetry.
func (t *lastUseThrottle) end(id uuid.UUID, at time.Time, kept bool) {
	if kept {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until[id] = at.Add(lastUseRetry)
}

// recordLastUse records the use of a key, unless another call does. It takes a slot of the company, so that the
// recordings of a flood of requests do not use up the connections. It waits no longer than lastUsePatience: a read must
// not become slow with a busy database.
//
// It returns the time until which no use of the key needs to be recorded: the zero time if another call records it.
func (s *Service) recordLastUse(ctx context.Context, use driver.APIKeyUse) (until time.Time) {
	if !s.lastUse.begin(use.ID, use.UsedAt) {
		return time.Time{}
	}
	// A panic of the store counts as a failure, so the key is tried again soon.
	kept := false
	defer func() { s.lastUse.end(use.ID, use.UsedAt, kept) }()
	ctx, cancel := context.WithTimeout(ctx, lastUsePatience)
	defer cancel()
	// A use is recorded on its own, and not in the transaction of the request: most requests only read.
	err := s.runTxOnSlot(ctx, operationAuthenticate, use.CompanyID, func() error {
		return s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{use.CompanyID}}); err != nil {
				return err
			}
			return tx.TouchAPIKeys(ctx, []driver.APIKeyUse{use})
		})
	})
	if kept = err == nil; !kept {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the last use of an API key was not recorded",
			slog.String("keyId", use.ID.String()), slog.Any("error", err))
		return use.UsedAt.Add(lastUseRetry)
	}
	return use.UsedAt.Add(lastUseInterval)
}
