package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// lockRanks returns the locks of an Update in the order of [driver.Store].
func lockRanks() []string {
	return []string{
		"gate", "event", "tiers", "batches", "admissions", "settlements", "deliveries", "notifications", "wallets",
	}
}

// orderedStore records the order in which each Update locks.
type orderedStore struct {
	driver.Store

	mu    sync.Mutex
	seen  map[string]bool // by any Update
	wrong []string
}

func (s *orderedStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		return fn(ctx, &orderedTx{Tx: tx, store: s})
	})
}

type orderedTx struct {
	driver.Tx

	store *orderedStore
	locks []string
}

// lock records a lock. Nothing that comes later in the order may be locked already.
func (tx *orderedTx) lock(what string) {
	tx.store.mu.Lock()
	defer tx.store.mu.Unlock()
	tx.store.seen[what] = true
	tx.locks = append(tx.locks, what)
	rank := func(what string) int { return slices.Index(lockRanks(), what) }
	if !slices.IsSortedFunc(tx.locks, func(a, b string) int { return rank(a) - rank(b) }) || tx.locks[0] != "gate" {
		tx.store.wrong = append(tx.store.wrong, fmt.Sprint(tx.locks))
	}
}

func (tx *orderedTx) Begin(ctx context.Context, in driver.BeginOptions) ([]bool, error) {
	tx.lock("gate")
	return tx.Tx.Begin(ctx, in)
}

func (tx *orderedTx) LockEvent(ctx context.Context, ref driver.EventRef) (driver.Event, error) {
	tx.lock("event")
	return tx.Tx.LockEvent(ctx, ref)
}

func (tx *orderedTx) LockTier(ctx context.Context, event driver.EventRef, tier string) (driver.Tier, error) {
	tx.lock("tiers")
	return tx.Tx.LockTier(ctx, event, tier)
}

func (tx *orderedTx) LockTiers(ctx context.Context, event driver.EventRef, tiers []string) ([]driver.Tier, error) {
	tx.lock("tiers")
	return tx.Tx.LockTiers(ctx, event, tiers)
}

func (tx *orderedTx) LockBatches(ctx context.Context, refs []driver.BatchRef) ([]driver.Batch, error) {
	tx.lock("batches")
	return tx.Tx.LockBatches(ctx, refs)
}

func (tx *orderedTx) LockOpenBatches(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.Batch, error) {
	tx.lock("batches")
	return tx.Tx.LockOpenBatches(ctx, event, tiers)
}

func (tx *orderedTx) LockStock(ctx context.Context, queries []driver.StockQuery) ([]driver.Batch, error) {
	tx.lock("batches")
	return tx.Tx.LockStock(ctx, queries)
}

func (tx *orderedTx) LockAdmissions(ctx context.Context, refs []driver.AdmissionRef) ([]driver.Admission, error) {
	tx.lock("admissions")
	return tx.Tx.LockAdmissions(ctx, refs)
}

func (tx *orderedTx) LockSettlement(ctx context.Context, ref driver.SettlementRef) (driver.Settlement, error) {
	tx.lock("settlements")
	return tx.Tx.LockSettlement(ctx, ref)
}

func (tx *orderedTx) LockDeliveries(ctx context.Context, refs []driver.DeliveryRef) ([]driver.Delivery, error) {
	tx.lock("deliveries")
	return tx.Tx.LockDeliveries(ctx, refs)
}

func (tx *orderedTx) LockPending(
	ctx context.Context, endpoint driver.WebhookEndpointRef, limit int,
) ([]driver.Delivery, error) {
	tx.lock("deliveries")
	return tx.Tx.LockPending(ctx, endpoint, limit)
}

func (tx *orderedTx) LockNotifications(
	ctx context.Context, refs []driver.NotificationRef,
) ([]driver.Notification, error) {
	tx.lock("notifications")
	return tx.Tx.LockNotifications(ctx, refs)
}

// LockWallets also checks that FLOAT comes before EARNINGS in the same call.
func (tx *orderedTx) LockWallets(ctx context.Context, refs []driver.WalletRef) ([]driver.LockedWallet, error) {
	tx.lock("wallets")
	for i, ref := range refs {
		if ref.Wallet == ledger.Earnings &&
			slices.Contains(refs[i:], driver.WalletRef{CompanyID: ref.CompanyID, Wallet: ledger.Float}) {
			tx.store.wrong = append(tx.store.wrong, "EARNINGS before FLOAT")
		}
	}
	return tx.Tx.LockWallets(ctx, refs)
}

