package ticketing

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/recent"
	"github.com/floatgate/ticketing/internal/slot"
)

// Bounds of the slots of a company.
const (
	defaultCompanySlots = 4
	maxCompanySlots     = 1000
	// slotQueue is the most calls of a company that wait for a slot. slotPatience is the longest that a call waits. A call
	// that shares the read of a page waits for that first, as long at most, and up to 128 of a page do.
	slotQueue    = 1000
	slotPatience = 2 * time.Second
)

// companySlots limit the calls of each company that run in a transaction of their own: everything on the data plane
// that is not grouped. A call takes a slot before it takes a connection, so one company cannot use up the connections.
// A nil *companySlots limits nothing.
//
// A call takes its resources in this order: a turn, a slot, a connection, the company's gate. So a call waits for a
// gate with a connection only while it has a slot. Of the data-plane calls that take a company's gate exclusively, one
// at a time does so in this process. An [Operator] takes neither turn nor slot.
//
// A waiting call costs a goroutine, and a refused one comes back after a moment and costs a request. So the queue is
// long and the wait is short.
type companySlots struct {
	slots *slot.Slots[uuid.UUID]
	// exclusive is the turn of calls that take the gate exclusively, one per company. paging is the turn of long pages.
	exclusive, paging *slot.Slots[uuid.UUID]
	// long are the lists of which a company recently read a long page, each with the number of short pages that may
	// follow before its pages count as short again.
	long recent.Map[pagedList, *atomic.Int32]
}

// pagedList identifies a list of a company by the operation that pages it.
type pagedList struct {
	company   uuid.UUID
	operation string
}

// shortPages is how many short pages of a list follow a long one before its pages count as short again.
const shortPages = 8

// longPage is the fewest lines of a long page. It takes milliseconds of processor time to read and to render.
const longPage = 250

// longestRest is the longest time that the turn of a long page is kept after the page.
const longestRest = 500 * time.Millisecond

// newCompanySlots returns slots of which none is taken. It leaves half of the processors to work other than long pages,
// however many slots there are.
func newCompanySlots(slots int) *companySlots {
	config := slot.Config{Slots: slots, Queue: slotQueue, Patience: slotPatience}
	c := &companySlots{slots: slot.New[uuid.UUID](config)}
	// One exclusive call of a company at a time. The next one would only wait at the gate, with a connection.
	config.Slots = 1
	c.exclusive = slot.New[uuid.UUID](config)
	// Half of the processors are left to others, however many slots there are.
	config.Slots = max(1, min(slots, runtime.GOMAXPROCS(0)/2))
	c.paging = slot.New[uuid.UUID](config)
	return c
}

// runOnSlot runs an ungrouped call of a company on a slot. A call that takes the company's gate exclusively waits for
// its turn first, without a slot, so that calls that wait for the gate do not fill the slots. The slot may be kept
// after the call, by a caller that still works on the result (see [slot.Hold]). It is [ErrBusy] if no slot is free in
// time.
func (s *Service) runOnSlot(
	ctx context.Context, operation string, companyID uuid.UUID, exclusive bool, run func() error,
) error {
	if s.slots == nil {
		return run()
	}
	if !exclusive {
		return s.runOnSlotThen(ctx, operation, companyID, func() {}, run)
	}
	// The turn comes before the slot. Calls that wait for it would otherwise hold slots, and keep reads from running.
	endTurn, err := s.slots.exclusive.Take(ctx, companyID)
	if err != nil {
		return s.refusedSlot(ctx, operation, err)
	}
	defer endTurn()
	return s.runOnSlotThen(ctx, operation, companyID, func() {}, run)
}

