package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// preload sells the orders that exist before the measurement. Afterwards it vacuums the tables
// and waits for a checkpoint.
func (b *bench) preload(ctx context.Context) error {
	if err := b.fill(ctx, b.firstOrders()); err != nil {
		return err
	}
	return b.db.settle(ctx)
}

// firstOrders returns how many orders exist before the measurement.
func (b *bench) firstOrders() int {
	if b.Op.reads() {
		return max(b.Preload, leastOrders, b.Companies)
	}
	return b.Preload
}

// fill sells the orders that exist before the measurement.
func (b *bench) fill(ctx context.Context, orders int) error {
	began := time.Now()
	err := b.sell(ctx, orders, 2, "preloading", func(shop int, order ticketing.Order) {
		if b.Op == OpValidate && len(b.supply) < ticketing.MaxTierAdmissions {
			b.addSupply(shop, order)
		}
		if known := &b.shops[shop].Orders; b.Op.reads() && len(*known) < keptOrders {
			*known = append(*known, order.ID)
		}
	})
	b.preloading = time.Since(began)
	return err
}

func (b *bench) addSupply(shop int, order ticketing.Order) {
	for _, line := range order.Lines {
		b.supply = append(b.supply, soldAdmission{Shop: shop, Event: order.EventID, Admission: line.AdmissionID})
	}
}

// sell sells orders of qty admissions, with the shops in turn. It calls sold with each order, one call at a time.
func (b *bench) sell(
	ctx context.Context, orders, qty int, what string, sold func(shop int, order ticketing.Order),
) error {
	var mu sync.Mutex
	for from := 0; from < orders; {
		if err := b.restock(ctx, nil); err != nil {
			return err
		}
		count := min(orders-from, leastLeft/qty*len(b.shops))
		base := from
		err := inParallel(ctx, count, 2*fillingGroup, func(done int) {
			b.Progress(what, "%d of %d orders", base+done, orders)
		}, func(ctx context.Context, i int) error {
			t := task{shop: &b.shops[(base+i)%len(b.shops)], id: uuid.NewString()}
			order, err := b.filler.Checkout(ctx, t.shop.caller(), t.key(), t.checkout(qty))
			if err == nil {
				mu.Lock()
				sold((base+i)%len(b.shops), order)
				mu.Unlock()
			}
			return err
		})
		if err != nil {
			return err
		}
		b.countSold(int64(count), qty)
		b.sold += int64(count)
		b.undispatched += int64(count)
		from += count
	}
	return nil
}

// countSold subtracts from left an upper bound of the admissions sold from each event.
func (b *bench) countSold(checkouts int64, qty int) {
	shops := int64(len(b.shops))
	b.left -= (checkouts + shops - 1) / shops * int64(qty)
}

// restock gives every shop a new event if the current events are half sold.
func (b *bench) restock(ctx context.Context, order *sliceOrder) error {
	if b.left > leastLeft {
		return nil
	}
	err := inParallel(ctx, len(b.shops), settingUp, func(done int) {
		b.Progress("making events", "%d of %d", done, len(b.shops))
	}, func(ctx context.Context, i int) error { return b.shops[i].putOnSale(ctx, b.filler, b.store) })
	if err != nil {
		return err
	}
	b.left = ticketing.MaxTierAdmissions
	if order != nil {
		for _, shop := range b.shops {
			order.Events = append(order.Events, shop.Event)
		}
	}
	return nil
}

// supplyAdmissions ensures that there are admissions to validate for a slice. It shuffles them, as people arrive at a
// gate.
func (b *bench) supplyAdmissions(ctx context.Context, slice time.Duration) error {
	const margin = 2
	want := int(max(firstSupply, margin*b.fastest)*(slice+ramp(slice)).Seconds()) + b.Clients
	if len(b.supply) < want {
		missing := (want-len(b.supply))/b.Qty + 1
		err := b.sell(ctx, missing, b.Qty, "selling admissions to validate", b.addSupply)
		if err != nil {
			return err
		}
		//nolint:gosec // No secret.
		rand.Shuffle(len(b.supply), func(i, j int) { b.supply[i], b.supply[j] = b.supply[j], b.supply[i] })
	}
	return nil
}
