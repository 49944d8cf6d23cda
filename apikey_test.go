package ticketing_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestAnIssuedKeyIsShownOnce checks 5.1: "secret shown once"; "List calls expose status, grants, rotation ancestry and
// usage timestamps (including lastUsedAt), never the secret or digest".
func TestAnIssuedKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		grants := []ticketing.Grant{ticketing.GrantOrderRead, ticketing.GrantEventRead}
		issued, err := e.staff.IssueAPIKey(t.Context(), company, " storefront ", grants)
		is.NoErr(err)
		form := regexp.MustCompile(`^svc_live\.([0-9a-f-]{36})\.([A-Za-z0-9_-]{43})$`)
		parts := form.FindStringSubmatch(issued.Key)
		is.Equal(len(parts), 3)
		is.Equal(parts[1], issued.ID.String())
		secret, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
		is.NoErr(err)
		is.Equal(len(secret), 32)

		keys, err := e.staff.ListAPIKeys(t.Context(), company)
		is.NoErr(err)
		told, err := json.Marshal(keys)
		is.NoErr(err)
		is.Equal(string(told), fmt.Sprintf(`[{"id":"%s","name":"storefront",`+
			`"grants":["COMPANY:order:read","COMPANY:event:read"],"status":"ACTIVE","predecessorId":null,`+
			`"createdAt":"2026-11-21T09:30:00.000Z","lastUsedAt":null,"revokedAt":null}]`, issued.ID))

		told, err = json.Marshal(issued)
		is.NoErr(err)
		is.True(strings.HasSuffix(string(told), `"revokedAt":null,"key":"`+issued.Key+`"}`))
	})
}

// TestAKeyIsNamedAndGranted checks 5.1: "Key name: 2 to 80 characters"; "Grants at issue: non-empty, duplicate-free
// subset of the seven grants".
func TestAKeyIsNamedAndGranted(t *testing.T) {
	t.Parallel()
	some := []ticketing.Grant{ticketing.GrantEventRead}
	tests := []struct {
		name   string
		give   string
		grants []ticketing.Grant
		want   string
	}{
		{name: "two characters", give: "ab", grants: some},
		{name: "80 characters", give: strings.Repeat("é", 80), grants: ticketing.AllGrants()},
		{name: "one character", give: " a ", grants: some, want: "name: must be 2 to 80 characters"},
		{name: "81 characters", give: strings.Repeat("a", 81), grants: some, want: "name: must be at most 80 characters"},
		{name: "no grant", give: "gate", want: "grants: must have at least one grant"},
		{
			name: "repeated grant", give: "gate", grants: append(ticketing.AllGrants(), ticketing.GrantEventRead),
			want: "grants[7]: must not repeat a grant",
		},
		{
			name: "grant of the operator's plane", give: "gate", grants: []ticketing.Grant{"COMPANY:kyb:read"},
			want: "grants[0]: must be one of the seven grants of a public API key",
		},
		{
			name: "grant in another case", give: "gate", grants: []ticketing.Grant{"company:event:read"},
			want: "grants[0]: must be one of the seven grants of a public API key",
		},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				company := e.verified(t)
				issued, err := e.staff.IssueAPIKey(t.Context(), company, test.give, test.grants)
				is.Equal(said(err), test.want)
				if test.want == "" {
					is.Equal(issued.Grants, test.grants)
				}
				keys, err := e.staff.ListAPIKeys(t.Context(), company)
				is.NoErr(err)
				is.Equal(len(keys) == 1, test.want == "")
			})
		}
	})
}

// TestASuccessorHasNameAndGrantsOfItsPredecessor checks 5.1: rotation "creates an active successor with the
// predecessor's name and grants, without revoking the predecessor".
func TestASuccessorHasNameAndGrantsOfItsPredecessor(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		first := e.issue(t, company)
		e.clock.advance(time.Second)
		second, err := e.staff.RotateAPIKey(t.Context(), first.ID)
		is.NoErr(err)
		is.Equal(second.Name, first.Name)
		is.Equal(second.Grants, first.Grants)
		is.Equal(*second.PredecessorID, first.ID)
		is.True(second.Key != first.Key)
		for _, key := range []string{first.Key, second.Key} {
			_, err := e.Authenticate(t.Context(), key)
			is.NoErr(err)
		}
		keys, err := e.staff.ListAPIKeys(t.Context(), company)
		is.NoErr(err)
		is.Equal([]uuid.UUID{keys[0].ID, keys[1].ID}, []uuid.UUID{second.ID, first.ID}) // newest first
	})
}

