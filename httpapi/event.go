package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
)

// createEvent implements section 4.2.
func createEvent(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	body := q.body()
	params := ticketing.CreateEventParams{
		Title:            required(body, "title", text),
		Description:      optional(body, "description", text),
		Date:             required(body, "date", text),
		StartsAt:         required(body, "startsAt", text),
		EndsAt:           required(body, "endsAt", text),
		Timezone:         required(body, "timezone", text),
		Location:         optional(body, "location", text),
		Venue:            optional(body, "venue", text),
		ImageURL:         required(body, "imageUrl", text),
		OrganizerName:    optional(body, "organizerName", text),
		CategoryID:       optional(body, "categoryId", id),
		TicketCategories: present(body, "ticketCategories", items(text)),
		Status:           required(body, "status", enum[ticketing.EventStatus]),
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
		Title:            changed(body, "title", text),
		Description:      clearable(body, "description", text),
		Date:             changed(body, "date", text),
		StartsAt:         changed(body, "startsAt", text),
		EndsAt:           changed(body, "endsAt", text),
		Timezone:         changed(body, "timezone", text),
		Location:         clearable(body, "location", text),
		Venue:            clearable(body, "venue", text),
		ImageURL:         changed(body, "imageUrl", text),
		OrganizerName:    clearable(body, "organizerName", text),
		CategoryID:       clearable(body, "categoryId", id),
		TicketCategories: changed(body, "ticketCategories", items(text)),
		Status:           changed(body, "status", enum[ticketing.EventStatus]),
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
