package ticketing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// two are two services on one PostgreSQL database, each with its own store and pool as in two processes, and a further
// connection.
type two struct {
	shop  *ticketingtest.Shop // the first
	other *ticketing.Service
	db    *sql.DB

	// begins is called when a transaction of the first service has begun and holds its locks and claims.
	begins *atomic.Pointer[func()]
}

// inTwo runs a test twice: with groups of calls, and with a transaction for each call. On a cluster it runs them again
// with the second service on another node, where both take row locks as gates, also while the first one is connected to
// the nodes of its companies.
func inTwo(t *testing.T, test func(t *testing.T, p two)) {
	t.Helper()
	type variant struct {
		grouping ticketing.Grouping
		nodes    bool // the second service is on another node
		direct   bool // the first one is connected to the nodes of its companies
	}
	variants := map[string]variant{"grouped": {}, "alone": {grouping: ticketing.Grouping{Off: true}}}
	if pgtest.OnCluster() {
		variants["grouped on two nodes"] = variant{nodes: true}
		variants["alone on two nodes"] = variant{grouping: ticketing.Grouping{Off: true}, nodes: true}
		variants["grouped on all nodes"] = variant{nodes: true, direct: true}
	}
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			dsn := testdb.DSN(t)
			otherDSN, grouping := dsn, v.grouping
			if v.nodes {
				otherDSN = testdb.WorkerDSN(t, dsn)
			}
			shop := ticketingtest.New(t, &ticketingtest.Config{
				Store: testdb.Open(t, dsn, &store.Config{Connections: 4, RowGates: v.nodes}),
			})
			service := func(db driver.Store) *ticketing.Service {
				svc, err := ticketing.New(db, &ticketing.Config{
					SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, Grouping: grouping,
				})
				is.NoErr(err)
				return svc
			}
			begins := new(atomic.Pointer[func()])
			shop.Service = service(testdb.Open(t, dsn, &store.Config{
				RowGates: v.nodes, DirectNodes: v.direct,
				OnStatement: func(_ context.Context, s store.Statement) {
					if begun := begins.Load(); begun != nil && s.Name == "begin" {
						(*begun)()
					}
				},
			}))
			p := two{
				shop: shop, begins: begins,
				other: service(testdb.Open(t, otherDSN, &store.Config{Connections: 4, RowGates: v.nodes})),
				db:    sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn))),
			}
			t.Cleanup(func() { p.db.Close() })
			test(t, p)
		})
	}
}

// lock holds the locks of a statement about the company until release is called.
func (p two) lock(t testing.TB, statement string) (release func()) {
	t.Helper()
	tx, err := p.db.BeginTx(t.Context(), nil)
	is.New(t).NoErr(err)
	_, err = tx.ExecContext(t.Context(), fmt.Sprintf(statement, p.shop.Company.ID))
	is.New(t).NoErr(err)
	return func() { _ = tx.Rollback() }
}

// stop stops the next transaction of the first service, when it holds its locks and claims, until release is called.
func (p two) stop() (begun <-chan struct{}, release func()) {
	reached, released := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached); <-released })
	p.begins.Store(&reach)
	return reached, sync.OnceFunc(func() { p.begins.Store(nil); close(released) })
}

const (
	lockWallets = "SELECT FROM ticketing_wallets WHERE company_id = '%s' FOR NO KEY UPDATE"
	lockTiers   = "SELECT FROM ticketing_inventory_tiers WHERE company_id = '%s' FOR NO KEY UPDATE"
)

// untilServed repeats a call that is refused because too many wait, as a client does. With row locks as gates the calls
// of a company run one by one.
func untilServed[R any](call func() (R, error)) (R, error) {
	for {
		result, err := call()
		if !errors.Is(err, ticketing.ErrBusy) {
			return result, err
		}
	}
}

