package memory_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
)

func benchID(n int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

func fill(b *testing.B, store driver.Store, fn func(ctx context.Context, tx driver.Tx) error) {
	b.Helper()
	err := store.Update(b.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{}); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	if err != nil {
		b.Fatal(err)
	}
}

func view(b *testing.B, store driver.Store, fn func(ctx context.Context, tx driver.ReadTx) error) {
	b.Helper()
	for b.Loop() {
		if err := store.View(b.Context(), fn); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkListOrders shows that a page costs the same at any depth, and under a filter that nearly no order passes.
func BenchmarkListOrders(b *testing.B) {
	const limit, pages = 25, 1000
	store, company, event := memory.New(), benchID(1), benchID(2)
	fill(b, store, func(ctx context.Context, tx driver.Tx) error {
		for n := 1; n <= limit*pages; n++ {
			status := driver.OrderConfirmed
			if n%500 == 0 {
				status = driver.OrderRefunded
			}
			order := driver.Order{
				CompanyID: company, Number: int64(n), ID: benchID(n), EventID: event, Status: status,
			}
			if err := tx.AppendOrders(ctx, []driver.Order{order}); err != nil {
				return err
			}
		}
		return nil
	})
	refunded := []driver.OrderStatus{driver.OrderRefunded}
	for name, query := range map[string]driver.OrderQuery{
		"page=1":                {},
		"page=1000":             {After: limit + 1},
		"page=1/filtered":       {EventID: event, Statuses: refunded},
		"page=last/filtered":    {EventID: event, Statuses: refunded, After: limit*500 + 1},
		"page=1000/of-an-event": {EventID: event, After: limit + 1},
	} {
		query.CompanyID, query.Limit = company, limit
		b.Run(name, func(b *testing.B) {
			view(b, store, func(ctx context.Context, tx driver.ReadTx) error {
				found, err := tx.ListOrders(ctx, query)
				if err == nil && len(found) != limit && len(query.Statuses) == 0 {
					return fmt.Errorf("a page of %d", len(found))
				}
				return err
			})
		})
	}
}

// BenchmarkCountTiers shows that a tier costs as much as its open batches, however many were sold out before.
func BenchmarkCountTiers(b *testing.B) {
	for _, batches := range []int{10, 1000} {
		const open = 5
		store, event := memory.New(), driver.EventRef{CompanyID: benchID(1), ID: benchID(2)}
		fill(b, store, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.LockTier(ctx, event, "VIP"); err != nil {
				return err
			}
			for position := 1; position <= batches; position++ {
				batch := driver.Batch{
					CompanyID: event.CompanyID, EventID: event.ID, Tier: "VIP", Position: position,
					Status: driver.InventoryAvailable, Quantity: 1000, Sold: 1000, CreatedAt: time.Unix(0, 0),
				}
				if position > batches-open {
					batch.Sold = 0
				}
				if err := tx.CreateBatch(ctx, batch); err != nil {
					return err
				}
			}
			return nil
		})
		b.Run(fmt.Sprintf("batches=%d", batches), func(b *testing.B) {
			view(b, store, func(ctx context.Context, tx driver.ReadTx) error {
				found, err := tx.CountTiers(ctx, event, nil)
				if err == nil && found[0].Available != open*1000 {
					return fmt.Errorf("%d available", found[0].Available)
				}
				return err
			})
		})
	}
}
