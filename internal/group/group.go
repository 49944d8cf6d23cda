// Package group runs calls in groups: those that arrive while a group runs wait, and go together in the next one. It
// is the group commit of databases, for any work that costs little more for sixty-four calls than for one.
//
// # How calls travel
//
// A call has a key, and there are a few lanes. A lane runs one group at a time, and has the keys of its calls until that
// has run. A call that comes while a lane rests runs at once, in its caller's goroutine; what waits by then goes on in
// another one, which ends when nothing waits any more. So nobody waits when nothing runs, and nothing is left behind.
//
// What waits, waits for all lanes: the first one that ends takes it, but for the calls of keys that another one has. The
// next group takes one call of each waiting key in turn, then the second of each, and so on: a key with ten thousand
// waiting calls does not keep another key's call from the next group.
//
// # What becomes of errors
//
// A call that is refused by its own rules is not an error here: Run writes the refusal into the call and returns nil.
// An error of Run says that nothing of the group was kept. Its [Class] says what is done about it:
//
//   - [Poison]: the group is halved, in order, down to the call that fails alone with its error. Everything else
//     succeeds. A panic is treated alike, and fails its call with a [*PanicError].
//   - [Busy]: the group is split by key. A key that is busy by itself goes alone: beside the lane, in a goroutine of
//     its own and with full patience, and its later calls queue behind it. After the first run that had its locks it
//     returns to the lanes. So a lock that somebody holds does not stop the other keys.
//   - [Gone]: all calls of the group and all that wait fail with the error at once, not one time-out
//     after another.
//
// # What holds
//
//   - Each [Lanes.Do] gets one answer, and no answer leaves before the run that it is of has returned.
//   - Calls of one key run in the order of their arrival, through every split, and never in two runs at a time.
//   - A call of which Do returned nil was in exactly one run that returned nil. A call of which Do returned an error
//     was in none, except where the caller's context ended while it ran: then nobody knows.
//   - A call that finds nothing running goes at once, and so does one that follows on a call that ran by itself.
//   - A group runs under a deadline of its own, which no caller cuts short.
//   - What waits is bounded, and so are the goroutines. Where there is no room left, the key with the most calls that
//     wait has one refused, its newest, so that no key keeps another one out.
package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	// ErrFull is the answer to a call for which there is no room, or no more: see Config.Queue. It has not run.
	ErrFull = errors.New("group: too many calls wait")
	// ErrClosed is the answer to every call that comes after [Lanes.Drain]. It has not run.
	ErrClosed = errors.New("group: closed")
)

// Config is what the lanes do and how much of it at a time.
type Config[K comparable, T any] struct {
	// Run runs a group whole. The calls of a key are in the order of their arrival. With nil every call has its
	// outcome, written into what T points to; with an error nothing of the group was kept, and any of its calls may
	// run again, in other company. The slice is Run's only until it returns.
	//
	// The context ends with Timeout and carries the values of the first call's context. Patience is how long Run may
	// wait for a lock before it gives up with a [Busy] error; 0 is as long as it sees fit, and is said only to a key
	// that goes alone. Run is called by several goroutines at a time, for one key by one. It must not call Do of
	// the same lanes, where it might wait for itself.
	Run func(ctx context.Context, patience time.Duration, calls []T) error

	// Class says what an error of Run means. It is not asked about panics. Defaults to Poison for every error.
	Class func(error) Class

	// Ran, if set, is told of every run before its calls are answered, by the goroutine that ran it.
	Ran func(calls int, took time.Duration, err error)

	// Lanes is how many groups run at a time, busy keys aside. Defaults to 2.
	Lanes int

	// Size is the most calls in a group. Defaults to 64.
	Size int

	// Weight is the most that the calls of a group weigh together. A heavier call goes by itself. 0 is no bound.
	Weight int

	// Queue is the most calls that wait; what runs does not count. One key alone may fill it: for a call of a key with
	// fewer calls that wait, the newest of a key with the most is refused. Defaults to 4096.
	Queue int

	// Alone is the most busy keys that run beside the lanes at a time; more of them wait for one another. It keeps
	// held locks from taking up every connection. Defaults to 8.
	Alone int

	// Single confines a group to one key.
	Single bool

	// Linger is the part of a run's time, one Linger-th, that the next group may wait for the calls that follow on those
	// of the run: where as many clients as before come again at once, they go together rather than in two halves, and no
	// lane that rests begins with the first of them. It waits no longer than until a whole group waits or as many calls
	// as ran have come, no longer than 50 milliseconds, and never after a run of one call nor for a [Lanes.Drain]. 0 is
	// no waiting.
	Linger int

	// Timeout is the time that one run has. One that fails after it is neither halved nor split: its calls fail
	// together, not one time-out after another. Defaults to 30 seconds.
	Timeout time.Duration

	// Patience is how long a run in a lane is told to wait for a lock at most, since others wait for it meanwhile.
	// Defaults to 50 milliseconds.
	Patience time.Duration
}

// Lanes runs calls in groups. The groups of a key never overlap. It is safe for use by several
// goroutines.
type Lanes[K comparable, T any] struct {
	config Config[K, T]

	mu        sync.Mutex
	queues    map[K]*queue[K, T]
	turns     list[*queue[K, T]] // every queue with calls that nobody has, the next one first
	numbers   int64              // the last number of a turn
	parked    list[*queue[K, T]] // queues that are alone and wait for a runner
	ranks     ranks[K, T]        // every queue with calls that wait
	waiting   int                // calls in all queues
	arrivals  int64              // the calls that came
	resting   []*runner[K, T]    // the lanes that nothing runs in
	lingering []*runner[K, T]    // the lanes that wait for more calls
	gathering int                // lanes that are to wait for more calls, or do, or have and took none yet
	beside    int                // runners at work for busy keys
	closed    bool
	idle      chan struct{} // closed when the lanes are, and nothing runs
}

// New returns lanes that are idle: no goroutine runs before the first call. It panics if Run is missing.
func New[K comparable, T any](config Config[K, T]) *Lanes[K, T] {
	if config.Run == nil {
		panic("group: no Run")
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
	l.turns.init()
	l.parked.init()
	for range config.Lanes {
		l.resting = append(l.resting, &runner[K, T]{lanes: l})
	}
	return l
}

// Do runs the call in the next group that has room for it and returns after that group: nil if it was kept, else the
// error that the call fails with, [ErrFull] or [ErrClosed].
//
// A call that finds a lane at rest runs in the caller's own goroutine, with those that come just then, whatever becomes of
// ctx. For any other, when ctx ends first, Do returns an error that wraps ctx.Err(). A call that was still waiting is
// taken out and never runs. One that runs goes on, and whether it was kept is not known; Run may still read and write what the call
// points to, so the caller must leave that alone for good.
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
	case err := <-e.answer: // Better than to leave without it.
		return err
	default:
		return fmt.Errorf("group: the caller left while the call ran: %w", ctx.Err())
	}
}

// Drain refuses new calls from now on, with [ErrClosed], and returns when all others are answered and no goroutine
// of the lanes is left. When ctx ends first, it returns an error that wraps ctx.Err(), and the calls go on.
func (l *Lanes[K, T]) Drain(ctx context.Context) error {
	l.close()
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("group: calls still run: %w", ctx.Err())
	}
}
