package store_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
)

// TestStatementsOfASale checks that a sale of 50 admissions runs as many statements as a sale of one.
func TestStatementsOfASale(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var statements atomic.Int64
	s := isOpen(t, &store.Config{OnStatement: func(context.Context, store.Statement) { statements.Add(1) }})
	furnish(t, s, newBatch(1, 1000), newBatch(2, 995), newBatch(3, 0))

	count := func(order, quantity int) int64 {
		before := statements.Load()
		is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			return sale(ctx, tx, order, quantity)
		}))
		return statements.Load() - before
	}
	one := count(1, 1)
	is.Equal(count(2, 50), one)
	is.Equal(one, int64(16)) // begin, six that read, eight that write, commit
}

func BenchmarkSale(b *testing.B) {
	s := isOpen(b, nil)
	furnish(b, s)
	written(b, s, func(ctx context.Context, tx driver.Tx) error {
		batch := newBatch(1, 0)
		batch.Quantity = 1 << 40
		return tx.CreateBatch(ctx, batch)
	})
	orders := 0
	for _, quantity := range []struct {
		name string
		n    int
	}{{"one", 1}, {"fifty", 50}} {
		b.Run(quantity.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				orders++
				err := s.Update(b.Context(), func(ctx context.Context, tx driver.Tx) error {
					return sale(ctx, tx, orders, quantity.n)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