// TestACompanyHasAtMostTwoActiveKeys checks 5.1: "Active keys per company: at most 2; a third issue or rotation is
// refused".
func TestACompanyHasAtMostTwoActiveKeys(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.verified(t), e.verified(t)
		first, second := e.issue(t, company), e.issue(t, company)
		e.issue(t, other) // another company's keys don't count
		_, err := e.staff.IssueAPIKey(t.Context(), company, "third", ticketing.AllGrants())
		is.Equal(code(err), ticketing.CodeConflict)
		_, err = e.staff.RotateAPIKey(t.Context(), first.ID)
		is.Equal(code(err), ticketing.CodeConflict)
		_, err = e.staff.RevokeAPIKey(t.Context(), first.ID)
		is.NoErr(err)
		_, err = e.staff.RotateAPIKey(t.Context(), first.ID)
		is.Equal(said(err), "A revoked API key cannot be rotated.")
		_, err = e.staff.RotateAPIKey(t.Context(), second.ID)
		is.NoErr(err)
	})
}

// TestOfTwoRotationsAtTheLimitOneWins checks the limit of 5.1 with concurrent rotations.
func TestOfTwoRotationsAtTheLimitOneWins(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		key := e.issue(t, company)
		const callers = 8
		errs := make([]error, callers)
		var done sync.WaitGroup
		for i := range callers {
			done.Go(func() { _, errs[i] = e.staff.RotateAPIKey(t.Context(), key.ID) })
		}
		done.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				is.Equal(code(err), ticketing.CodeConflict)
			}
		}
		is.Equal(won, 1)
		keys, err := e.staff.ListAPIKeys(t.Context(), company)
		is.NoErr(err)
		is.Equal(len(keys), 2)
	})
}

// TestKeysAreMadeForTheVerifiedAndRevokedForEverybody checks 5.1: issue and rotation "need current approval or rollout
// grace; otherwise 409 with message Current company verification is required"; revocation is "idempotent; never
// KYB-gated".
func TestKeysAreMadeForTheVerifiedAndRevokedForEverybody(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		key := e.issue(t, company)
		_, err := e.staff.RevokeVerification(t.Context(), company)
		is.NoErr(err)
		_, err = e.staff.IssueAPIKey(t.Context(), company, "second", ticketing.AllGrants())
		is.Equal(code(err), ticketing.CodeConflict)
		is.Equal(said(err), "Current company verification is required")
		_, err = e.staff.RotateAPIKey(t.Context(), key.ID)
		is.Equal(code(err), ticketing.CodeConflict)
		is.Equal(said(err), "Current company verification is required")

		_, err = e.staff.SuspendCompany(t.Context(), company)
		is.NoErr(err)
		revoked, err := e.staff.RevokeAPIKey(t.Context(), key.ID)
		is.NoErr(err)
		is.Equal(revoked.Status, ticketing.APIKeyRevoked)
		is.Equal(revoked.RevokedAt.Time, opening)

		// A later revocation keeps the time of the first.
		e.clock.advance(time.Hour)
		again, err := e.staff.RevokeAPIKey(t.Context(), key.ID)
		is.NoErr(err)
		is.Equal(again, revoked)
		keys, err := e.staff.ListAPIKeys(t.Context(), company)
		is.NoErr(err)
		is.Equal(keys, []ticketing.APIKey{revoked})
	})
}

