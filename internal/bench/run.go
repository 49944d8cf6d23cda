package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// bench is the state of a running bench.
type bench struct {
	*Config
	*Program

	db     *benchDatabase
	store  driver.Store
	secret []byte
	// filler fills the tables, in the largest possible groups.
	filler  *ticketing.Service
	workers []worker
	// ends are the functions to call at the end, last first, even after an interruption.
	ends     []func(context.Context) error
	shops    []shop
	ceiling  *ceiling // nil if not requested
	baseline *bench   // one process with one company; nil if not requested

	left               int64           // unsold admissions of every shop's event
	supply             []soldAdmission // admissions to validate
	fastest            float64         // calls a second of the fastest slice so far
	slowest            time.Duration   // median latency of the slowest slice so far
	startedValidations []soldAdmission // admissions whose validation was started
	admitted           int64           // acknowledged validations
	sold               int64           // acknowledged checkouts
	// undispatched is a lower bound of the number of orders with a fact to dispatch.
	undispatched int64
	errors       int64
	preloading   time.Duration
}

const (
	// sliceLength is roughly how long a slice of one side lasts when its calls are fast. With slow calls a slice is so
	// long that most of them begin and end within it, but at most longestSlice, so that other load on the machine
	// affects both sides.
	sliceLength  = 500 * time.Millisecond
	longestSlice = 10 * time.Second
	// callsOfSlice is how many consecutive calls a slice has time for.
	callsOfSlice = 5
	// fillingGroup is how many checkouts of two admissions fit into a group.
	fillingGroup = 320
	// leastLeft is the number of unsold admissions at which an event is replaced before the next slice.
	leastLeft = ticketing.MaxTierAdmissions / 2
	// leastOrders is the minimum number of orders to read.
	leastOrders = 100
	// keptOrders is the maximum number of a company's orders that are read.
	keptOrders = 10_000
	// firstSupply is how many admissions are ready to validate in the first slice, for each second of it.
	firstSupply = 10_000
	// secretKey is the number of bytes of the bench's secret key.
	secretKey = 32
	// drainTimeout bounds the wait for calls whose callers have left.
	drainTimeout = 25 * time.Second
)

// Run runs a bench, and removes what it made. The report is nil if the bench did not complete. A bench that completed
// fails nevertheless if no call succeeded, or if the books are not in order. If something could not be removed, the
// error is a [*LeftError].
func Run(ctx context.Context, p *Program, c *Config) (report Report, err error) {
	l, err := newBenchDatabase(p, c)
	if err != nil {
		return nil, err
	}
	l.serves = c.HTTP
	defer func() {
		if l.made {
			p.Progress("removing what was made", "")
		}
		if left, ok := errors.AsType[*LeftError](l.remove(ctx)); ok {
			left.After = err
			err = left
		}
	}()
	b := &bench{Config: c, Program: p, db: l}
	defer func() {
		for _, end := range slices.Backward(b.ends) {
			err = errors.Join(err, end(ctx))
		}
	}()
	if err := b.setUp(ctx); err != nil {
		return nil, err
	}
	switch {
	case c.Op == OpWebhook:
		return b.measureWebhooks(ctx)
	case c.Op == OpMail:
		return b.measureMails(ctx)
	case c.Op == OpPages && c.Rush:
		return b.measureRush(ctx)
	case c.Op == OpPages:
		return b.measurePages(ctx)
	case c.Mails:
		return b.measureMailLoad(ctx)
	case c.Stale:
		return b.measureStale(ctx)
	}
	if c.Neighbour != "" {
		return b.measureNeighbour(ctx)
	}
	return b.measure(ctx)
}

// measure measures calls of one operation.
func (b *bench) measure(ctx context.Context) (Report, error) {
	if b.Ceiling {
		var err error
		if b.ceiling, err = newCeiling(ctx, b); err != nil {
			return nil, err
		}
	}
	if err := b.openBaseline(ctx); err != nil {
		return nil, err
	}
	if b.Background {
		b.ends = append(b.ends, background(ctx, b.filler))
	}
	if err := b.startWorkers(ctx); err != nil {
		return nil, err
	}
	report := b.newReport()
	for i := range b.Runs {
		run, err := b.run(ctx, i)
		if err != nil {
			return nil, err
		}
		report.Runs = append(report.Runs, run)
	}
	report.summarise()
	b.Progress("verifying the books", "")
	var err error
	if report.Books, err = b.verifyBoth(ctx, b.baseline); err != nil {
		return nil, err
	}
	return report, report.failure()
}

