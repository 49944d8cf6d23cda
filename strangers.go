package ticketing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/slot"
)

const (
	// strangerSlots is how many calls at a time authenticate with an id that was not found lately, of all clients together.
	strangerSlots = 32
	// strangerRest is how long the slot of a call rests that authenticated nobody: a flood of made-up keys is answered no
	// faster than 32 in this time, and waits otherwise, which costs next to nothing.
	strangerRest = 20 * time.Millisecond
)

// strangers are the calls with keys that may be made up. They share a few slots, so that they fill neither the queue of
// look-ups nor the processors. A key that authenticated lately passes them by.
type strangers struct {
	slots  *slot.Slots[struct{}]
	recent recentIDs
}

func newStrangers() *strangers {
	return &strangers{slots: slot.New[struct{}](slot.Config{
		Slots: strangerSlots, Queue: slotQueue, Patience: slotPatience,
	})}
}

// pass lets a call in. The function that it returns ends the call, and is given whether it authenticated somebody.
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

// amongStrangers authenticates a call with a key that may be made up: it passes with the others of that kind before an
// id that was not found lately is looked up, and after a key that was found turned out to be worth nothing.
func (s *Service) amongStrangers(
	ctx context.Context, id uuid.UUID, authenticate func(context.Context) (Caller, error),
) (caller Caller, err error) {
	if s.strangers == nil {
		return authenticate(ctx)
	}
	recent := s.strangers.recent.has(id)
	if recent {
		caller, err = authenticate(ctx)
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
	if recent {
		return caller, err
	}
	caller, err = authenticate(ctx)
	genuine = !errors.Is(err, errAuthenticationFailed)
	if err == nil {
		s.strangers.recent.add(id, struct{}{})
	}
	return caller, err
}

// refusedStranger counts a call that got no slot: it counts as one that found the queue of look-ups full.
func (s *Service) refusedStranger(err error) error {
	if !errors.Is(err, slot.ErrRefused) {
		return fmt.Errorf("ticketing: authenticate: %w", err)
	}
	s.queueFull(operationAuthenticate)
	return fmt.Errorf("%w: %w", ErrBusy, err)
}
