package ticketing

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/floatgate/ticketing/driver"
)

// sold counts an order that a checkout made, after its commit. A replay of it is no sale.
func (t *telemetry) sold(ctx context.Context, order *Order) {
	t.orders.Add(ctx, 1)
	t.admissions.Add(ctx, int64(len(order.Lines)))
	t.gross.Add(ctx, int64(order.Gross))
	t.commission.Add(ctx, int64(order.Commission.Amount))
}

const (
	// maxCounted is the most items of a kind that a metric counts. It bounds what the metric costs.
	maxCounted = 100_000
	// countTimeout is the longest that a metric waits for the store.
	countTimeout = 2 * time.Second
)

// gauge registers the metrics that are read when somebody asks for them: how many calls wait for a group, and what
// waits in the store, with the age of what is due first. They cost nothing while nobody asks.
//
// Every process reports the same of what waits in the store, since it is kept there. Nothing is reported while the
// store cannot be read, or where it cannot count.
func (s *Service) gauge(meters metric.MeterProvider) error {
	if meters == nil {
		return nil
	}
	meter := meters.Meter(scopeName)
	var errs [5]error
	var queued, items metric.Int64ObservableGauge
	var age metric.Float64ObservableGauge
	queued, errs[0] = meter.Int64ObservableGauge("ticketing.group.queue.calls", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that wait for a group, by operation."))
	items, errs[1] = meter.Int64ObservableGauge("ticketing.backlog.items", metric.WithUnit("{item}"),
		metric.WithDescription("Facts, webhook deliveries and ticket mails that wait, due or not; "+
			"100,000 is that many or more."))
	age, errs[2] = meter.Float64ObservableGauge("ticketing.backlog.age", metric.WithUnit("s"),
		metric.WithDescription("For how long the first of them has been due."))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	_, errs[3] = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for operation, waiting := range s.queues() {
			o.ObserveInt64(queued, int64(waiting), metric.WithAttributes(attribute.String("ticketing.operation", operation)))
		}
		return nil
	}, queued)
	_, errs[4] = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		waiting, err := s.waiting(ctx)
		now := s.now()
		for _, w := range waiting {
			queue := metric.WithAttributes(attribute.String("ticketing.queue", queueName(w.Kind)))
			o.ObserveInt64(items, int64(w.Items), queue)
			since := 0.0
			if w.Items > 0 {
				since = max(0, now.Sub(w.Since).Seconds())
			}
			o.ObserveFloat64(age, since, queue)
		}
		return err
	}, items, age)
	return errors.Join(errs[:]...)
}

// queues returns how many calls of each grouped operation wait.
func (s *Service) queues() map[string]int {
	waiting := make(map[string]int)
	if lanes := s.checkouts.lanes; lanes != nil {
		waiting[s.checkouts.name] = lanes.Waiting()
	}
	if lanes := s.scans.lanes; lanes != nil {
		waiting[s.scans.name] = lanes.Waiting()
	}
	if s.lookups != nil {
		waiting[operationAuthenticate] = s.lookups.Waiting()
		// On some stores these share nothing, and so none waits.
		waiting[s.orders.name], waiting[s.quotes.name] = s.orders.waiting(), s.quotes.waiting()
	}
	return waiting
}

// waiting returns what waits in the store, or nothing if the store cannot count.
func (s *Service) waiting(ctx context.Context) (waiting []driver.Waiting, err error) {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	err = s.background.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		reader, ok := tx.(driver.WaitingReader)
		if !ok {
			return nil
		}
		kinds := []driver.WorkKind{driver.WorkDispatch, driver.WorkDeliver, driver.WorkMail}
		waiting, err = reader.Waiting(ctx, kinds, maxCounted)
		return err
	})
	return waiting, err
}

// queueName returns the name of a kind of work in metrics.
func queueName(kind driver.WorkKind) string {
	switch kind {
	case driver.WorkDispatch:
		return "facts"
	case driver.WorkDeliver:
		return "deliveries"
	default:
		return "mails"
	}
}
