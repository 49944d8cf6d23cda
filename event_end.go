package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// dueBatch is how many due events are read at a time.
const dueBatch = 100

// EndEvents ends the published events whose scheduled end has passed since they were last published or rescheduled. It
// returns how many it ended. An event that fails does not keep others from ending. [Service.Run] calls it regularly; it
// is exported for a host without background work.
//
// After a page with a failure it returns the errors of that page, joined. Events of further pages stay due.
func (s *Service) EndEvents(ctx context.Context) (int, error) {
	ended := 0
	for {
		// Each page has a time of its own, so an event that becomes due during the work is ended as well.
		at := s.now()
		var due []driver.EventRef
		err := s.background.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			var err error
			due, err = tx.DueEvents(ctx, at, dueBatch)
			return err
		})
		if err != nil {
			return ended, err
		}
		before := ended
		var failed error
		// Each event has a transaction of its own, because each is under the gate of its company.
		for _, ref := range due {
			did, err := s.endDueEvent(ctx, ref, at)
			if did {
				ended++
			}
			failed = errors.Join(failed, err)
		}
		// A full page that ended nothing would be found again and again.
		if failed != nil || len(due) < dueBatch || ended == before {
			return ended, failed
		}
	}
}

// endDueEvent ends an event unless another process was first or the event was changed meanwhile. It checks again under
// the lock, because DueEvents read without one. Its transaction has the purpose of background work, so that many due
// events do not take the connections of requests.
func (s *Service) endDueEvent(ctx context.Context, ref driver.EventRef, at time.Time) (ended bool, err error) {
	err = endEvent(ctx, s.background, ref, at, func(ctx context.Context, tx driver.Tx, in driver.BeginOptions) error {
		_, err := tx.Begin(ctx, in)
		return err
	}, func(e driver.Event) error {
		ended = e.Status == EventPublished && !e.EndsOn.IsZero() && !e.EndsOn.After(at)
		if !ended {
			return errNothingToKeep
		}
		return nil
	}, nil)
	// It is not due any more. Nothing was changed, and that is no error.
	if errors.Is(err, errNothingToKeep) {
		err = nil
	}
	return ended && err == nil, err
}

// EndEvent ends a published event at once (section 3.1). It needs tenant:manage.
//
// Errors: NOT_FOUND, CONFLICT for any event that is not published.
//
// Its inventory stays as it is: an event that is not published sells nothing.
func (o Operator) EndEvent(ctx context.Context, eventID uuid.UUID) (Event, error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return Event{}, err
	}
	// The id does not name the company, whose gate the change needs.
	var found driver.Event
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
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
	// The status was read without a lock, so the rule is checked again on the locked event.
	begin := func(ctx context.Context, tx driver.Tx, in driver.BeginOptions) error {
		return o.begin(ctx, tx, in, PermissionManage, uuid.Nil)
	}
	err = endEvent(ctx, o.s.store, found.Ref(), at, begin, func(e driver.Event) error {
		if e.Status != EventPublished {
			return conflict("Only a published event can be ended; this one is %s.", e.Status)
		}
		return nil
	}, func(ctx context.Context, tx driver.Tx, event driver.Event) error {
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

// endEvent ends an event if check returns nil. begin begins the transaction, and refuses an actor who may not end it
// any more. check gets the event under its lock. follow, if it is not nil, writes what else belongs to the same
// transaction. The gate is held exclusively, because a checkout reads the status.
func endEvent(
	ctx context.Context, store driver.Store, ref driver.EventRef, at time.Time,
	begin func(context.Context, driver.Tx, driver.BeginOptions) error, check func(driver.Event) error,
	follow func(ctx context.Context, tx driver.Tx, event driver.Event) error,
) error {
	return store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if err := begin(ctx, tx, driver.BeginOptions{Exclusive: []uuid.UUID{ref.CompanyID}}); err != nil {
			return err
		}
		// The store updates only what was locked, although the exclusive gate keeps other writers out already.
		event, err := tx.LockEvent(ctx, ref)
		if err != nil {
			return err
		}
		if err := check(event); err != nil {
			return err
		}
		event.Status, event.UpdatedAt = EventEnded, notBefore(at, event.UpdatedAt)
		// An event that has ended is never due again.
		setSchedule(&event, at)
		if err := tx.UpdateEvent(ctx, event); err != nil || follow == nil {
			return err
		}
		return follow(ctx, tx, event)
	})
}