// openBaseline sets up one process with one company, if requested. The company has as many orders as the others each.
func (b *bench) openBaseline(ctx context.Context) error {
	if !b.Baseline {
		return nil
	}
	c := *b.Config
	c.Companies, c.Processes = 1, 1
	var err error
	if b.baseline, err = b.newCompany(ctx, &c, b.firstOrders()/b.Companies); err != nil {
		return err
	}
	if err := b.db.settle(ctx); err != nil {
		return err
	}
	return b.baseline.startWorkers(ctx)
}

// setUp opens the database, creates the companies and preloads their orders.
func (b *bench) setUp(ctx context.Context) error {
	b.secret = make([]byte, secretKey)
	_, _ = rand.Read(b.secret) // It never fails.
	opened, closeStore, err := b.db.open(ctx, b.Connections)
	if err != nil {
		return err
	}
	b.Progress("setting up", "")
	b.store = opened
	b.ends = append(b.ends, func(context.Context) error { return closeStore() })
	b.filler, err = ticketing.New(opened, &ticketing.Config{
		SecretKeys: [][]byte{b.secret}, Grouping: ticketing.Grouping{Calls: fillingGroup},
	})
	if err != nil {
		return err
	}
	b.ends = append(b.ends, drained(b.filler))
	if err := b.filler.Ready(ctx); err != nil {
		return err
	}
	n, overHTTP := b.Companies, b.HTTP
	if b.Neighbour != "" {
		n, overHTTP = neighbourShops, true
	}
	b.shops, err = openShops(ctx, b.filler, opened, n, overHTTP, func(done int) {
		b.Progress("making companies", "%d of %d", done, n)
	})
	if err != nil {
		return err
	}
	b.left = ticketing.MaxTierAdmissions
	return b.preload(ctx)
}

// drained returns a function that waits for groups whose callers may have left.
func drained(svc *ticketing.Service) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		return svc.Drain(ctx)
	}
}

// background runs the background work until the function that it returns is called.
func background(ctx context.Context, svc *ticketing.Service) func(context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- svc.Run(ctx) }()
	return func(context.Context) error {
		cancel()
		return <-done
	}
}

// limits returns the limits of the groups and of the company's slots, for other processes.
func (b *bench) limits() grouping {
	g := b.Grouping
	return grouping{Off: g.Off, Calls: g.Calls, Lanes: g.Lanes, Queue: g.Queue, Slots: b.CompanySlots}
}

// startWorkers starts the processes. The first one is this process.
func (b *bench) startWorkers(ctx context.Context) error {
	plan := loadPlan{
		Database: b.db.dsn, Schema: b.db.schema, SecretKey: b.secret, Connections: b.Connections,
		RowGates: b.RowGates, DirectNodes: b.DirectNodes,
		Grouping: b.limits(), Op: b.Op, HTTP: b.HTTP, Qty: b.Qty, Shops: b.shops,
	}
	for i := range b.Processes {
		plan.Clients = (b.Clients + i) / b.Processes
		var w worker
		var err error
		if i == 0 {
			w, err = newLoad(ctx, b.Program, plan, b.store)
		} else {
			w, err = startGenerator(ctx, b.Program, plan)
		}
		if err != nil {
			return err
		}
		b.workers = append(b.workers, w)
		b.ends = append(b.ends, w.close)
	}
	return nil
}

