package ticketing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/slot"
)

// Bounds of authentication with keys that may be made up.
const (
	// strangerSlots is how many calls of all clients together authenticate at a time with an id that was not found
	// lately.
	strangerSlots = 32
	// strangerRest is how long a slot stays taken after a call that authenticated nobody. So a flood of made-up keys
	// gets no more than 32 replies in this time. The other calls of the flood wait, which costs almost nothing.
	strangerRest = 20 * time.Millisecond
)

// strangers are the calls with keys that may be made up. They share a few slots, so that they fill neither the queue of
// look-ups nor the processors. A key that authenticated lately needs no slot: its holder is not delayed by a flood.
type strangers struct {
	slots  *slot.Slots[struct{}]
	recent recentIDs // the ids of keys that authenticated lately
}

// newStrangers returns slots of which none is taken. The queue and its timeout are those of a company's slots.
func newStrangers() *strangers {
	return &strangers{slots: slot.New[struct{}](slot.Config{
		Slots: strangerSlots, Queue: slotQueue, Patience: slotPatience,
	})}
}

// pass waits for a slot. The caller calls end after authentication and reports whether the key was genuine: a genuine
// key's slot is free at once.
func (g *strangers) pass(ctx context.Context) (end func(genuine bool), err error) {
	release, err := g.slots.Take(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	return func(genuine bool) {
		if genuine {
			release()
			return
		}
		time.AfterFunc(strangerRest, release)
	}, nil
}

// amongStrangers authenticates a call with a key that may be made up. An id that was not found lately takes a slot
// before it is looked up. A known id is looked up first, and takes a slot only if its key turns out to be wrong: a real
// id with made-up secrets is as slow as a made-up id.
//
// What is remembered decides only about the slot. Each call reads the key from the store, so a revoked key fails at
// once.
func (s *Service) amongStrangers(
	ctx context.Context, id uuid.UUID, authenticate func(context.Context) (Caller, error),
) (caller Caller, err error) {
	if s.strangers == nil {
		return authenticate(ctx)
	}
	recent := s.strangers.recent.has(id)
	if recent {
		caller, err = authenticate(ctx)
		// Neither a genuine key nor a failure of the store is a reason to delay the next call with this id.
		if !errors.Is(err, errAuthenticationFailed) {
			s.strangers.recent.add(id, struct{}{})
			return caller, err
		}
	}
	end, refused := s.strangers.pass(ctx)
	if refused != nil {
		return Caller{}, s.refusedStranger(refused)
	}
	genuine := false
	defer func() { end(genuine) }()
	// The key was looked up already and is wrong. Its reply waited for a slot, which bounds the guesses for a known id.
	if recent {
		return caller, err
	}
	caller, err = authenticate(ctx)
	// A failure of the store says nothing against the key, so its slot is released at once.
	genuine = !errors.Is(err, errAuthenticationFailed)
	if err == nil {
		s.strangers.recent.add(id, struct{}{})
	}
	return caller, err
}

// refusedStranger returns the error of a call that got no slot: [ErrBusy], counted like a call that found the queue of
// look-ups full, unless the call's own context ended.
func (s *Service) refusedStranger(err error) error {
	if !errors.Is(err, slot.ErrRefused) {
		return fmt.Errorf("ticketing: authenticate: %w", err)
	}
	s.queueFull(operationAuthenticate)
	return fmt.Errorf("%w: %w", ErrBusy, err)
}
