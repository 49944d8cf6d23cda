package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// CreateEvent creates an event (section 4.2). It needs COMPANY:event:manage and an idempotency key. A replay returns
// the event as it was created, even if it has changed since.
//
// Errors: IDEMPOTENCY_KEY_REQUIRED, INVALID_REQUEST (also for a category that is unknown or inactive),
// PERMISSION_DENIED, CONFLICT for the key.
//
// A new event has no inventory. See [Service.CreateInventory].
func (s *Service) CreateEvent(
	ctx context.Context, caller Caller, key string, params CreateEventParams,
) (Event, error) {
	return runKeyed(ctx, s, &operation[CreateEventParams, Event]{
		name: "events.create", grant: GrantEventManage, exclusive: true, apply: s.createEvents,
		replay: replayBody[CreateEventParams, Event],
	}, caller, key, params, normaliseEvent)
}

// normaliseEvent checks the params and brings the texts into the form that is compared for idempotency (section 4.11,
// rule 3). It counts the ticket categories with the presets, which a new event has as well.
func normaliseEvent(v *violations, p CreateEventParams) CreateEventParams {
	p.Title = requiredText(v, "title", p.Title, 1, maxTitle)
	p.Description = trimmedText(v, "description", p.Description, maxDescription, true)
	checkDate(v, "date", p.Date)
	checkClock(v, "startsAt", p.StartsAt)
	checkClock(v, "endsAt", p.EndsAt)
	checkZone(v, "timezone", p.Timezone)
	p.Location = trimmedText(v, "location", p.Location, maxPlace, false)
	p.Venue = trimmedText(v, "venue", p.Venue, maxPlace, false)
	checkImageURL(v, "imageUrl", p.ImageURL)
	p.OrganizerName = trimmedText(v, "organizerName", p.OrganizerName, maxTitle, false)
	p.TicketCategories = checkCategories(v, "ticketCategories", p.TicketCategories)
	if _, err := addCategories(nil, p.TicketCategories); err != nil {
		*v = append(*v, err.Violations...)
	}
	checkDraftOrPublished(v, p.Status)
	return p
}

func checkImageURL(v *violations, path, s string) { httpsURL(v, path, s, maxImageURL) }

// checkDraftOrPublished checks a status that a client may set. The other statuses are reached by other means (section
// 3.1). ENDED comes with time or from an operator, and CANCELLED with a DELETE. Both are final.
func checkDraftOrPublished(v *violations, status EventStatus) {
	if status != EventDraft && status != EventPublished {
		v.add("status", "must be DRAFT or PUBLISHED")
	}
}

// createEvents decides creates in the order they arrived. An unknown category is a refusal and not checked before,
// because staff may deactivate one at any time. The result is stored with the key, since an event changes later. The
// exclusive gate of the company is held, so that nextCreation sees every event that was created before.
func (s *Service) createEvents(
	ctx context.Context, tx driver.Tx, at time.Time, calls []*call[CreateEventParams, Event],
) error {
	for _, c := range calls {
		p := c.params
		category, err := activeCategory(ctx, tx, p.CategoryID)
		if err != nil {
			return err
		}
		// The zero record has another id, so an unknown or inactive category is refused.
		if category.ID != p.CategoryID {
			c.err = errUnknownCategory
			continue
		}
		custom, refused := addCategories(nil, p.TicketCategories)
		if refused != nil {
			c.err = refused
			continue
		}
		// A refused call must not take a time, so this comes after all refusals.
		created, err := nextCreation(ctx, tx, c.caller.companyID, at)
		if err != nil {
			return err
		}
		event := driver.Event{
			CompanyID: c.caller.companyID, ID: s.newID(), Title: p.Title, Description: p.Description, Status: p.Status,
			Date: p.Date, StartsAt: p.StartsAt, EndsAt: p.EndsAt, Timezone: p.Timezone, Location: p.Location,
			Venue: p.Venue, ImageURL: p.ImageURL, OrganizerName: p.OrganizerName, CategoryID: p.CategoryID,
			TicketCategories: custom, CreatedAt: created, UpdatedAt: created,
		}
		// A published event gets the time at which background work ends it.
		setSchedule(&event, at)
		if err := tx.CreateEvent(ctx, event); err != nil {
			return err
		}
		// The body is what the first call returns: its category, too, is as it is now.
		if err := c.keepBody(event.ID, showEventIn(event, category)); err != nil {
			return err
		}
	}
	return nil
}

// nextCreation returns a time of creation after that of the company's newest event. So "newest first" is true for two
// events of one millisecond and after the clock was set back. Creates hold the company's gate exclusively, so no other
// event is created meanwhile.
//
// A millisecond is the resolution of times in a store.
func nextCreation(ctx context.Context, tx driver.ReadTx, companyID uuid.UUID, at time.Time) (time.Time, error) {
	newest, err := firstRecord(tx.ListEvents(ctx, driver.EventQuery{CompanyID: companyID, Limit: 1}))
	if err != nil || newest.CreatedAt.IsZero() {
		return at, err
	}
	return notBefore(at, newest.CreatedAt.Add(time.Millisecond)), nil
}

var errUnknownCategory = Invalid(Violation{Message: "categoryId: must be the id of an active category"})

// activeCategory returns an active category. It returns the zero record for an unknown or inactive category and for the
// zero id.
func activeCategory(ctx context.Context, tx driver.ReadTx, id uuid.UUID) (driver.Category, error) {
	if id == uuid.Nil {
		return driver.Category{}, nil
	}
	category, err := firstRecord(tx.Categories(ctx, []uuid.UUID{id}))
	if err != nil || category.Status != CategoryActive {
		return driver.Category{}, err
	}
	return category, nil
}
