package ticketing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ticketingtest"
)

// delivered waits until there are want deliveries and all have succeeded, and then checks what the receiver got: each
// delivery at least once, and each event always under one id, in one delivery, and with one body.
func (w *wired) delivered(t *testing.T, r *ticketingtest.Webhooks, want int, wait func()) {
	t.Helper()
	is := is.New(t)
	eventually(t, func() bool {
		wait()
		all := deliveries(t, w.Shop)
		return len(all) == want && !slices.ContainsFunc(all, func(d driver.Delivery) bool {
			return d.Status != ticketing.DeliverySucceeded
		})
	})
	bodies := make(map[string]string)
	for _, got := range r.All() {
		is.NoErr(got.Err)
		about := got.EventID + " " + got.DeliveryID
		body, seen := bodies[about]
		is.True(!seen || body == string(got.Body))
		bodies[about] = string(got.Body)
	}
	is.Equal(len(bodies), want)
	for _, d := range deliveries(t, w.Shop) {
		_, came := bodies[d.MessageID.String()+" "+d.ID.String()]
		is.True(came)
	}
}

// TestWebhooksOutliveTheDatabase checks that a database that is killed and restarted under a running service loses no
// event. The outcome of a response that came meanwhile is written when the database is back, or the delivery is sent
// once more. A fact that was not dispatched is dispatched then.
func TestWebhooksOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t)
	w := newWired(t, newShop(t, postgres(t, server.DSN("postgres"), nil)))
	r, _ := w.hook(t, ticketing.FactOrderCreated)
	answers := make(chan struct{})
	r.Always(func(rw http.ResponseWriter, req *http.Request) {
		select {
		case <-answers:
			rw.WriteHeader(http.StatusNoContent)
		case <-req.Context().Done():
		}
	})
	end := running(t, w.svc)
	for range 3 { // Two are in flight, and the third waits.
		w.sell(t)
	}
	_, err := r.Wait(t.Context(), 2)
	is.NoErr(err)
	server.Kill()
	answers <- struct{}{} // The receiver accepts it while no outcome can be written.
	answers <- struct{}{}
	server.Restart()
	close(answers)
	sold := 3
	for range 3 {
		w.sell(t)
		sold++
		server.Kill() // The service may be at any point.
		server.Restart()
	}
	w.delivered(t, r, sold, func() { w.Clock.Advance(time.Second) }) // Leases expire.
	end()
}

// TestClockStepsBack checks that a clock that steps back further than all leases loses nothing and sends nothing twice.
// A delivery that is due or leased waits until the clock reaches its time again. A new event is delivered at once.
func TestClockStepsBack(t *testing.T) {
	t.Parallel()
	onHookShops(t, func(t *testing.T, s hookShop) {
		is := is.New(t)
		h := s.register(t)
		s.in.answer(h.ID, func(context.Context, posted) (int, error) {
			s.Clock.Advance(-2 * time.Hour) // This is in the middle of an attempt.
			return 500, nil
		})
		s.Sell(t, s.event.ID, "VIP", 1)
		is.Equal(send(t, s.svc), 1)
		waiting := deliveries(t, s.Shop)[0]
		is.Equal(len(waiting.Attempts), 1)
		is.Equal(waiting.Attempts[0].DurationMS, int64(0))
		s.in.answer(h.ID, nil)
		s.Clock.Advance(2 * time.Hour)
		// Two other deliveries fail. Then a process leases all three and ends.
		s.in.answer(h.ID, answering(500))
		s.Sell(t, s.event.ID, "VIP", 1)
		s.Sell(t, s.event.ID, "VIP", 1)
		send(t, s.svc)
		s.in.answer(h.ID, nil)
		onCompany(t, s.Shop, func(ctx context.Context, tx driver.Tx) error {
			at := s.Clock.Now().Add(time.Minute)
			_, err := tx.ClaimDeliveries(ctx, driver.DeliveryClaim{
				CompanyID: s.Company.ID, Endpoint: 1, At: at, Until: at.Add(30 * time.Second), Limit: 10,
			})
			return err
		})
		before := len(s.in.of(t, h.ID))

		s.Clock.Advance(-24 * time.Hour)
		is.Equal(send(t, s.svc), 0)
		s.Sell(t, s.event.ID, "VIP", 1) // A new event is sent at once, whatever the clock shows.
		is.Equal(send(t, s.svc), 1)
		s.Clock.Advance(23 * time.Hour)
		is.Equal(send(t, s.svc), 0)
		s.Clock.Advance(time.Hour + 10*time.Minute)
		is.True(send(t, s.svc) > 0)
		for _, d := range deliveries(t, s.Shop) {
			is.Equal(d.Status, ticketing.DeliverySucceeded)
			is.True(!d.FinishedAt.Before(d.CreatedAt))
		}
		is.Equal(len(s.in.of(t, h.ID)), before+4) // These are the three that waited, and the one that was sold meanwhile.
	})
}

