// Package group runs calls in groups: calls that arrive while a group runs wait, and run together in the next one. It
// is the group commit of databases, for any work that costs little more for sixty-four calls than for one.
//
// # How calls are scheduled
//
// A call has a key, and there are a few lanes. A lane runs one group at a time, and holds the keys of its calls until
// the group has run. A call that arrives while a lane is idle runs at once, in its caller's goroutine. Calls that wait
// by then run in another goroutine, which ends when no call waits. So no goroutine remains, and no call waits while
// nothing runs, except for callers that call again: see [Config.Linger]. Where groups are large, few calls wait for a
// lane that runs: see [Config.Fill].
//
// Waiting calls may run in any lane: the first lane that finishes takes them, except the calls of keys that another
// lane holds, and a few that it may leave to another one. The next group takes one call of each waiting key in turn,
// then the second of each, and so on. So a key with ten thousand waiting calls does not keep another key's call out of
// the next group.
//
// # How errors are handled
//
// A call that is refused by its own rules is not an error here: Run writes the refusal into the call and returns nil.
// An error of Run means that nothing of the group was kept. Its [Class] determines what happens next:
//
//   - [Poison]: the group is halved, in order, down to the call that fails alone with its error. Everything else
//     succeeds. A panic is handled alike, and fails its call with a [*PanicError].
//   - [Busy]: the group is split by key. A key that is still busy by itself runs alone: beside the lanes, in its own
//     goroutine and with as much patience as Run sees fit. Its later calls wait for it. After the first run that had
//     its locks, the key returns to the lanes. So a lock that somebody holds does not stop the other keys.
//   - [Gone]: all calls of the group and all waiting calls fail with the error at once, not one timeout after another.
//
// # Guarantees
//
//   - Each [Lanes.Do] gets one result, and gets it only after the run that determines it has returned.
//   - Calls of one key run in the order of their arrival, through every split, and never in two runs at a time.
//   - A call for which Do returned nil was in exactly one run that returned nil. A call for which Do returned an error
//     was in none, except where the caller's context ended while the call ran: then the outcome is unknown.
//   - A call that finds nothing running runs at once, unless a lane waits for callers that call again, and so does a
//     call that follows a run of a single call while no other lane runs. One that finds a lane idle while another one
//     runs also runs at once, except for [Config.Fill].
//   - A group runs under its own deadline, which no caller shortens.
//   - The number of waiting calls is bounded, and so is the number of goroutines. If the queue is full, the newest call
//     of the key with the most waiting calls is refused, so that no key keeps another one out.
package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

var (
	// ErrFull is the error of a call for which there is no room, or no room any more: see Config.Queue. No run kept the
	// call.
	ErrFull = errors.New("group: too many calls wait")
	// ErrClosed is the error of every call that arrives after [Lanes.Drain]. The call has not run.
	ErrClosed = errors.New("group: closed")
)

// Config configures what the lanes run, and how much of it at a time.
type Config[K comparable, T any] struct {
	// Run runs a group as a whole. The calls of a key are in the order of their arrival. If Run returns nil, every call
	// has its outcome, written into what T points to. If it returns an error, nothing of the group was kept, and any of
	// its calls may run again, in a different group. Run must not use the slice after it returns.
	//
	// The context ends after Timeout and carries the values of the first call's context. Patience is how long Run may
	// wait for a lock before it gives up with a [Busy] error. 0 leaves the limit to Run, and is passed only for a key
	// that runs alone. Several goroutines call Run concurrently, but never for the same key. Run must not call Do of
	// the same lanes, since it might wait for itself.
	Run func(ctx context.Context, patience time.Duration, calls []T) error

	// Class classifies an error of Run. It is not called for panics. Defaults to Poison for every error.
	Class func(error) Class

	// Ran, if set, is called after every run and before its calls get their results, by the goroutine that ran it.
	Ran func(calls int, took time.Duration, err error)

	// Lanes is how many groups run at a time, not counting busy keys. Defaults to 2.
	Lanes int

	// Size is the maximum number of calls in a group. Defaults to 64.
	Size int

	// Weight is the maximum total weight of the calls of a group. A heavier call runs by itself. 0 means no limit.
	Weight int

	// Queue is the maximum number of waiting calls; running calls do not count. One key alone may fill the queue. A
	// call of a key with fewer waiting calls is then accepted, and the newest call of a key with the most is refused.
	// Defaults to 4096.
	Queue int

	// Alone is the maximum number of busy keys that run beside the lanes at a time; further ones wait. It keeps held
	// locks from taking up every connection. Defaults to 8.
	Alone int

	// Single confines a group to one key.
	Single bool

	// Linger lets a group wait for callers that call again as soon as they have their results, so that their calls run
	// together instead of in two parts, each with a run. Groups wait while three quarters of the callers call again, on
	// average, in less than this part of the time that as many calls take if they arrive evenly. It is between 0, for no
	// waits, and 1.
	//
	// A group waits at most twice as long as half of them take on average, or an eighth of the time that the last run
	// took, and once three quarters are there half as long as half take; but no longer than the last run took, or 50
	// milliseconds. The wait ends when as many calls as ran have arrived, or when a full group waits. No idle lane starts
	// with the first of them. There is none after a run of one call, nor during a [Lanes.Drain].
	Linger float64

	// Fill is the part of a large group that has to wait before an idle lane starts while another one runs. Fewer calls
	// wait for that lane, which takes them when its run ends: a run of theirs would take nearly as long as one of a large
	// group. A large group is one of the largest lately. The calls wait for twice the time of its run or 50 milliseconds,
	// and longer if a lane gathers then. Fill applies while large groups have four keys or more; so where fewer keys are
	// busy, the call of another key does not wait for them. It is at least 0, for lanes that start with any call, and less
	// than 1.
	Fill float64

	// Timeout is the time limit of one run. A run that fails after it is neither halved nor split: its calls fail
	// together, not one timeout after another. Defaults to 30 seconds.
	Timeout time.Duration

	// Patience is how long a run in a lane may wait for a lock, since other calls wait meanwhile. Defaults to 50
	// milliseconds.
	Patience time.Duration
}

