package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestRevocationInARush checks that a revocation of the key that all clients of a rush use, and a suspension, succeed
// within a second. Nothing is sold after that: each order was committed before the revocation.
func TestRevocationInARush(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		revoke func(ctx context.Context, shop *ticketingtest.Shop, key ticketing.APIKey) error
		// later counts the orders that were committed after the revocation.
		later string
	}{
		{
			name: "key revoked",
			revoke: func(ctx context.Context, shop *ticketingtest.Shop, key ticketing.APIKey) error {
				_, err := shop.Staff.RevokeAPIKey(ctx, key.ID)
				return err
			},
			later: `SELECT count(*) FROM ticketing_orders o, ticketing_api_keys k
				WHERE k.status = 'REVOKED' AND pg_xact_commit_timestamp(o.xmin) > pg_xact_commit_timestamp(k.xmin)`,
		},
		{
			name: "company suspended",
			revoke: func(ctx context.Context, shop *ticketingtest.Shop, _ ticketing.APIKey) error {
				_, err := shop.Staff.SuspendCompany(ctx, shop.Company.ID)
				return err
			},
			later: `SELECT count(*) FROM ticketing_orders o, ticketing_companies c
				WHERE c.status = 'SUSPENDED' AND pg_xact_commit_timestamp(o.xmin) > pg_xact_commit_timestamp(c.xmin)`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			dsn := pgtest.Start(t, "track_commit_timestamp=on").DSN("postgres")
			shop := newShop(t, postgres(t, dsn, nil))
			// Another service revokes, as in another process.
			fixture := *shop
			fixture.Service = service(t, shop, postgres(t, dsn, nil), ticketing.Grouping{})
			fixture.Staff = fixture.As(ticketing.Staff("office"))
			event := shop.Event(t)
			for range 10 {
				shop.Inventory(t, event.ID, "VIP", 0, 1000)
			}
			key, err := shop.Staff.IssueAPIKey(t.Context(), shop.Company.ID, "rush", ticketing.AllGrants())
			is.NoErr(err)
			known, err := shop.Authenticate(t.Context(), key.Key)
			is.NoErr(err)
			remembered, err := shop.Identify(t.Context(), key.Key)
			is.NoErr(err)
			basket := ticketingtest.Basket(event.ID, "VIP", 0, 1)

			const clients = 64
			var rush sync.WaitGroup
			var sold atomic.Int64
			var revoked atomic.Bool
			ready := make(chan struct{})
			wrong := make(chan error, clients)
			for client := range clients {
				rush.Go(func() {
					for n := 0; ; n++ {
						// The key is remembered, so only the checkout itself finds the revocation.
						after := revoked.Load()
						caller, err := shop.Identify(t.Context(), key.Key)
						if err == nil {
							_, err = shop.Checkout(t.Context(), caller, fmt.Sprintf("order-%d-%d", client, n), basket)
						}
						switch {
						case err == nil && !after:
							if sold.Add(1) == 10*clients {
								close(ready)
							}
							continue
						case errors.Is(err, ticketing.CodePermissionDenied),
							errors.Is(err, ticketing.CodeAuthenticationFailed):
						default:
							wrong <- fmt.Errorf("after the revocation: %t: %w", after, err)
						}
						return
					}
				})
			}
			<-ready
			const soon = time.Second
			begun := time.Now()
			is.NoErr(test.revoke(t.Context(), &fixture, key.APIKey))
			took := time.Since(begun)
			revoked.Store(true)
			_, err = shop.Authenticate(t.Context(), key.Key)
			is.Equal(code(err), ticketing.CodeAuthenticationFailed)
			_, err = shop.Checkout(t.Context(), known, "order-later", basket)
			is.Equal(code(err), ticketing.CodePermissionDenied)
			_, err = shop.Checkout(t.Context(), remembered, "order-later", basket)
			is.Equal(code(err), ticketing.CodeAuthenticationFailed)
			_, err = shop.ListOrders(t.Context(), remembered, ticketing.OrderFilter{})
			is.Equal(code(err), ticketing.CodeAuthenticationFailed)
			rush.Wait()
			select {
			case err := <-wrong:
				t.Fatal(err)
			default:
			}
			is.True(took < soon)

			var later, orders int
			db := beside(t, dsn)
			is.NoErr(db.QueryRowContext(t.Context(), test.later).Scan(&later))
			is.Equal(later, 0)
			is.NoErr(db.QueryRowContext(t.Context(), "SELECT count(*) FROM ticketing_orders").Scan(&orders))
			is.Equal(int64(orders), sold.Load())
			t.Logf("%d orders, revoked in %v", orders, took)
		})
	}
}
