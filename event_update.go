package ticketing

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// UpdateEvent changes an event that is neither cancelled nor ended (sections 3.1 and 4.4). It needs
// COMPANY:event:manage. Publishing releases paused, unsold inventory; going back to a draft pauses it. Changes that
// change nothing leave UpdatedAt alone.
//
// Errors: INVALID_REQUEST, NOT_FOUND, CONFLICT on a cancelled or ended event.
func (s *Service) UpdateEvent(
	ctx context.Context, caller Caller, id uuid.UUID, params UpdateEventParams,
) (Event, error) {
	if err := caller.Require(GrantEventManage); err != nil {
		return Event{}, err
	}
	params, err := normaliseEventUpdate(params)
	if err != nil {
		return Event{}, err
	}
	var changed Event
	closed := params.Status != nil // A sale reads the status.
	err = s.write(ctx, "events.update", caller, GrantEventManage, closed, func(
		ctx context.Context, tx Tx, at time.Time,
	) error {
		event, err := lockOpenEvent(ctx, tx, EventRef{CompanyID: caller.companyID, ID: id})
		if err != nil {
			return err
		}
		before := event
		category, err := params.apply(ctx, tx, &event)
		if err != nil {
			return err
		}
		if event.Status != before.Status || event.when() != before.when() {
			event.schedule(at)
		}
		if !event.equal(before) {
			event.UpdatedAt = later(at, event.UpdatedAt)
			if err := tx.UpdateEvent(ctx, event); err != nil {
				return err
			}
		}
		if event.Status != before.Status {
			if err := releaseOrPause(ctx, tx, event); err != nil {
				return err
			}
		}
		changed = event.event(category)
		return nil
	})
	if err != nil {
		return Event{}, err
	}
	return changed, nil
}

// CancelEvent cancels an event and its unsold inventory, for ever; orders and history are kept (section 4.4). It needs
// COMPANY:event:manage.
//
// Errors: NOT_FOUND, CONFLICT on a cancelled or ended event.
func (s *Service) CancelEvent(ctx context.Context, caller Caller, id uuid.UUID) (Event, error) {
	if err := caller.Require(GrantEventManage); err != nil {
		return Event{}, err
	}
	var cancelled Event
	err := s.write(ctx, "events.cancel", caller, GrantEventManage, true, func(
		ctx context.Context, tx Tx, at time.Time,
	) error {
		event, err := lockOpenEvent(ctx, tx, EventRef{CompanyID: caller.companyID, ID: id})
		if err != nil {
			return err
		}
		event.Status, event.UpdatedAt = EventCancelled, later(at, event.UpdatedAt)
		event.schedule(at)
		if err := tx.UpdateEvent(ctx, event); err != nil {
			return err
		}
		if _, err := cancelStock(ctx, tx, event.ref(), nil); err != nil {
			return err
		}
		cancelled, err = showEvent(ctx, tx, event)
		return err
	})
	if err != nil {
		return Event{}, err
	}
	return cancelled, nil
}

// lockOpenEvent locks an event that may still change: NOT_FOUND where there is none, CONFLICT on a terminal one.
func lockOpenEvent(ctx context.Context, tx Tx, ref EventRef) (EventRecord, error) {
	event, err := tx.LockEvent(ctx, ref)
	if err != nil {
		return EventRecord{}, err
	}
	return event, event.mutable()
}

// mutable is nil for an event that there is and that is not terminal.
func (e EventRecord) mutable() error {
	switch e.Status {
	case EventDraft, EventPublished:
		return nil
	case EventEnded:
		return conflict("The event has ended and cannot change.")
	case EventCancelled:
		return conflict("The event is cancelled and cannot change.")
	default:
		return errEventNotFound
	}
}

var errEventNotFound = notFound("The event")

func normaliseEventUpdate(p UpdateEventParams) (UpdateEventParams, error) {
	if p == (UpdateEventParams{}) {
		return p, Invalid(Violation{Message: "body: must change at least one member"})
	}
	var v violations
	change(&p.Title, func(s string) string { return requiredText(&v, "title", s, 1, maxTitle) })
	change(&p.Description, func(s string) string { return text(&v, "description", s, maxDescription, true) })
	change(&p.Location, func(s string) string { return text(&v, "location", s, maxPlace, false) })
	change(&p.Venue, func(s string) string { return text(&v, "venue", s, maxPlace, false) })
	change(&p.OrganizerName, func(s string) string { return text(&v, "organizerName", s, maxTitle, false) })
	change(&p.TicketCategories, func(names []string) []string { return checkCategories(&v, "ticketCategories", names) })
	for _, checked := range []struct {
		member *string
		check  func(*violations, string, string)
		path   string
	}{
		{p.Date, checkDate, "date"},
		{p.StartsAt, checkClock, "startsAt"},
		{p.EndsAt, checkClock, "endsAt"},
		{p.Timezone, checkZone, "timezone"},
		{p.ImageURL, checkImageURL, "imageUrl"},
	} {
		if checked.member != nil {
			checked.check(&v, checked.path, *checked.member)
		}
	}
	if p.Status != nil {
		checkDraftOrPublished(&v, *p.Status)
	}
	return p, v.err()
}

// change replaces what a member points to, if it points to anything, without touching the caller's value.
func change[T any](member **T, by func(T) T) {
	if *member != nil {
		changed := by(**member)
		*member = &changed
	}
}

// apply changes the record and returns the category it then shows. A category may stay although it was deactivated.
func (p UpdateEventParams) apply(ctx context.Context, tx ReadTx, e *EventRecord) (CategoryRecord, error) {
	set(&e.Title, p.Title)
	set(&e.Description, p.Description)
	set(&e.Date, p.Date)
	set(&e.StartsAt, p.StartsAt)
	set(&e.EndsAt, p.EndsAt)
	set(&e.Timezone, p.Timezone)
	set(&e.Location, p.Location)
	set(&e.Venue, p.Venue)
	set(&e.ImageURL, p.ImageURL)
	set(&e.OrganizerName, p.OrganizerName)
	set(&e.Status, p.Status)
	if p.TicketCategories != nil {
		custom, refused := addCategories(e.TicketCategories, *p.TicketCategories)
		if refused != nil {
			return CategoryRecord{}, refused
		}
		e.TicketCategories = custom
	}
	if p.CategoryID != nil && *p.CategoryID != e.CategoryID {
		category, err := activeCategory(ctx, tx, *p.CategoryID)
		if err != nil {
			return CategoryRecord{}, err
		}
		if category.ID != *p.CategoryID {
			return CategoryRecord{}, errUnknownCategory
		}
		e.CategoryID = category.ID
	}
	if e.CategoryID == uuid.Nil {
		return CategoryRecord{}, nil
	}
	return only(tx.Categories(ctx, []uuid.UUID{e.CategoryID}))
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// equal tells whether two records of one event are the same. A store may give no categories as nil or as none.
func (e EventRecord) equal(other EventRecord) bool {
	same := slices.Equal(e.TicketCategories, other.TicketCategories)
	e.TicketCategories, other.TicketCategories = nil, nil
	return same && reflect.DeepEqual(e, other)
}

// later is a time that does not run behind what was written before.
func later(at, last time.Time) time.Time {
	if at.Before(last) {
		return last
	}
	return at
}
