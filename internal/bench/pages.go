package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/mail"
)

// pagesBench measures the pages of the console. One process serves them, requests them and sells.
type pagesBench struct {
	*bench

	svc       *ticketing.Service
	server    *http.Server
	origin    string
	cookie    string // of a person who is the owner of the measured company and an administrator of the platform
	variables *strings.Replacer
	buyer     string                  // the email of the buyer on the pages
	answered  map[string]*pageAnswers // by route
	mu        sync.Mutex
	run       *histogram // of all pages of the run; nil: nothing is measured
}

// pageAnswers are the responses of one page.
type pageAnswers struct {
	took   histogram // in the server
	failed map[string]int64
	bytes  int // of the largest body, as it was transferred
}

// askErase is the page that shows what the erasure of a buyer removes. Its email is in the body of a form.
const askErase = "/business/{companyId}/buyers/erase/ask"

// pageRoutes returns the routes of the pages, lists also with filters. Each variable stands for the first record of its
// kind, {email} for the buyer of that order and {moment} for the moment of its sale.
func pageRoutes() []string {
	return []string{
		"/account",
		"/business",
		"/business/{companyId}",
		"/business/{companyId}/events",
		"/business/{companyId}/events/new",
		"/business/{companyId}/events/{eventId}",
		"/business/{companyId}/events/{eventId}/edit",
		"/business/{companyId}/verification",
		"/business/{companyId}/branding",
		"/business/{companyId}/branding/mail",
		"/business/{companyId}/orders",
		"/business/{companyId}/orders?email={email}",
		"/business/{companyId}/orders?event={eventId}",
		"/business/{companyId}/orders?status=CANCELLED",
		"/business/{companyId}/orders?until={moment}",
		"/business/{companyId}/orders/{orderId}",
		"/business/{companyId}/buyers",
		"/business/{companyId}/buyers/erase",
		askErase,
		"/business/{companyId}/api-keys",
		"/business/{companyId}/commission",
		"/business/{companyId}/webhooks",
		"/business/{companyId}/webhooks/{endpointId}",
		"/business/{companyId}/webhooks/deliveries",
		"/business/{companyId}/webhooks/deliveries/{deliveryId}",
		"/business/{companyId}/webhooks/replay",
		"/business/{companyId}/reports",
		"/business/{companyId}/ledger",
		"/business/{companyId}/ledger?until={moment}",
		"/business/{companyId}/ledger?reference=BENCH",
		"/business/{companyId}/settlements",
		"/business/{companyId}/members",
		"/business/{companyId}/mail",
		"/business/{companyId}/mail/resend",
		"/business/{companyId}/mail/{orderId}",
		"/business/{companyId}/audit",
		"/business/{companyId}/find",
		"/platform",
		"/platform/cases",
		"/platform/companies",
		"/platform/companies/{companyId}",
		"/platform/companies/{companyId}/verification",
		"/platform/companies/{companyId}/float",
		"/platform/companies/{companyId}/commission",
		"/platform/money",
		"/platform/settlements",
		"/platform/categories",
		"/platform/mail-sender",
		"/platform/staff",
		"/platform/audit",
		"/platform/books",
		"/platform/find",
	}
}

const (
	// dispatchPoll is how often the bench looks whether all facts are dispatched.
	dispatchPoll = 100 * time.Millisecond
	// While the bench warms up, pageVisitors request pages at the same time, for the duration of a run by warmUpPart.
	pageVisitors, warmUpPart = 4, 5
	// pageHeader is the header of a request that has the name of its page.
	pageHeader = "Bench-Page"
	// sessionCookie is the name of the console's cookie on plain loopback.
	sessionCookie = "ticketing"
	// The person who requests the pages.
	pagesEmail, pagesName = "ada@bench.example", "Ada Bench"
)

