package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
)

// createEvent implements section 4.2.
func createEvent(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	body := q.body()
	params := ticketing.CreateEventParams{
		Title:            strictjson.Required(body, "title", strictjson.Text),
		Description:      strictjson.Optional(body, "description", strictjson.Text),
		Date:             strictjson.Required(body, "date", strictjson.Text),
		StartsAt:         strictjson.Required(body, "startsAt", strictjson.Text),
		EndsAt:           strictjson.Required(body, "endsAt", strictjson.Text),
		Timezone:         strictjson.Required(body, "timezone", strictjson.Text),
		Location:         strictjson.Optional(body, "location", strictjson.Text),
		Venue:            strictjson.Optional(body, "venue", strictjson.Text),
		ImageURL:         strictjson.Required(body, "imageUrl", strictjson.Text),
		OrganizerName:    strictjson.Optional(body, "organizerName", strictjson.Text),
		CategoryID:       strictjson.Optional(body, "categoryId", id),
		TicketCategories: strictjson.Present(body, "ticketCategories", strictjson.Items(strictjson.Text)),
		Status:           strictjson.Required(body, "status", strictjson.Enum[ticketing.EventStatus]),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.CreateEvent(ctx, q.caller, q.key, params))
}

// listEvents implements section 4.3.
func listEvents(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	filter := ticketing.EventFilter{
		PageParams: q.pageParams(),
		Status:     queryWord[ticketing.EventStatus](q, "status"),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return paged(svc.ListEvents(ctx, q.caller, filter))
}

// getEvent implements section 4.4.
func getEvent(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	eventID := q.pathID("eventId")
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.GetEvent(ctx, q.caller, eventID))
}

// updateEvent implements section 4.4.
func updateEvent(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	eventID := q.pathID("eventId")
	body := q.body()
	params := ticketing.UpdateEventParams{
		Title:            strictjson.Changed(body, "title", strictjson.Text),
		Description:      strictjson.Clearable(body, "description", strictjson.Text),
		Date:             strictjson.Changed(body, "date", strictjson.Text),
		StartsAt:         strictjson.Changed(body, "startsAt", strictjson.Text),
		EndsAt:           strictjson.Changed(body, "endsAt", strictjson.Text),
		Timezone:         strictjson.Changed(body, "timezone", strictjson.Text),
		Location:         strictjson.Clearable(body, "location", strictjson.Text),
		Venue:            strictjson.Clearable(body, "venue", strictjson.Text),
		ImageURL:         strictjson.Changed(body, "imageUrl", strictjson.Text),
		OrganizerName:    strictjson.Clearable(body, "organizerName", strictjson.Text),
		CategoryID:       strictjson.Clearable(body, "categoryId", id),
		TicketCategories: strictjson.Changed(body, "ticketCategories", strictjson.Items(strictjson.Text)),
		Status:           strictjson.Changed(body, "status", strictjson.Enum[ticketing.EventStatus]),
	}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.UpdateEvent(ctx, q.caller, eventID, params))
}

// cancelEvent implements section 4.4.
func cancelEvent(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	eventID := q.pathID("eventId")
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.CancelEvent(ctx, q.caller, eventID))
}