// companionSender names the environment variable that starts a companion process, which sends until it is killed. Its
// value has the database, the file of certificates to trust, and how far ahead the process's clock is.
const companionSender = "TICKETING_TEST_COMPANION_SENDER"

// TestCompanionSender is the companion process. Without the variable it does nothing.
func TestCompanionSender(t *testing.T) { //nolint:paralleltest // It is alone in its process.
	order := os.Getenv(companionSender)
	if order == "" {
		return
	}
	is := is.New(t)
	var dsn, certificates string
	var ahead time.Duration
	_, err := fmt.Sscan(order, &dsn, &certificates, (*int64)(&ahead))
	is.NoErr(err)
	roots, err := os.ReadFile(certificates)
	is.NoErr(err)
	i := newInternet(t)
	i.roots.AppendCertsFromPEM(roots)
	svc, err := ticketing.New(testdb.Open(t, dsn, nil), &ticketing.Config{
		SecretKeys: [][]byte{secretKey('k')}, AllowPrivateWebhooks: true,
		Clock: func() time.Time { return time.Now().Add(ahead) },
		Sender: i.sender(t, func(c *delivery.Config) {
			c.AllowPrivate, c.Resolver, c.Dial = true, nil, nil
		}),
	})
	is.NoErr(err)
	is.NoErr(svc.Run(t.Context()))
}

// TestSendersShareADatabase checks that senders in different processes share one database, and that the others take
// over the work of one that is killed.
func TestSendersShareADatabase(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	shop := ticketingtest.New(t, &ticketingtest.Config{
		Store: testdb.Open(t, dsn, nil), Clock: ticketingtest.NewClock(time.Now()), NewID: uuid.New,
	})
	r := ticketingtest.NewWebhooks(t)
	made, err := sender(t, shop, nil, func(c *ticketing.Config) { c.AllowPrivateWebhooks = true }).
		As(ticketing.Staff("test")).CreateWebhookEndpoint(t.Context(), shop.Company.ID, ticketing.WebhookEndpointParams{
		URL: r.URL, Events: []ticketing.FactType{ticketing.FactOrderCreated},
	})
	is.NoErr(err)
	r.SetSecrets(string(made.Secret))
	certificates := filepath.Join(t.TempDir(), "roots.pem")
	is.NoErr(os.WriteFile(certificates, r.RootsPEM(), 0o600))
	process := func(ahead time.Duration) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestCompanionSender$")
		cmd.Env = append(os.Environ(), companionSender+"="+fmt.Sprintln(dsn, certificates, int64(ahead)))
		is.NoErr(cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	const sales = 60
	w := &wired{Shop: shop, event: shop.Event(t)}
	shop.Inventory(t, w.event.ID, "VIP", 100_00, sales)
	first := process(0)
	process(0)
	for range sales / 2 {
		w.sell(t)
	}
	_, err = r.Wait(t.Context(), sales/3)
	is.NoErr(err)
	is.NoErr(first.Process.Kill())
	for range sales / 2 {
		w.sell(t)
	}
	process(31 * time.Second) // For this process all current leases have expired.
	w.delivered(t, r, sales, func() {})
}

// TestReceiverIsWellAfterFiveMinutes checks that a receiver that returns 500 for five minutes gets each event after
// that, under the ids of the first attempt.
func TestReceiverIsWellAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	onWires(t, func(t *testing.T, w *wired) {
		is := is.New(t)
		r, _ := w.hook(t)
		begun := w.Clock.Now()
		r.Always(func(rw http.ResponseWriter, _ *http.Request) {
			if w.Clock.Now().Sub(begun) < 5*time.Minute {
				rw.WriteHeader(http.StatusInternalServerError)
			}
		})
		w.sell(t)
		w.delivered(t, r, 2, func() {
			send(t, w.svc)
			w.Clock.Advance(5 * time.Second)
		})
		is.True(w.Clock.Now().Sub(begun) < 7*time.Minute)
		for _, d := range deliveries(t, w.Shop) {
			is.Equal(len(d.Attempts), 7) // The attempts come after 0, 5, 15, 35, 75, 155 and 315 seconds, plus the random part.
		}
	})
}

var bubbled = regexp.MustCompile(`(?m)^goroutine \d+ \[[^\]]*synctest bubble (\d+)[^\]]*\]:`)

