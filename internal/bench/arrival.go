package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const (
	// arrivalPause is the interval at which the bench counts arrivals. stall is how long it waits without an arrival
	// before it fails. It is longer than the wait before a second attempt.
	arrivalPause = 2 * time.Millisecond
	stall        = 60 * time.Second
)

// arrive waits until an expected number of deliveries or mails has arrived.
func (b *bench) arrive(ctx context.Context, what string, count func() int64, expected int64) error {
	ticker := time.NewTicker(arrivalPause)
	defer ticker.Stop()
	last, grew := int64(-1), time.Now()
	for {
		arrived := count()
		if arrived >= expected {
			return nil
		}
		b.Progress("delivering", "%d of %d", arrived, expected)
		if arrived > last {
			last, grew = arrived, time.Now()
		}
		if time.Since(grew) > stall {
			return &Error{Code: codeBenchFailed, Text: fmt.Sprintf("%d of %d %s did not arrive",
				expected-arrived, expected, what)}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// sellEvenly sells an order of qty admissions in each interval for the requested duration, however long a sale takes.
// It returns the time at which the sale of each order returned.
func (b *bench) sellEvenly(
	ctx context.Context, svc *ticketing.Service, interval time.Duration, qty int,
) (map[uuid.UUID]time.Time, error) {
	var (
		mu        sync.Mutex
		committed = map[uuid.UUID]time.Time{}
		failed    error
		all       sync.WaitGroup
	)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	sales := max(int(b.Duration/interval), 1)
	for i := range sales {
		b.Progress("selling at the rate", "%d of %d orders", i, sales)
		all.Go(func() {
			t := task{shop: &b.shops[i%len(b.shops)], id: uuid.NewString()}
			order, err := svc.Checkout(ctx, t.shop.caller(), t.key(), t.checkout(qty))
			mu.Lock()
			defer mu.Unlock()
			committed[order.ID] = time.Now()
			failed = errors.Join(failed, err)
		})
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	all.Wait()
	b.countSold(int64(sales), qty)
	b.sold += int64(len(committed))
	return committed, errors.Join(failed, ctx.Err())
}

// latenciesOf returns how long arrivals took from the return of the sale, which follows its commit.
func latenciesOf(committed map[uuid.UUID]time.Time, arrivals []arrivedAt) *histogram {
	var latencies histogram
	for _, a := range arrivals {
		if at, known := committed[a.order]; known {
			latencies.record(max(a.at.Sub(at), time.Microsecond))
		}
	}
	return &latencies
}
