package ticketing_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// two are two services on one database of PostgreSQL, each on a store and pool of its own, as in two processes, and a
// connection of somebody else's.
type two struct {
	shop  *ticketingtest.Shop // the first
	other *ticketing.Service
	db    *sql.DB

	// begins is called whenever a transaction of the first has begun, with its locks and claims.
	begins *atomic.Pointer[func()]
}

// inTwo runs a test with calls in groups, and with a transaction for each.
func inTwo(t *testing.T, test func(t *testing.T, p two)) {
	t.Helper()
	for name, grouping := range map[string]ticketing.Grouping{"grouped": {}, "alone": {Off: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			dsn := testdb.DSN(t)
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: testdb.Open(t, dsn, nil)})
			service := func(db ticketing.Store) *ticketing.Service {
				svc, err := ticketing.New(db, &ticketing.Config{
					SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, Grouping: grouping,
				})
				is.NoErr(err)
				return svc
			}
			begins := new(atomic.Pointer[func()])
			shop.Service = service(testdb.Open(t, dsn, &store.Config{OnStatement: func(_ context.Context, s store.Statement) {
				if begun := begins.Load(); begun != nil && s.Name == "begin" {
					(*begun)()
				}
			}}))
			p := two{
				shop: shop, other: service(testdb.Open(t, dsn, nil)), begins: begins,
				db: sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn))),
			}
			t.Cleanup(func() { p.db.Close() })
			test(t, p)
		})
	}
}

// lock holds what a statement locks until it is released.
func (p two) lock(t testing.TB, statement string) (release func()) {
	t.Helper()
	tx, err := p.db.BeginTx(t.Context(), nil)
	is.New(t).NoErr(err)
	_, err = tx.ExecContext(t.Context(), statement)
	is.New(t).NoErr(err)
	return func() { _ = tx.Rollback() }
}

// stop stops the next transaction of the first process, after it has its locks and claims, until it is released.
func (p two) stop() (begun <-chan struct{}, release func()) {
	reached, released := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached); <-released })
	p.begins.Store(&reach)
	return reached, sync.OnceFunc(func() { p.begins.Store(nil); close(released) })
}

const (
	lockWallets = "SELECT FROM ticketing_wallets FOR NO KEY UPDATE"
	lockTiers   = "SELECT FROM ticketing_inventory_tiers FOR NO KEY UPDATE"
)

// A rush on two processes sells what there is, once, and leaves every chain whole.
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
				order, err := svc.Checkout(t.Context(), shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
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
		is.Equal(holdings(t, shop).Float, int64(12)) // The funding, and a debit for each: no gap.
		report, err := shop.Staff.VerifyLedger(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.True(report.OK)
	})
}

// A key that is sent to both processes at once makes one order: whoever comes second is told that it is in flight, or
// gets the order.
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
					order, err := svc.Checkout(t.Context(), shop.Caller, fmt.Sprintf("key-%06d", i), basket)
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

// While an original is under way in one process, its key is 409 in the other, at once.
func TestProcessesRefuseKeysInFlight(t *testing.T) {
	t.Parallel()
	inTwo(t, func(t *testing.T, p two) {
		is := is.New(t)
		shop := p.shop
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 100)
		basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
		// It is stopped within its transaction. One that waits for a lock gives up after a while, and its claim with it.
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

// begin runs a call beside the test.
func begin(call func() (any, error)) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		result, err := call()
		done <- answer{result, err}
	}()
	return done
}

// A key that one process revokes is nobody's in the other from the next request on.
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

// loss takes from a company what a sale rests on, and is what the sale is told then.
type loss struct {
	name string
	take func(ctx context.Context, tx ticketing.Tx, shop *ticketingtest.Shop, event uuid.UUID) error
	code ticketing.Code
}

func losses() []loss {
	company := func(change func(*ticketing.CompanyRecord)) func(
		context.Context, ticketing.Tx, *ticketingtest.Shop, uuid.UUID,
	) error {
		return func(ctx context.Context, tx ticketing.Tx, shop *ticketingtest.Shop, _ uuid.UUID) error {
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
			"key revoked", func(ctx context.Context, tx ticketing.Tx, shop *ticketingtest.Shop, _ uuid.UUID) error {
				ref := ticketing.APIKeyRef{CompanyID: shop.Company.ID, ID: shop.Caller.KeyID()}
				keys, err := tx.APIKeys(ctx, []ticketing.APIKeyRef{ref})
				if err != nil {
					return err
				}
				keys[0].Status, keys[0].RevokedAt = ticketing.APIKeyRevoked, shop.Clock.Now()
				return tx.UpdateAPIKey(ctx, keys[0])
			}, ticketing.CodePermissionDenied,
		},
		{
			"company suspended", company(func(c *ticketing.CompanyRecord) { c.Status = ticketing.CompanySuspended }),
			ticketing.CodePermissionDenied,
		},
		{
			"verification revoked",
			company(func(c *ticketing.CompanyRecord) { c.Verification.Status = ticketing.VerificationRevoked }),
			ticketing.CodeVerificationRequired,
		},
		{
			"verification lapsed", company(func(c *ticketing.CompanyRecord) {
				c.Verification.ApprovalExpiresAt = ticketingtest.Opening.Add(-time.Hour)
			}), ticketing.CodeVerificationRequired,
		},
		{
			"event cancelled", func(ctx context.Context, tx ticketing.Tx, shop *ticketingtest.Shop, id uuid.UUID) error {
				event, err := tx.LockEvent(ctx, ticketing.EventRef{CompanyID: shop.Company.ID, ID: id})
				if err != nil {
					return err
				}
				event.Status = ticketing.EventCancelled
				return tx.UpdateEvent(ctx, event)
			}, ticketing.CodeConflict,
		},
	}
}

// change applies a loss as another process does, behind the closed gate; before it commits it does something else.
func (p two) change(
	t testing.TB, store ticketing.Store, l loss, event uuid.UUID, before func(),
) error {
	t.Helper()
	return store.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
		if _, err := tx.Enter(ctx, ticketing.Entrance{Close: []uuid.UUID{p.shop.Company.ID}}); err != nil {
			return err
		}
		if err := l.take(ctx, tx, p.shop, event); err != nil {
			return err
		}
		before()
		return nil
	})
}

// A sale that waits at the gate while what it rests on is taken away is refused: it reads after it was let in.
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

// A sale that waits for stock or for the wallet is past the gate: whatever it rests on is taken away after it, or it is
// refused. No sale commits after the change did.
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
						return p.other.Checkout(t.Context(), p.shop.Caller, p.shop.Key(), ticketingtest.Basket(event.ID, "VIP", 100_00, 1))
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
						continue // A group may give its locks up in between.
					}
					early := changed.Load()
					release()
					made := <-sale
					is.NoErr((<-change).err)
					if made.err != nil {
						is.Equal(code(made.err), l.code)
					} else {
						is.True(!early)
						is.Equal(orders, 1) // It was there when the change had the gate to itself.
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

// Whoever closes a gate is let in while others keep coming who share it.
func TestAClosedGateIsHadInTheRush(t *testing.T) {
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
		is.NoErr(err) // No ErrBusy: it had the gate within the time that an Update waits.
		orders := ordersOf(t, p)
		over.Store(true)
		all.Wait()
		is.Equal(ordersOf(t, p), orders) // None after the revocation.
	})
}