// inThisBubble returns the number of goroutines in the bubble of the test.
func inThisBubble(t *testing.T) int {
	t.Helper()
	own := make([]byte, 1<<10)
	bubble := bubbled.FindSubmatch(own[:runtime.Stack(own, false)])
	all := make([]byte, 64<<20)
	found := 0
	for _, other := range bubbled.FindAllSubmatch(all[:runtime.Stack(all, true)], -1) {
		if bytes.Equal(other[1], bubble[1]) {
			found++
		}
	}
	return found
}

// TestRunLeavesNothing checks that no goroutine is left when Run has returned, whatever was in flight, waiting or
// paused.
func TestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves hundreds of failing deliveries out")
	}
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		for _, answer := range []func(context.Context, posted) (int, error){
			nil, hang, answering(500), func(context.Context, posted) (int, error) { time.Sleep(time.Second); return 200, nil },
		} {
			in.answer(in.register(t, shop).ID, answer)
		}
		sellMany(t, shop, 1)
		synctest.Wait()
		before := inThisBubble(t)
		is.True(before > 0)
		end := running(t, sender(t, shop, in, realTime, func(c *ticketing.Config) {
			c.OnFact = func(context.Context, ticketing.Fact) error { return errors.New("later") }
			c.OnExhausted = func(context.Context, ticketing.WebhookDelivery) { time.Sleep(time.Second) }
		}))
		sellMany(t, shop, 300)
		time.Sleep(12 * time.Minute) // The first deliveries are exhausted, and OnExhausted is slow.
		is.True(inThisBubble(t) > before)
		end()
		synctest.Wait()
		is.Equal(inThisBubble(t), before)
	})
}

// meters record the values of instruments until a test reads them.
type meters struct {
	noop.MeterProvider

	mu sync.Mutex
	// by the instrument and its attributes: sums; for histograms, the number of values
	told map[string]float64
}

func (m *meters) Meter(string, ...metric.MeterOption) metric.Meter { return meter{meters: m} }

func (m *meters) add(name string, by float64, attributes []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told[strings.Join(append([]string{name}, attributes...), " ")] += by
}

func (m *meters) read() map[string]float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.told)
}

type meter struct {
	noop.Meter

	meters *meters
}

func (m meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return instrument{name: name, meters: m.meters}, nil
}

func (m meter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return histogram{name: name, meters: m.meters}, nil
}

func (m meter) Int64UpDownCounter(
	name string, _ ...metric.Int64UpDownCounterOption,
) (metric.Int64UpDownCounter, error) {
	return gauge{name: name, meters: m.meters}, nil
}

func (m meter) Float64Gauge(name string, _ ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	return latest{name: name, meters: m.meters}, nil
}

// latest is an instrument that records its latest value.
type latest struct {
	noop.Float64Gauge

	name   string
	meters *meters
}

func (l latest) Record(_ context.Context, value float64, _ ...metric.RecordOption) {
	l.meters.mu.Lock()
	defer l.meters.mu.Unlock()
	l.meters.told[l.name] = value
}

func attributesOf(options []metric.AddOption) (told []string) {
	set := metric.NewAddConfig(options).Attributes()
	for _, a := range set.ToSlice() {
		told = append(told, string(a.Key)+"="+a.Value.AsString())
	}
	return told
}

type instrument struct {
	noop.Int64Counter

	name   string
	meters *meters
}

func (i instrument) Add(_ context.Context, by int64, options ...metric.AddOption) {
	i.meters.add(i.name, float64(by), attributesOf(options))
}

type gauge struct {
	noop.Int64UpDownCounter

	name   string
	meters *meters
}

func (g gauge) Add(_ context.Context, by int64, options ...metric.AddOption) {
	g.meters.add(g.name, float64(by), attributesOf(options))
}

type histogram struct {
	noop.Float64Histogram

	name   string
	meters *meters
}

func (h histogram) Record(_ context.Context, _ float64, options ...metric.RecordOption) {
	var told []string
	set := metric.NewRecordConfig(options).Attributes()
	for _, a := range set.ToSlice() {
		told = append(told, string(a.Key)+"="+a.Value.AsString())
	}
	h.meters.add(h.name, 1, told)
}

