package bench

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

// Flood is the kind of request that the attackers of a bench flood the server with.
type Flood string

// The floods.
const (
	FloodRead        Flood = "read"  // pages of orders
	FloodOrder       Flood = "order" // one order by its id
	FloodQuote       Flood = "quote"
	FloodPatch       Flood = "patch"
	FloodCheckout    Flood = "checkout"
	FloodUnknownKeys Flood = "unknown-keys"
)

const (
	// neighbourSlice is roughly how long one measurement of the quiet company lasts, alone or attacked.
	neighbourSlice = 2 * time.Second
	// floodLead is how long the attackers flood before a measurement counts.
	floodLead = 500 * time.Millisecond
	// floodPause is how long an attacker waits after a 503. It ignores Retry-After.
	floodPause = 100 * time.Millisecond
	// floodPage is how many orders an attacker of FloodRead reads at a time, and floodLines how many admissions each
	// order has that attackers read.
	floodPage, floodLines = 100, 50
	// floodOrders are sold to the attacking company before the measurement if the attack reads orders.
	floodOrders = 2 * floodPage
)

// floodConnections returns the numbers of attacking connections that are measured.
func floodConnections() []int { return []int{16, 64, 400} }

// readsOrders reports whether the attackers read orders.
func (f Flood) readsOrders() bool { return f == FloodRead || f == FloodOrder }

// neighbourBench measures the calls of a quiet company while another company floods the server.
type neighbourBench struct {
	*bench

	side      *loadSide
	plan      loadPlan
	addr      string
	attackers []*attacker
}

// The indexes of the shops of a neighbourBench.
const (
	quietShop = iota
	floodShop
	neighbourShops
)

// measureNeighbour measures each number of attacking connections in turn. For each, it measures the quiet company alone
// and attacked, in alternating slices.
func (b *bench) measureNeighbour(ctx context.Context) (Report, error) {
	n, err := b.newNeighbourBench(ctx)
	if err != nil {
		return nil, err
	}
	report := &neighbourReport{
		Neighbour: b.Neighbour, Op: b.Op, Store: b.db.store(), Clients: b.Clients, Qty: b.Qty,
		Connections: b.Connections, Seconds: b.Duration.Seconds(),
	}
	for i := range b.Runs {
		var run neighbourRun
		for _, connections := range floodConnections() {
			level, err := n.level(ctx, i, connections)
			if err != nil {
				return nil, err
			}
			run.Levels = append(run.Levels, level)
		}
		report.Runs = append(report.Runs, run)
	}
	report.summarise()
	b.Progress("verifying the books", "")
	if report.Books, err = b.verify(ctx); err != nil {
		return nil, err
	}
	return report, report.failure()
}

// newNeighbourBench starts the server, with its background work, and its clients.
func (b *bench) newNeighbourBench(ctx context.Context) (*neighbourBench, error) {
	if b.Neighbour.readsOrders() {
		if err := b.sellToFlood(ctx); err != nil {
			return nil, err
		}
	}
	cfg := &ticketing.Config{
		SecretKeys: [][]byte{b.secret}, Grouping: b.Grouping, CompanySlots: b.CompanySlots,
	}
	serve := b.Server(cfg)
	svc, err := ticketing.New(b.store, cfg)
	if err != nil {
		return nil, err
	}
	n := &neighbourBench{bench: b, side: &loadSide{svc: svc, end: func() {}}}
	n.plan = loadPlan{Op: b.Op, HTTP: true, Qty: b.Qty, Clients: b.Clients, Shops: b.shops[:floodShop]}
	if err := n.side.overHTTP(ctx, serve, n.plan); err != nil {
		return nil, err
	}
	b.ends = append(b.ends, drained(svc), func(context.Context) error {
		n.side.end()
		return nil
	}, background(ctx, svc))
	n.addr = n.side.callers[0].(*httpCaller).addr //nolint:forcetypeassert // overHTTP makes no other.
	for i := range slices.Max(floodConnections()) {
		n.attackers = append(n.attackers, &attacker{
			httpCaller: httpCaller{addr: n.addr, op: b.Neighbour.op(), qty: b.Qty}, flood: b.Neighbour,
			shop: &b.shops[floodShop], turn: int64(i), // They do not all ask for the same order.
		})
	}
	return n, nil
}

