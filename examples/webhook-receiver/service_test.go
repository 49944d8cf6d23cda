package main_test

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	wire "github.com/floatgate/ticketing/delivery"
	receiver "github.com/floatgate/ticketing/examples/webhook-receiver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ticketingtest"
)

// deployment is the receiver as a company runs it. The service itself sends to it, with the sender of package delivery.
type deployment struct {
	t    *testing.T
	file string
	*httptest.Server

	handler atomic.Pointer[http.Handler]
	// loses reports whether the answer of the nth request, counted from one, is lost after it was handled.
	loses func(n int) bool
	mu    sync.Mutex
	came  int
	codes []int
	done  []receiver.Event
	works chan receiver.Event
	stop  func()
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, file: path(t), loses: func(int) bool { return false }, works: make(chan receiver.Event, 1000)}
	d.Server = httptest.NewUnstartedServer(http.HandlerFunc(d.serve))
	d.EnableHTTP2 = true
	d.StartTLS()
	t.Cleanup(func() {
		d.Close()
		d.stop()
	})
	return d
}

// serve records the answer, and drops it where loses says so.
func (d *deployment) serve(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	(*d.handler.Load()).ServeHTTP(answer, r)
	d.mu.Lock()
	d.came++
	d.codes = append(d.codes, answer.Code)
	lost := d.loses(d.came)
	d.mu.Unlock()
	if lost {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(answer.Code)
}

// lose sets which answers are lost.
func (d *deployment) lose(which func(n int) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.loses = which
}

// start stops the running receiver, and starts one with other secrets on the same database.
func (d *deployment) start(clock func() time.Time, secrets ...ticketing.WebhookSecret) {
	d.t.Helper()
	if d.stop != nil {
		d.stop()
	}
	inbox, err := receiver.OpenInbox(d.t.Context(), d.file)
	if err != nil {
		d.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(d.t.Output(), nil))
	r := &receiver.Receiver{Inbox: inbox, Log: log, Clock: clock}
	for _, secret := range secrets {
		r.Secrets = append(r.Secrets, string(secret))
	}
	handler := r.Handler()
	d.handler.Store(&handler)
	ctx, cancel := context.WithCancel(d.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		inbox.Work(ctx, log, func(_ context.Context, event receiver.Event) error {
			d.works <- event
			return nil
		})
	}()
	d.stop = func() {
		cancel()
		<-ended
		if err := inbox.Close(); err != nil {
			d.t.Error(err)
		}
	}
}

// work waits for the work of n more events, and fails if there is more.
func (d *deployment) work(n int) {
	d.t.Helper()
	for range n {
		select {
		case event := <-d.works:
			d.done = append(d.done, event)
		case <-d.t.Context().Done():
			d.t.Fatalf("%d events were worked on", len(d.done))
		}
	}
	if len(d.works) > 0 {
		d.t.Fatalf("more was worked on: %v", <-d.works)
	}
}

// LookupNetIP returns a public address for every name. dial connects it to the receiver.
func (*deployment) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func (d *deployment) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, d.Listener.Addr().String())
}

// A receiver that is written from the contract alone accepts everything that the service sends: each type of event,
// retries after lost answers, replays, and all signatures of a rotation. It handles each event once.
func TestReceiverAcceptsWhatTheServiceSends(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := deploy(t)
	// The receiver's worker uses the wall clock, so the service's clock has to stay before it.
	clock := ticketingtest.NewClock(time.Now().Add(-48 * time.Hour))
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: testdb.SQLite(t), Clock: clock, Float: 2000_00})
	sender, err := wire.New(&wire.Config{Resolver: d, Dial: d.dial, RootCAs: d.roots()})
	is.NoErr(err)
	defer sender.Close()
	service, err := ticketing.New(shop.Store, &ticketing.Config{
		SecretKeys: [][]byte{[]byte(strings.Repeat("k", 32))}, Clock: shop.Clock.Now, Sender: sender,
	})
	is.NoErr(err)
	staff := service.As(ticketing.Staff("company"))
	made, err := staff.CreateWebhookEndpoint(t.Context(), shop.Company.ID, ticketing.WebhookEndpointParams{
		URL: "https://hooks.example.com/webhooks", Events: ticketing.WebhookEventTypes(),
	})
	is.NoErr(err)
	d.start(shop.Clock.Now, made.Secret)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 300_00, 100)
	sell := func() ticketing.Order { return shop.Sell(t, event.ID, "VIP", 1) }
	passes := func(want ...int) { // The attempts of each pass; passes are far enough apart to retry.
		t.Helper()
		var sent []int
		for range want {
			n, err := service.SendWebhooks(t.Context())
			is.NoErr(err)
			sent = append(sent, n)
			shop.Clock.Advance(10 * time.Minute)
		}
		is.Equal(sent, want)
	}
	list := func() []ticketing.WebhookDelivery {
		page, err := staff.ListDeliveries(t.Context(), shop.Company.ID, ticketing.DeliveryFilter{},
			ticketing.PageParams{Limit: 100})
		is.NoErr(err)
		return page.Items
	}

	// Four sales, of which one takes the float below 1000.00, and a validation; every other answer is lost.
	d.lose(func(n int) bool { return n%2 == 0 })
	for range 4 {
		order := sell()
		if order.Balances.FloatAfter < 1000_00 {
			shop.Scan(t, event.ID, order.Lines[0].AdmissionID)
		}
	}
	passes(10, 5, 2, 1, 1, 0)
	d.lose(func(int) bool { return false })
	d.work(10)
	types := make(map[string]int)
	for _, event := range d.done {
		types[event.Type]++
	}
	is.Equal(types, map[string]int{"order.created": 4, "commission.accrued": 4, "balance.low": 1, "ticket.validated": 1})

	// All deliveries are replayed, under new delivery ids.
	for _, delivery := range list() {
		_, err := staff.ReplayDelivery(t.Context(), delivery.ID)
		is.NoErr(err)
	}
	passes(10, 0)
	d.work(0)

	// A rotation, while two earlier deliveries wait for their next attempt.
	d.lose(func(int) bool { return true })
	sell()
	passes(2)
	d.lose(func(int) bool { return false })
	next, err := staff.PrepareWebhookSecret(t.Context(), made.ID)
	is.NoErr(err)
	d.work(2)
	d.start(shop.Clock.Now, made.Secret, next.Secret)
	_, err = staff.ActivateWebhookSecret(t.Context(), made.ID)
	is.NoErr(err)
	shop.Credit(t, 5000_00)
	sell()
	passes(4, 0) // The two earlier ones under the old secret, duplicates, and two under the new.
	d.work(2)
	d.start(shop.Clock.Now, next.Secret)

	// Then with the service running.
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	sell()
	d.work(2)
	cancel()
	is.NoErr(<-ended)

	d.mu.Lock()
	defer d.mu.Unlock()
	is.Equal(d.codes, slices.Repeat([]int{http.StatusNoContent}, d.came))
	worked := make(map[string]bool)
	for _, event := range d.done {
		is.True(!worked[event.ID])
		worked[event.ID] = true
	}
	events := make(map[uuid.UUID]bool)
	for _, delivery := range list() {
		is.Equal(delivery.Status, ticketing.DeliverySucceeded)
		is.True(worked[delivery.EventID.String()])
		events[delivery.EventID] = true
	}
	is.Equal(len(events), len(worked))
}

func (d *deployment) roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(d.Certificate())
	return roots
}