// run measures each side for the requested duration, in alternating slices.
func (b *bench) run(ctx context.Context, number int) (opRun, error) {
	var slice time.Duration
	grouped, ungrouped, sql, baseline := newTally(), newTally(), newTally(), newTally()
	sides := []func() error{func() error { return b.runSlice(ctx, grouped, sliceOrder{For: slice}) }}
	if b.compares() {
		sides = append(sides, func() error { return b.runSlice(ctx, ungrouped, sliceOrder{For: slice, Ungrouped: true}) })
	}
	if b.ceiling != nil {
		sides = append(sides, func() error { return b.ceiling.slice(ctx, slice, sql) })
	}
	if b.baseline != nil {
		sides = append(sides, func() error { return b.baseline.runSlice(ctx, baseline, sliceOrder{For: slice}) })
	}
	for left := b.Duration; left > 0; left -= slice {
		if b.baseline != nil {
			b.slowest = max(b.slowest, b.baseline.slowest)
		}
		slice = b.sliceOf(left)
		b.Progress(fmt.Sprintf("run %d of %d", number+1, b.Runs), "%s of %s  %.0f/s",
			(b.Duration - left).Round(time.Millisecond), b.Duration, grouped.rate())
		for _, measure := range sides {
			if err := measure(); err != nil {
				return opRun{}, err
			}
		}
		slices.Reverse(sides) // Neither side always runs after the other.
	}
	measured := newOpRun(b, grouped, ungrouped, sql, baseline)
	if !b.Background {
		return measured, nil
	}
	behind, err := b.dispatchBehind(ctx)
	measured.Behind = new(rounded(float64(behind) / float64(time.Millisecond)))
	return measured, err
}

// sliceOf returns the length of the next slice: an equal part of the time left.
func (b *bench) sliceOf(left time.Duration) time.Duration {
	length := min(max(sliceLength, callsOfSlice*b.slowest), longestSlice)
	return left / max((left+length/2)/length, 1)
}

// compares reports whether the bench also measures without group commit.
func (b *bench) compares() bool { return !b.NoCompare && b.Op.comparable(b.HTTP) }

// runSlice makes all processes call for one slice.
func (b *bench) runSlice(ctx context.Context, of *tally, order sliceOrder) error {
	orders := make([]sliceOrder, len(b.workers))
	switch b.Op {
	case OpValidate:
		if err := b.supplyAdmissions(ctx, order.For); err != nil {
			return err
		}
		each := len(b.supply) / len(b.workers)
		for i := range orders {
			orders[i] = order
			orders[i].Admissions = b.supply[i*each : (i+1)*each]
			orders[i].Budget = int64(each)
		}
	case OpDispatch:
		if err := b.sellToDispatch(ctx, order.For); err != nil {
			return err
		}
		for i := range orders {
			orders[i] = order
			orders[i].Budget = b.undispatched / dispatchedFacts
		}
	case OpQuote, OpRead, OpOrder, OpOrders:
		for i := range orders {
			orders[i] = order
			orders[i].Budget = math.MaxInt64
		}
	default:
		if err := b.restock(ctx, &order); err != nil {
			return err
		}
		// The budget leaves a margin so that no shop sells out: each process calls each shop at least once a round.
		budget := b.left/int64(b.Qty)/int64(len(b.workers))*int64(len(b.shops)) - int64(len(b.shops))
		for i := range orders {
			orders[i] = order
			orders[i].Budget = budget
		}
	}
	outcomes := make([]*sliceOutcome, len(b.workers))
	errs := make([]error, len(b.workers))
	var all sync.WaitGroup
	for i, w := range b.workers {
		all.Go(func() { outcomes[i], errs[i] = w.slice(ctx, orders[i]) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var rest []soldAdmission
	for i, o := range outcomes {
		if b.Op == OpValidate {
			rest = append(rest, orders[i].Admissions[o.Begun:]...)
			b.startedValidations = append(b.startedValidations, orders[i].Admissions[:o.Begun]...)
			b.admitted += o.Succeeded
		}
		if b.Op == OpDispatch {
			b.undispatched -= min(o.Begun*dispatchedFacts, b.undispatched)
		}
		if b.Op == OpCheckout {
			b.countSold(o.Begun, b.Qty)
			b.sold += o.Succeeded
		}
		for _, n := range o.Errors {
			b.errors += n
		}
	}
	b.supply = rest
	b.fastest = max(b.fastest, of.add(outcomes))
	for _, o := range outcomes {
		b.slowest = max(b.slowest, o.median())
	}
	return nil
}