// sellToFlood sells the orders that the attackers read.
func (b *bench) sellToFlood(ctx context.Context) error {
	b.Progress("preloading", "")
	known := make([]uuid.UUID, floodOrders)
	err := inParallel(ctx, floodOrders, settingUp, func(int) {}, func(ctx context.Context, i int) error {
		t := task{shop: &b.shops[floodShop], id: uuid.NewString()}
		order, err := b.filler.Checkout(ctx, t.shop.caller(), t.key(), t.checkout(floodLines))
		known[i] = order.ID
		return err
	})
	if err != nil {
		return err
	}
	b.shops[floodShop].Orders = known
	b.countSold(floodOrders*neighbourShops, floodLines)
	b.sold += floodOrders
	return b.db.settle(ctx)
}

// level measures one number of attacking connections for the requested duration, alone and attacked.
func (n *neighbourBench) level(ctx context.Context, run, connections int) (neighbourLevel, error) {
	quiet, attacked, flood := newTally(), newTally(), newFloodTally()
	slice := time.Duration(0)
	sides := []func() error{
		func() error { return n.measureQuiet(ctx, slice, quiet) },
		func() error {
			stop := n.attack(ctx, connections, slice, flood)
			err := n.measureQuiet(ctx, slice, attacked)
			stop()
			return err
		},
	}
	for left := n.Duration; left > 0; left -= slice {
		slice = left / max((left+neighbourSlice/2)/neighbourSlice, 1)
		n.Progress(fmt.Sprintf("run %d of %d, %d attacking connections", run+1, n.Runs, connections),
			"%s of %s", (n.Duration - left).Round(time.Millisecond), n.Duration)
		for _, measure := range sides {
			if err := measure(); err != nil {
				return neighbourLevel{}, err
			}
		}
		slices.Reverse(sides)
	}
	n.errors += flood.failed.Load()
	if n.Neighbour == FloodCheckout {
		n.sold += flood.answered.Load()
		n.countSold((flood.answered.Load()+flood.failed.Load())*neighbourShops, n.Qty)
	}
	return newNeighbourLevel(connections, quiet, attacked, flood), nil
}

// measureQuiet measures the calls of the quiet company for a time.
func (n *neighbourBench) measureQuiet(ctx context.Context, length time.Duration, to *tally) error {
	var order sliceOrder
	if err := n.restock(ctx, &order); err != nil {
		return err
	}
	order.For, order.Budget = length, math.MaxInt64
	if n.Op == OpCheckout {
		order.Budget = n.left / int64(n.Qty) / neighbourShops
	}
	l := &load{plan: n.plan, sides: [2]*loadSide{n.side}}
	if len(order.Events) > 0 {
		order.Events = order.Events[:floodShop]
	}
	outcome, err := l.slice(ctx, order)
	if err != nil {
		return err
	}
	to.add([]*sliceOutcome{outcome})
	if n.Op == OpCheckout {
		n.countSold(outcome.Begun*neighbourShops, n.Qty)
		n.sold += outcome.Succeeded
	}
	for _, failed := range outcome.Errors {
		n.errors += failed
	}
	return nil
}

// attack starts the flood and returns after floodLead. The function that it returns stops the flood and waits for the
// last responses.
func (n *neighbourBench) attack(ctx context.Context, connections int, length time.Duration, to *floodTally) func() {
	var all sync.WaitGroup
	var over atomic.Bool
	for _, a := range n.attackers[:connections] {
		all.Go(func() {
			defer context.AfterFunc(ctx, a.interrupt)()
			for ctx.Err() == nil && !over.Load() {
				a.flow(ctx, to)
			}
		})
	}
	lead := min(floodLead, length)
	select {
	case <-time.After(lead):
	case <-ctx.Done():
	}
	began := time.Now()
	answered, refused, failed := to.answered.Load(), to.refused.Load(), to.failed.Load()
	return func() {
		to.measured += time.Since(began)
		to.answeredThen += to.answered.Load() - answered
		to.refusedThen += to.refused.Load() - refused
		to.failedThen += to.failed.Load() - failed
		over.Store(true)
		all.Wait()
	}
}

