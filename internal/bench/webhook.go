package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
)

// webhookBench measures deliveries: one process sells, delivers and receives.
type webhookBench struct {
	*bench

	svc      *ticketing.Service // sells and delivers
	receiver *receiver
	before   int64 // checkouts from before the endpoints existed
}

const (
	// eventsOfSale is how many events each checkout of a bench publishes: order.created and commission.accrued.
	eventsOfSale = 2
	// warmUpSales are sold and delivered before the measurement.
	warmUpSales = 500
	// mostBacklog bounds the deliveries of a run that are made at full speed.
	mostBacklog = 1_000_000
)

// measureWebhooks measures how fast a backlog is delivered, and how long an event takes from its sale to the receiver.
func (b *bench) measureWebhooks(ctx context.Context) (Report, error) {
	w, err := b.newWebhookBench(ctx)
	if err != nil {
		return nil, err
	}
	b.Progress("warming up", "")
	speed, err := w.drain(ctx, warmUpSales)
	if err != nil {
		return nil, err
	}
	report := &webhookReport{
		Op: b.Op, Store: b.db.store(), Companies: len(b.shops), Endpoints: b.Endpoints,
		Connections: b.Connections, Seconds: b.Duration.Seconds(), Rate: b.Rate,
		Preload: preload{Orders: b.Preload, Seconds: rounded(b.preloading.Seconds())},
	}
	for i := range b.Runs {
		b.Progress(fmt.Sprintf("run %d of %d", i+1, b.Runs), "")
		backlog := min(speed*b.Duration.Seconds(), mostBacklog)
		if speed, err = w.drain(ctx, int(backlog)/w.ofSale()+1); err != nil {
			return nil, err
		}
		latencies, err := w.pace(ctx)
		if err != nil {
			return nil, err
		}
		report.Runs = append(report.Runs, newWebhookRun(speed, latencies))
	}
	report.summarise()
	if report.Verified, err = w.verify(ctx); err != nil {
		return nil, err
	}
	if report.Books, err = b.verify(ctx); err != nil {
		return nil, err
	}
	return report, report.failure()
}

// ofSale returns how many deliveries a checkout causes.
func (w *webhookBench) ofSale() int { return eventsOfSale * w.Endpoints }

// expected returns the number of deliveries once everything has arrived.
func (w *webhookBench) expected() int64 { return (w.sold - w.before) * int64(w.ofSale()) }

// newWebhookBench starts the receiver and registers its endpoints.
func (b *bench) newWebhookBench(ctx context.Context) (*webhookBench, error) {
	receiver, err := newReceiver(ctx)
	if err != nil {
		return nil, fmt.Errorf("start a receiver: %w", err)
	}
	b.ends = append(b.ends, func(context.Context) error { return receiver.server.Close() })
	sender, err := delivery.New(&delivery.Config{AllowPrivate: true, RootCAs: receiver.roots})
	if err != nil {
		return nil, err
	}
	b.ends = append(b.ends, func(context.Context) error { return sender.Close() })
	w := &webhookBench{bench: b, receiver: receiver, before: b.sold}
	w.svc, err = ticketing.New(b.store, &ticketing.Config{
		SecretKeys: [][]byte{b.secret}, Grouping: b.Grouping, Sender: sender, AllowPrivateWebhooks: true,
	})
	if err != nil {
		return nil, err
	}
	b.ends = append(b.ends, drained(w.svc))
	op := w.svc.As(ticketing.Staff("bench"))
	for _, shop := range b.shops {
		for range b.Endpoints {
			issued, err := op.CreateWebhookEndpoint(ctx, shop.Company, ticketing.WebhookEndpointParams{
				URL:    receiver.address(),
				Events: []ticketing.FactType{ticketing.FactOrderCreated, ticketing.FactCommissionAccrued},
			})
			if err != nil {
				return nil, err
			}
			receiver.expect(string(issued.Secret))
		}
	}
	return w, nil
}

// drain sells, then delivers all of it. It returns how many deliveries a second were made and recorded.
func (w *webhookBench) drain(ctx context.Context, sales int) (speed float64, err error) {
	if err := w.sell(ctx, sales, 1, "selling what is delivered", func(int, ticketing.Order) {}); err != nil {
		return 0, err
	}
	if err := w.db.settle(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	stop := background(ctx, w.svc)
	err = errors.Join(w.arrive(ctx, "deliveries", w.receiver.arrived, w.expected()), stop(ctx))
	return float64(sales*w.ofSale()) / time.Since(began).Seconds(), err
}

// pace sells at the requested rate while it delivers. It returns how long events took to reach the receiver, from the
// return of the sale, which follows its commit.
func (w *webhookBench) pace(ctx context.Context) (*histogram, error) {
	if err := w.restock(ctx, nil); err != nil {
		return nil, err
	}
	stop := background(ctx, w.svc)
	w.receiver.watch(true)
	committed, err := w.sellEvenly(ctx, w.svc, eventsOfSale*time.Second/time.Duration(w.Rate), 1)
	if err == nil {
		err = w.arrive(ctx, "deliveries", w.receiver.arrived, w.expected())
	}
	w.receiver.watch(false)
	if err := errors.Join(err, stop(ctx)); err != nil {
		return nil, err
	}
	return latenciesOf(committed, w.receiver.watched()), nil
}

// verify verifies that each event of each sale reached each endpoint of its company, and that the database agrees.
func (w *webhookBench) verify(ctx context.Context) (webhookVerified, error) {
	v := webhookVerified{
		Expected: w.expected(), Arrived: w.receiver.arrived(), Requests: w.receiver.requests(),
		Refused: w.receiver.refused(), Problems: []string{},
	}
	op := w.svc.As(ticketing.Staff("bench"))
	for i, shop := range w.shops {
		w.Progress("verifying the deliveries", "%d of %d companies", i, len(w.shops))
		for _, status := range []ticketing.DeliveryStatus{"", ticketing.DeliverySucceeded} {
			number, err := op.CountDeliveries(ctx, shop.Company, ticketing.DeliveryFilter{Status: status})
			if err != nil {
				return v, fmt.Errorf("count the deliveries: %w", err)
			}
			if status == "" {
				v.Deliveries += int64(number)
			} else {
				v.Succeeded += int64(number)
			}
		}
	}
	v.judge()
	return v, nil
}

// webhookVerified is the result of the deliveries.
type webhookVerified struct {
	OK         bool     `json:"ok"`
	Expected   int64    `json:"expected"`   // events, once for each endpoint
	Deliveries int64    `json:"deliveries"` // deliveries in the database
	Succeeded  int64    `json:"succeeded"`  // those of them that succeeded
	Arrived    int64    `json:"arrived"`    // once for each event and endpoint
	Requests   int64    `json:"requests"`   // requests that verified, repeats included
	Refused    int64    `json:"refused"`    // requests that did not verify
	Problems   []string `json:"problems"`
}

func (v *webhookVerified) judge() {
	for _, count := range []struct {
		what string
		is   int64
	}{
		{"deliveries were made", v.Deliveries},
		{"deliveries succeeded", v.Succeeded},
		{"events arrived", v.Arrived},
	} {
		if count.is != v.Expected {
			v.Problems = append(v.Problems, fmt.Sprintf("%d %s, not %d", count.is, count.what, v.Expected))
		}
	}
	if v.Refused > 0 {
		v.Problems = append(v.Problems, fmt.Sprintf("%d requests had no valid signature", v.Refused))
	}
	slices.Sort(v.Problems)
	v.OK = len(v.Problems) == 0
}
