package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/floatgate/ticketing"
)

// What was sold out costs nobody anything: a read of a tier and the lock of its stock take as long over 1,000 batches,
// most of them sold out, as over one.
func BenchmarkTier(b *testing.B) {
	for _, batches := range []int{1, 1000} {
		s := open(b, nil)
		furnish(b, s)
		written(b, s, func(ctx context.Context, tx ticketing.Tx) error {
			for i := range batches {
				sold := int64(1000)
				if i == batches-1 {
					sold = 0
				}
				if err := tx.CreateBatch(ctx, batchRecord(i+1, sold)); err != nil {
					return err
				}
			}
			return nil
		})
		b.Run(fmt.Sprintf("read/%d", batches), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.View(b.Context(), func(ctx context.Context, tx ticketing.ReadTx) error {
					_, err := tx.CountTiers(ctx, event, nil)
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("lock/%d", batches), func(b *testing.B) {
			b.ReportAllocs()
			if err := update(b.Context(), s, func(ctx context.Context, tx ticketing.Tx) error {
				for b.Loop() {
					if _, err := tx.LockStock(ctx, []ticketing.StockQuery{{
						CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 500, Quantity: 50,
					}}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// A page costs the same wherever it is.
func BenchmarkPage(b *testing.B) {
	const orders, page = 100_000, 100
	s := open(b, nil)
	furnish(b, s)
	written(b, s, func(ctx context.Context, tx ticketing.Tx) error {
		records := make([]ticketing.OrderRecord, orders)
		for i := range records {
			records[i] = ticketing.OrderRecord{
				CompanyID: company, Number: int64(i + 1), ID: number(1_000_000 + i), EventID: event.ID,
				Status: ticketing.OrderConfirmed, RateID: number(3), Branding: 1, BuyerEmail: "ada@example.com",
				ConfirmedAt: minute(1), CreatedAt: minute(1),
			}
			if i%1000 == 0 {
				records[i].Status = ticketing.OrderRefunded
			}
		}
		return tx.AppendOrders(ctx, records)
	})
	for _, filter := range []struct {
		name     string
		statuses []ticketing.OrderStatus
	}{
		{"any", nil},
		{"refunded", []ticketing.OrderStatus{ticketing.OrderRefunded}},
	} {
		for _, before := range []int64{0, orders / 2} {
			b.Run(fmt.Sprintf("%s/before-%d", filter.name, before), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := s.View(b.Context(), func(ctx context.Context, tx ticketing.ReadTx) error {
						_, err := tx.ListOrders(ctx, ticketing.OrderQuery{
							CompanyID: company, EventID: event.ID, Statuses: filter.statuses, Before: before, Limit: page,
						})
						return err
					}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