// measurePages measures how long the server takes for each page of the console.
func (b *bench) measurePages(ctx context.Context) (Report, error) {
	m, err := b.newPagesBench(ctx)
	if err != nil {
		return nil, err
	}
	report := &pagesReport{
		Op: b.Op, Store: b.db.store(), Companies: len(b.shops), Qty: b.Qty, Connections: b.Connections,
		Seconds: b.Duration.Seconds(), Rate: b.Rate, Sales: b.Sales, Background: b.Background,
		Events: pageEvents, Deliveries: b.pageDeliveries(),
		Preload: preload{Orders: int(b.sold), Seconds: rounded(b.preloading.Seconds())},
	}
	if b.Background {
		b.ends = append(b.ends, background(ctx, m.svc))
	}
	m.warmUp(ctx)
	m.mu.Lock()
	m.answered = map[string]*pageAnswers{}
	m.mu.Unlock()
	for i := range b.Runs {
		b.Progress(fmt.Sprintf("run %d of %d", i+1, b.Runs), "")
		run, err := m.pace(ctx)
		if err != nil {
			return nil, err
		}
		report.Runs = append(report.Runs, run)
	}
	b.Progress("exporting all orders", "")
	if report.Export, err = m.exportOrders(ctx); err != nil {
		return nil, err
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

// newPagesBench makes the records of the pages, signs a person in and serves the console.
func (b *bench) newPagesBench(ctx context.Context) (*pagesBench, error) {
	m := &pagesBench{bench: b, answered: map[string]*pageAnswers{}}
	var err error
	if m.svc, err = ticketing.New(b.store, &ticketing.Config{
		SecretKeys: [][]byte{b.secret}, Grouping: b.Grouping, CompanySlots: b.CompanySlots,
		MailRenderer: mail.NewRenderer(),
	}); err != nil {
		return nil, err
	}
	b.ends = append(b.ends, drained(m.svc))
	if err := m.dispatchAll(ctx); err != nil {
		return nil, err
	}
	if err := b.setMailSender(ctx, true); err != nil {
		return nil, err
	}
	shown, err := b.makeDeliveries(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.makeEvents(ctx); err != nil {
		return nil, err
	}
	order, err := m.svc.As(ticketing.Staff("bench")).GetOrder(ctx, b.shops[0].Orders[0])
	if err != nil {
		return nil, err
	}
	m.buyer = order.Buyer.Email
	m.variables = strings.NewReplacer("{companyId}", b.shops[0].Company.String(), "{eventId}",
		b.shops[0].Event.String(), "{orderId}", b.shops[0].Orders[0].String(), "{endpointId}", shown.EndpointID.String(),
		"{deliveryId}", shown.ID.String(), "{email}", url.QueryEscape(order.Buyer.Email),
		"{moment}", order.CreatedAt.UTC().Add(time.Minute).Format(time.RFC3339))
	if err := m.signIn(ctx); err != nil {
		return nil, err
	}
	if err := b.db.settle(ctx); err != nil {
		return nil, err
	}
	return m, m.serve(ctx)
}

// dispatchAll dispatches everything that was sold. So the sums of sales and the index of buyers have the orders, as on
// a server that has run all the time.
func (m *pagesBench) dispatchAll(ctx context.Context) error {
	m.Progress("counting what was sold", "")
	stop := background(ctx, m.svc)
	for waits := true; waits; {
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), stop(ctx))
		case <-time.After(dispatchPoll):
		}
		err := m.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			waits = false
			for _, shop := range m.shops {
				facts, err := tx.UndispatchedFacts(ctx, shop.Company, driver.Position{}, 1)
				if err != nil {
					return err
				}
				waits = waits || len(facts) > 0
			}
			return nil
		})
		if err != nil {
			return errors.Join(err, stop(ctx))
		}
	}
	return stop(ctx)
}

// signIn begins the session of a person who sees every page.
func (m *pagesBench) signIn(ctx context.Context) error {
	op := m.svc.As(ticketing.Staff("bench"))
	staff, err := op.AddStaff(ctx, ticketing.AddStaffParams{
		Email: pagesEmail, Name: pagesName, Role: ticketing.StaffAdministrator,
	})
	if err != nil {
		return err
	}
	if _, err := op.AddMember(ctx, m.shops[0].Company, ticketing.AddMemberParams{
		Email: pagesEmail, Name: pagesName, Role: ticketing.RoleOwner,
	}); err != nil {
		return err
	}
	begun, err := m.svc.Accounts().SignIn(ctx, staff.UserID, ticketing.SignInPasskey, ticketing.Client{Browser: "bench"})
	m.cookie = begun.Secret
	return err
}