// TestMetricsOfWebhooks checks that the metrics count attempts by their outcome, exhausted deliveries and attempts in
// flight, and that they name no company, endpoint or buyer.
func TestMetricsOfWebhooks(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		m := &meters{told: make(map[string]float64)}
		svc := sender(t, shop, in, realTime, func(c *ticketing.Config) { c.MeterProvider = m })
		sellMany(t, shop, 1)
		in.answer(h.ID, func(ctx context.Context, p posted) (int, error) {
			is.Equal(m.read()["ticketing.webhook.in_flight"], 1.0)
			return hang(ctx, p)
		})
		send(t, svc)
		in.answer(h.ID, answering(500))
		for range 7 {
			time.Sleep(10 * time.Minute)
			send(t, svc)
		}
		in.answer(h.ID, nil)
		sellMany(t, shop, 2)
		send(t, svc)
		is.Equal(m.read(), map[string]float64{
			"ticketing.webhook.attempts ticketing.outcome=timeout":           1,
			"ticketing.webhook.attempts ticketing.outcome=failed":            7,
			"ticketing.webhook.attempts ticketing.outcome=succeeded":         2,
			"ticketing.webhook.attempt.duration ticketing.outcome=timeout":   1,
			"ticketing.webhook.attempt.duration ticketing.outcome=failed":    7,
			"ticketing.webhook.attempt.duration ticketing.outcome=succeeded": 2,
			"ticketing.webhook.age": 2,
			"ticketing.webhook.exhausted ticketing.event.type=order.created": 1,
			"ticketing.webhook.in_flight":                                    0,
		})
	})
}

// TestTheAgeOfTheBacklogIsReported checks the metric of the age of the backlog. It covers deliveries for which their
// endpoint has no room, and events whose deliveries were not yet made. It does not cover deliveries that wait for their
// next attempt.
func TestTheAgeOfTheBacklogIsReported(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		m := &meters{told: make(map[string]float64)}
		age := func() float64 { return m.read()["ticketing.webhook.backlog.age"] }
		in.answer(h.ID, answering(500))
		sellMany(t, shop, 1)
		svc := sender(t, shop, in, realTime, func(c *ticketing.Config) { c.MeterProvider = m })
		time.Sleep(40 * time.Second)
		first := make(chan float64, 1)
		in.answer(h.ID, func(context.Context, posted) (int, error) {
			time.Sleep(time.Millisecond) // The pass that found it has ended.
			first <- age()
			return 500, nil
		})
		end := running(t, svc)
		is.Equal(<-first, 40.0) // It waited this long before the service ran.
		time.Sleep(3 * time.Second)
		is.Equal(age(), 0.0) // It waits for its second attempt.
		in.answer(h.ID, hang)
		time.Sleep(10 * time.Second)
		shop.Clock.Set(time.Now())
		sellMany(t, shop, 100)
		time.Sleep(30 * time.Second)
		is.True(age() > 25 && age() <= 30)
		in.answer(h.ID, nil)
		time.Sleep(time.Minute)
		is.Equal(age(), 0.0)
		end()
	})
}

// TestSamplesAreNotPublishedToTheHost checks that sample events go to webhooks but never to OnFact, since the host
// would take them for sales.
func TestSamplesAreNotPublishedToTheHost(t *testing.T) {
	t.Parallel()
	onHookShops(t, func(t *testing.T, s hookShop) {
		is := is.New(t)
		h := s.in.register(t, s.Shop)
		var facts ticketingtest.Facts
		for _, kind := range ticketing.WebhookEventTypes() {
			_, err := s.Staff.TriggerWebhook(t.Context(), s.Company.ID, kind)
			is.NoErr(err)
		}
		order := s.Sell(t, s.event.ID, "VIP", 1)
		end := running(t, sender(t, s.Shop, s.in, func(c *ticketing.Config) { c.OnFact = facts.OnFact }))
		s.in.wait(t, h.ID, 6)
		_, err := facts.Wait(t.Context(), 3)
		is.NoErr(err)
		eventually(t, func() bool { return !due(t, s.Shop, time.Hour) }) // No sample waits to be published to the host.
		end()
		is.Equal(len(facts.All()), 3)
		for _, fact := range facts.All() {
			is.True(strings.Contains(show(t, fact), order.ID.String()))
		}
	})
}

// TestVerifyLedgerNeedsNoFacts checks that the books are in order after all facts were pruned.
func TestVerifyLedgerNeedsNoFacts(t *testing.T) {
	t.Parallel()
	onHookShops(t, func(t *testing.T, s hookShop) {
		is := is.New(t)
		s.register(t)
		for range 3 {
			order := s.Sell(t, s.event.ID, "VIP", 2)
			s.Scan(t, s.event.ID, order.Lines[0].AdmissionID)
		}
		send(t, s.svc)
		before, err := s.Staff.VerifyLedger(t.Context(), s.Company.ID)
		is.NoErr(err)
		is.True(before.OK)
		s.Clock.Advance(2 * time.Hour)
		onCompany(t, s.Shop, func(ctx context.Context, tx driver.Tx) error {
			n, err := tx.PruneFacts(ctx, s.Company.ID, s.Clock.Now().Add(-time.Hour), 1000)
			is.True(n > 0)
			return err
		})
		is.Equal(holdings(t, s.Shop).Facts, 0)
		after, err := s.Staff.VerifyLedger(t.Context(), s.Company.ID)
		is.NoErr(err)
		is.Equal(after, before)
	})
}