// TestProcessesDoNotOversell checks that a rush on two processes sells each admission once, and leaves every ledger
// chain unbroken.
func TestProcessesDoNotOversell(t *testing.T) {
	t.Parallel()
	inTwo(t, func(t *testing.T, p two) {
		is := is.New(t)
		shop := p.shop
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 7)
		shop.Inventory(t, event.ID, "VIP", 100_00, 4, func(p *ticketing.CreateInventoryParams) { p.Title = "Other" })
		var mu sync.Mutex
		sold := map[uuid.UUID]bool{}
		var all sync.WaitGroup
		for i := range 48 {
			svc := []*ticketing.Service{shop.Service, p.other}[i%2]
			key := shop.Key()
			all.Go(func() {
				basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
				order, err := untilServed(func() (ticketing.Order, error) {
					return svc.Checkout(t.Context(), shop.Caller, key, basket)
				})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					sold[order.Lines[0].AdmissionID] = true
				} else if code(err) != ticketing.CodeInventoryUnavailable {
					t.Error(err)
				}
			})
		}
		all.Wait()
		is.Equal(len(sold), 11)
		is.Equal(holdings(t, shop).Float, int64(12)) // These are the credit, and a debit for each order, without a gap.
		report, err := shop.Staff.VerifyLedger(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.True(report.OK)
	})
}

// TestProcessesMakeOneOrderPerKey checks that a key that both processes get concurrently makes one order. The second
// call returns that order, or fails because it is in flight.
func TestProcessesMakeOneOrderPerKey(t *testing.T) {
	t.Parallel()
	inTwo(t, func(t *testing.T, p two) {
		is := is.New(t)
		shop := p.shop
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 100)
		basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
		const keys = 20
		var all sync.WaitGroup
		var mu sync.Mutex
		orders := make([]map[uuid.UUID]bool, keys)
		for i := range keys {
			orders[i] = map[uuid.UUID]bool{}
			for _, svc := range []*ticketing.Service{shop.Service, p.other} {
				all.Go(func() {
					order, err := untilServed(func() (ticketing.Order, error) {
						return svc.Checkout(t.Context(), shop.Caller, fmt.Sprintf("key-%06d", i), basket)
					})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						orders[i][order.ID] = true
					} else if said(err) != "Idempotent request is still processing" {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		for i := range keys {
			is.Equal(len(orders[i]), 1)
			again, err := p.other.Checkout(t.Context(), shop.Caller, fmt.Sprintf("key-%06d", i), basket)
			is.NoErr(err)
			is.True(orders[i][again.ID])
		}
		is.Equal(holdings(t, shop).Orders, keys)
	})
}

// TestProcessesRefuseKeysInFlight checks that a key whose original runs in one process is 409 in the other, at once.
func TestProcessesRefuseKeysInFlight(t *testing.T) {
	t.Parallel()
	inTwo(t, func(t *testing.T, p two) {
		is := is.New(t)
		shop := p.shop
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 100)
		basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
		// The call is stopped within its transaction. A call that waits for a lock would time out and release its
		// claim.
		begun, release := p.stop()
		defer release()
		first := begin(func() (any, error) { return shop.Checkout(t.Context(), shop.Caller, "key-000001", basket) })
		<-begun
		_, err := p.other.Checkout(t.Context(), shop.Caller, "key-000001", basket)
		is.Equal(said(err), "Idempotent request is still processing")
		release()
		made := <-first
		is.NoErr(made.err)
		again, err := p.other.Checkout(t.Context(), shop.Caller, "key-000001", basket)
		is.NoErr(err)
		is.Equal(again.ID, made.result.(ticketing.Order).ID)
	})
}

// begin runs a call concurrently with the test.
func begin(call func() (any, error)) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		result, err := call()
		done <- answer{result, err}
	}()
	return done
}

