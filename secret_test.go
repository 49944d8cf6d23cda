package ticketing_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

func TestForeignSecretKeysMakeAndOpenNothing(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		is.NoErr(e.Ready(t.Context()))
		key := e.issue(t, company)

		foreign := e.service(t, secretKey('x'))
		staff := foreign.As(ticketing.Staff("test"))
		_, issue := staff.IssueAPIKey(t.Context(), company, "gate", ticketing.AllGrants())
		_, rotate := staff.RotateAPIKey(t.Context(), key.ID)
		_, open := foreign.Authenticate(t.Context(), key.Key)
		for _, err := range []error{foreign.Ready(t.Context()), issue, rotate, open} {
			is.True(err != nil)
			is.True(!errors.As(err, new(*ticketing.Error))) // a fault of the configuration, on which a client cannot act
			is.True(strings.Contains(err.Error(), "the secret keys do not belong to this database"))
		}
		keys, err := e.staff.ListAPIKeys(t.Context(), company)
		is.NoErr(err)
		is.Equal(len(keys), 1)
	})
}

func TestASecretKeyIsReplacedByPuttingTheNewOneFirst(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		key := e.issue(t, e.verified(t))
		unused := e.issue(t, e.verified(t))

		// With both keys, digests of the old key still match. Using an API key makes its digest under the new key,
		// whenever it was last used.
		_, err := e.Authenticate(t.Context(), key.Key)
		is.NoErr(err)
		both := e.service(t, secretKey('b'), secretKey('a'))
		is.NoErr(both.Ready(t.Context()))
		_, err = both.Authenticate(t.Context(), key.Key)
		is.NoErr(err)

		// The new key alone is refused as long as an active API key needs the old one, and so is the old one.
		refused := "ticketing: the secret keys do not belong to this database: " +
			"API keys, bank accounts or webhook secrets in use were made under another one"
		for _, keys := range [][][]byte{{secretKey('b')}, {secretKey('a')}, {secretKey('c'), secretKey('a')}} {
			err := e.service(t, keys...).Ready(t.Context())
			is.True(err != nil)
			is.Equal(err.Error(), refused)
			_, err = e.service(t, keys...).As(ticketing.Staff("test")).IssueAPIKey(t.Context(), e.verified(t), "gate",
				[]ticketing.Grant{ticketing.GrantTicketValidate})
			is.Equal(err.Error(), refused) // No API key is issued that other processes would refuse.
		}
		_, err = both.As(ticketing.Staff("test")).RevokeAPIKey(t.Context(), unused.ID)
		is.NoErr(err)
		alone := e.service(t, secretKey('b'))
		is.NoErr(alone.Ready(t.Context()))
		_, err = alone.Authenticate(t.Context(), key.Key)
		is.NoErr(err)
	})
}

func TestReadingKnowsNoCompany(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		is.NoErr(e.Ready(t.Context())) // an empty database is not a wrong one
		_, err := e.staff.GetCompany(t.Context(), uuid.Nil)
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// askedStore counts the reads of a check of the secret keys. The names wait for release if it is set.
type askedStore struct {
	driver.Store

	names, inUse atomic.Int64
	release      chan struct{}
	// loses is set if the names that were kept before are lost, and kept has those from then on.
	loses bool
	kept  []string
}

func (s *askedStore) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return s.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return fn(ctx, askedTx{tx, s}) })
}

func (s *askedStore) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		return fn(ctx, askedWrites{Tx: tx, asked: askedTx{tx, s}})
	})
}

type askedTx struct {
	driver.ReadTx

	store *askedStore
}

