package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// CreateEvent makes an event (section 4.2). It needs COMPANY:event:manage and an idempotency key.
//
// Errors: IDEMPOTENCY_KEY_REQUIRED, INVALID_REQUEST (a category that is unknown or inactive, too), PERMISSION_DENIED,
// CONFLICT for the key.
func (s *Service) CreateEvent(
	ctx context.Context, caller Caller, key string, params CreateEventParams,
) (Event, error) {
	return do(ctx, s, &operation[CreateEventParams, Event]{
		name: "events.create", grant: GrantEventManage, closed: true, apply: s.createEvents,
		replay: recallBody[CreateEventParams, Event],
	}, caller, key, params, normaliseEvent)
}

func normaliseEvent(v *violations, p CreateEventParams) CreateEventParams {
	p.Title = requiredText(v, "title", p.Title, 1, maxTitle)
	p.Description = text(v, "description", p.Description, maxDescription, true)
	checkDate(v, "date", p.Date)
	checkClock(v, "startsAt", p.StartsAt)
	checkClock(v, "endsAt", p.EndsAt)
	checkZone(v, "timezone", p.Timezone)
	p.Location = text(v, "location", p.Location, maxPlace, false)
	p.Venue = text(v, "venue", p.Venue, maxPlace, false)
	checkImageURL(v, "imageUrl", p.ImageURL)
	p.OrganizerName = text(v, "organizerName", p.OrganizerName, maxTitle, false)
	p.TicketCategories = checkCategories(v, "ticketCategories", p.TicketCategories)
	if _, err := addCategories(nil, p.TicketCategories); err != nil {
		*v = append(*v, err.Violations...)
	}
	checkDraftOrPublished(v, p.Status)
	return p
}

func checkImageURL(v *violations, path, s string) { httpsURL(v, path, s, maxImageURL) }

func checkDraftOrPublished(v *violations, status EventStatus) {
	if status != EventDraft && status != EventPublished {
		v.add("status", "must be DRAFT or PUBLISHED")
	}
}

func (s *Service) createEvents(
	ctx context.Context, tx Tx, at time.Time, calls []*call[CreateEventParams, Event],
) error {
	for _, c := range calls {
		p := c.params
		category, err := activeCategory(ctx, tx, p.CategoryID)
		if err != nil {
			return err
		}
		if category.ID != p.CategoryID {
			c.err = errUnknownCategory
			continue
		}
		custom, refused := addCategories(nil, p.TicketCategories)
		if refused != nil {
			c.err = refused
			continue
		}
		created, err := nextCreation(ctx, tx, c.caller.companyID, at)
		if err != nil {
			return err
		}
		event := EventRecord{
			CompanyID: c.caller.companyID, ID: s.newID(), Title: p.Title, Description: p.Description, Status: p.Status,
			Date: p.Date, StartsAt: p.StartsAt, EndsAt: p.EndsAt, Timezone: p.Timezone, Location: p.Location,
			Venue: p.Venue, ImageURL: p.ImageURL, OrganizerName: p.OrganizerName, CategoryID: p.CategoryID,
			TicketCategories: custom, CreatedAt: created, UpdatedAt: created,
		}
		event.schedule(at)
		if err := tx.CreateEvent(ctx, event); err != nil {
			return err
		}
		if err := c.keepBody(event.ID, event.event(category)); err != nil {
			return err
		}
	}
	return nil
}

// nextCreation is a time after that of the company's newest event, so that newest first is true for two events of one
// millisecond and when the clock was set back. Creates take turns at the closed gate.
func nextCreation(ctx context.Context, tx ReadTx, companyID uuid.UUID, at time.Time) (time.Time, error) {
	newest, err := only(tx.ListEvents(ctx, EventQuery{CompanyID: companyID, Limit: 1}))
	if err != nil || newest.CreatedAt.IsZero() {
		return at, err
	}
	return later(at, newest.CreatedAt.Add(time.Millisecond)), nil
}

var errUnknownCategory = Invalid(Violation{Message: "categoryId: must be the id of an active category"})

// activeCategory is the zero record for an unknown or inactive category, and for none.
func activeCategory(ctx context.Context, tx ReadTx, id uuid.UUID) (CategoryRecord, error) {
	if id == uuid.Nil {
		return CategoryRecord{}, nil
	}
	category, err := only(tx.Categories(ctx, []uuid.UUID{id}))
	if err != nil || category.Status != CategoryActive {
		return CategoryRecord{}, err
	}
	return category, nil
}
