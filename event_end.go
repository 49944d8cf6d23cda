package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

const dueBatch = 100

// EndEvents ends the published events whose scheduled end has passed since they were last published or rescheduled,
// and tells how many. One that fails keeps no other from ending. [Service.Run] does it by itself; it is here for a host
// that does without.
func (s *Service) EndEvents(ctx context.Context) (int, error) {
	ended := 0
	for {
		at := s.now()
		var due []EventRef
		err := s.background.View(ctx, func(ctx context.Context, tx ReadTx) error {
			var err error
			due, err = tx.DueEvents(ctx, at, dueBatch)
			return err
		})
		if err != nil {
			return ended, err
		}
		before := ended
		var failed error
		for _, ref := range due {
			did, err := s.endDueEvent(ctx, ref, at)
			if did {
				ended++
			}
			failed = errors.Join(failed, err)
		}
		if failed != nil || len(due) < dueBatch || ended == before {
			return ended, failed
		}
	}
}

// endDueEvent ends an event unless another process was first.
func (s *Service) endDueEvent(ctx context.Context, ref EventRef, at time.Time) (ended bool, err error) {
	err = endEvent(ctx, s.background, ref, at, func(e EventRecord) error {
		ended = e.Status == EventPublished && !e.EndsOn.IsZero() && !e.EndsOn.After(at)
		if !ended {
			return errNothingToKeep
		}
		return nil
	}, nil)
	if errors.Is(err, errNothingToKeep) {
		err = nil
	}
	return ended && err == nil, err
}

// EndEvent ends a published event at once (section 3.1). It needs tenant:manage.
//
// Errors: NOT_FOUND, CONFLICT for any event that is not published.
func (o Operator) EndEvent(ctx context.Context, eventID uuid.UUID) (Event, error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return Event{}, err
	}
	var found EventRecord
	err := o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		found, err = tx.FindEvent(ctx, eventID)
		return err
	})
	if err != nil {
		return Event{}, err
	}
	if found.ID == uuid.Nil {
		return Event{}, errEventNotFound
	}
	var ended Event
	at := o.s.now()
	err = endEvent(ctx, o.s.store, found.ref(), at, func(e EventRecord) error {
		if e.Status != EventPublished {
			return conflict("Only a published event can be ended; this one is %s.", e.Status)
		}
		return nil
	}, func(ctx context.Context, tx Tx, event EventRecord) error {
		var err error
		if ended, err = showEvent(ctx, tx, event); err != nil {
			return err
		}
		return o.audit(ctx, tx, at, "event.end", event.CompanyID, about("event", eventID), changes{
			map[string]any{"status": EventPublished}, map[string]any{"status": ended.Status},
		})
	})
	if err != nil {
		return Event{}, err
	}
	return ended, nil
}

// endEvent ends an event that check, which sees it locked, has nothing against. In the same transaction follow, if it is
// not nil, does what else is to be done about it.
func endEvent(
	ctx context.Context, store Store, ref EventRef, at time.Time, check func(EventRecord) error,
	follow func(ctx context.Context, tx Tx, event EventRecord) error,
) error {
	return store.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, Entrance{Close: []uuid.UUID{ref.CompanyID}}); err != nil {
			return err
		}
		event, err := tx.LockEvent(ctx, ref)
		if err != nil {
			return err
		}
		if err := check(event); err != nil {
			return err
		}
		event.Status, event.UpdatedAt = EventEnded, later(at, event.UpdatedAt)
		event.schedule(at)
		if err := tx.UpdateEvent(ctx, event); err != nil || follow == nil {
			return err
		}
		return follow(ctx, tx, event)
	})
}