func (t askedTx) SecretNames(ctx context.Context) ([]string, error) {
	t.store.names.Add(1)
	if t.store.release != nil {
		select {
		case <-t.store.release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if t.store.loses {
		return t.store.kept, nil
	}
	return t.ReadTx.SecretNames(ctx)
}

func (t askedTx) SecretsInUse(ctx context.Context) ([]string, error) {
	t.store.inUse.Add(1)
	return t.ReadTx.SecretsInUse(ctx)
}

type askedWrites struct {
	driver.Tx

	asked askedTx
}

func (t askedWrites) SecretNames(ctx context.Context) ([]string, error) {
	return t.asked.SecretNames(ctx)
}

func (t askedWrites) SecretsInUse(ctx context.Context) ([]string, error) {
	return t.asked.SecretsInUse(ctx)
}

func (t askedWrites) AppendSecretName(ctx context.Context, name string, at time.Time) error {
	t.asked.store.kept = append(t.asked.store.kept, name)
	return t.Tx.AppendSecretName(ctx, name, at)
}

// TestCallsShareACheckOfTheSecretKeys checks that calls which come before the secret keys were checked wait for one
// check, and that the first of them may leave without harm to the others.
func TestCallsShareACheckOfTheSecretKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		asked := &askedStore{Store: memory.New(), release: make(chan struct{})}
		svc, err := ticketing.New(asked, &ticketing.Config{SecretKeys: [][]byte{secretKey('k')}, Clock: time.Now})
		is.NoErr(err)
		first, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- svc.Ready(first) }()
		synctest.Wait()
		var ready atomic.Int64
		for range 16 {
			go func() {
				if svc.Ready(t.Context()) == nil {
					ready.Add(1)
				}
			}()
		}
		synctest.Wait()
		is.Equal(asked.names.Load(), int64(1))
		leave()
		is.True(errors.Is(<-left, context.Canceled))
		synctest.Wait() // One of the others checks now.
		is.Equal(asked.names.Load(), int64(2))
		close(asked.release)
		synctest.Wait()
		is.Equal(ready.Load(), int64(16))
		is.NoErr(svc.Ready(t.Context()))
		is.Equal(asked.inUse.Load(), int64(2)) // One check came to its end, for all of them, and kept the name.
	})
}

// TestSecretKeysInUseAreReadWhereOneIsMissing checks that the keys in use, for which every node of a cluster would be
// asked, are read only if the database was used with a key that is not given.
func TestSecretKeysInUseAreReadWhereOneIsMissing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	asked := &askedStore{Store: memory.New()}
	ready := func(keys ...[]byte) {
		svc, err := ticketing.New(asked, &ticketing.Config{SecretKeys: keys})
		is.NoErr(err)
		is.NoErr(svc.Ready(t.Context()))
	}
	ready(secretKey('a')) // A database without names may be one whose names were lost.
	is.Equal(asked.inUse.Swap(0), int64(2))
	ready(secretKey('a'))
	ready(secretKey('b'), secretKey('a'))
	is.Equal(asked.inUse.Load(), int64(0))
	ready(secretKey('b'))
	is.Equal(asked.inUse.Load(), int64(1))
}

// TestLostNamesOfSecretKeysAreKeptAgain checks that a service which finds no names keeps those of all keys in use, so
// that later ones are refused without them.
func TestLostNamesOfSecretKeysAreKeptAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil) // Its API key is in use, under 'k'.
	lost := &askedStore{Store: shop.Store, loses: true}
	ready := func(keys ...[]byte) error {
		svc, err := ticketing.New(lost, &ticketing.Config{SecretKeys: keys, Clock: shop.Clock.Now})
		is.NoErr(err)
		return svc.Ready(t.Context())
	}
	is.True(errors.Is(ready(secretKey('b')), ticketing.ErrSecretKeys))
	is.NoErr(ready(secretKey('b'), secretKey('k')))
	is.Equal(len(lost.kept), 2)
	is.True(errors.Is(ready(secretKey('b')), ticketing.ErrSecretKeys))
}

// TestSecretKeysOfAHostThatTakesThemBack checks that a service within a host's transaction keeps the name of its first
// key again after the host has rolled back to a savepoint.
func TestSecretKeysOfAHostThatTakesThemBack(t *testing.T) {
	t.Parallel()
	for _, kind := range testdb.Hosts()[:2] {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			h := openHost(t, kind, nil)
			with := func(keys ...[]byte) *ticketing.Service {
				svc, err := ticketing.New(h.store, &ticketing.Config{SecretKeys: keys, Clock: h.Clock.Now})
				is.NoErr(err)
				return svc
			}
			is.NoErr(h.db.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
				bound, err := kind.Bind(ctx, h.store, tx)
				is.NoErr(err)
				svc := with(secretKey('b'), secretKey('k')).WithStore(bound)
				issue := func() {
					_, err := svc.As(ticketing.Staff("office")).IssueAPIKey(ctx, h.Company.ID, "gate", ticketing.AllGrants())
					is.NoErr(err)
				}
				_, err = tx.ExecContext(ctx, "SAVEPOINT before")
				is.NoErr(err)
				issue()
				is.NoErr(svc.Ready(ctx))
				_, err = tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT before")
				is.NoErr(err)
				issue()
				return nil
			}))
			is.True(errors.Is(with(secretKey('k')).Ready(t.Context()), ticketing.ErrSecretKeys))
		})
	}
}
