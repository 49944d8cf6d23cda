package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type events struct {
	byID      map[uuid.UUID]ticketing.EventRecord
	byCompany map[uuid.UUID]*eventLists
	due       *index[ending]
}

type eventLists = lists[ticketing.Position, ticketing.EventStatus]

// ending is when a published event ends by itself.
type ending struct {
	on  time.Time
	ref ticketing.EventRef
}

func newEvents() events {
	return events{
		byID:      make(map[uuid.UUID]ticketing.EventRecord),
		byCompany: make(map[uuid.UUID]*eventLists),
		due:       newIndex(compareEndings),
	}
}

func compareEndings(a, b ending) int {
	return cmp.Or(
		a.on.Compare(b.on), compareIDs(a.ref.CompanyID, b.ref.CompanyID), compareIDs(a.ref.ID, b.ref.ID),
	)
}

func (e *events) find(id uuid.UUID) ticketing.EventRecord {
	event := e.byID[id]
	event.TicketCategories = slices.Clone(event.TicketCategories)
	return event
}

func (e *events) get(ref ticketing.EventRef) ticketing.EventRecord {
	event := e.find(ref.ID)
	if event.CompanyID != ref.CompanyID {
		return ticketing.EventRecord{}
	}
	return event
}

func (e *events) list(query ticketing.EventQuery) []ticketing.Position {
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
	if query.Before != (ticketing.Position{}) {
		keys = list.below(query.Before)
	}
	return last([][]ticketing.Position{keys}, query.Limit, comparePositions)
}

// end keeps the list of what is due in step with an event.
func (e *events) end(u *undo, event ticketing.EventRecord, change func(*undo, ending)) {
	if event.Status == ticketing.EventPublished && !event.EndsOn.IsZero() {
		change(u, ending{event.EndsOn, ticketing.EventRef{CompanyID: event.CompanyID, ID: event.ID}})
	}
}

func (r reading) Events(ctx context.Context, refs []ticketing.EventRef) ([]ticketing.EventRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.EventRecord { return each(refs, s.events.get) })
}

func (r reading) FindEvent(ctx context.Context, id uuid.UUID) (ticketing.EventRecord, error) {
	return ask(ctx, r, func(s *state) ticketing.EventRecord { return s.events.find(id) })
}

func (r reading) ListEvents(
	ctx context.Context, query ticketing.EventQuery,
) ([]ticketing.EventRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.EventRecord {
		return each(s.events.list(query), func(p ticketing.Position) ticketing.EventRecord {
			return s.events.find(p.ID)
		})
	})
}

func (r reading) DueEvents(ctx context.Context, at time.Time, limit int) ([]ticketing.EventRef, error) {
	return ask(ctx, r, func(s *state) []ticketing.EventRef {
		var due []ticketing.EventRef
		for _, next := range s.events.due.first(limit) {
			if next.on.After(at) {
				break
			}
			due = append(due, next.ref)
		}
		return due
	})
}

// LockEvent reads an event: its writer is alone.
func (tx *updating) LockEvent(ctx context.Context, ref ticketing.EventRef) (ticketing.EventRecord, error) {
	return ask(ctx, tx.reading, func(s *state) ticketing.EventRecord { return s.events.get(ref) })
}

func (tx *updating) CreateEvent(ctx context.Context, event ticketing.EventRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		event = keptEvent(event)
		if err := create(u, s.events.byID, event.ID, event, "events_pkey"); err != nil {
			return err
		}
		of := need(s.events.byCompany, event.CompanyID, func() *eventLists {
			return newLists[ticketing.Position, ticketing.EventStatus](comparePositions)
		})
		of.add(u, ticketing.Position{At: event.CreatedAt, ID: event.ID}, event.Status)
		s.events.end(u, event, s.events.due.add)
		return nil
	})
}

func (tx *updating) UpdateEvent(ctx context.Context, event ticketing.EventRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		old, ok := s.events.byID[event.ID]
		if !ok || old.CompanyID != event.CompanyID {
			return ticketing.ErrNotFound
		}
		event = keptEvent(event)
		event.CreatedAt = old.CreatedAt
		put(u, s.events.byID, event.ID, event)
		place := ticketing.Position{At: event.CreatedAt, ID: event.ID}
		s.events.byCompany[event.CompanyID].move(u, place, old.Status, event.Status)
		s.events.end(u, old, s.events.due.drop)
		s.events.end(u, event, s.events.due.add)
		return nil
	})
}

func keptEvent(event ticketing.EventRecord) ticketing.EventRecord {
	event.TicketCategories = slices.Clone(event.TicketCategories)
	event.EndsOn, event.CreatedAt = moment(event.EndsOn), moment(event.CreatedAt)
	event.UpdatedAt = moment(event.UpdatedAt)
	return event
}
