package ticketing_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/digest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// viewsOf counts the transactions of a store that read.
type viewsOf struct {
	driver.Store

	views atomic.Int64
}

func (s *viewsOf) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	s.views.Add(1)
	return s.Store.View(ctx, fn)
}

// by returns how many transactions a call reads in.
func (s *viewsOf) by(call func()) int64 {
	before := s.views.Load()
	call()
	return s.views.Load() - before
}

// counted returns a service of an env whose reading transactions are counted.
func counted(t *testing.T, e *env) (*ticketing.Service, *viewsOf) {
	t.Helper()
	kept := e.store
	store := &viewsOf{Store: kept}
	e.store = store
	svc := e.service(t, secretKey('a'))
	e.store = kept
	is.New(t).NoErr(svc.Ready(t.Context()))
	return svc, store
}

// TestAKnownKeyIsIdentifiedWithoutARead checks that a key that authenticated within the last minute is identified
// without a read. Any other key is read each time, and a wrong secret does not make a key unknown.
func TestAKnownKeyIsIdentifiedWithoutARead(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		key := e.issue(t, company)
		svc, store := counted(t, e)
		wrong := key.Key[:46] + strings.Repeat("A", 43)
		for _, step := range []struct {
			name    string
			advance time.Duration
			key     string
			code    ticketing.Code
			reads   int64
		}{
			{name: "first", key: key.Key, reads: 1},
			{name: "known", key: key.Key},
			{name: "wrong secret", key: wrong, code: ticketing.CodeAuthenticationFailed, reads: 1},
			{name: "wrong secret again", key: wrong, code: ticketing.CodeAuthenticationFailed, reads: 1},
			{name: "still known", key: key.Key, advance: 59_999 * time.Millisecond},
			{name: "after a minute", key: key.Key, advance: time.Millisecond, reads: 1},
			{name: "known again", key: key.Key},
			{name: "clock set back", key: key.Key, advance: -time.Hour, reads: 1},
			{name: "malformed", key: key.Key[1:], code: ticketing.CodeAuthenticationFailed},
		} {
			e.clock.advance(step.advance)
			var caller ticketing.Caller
			var err error
			reads := store.by(func() { caller, err = svc.Identify(t.Context(), step.key) })
			if reads != step.reads || code(err) != step.code {
				t.Errorf("%s: %d reads, want %d; %v", step.name, reads, step.reads, err)
			}
			if err == nil {
				is.Equal(caller.KeyID(), key.ID)
				is.Equal(caller.CompanyID(), company)
				is.NoErr(caller.Require(ticketing.GrantTicketValidate))
				is.Equal(code(caller.Require(ticketing.GrantEventRead)), ticketing.CodePermissionDenied)
			}
		}
	})
}

