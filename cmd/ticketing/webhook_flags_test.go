package main_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// triggered creates a number of sample events, and returns their ids.
func (s *shell) triggered(company string, number int) map[string]bool {
	s.t.Helper()
	ids := map[string]bool{}
	for range number {
		ids[s.object("webhook", "trigger", company, "order.created")["id"].(string)] = true
	}
	return ids
}

// settled waits until a company has at least the given number of deliveries and none is pending, and returns them.
func (s *shell) settled(company string, number int) (deliveries []map[string]any) {
	s.t.Helper()
	pending := func(d map[string]any) bool { return d["status"] == "PENDING" }
	eventually(s.t, "deliveries end", func() bool {
		deliveries = s.array("webhook", "deliveries", company)
		return len(deliveries) >= number && !slices.ContainsFunc(deliveries, pending)
	})
	return deliveries
}

// A server that is killed while receivers are slow loses no event. After another server starts, each event arrives, if
// necessary a second time, with the same ids and the same body.
func TestKilledServerLosesNoWebhook(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "servers that are killed: those that stop by themselves run under it")
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	receiver := ticketingtest.NewWebhooks(t)
	sh.hooked(company, receiver, "order.created")
	const events = 20
	ids := sh.triggered(company, events)
	receiver.Next(ticketingtest.Status(http.StatusNoContent))
	receiver.Always(ticketingtest.Hang)
	p, _ := sh.sends(receiver)
	_, err := receiver.Wait(soon(t), 2)
	is.NoErr(err)
	must(t, p.cmd.Process.Kill())
	is.Equal(p.wait(), -1)

	receiver.Always(nil)
	// The leases of the server that died have half a minute to run.
	sh.sql("UPDATE ticketing_webhook_deliveries SET due_at = created_at, leased_until = NULL WHERE status = 'PENDING'")
	sh.sends(receiver)
	deliveries := sh.settled(company, events)
	is.Equal(len(deliveries), events)
	bodies, runs := map[string]string{}, map[string]string{}
	for _, got := range receiver.All() {
		is.NoErr(got.Err)
		is.True(ids[got.EventID])
		if body, again := bodies[got.EventID]; again {
			is.Equal(string(got.Body), body)
			is.Equal(got.DeliveryID, runs[got.EventID])
		}
		bodies[got.EventID], runs[got.EventID] = string(got.Body), got.DeliveryID
	}
	is.Equal(len(bodies), events)
	for _, delivery := range deliveries {
		is.Equal(delivery["status"], "SUCCEEDED")
		is.Equal(delivery["id"], runs[delivery["eventId"].(string)])
	}
}

// A server that is stopped finishes the attempts in progress. It releases the other deliveries at once to any other
// server, and no attempt is made twice.
func TestServerThatStopsFinishesItsAttempts(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	receiver := ticketingtest.NewWebhooks(t)
	sh.hooked(company, receiver, "order.created")
	const events = 40
	sh.triggered(company, events)
	release := make(chan struct{})
	receiver.Always(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.WriteHeader(http.StatusNoContent)
	})
	p, _ := sh.sends(receiver)
	_, err := receiver.Wait(soon(t), 1)
	is.NoErr(err)
	p.signal(syscall.SIGTERM)
	p.tellsNow("draining")
	close(release)
	is.Equal(p.wait(), 0)
	tried := len(receiver.All())
	for _, delivery := range sh.array("webhook", "deliveries", company) {
		switch delivery["status"] {
		case "SUCCEEDED":
			is.Equal(delivery["attempts"], 1.0)
			tried--
		default:
			is.Equal(delivery["status"], "PENDING")
			is.Equal(delivery["attempts"], 0.0)
			is.True(delivery["nextAttemptAt"] != nil) // It is not leased.
		}
	}
	is.Equal(tried, 0)
	sh.sends(receiver)
	is.Equal(len(sh.settled(company, events)), events)
	is.Equal(len(receiver.All()), events)
}

// tellsNow waits until the process writes another line that contains a text.
func (p *process) tellsNow(text string) {
	p.t.Helper()
	late := time.After(patience)
	for {
		select {
		case <-late:
			p.t.Fatalf("it does not tell %q:\n%s", text, p.errors())
		case line := <-p.errorLines:
			if strings.Contains(line, text) {
				return
			}
		case <-p.read:
			p.t.Fatalf("it ended without telling %q:\n%s", text, p.errors())
		}
	}
}

