package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// rushBench measures how much the pages of the console slow down companies that sell as fast as they can.
type rushBench struct {
	*pagesBench

	asked int // how many pages were requested in the turns with pages
}

// rushSlice is roughly how long one measurement lasts, with pages or without them.
const rushSlice = 2 * time.Second

// measureRush measures checkouts without pages and beside pages, in alternating slices.
func (b *bench) measureRush(ctx context.Context) (Report, error) {
	m, err := b.newRushBench(ctx)
	if err != nil {
		return nil, err
	}
	report := &rushReport{
		Op: b.Op, Store: b.db.store(), Clients: b.Clients, Companies: len(b.shops), Qty: b.Qty, Connections: b.Connections,
		Seconds: b.Duration.Seconds(), Rate: b.Rate, Background: b.Background, Events: pageEvents,
		Deliveries: b.pageDeliveries(), Preload: preload{Orders: int(b.sold), Seconds: rounded(b.preloading.Seconds())},
	}
	if err := m.warmUp(ctx); err != nil {
		return nil, err
	}
	for i := range b.Runs {
		run, err := m.measureRun(ctx, i)
		if err != nil {
			return nil, err
		}
		report.Runs = append(report.Runs, run)
	}
	if err := m.stop(ctx); err != nil {
		return nil, err
	}
	report.summarise(m.answered)
	if report.Books, err = b.verify(ctx); err != nil {
		return nil, err
	}
	return report, report.failure()
}

// newRushBench makes the records of the pages, serves them, and starts the clients that sell.
func (b *bench) newRushBench(ctx context.Context) (*rushBench, error) {
	m, err := b.newPagesBench(ctx)
	if err != nil {
		return nil, err
	}
	selling := *b.Config
	selling.Op = OpCheckout
	b.Config = &selling
	if b.Background {
		b.ends = append(b.ends, background(ctx, m.svc))
	}
	return &rushBench{pagesBench: m}, b.startWorkers(ctx)
}

// warmUp requests pages and sells for a moment. If a page fails here, the bench fails, too.
func (m *rushBench) warmUp(ctx context.Context) error {
	m.pagesBench.warmUp(ctx)
	return m.runSlice(ctx, newTally(), sliceOrder{For: min(m.Duration, rushSlice)})
}

// measureRun measures each side for the requested duration.
func (m *rushBench) measureRun(ctx context.Context, number int) (rushRun, error) {
	took := new(histogram)
	m.mu.Lock()
	m.run = took
	m.mu.Unlock()
	slice, without, beside := time.Duration(0), newTally(), newTally()
	sides := []func() error{
		func() error { return m.runSlice(ctx, without, sliceOrder{For: slice}) },
		func() error { return m.sellBesidePages(ctx, beside, slice) },
	}
	if number%2 == 1 { // With an odd number of turns in a run, neither side is first more often.
		slices.Reverse(sides)
	}
	for left := m.Duration; left > 0; left -= slice {
		slice = left / max((left+rushSlice/2)/rushSlice, 1)
		m.Progress(fmt.Sprintf("run %d of %d", number+1, m.Runs), "%s of %s",
			(m.Duration - left).Round(time.Millisecond), m.Duration)
		for _, measure := range sides {
			if err := measure(); err != nil {
				return rushRun{}, err
			}
		}
		slices.Reverse(sides) // Neither side always runs after the other.
	}
	return newRushRun(without, beside, took), nil
}

// sellBesidePages measures checkouts for a time while pages are requested. It returns after the last response, so that
// no page takes time of a turn without pages.
func (m *rushBench) sellBesidePages(ctx context.Context, to *tally, length time.Duration) error {
	over := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() { m.ask(ctx, over) })
	err := m.runSlice(ctx, to, sliceOrder{For: length})
	close(over)
	asking.Wait()
	return err
}

// ask requests the pages in turn at the rate, however long one takes, until the turn is over. It begins with the page
// after the last one of the turn before, so that short turns also reach all pages.
func (m *rushBench) ask(ctx context.Context, over <-chan struct{}) {
	ticker := time.NewTicker(time.Second / time.Duration(m.Rate))
	defer ticker.Stop()
	var visits sync.WaitGroup
	defer visits.Wait()
	for routes := pageRoutes(); ; {
		route := routes[m.asked%len(routes)]
		m.asked++
		visits.Go(func() { m.visit(ctx, route) })
		select {
		case <-ctx.Done():
			return
		case <-over:
			return
		case <-ticker.C:
		}
	}
}
