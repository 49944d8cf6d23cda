package ticketing_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
)

func TestAKeyMakesTheCallerOfItsCompany(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		key := e.issue(t, company)
		caller, err := e.Authenticate(t.Context(), key.Key)
		is.NoErr(err)
		is.Equal(caller.CompanyID(), company)
		is.Equal(caller.KeyID(), key.ID)
		is.NoErr(caller.Require(ticketing.GrantTicketValidate))
		is.Equal(code(caller.Require(ticketing.GrantEventRead)), ticketing.CodePermissionDenied)

		// Authentication does not require a verification: reads and validations continue without one.
		_, err = e.staff.RevokeVerification(t.Context(), company)
		is.NoErr(err)
		_, err = e.Authenticate(t.Context(), key.Key)
		is.NoErr(err)
	})
}

// TestWhateverOpensNothingCostsAlike checks that every well-formed but invalid key costs the same reads, whatever is
// wrong with it. So the duration of the response does not reveal the reason either.
func TestWhateverOpensNothingCostsAlike(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var reads []string
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "ticketing.db"), &store.Config{
		OnStatement: func(_ context.Context, statement store.Statement) { reads = append(reads, statement.Name) },
	})
	is.NoErr(err)
	t.Cleanup(func() { is.NoErr(db.Close()) })
	is.NoErr(db.Migrate(t.Context()))
	e := newEnv(t, db)
	company := e.verified(t)
	key, revoked := e.issue(t, company), e.issue(t, company)
	_, err = e.staff.RevokeAPIKey(t.Context(), revoked.ID)
	is.NoErr(err)
	_, err = e.Authenticate(t.Context(), key.Key) // This stores the last use, which is not stored again for a minute.
	is.NoErr(err)
	reads = nil
	_, err = e.Authenticate(t.Context(), key.Key)
	is.NoErr(err)
	want := slices.Clone(reads)
	for _, text := range []string{
		"svc_live." + uuid.NewString() + key.Key[45:], // unknown id
		key.Key[:46] + revoked.Key[46:],               // wrong secret
		revoked.Key,
	} {
		reads = nil
		_, err := e.Authenticate(t.Context(), text)
		is.Equal(code(err), ticketing.CodeAuthenticationFailed)
		is.Equal(reads, want) // The reads do not depend on what is wrong.
	}
}

func TestWhateverOpensNothingAnswersAlike(t *testing.T) {
	t.Parallel()
	const id, secret = "3f0d7b58-7c3e-4d6a-9a55-0c8f1f6a2b11", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	tests := []struct {
		name string
		give func(key string) string
	}{
		{"empty", func(string) string { return "" }},
		{"unknown id", func(string) string { return "svc_live." + id + "." + secret }},
		{"wrong secret", func(key string) string { return key[:46] + secret }},
		{"scheme before it", func(key string) string { return "Bearer " + key }},
		{"space before it", func(key string) string { return " " + key }},
		{"line break behind it", func(key string) string { return key + "\n" }},
		{"line break in the secret", func(key string) string { return key[:50] + "\n" + key[51:] }},
		{"one character less", func(key string) string { return key[:len(key)-1] }},
		{"one character more", func(key string) string { return key + "A" }},
		{"padding", func(key string) string { return key + "=" }},
		{"upper-case prefix", func(key string) string { return "SVC_LIVE." + key[9:] }},
		{"test prefix", func(key string) string { return "svc_test." + key[9:] }},
		{"upper-case id", func(key string) string { return key[:9] + strings.ToUpper(key[9:45]) + key[45:] }},
		{"id without hyphens", func(key string) string { return strings.ReplaceAll(key, "-", "") }},
		{"id of version 1", func(string) string { return "svc_live.3f0d7b58-7c3e-1d6a-9a55-0c8f1f6a2b11." + secret }},
		{"spare bits in the secret", spareBits},
		{"no id", func(key string) string { return "svc_live." + key[46:] }},
		{"a mebibyte", func(key string) string { return key + strings.Repeat("A", 1<<20) }},
		{"NUL", func(key string) string { return key[:60] + "\x00" + key[61:] }},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.verified(t)
		key := e.issue(t, company)
		revoked := e.issue(t, company)
		_, err := e.staff.RevokeAPIKey(t.Context(), revoked.ID)
		is.New(t).NoErr(err)
		suspended := e.verified(t)
		suspendedKey := e.issue(t, suspended)
		_, err = e.staff.SuspendCompany(t.Context(), suspended)
		is.New(t).NoErr(err)

		_, want := e.Authenticate(t.Context(), "")
		is.New(t).Equal(code(want), ticketing.CodeAuthenticationFailed)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				caller, err := e.Authenticate(t.Context(), test.give(key.Key))
				is.Equal(err, want)
				is.Equal(caller.CompanyID(), uuid.Nil)
			})
		}
		t.Run("revoked", func(t *testing.T) {
			_, err := e.Authenticate(t.Context(), revoked.Key)
			is.New(t).Equal(err, want)
		})
		t.Run("suspended company", func(t *testing.T) {
			is := is.New(t)
			_, err := e.Authenticate(t.Context(), suspendedKey.Key)
			is.Equal(err, want)
			_, err = e.staff.ActivateCompany(t.Context(), suspended)
			is.NoErr(err)
			_, err = e.Authenticate(t.Context(), suspendedKey.Key)
			is.NoErr(err)
		})
	})
}

