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
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ticketingtest"
)

// delivered waits until every delivery has succeeded, so many of them, and looks at what came to a receiver: each at least
// once, and an event always under one id, in one delivery, and with one body.
func (w *wired) delivered(t *testing.T, r *ticketingtest.Webhooks, want int, wait func()) {
	t.Helper()
	is := is.New(t)
	eventually(t, func() bool {
		wait()
		all := deliveries(t, w.Shop)
		return len(all) == want && !slices.ContainsFunc(all, func(d ticketing.DeliveryRecord) bool {
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

// A database that is killed and started again under what runs loses no event: what was answered meanwhile is written when
// it is back, or sent once more, and what was never dispatched is found.
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
	for range 3 { // Two are in flight, the others wait.
		w.sell(t)
	}
	_, err := r.Wait(t.Context(), 2)
	is.NoErr(err)
	server.Kill()
	answers <- struct{}{} // It is taken while nobody can write that down.
	answers <- struct{}{}
	server.Restart()
	close(answers)
	sold := 3
	for range 3 {
		w.sell(t)
		sold++
		server.Kill() // Wherever it is then.
		server.Restart()
	}
	w.delivered(t, r, sold, func() { w.Clock.Advance(time.Second) }) // Until leases run out.
	end()
}

// A clock that steps back beyond all leases loses nothing and sends nothing twice: what is due or leased waits until the
// clock is there again, and what happens meanwhile is delivered at once.
func TestClockStepsBack(t *testing.T) {
	t.Parallel()
	onHookShops(t, func(t *testing.T, s hookShop) {
		is := is.New(t)
		h := s.register(t)
		s.in.answer(h.ID, func(context.Context, posted) (int, error) {
			s.Clock.Advance(-2 * time.Hour) // In the middle of an attempt.
			return 500, nil
		})
		s.Sell(t, s.event.ID, "VIP", 1)
		is.Equal(send(t, s.svc), 1)
		waiting := deliveries(t, s.Shop)[0]
		is.Equal(len(waiting.Attempts), 1)
		is.Equal(waiting.Attempts[0].DurationMS, int64(0))
		s.in.answer(h.ID, nil)
		s.Clock.Advance(2 * time.Hour)
		// Two others fail, and a process that ends then leases all three.
		s.in.answer(h.ID, answering(500))
		s.Sell(t, s.event.ID, "VIP", 1)
		s.Sell(t, s.event.ID, "VIP", 1)
		send(t, s.svc)
		s.in.answer(h.ID, nil)
		onCompany(t, s.Shop, func(ctx context.Context, tx ticketing.Tx) error {
			at := s.Clock.Now().Add(time.Minute)
			_, err := tx.ClaimDeliveries(ctx, ticketing.DeliveryClaim{
				CompanyID: s.Company.ID, Endpoint: 1, At: at, Until: at.Add(30 * time.Second), Limit: 10,
			})
			return err
		})
		before := len(s.in.of(t, h.ID))

		s.Clock.Advance(-24 * time.Hour)
		is.Equal(send(t, s.svc), 0)
		s.Sell(t, s.event.ID, "VIP", 1) // It happens now, whatever now is.
		is.Equal(send(t, s.svc), 1)
		s.Clock.Advance(23 * time.Hour)
		is.Equal(send(t, s.svc), 0)
		s.Clock.Advance(time.Hour + 10*time.Minute)
		is.True(send(t, s.svc) > 0)
		for _, d := range deliveries(t, s.Shop) {
			is.Equal(d.Status, ticketing.DeliverySucceeded)
			is.True(!d.FinishedAt.Before(d.CreatedAt))
		}
		is.Equal(len(s.in.of(t, h.ID)), before+4) // The three that waited, and the one of meanwhile.
	})
}

// companionSender names the database, the file of certificates to trust, and how far ahead its clock is, of a process that
// sends until it is killed.
const companionSender = "TICKETING_TEST_COMPANION_SENDER"

// TestCompanionSender is such a process. Elsewhere it does nothing.
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

// Senders in processes of their own share one database; one that is killed at its work leaves it to the others.
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
	process(31 * time.Second) // To this one all leases of now have run out.
	w.delivered(t, r, sales, func() {})
}

// A receiver that answers 500 for five minutes gets each event then, under the ids of its first attempt.
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
			is.Equal(len(d.Attempts), 7) // After 0, 5, 15, 35, 75, 155 and 315 seconds, and a little.
		}
	})
}

var bubbled = regexp.MustCompile(`(?m)^goroutine \d+ \[[^\]]*synctest bubble (\d+)[^\]]*\]:`)

// inThisBubble is how many goroutines there are in the bubble of the test.
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

// When Run has returned nothing of it is left, whatever was in flight, waited or was paused.
func TestRunLeavesNothingBehind(t *testing.T) {
	t.Parallel()
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
		time.Sleep(12 * time.Minute) // The first are exhausted, and the host takes its time to hear of it.
		is.True(inThisBubble(t) > before)
		end()
		synctest.Wait()
		is.Equal(inThisBubble(t), before)
	})
}

// meters keep what instruments were told, until a test reads it.
type meters struct {
	noop.MeterProvider

	mu   sync.Mutex
	told map[string]float64 // by the instrument and its attributes: sums, and of histograms how many
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

func (m meter) Int64UpDownCounter(name string, _ ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	return gauge{name: name, meters: m.meters}, nil
}

func (m meter) Float64Gauge(name string, _ ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	return latest{name: name, meters: m.meters}, nil
}

// latest is an instrument that tells a value at a time.
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

// Metrics tell the attempts by their outcome, the deliveries that are exhausted, and what is in flight; they name nobody.
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

// What waits to be delivered longer than it should is told by its age: deliveries of an endpoint that has no room for more,
// and events of which no delivery was made; not what waits for its next attempt.
func TestTheAgeOfTheBacklogIsTold(t *testing.T) {
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
			time.Sleep(time.Millisecond) // The look that found it has ended.
			first <- age()
			return 500, nil
		})
		end := running(t, svc)
		is.Equal(<-first, 40.0) // While nobody was there.
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

// Samples go to webhooks and never to the host, which would take them for sales.
func TestSamplesAreNotToldToTheHost(t *testing.T) {
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
		end := running(t, sender(t, s.Shop, s.in, func(c *ticketing.Config) { c.OnFact = facts.Tell }))
		s.in.wait(t, h.ID, 6)
		_, err := facts.Wait(t.Context(), 3)
		is.NoErr(err)
		eventually(t, func() bool { return !due(t, s.Shop, time.Hour) }) // They do not wait to be told either.
		end()
		is.Equal(len(facts.All()), 3)
		for _, fact := range facts.All() {
			is.True(strings.Contains(show(t, fact), order.ID.String()))
		}
	})
}

// Books are whole when all facts are pruned.
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
		onCompany(t, s.Shop, func(ctx context.Context, tx ticketing.Tx) error {
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
