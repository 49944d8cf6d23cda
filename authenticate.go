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
)

const (
	secretSize   = 32
	secretDomain = "api-key"
	keyPrefix    = "svc_live."
	idLength     = 36

	// touchEvery is how old the time of a key's last use may be.
	touchEvery = time.Minute
	// touchPatience is how long a request waits to have the use of its key kept.
	touchPatience = 250 * time.Millisecond
	// touchAgain is how long a key is left alone after its use could not be kept.
	touchAgain = 10 * time.Second
)

var secretEncoding = base64.RawURLEncoding.Strict()

// formatAPIKey writes a key as its owner sends it: svc_live.<key-id>.<secret>, 89 characters, the id in lower case,
// the secret's 32 bytes in unpadded base64url (RFC 4648, section 5).
func formatAPIKey(id uuid.UUID, secret []byte) string {
	return keyPrefix + id.String() + "." + secretEncoding.EncodeToString(secret)
}

// parseAPIKey is the inverse of formatAPIKey: it takes exactly what that writes.
func parseAPIKey(s string) (id uuid.UUID, secret []byte, ok bool) {
	rest, found := strings.CutPrefix(s, keyPrefix)
	if !found || len(rest) != idLength+1+secretEncoding.EncodedLen(secretSize) || rest[idLength] != '.' {
		return uuid.Nil, nil, false
	}
	id, err := ParseID(rest[:idLength])
	if err != nil || id.String() != rest[:idLength] {
		return uuid.Nil, nil, false
	}
	// The decoder passes over line breaks, so the length tells whether there was one.
	secret, err = secretEncoding.DecodeString(rest[idLength+1:])
	return id, secret, err == nil && len(secret) == secretSize
}

// Authenticate finds the caller of an API key, the whole of what follows "Bearer " (section 5). An absent,
// malformed, unknown or revoked key and one of a company that is not active are the same AUTHENTICATION_FAILED. What
// it finds is never kept for the next call. Now and then it keeps the time of the key's last use, and a digest made by
// another secret key than the first is made anew; that this failed is only logged.
func (s *Service) Authenticate(ctx context.Context, key string) (Caller, error) {
	if err := s.secrets.check(ctx, s); err != nil {
		return Caller{}, err
	}
	id, secret, ok := parseAPIKey(key)
	if !ok {
		return Caller{}, errAuthenticationFailed
	}
	return s.amongStrangers(ctx, id, func(ctx context.Context) (Caller, error) {
		return s.authenticate(ctx, id, secret)
	})
}

// authenticate finds the caller of a key that is well formed.
func (s *Service) authenticate(ctx context.Context, id uuid.UUID, secret []byte) (Caller, error) {
	asked := &keyLookup{id: id}
	var err error
	if s.lookups == nil {
		err = s.lookUpKeys(ctx, 0, []*keyLookup{asked})
	} else {
		err = inGroup(ctx, s.lookups, id, 1, asked)
	}
	if err != nil {
		return Caller{}, err
	}
	// A digest is compared whatever was found. The time still tells an id that is known from one that is not: the same
	// statements find no rows for the latter, which measured 45 µs less. An id is no secret, and of the secret the time
	// tells nothing.
	found := asked.key
	digest := found.Digest
	if found.ID == uuid.Nil {
		digest = s.keys.Dummy()
	}
	genuine, current := s.keys.Verify(digest, secretDomain, id.String(), secret)
	if !genuine || found.Status != APIKeyActive || asked.company.Status != CompanyActive {
		return Caller{}, errAuthenticationFailed
	}
	if at := s.now(); !s.bound && (!current || at.Sub(found.LastUsedAt) >= touchEvery) {
		s.touch(ctx, APIKeyUse{
			APIKeyRef: found.ref(), UsedAt: at, Digest: s.keys.Sum(secretDomain, id.String(), secret),
		})
	}
	return Caller{companyID: found.CompanyID, keyID: found.ID, grants: found.Grants}, nil
}

// keyLookup asks for an API key and its company.
type keyLookup struct {
	id      uuid.UUID
	key     APIKeyRecord
	company CompanyRecord
}

// lookUpKeys reads the keys of calls that were there before it began: what it finds is no older than their requests.
func (s *Service) lookUpKeys(ctx context.Context, _ time.Duration, asked []*keyLookup) error {
	ids := make([]uuid.UUID, len(asked))
	for i, ask := range asked {
		ids[i] = ask.id
	}
	ids = distinct(ids)
	return s.groups.View(ctx, func(ctx context.Context, tx ReadTx) error {
		keys, err := tx.FindAPIKeys(ctx, ids)
		if err != nil {
			return err
		}
		owners := make([]uuid.UUID, len(keys))
		for i, key := range keys {
			owners[i] = key.CompanyID
		}
		owners = distinct(owners)
		companies, err := tx.Companies(ctx, owners)
		if err != nil {
			return err
		}
		for _, ask := range asked {
			ask.key = keys[slices.Index(ids, ask.id)]
			ask.company = companies[slices.Index(owners, ask.key.CompanyID)]
		}
		return nil
	})
}

// touches are the keys whose use is not to be kept now, and until when: it is being kept, was a moment ago, or that
// failed lately.
type touches struct {
	mu    sync.Mutex
	until map[uuid.UUID]time.Time
	sweep int // the number at which those whose time has come are forgotten
}

// fewTouches is how many keys are remembered without a look at their times.
const fewTouches = 10_000

// begin tells whether the use of a key is to be kept by this caller, who then calls end.
func (t *touches) begin(id uuid.UUID, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until, ok := t.until[id]; ok && at.Before(until) {
		return false
	}
	if t.until == nil {
		t.until, t.sweep = make(map[uuid.UUID]time.Time), fewTouches
	}
	if len(t.until) >= t.sweep {
		maps.DeleteFunc(t.until, func(_ uuid.UUID, until time.Time) bool { return !at.Before(until) })
		t.sweep = max(fewTouches, 2*len(t.until))
	}
	t.until[id] = at.Add(touchEvery)
	return true
}

// end leaves a key whose use was kept alone for as long as its time may be old: calls that looked it up before know no
// better than to keep theirs.
func (t *touches) end(id uuid.UUID, at time.Time, kept bool) {
	if kept {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until[id] = at.Add(touchAgain)
}

// touch keeps the use of a key, unless another call is about it. A reader does not wait long for a busy database.
func (s *Service) touch(ctx context.Context, use APIKeyUse) {
	if !s.touched.begin(use.ID, use.UsedAt) {
		return
	}
	kept := false
	defer func() { s.touched.end(use.ID, use.UsedAt, kept) }()
	ctx, cancel := context.WithTimeout(ctx, touchPatience)
	defer cancel()
	err := s.onSlot(ctx, operationAuthenticate, use.CompanyID, func() error {
		return s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
			if _, err := tx.Enter(ctx, Entrance{Share: []uuid.UUID{use.CompanyID}}); err != nil {
				return err
			}
			return tx.TouchAPIKeys(ctx, []APIKeyUse{use})
		})
	})
	if kept = err == nil; !kept {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the last use of an API key was not kept",
			slog.String("keyId", use.ID.String()), slog.Any("error", err))
	}
}