// TestMadeUpKeysAreNotRemembered checks that keys that authenticate nobody neither become known nor drive out one that
// is, and that no more than 20,000 keys are known.
func TestMadeUpKeysAreNotRemembered(t *testing.T) {
	t.Parallel()
	race.Leave(t, "its calls are made one after another")
	is := is.New(t)
	e := newEnv(t, memory.New())
	company := e.verified(t)
	svc, store := counted(t, e)
	ring, err := digest.New([][]byte{secretKey('a')})
	is.NoErr(err)
	const most = 20_000
	keys := make([]string, most+1)
	is.NoErr(e.store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}}); err != nil {
			return err
		}
		for i := range keys {
			id := uuid.New()
			keys[i] = "svc_live." + id.String() + "." + strings.Repeat("A", 43)
			err := tx.CreateAPIKey(ctx, driver.APIKey{
				CompanyID: company, ID: id, Name: "gate", Status: driver.APIKeyActive, CreatedAt: opening, LastUsedAt: opening,
				Digest: ring.Sum("api-key", id.String(), make([]byte, 32)),
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	reads := func(key string) int64 {
		return store.by(func() {
			_, err := svc.Identify(t.Context(), key)
			is.NoErr(err)
		})
	}
	is.Equal(reads(keys[0]), int64(1))
	// Other secrets of real keys.
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			for i := worker; i < 200; i += 16 {
				_, err := svc.Identify(t.Context(), keys[i][:46]+strings.Repeat("A", 42)+"E")
				if !errors.Is(err, ticketing.CodeAuthenticationFailed) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	is.Equal(reads(keys[0]), int64(0))
	is.Equal(reads(keys[1]), int64(1)) // Only its own secret makes it known.
	for _, key := range keys[2:] {
		_, err := svc.Identify(t.Context(), key)
		is.NoErr(err)
	}
	is.Equal(reads(keys[most]), int64(0))
	is.Equal(reads(keys[0]), int64(1)) // 20,000 others came after it.
}

// TestAChangedKeyStopsEachOperation checks that no operation succeeds for a caller that was identified without a read
// if its key or its company was changed by another process since. The error is that of authentication, for a write that
// came before the change the missing permission, and nothing is written. A key whose digest alone has changed goes on.
func TestAChangedKeyStopsEachOperation(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := ready(t, shop)
		calls := operations(shop, event, order)
		staff := service(t, shop, shop.Store, ticketing.Grouping{}).As(ticketing.Staff("office"))
		key, err := staff.IssueAPIKey(t.Context(), shop.Company.ID, "gate", ticketing.AllGrants())
		is.NoErr(err)
		_, err = shop.Authenticate(t.Context(), key.Key)
		is.NoErr(err)
		// identified returns a caller for each operation.
		identified := func() []ticketing.Caller {
			callers := make([]ticketing.Caller, len(calls))
			for i := range callers {
				var err error
				callers[i], err = shop.Identify(t.Context(), key.Key)
				is.NoErr(err)
			}
			return callers
		}
		stopped := func(what string, callers []ticketing.Caller, meanwhile bool) {
			t.Helper()
			before := holdings(t, shop)
			for i, operation := range calls {
				want, confirmed := ticketing.CodeAuthenticationFailed, ticketing.CodeAuthenticationFailed
				if meanwhile && operation.write {
					want, confirmed = ticketing.CodePermissionDenied, ""
				}
				if err := operation.call(t.Context(), callers[i]); code(err) != want {
					t.Errorf("%s: %s: %v", operation.name, what, err)
				}
				_, err := shop.Confirm(t.Context(), callers[i])
				is.Equal(code(err), confirmed)
			}
			is.Equal(holdings(t, shop), before)
		}
		// A write that was identified before the change has waited for it.
		waiting := identified()
		shop.Clock.Advance(time.Millisecond)
		suspended := identified()
		_, err = staff.SuspendCompany(t.Context(), shop.Company.ID)
		is.NoErr(err)
		stopped("company suspended", suspended, false)
		stopped("company suspended meanwhile", waiting, true)
		_, err = staff.ActivateCompany(t.Context(), shop.Company.ID)
		is.NoErr(err)
		_, err = shop.Authenticate(t.Context(), key.Key)
		is.NoErr(err)

		current := identified()
		waiting = identified()
		shop.Clock.Advance(time.Millisecond)
		revoked := identified()
		for i, operation := range calls {
			if err := operation.call(t.Context(), current[i]); err != nil {
				t.Errorf("%s: %v", operation.name, err)
			}
		}
		_, err = staff.RevokeAPIKey(t.Context(), key.ID)
		is.NoErr(err)
		stopped("key revoked", revoked, false)
		stopped("key revoked meanwhile", waiting, true)
	})
}

// TestConfirmLooksUpOnce checks that Confirm reads the key of a caller that no operation has checked, once, and of no
// other caller.
func TestConfirmLooksUpOnce(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		key, err := e.staff.IssueAPIKey(t.Context(), company, "gate", ticketing.AllGrants())
		is.NoErr(err)
		svc, store := counted(t, e)
		looked, err := svc.Authenticate(t.Context(), key.Key)
		is.NoErr(err)
		confirm := func(caller ticketing.Caller) (reads int64) {
			return store.by(func() {
				confirmed, err := svc.Confirm(t.Context(), caller)
				is.NoErr(err)
				is.Equal(confirmed.KeyID(), caller.KeyID())
				is.Equal(confirmed.CompanyID(), caller.CompanyID())
				is.NoErr(confirmed.Require(ticketing.GrantEventRead))
			})
		}
		is.Equal(confirm(looked), int64(0))
		is.Equal(confirm(ticketing.TrustedCaller(company, ticketing.AllGrants()...)), int64(0))
		remembered, err := svc.Identify(t.Context(), key.Key)
		is.NoErr(err)
		is.Equal(confirm(remembered), int64(1))
		is.Equal(confirm(remembered), int64(0))
		remembered, err = svc.Identify(t.Context(), key.Key)
		is.NoErr(err)
		_, err = svc.GetEvent(t.Context(), remembered, uuid.New())
		is.Equal(code(err), ticketing.CodeNotFound)
		is.Equal(confirm(remembered), int64(0)) // The operation has read the key before it refused.
	})
}