// floodTally adds up the results of the attackers' calls.
type floodTally struct {
	// All calls.
	answered, refused, failed atomic.Int64
	// The calls that ended during the measurement, and its length.
	measured                              time.Duration
	answeredThen, refusedThen, failedThen int64
}

func newFloodTally() *floodTally { return &floodTally{} }

// attacker is a client of the attacking company with one connection.
type attacker struct {
	httpCaller

	flood Flood
	shop  *shop
	turn  int64
}

// flow makes one call.
func (a *attacker) flow(ctx context.Context, to *floodTally) {
	a.turn++
	a.compose()
	status, err := a.send(ctx)
	switch {
	case err != nil:
		to.failed.Add(1)
	case status == http.StatusServiceUnavailable:
		to.refused.Add(1)
	case status == a.expected():
		to.answered.Add(1)
		return
	default:
		to.failed.Add(1)
	}
	select {
	case <-time.After(floodPause):
	case <-ctx.Done():
	}
}

// op returns the operation of the attackers of FloodOrder, FloodQuote and FloodCheckout. The others write their
// requests themselves.
func (f Flood) op() Op {
	switch f {
	case FloodOrder:
		return OpOrder
	case FloodQuote:
		return OpQuote
	default:
		return OpCheckout
	}
}

// expected returns the status of a successful response to the attacker's request.
func (a *attacker) expected() int {
	switch a.flood {
	case FloodCheckout:
		return http.StatusCreated
	case FloodUnknownKeys:
		return http.StatusUnauthorized
	default:
		return http.StatusOK
	}
}

// compose builds the request.
func (a *attacker) compose() {
	method, path, key, body := http.MethodGet, "", a.shop.Key, ""
	switch a.flood {
	case FloodCheckout, FloodOrder, FloodQuote:
		a.write(&task{shop: a.shop, turn: a.turn, id: uuid.NewString()})
		return
	case FloodRead:
		path = "/orders?limit=" + strconv.Itoa(floodPage)
	case FloodPatch:
		method, path = http.MethodPatch, "/events/"+a.shop.Event.String()
		body = `{"status":"` + [...]string{"DRAFT", "PUBLISHED"}[a.turn%2] + `"}`
	case FloodUnknownKeys:
		path = "/events"
		key = unknownKey()
	}
	b := a.request[:0]
	b = append(b, method+" "+httpapi.DefaultPrefix+path+" HTTP/1.1\r\nHost: "+a.addr+
		"\r\nAuthorization: Bearer "+key+"\r\n"...)
	if body != "" {
		b = append(b, "Content-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n"...)
	}
	a.request = append(append(b, "\r\n"...), body...)
}

// unknownKey returns a well-formed key that belongs to no company.
func unknownKey() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // It never fails.
	return "svc_live." + uuid.NewString() + "." + base64.RawURLEncoding.EncodeToString(secret)
}

// send sends the request and discards the response body. That costs this machine less than keeping it.
func (a *attacker) send(ctx context.Context) (status int, err error) {
	if a.conn == nil {
		if err := a.dial(ctx); err != nil {
			return 0, err
		}
	}
	defer func() {
		if err != nil {
			_ = a.conn.Close()
			a.conn = nil
		}
	}()
	if _, err := a.conn.Write(a.request); err != nil {
		return 0, fmt.Errorf("send: %w", err)
	}
	answer, err := http.ReadResponse(a.in, nil)
	if err != nil {
		return 0, fmt.Errorf("read the response: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, fmt.Errorf("read the response: %w", err)
	}
	return answer.StatusCode, nil
}
