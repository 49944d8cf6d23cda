package ticketing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/group"
)

// Grouping configures how concurrent calls share a transaction. All checkouts of a company need the lock of its FLOAT
// wallet. With a transaction each, they would wait for each other's lock, for a dozen round trips and for a flush to
// disk. Instead, the calls that arrive while a transaction runs share the next one. A call that finds nothing running
// starts at once.
//
// Each call of a group is decided separately, on the state that the earlier calls leave. A refused call changes nothing
// and does not affect the others. No result is returned before the group commits.
//
// On PostgreSQL the reads of orders and quotes are grouped, too, while more than eight reads run. With every store,
// calls for the same page of orders share a read while more than eight pages are read. That is no group: OnGroup is not
// called, and the trace of the call that reads has the statements.
type Grouping struct {
	// Off runs every call in a transaction of its own.
	Off bool
	// Lanes is how many groups may run at the same time. A company is in at most one of them at a time. Defaults to
	// what works best with the store: 2, or 1 with SQLite. At most 64.
	Lanes int
	// Calls is the most calls in a group. Defaults to 64. At most 1000.
	Calls int
	// Queue is how many calls of an operation may wait. If one more comes, the company with the most waiting calls has
	// its newest call refused with [ErrBusy]. Defaults to 4096. At most 1,000,000.
	Queue int
	// ByCompany limits a group to one company, for databases that keep companies in different places. A store that needs
	// this sets it by itself.
	ByCompany bool
	// OnGroup is called with every group after it ran. It must be quick. A panic in it is logged and stops nothing.
	// Defaults to no function.
	OnGroup func(run GroupRun)
	// OnQueueFull is called with the operation of every call that found its queue full. It must be quick. A panic in it
	// is logged and stops nothing. Defaults to no function.
	OnQueueFull func(operation string)

	reads bool // Orders and quotes share transactions, too: the store needs one message for all of them.
	local bool // A transaction takes a processor of this process: see [driver.Grouping].
}

// on returns the grouping with its zero fields set to what works best with the store.
func (g Grouping) on(store driver.Store) Grouping {
	// An explicit number of lanes is kept; a store's need to confine groups cannot be turned off.
	if knowing, ok := store.(driver.GroupingStore); ok {
		best := knowing.Grouping()
		g.Lanes = cmp.Or(g.Lanes, best.Lanes)
		g.ByCompany = g.ByCompany || best.ByCompany
		g.reads, g.local = best.Reads, best.Local
	}
	return g
}

// Upper limits of the fields of Grouping.
const (
	maxLanes = 64
	maxCalls = 1000
	maxQueue = 1_000_000
)

// check returns an error for a number that is out of its range.
func (g Grouping) check() error {
	for _, number := range []struct {
		name        string
		value, most int
	}{
		{"Lanes", g.Lanes, maxLanes},
		{"Calls", g.Calls, maxCalls},
		{"Queue", g.Queue, maxQueue},
	} {
		if number.value < 0 || number.value > number.most {
			return fmt.Errorf("ticketing: Grouping.%s is %d; it must be from 0, for the default, to %d",
				number.name, number.value, number.most)
		}
	}
	return nil
}

// The names in metrics and logs of the look-ups of API keys, and of reads that calls may share.
const (
	operationAuthenticate = "authenticate"
	operationGetOrder     = "orders.get"
	operationQuote        = "quotes.create"
	operationListOrders   = "orders.list"
)

// group creates the lanes of the grouped operations: checkouts, validations, orders and quotes of many calls, and
// look-ups of API keys. A bound service has no lanes: one goroutine at a time uses the host's transaction, so there is
// nothing to group.
func (s *Service) group(g Grouping) {
	s.onQueueFull = g.OnQueueFull
	s.checkouts, s.scans = newCheckouts(s, g), newScans(s, g)
	s.orders = &sharedRead[uuid.UUID, Order]{name: operationGetOrder, grant: GrantOrderRead, read: readOrders}
	s.orders.share(s, g)
	s.quotes = &sharedRead[priceQuery, driver.PriceList]{
		name: operationQuote, grant: GrantInventoryRead, read: readPriceLists,
	}
	s.quotes.share(s, g)
	s.sharesPages, s.orderPages.Patience = !g.Off, slotPatience
	if s.lookups = lanesOf(s, g, operationAuthenticate, 0, s.lookUpKeys); s.lookups != nil {
		s.drains = append(s.drains, s.lookups.Drain)
	}
}

// GroupRun describes one run of a group, for metrics. A group that is split after a failure has a run for each part.
type GroupRun struct {
	Operation string // such as "checkouts.create", "orders.get" or "authenticate"
	Calls     int
	Duration  time.Duration
	// Err is the error of the transaction. It is nil even if calls of the group were refused.
	Err error
}

const (
	// groupTimeout is the time limit of one run. The deadline of a caller does not apply, since other callers' calls
	// are in the same run.
	groupTimeout = 20 * time.Second
	// Groups wait for callers that call again in less than groupLinger of the time that as many calls take that come by
	// chance, or in less than groupShortLinger: these call again at once.
	groupLinger, groupShortLinger = 0.9, 0.15
	// groupFill is the part of a large group of checkouts or validations that has to wait before a second group starts.
	groupFill = 0.5
	// groupPatience is how long a group waits for a lock before the busy company is run alone.
	groupPatience = 50 * time.Millisecond
	// groupAdmissions bounds the admissions that a group of checkouts sells, and with them the size of its writes.
	groupAdmissions = 640
)