// TestLocksAreAskedForInOrder checks that everything that the service does locks in the order of package driver, so
// that no two of its transactions deadlock.
func TestLocksAreAskedForInOrder(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := &orderedStore{Store: memory.New(), seen: map[string]bool{}}
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: s})
	f := openFixture(t, shop) // This revokes the keys of the shop.
	shop.Caller = f.caller
	for n, mutation := range mutations() {
		is.NoErr(mutation.prepare(t.Context(), f, n))
		is.NoErr(mutation.do(t.Context(), f, n))
		is.NoErr(mutation.finish(t.Context(), f, n))
	}
	event, order := ready(t, shop)
	shop.Inventory(t, event.ID, "VIP", 150_00, 5)
	for _, operation := range keyedOperations(shop.Service, event, order) {
		_, err := operation.call(t.Context(), shop.Caller, shop.Key())
		is.NoErr(err)
	}
	_, err := shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: ill, Restock: true})
	is.NoErr(err)
	shop.Clock.Advance(365 * 24 * time.Hour)
	_, err = shop.EndEvents(t.Context())
	is.NoErr(err)
	is.Equal(s.wrong, nil)
	for _, what := range lockRanks() {
		if !s.seen[what] {
			t.Errorf("nothing locked %s", what)
		}
	}
}

// TestLocksAreHadInOrder checks that PostgreSQL takes the locks in that order, too, batches by their tier and wallets
// by their key. While one lock is held elsewhere, the transaction holds those before it and none after it.
func TestLocksAreHadInOrder(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	const tiers, admissions, earnings, float = "ticketing_inventory_tiers", "ticketing_admissions",
		"ticketing_wallets WHERE wallet = 'EARNINGS'", "ticketing_wallets WHERE wallet = 'FLOAT'"
	tests := []struct {
		name  string
		locks []string
		do    func(ctx context.Context, shop *ticketingtest.Shop, event, order uuid.UUID) error
	}{
		{
			name: "checkout", locks: []string{tiers, earnings, float},
			do: func(ctx context.Context, shop *ticketingtest.Shop, event, _ uuid.UUID) error {
				_, err := shop.Checkout(ctx, shop.Caller, shop.Key(), ticketingtest.Basket(event, "VIP", 100_00, 1))
				return err
			},
		},
		{
			name: "refund with restock", locks: []string{tiers, admissions, earnings, float},
			do: func(ctx context.Context, shop *ticketingtest.Shop, _, order uuid.UUID) error {
				_, err := shop.Staff.RefundOrder(ctx, order, ticketing.RefundParams{Reason: ill, Restock: true})
				return err
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			dsn := testdb.DSN(t)
			db := beside(t, dsn)
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: testdb.Open(t, dsn, nil)})
			svc, err := ticketing.New(shop.Store, &ticketing.Config{
				SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, Grouping: ticketing.Grouping{Off: true},
			})
			is.NoErr(err)
			shop.Service, shop.Staff = svc, svc.As(ticketing.Staff("test"))
			event := shop.Event(t).ID
			shop.Inventory(t, event, "VIP", 100_00, 100)
			for i, held := range test.locks {
				order := shop.Sell(t, event, "VIP", 1)
				tx, err := db.BeginTx(t.Context(), nil)
				is.NoErr(err)
				_, err = tx.ExecContext(t.Context(), "SELECT 1 FROM "+held+" FOR UPDATE")
				is.NoErr(err)
				done := make(chan error, 1)
				go func() { done <- test.do(t.Context(), shop, event, order.ID) }()
				waiting(t, db)
				for j, other := range test.locks {
					if i == j {
						continue
					}
					_, err := db.ExecContext(t.Context(), "SELECT 1 FROM "+other+" FOR UPDATE NOWAIT")
					if had := err != nil; had != (j < i) {
						t.Errorf("while %s is waited for, %s is had: %v (%v)", held, other, had, err)
					}
				}
				is.NoErr(tx.Rollback())
				is.NoErr(<-done)
			}
		})
	}
}