// Lanes runs calls in groups. The groups of a key never overlap. It is safe for concurrent use by multiple goroutines.
type Lanes[K comparable, T any] struct {
	config Config[K, T]

	mu        sync.Mutex
	queues    map[K]*queue[K, T]
	turns     list[*queue[K, T]] // every queue with calls that no runner holds, in order of its turn
	numbers   int64              // the number of the last turn
	parked    list[*queue[K, T]] // queues that are to run alone and wait for a runner
	ranks     ranks[K, T]        // every queue with waiting calls
	waiting   int                // calls in all queues
	weight    int                // of the calls in all queues
	arrivals  int64              // the number of calls that have arrived
	resting   []*runner[K, T]    // the idle lanes
	lingering []*runner[K, T]    // the lanes that wait for more calls
	gathering int                // lanes that are to wait for more calls, wait, or waited and took none yet
	runners   []*runner[K, T]    // all lanes
	returns   returns
	sizes     groupSizes
	deferred  time.Time // since when an idle lane leaves calls in the queue; zero if none does
	// overdueTimer calls startOverdue; nil before the first time.
	overdueTimer *time.Timer
	beside       int // runners that run busy keys
	closed       bool
	idle         chan struct{} // closed after Drain was called and nothing runs
}

// New returns idle lanes: no goroutine runs before the first call. It panics if Run is missing, or Linger or Fill is
// out of range.
func New[K comparable, T any](config Config[K, T]) *Lanes[K, T] {
	if config.Run == nil {
		panic("group: no Run")
	}
	if config.Linger < 0 || config.Linger >= 1 {
		panic("group: Linger is not between 0 and 1")
	}
	if config.Fill < 0 || config.Fill >= 1 {
		panic("group: Fill is not between 0 and 1")
	}
	if config.Class == nil {
		config.Class = func(error) Class { return Poison }
	}
	config.Lanes = cmp.Or(config.Lanes, 2)
	config.Size = cmp.Or(config.Size, 64)
	config.Queue = cmp.Or(config.Queue, 4096)
	config.Alone = cmp.Or(config.Alone, 8)
	config.Timeout = cmp.Or(config.Timeout, 30*time.Second)
	config.Patience = cmp.Or(config.Patience, 50*time.Millisecond)

	l := &Lanes[K, T]{config: config, queues: make(map[K]*queue[K, T]), idle: make(chan struct{})}
	l.returns.pace = 1
	l.turns.init()
	l.parked.init()
	for range config.Lanes {
		l.runners = append(l.runners, &runner[K, T]{lanes: l})
	}
	l.resting = slices.Clone(l.runners)
	return l
}

// Do runs the call in the next group that has room for it and returns after that group. It returns nil if the call was
// kept, and otherwise the error of the call, [ErrFull] or [ErrClosed].
//
// A call that finds an idle lane runs in the caller's own goroutine, together with calls that arrive at that moment,
// even if ctx ends meanwhile. For any other call, Do returns an error that wraps ctx.Err() if ctx ends first. A call
// that still waited is removed and never runs. A call that runs continues, and whether it was kept is unknown. Run may
// still read and write what the call points to, so the caller must not use that any more.
//
// The weight counts towards [Config.Weight] and must not be negative.
func (l *Lanes[K, T]) Do(ctx context.Context, key K, weight int, call T) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("group: the call did not run: %w", err)
	}
	e := &entry[K, T]{ctx: ctx, key: key, weight: weight, call: call, answer: make(chan error, 1)}
	lane, err := l.join(e)
	if err != nil {
		return err
	}
	if lane != nil {
		lane.lead()
	}
	select {
	case err := <-e.answer:
		return err
	case <-ctx.Done():
	}
	if l.leave(e) {
		return fmt.Errorf("group: the call did not run: %w", ctx.Err())
	}
	select {
	case err := <-e.answer: // A result is better than an unknown outcome.
		return err
	default:
		return fmt.Errorf("group: the caller left while the call ran: %w", ctx.Err())
	}
}

// Waiting returns how many calls wait. Calls that run do not count.
func (l *Lanes[K, T]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// Drain refuses new calls from now on, with [ErrClosed]. It returns after all other calls have their results and all
// goroutines of the lanes have ended. If ctx ends first, Drain returns an error that wraps ctx.Err(), and the calls
// continue.
func (l *Lanes[K, T]) Drain(ctx context.Context) error {
	l.close()
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("group: calls still run: %w", ctx.Err())
	}
}