// lanes are the lanes of one operation. The key is the company, or the API key that is looked up.
//
// Calls of one key run in the order of their arrival and never in two groups at a time.
type lanes[T any] struct {
	*group.Lanes[uuid.UUID, T]

	full func(context.Context) // is called for a call that found its queue full
}

// A traced is a call of a group. Its span is nil unless it is traced.
type traced interface{ requestSpan() trace.Span }

// lanesOf returns the lanes of an operation, or nil if grouping is off. weight is the most that the calls of a group
// weigh together; 0 is no limit. A group runs in its own context: that of a caller would end the calls of the others
// with it.
func lanesOf[T traced](
	s *Service, g Grouping, operation string, weight int,
	run func(ctx context.Context, patience time.Duration, calls []T) error,
) *lanes[T] {
	if g.Off {
		return nil
	}
	config := group.Config[uuid.UUID, T]{
		Run: run, Class: classOf, Lanes: g.Lanes, Size: g.Calls, Weight: weight, Queue: g.Queue, Single: g.ByCompany,
		Linger: groupLinger, Timeout: groupTimeout, Patience: groupPatience,
	}
	// With ByCompany, the callers of one company would delay the group of another that waits already. A local database
	// leaves the processor idle that requests and responses need.
	if g.ByCompany || g.local {
		config.Linger = groupShortLinger
	}
	if operation == opCheckout || operation == opValidate {
		config.Fill = groupFill
	}
	if s.telemetry.traces {
		config.Run = func(ctx context.Context, patience time.Duration, calls []T) (err error) {
			spans := make([]trace.Span, len(calls))
			for i, c := range calls {
				spans[i] = c.requestSpan()
			}
			ctx, end := s.telemetry.group(ctx, operation, spans)
			err = errPanicked // A panic leaves it.
			defer func() { end(err) }()
			err = run(ctx, patience, calls)
			return err
		}
	}
	if g.OnGroup != nil {
		config.Ran = func(calls int, took time.Duration, err error) {
			defer func() { s.contain(s.log.Error, "Grouping.OnGroup", recover()) }()
			g.OnGroup(GroupRun{Operation: operation, Calls: calls, Duration: took, Err: err})
		}
	}
	return &lanes[T]{Lanes: group.New(config), full: func(ctx context.Context) { s.queueFull(ctx, operation) }}
}

// logError returns the function that logs an error of a call, with its trace.
func (s *Service) logError(ctx context.Context) func(string, ...any) {
	return func(text string, args ...any) {
		s.log.ErrorContext(ctx, text, args...) //nolint:sloglint // The text is a literal of the caller.
	}
}

// queueFull counts a call that found its queue full, and calls the host's function.
func (s *Service) queueFull(ctx context.Context, operation string) {
	s.refusals.add(ctx, operation)
	if s.onQueueFull != nil {
		defer func() { s.contain(s.logError(ctx), "Grouping.OnQueueFull", recover()) }()
		s.onQueueFull(operation)
	}
}

// contain logs a panic of a function of the host. value is what recover returned. Such a function may run in a
// goroutine of the service, where a panic would end the process. Only the first panic is logged, and without its value,
// which may hold what no log should. The caller calls recover in its own deferred function, where alone it returns the
// value.
func (s *Service) contain(log func(string, ...any), function string, value any) {
	if value != nil {
		s.contained.Do(func() {
			log("a function of the host panicked",
				slog.String("function", function), slog.String("type", fmt.Sprintf("%T", value)))
		})
	}
}

// classOf returns the class of a transaction's error for its group.
//
// Busy splits a group by company, so that the others go on. Gone fails all calls at once, those that wait included.
// Poison halves the group until the call that fails is alone.
func classOf(err error) group.Class {
	switch {
	case errors.Is(err, ErrBusy):
		return group.Busy
	case errors.Is(err, ErrUnavailable):
		return group.Gone
	default:
		return group.Poison
	}
}

// mayRunAgain reports whether a group runs its calls again after a run that ended with err. If the database is gone, it
// runs none again. A failed group of several calls is split, and its parts run. The calls of a company whose lock is
// held run again alone, without a limit on their patience. If that run is busy as well, it was their last.
func mayRunAgain(err error, calls int, patience time.Duration) bool {
	if err == nil {
		return false
	}
	switch classOf(err) {
	case group.Gone:
		return false
	case group.Busy:
		return patience > 0
	default:
		return calls > 1
	}
}

// inGroup runs a call in a group and waits for its result. A call that found its queue full, or came after Drain, is
// [ErrBusy]. If the context ends first it returns the error of the context. A call that runs then goes on without its
// caller.
func inGroup[T any](ctx context.Context, lanes *lanes[T], key uuid.UUID, weight int, call T) error {
	err := lanes.Do(ctx, key, weight, call)
	if errors.Is(err, group.ErrFull) {
		lanes.full(ctx)
	}
	if errors.Is(err, group.ErrFull) || errors.Is(err, group.ErrClosed) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// Drain refuses new calls with [ErrBusy] and waits for the groups that are running, even if their callers have gone.
// Call it after your server has stopped and before you close the database.
func (s *Service) Drain(ctx context.Context) error {
	defer s.refusals.flush()
	// Deliveries and other background work are not drained here: Run ends them with its context.
	for _, drain := range s.drains {
		if err := drain(ctx); err != nil {
			return fmt.Errorf("ticketing: drain: %w", err)
		}
	}
	return nil
}