// TestProcessesRevokeForAll checks that a key that one process revokes is invalid in the other from the next request
// on.
func TestProcessesRevokeForAll(t *testing.T) {
	t.Parallel()
	inTwo(t, func(t *testing.T, p two) {
		is := is.New(t)
		_, err := p.other.Authenticate(t.Context(), p.shop.APIKey)
		is.NoErr(err)
		_, err = p.shop.Staff.RevokeAPIKey(t.Context(), p.shop.Caller.KeyID())
		is.NoErr(err)
		_, err = p.other.Authenticate(t.Context(), p.shop.APIKey)
		is.Equal(code(err), ticketing.CodeAuthenticationFailed)
		_, err = p.other.CreateEvent(t.Context(), p.shop.Caller, "key-000001", ticketingtest.EventParams())
		is.Equal(code(err), ticketing.CodePermissionDenied)
	})
}

// loss takes from a company something that a sale requires. Its code is that of a sale after it.
type loss struct {
	name string
	take func(ctx context.Context, tx driver.Tx, shop *ticketingtest.Shop, event uuid.UUID) error
	code ticketing.Code
}

func losses() []loss {
	company := func(change func(*driver.Company)) func(
		context.Context, driver.Tx, *ticketingtest.Shop, uuid.UUID,
	) error {
		return func(ctx context.Context, tx driver.Tx, shop *ticketingtest.Shop, _ uuid.UUID) error {
			found, err := tx.Companies(ctx, []uuid.UUID{shop.Company.ID})
			if err != nil {
				return err
			}
			change(&found[0])
			return tx.UpdateCompany(ctx, found[0])
		}
	}
	return []loss{
		{
			"key revoked", func(ctx context.Context, tx driver.Tx, shop *ticketingtest.Shop, _ uuid.UUID) error {
				ref := driver.APIKeyRef{CompanyID: shop.Company.ID, ID: shop.Caller.KeyID()}
				keys, err := tx.APIKeys(ctx, []driver.APIKeyRef{ref})
				if err != nil {
					return err
				}
				keys[0].Status, keys[0].RevokedAt = ticketing.APIKeyRevoked, shop.Clock.Now()
				return tx.UpdateAPIKey(ctx, keys[0])
			}, ticketing.CodePermissionDenied,
		},
		{
			"company suspended", company(func(c *driver.Company) { c.Status = ticketing.CompanySuspended }),
			ticketing.CodePermissionDenied,
		},
		{
			"verification revoked",
			company(func(c *driver.Company) { c.Verification.Status = ticketing.VerificationRevoked }),
			ticketing.CodeVerificationRequired,
		},
		{
			"verification lapsed", company(func(c *driver.Company) {
				c.Verification.ApprovalExpiresAt = ticketingtest.Opening.Add(-time.Hour)
			}), ticketing.CodeVerificationRequired,
		},
		{
			"event cancelled", func(ctx context.Context, tx driver.Tx, shop *ticketingtest.Shop, id uuid.UUID) error {
				event, err := tx.LockEvent(ctx, driver.EventRef{CompanyID: shop.Company.ID, ID: id})
				if err != nil {
					return err
				}
				event.Status = ticketing.EventCancelled
				return tx.UpdateEvent(ctx, event)
			}, ticketing.CodeConflict,
		},
	}
}

// change applies a loss as another process does, guarded by the closed gate. It calls before just before the commit.
func (p two) change(
	t testing.TB, store driver.Store, l loss, event uuid.UUID, before func(),
) error {
	t.Helper()
	return store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{p.shop.Company.ID}}); err != nil {
			return err
		}
		if err := l.take(ctx, tx, p.shop, event); err != nil {
			return err
		}
		before()
		return nil
	})
}

