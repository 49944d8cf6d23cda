package ticketing_test

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
	"github.com/floatgate/ticketing/webhook"
)

// These flags set the sizes of benchmarks, as in
// go test -run '^$' -bench WebhooksBacklog -webhook-backlog 1000000 .
var (
	webhookEvents  = flag.Int("webhook-events", 5_000, "how many sales the benchmarks of webhooks tell")
	webhookBacklog = flag.Int("webhook-backlog", 20_000, "how many facts wait in the benchmarks of webhooks")
	webhookSeconds = flag.Int("webhook-seconds", 5, "how long the benchmarks of webhooks measure times")
)

// tlsReceiver is a receiver like that of a company: over TLS, and with a check of every signature.
type tlsReceiver struct {
	*httptest.Server

	secret string
	took   func(event webhook.Event) // called with each accepted event
	hangs  atomic.Bool
	got    atomic.Int64
}

func newReceiver(b *testing.B) *tlsReceiver {
	b.Helper()
	r := &tlsReceiver{took: func(webhook.Event) {}}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if r.hangs.Load() {
			<-req.Context().Done()
			return
		}
		if err := webhook.Verify(req.Header.Get(webhook.HeaderSignature), body, time.Now(), r.secret); err != nil {
			b.Error(err)
		}
		if event, err := webhook.ParseEvent(body); err == nil {
			r.took(event)
		}
		r.got.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	r.EnableHTTP2 = true
	r.StartTLS()
	b.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

// hooked gives a shop an endpoint at a receiver.
func hooked(b *testing.B, shop *ticketingtest.Shop, net *internet, r *tlsReceiver, events ...ticketing.FactType) {
	b.Helper()
	made, err := shop.Staff.CreateWebhookEndpoint(b.Context(), shop.Company.ID, ticketing.WebhookEndpointParams{
		URL: net.join(r.Listener.Addr().String()), Events: events,
	})
	is.New(b).NoErr(err)
	r.secret = string(made.Secret)
}

// onWebhookBenches runs a benchmark with a shop that sells in real time.
func onWebhookBenches(b *testing.B, bench func(b *testing.B, shop *ticketingtest.Shop)) {
	b.Helper()
	for _, store := range stores() {
		if store.Name == "rerun" {
			continue
		}
		b.Run(store.Name, func(b *testing.B) {
			shop := openShop(b, store, &ticketingtest.Config{
				Float: money.MaxInput, Clock: ticketingtest.NewClock(time.Now()),
			})
			bench(b, shop)
		})
	}
}

// tellSales writes facts of existing sales, several for each sale if necessary.
func tellSales(b *testing.B, shop *ticketingtest.Shop, facts int) {
	b.Helper()
	const page = 1000
	is := is.New(b)
	shop.BooksAreBroken() // Each order has many facts.
	fillBooks(b, shop, 2*min(facts, 20_000)+1)
	var orders []driver.Order
	is.NoErr(shop.Store.View(b.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		before := int64(0)
		for {
			some, err := tx.ListOrders(ctx, driver.OrderQuery{CompanyID: shop.Company.ID, After: before, Limit: page})
			if err != nil || len(some) == 0 {
				return err
			}
			orders, before = append(orders, some...), some[len(some)-1].Number
		}
	}))
	for done := 0; done < facts; done += page {
		var records []driver.Fact
		for i := done; i < min(facts, done+page); i++ {
			records = append(records, driver.Fact{
				CompanyID: shop.Company.ID, At: time.Now(), ID: uuid.New(), Type: driver.FactSale,
				Subject: orders[i%len(orders)].ID, Endpoints: 1000,
			})
		}
		onCompany(b, shop, func(ctx context.Context, tx driver.Tx) error { return tx.AppendFacts(ctx, records) })
	}
	if db, ok := shop.Store.(interface{ Analyze(context.Context) error }); ok {
		is.NoErr(db.Analyze(b.Context()))
	}
}

