package ticketing

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/slot"
)

const (
	defaultCompanySlots = 4
	maxCompanySlots     = 1000
	// slotQueue is how many calls of a company wait for a slot at most, and slotPatience how long one does.
	slotQueue    = 1000
	slotPatience = 2 * time.Second
)

// companySlots are what the calls of a company take that run by themselves, before they take a connection: everything
// on the data plane that is not in a group. A nil *companySlots bounds nothing.
//
// Locks are taken in this order: a turn, a slot, a connection, the company's gate. So a call waits for a gate with a
// connection only where it has a slot, and of those that close the gate one of a company does in this process.
type companySlots struct {
	slots *slot.Slots[uuid.UUID]
	// closing is the turn of those that close a gate, and paging that of long pages.
	closing, paging *slot.Slots[uuid.UUID]
	// long are the lists of which a company had a long page lately: their next pages take a turn, this many short ones.
	long recent[pagedList, *atomic.Int32]
}

// pagedList is a list of a company's, by the operation that pages it.
type pagedList struct {
	company   uuid.UUID
	operation string
}

// shortPages is how many short pages of a list follow on a long one until its pages are taken for short.
const shortPages = 8

// longPage is how many lines a long page has at least. It takes milliseconds of a processor to read and to render.
const longPage = 250

// longestRest is how long the turn of a long page rests at most after it.
const longestRest = 500 * time.Millisecond

func newCompanySlots(slots int) *companySlots {
	config := slot.Config{Slots: slots, Queue: slotQueue, Patience: slotPatience}
	c := &companySlots{slots: slot.New[uuid.UUID](config)}
	config.Slots = 1
	c.closing = slot.New[uuid.UUID](config)
	// Half of the processors are left to others, however many slots there are.
	config.Slots = max(1, min(slots, runtime.GOMAXPROCS(0)/2))
	c.paging = slot.New[uuid.UUID](config)
	return c
}

// onOwnSlot runs a call of a company by itself, on a slot. One that closes the company's gate has its turn first. The slot
// may be held for longer, by a caller who still works on the result: see [slot.Hold].
func (s *Service) onOwnSlot(
	ctx context.Context, operation string, companyID uuid.UUID, closes bool, run func() error,
) error {
	if s.slots == nil {
		return run()
	}
	if !closes {
		return s.onSlotAfter(ctx, operation, companyID, func() {}, run)
	}
	endTurn, err := s.slots.closing.Take(ctx, companyID)
	if err != nil {
		return s.refusedSlot(operation, err)
	}
	defer endTurn()
	return s.onSlotAfter(ctx, operation, companyID, func() {}, run)
}

// onPageSlot is onOwnSlot for a page of a list, of which run returns how many lines it has. A list whose pages are long has
// its turn for each: of these a few are read and rendered at a time. While others wait for the turn it ends a while after
// the slot, as long as the page took, so that a flood of long pages takes no more than half of the processors that it might.
// Who reads one page after another is not held up.
func (s *Service) onPageSlot(
	ctx context.Context, operation string, companyID uuid.UUID, run func() (lines int, err error),
) error {
	if s.slots == nil {
		_, err := run()
		return err
	}
	list := pagedList{companyID, operation}
	var began time.Time
	paged := func() error {
		began = machineTime()
		lines, err := run()
		if err == nil {
			s.slots.had(list, lines)
		}
		return err
	}
	if !s.slots.isLong(list) {
		return s.onOwnSlot(ctx, operation, companyID, false, paged)
	}
	endTurn, err := s.slots.paging.Take(ctx, companyID)
	if err != nil {
		return s.refusedSlot(operation, err)
	}
	return s.onSlotAfter(ctx, operation, companyID, func() {
		if began.IsZero() || !s.slots.paging.Waits(companyID) {
			endTurn()
			return
		}
		time.AfterFunc(min(machineTime().Sub(began), longestRest), endTurn)
	}, paged)
}

// isLong reports whether the next page of a list is taken for a long one.
func (c *companySlots) isLong(list pagedList) bool {
	left, ok := c.long.get(list)
	return ok && left.Load() > 0
}

// had keeps how long a page of a list was.
func (c *companySlots) had(list pagedList, lines int) {
	left, ok := c.long.get(list)
	switch {
	case lines >= longPage:
		if !ok {
			left = new(atomic.Int32)
		}
		left.Store(shortPages)
		c.long.add(list, left)
	case ok && left.Add(-1) <= 0:
		c.long.forget(list)
	}
}

// onSlotAfter runs a call on a slot of its company. With the slot it gives back what was taken before.
func (s *Service) onSlotAfter(
	ctx context.Context, operation string, companyID uuid.UUID, before func(), run func() error,
) error {
	release, err := s.slots.slots.Take(ctx, companyID)
	if err != nil {
		before()
		return s.refusedSlot(operation, err)
	}
	defer slot.Leave(ctx, func() {
		release()
		before()
	})
	return run()
}

// onSlot runs what ends with its transaction on a company's slot; the zero company's is for what is no company's.
func (s *Service) onSlot(ctx context.Context, operation string, companyID uuid.UUID, run func() error) error {
	if s.slots == nil {
		return run()
	}
	release, err := s.slots.slots.Take(ctx, companyID)
	if err != nil {
		return s.refusedSlot(operation, err)
	}
	defer release()
	return run()
}

// refusedSlot counts a call that got no slot. It is [ErrBusy] then, and nothing else where its own context ended.
func (s *Service) refusedSlot(operation string, err error) error {
	if !errors.Is(err, slot.ErrRefused) {
		return fmt.Errorf("ticketing: %s: %w", operation, err)
	}
	s.refusals.add(operation)
	if s.onSlotsFull != nil {
		s.slotsFull(operation)
	}
	return fmt.Errorf("%w: %s: %w", ErrBusy, operation, err)
}

func (s *Service) slotsFull(operation string) {
	defer func() { s.contain("Config.OnSlotsFull", recover()) }()
	s.onSlotsFull(operation)
}
