package bench

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// loadPlan is everything that a process needs to know to make its share of the calls.
type loadPlan struct {
	Database    string   `json:"database"`
	Schema      string   `json:"schema"`
	SecretKey   []byte   `json:"secretKey"`
	Connections int      `json:"connections"`
	RowGates    bool     `json:"rowGates"`
	DirectNodes bool     `json:"directNodes"`
	Grouping    grouping `json:"grouping"`
	Op          Op       `json:"op"`
	HTTP        bool     `json:"http"`
	Qty         int      `json:"qty"`
	Clients     int      `json:"clients"`
	Shops       []shop   `json:"shops"`
}

// grouping holds the limits of a [ticketing.Grouping] and a company's slots, as one process passes them to another.
type grouping struct {
	Off                        bool
	Calls, Lanes, Queue, Slots int
}

func (g grouping) config() ticketing.Grouping {
	return ticketing.Grouping{Off: g.Off, Calls: g.Calls, Lanes: g.Lanes, Queue: g.Queue}
}

// sliceOrder requests a short measurement of one side.
type sliceOrder struct {
	Ungrouped bool          `json:"ungrouped,omitempty"`
	For       time.Duration `json:"for"`
	// Budget is how many calls there is stock for. The slice ends early when they are used up.
	Budget int64 `json:"budget"`
	// Events are new events of the shops. They are set when the current events are nearly sold out.
	Events []uuid.UUID `json:"events,omitempty"`
	// Admissions are the admissions to validate, one for each call.
	Admissions []soldAdmission `json:"admissions,omitempty"`
}

// soldAdmission is an admission to validate.
type soldAdmission struct {
	Shop      int       `json:"shop"`
	Event     uuid.UUID `json:"event"`
	Admission uuid.UUID `json:"admission"`
}

// sliceOutcome is the result of a slice.
type sliceOutcome struct {
	// Window is how long calls were counted, and Completed how many succeeded in it. A call that began before the
	// window and ended in it counts; a call that ended after it does not. If no call succeeded in the window, it is
	// extended to the end of the last call.
	Window    time.Duration `json:"window"`
	Completed int64         `json:"completed"`
	// Latencies are those of all successful calls that began after the start of the window, however long they took.
	Latencies histogram `json:"latencies"`
	// Begun and Succeeded count all calls, including those outside the window.
	Begun     int64 `json:"begun"`
	Succeeded int64 `json:"succeeded"`
	// Errors counts the failed calls by code.
	Errors map[string]int64 `json:"errors,omitempty"`
	// Groups is how many groups ran, and Grouped how many calls they held in all.
	Groups  int64 `json:"groups"`
	Grouped int64 `json:"grouped"`
}

// load makes one process's share of the calls.
type load struct {
	plan  loadPlan
	sides [2]*loadSide // with group commit, without
}

// loadSide is a service with or without group commit, and its callers.
type loadSide struct {
	svc             *ticketing.Service
	callers         []caller
	end             func()
	groups, grouped atomic.Int64
}

func newLoad(ctx context.Context, p *Program, plan loadPlan, store driver.Store) (*load, error) {
	l := &load{plan: plan}
	for i := range l.sides {
		side := &loadSide{end: func() {}}
		grouping := plan.Grouping.config()
		grouping.Off = grouping.Off || i == 1
		grouping.OnGroup = func(run ticketing.GroupRun) {
			if plan.Op.counts(run.Operation) {
				side.groups.Add(1)
				side.grouped.Add(int64(run.Calls))
			}
		}
		var err error
		cfg := &ticketing.Config{SecretKeys: [][]byte{plan.SecretKey}, Grouping: grouping, CompanySlots: plan.Grouping.Slots}
		var serve func(*ticketing.Service) *http.Server
		if plan.HTTP {
			serve = p.Server(cfg)
		}
		side.svc, err = ticketing.New(store, cfg)
		if err != nil {
			return nil, err
		}
		l.sides[i] = side
		if plan.HTTP {
			err = side.overHTTP(ctx, serve, plan)
		} else {
			for range plan.Clients {
				side.callers = append(side.callers, &libraryCaller{svc: side.svc, store: store, op: plan.Op, qty: plan.Qty})
			}
		}
		if err != nil {
			return nil, errors.Join(err, l.close(ctx))
		}
	}
	return l, nil
}

// close stops the servers and waits for the running groups.
func (l *load) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	var errs []error
	for _, side := range l.sides {
		if side != nil {
			side.end()
			errs = append(errs, side.svc.Drain(ctx))
		}
	}
	return errors.Join(errs...)
}

// ramp returns how long callers run before a slice counts, so that the measurement begins under full load.
func ramp(slice time.Duration) time.Duration { return min(slice/10, 50*time.Millisecond) }

// errorPause is how long a caller waits after an error, as a client should.
const errorPause = 10 * time.Millisecond