// BenchmarkWebhooks measures the webhooks of existing sales to a receiver over TLS: two deliveries for each sale,
// rendered, signed, posted and stored.
func BenchmarkWebhooks(b *testing.B) {
	onWebhookBenches(b, func(b *testing.B, shop *ticketingtest.Shop) {
		b.Helper()
		r, net := newReceiver(b), newInternet(b)
		hooked(b, shop, net, r, ticketing.FactOrderCreated, ticketing.FactCommissionAccrued)
		want := int64(2 * *webhookEvents)
		for b.Loop() {
			b.StopTimer()
			tellSales(b, shop, *webhookEvents)
			r.got.Store(0)
			svc := sender(b, shop, net.sender(b), realTime)
			b.StartTimer()
			begun := time.Now()
			end := running(b, svc)
			for r.got.Load() < want {
				time.Sleep(time.Millisecond)
			}
			end()
			b.ReportMetric(float64(want)/time.Since(begun).Seconds(), "deliveries/s")
			if got := r.got.Load(); got > want {
				b.Logf("%d were sent twice", got-want)
			}
			for _, d := range deliveries(b, shop) {
				if len(d.Attempts) > 1 {
					b.Logf("%d attempts, the first: %s after %d ms", len(d.Attempts), d.Attempts[0].Error, d.Attempts[0].DurationMS)
				}
			}
		}
	})
}

func realTime(c *ticketing.Config) { c.Clock = time.Now }

// delays are measured times.
type delays struct {
	mu   sync.Mutex
	took []time.Duration
}

func (s *delays) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, d)
}

// await waits until there are most times. So late ones count, and a lost one fails the benchmark.
func (s *delays) await(b *testing.B, name string, most int) {
	b.Helper()
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.took)
	}
	for begun := time.Now(); count() < most; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			b.Fatalf("%d of %d were taken: %s", count(), most, name)
		}
	}
}

// report reports the median and the 95th percentile.
func (s *delays) report(b *testing.B, name string) {
	b.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.took) == 0 {
		b.Errorf("nothing was taken: %s", name)
		return
	}
	slices.Sort(s.took)
	b.ReportMetric(float64(s.took[len(s.took)/2].Microseconds())/1000, name+"-p50-ms")
	b.ReportMetric(float64(s.took[len(s.took)*95/100].Microseconds())/1000, name+"-p95-ms")
}

const saleRate = 200 // per second

// sellSteadily sells at saleRate for -webhook-seconds, in each shop in turn.
func sellSteadily(b *testing.B, shops []*ticketingtest.Shop, services map[*ticketingtest.Shop]*ticketing.Service) {
	b.Helper()
	baskets := make([]ticketing.CheckoutParams, len(shops))
	for i, shop := range shops {
		event := shop.Event(b)
		stock(b, shop, event.ID, 1, 1000)
		baskets[i] = ticketingtest.Basket(event.ID, "VIP", 1, 1)
	}
	ticker := time.NewTicker(time.Second / saleRate)
	defer ticker.Stop()
	var sales sync.WaitGroup
	for i := range saleRate * *webhookSeconds {
		<-ticker.C
		shop := shops[i%len(shops)]
		key := shop.Key()
		sales.Go(func() {
			if _, err := services[shop].Checkout(b.Context(), shop.Caller, key, baskets[i%len(shops)]); err != nil {
				b.Error(err)
			}
		})
	}
	sales.Wait()
}

// BenchmarkWebhooksLatency measures, at 200 sales a second, how long after its confirmation an order's event reaches
// the receiver. The sender is the process that sold, or another.
func BenchmarkWebhooksLatency(b *testing.B) {
	onWebhookBenches(b, func(b *testing.B, shop *ticketingtest.Shop) {
		b.Helper()
		for _, other := range []bool{false, true} {
			name := map[bool]string{false: "own", true: "other"}[other]
			b.Run(name, func(b *testing.B) {
				r, net := newReceiver(b), newInternet(b)
				var took delays
				r.took = func(event webhook.Event) {
					if order, ok := event.Data.(webhook.OrderCreated); ok {
						at, _ := time.Parse(time.RFC3339, order.Order.ConfirmedAt)
						took.add(time.Since(at))
					}
				}
				neighbour := shop.Neighbour(b)
				hooked(b, neighbour, net, r, ticketing.FactOrderCreated)
				svc := sender(b, shop, net.sender(b), realTime)
				sells := svc
				if other {
					sells = sender(b, shop, nil, realTime)
				}
				end := running(b, svc)
				for b.Loop() {
					sellSteadily(b, []*ticketingtest.Shop{neighbour},
						map[*ticketingtest.Shop]*ticketing.Service{neighbour: sells})
				}
				for r.got.Load() < int64(saleRate**webhookSeconds) {
					time.Sleep(10 * time.Millisecond)
				}
				end()
				took.report(b, name)
			})
		}
	})
}

