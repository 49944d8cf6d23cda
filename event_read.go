package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// GetEvent returns an event (section 4.4). It needs COMPANY:event:read. An event of another company is NOT_FOUND.
func (s *Service) GetEvent(ctx context.Context, caller Caller, id uuid.UUID) (Event, error) {
	if err := caller.Require(GrantEventRead); err != nil {
		return Event{}, err
	}
	var found Event
	err := s.read(ctx, "events.get", caller, GrantEventRead, func(ctx context.Context, tx driver.ReadTx) error {
		event, err := findEvent(ctx, tx, driver.EventRef{CompanyID: caller.companyID, ID: id})
		if err != nil {
			return err
		}
		found, err = showEvent(ctx, tx, event)
		return err
	})
	return found, err
}

// ListEvents returns a page of the company's events, newest first (section 4.3). It needs COMPANY:event:read. A cursor
// is good for the same status filter only; for another one it is INVALID_CURSOR.
//
// It reads one page and no total: the contract has none (section 4.10).
func (s *Service) ListEvents(ctx context.Context, caller Caller, filter EventFilter) (Page[Event], error) {
	if err := caller.Require(GrantEventRead); err != nil {
		return Page[Event]{}, err
	}
	var v violations
	switch filter.Status {
	case "", EventDraft, EventPublished, EventEnded, EventCancelled:
	default:
		v.add("status", "must be DRAFT, PUBLISHED, ENDED or CANCELLED")
	}
	// The filter is part of the cursor's scope (section 4.10).
	list, err := openListing(byTime(func(e driver.Event) driver.Position {
		return driver.Position{At: e.CreatedAt, ID: e.ID}
	}), filter.PageParams, v, "events", caller.companyID.String(), string(filter.Status))
	if err != nil {
		return Page[Event]{}, err
	}
	var page Page[Event]
	err = s.readPage(ctx, "events.list", caller, GrantEventRead, func(
		ctx context.Context, tx driver.ReadTx,
	) (lines int, err error) {
		events, err := tx.ListEvents(ctx, driver.EventQuery{
			CompanyID: caller.companyID, Status: filter.Status, After: list.after, Limit: list.limit,
		})
		if err != nil {
			return 0, err
		}
		events, page.HasMore, page.NextCursor = list.cut(events)
		page.Items, err = showEvents(ctx, tx, events)
		// The lines say how much there is to render, see runOnPageSlot.
		for _, event := range events {
			lines += 1 + len(event.Description)/lineLength
		}
		return lines, err
	})
	return page, err
}

// lineLength is how many bytes of a description count as one line of a page. An order's line has about as many, so that
// long descriptions count towards a long page.
const lineLength = 180

// findEvent returns an event, or NOT_FOUND if the company has none with this id. The reference has the company, so an
// event of another company is not found.
func findEvent(ctx context.Context, tx driver.ReadTx, ref driver.EventRef) (driver.Event, error) {
	event, err := firstRecord(tx.Events(ctx, []driver.EventRef{ref}))
	if err == nil && event.ID == uuid.Nil {
		err = errEventNotFound
	}
	return event, err
}

// showEvent is showEvents for one event.
func showEvent(ctx context.Context, tx driver.ReadTx, event driver.Event) (Event, error) {
	return firstRecord(showEvents(ctx, tx, []driver.Event{event}))
}

// showEvents returns the events as the contract shows them, with their categories. A category is shown even if it was
// deactivated.
//
// The order of the records is kept.
func showEvents(ctx context.Context, tx driver.ReadTx, records []driver.Event) ([]Event, error) {
	var ids []uuid.UUID
	for _, e := range records {
		if e.CategoryID != uuid.Nil {
			ids = append(ids, e.CategoryID)
		}
	}
	categories := map[uuid.UUID]driver.Category{}
	// One query finds the categories of all events.
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
		events[i] = showEventIn(e, categories[e.CategoryID])
	}
	return events, nil
}

// showEventIn returns the event as the contract shows it (section 2.3).
//
// Results that are kept with an idempotency key were rendered by it, too. A member that is added later is zero in the
// replay of an older one.
func showEventIn(e driver.Event, category driver.Category) Event {
	shown := Event{
		ID: e.ID, Object: "event", Title: e.Title, Description: optional(e.Description), Status: e.Status,
		Schedule: Schedule{
			Date: optional(e.Date), StartsAt: optional(e.StartsAt), EndsAt: optional(e.EndsAt),
			Timezone: optional(e.Timezone),
		},
		Location: Location{Name: optional(e.Location), Venue: optional(e.Venue)},
		ImageURL: e.ImageURL, OrganizerName: optional(e.OrganizerName),
		TicketCategories: ticketCategoriesOf(e), CreatedAt: Time{Time: e.CreatedAt}, UpdatedAt: Time{Time: e.UpdatedAt},
	}
	// The zero record stands for no category.
	if category.ID != uuid.Nil {
		shown.Category = &EventCategory{ID: category.ID, Name: category.Name, Slug: category.Slug}
	}
	return shown
}