// runOnPageSlot is runOnSlot for a page of a list; run returns the number of lines on the page.
//
// A page of a list whose pages are long takes a turn first, and only a few are read and rendered at a time. If other
// long pages wait for the turn, it is kept after the page for as long as the page took, but at most longestRest. So a
// flood of long pages uses at most half of the processor time that its turns would allow. A client that reads one page
// after another is not delayed, because nobody waits for the turn.
//
// Without the turn, four pages of a hundred long orders take all processors of a small machine, and a sale needs one of
// them fourteen times.
func (s *Service) runOnPageSlot(
	ctx context.Context, operation string, companyID uuid.UUID, run func() (lines int, err error),
) error {
	if s.slots == nil {
		_, err := run()
		return err
	}
	// The length of a page is known only after it was read, so the previous pages of the list decide.
	list := pagedList{companyID, operation}
	var began time.Time
	paged := func() error {
		began = machineTime()
		lines, err := run()
		if err == nil {
			s.slots.recordPage(list, lines)
		}
		return err
	}
	if !s.slots.isLong(list) {
		return s.runOnSlot(ctx, operation, companyID, false, paged)
	}
	endTurn, err := s.slots.paging.Take(ctx, companyID)
	if err != nil {
		return s.refusedSlot(ctx, operation, err)
	}
	return s.runOnSlotThen(ctx, operation, companyID, func() {
		// A page that never ran, or that delays nobody, needs no rest.
		if began.IsZero() || !s.slots.paging.Waits(companyID) {
			endTurn()
			return
		}
		time.AfterFunc(min(machineTime().Sub(began), longestRest), endTurn)
	}, paged)
}

// isLong reports whether the next page of a list is expected to be long.
func (c *companySlots) isLong(list pagedList) bool {
	left, ok := c.long.Get(list)
	return ok && left.Load() > 0
}

// recordPage records how many lines a page of a list had. A list is remembered for each company and operation. One long
// page of a company does not slow its other lists.
func (c *companySlots) recordPage(list pagedList, lines int) {
	left, ok := c.long.Get(list)
	switch {
	case lines >= longPage:
		if !ok {
			left = new(atomic.Int32)
		}
		left.Store(shortPages)
		c.long.Add(list, left)
	case ok && left.Add(-1) <= 0:
		c.long.Forget(list)
	}
}

// runOnSlotThen runs a call on a slot of its company. When the slot is released, it calls then, which releases what was
// taken before the slot. A call takes its slot before its connection, so a call that waits for a slot costs a goroutine
// only.
func (s *Service) runOnSlotThen(
	ctx context.Context, operation string, companyID uuid.UUID, then func(), run func() error,
) error {
	release, err := s.slots.slots.Take(ctx, companyID)
	if err != nil {
		then()
		return s.refusedSlot(ctx, operation, err)
	}
	defer slot.Leave(ctx, func() {
		release()
		then()
	})
	return run()
}

// runTxOnSlot runs a call that needs its slot only for its transaction. The zero company stands for calls of no
// company. The slot does not wait for the end of the response, unlike runOnSlotThen.
func (s *Service) runTxOnSlot(ctx context.Context, operation string, companyID uuid.UUID, run func() error) error {
	if s.slots == nil {
		return run()
	}
	release, err := s.slots.slots.Take(ctx, companyID)
	if err != nil {
		return s.refusedSlot(ctx, operation, err)
	}
	defer release()
	return run()
}

// refusedSlot returns the error of a call that got no slot. It is [ErrBusy], and counted, unless the call's own context
// ended. The refusal is counted by operation and never by company, so a log or a metric names nobody.
func (s *Service) refusedSlot(ctx context.Context, operation string, err error) error {
	if !errors.Is(err, slot.ErrRefused) {
		return fmt.Errorf("ticketing: %s: %w", operation, err)
	}
	s.refusals.add(ctx, operation)
	if s.onSlotsFull != nil {
		s.slotsFull(ctx, operation)
	}
	return fmt.Errorf("%w: %s: %w", ErrBusy, operation, err)
}

// slotsFull calls [Config.OnSlotsFull]. A panic of it is logged and stops nothing.
func (s *Service) slotsFull(ctx context.Context, operation string) {
	defer func() { s.contain(s.logError(ctx), "Config.OnSlotsFull", recover()) }()
	s.onSlotsFull(operation)
}

