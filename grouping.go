package ticketing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/group"
)

// Grouping says how calls that come at the same time share a transaction. Checkouts of one company all meet at its
// FLOAT wallet: a transaction each, they would wait for one another's lock, a dozen round trips and a flush to disk.
// So the calls that arrive while a transaction runs go together in the next one. A call that finds nothing running
// goes at once and loses nothing.
//
// Each call of a group is decided on its own, against the state that the ones before it leave: one that is refused
// changes nothing, and the others go on. No answer leaves before the group is committed.
type Grouping struct {
	// Off runs every call in a transaction of its own.
	Off bool
	// Lanes is how many groups may run at the same time; a company is in one of them at a time. Defaults to what the store
	// works best with: 2, or 1 with SQLite. At most 64.
	Lanes int
	// Calls bounds a group. Defaults to 64. At most 1000.
	Calls int
	// Queue is how many calls of an operation may wait. Of one more, the company with the most calls that wait has its
	// newest refused with [ErrBusy]. Defaults to 4096. At most 1,000,000.
	Queue int
	// ByCompany confines a group to one company, for databases that keep companies in different places. A store that
	// knows that it needs this asks for it by itself.
	ByCompany bool
	// Ran is told of every group after it ran. It must be quick; a panic of it is logged and stops nothing. Defaults to
	// nobody.
	Ran func(run GroupRun)
	// Refused is told of every call that found its queue full, by its operation. It must be quick; a panic of it is
	// logged and stops nothing. Defaults to nobody.
	Refused func(operation string)
}

// A GroupingStore knows how calls are grouped best on it. [New] asks it for what [Config.Grouping] leaves open.
type GroupingStore interface {
	Store
	Grouping() Grouping
}

// on fills what is left open with what the store works best with.
func (g Grouping) on(store Store) Grouping {
	if knowing, ok := store.(GroupingStore); ok {
		best := knowing.Grouping()
		g.Lanes = cmp.Or(g.Lanes, best.Lanes)
		g.ByCompany = g.ByCompany || best.ByCompany
	}
	return g
}

const (
	maxLanes = 64
	maxCalls = 1000
	maxQueue = 1_000_000
)

// check refuses numbers that no lane works with.
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

// operationAuthenticate is what the look-ups of API keys are called in metrics and logs.
const operationAuthenticate = "authenticate"

// group makes the lanes of what is grouped: checkouts, validations and the look-ups of API keys.
func (s *Service) group(g Grouping) {
	s.onQueueFull = g.Refused
	s.checkouts, s.scans = newCheckouts(s, g), newScans(s, g)
	if s.lookups = lanesOf(s, g, operationAuthenticate, 0, s.lookUpKeys); s.lookups != nil {
		s.drains = append(s.drains, s.lookups.Drain)
	}
}

// GroupRun is one run of a group, for metrics.
type GroupRun struct {
	Operation string // such as "checkouts.create", or "authenticate"
	Calls     int
	Duration  time.Duration
	Err       error // of the transaction; nil although calls of it were refused
}

const (
	// groupTimeout is the time of one run. It is not that of a caller, who may leave.
	groupTimeout = 20 * time.Second
	// groupLinger is the part of a group's time, an eighth, that the next one may wait for those who come again.
	groupLinger = 8
	// groupPatience is how long a group waits for a lock before the busy company goes alone.
	groupPatience = 50 * time.Millisecond
	// groupAdmissions bounds the admissions that a group of checkouts sells.
	groupAdmissions = 640
)

// lanes are those in which calls of one kind travel. The key is the company, or the API key that is looked up.
type lanes[T any] struct {
	*group.Lanes[uuid.UUID, T]

	full func() // is told of a call that found its queue full
}

// lanesOf makes the lanes of an operation, or none.
func lanesOf[T any](
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
	if g.Ran != nil {
		config.Ran = func(calls int, took time.Duration, err error) {
			defer func() { s.contain("Grouping.Ran", recover()) }()
			g.Ran(GroupRun{Operation: operation, Calls: calls, Duration: took, Err: err})
		}
	}
	return &lanes[T]{Lanes: group.New(config), full: func() { s.queueFull(operation) }}
}

// queueFull counts a call that found its queue full.
func (s *Service) queueFull(operation string) {
	s.refusals.add(operation)
	if s.onQueueFull != nil {
		defer func() { s.contain("Grouping.Refused", recover()) }()
		s.onQueueFull(operation)
	}
}

// contain is given what recover found after a function of the host's, which may run in a goroutine of the service's. The
// first panic is logged, without its value: that may hold what no log should.
func (s *Service) contain(function string, value any) {
	if value != nil {
		s.contained.Do(func() {
			s.log.Error("a function of the host panicked",
				slog.String("function", function), slog.String("type", fmt.Sprintf("%T", value)))
		})
	}
}

// classOf is what an error of a transaction means to its group.
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

// mayRunAgain tells whether a group runs calls again after a run that ended with an error: those of several are taken
// apart, and those of a company whose lock is held go alone: those that do, with no bound on their patience, are
// answered.
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

// inGroup sends a call along with others, and waits for it.
func inGroup[T any](ctx context.Context, lanes *lanes[T], key uuid.UUID, weight int, call T) error {
	err := lanes.Do(ctx, key, weight, call)
	if errors.Is(err, group.ErrFull) {
		lanes.full()
	}
	if errors.Is(err, group.ErrFull) || errors.Is(err, group.ErrClosed) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// Drain waits for the groups that are under way, some of whose callers may have left, and refuses new calls with
// [ErrBusy] from then on. A host calls it between the end of its server and the closing of its database.
func (s *Service) Drain(ctx context.Context) error {
	defer s.refusals.flush()
	for _, drain := range s.drains {
		if err := drain(ctx); err != nil {
			return fmt.Errorf("ticketing: drain: %w", err)
		}
	}
	return nil
}