func TestAnUnknownKeyIsNotFound(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		_, err := e.staff.RotateAPIKey(t.Context(), uuid.New())
		is.Equal(code(err), ticketing.CodeNotFound)
		_, err = e.staff.RevokeAPIKey(t.Context(), uuid.New())
		is.Equal(code(err), ticketing.CodeNotFound)
		_, err = e.staff.RevokeAPIKey(t.Context(), uuid.Nil)
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// TestRotationWithoutAGap checks the rotation sequence of 5.1: "keep one active key; rotate and store the successor
// secret; deploy it everywhere while the predecessor stays valid; make a real request and confirm the successor's
// lastUsedAt; then revoke the predecessor".
func TestRotationWithoutAGap(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		list := func() map[uuid.UUID]ticketing.APIKey {
			keys, err := shop.Staff.ListAPIKeys(t.Context(), shop.Company.ID)
			is.NoErr(err)
			named := make(map[uuid.UUID]ticketing.APIKey, len(keys))
			for _, key := range keys {
				named[key.ID] = key
			}
			return named
		}
		request := func(key string) error {
			caller, err := shop.Authenticate(t.Context(), key)
			if err == nil {
				_, err = shop.CreateEvent(t.Context(), caller, "the-same-request", ticketingtest.EventParams())
			}
			return err
		}
		first := shop.Caller.KeyID()
		is.Equal(len(list()), 1)
		shop.Clock.Advance(time.Hour)
		second, err := shop.Staff.RotateAPIKey(t.Context(), first)
		is.NoErr(err)
		is.Equal(*list()[second.ID].PredecessorID, first)
		is.Equal(list()[second.ID].LastUsedAt, nil)
		is.NoErr(request(shop.APIKey)) // While the successor is deployed,
		is.NoErr(request(second.Key))  // both keys are valid, and a retry under the other key finds its result.
		is.Equal(list()[second.ID].LastUsedAt.Time, ticketingtest.Opening.Add(time.Hour))

		shop.Clock.Advance(time.Minute)
		is.NoErr(request(second.Key))
		_, err = shop.Staff.RevokeAPIKey(t.Context(), first)
		is.NoErr(err)
		is.Equal(code(request(shop.APIKey)), ticketing.CodeAuthenticationFailed)
		is.NoErr(request(second.Key))
		is.Equal(list()[first].Status, ticketing.APIKeyRevoked)
		is.Equal(list()[first].LastUsedAt.Time, ticketingtest.Opening.Add(time.Hour)) // A revoked key's last use stays.
		_, err = shop.Staff.RotateAPIKey(t.Context(), second.ID)                      // The revocation freed a place.
		is.NoErr(err)
	})
}

// TestAForeignKeyIsAnUnknownKey checks that an administrator of another company cannot learn that a key exists: the
// error is that of an unknown key.
func TestAForeignKeyIsAnUnknownKey(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		key := e.issue(t, e.verified(t))
		stranger := e.As(ticketing.Actor{CompanyID: e.verified(t), Permissions: ticketing.AllPermissions()})
		_, unknown := stranger.RevokeAPIKey(t.Context(), uuid.New())
		_, foreign := stranger.RevokeAPIKey(t.Context(), key.ID)
		is.Equal(code(foreign), ticketing.CodeNotFound)
		is.Equal(foreign, unknown)
		_, foreign = stranger.RotateAPIKey(t.Context(), key.ID)
		is.Equal(foreign, unknown)
	})
}

func TestNoKeyIsMadeWithoutRandomness(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		dry := errors.New("no entropy")
		svc, err := ticketing.New(e.store, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('a')}, Rand: iotest.ErrReader(dry), Clock: e.clock.now,
		})
		is.NoErr(err)
		_, err = svc.As(ticketing.Staff("test")).IssueAPIKey(t.Context(), company, "gate", ticketing.AllGrants())
		is.True(errors.Is(err, dry))
		keys, err := e.staff.ListAPIKeys(t.Context(), company)
		is.NoErr(err)
		is.Equal(len(keys), 0)
	})
}

// TestAPIKeyIsFoundByItsID checks that [ticketing.Operator.GetAPIKey] finds a key by its id alone. It returns the key's
// company and never its secret.
func TestAPIKeyIsFoundByItsID(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.verified(t), e.verified(t)
		issued := e.issue(t, company)
		e.issue(t, other)
		found, err := e.staff.GetAPIKey(t.Context(), issued.ID)
		is.NoErr(err)
		is.Equal(found, ticketing.CompanyAPIKey{APIKey: issued.APIKey, CompanyID: company})
		_, err = e.staff.GetAPIKey(t.Context(), uuid.New())
		is.Equal(said(err), "The API key was not found.")
	})
}
