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
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// lockRanks are what an Update locks, in the order of [ticketing.Store].
func lockRanks() []string {
	return []string{"gate", "event", "tiers", "batches", "admissions", "settlements", "deliveries", "wallets"}
}

// orderedStore sees the order in which each Update locks.
type orderedStore struct {
	ticketing.Store

	mu    sync.Mutex
	seen  map[string]bool // of all Updates
	wrong []string
}

func (s *orderedStore) Update(ctx context.Context, fn func(context.Context, ticketing.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		return fn(ctx, &orderedTx{Tx: tx, store: s})
	})
}

type orderedTx struct {
	ticketing.Tx

	store *orderedStore
	locks []string
}

// lock adds what is locked now, which nothing that comes later in the order was locked before.
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

func (tx *orderedTx) Enter(ctx context.Context, in ticketing.Entrance) ([]bool, error) {
	tx.lock("gate")
	return tx.Tx.Enter(ctx, in)
}

func (tx *orderedTx) LockEvent(ctx context.Context, ref ticketing.EventRef) (ticketing.EventRecord, error) {
	tx.lock("event")
	return tx.Tx.LockEvent(ctx, ref)
}

func (tx *orderedTx) LockTier(ctx context.Context, event ticketing.EventRef, tier string) (ticketing.TierRecord, error) {
	tx.lock("tiers")
	return tx.Tx.LockTier(ctx, event, tier)
}

func (tx *orderedTx) LockTiers(ctx context.Context, event ticketing.EventRef, tiers []string) ([]ticketing.TierRecord, error) {
	tx.lock("tiers")
	return tx.Tx.LockTiers(ctx, event, tiers)
}

func (tx *orderedTx) LockBatch(ctx context.Context, ref ticketing.BatchRef) (ticketing.BatchRecord, error) {
	tx.lock("batches")
	return tx.Tx.LockBatch(ctx, ref)
}

func (tx *orderedTx) LockBatches(ctx context.Context, refs []ticketing.BatchRef) ([]ticketing.BatchRecord, error) {
	tx.lock("batches")
	return tx.Tx.LockBatches(ctx, refs)
}

func (tx *orderedTx) LockOpenBatches(ctx context.Context, event ticketing.EventRef, tiers []string) ([]ticketing.BatchRecord, error) {
	tx.lock("batches")
	return tx.Tx.LockOpenBatches(ctx, event, tiers)
}

func (tx *orderedTx) LockStock(ctx context.Context, queries []ticketing.StockQuery) ([]ticketing.BatchRecord, error) {
	tx.lock("batches")
	return tx.Tx.LockStock(ctx, queries)
}

func (tx *orderedTx) LockAdmissions(ctx context.Context, refs []ticketing.AdmissionRef) ([]ticketing.AdmissionRecord, error) {
	tx.lock("admissions")
	return tx.Tx.LockAdmissions(ctx, refs)
}

func (tx *orderedTx) LockSettlement(ctx context.Context, ref ticketing.SettlementRef) (ticketing.SettlementRecord, error) {
	tx.lock("settlements")
	return tx.Tx.LockSettlement(ctx, ref)
}

func (tx *orderedTx) LockDeliveries(ctx context.Context, refs []ticketing.DeliveryRef) ([]ticketing.DeliveryRecord, error) {
	tx.lock("deliveries")
	return tx.Tx.LockDeliveries(ctx, refs)
}

func (tx *orderedTx) LockPending(ctx context.Context, endpoint ticketing.WebhookEndpointRef, limit int) ([]ticketing.DeliveryRecord, error) {
	tx.lock("deliveries")
	return tx.Tx.LockPending(ctx, endpoint, limit)
}

// LockWallets is asked for FLOAT first, everywhere.
func (tx *orderedTx) LockWallets(ctx context.Context, refs []ticketing.WalletRef) ([]ticketing.LockedWallet, error) {
	tx.lock("wallets")
	for i, ref := range refs {
		if ref.Wallet == ledger.Earnings && slices.Contains(refs[i:], ticketing.WalletRef{CompanyID: ref.CompanyID, Wallet: ledger.Float}) {
			tx.store.wrong = append(tx.store.wrong, "EARNINGS before FLOAT")
		}
	}
	return tx.Tx.LockWallets(ctx, refs)
}

// Everything that the service does locks in the order of store.go: so no two of its transactions wait for each other.
func TestLocksAreAskedForInOrder(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := &orderedStore{Store: memory.New(), seen: map[string]bool{}}
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: s})
	o := openOffice(t, shop) // It revokes the keys of the shop.
	shop.Caller = o.caller
	for n, deed := range deeds() {
		is.NoErr(deed.prepare(t.Context(), o, n))
		is.NoErr(deed.do(t.Context(), o, n))
		is.NoErr(deed.finish(t.Context(), o, n))
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

// PostgreSQL locks in that order, too, batches by their tier and wallets by their key: where one lock is held elsewhere,
// those before it are had and those after it are free.
func TestLocksAreHadInOrder(t *testing.T) {
	t.Parallel()
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