// spareBits changes a key's last character so that a lenient decoder reads the same secret.
func spareBits(key string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, key[len(key)-1])
	return key[:len(key)-1] + string(alphabet[last+1])
}

func FuzzAuthenticate(f *testing.F) {
	svc, err := ticketing.New(memory.New(), nil)
	if err != nil {
		f.Fatal(err)
	}
	staff := svc.As(ticketing.Staff("fuzz"))
	company, err := staff.CreateCompany(f.Context(), "Adire Concerts")
	if err != nil {
		f.Fatal(err)
	}
	if _, err := staff.ApproveVerification(f.Context(), company.ID, ticketing.ApprovalParams{}); err != nil {
		f.Fatal(err)
	}
	key, err := staff.IssueAPIKey(f.Context(), company.ID, "gate", ticketing.AllGrants())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(key.Key)
	f.Add("")
	f.Add("svc_live..")
	f.Add("svc_live.3f0d7b58-7c3e-4d6a-9a55-0c8f1f6a2b11.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := svc.Authenticate(t.Context(), text)
		if want := text == key.Key; (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
		// The true key is remembered by now.
		if _, identified := svc.Identify(t.Context(), text); !errors.Is(identified, err) {
			t.Errorf("%q: %v, and not %v", text, identified, err)
		}
		if err != nil && !errors.Is(err, ticketing.CodeAuthenticationFailed) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func TestTheLastUseOfAKeyIsKeptToTheMinute(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		for _, authenticate := range []func(context.Context, string) (ticketing.Caller, error){e.Authenticate, e.Identify} {
			company := e.verified(t)
			key := e.issue(t, company)
			lastUse := func() time.Time {
				keys, err := e.staff.ListAPIKeys(t.Context(), company)
				is.NoErr(err)
				if keys[0].LastUsedAt == nil {
					return time.Time{}
				}
				return keys[0].LastUsedAt.Time
			}
			_, err := authenticate(t.Context(), key.Key[:46]+"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
			is.Equal(code(err), ticketing.CodeAuthenticationFailed)
			is.Equal(lastUse(), time.Time{}) // a wrong secret is not a use of the key
			first := e.clock.now()
			for _, step := range []struct {
				advance time.Duration
				want    time.Time
			}{
				{0, first},
				{time.Minute - time.Millisecond, first},
				{time.Millisecond, first.Add(time.Minute)},
			} {
				e.clock.advance(step.advance)
				_, err := authenticate(t.Context(), key.Key)
				is.NoErr(err)
				is.Equal(lastUse(), step.want)
			}
		}
	})
}

// busyStore counts its calls of Update.
type busyStore struct {
	driver.Store

	updates atomic.Int64
}

func (s *busyStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	s.updates.Add(1)
	// A busy machine may take longer than the service waits for it: see TestABusyDatabaseDoesNotStopAReader.
	return s.Store.Update(context.WithoutCancel(ctx), fn)
}

// TestABusyKeyCostsOneWriteAMinute checks that the time of the last use is visible as soon as the first request is
// answered (5.1: "usage timestamps, including lastUsedAt"), and that a key in constant use costs one write a minute.
func TestABusyKeyCostsOneWriteAMinute(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		key := e.issue(t, company)
		kept := e.store
		counting := &busyStore{Store: kept}
		e.store = counting
		svc := e.service(t, secretKey('a'))
		e.store = kept
		for minute := range 3 {
			var all sync.WaitGroup
			for range 32 {
				all.Go(func() {
					for range 4 {
						if _, err := svc.Identify(t.Context(), key.Key); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			is.Equal(counting.updates.Load(), int64(minute+1))
			keys, err := e.staff.ListAPIKeys(t.Context(), company)
			is.NoErr(err)
			is.Equal(keys[0].LastUsedAt.Time, opening.Add(time.Duration(minute)*time.Minute))
			e.clock.advance(59_999 * time.Millisecond)
			_, err = svc.Identify(t.Context(), key.Key)
			is.NoErr(err)
			_, err = svc.Authenticate(t.Context(), key.Key)
			is.NoErr(err)
			is.Equal(counting.updates.Load(), int64(minute+1))
			e.clock.advance(time.Millisecond)
		}
	})
}

// stuckStore is a store whose database is locked by another process: an Update waits until its context ends.
type stuckStore struct {
	driver.Store

	updates int
}

func (s *stuckStore) Update(ctx context.Context, _ func(context.Context, driver.Tx) error) error {
	s.updates++
	<-ctx.Done()
	return ctx.Err()
}

func TestABusyDatabaseDoesNotStopAReader(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		key := e.issue(t, e.verified(t))
		free := e.store
		stuck := &stuckStore{Store: free}
		e.store = stuck
		svc := e.service(t, secretKey('a'))
		for range 3 {
			_, err := svc.Authenticate(t.Context(), key.Key)
			is.NoErr(err)
			_, err = svc.Identify(t.Context(), key.Key)
			is.NoErr(err)
		}
		is.Equal(stuck.updates, 1) // after a failure there is no further attempt for a while
		is.True(strings.Contains(e.log.String(), key.ID.String()))
		is.True(!strings.Contains(e.log.String(), key.Key[46:]))
		e.clock.advance(10 * time.Second)
		_, err := svc.Identify(t.Context(), key.Key)
		is.NoErr(err)
		is.Equal(stuck.updates, 2)
		e.store = free
	})
}