// TestACallerShowsNoSecret checks that neither the secret of a key nor its digest is in what is printed or logged of a
// caller.
func TestACallerShowsNoSecret(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	e := newEnv(t, memory.New())
	key := e.issue(t, e.verified(t))
	_, err := e.Authenticate(t.Context(), key.Key)
	is.NoErr(err)
	caller, err := e.Identify(t.Context(), key.Key)
	is.NoErr(err)
	var texts bytes.Buffer
	held := struct{ Caller *ticketing.Caller }{&caller}
	for _, value := range []any{caller, &caller, held, []ticketing.Caller{caller}, map[string]any{"caller": caller}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&texts, verb+"\n", value)
		}
		text, err := json.Marshal(value)
		is.NoErr(err)
		texts.Write(text)
		slog.New(slog.NewTextHandler(&texts, nil)).Info("caller", "value", value)
		slog.New(slog.NewJSONHandler(&texts, nil)).Info("caller", "value", value)
	}
	secret := key.Key[46:]
	raw, err := base64.RawURLEncoding.DecodeString(secret)
	is.NoErr(err)
	for _, shown := range []string{
		secret, string(raw), fmt.Sprintf("%x", raw), strings.Trim(fmt.Sprintf("%d", raw), "[]"),
		fmt.Sprintf("%x", secret), "v1:",
	} {
		if at := strings.Index(texts.String(), shown); at >= 0 {
			t.Errorf("%q is shown: %s", shown, texts.String()[max(0, at-200):at+200])
		}
	}
}

// TestAKeyInUseIsRevokedAndIssuedAgain checks that no operation that begins after the revocation of a key succeeds with
// it, however many callers use it and its successors at the time, in two processes.
func TestAKeyInUseIsRevokedAndIssuedAgain(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 0, 1000)
		services := []*ticketing.Service{shop.Service, service(t, shop, shop.Store, ticketing.Grouping{})}
		basket := ticketingtest.Basket(event.ID, "VIP", 0, 1)
		type issued struct {
			key     string
			revoked atomic.Bool
			used    atomic.Int64
			enough  chan struct{} // is closed after a few uses
		}
		use := func(key *issued) {
			if key.used.Add(1) == 20 {
				close(key.enough)
			}
		}
		var now atomic.Pointer[issued]
		var over atomic.Bool
		issue := func() uuid.UUID {
			key, err := shop.Staff.IssueAPIKey(t.Context(), shop.Company.ID, "next", ticketing.AllGrants())
			is.NoErr(err)
			now.Store(&issued{key: key.Key, enough: make(chan struct{})})
			return key.ID
		}
		id := issue()
		var all sync.WaitGroup
		for client := range 8 {
			all.Go(func() {
				svc := services[client%2]
				for n := 0; !over.Load(); n++ {
					key := now.Load()
					after := key.revoked.Load()
					caller, err := svc.Identify(t.Context(), key.key)
					if err == nil && client%4 < 2 {
						_, err = svc.Checkout(t.Context(), caller, fmt.Sprintf("order-%d-%d", client, n), basket)
					} else if err == nil {
						_, err = svc.GetEvent(t.Context(), caller, event.ID)
					}
					switch {
					case err == nil && !after:
						use(key)
					// A key that authenticated by a look-up may lose its authority before its transaction.
					case errors.Is(err, ticketing.CodeAuthenticationFailed), !after && errors.Is(err, ticketing.CodePermissionDenied):
					case errors.Is(err, ticketing.CodeInventoryUnavailable) && !after:
						use(key)
					default:
						t.Errorf("after the revocation: %t: %v", after, err)
						return
					}
				}
			})
		}
		gone := make(chan struct{})
		go func() { all.Wait(); close(gone) }()
		for range 10 {
			key := now.Load()
			select {
			case <-key.enough:
			case <-gone: // Each client has reported what is wrong.
				return
			}
			_, err := shop.Staff.RevokeAPIKey(t.Context(), id)
			is.NoErr(err)
			key.revoked.Store(true)
			id = issue()
		}
		over.Store(true)
		<-gone
	})
}