// BenchmarkWebhooksWithOneThatHangs measures fifty endpoints, five for each of ten companies, one of which hangs on
// every request for ten seconds, the sender's timeout. It reports the times of the others, separately for the same
// company and for other companies.
func BenchmarkWebhooksWithOneThatHangs(b *testing.B) {
	const companies, each = 10, 5
	for _, store := range []testdb.Store{{Name: "postgres", Open: func(tb testing.TB) driver.Store {
		tb.Helper()
		return testdb.Postgres(tb)
	}}} {
		for _, hangs := range []bool{false, true} {
			b.Run(map[bool]string{false: "none", true: "one"}[hangs], func(b *testing.B) {
				first := openShop(b, store, &ticketingtest.Config{
					Float: money.MaxInput, Clock: ticketingtest.NewClock(time.Now()),
				})
				shops := []*ticketingtest.Shop{first}
				for range companies - 1 {
					shops = append(shops, first.Neighbour(b))
				}
				var neighbours, others delays
				services := make(map[*ticketingtest.Shop]*ticketing.Service)
				net := newInternet(b)
				svc := sender(b, first, net.sender(b), realTime)
				for i, shop := range shops {
					services[shop] = svc
					for n := range each {
						r := newReceiver(b)
						took := &others
						if i == 0 {
							took = &neighbours
						}
						r.hangs.Store(hangs && i == 0 && n == 0)
						r.took = func(event webhook.Event) {
							order, _ := event.Data.(webhook.OrderCreated)
							at, _ := time.Parse(time.RFC3339, order.Order.ConfirmedAt)
							took.add(time.Since(at))
						}
						hooked(b, shop, net, r, ticketing.FactOrderCreated)
					}
				}
				end := running(b, svc)
				sales := 0 // for each company
				for b.Loop() {
					sellSteadily(b, shops, services)
					sales += saleRate * *webhookSeconds / companies
				}
				listening := each
				if hangs {
					listening--
				}
				neighbours.await(b, "neighbours", sales*listening)
				others.await(b, "others", sales*each*(companies-1))
				end()
				neighbours.report(b, "neighbours")
				others.report(b, "others")
			})
		}
	}
}

// BenchmarkWebhooksBacklog measures what a backlog of undelivered facts costs a checkout, and how long the query for
// due work takes then.
func BenchmarkWebhooksBacklog(b *testing.B) {
	for _, backlog := range []int{0, *webhookBacklog} {
		b.Run(map[bool]string{true: "none", false: "backlog"}[backlog == 0], func(b *testing.B) {
			shop := openShop(b, testdb.Store{Open: func(tb testing.TB) driver.Store {
				tb.Helper()
				return testdb.Postgres(tb)
			}}, &ticketingtest.Config{Float: money.MaxInput, Clock: ticketingtest.NewClock(time.Now())})
			in := newInbox(time.Now)
			in.register(b, shop, ticketing.FactOrderCreated)
			if backlog > 0 {
				tellSales(b, shop, backlog)
			}
			event := shop.Event(b)
			stock(b, shop, event.ID, 1, 1000)
			b.Run("checkout", func(b *testing.B) { buy(b, shop, event.ID, 2) })
			b.Run("due", func(b *testing.B) {
				for b.Loop() {
					is.New(b).NoErr(shop.Store.View(b.Context(), func(ctx context.Context, tx driver.ReadTx) error {
						_, err := tx.DueWork(ctx, driver.WorkQuery{At: time.Now(), Limit: 1000, After: []driver.DueWork{
							{Kind: driver.WorkDispatch}, {Kind: driver.WorkDeliver},
						}})
						return err
					}))
				}
			})
		})
	}
}

// nowhere is a sender that accepts every post.
type nowhere struct{ got atomic.Int64 }

func (n *nowhere) Post(context.Context, ticketing.WebhookRequest) (int, error) {
	n.got.Add(1)
	return 200, nil
}

// BenchmarkWebhooksNowhere measures the same without TLS and without a receiver: what rendering, signing and storing
// cost.
func BenchmarkWebhooksNowhere(b *testing.B) {
	onWebhookBenches(b, func(b *testing.B, shop *ticketingtest.Shop) {
		b.Helper()
		r, net := newReceiver(b), newInternet(b)
		hooked(b, shop, net, r, ticketing.FactOrderCreated, ticketing.FactCommissionAccrued)
		want := int64(2 * *webhookEvents)
		for b.Loop() {
			b.StopTimer()
			tellSales(b, shop, *webhookEvents)
			n := new(nowhere)
			svc := sender(b, shop, n, realTime)
			b.StartTimer()
			begun := time.Now()
			end := running(b, svc)
			for n.got.Load() < want {
				time.Sleep(time.Millisecond)
			}
			b.ReportMetric(float64(want)/time.Since(begun).Seconds(), "deliveries/s")
			end()
		}
	})
}
