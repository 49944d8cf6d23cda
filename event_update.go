package ticketing

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// UpdateEvent changes an event that is neither cancelled nor ended (sections 3.1 and 4.4). It needs
// COMPANY:event:manage. Publishing releases paused, unsold inventory; going back to a draft pauses it. A change that
// changes nothing leaves UpdatedAt alone.
//
// Errors: INVALID_REQUEST, NOT_FOUND, CONFLICT on a cancelled or ended event.
//
// Without a change of the status it shares the gate, so sales of the company go on. A sale reads no other member of an
// event.
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
	exclusive := params.Status != nil // A sale reads the status.
	err = s.write(ctx, "events.update", caller, GrantEventManage, exclusive, func(
		ctx context.Context, tx driver.Tx, at time.Time,
	) error {
		event, err := lockOpenEvent(ctx, tx, driver.EventRef{CompanyID: caller.companyID, ID: id})
		if err != nil {
			return err
		}
		before := event
		// The category is read even if it stays, since the result shows it.
		category, err := params.apply(ctx, tx, &event)
		if err != nil {
			return err
		}
		// Only another status or schedule sets the end again: a schedule that is repeated is no rescheduling.
		if event.Status != before.Status || scheduleOf(event) != scheduleOf(before) {
			setSchedule(&event, at)
		}
		// Equal records are not written, so UpdatedAt stays.
		if !equalEvents(event, before) {
			event.UpdatedAt = notBefore(at, event.UpdatedAt)
			if err := tx.UpdateEvent(ctx, event); err != nil {
				return err
			}
		}
		// Inventory follows the status (section 3.1).
		if event.Status != before.Status {
			if err := releaseOrPause(ctx, tx, event); err != nil {
				return err
			}
		}
		changed = showEventIn(event, category)
		return nil
	})
	if err != nil {
		return Event{}, err
	}
	return changed, nil
}

// CancelEvent cancels an event and its unsold inventory for good. Orders and history are kept (section 4.4). It needs
// COMPANY:event:manage. No checkout of the event runs at the same time.
//
// Errors: NOT_FOUND, CONFLICT on a cancelled or ended event.
func (s *Service) CancelEvent(ctx context.Context, caller Caller, id uuid.UUID) (Event, error) {
	if err := caller.Require(GrantEventManage); err != nil {
		return Event{}, err
	}
	var cancelled Event
	err := s.write(ctx, "events.cancel", caller, GrantEventManage, true, func(
		ctx context.Context, tx driver.Tx, at time.Time,
	) error {
		event, err := lockOpenEvent(ctx, tx, driver.EventRef{CompanyID: caller.companyID, ID: id})
		if err != nil {
			return err
		}
		event.Status, event.UpdatedAt = EventCancelled, notBefore(at, event.UpdatedAt)
		// A cancelled event is never due to end.
		setSchedule(&event, at)
		if err := tx.UpdateEvent(ctx, event); err != nil {
			return err
		}
		// No names means all tiers of the event.
		if _, err := cancelStock(ctx, tx, event.Ref(), nil); err != nil {
			return err
		}
		// The result is read in the same transaction, so it shows the event as it was cancelled.
		cancelled, err = showEvent(ctx, tx, event)
		return err
	})
	if err != nil {
		return Event{}, err
	}
	return cancelled, nil
}

// lockOpenEvent locks an event that may still change. It returns NOT_FOUND if there is none, and CONFLICT for a
// terminal one.
//
// The lock holds until the end of the transaction, so concurrent changes of an event come one after the other.
func lockOpenEvent(ctx context.Context, tx driver.Tx, ref driver.EventRef) (driver.Event, error) {
	event, err := tx.LockEvent(ctx, ref)
	if err != nil {
		return driver.Event{}, err
	}
	return event, checkMutable(event)
}

// checkMutable returns nil for an event that exists and is not terminal, and else the refusal.
func checkMutable(e driver.Event) error {
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

// normaliseEventUpdate checks the members that are not nil and normalises their texts. At least one member must be set.
func normaliseEventUpdate(p UpdateEventParams) (UpdateEventParams, error) {
	// All members are pointers, so the comparison is one with nil.
	if p == (UpdateEventParams{}) {
		return p, Invalid(Violation{Message: "body: must change at least one member"})
	}
	var v violations
	replaceMember(&p.Title, func(s string) string { return requiredText(&v, "title", s, 1, maxTitle) })
	replaceMember(&p.Description, func(s string) string { return trimmedText(&v, "description", s, maxDescription, true) })
	replaceMember(&p.Location, func(s string) string { return trimmedText(&v, "location", s, maxPlace, false) })
	replaceMember(&p.Venue, func(s string) string { return trimmedText(&v, "venue", s, maxPlace, false) })
	replaceMember(&p.OrganizerName, func(s string) string { return trimmedText(&v, "organizerName", s, maxTitle, false) })
	replaceMember(&p.TicketCategories, func(names []string) []string {
		return checkCategories(&v, "ticketCategories", names)
	})
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

// replaceMember replaces what a member points to, if it is not nil. It leaves the caller's value as it is. A caller may
// use its params again, so what they point to must not change.
func replaceMember[T any](member **T, by func(T) T) {
	if *member != nil {
		changed := by(**member)
		*member = &changed
	}
}

// apply changes the record and returns the category that it then shows. A category that was deactivated may stay, but
// it cannot be set again.
//
// It returns INVALID_REQUEST for an unknown or inactive category, and for more than 50 ticket categories.
func (p UpdateEventParams) apply(ctx context.Context, tx driver.ReadTx, e *driver.Event) (driver.Category, error) {
	setMember(&e.Title, p.Title)
	setMember(&e.Description, p.Description)
	setMember(&e.Date, p.Date)
	setMember(&e.StartsAt, p.StartsAt)
	setMember(&e.EndsAt, p.EndsAt)
	setMember(&e.Timezone, p.Timezone)
	setMember(&e.Location, p.Location)
	setMember(&e.Venue, p.Venue)
	setMember(&e.ImageURL, p.ImageURL)
	setMember(&e.OrganizerName, p.OrganizerName)
	setMember(&e.Status, p.Status)
	if p.TicketCategories != nil {
		custom, refused := addCategories(e.TicketCategories, *p.TicketCategories)
		if refused != nil {
			return driver.Category{}, refused
		}
		e.TicketCategories = custom
	}
	// The current category is not looked up as a new one, so it may be inactive.
	if p.CategoryID != nil && *p.CategoryID != e.CategoryID {
		category, err := activeCategory(ctx, tx, *p.CategoryID)
		if err != nil {
			return driver.Category{}, err
		}
		if category.ID != *p.CategoryID {
			return driver.Category{}, errUnknownCategory
		}
		e.CategoryID = category.ID
	}
	if e.CategoryID == uuid.Nil {
		return driver.Category{}, nil
	}
	return firstRecord(tx.Categories(ctx, []uuid.UUID{e.CategoryID}))
}

// setMember assigns what from points to, if it is not nil.
func setMember[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// equalEvents reports whether two records of one event are the same. A store may return no categories as nil or as an
// empty slice.
func equalEvents(e, other driver.Event) bool {
	// DeepEqual distinguishes nil from an empty slice, so the categories are compared before.
	same := slices.Equal(e.TicketCategories, other.TicketCategories)
	e.TicketCategories, other.TicketCategories = nil, nil
	return same && reflect.DeepEqual(e, other)
}
