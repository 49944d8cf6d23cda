package main

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// loadPlan is all that a process needs to know to make its part of the calls.
type loadPlan struct {
	Database    string      `json:"database"`
	Schema      string      `json:"schema"`
	SecretKey   []byte      `json:"secretKey"`
	Connections int         `json:"connections"`
	Grouping    grouping    `json:"grouping"`
	Op          benchOp     `json:"op"`
	HTTP        bool        `json:"http"`
	Qty         int         `json:"qty"`
	Clients     int         `json:"clients"`
	Shops       []benchShop `json:"shops"`
}

// sliceOrder asks for a short turn of one side.
type sliceOrder struct {
	Ungrouped bool          `json:"ungrouped,omitempty"`
	For       time.Duration `json:"for"`
	// Budget is how many calls there is stock for. The slice ends early when they are used up.
	Budget int64 `json:"budget"`
	// Events are new events of the shops, where those they have are nearly sold out.
	Events []uuid.UUID `json:"events,omitempty"`
	// Admissions are what is validated, one a call.
	Admissions []soldAdmission `json:"admissions,omitempty"`
}

// soldAdmission is an admission to validate.
type soldAdmission struct {
	Shop      int       `json:"shop"`
	Event     uuid.UUID `json:"event"`
	Admission uuid.UUID `json:"admission"`
}

// sliceOutcome is what a slice came to.
type sliceOutcome struct {
	// Window is how long calls were counted, and Completed how many succeeded in it. What began before it and ended in
	// it counts, what ended after it does not. Where all calls took longer, the window lasts until their end.
	Window    time.Duration `json:"window"`
	Completed int64         `json:"completed"`
	// Latencies are those of all successful calls that began in the window, however long they took.
	Latencies histogram `json:"latencies"`
	// Begun and Succeeded are all calls, those beside the window too.
	Begun     int64 `json:"begun"`
	Succeeded int64 `json:"succeeded"`
	// Errors are calls that failed, by code.
	Errors map[string]int64 `json:"errors,omitempty"`
	// Groups ran, with this many calls in all.
	Groups  int64 `json:"groups"`
	Grouped int64 `json:"grouped"`
}

// load makes a process's part of the calls.
type load struct {
	plan  loadPlan
	sides [2]*loadSide // grouped, ungrouped
}

// loadSide is a service with or without group commit, and those who call it.
type loadSide struct {
	svc             *ticketing.Service
	callers         []benchCaller
	end             func()
	groups, grouped atomic.Int64
}

func newLoad(ctx context.Context, plan loadPlan, store ticketing.Store) (*load, error) {
	l := &load{plan: plan}
	for i := range l.sides {
		side := &loadSide{end: func() {}}
		grouping := plan.Grouping.config()
		grouping.Off = grouping.Off || i == 1
		grouping.Ran = func(run ticketing.GroupRun) {
			if run.Operation == plan.Op.grouping(plan.HTTP) {
				side.groups.Add(1)
				side.grouped.Add(int64(run.Calls))
			}
		}
		var err error
		cfg := &ticketing.Config{SecretKeys: [][]byte{plan.SecretKey}, Grouping: grouping, CompanySlots: plan.Grouping.Slots}
		side.svc, err = ticketing.New(store, cfg)
		if err != nil {
			return nil, err
		}
		l.sides[i] = side
		if plan.HTTP {
			err = side.overHTTP(ctx, plan)
		} else {
			for range plan.Clients {
				side.callers = append(side.callers, &libraryCaller{svc: side.svc, store: store, op: plan.Op, qty: plan.Qty})
			}
		}
		if err != nil {
			return nil, errors.Join(err, l.shut(ctx))
		}
	}
	return l, nil
}

// shut ends the servers and waits for the groups that are under way.
func (l *load) shut(ctx context.Context) error {
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

// ramp is how long callers run before a slice counts, so that it begins in full swing.
func ramp(slice time.Duration) time.Duration { return min(slice/10, 50*time.Millisecond) }

// errorPause is how long a caller waits after an error, as a client should.
const errorPause = 10 * time.Millisecond

// slice has every caller call one after the other until the time is over, and waits for their last answers.
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

// loadSlice is a slice under way.
type loadSlice struct {
	plan     *loadPlan
	order    sliceOrder
	from, to time.Time

	begun, completed, succeeded atomic.Int64
	last                        atomic.Int64 // when the last call within the window ended, from its beginning

	late, lastLate atomic.Int64 // the calls that succeeded after the window, and when the last of them ended

	mu      sync.Mutex
	outcome *sliceOutcome
}

// next makes one call and tells whether there is time for another, so that each caller makes one at least.
func (s *loadSlice) next(ctx context.Context, caller benchCaller) bool {
	began := time.Now()
	if ctx.Err() != nil {
		return false
	}
	turn := s.begun.Add(1) - 1
	if turn >= s.order.Budget {
		return false
	}
	task := benchTask{turn: turn, id: uuid.NewString()}
	if s.plan.Op == opValidate {
		task.admission = s.order.Admissions[turn]
		task.shop = &s.plan.Shops[task.admission.Shop]
	} else {
		task.shop = &s.plan.Shops[turn%int64(len(s.plan.Shops))]
	}
	err := caller.call(ctx, &task)
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

// raise makes a number at least as large as another.
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

// errorCode is what an error counts under.
func errorCode(err error) string {
	if refused, ok := errors.AsType[*ticketing.Error](err); ok {
		return string(refused.Code)
	}
	if own, ok := errors.AsType[*failure](err); ok {
		return own.code
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

// median is what half of the latencies were not above. Where calls succeeded and none began within the slice, they took
// longer than that.
func (o *sliceOutcome) median() time.Duration {
	median := o.Latencies.quantile(0.5)
	if median == 0 && o.Succeeded > 0 {
		return o.Window
	}
	return median
}

// add joins what another process made of the same slice, or another slice of the same side.
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

// rate is how many a second.
func rate(n int64, in time.Duration) float64 {
	return float64(n) / cmp.Or(in.Seconds(), 1)
}
