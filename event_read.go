package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/cursor"
)

// GetEvent finds an event (section 4.4). It needs COMPANY:event:read. An event of another company is NOT_FOUND.
func (s *Service) GetEvent(ctx context.Context, caller Caller, id uuid.UUID) (Event, error) {
	if err := caller.Require(GrantEventRead); err != nil {
		return Event{}, err
	}
	var found Event
	err := s.read(ctx, "events.get", caller, func(ctx context.Context, tx ReadTx) error {
		event, err := findEvent(ctx, tx, EventRef{CompanyID: caller.companyID, ID: id})
		if err != nil {
			return err
		}
		found, err = showEvent(ctx, tx, event)
		return err
	})
	return found, err
}

// ListEvents lists the company's events, newest first (section 4.3). It needs COMPANY:event:read.
func (s *Service) ListEvents(ctx context.Context, caller Caller, filter EventFilter) (Page[Event], error) {
	if err := caller.Require(GrantEventRead); err != nil {
		return Page[Event]{}, err
	}
	var v violations
	limit := filter.limit(&v)
	switch filter.Status {
	case "", EventDraft, EventPublished, EventEnded, EventCancelled:
	default:
		v.add("status", "must be DRAFT, PUBLISHED, ENDED or CANCELLED")
	}
	if err := v.err(); err != nil {
		return Page[Event]{}, err
	}
	scope := cursor.Scope("events", caller.companyID.String(), string(filter.Status))
	before, err := filter.read(scope, positionSize)
	if err != nil {
		return Page[Event]{}, err
	}
	var page Page[Event]
	err = s.readPage(ctx, "events.list", caller, func(ctx context.Context, tx ReadTx) (lines int, err error) {
		events, err := tx.ListEvents(ctx, EventQuery{
			CompanyID: caller.companyID, Status: filter.Status, Before: parsePosition(before), Limit: limit + 1,
		})
		if err != nil {
			return 0, err
		}
		events, page.NextCursor = turn(events, limit, scope, func(e EventRecord) []byte {
			return Position{At: e.CreatedAt, ID: e.ID}.bytes()
		})
		page.HasMore = page.NextCursor != ""
		page.Items, err = showEvents(ctx, tx, events)
		for _, event := range events {
			lines += 1 + len(event.Description)/lineLength
		}
		return lines, err
	})
	return page, err
}

// lineLength is how many bytes of a description count as a line of a page: about those of an order's line.
const lineLength = 180

func findEvent(ctx context.Context, tx ReadTx, ref EventRef) (EventRecord, error) {
	event, err := only(tx.Events(ctx, []EventRef{ref}))
	if err == nil && event.ID == uuid.Nil {
		err = errEventNotFound
	}
	return event, err
}

func showEvent(ctx context.Context, tx ReadTx, event EventRecord) (Event, error) {
	return only(showEvents(ctx, tx, []EventRecord{event}))
}

// showEvents makes records what the contract shows, with their categories.
func showEvents(ctx context.Context, tx ReadTx, records []EventRecord) ([]Event, error) {
	var ids []uuid.UUID
	for _, e := range records {
		if e.CategoryID != uuid.Nil {
			ids = append(ids, e.CategoryID)
		}
	}
	categories := map[uuid.UUID]CategoryRecord{}
	if len(ids) > 0 {
		found, err := tx.Categories(ctx, distinct(ids))
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			categories[c.ID] = c
		}
	}
	events := make([]Event, len(records))
	for i, e := range records {
		events[i] = e.event(categories[e.CategoryID])
	}
	return events, nil
}

func (e EventRecord) event(category CategoryRecord) Event {
	shown := Event{
		ID: e.ID, Object: "event", Title: e.Title, Description: optional(e.Description), Status: e.Status,
		Schedule: Schedule{
			Date: optional(e.Date), StartsAt: optional(e.StartsAt), EndsAt: optional(e.EndsAt),
			Timezone: optional(e.Timezone),
		},
		Location: Location{Name: optional(e.Location), Venue: optional(e.Venue)},
		ImageURL: e.ImageURL, OrganizerName: optional(e.OrganizerName),
		TicketCategories: e.ticketCategories(), CreatedAt: Time{e.CreatedAt}, UpdatedAt: Time{e.UpdatedAt},
	}
	if category.ID != uuid.Nil {
		shown.Category = &EventCategory{ID: category.ID, Name: category.Name, Slug: category.Slug}
	}
	return shown
}

func (e EventRecord) ref() EventRef { return EventRef{CompanyID: e.CompanyID, ID: e.ID} }