// Two servers on one database share the deliveries. Every event of the sales on both arrives, and each endpoint has one
// delivery of each event.
func TestTwoServersShareTheWebhooks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t).with("TICKETING_DATABASE", pgtest.Database(t), "TICKETING_SECRET_KEY", strings.Repeat("MDEy", 16))
	shop := sh.openShop()
	receiver := ticketingtest.NewWebhooks(t)
	sh.hooked(shop.companyID, receiver, "order.created", "commission.accrued")
	_, first := sh.sends(receiver)
	_, second := sh.sends(receiver)
	servers := []*client.Client{shop.api(t, first), shop.api(t, second)}
	const orders = 40
	var all sync.WaitGroup
	for n := range orders {
		all.Go(func() {
			if _, err := servers[n%2].Checkout(t.Context(), fmt.Sprintf("cart-%04d", n), shop.basket()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	deliveries := sh.settled(shop.companyID, 2*orders)
	is.Equal(len(deliveries), 2*orders)
	arrived := map[string]bool{}
	for _, got := range receiver.All() {
		is.NoErr(got.Err)
		arrived[got.EventID] = true
	}
	is.Equal(len(arrived), 2*orders)
	for _, delivery := range deliveries {
		is.Equal(delivery["status"], "SUCCEEDED")
		is.True(arrived[delivery["eventId"].(string)])
		delete(arrived, delivery["eventId"].(string))
	}
}

// The metrics count the attempts by type and outcome, and those in progress. They name no company and no address.
// Without the receiver's certificate no attempt succeeds. Without the flag for private addresses none is made to this
// machine.
func TestWebhookMetrics(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	receiver := ticketingtest.NewWebhooks(t)
	endpoint := sh.hooked(company, receiver, "order.created")
	receiver.Next(ticketingtest.Status(http.StatusServiceUnavailable))
	p, origin := sh.sends(receiver)
	_, untold := get(t, origin+"/metrics")
	for _, want := range []string{
		`ticketing_webhook_attempts_total{outcome="2xx",type="order.created"} 0`,
		`ticketing_webhook_exhausted_total{type="balance.low"} 0`,
		"ticketing_webhook_attempts_in_flight 0", "ticketing_webhook_attempt_duration_seconds_count 0",
		"ticketing_webhook_backlog_age_seconds 0",
	} {
		is.True(strings.Contains(untold, want))
	}
	sh.triggered(company, 1)
	receiver.Always(ticketingtest.Hang)
	_, err := receiver.Wait(soon(t), 1)
	is.NoErr(err)
	until(t, origin, `ticketing_webhook_attempts_total{outcome="5xx",type="order.created"} 1`)
	sh.triggered(company, 1)
	until(t, origin, "ticketing_webhook_attempts_in_flight 1")
	_, body := get(t, origin+"/metrics")
	for _, secret := range []string{company, endpoint["id"].(string), receiver.Addr()} {
		is.True(!strings.Contains(body, secret))
	}
	must(t, p.cmd.Process.Kill())
	p.wait()

	stranger := newShell(t)
	company = stranger.openShop().companyID
	stranger.hooked(company, receiver, "order.created")
	stranger.triggered(company, 1)
	_, origin = stranger.serve("--webhook-allow-private")
	until(t, origin, `ticketing_webhook_attempts_total{outcome="tls",type="order.created"} 1`)
	failed := stranger.tried(company)
	is.Equal(failed["status"], "PENDING")
	is.Equal(failed["lastHttpStatus"], nil)
	is.True(strings.Contains(failed["lastError"].(string), "certificate"))
	is.True(failed["nextAttemptAt"] != nil)

	private := newShell(t)
	company = private.openShop().companyID
	private.hooked(company, receiver, "order.created")
	private.triggered(company, 1)
	_, origin = private.serve()
	until(t, origin, `ticketing_webhook_attempts_total{outcome="url",type="order.created"} 1`)
	is.True(strings.Contains(private.tried(company)["lastError"].(string), "IP address"))
}

// tried waits until the first attempt of a company's only delivery is recorded, and returns the delivery.
func (s *shell) tried(company string) (delivery map[string]any) {
	s.t.Helper()
	eventually(s.t, "an attempt is written down", func() bool {
		delivery = s.array("webhook", "deliveries", company)[0]
		return delivery["attempts"] != 0.0
	})
	return delivery
}

// until waits until the metrics of a server contain a line.
func until(t *testing.T, origin, line string) {
	t.Helper()
	eventually(t, line, func() bool {
		_, body := get(t, origin+"/metrics")
		return strings.Contains(body, line+"\n")
	})
}

// A server with --no-webhooks delivers nothing, and another server does.
func TestServerWithoutWebhooks(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	receiver := ticketingtest.NewWebhooks(t)
	sh.hooked(company, receiver, "order.created")
	p, _ := sh.serve("--no-webhooks", "--webhook-allow-private", "--webhook-ca-file", roots(t, receiver))
	ids := sh.triggered(company, 1)
	eventually(t, "the delivery is made", func() bool { return len(sh.array("webhook", "deliveries", company)) == 1 })
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	is.Equal(len(receiver.All()), 0)
	sh.sends(receiver)
	got, err := receiver.Wait(soon(t), 1)
	is.NoErr(err)
	is.True(ids[got[0].EventID])
}

// A demo also delivers, as long as it runs.
func TestDemoDelivers(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	receiver := ticketingtest.NewWebhooks(t)
	sh.hooked(company, receiver, "order.created")
	sh.start("demo", "--addr", "127.0.0.1:0", "--webhook-allow-private", "--webhook-ca-file", roots(t, receiver))
	got, err := receiver.Wait(soon(t), 1)
	is.NoErr(err)
	is.NoErr(got[0].Err)
	is.Equal(got[0].Event, "order.created")
}

// away is a sender whose receiver always responds 502.
type away struct{}

func (away) Post(context.Context, ticketing.WebhookRequest) (int, error) {
	return http.StatusBadGateway, nil
}

// Only servers that deliver report the age of the backlog. One that does not would always report 0.
func TestBacklogIsReportedByWhoDelivers(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const age = "ticketing_webhook_backlog_age_seconds "
	cfg, scrape, closeSender, err := program.Serving(true)
	is.NoErr(err)
	t.Cleanup(closeSender)
	gauge, err := cfg.MeterProvider.Meter("").Float64Gauge("ticketing.webhook.backlog.age")
	is.NoErr(err)
	gauge.Record(t.Context(), 12.5)
	is.True(strings.Contains(scrape(t.Context()), "\n"+age+"12.5\n"))
	_, untold, _, err := program.Serving(false)
	is.NoErr(err)
	is.True(!strings.Contains(untold(t.Context()), age))
}

// Every exhausted delivery is counted, by type, after its eighth attempt and not before.
func TestDeadLettersAreCounted(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	cfg, scrape, closeSender, err := program.Serving(true)
	is.NoErr(err)
	t.Cleanup(closeSender)
	now := time.Date(2026, 1, 31, 17, 5, 0, 0, time.UTC)
	cfg.Clock, cfg.Sender = func() time.Time { return now }, away{}
	svc, err := ticketing.New(memory.New(), cfg)
	is.NoErr(err)
	staff := svc.As(ticketing.Staff("test"))
	company, err := staff.CreateCompany(t.Context(), "Lagos Live")
	is.NoErr(err)
	_, err = staff.CreateWebhookEndpoint(t.Context(), company.ID, ticketing.WebhookEndpointParams{
		URL: hooks, Events: ticketing.WebhookEventTypes(),
	})
	is.NoErr(err)
	for _, kind := range []ticketing.FactType{"balance.low", "balance.low", "order.created"} {
		_, err := staff.TriggerWebhook(t.Context(), company.ID, kind)
		is.NoErr(err)
	}
	for try := range ticketing.MaxDeliveryAttempts {
		// None is exhausted yet.
		is.True(strings.Contains(scrape(t.Context()), `ticketing_webhook_exhausted_total{type="balance.low"} 0`))
		made, err := svc.SendWebhooks(t.Context())
		is.NoErr(err)
		is.Equal(made, 3)
		now = now.Add(time.Duration(try+1) * 2 * time.Minute)
	}
	metrics := scrape(t.Context())
	is.True(strings.Contains(metrics, `ticketing_webhook_exhausted_total{type="balance.low"} 2`))
	is.True(strings.Contains(metrics, `ticketing_webhook_exhausted_total{type="order.created"} 1`))
	is.True(strings.Contains(metrics, `ticketing_webhook_exhausted_total{type="ticket.validated"} 0`))
}
