package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type events struct {
	byID      map[uuid.UUID]driver.Event
	byCompany map[uuid.UUID]*eventLists
	due       *index[ending]
}

type eventLists = lists[driver.Position, driver.EventStatus]

// ending is the time at which a published event ends by itself.
type ending struct {
	on  time.Time
	ref driver.EventRef
}

func newEvents() events {
	return events{
		byID:      make(map[uuid.UUID]driver.Event),
		byCompany: make(map[uuid.UUID]*eventLists),
		due:       newIndex(compareEndings),
	}
}

func compareEndings(a, b ending) int {
	return cmp.Or(
		a.on.Compare(b.on), compareIDs(a.ref.CompanyID, b.ref.CompanyID), compareIDs(a.ref.ID, b.ref.ID),
	)
}

func (e *events) find(id uuid.UUID) driver.Event {
	event := e.byID[id]
	event.TicketCategories = slices.Clone(event.TicketCategories)
	return event
}

func (e *events) get(ref driver.EventRef) driver.Event {
	event := e.find(ref.ID)
	if event.CompanyID != ref.CompanyID {
		return driver.Event{}
	}
	return event
}

func (e *events) list(query driver.EventQuery) []driver.Position {
	of, ok := e.byCompany[query.CompanyID]
	if !ok {
		return nil
	}
	list := of.all
	if query.Status != "" {
		list, ok = of.parts[query.Status]
		if !ok {
			return nil
		}
	}
	keys := list.keys
	if query.After != (driver.Position{}) {
		keys = list.below(query.After)
	}
	return last([][]driver.Position{keys}, query.Limit, comparePositions)
}

// end applies change, which adds or drops, to the list of events that end by themselves, if the event belongs there.
func (e *events) end(u *undo, event driver.Event, change func(*undo, ending)) {
	if event.Status == driver.EventPublished && !event.EndsOn.IsZero() {
		change(u, ending{event.EndsOn, driver.EventRef{CompanyID: event.CompanyID, ID: event.ID}})
	}
}

func (r reading) Events(ctx context.Context, refs []driver.EventRef) ([]driver.Event, error) {
	return ask(ctx, r, func(s *state) []driver.Event { return each(refs, s.events.get) })
}

func (r reading) FindEvent(ctx context.Context, id uuid.UUID) (driver.Event, error) {
	return ask(ctx, r, func(s *state) driver.Event { return s.events.find(id) })
}

func (r reading) ListEvents(
	ctx context.Context, query driver.EventQuery,
) ([]driver.Event, error) {
	return ask(ctx, r, func(s *state) []driver.Event {
		return each(s.events.list(query), func(p driver.Position) driver.Event {
			return s.events.find(p.ID)
		})
	})
}

func (r reading) DueEvents(ctx context.Context, at time.Time, limit int) ([]driver.EventRef, error) {
	return ask(ctx, r, func(s *state) []driver.EventRef {
		var due []driver.EventRef
		for _, next := range s.events.due.first(limit) {
			if next.on.After(at) {
				break
			}
			due = append(due, next.ref)
		}
		return due
	})
}

// LockEvent only reads an event, because there is no other writer.
func (tx *updating) LockEvent(ctx context.Context, ref driver.EventRef) (driver.Event, error) {
	return ask(ctx, tx.reading, func(s *state) driver.Event { return s.events.get(ref) })
}

func (tx *updating) CreateEvent(ctx context.Context, event driver.Event) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		event = keptEvent(event)
		if err := create(u, s.events.byID, event.ID, event, "events_pkey"); err != nil {
			return err
		}
		of := need(s.events.byCompany, event.CompanyID, func() *eventLists {
			return newLists[driver.Position, driver.EventStatus](comparePositions)
		})
		of.add(u, driver.Position{At: event.CreatedAt, ID: event.ID}, event.Status)
		s.events.end(u, event, s.events.due.add)
		return nil
	})
}

func (tx *updating) UpdateEvent(ctx context.Context, event driver.Event) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		old, ok := s.events.byID[event.ID]
		if !ok || old.CompanyID != event.CompanyID {
			return driver.ErrNotFound
		}
		event = keptEvent(event)
		event.CreatedAt = old.CreatedAt
		put(u, s.events.byID, event.ID, event)
		place := driver.Position{At: event.CreatedAt, ID: event.ID}
		s.events.byCompany[event.CompanyID].move(u, place, old.Status, event.Status)
		s.events.end(u, old, s.events.due.drop)
		s.events.end(u, event, s.events.due.add)
		return nil
	})
}

func keptEvent(event driver.Event) driver.Event {
	event.TicketCategories = slices.Clone(event.TicketCategories)
	event.EndsOn, event.CreatedAt = moment(event.EndsOn), moment(event.CreatedAt)
	event.UpdatedAt = moment(event.UpdatedAt)
	return event
}