// TestSalesThatWaitAtTheGateSeeTheChange checks that a sale that waits at the gate is refused if it loses what it
// requires meanwhile. It reads only after it has passed the gate.
func TestSalesThatWaitAtTheGateSeeTheChange(t *testing.T) {
	t.Parallel()
	for _, l := range losses() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			inTwo(t, func(t *testing.T, p two) {
				is := is.New(t)
				event := p.shop.Event(t)
				p.shop.Inventory(t, event.ID, "VIP", 100_00, 100)
				before := holdings(t, p.shop)
				var sales []<-chan answer
				is.NoErr(p.change(t, p.shop.Store, l, event.ID, func() {
					for range 5 {
						key := p.shop.Key()
						sales = append(sales, begin(func() (any, error) {
							return p.other.Checkout(t.Context(), p.shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
						}))
					}
					waiting(t, p.db)
				}))
				for _, sale := range sales {
					is.Equal(code((<-sale).err), l.code)
				}
				is.Equal(holdings(t, p.shop), before)
			})
		})
	}
}

// TestChangesWaitForSalesUnderWay checks that a change waits for sales that have passed the gate and wait for stock or
// a wallet, or else that they are refused. No sale commits after the change.
func TestChangesWaitForSalesUnderWay(t *testing.T) {
	t.Parallel()
	for _, step := range []struct{ name, lock string }{{"stock", lockTiers}, {"wallets", lockWallets}} {
		for _, l := range losses() {
			t.Run(step.name+"/"+l.name, func(t *testing.T) {
				t.Parallel()
				inTwo(t, func(t *testing.T, p two) {
					is := is.New(t)
					event := p.shop.Event(t)
					p.shop.Inventory(t, event.ID, "VIP", 100_00, 100)
					sell := func() (any, error) {
						return p.other.Checkout(t.Context(), p.shop.Caller, p.shop.Key(),
							ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
					}
					release := p.lock(t, step.lock)
					defer release()
					sale := begin(sell)
					waiting(t, p.db)
					var changed atomic.Bool
					var orders int
					change := begin(func() (any, error) {
						err := p.change(t, p.shop.Store, l, event.ID, func() { orders = ordersOf(t, p) })
						changed.Store(true)
						return nil, err
					})
					for !changed.Load() && sessionsWaiting(t, p.db) < 2 {
						continue // A group may release its locks in between.
					}
					early := changed.Load()
					release()
					made := <-sale
					is.NoErr((<-change).err)
					if made.err != nil {
						is.Equal(code(made.err), l.code)
					} else {
						is.True(!early)
						is.Equal(orders, 1) // The order existed when the change held the closed gate.
					}
					_, err := sell()
					is.Equal(code(err), l.code)
				})
			})
		}
	}
}

func ordersOf(t testing.TB, p two) (orders int) {
	t.Helper()
	is.New(t).NoErr(p.db.QueryRowContext(t.Context(), "SELECT count(*) FROM ticketing_orders").Scan(&orders))
	return orders
}

// TestExclusiveGateIsGrantedDuringARush checks that a call that closes a gate gets it while others keep sharing it.
func TestExclusiveGateIsGrantedDuringARush(t *testing.T) {
	t.Parallel()
	inTwo(t, func(t *testing.T, p two) {
		is := is.New(t)
		event := p.shop.Event(t)
		p.shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
		var over atomic.Bool
		var all sync.WaitGroup
		var sold atomic.Int64
		enough := make(chan struct{})
		for i := range 12 {
			svc := []*ticketing.Service{p.shop.Service, p.other}[i%2]
			all.Go(func() {
				for n := 0; !over.Load(); n++ {
					_, err := svc.Checkout(t.Context(), p.shop.Caller, fmt.Sprintf("rush-%02d-%06d", i, n),
						ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
					switch {
					case err == nil && sold.Add(1) == 24:
						close(enough)
					case err != nil && code(err) != ticketing.CodePermissionDenied && code(err) != ticketing.CodeInventoryUnavailable:
						t.Error(err)
					}
				}
			})
		}
		<-enough
		_, err := p.shop.Staff.RevokeAPIKey(t.Context(), p.shop.Caller.KeyID())
		is.NoErr(err) // There is no ErrBusy: the call got the gate within the time that an Update waits.
		orders := ordersOf(t, p)
		over.Store(true)
		all.Wait()
		is.Equal(ordersOf(t, p), orders) // There are none after the revocation.
	})
}