// slice makes every caller call in a loop until the time is over, and waits for their last responses.
func (l *load) slice(ctx context.Context, order sliceOrder) (*sliceOutcome, error) {
	for i, event := range order.Events {
		l.plan.Shops[i].Event = event
	}
	side := l.sides[0]
	if order.Ungrouped {
		side = l.sides[1]
	}
	s := &loadSlice{plan: &l.plan, order: order, outcome: &sliceOutcome{Errors: map[string]int64{}}}
	groups, grouped := side.groups.Load(), side.grouped.Load()
	s.from = time.Now().Add(ramp(order.For))
	s.to = s.from.Add(order.For)
	var all sync.WaitGroup
	for _, caller := range side.callers {
		all.Go(func() {
			defer context.AfterFunc(ctx, caller.interrupt)()
			for s.next(ctx, caller) {
			}
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := s.outcome
	o.Window, o.Completed, o.Succeeded = order.For, s.completed.Load(), s.succeeded.Load()
	o.Begun = min(s.begun.Load(), order.Budget)
	if last := time.Duration(s.last.Load()); s.begun.Load() > order.Budget && last < order.For {
		o.Window = max(last, 1)
	}
	if late := s.late.Load(); o.Completed == 0 && late > 0 {
		o.Completed, o.Window = late, time.Duration(s.lastLate.Load())
	}
	o.Groups, o.Grouped = side.groups.Load()-groups, side.grouped.Load()-grouped
	return o, nil
}

// loadSlice is the state of a running slice.
type loadSlice struct {
	plan     *loadPlan
	order    sliceOrder
	from, to time.Time

	begun, completed, succeeded atomic.Int64
	last                        atomic.Int64 // when the last call within the window ended, since its start

	// Calls that succeeded after the window, and when the last of them ended, since the start of the window.
	late, lastLate atomic.Int64

	mu      sync.Mutex
	outcome *sliceOutcome
}

// next makes one call and reports whether there is time for another. So each caller makes at least one call.
func (s *loadSlice) next(ctx context.Context, c caller) bool {
	began := time.Now()
	if ctx.Err() != nil {
		return false
	}
	turn := s.begun.Add(1) - 1
	if turn >= s.order.Budget {
		return false
	}
	t := task{turn: turn, id: uuid.NewString()}
	if s.plan.Op == OpValidate {
		t.admission = s.order.Admissions[turn]
		t.shop = &s.plan.Shops[t.admission.Shop]
	} else {
		t.shop = &s.plan.Shops[turn%int64(len(s.plan.Shops))]
	}
	err := c.call(ctx, &t)
	ended := time.Now()
	if err != nil {
		s.failed(err)
		select {
		case <-time.After(errorPause):
		case <-ctx.Done():
		}
		return ended.Before(s.to)
	}
	s.succeeded.Add(1)
	if !began.Before(s.from) {
		s.outcome.Latencies.record(ended.Sub(began))
	}
	if since := ended.Sub(s.from); since >= 0 && !ended.After(s.to) {
		s.completed.Add(1)
		raise(&s.last, int64(since))
	} else if since > 0 {
		s.late.Add(1)
		raise(&s.lastLate, int64(since))
	}
	return ended.Before(s.to)
}

// raise raises a number to the given value if it is smaller.
func raise(number *atomic.Int64, to int64) {
	for now := number.Load(); to > now && !number.CompareAndSwap(now, to); {
		now = number.Load()
	}
}

func (s *loadSlice) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Errors[errorCode(err)]++
}

// errorCode returns the code that an error is counted under.
func errorCode(err error) string {
	if refused, ok := errors.AsType[*ticketing.Error](err); ok {
		return string(refused.Code)
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Code
	}
	switch {
	case errors.Is(err, ticketing.ErrBusy):
		return "BUSY"
	case errors.Is(err, ticketing.ErrUnavailable):
		return "UNAVAILABLE"
	case errors.Is(err, errNotAdmitted):
		return "NOT_ADMITTED"
	default:
		return string(ticketing.CodeInternal)
	}
}

// median returns the latency that half of the successful calls did not exceed. If calls succeeded but none began within
// the slice, they took longer than the window, and median returns the window.
func (o *sliceOutcome) median() time.Duration {
	median := o.Latencies.quantile(0.5)
	if median == 0 && o.Succeeded > 0 {
		return o.Window
	}
	return median
}

// add adds the outcome of another process for the same slice, or of another slice of the same side.
func (o *sliceOutcome) add(other *sliceOutcome) {
	o.Latencies.add(&other.Latencies)
	o.Completed += other.Completed
	o.Begun += other.Begun
	o.Succeeded += other.Succeeded
	o.Groups += other.Groups
	o.Grouped += other.Grouped
	for code, n := range other.Errors {
		o.Errors[code] += n
	}
}

// rate returns the number per second.
func rate(n int64, in time.Duration) float64 {
	return float64(n) / cmp.Or(in.Seconds(), 1)
}