// Bounds of authentication with keys that may be made up.
const (
	// unknownKeySlots is how many calls of all clients together authenticate at a time with an id that was not found
	// lately.
	unknownKeySlots = 32
	// unknownKeyRest is how long a slot stays taken after a call that authenticated nobody. So a flood of made-up keys
	// gets no more than 32 replies in this time. The other calls of the flood wait, which costs almost nothing.
	unknownKeyRest = 20 * time.Millisecond
)

// unknownKeys are the calls with keys that may be made up. They share a few slots, so that they fill neither the queue
// of look-ups nor the processors. A key that authenticated lately needs no slot: its holder is not delayed by a flood.
type unknownKeys struct {
	slots  *slot.Slots[struct{}]
	recent recentIDs // the ids of keys that authenticated lately
}

// newUnknownKeys returns slots of which none is taken. The queue and its timeout are those of a company's slots.
func newUnknownKeys() *unknownKeys {
	return &unknownKeys{slots: slot.New[struct{}](slot.Config{
		Slots: unknownKeySlots, Queue: slotQueue, Patience: slotPatience,
	})}
}

// pass waits for a slot. The caller calls end after authentication and reports whether the key was genuine: a genuine
// key's slot is free at once. The rest of the slot runs after the reply, so it delays the next made-up key and not this
// one.
func (u *unknownKeys) pass(ctx context.Context) (end func(genuine bool), err error) {
	release, err := u.slots.Take(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	return func(genuine bool) {
		if genuine {
			release()
			return
		}
		time.AfterFunc(unknownKeyRest, release)
	}, nil
}

// limitUnknownKey authenticates a call with a key that may be made up. An id that was not found lately takes a slot
// before it is looked up. A known id is looked up first, and takes a slot only if its key turns out to be wrong: a real
// id with made-up secrets is as slow as a made-up id.
//
// What is remembered here decides only about the slot. Each call reads the key from the store, so a revoked key fails
// at once.
func (s *Service) limitUnknownKey(
	ctx context.Context, id uuid.UUID, authenticate func(context.Context) (Caller, error),
) (caller Caller, err error) {
	if s.unknownKeys == nil {
		return authenticate(ctx)
	}
	known := s.unknownKeys.recent.Has(id)
	if known {
		caller, err = authenticate(ctx)
		// Neither a genuine key nor a failure of the store is a reason to delay the next call with this id.
		if !errors.Is(err, errAuthenticationFailed) {
			s.unknownKeys.recent.Add(id, struct{}{})
			return caller, err
		}
	}
	end, refused := s.unknownKeys.pass(ctx)
	if refused != nil {
		return Caller{}, s.refusedUnknownKey(ctx, refused)
	}
	// A panic of the look-up counts as a wrong key, and its slot rests.
	genuine := false
	defer func() { end(genuine) }()
	// The key was looked up already and is wrong. Its reply waited for a slot, which bounds the guesses for a known id.
	if known {
		return caller, err
	}
	caller, err = authenticate(ctx)
	// A failure of the store says nothing against the key, so its slot is released at once.
	genuine = !errors.Is(err, errAuthenticationFailed)
	if err == nil {
		s.unknownKeys.recent.Add(id, struct{}{})
	}
	return caller, err
}

// refusedUnknownKey returns the error of a call that got no slot: [ErrBusy], counted like a call that found the queue
// of look-ups full, unless the call's own context ended. Nobody is authenticated at this point, so there is no company
// to count it for.
func (s *Service) refusedUnknownKey(ctx context.Context, err error) error {
	if !errors.Is(err, slot.ErrRefused) {
		return fmt.Errorf("ticketing: authenticate: %w", err)
	}
	s.queueFull(ctx, operationAuthenticate)
	return fmt.Errorf("%w: %w", ErrBusy, err)
}