// serve serves the console on this machine.
func (m *pagesBench) serve(ctx context.Context) error {
	handler, err := console.New(m.svc, &console.Config{OnRequest: m.record})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	m.origin = "http://" + listener.Addr().String()
	named := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), pageKey{}, r.Header.Get(pageHeader))))
	})
	m.server = &http.Server{Handler: named, ReadHeaderTimeout: headerTimeout}
	go func() { _ = m.server.Serve(listener) }()
	m.ends = append(m.ends, func(context.Context) error { return m.server.Close() })
	return nil
}

// pageKey is the key of a page's name in the context of its request.
type pageKey struct{}

// stop stops the server after all responses are recorded, which is a moment after they were sent.
func (m *pagesBench) stop(ctx context.Context) error {
	// The server waits five seconds for a connection that the client opened and never used.
	http.DefaultClient.CloseIdleConnections()
	return m.server.Shutdown(ctx)
}

// of returns the responses of a route. The caller holds the lock.
func (m *pagesBench) of(route string) *pageAnswers {
	if m.answered[route] == nil {
		m.answered[route] = &pageAnswers{failed: map[string]int64{}}
	}
	return m.answered[route]
}

// record records how long the server took for a response.
func (m *pagesBench) record(ctx context.Context, sent console.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name, _ := ctx.Value(pageKey{}).(string)
	if name == "" {
		name = sent.Route
	}
	if sent.Status != http.StatusOK {
		m.of(name).failed[fmt.Sprint(sent.Status, " ", sent.Code)]++
		return
	}
	m.of(name).took.record(sent.Duration)
	if m.run != nil {
		m.run.record(sent.Duration)
	}
}

// warmUp requests all pages, each at least once. A connection to PostgreSQL prepares what a page reads when it first
// reads that page. So after this the connections are as those of a server that has run for some time.
func (m *pagesBench) warmUp(ctx context.Context) {
	m.Progress("warming up", "")
	routes, over := pageRoutes(), time.Now().Add(m.Duration/warmUpPart)
	var visitors sync.WaitGroup
	for n := range pageVisitors {
		visitors.Go(func() {
			first := n * len(routes) / pageVisitors
			for i := 0; ctx.Err() == nil && (n == 0 && i < len(routes) || time.Now().Before(over)); i++ {
				m.visit(ctx, routes[(first+i)%len(routes)])
			}
		})
	}
	visitors.Wait()
}

// visit requests a page as a browser does. A missing response counts as a failure of the page.
func (m *pagesBench) visit(ctx context.Context, route string) {
	address := m.origin + m.variables.Replace(route)
	form := url.Values{}
	switch {
	case route == askErase:
		form.Set("email", m.buyer)
	case strings.HasSuffix(route, "/find"):
		// An id would lead to a page that is measured separately. An email takes the most reads.
		address += "?q=" + url.QueryEscape(m.buyer)
	}
	size, err := m.read(ctx, route, address, form)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.of(route).failed["CONNECTION"]++
	}
	m.of(route).bytes = max(m.of(route).bytes, size)
}

// read returns the length of a page's body, as it was transferred. A non-empty form is posted.
func (m *pagesBench) read(ctx context.Context, name, address string, form url.Values) (size int, err error) {
	method := http.MethodGet
	if len(form) > 0 {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept-Encoding", "gzip")
	request.Header.Set(pageHeader, name)
	request.AddCookie(&http.Cookie{Name: sessionCookie, Value: m.cookie}) //nolint:gosec // It is sent to this machine.
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return len(body), err
}

// pace requests the pages in turn, at the rate for the duration, however long one takes. It sells at the same time.
func (m *pagesBench) pace(ctx context.Context) (pagesRun, error) {
	if err := m.restock(ctx, nil); err != nil {
		return pagesRun{}, err
	}
	latencies := new(histogram)
	m.mu.Lock()
	m.run = latencies
	m.mu.Unlock()
	var (
		all       sync.WaitGroup
		committed map[uuid.UUID]time.Time
		failed    error
	)
	began := time.Now()
	if m.Sales > 0 {
		all.Go(func() {
			committed, failed = m.sellEvenly(ctx, m.svc, time.Second/time.Duration(m.Sales), m.Qty)
		})
	}
	interval := time.Second / time.Duration(m.Rate)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	routes := pageRoutes()
	visits := max(int(m.Duration/interval), len(routes)) // each at least once
	for i := range visits {
		all.Go(func() { m.visit(ctx, routes[i%len(routes)]) })
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	all.Wait()
	return newPagesRun(latencies, float64(len(committed))/time.Since(began).Seconds()), failed
}
