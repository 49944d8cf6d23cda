package console

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// newestEvents is how many events a choice lists without a search.
const newestEvents = 25

// namedEvent is an event of a choice.
type namedEvent struct {
	ID    uuid.UUID `json:"id"`
	Title string    `json:"title"`
}

// eventChoice is a filter by an event: the newest ones, or those that a search finds.
type eventChoice struct {
	Search string       // the beginning of a title or an id, as it was typed; empty: the newest events
	Events []namedEvent // without the chosen one, if it is not among them
	field  field
}

// eventNameQuery is the member of the query with the name of an event to find.
const eventNameQuery = "eventName"

// loadEventChoice returns the choice of an event for a page with the members event and eventName in its query.
func loadEventChoice(ctx context.Context, c *call, chosen uuid.UUID) (eventChoice, error) {
	choice := eventChoice{Search: strings.TrimSpace(c.query(eventNameQuery))}
	var selected namedEvent
	err := together(ctx, func(ctx context.Context) (err error) {
		choice.Events, err = c.eventsFor(ctx, choice.Search)
		return err
	}, func(ctx context.Context) (err error) {
		if chosen != uuid.Nil {
			selected, err = c.eventName(ctx, chosen)
		}
		return err
	})
	if err != nil {
		return eventChoice{}, err
	}
	listed := choice.Events
	if chosen != uuid.Nil && !slices.ContainsFunc(listed, func(one namedEvent) bool { return one.ID == chosen }) {
		listed = append(slices.Clone(listed), selected)
	}
	options := []option{{Label: "All events"}}
	for _, one := range listed {
		label := cut(one.Title, maxShownName)
		// Two events with the same title are shown with their ids.
		if slices.ContainsFunc(listed, func(other namedEvent) bool {
			return other.ID != one.ID && other.Title == one.Title
		}) {
			label += " (" + formatShort(one.ID) + ")"
		}
		options = append(options, option{Value: one.ID.String(), Label: label})
	}
	choice.field = chosenFilter(c, "event", "Event", options...)
	return choice, nil
}

// eventsFor returns the events that a text finds, or the newest ones without a text. A person who may see none gets
// none.
func (c *call) eventsFor(ctx context.Context, text string) ([]namedEvent, error) {
	events := []namedEvent{}
	if text != "" {
		if !holds(c.actor, ticketing.PermissionCompanyOrderRead) {
			return events, nil
		}
		found, err := c.operator.Find(ctx, c.companyID, text)
		if errors.Is(err, ticketing.CodeInvalidRequest) {
			return nil, invalid(eventNameQuery + ": must be at most 320 characters on one line")
		}
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			if one.Kind == ticketing.FoundEvent {
				events = append(events, namedEvent{*one.ID, one.Title})
			}
		}
		return events, nil
	}
	if !c.readsEvents() {
		return events, nil
	}
	newest, err := c.console.svc.ListEvents(ctx, c.caller, ticketing.EventFilter{
		PageParams: ticketing.PageParams{Limit: newestEvents},
	})
	for _, event := range newest.Items {
		events = append(events, namedEvent{event.ID, event.Title})
	}
	return events, err
}

// eventName returns an event with its title. If it does not exist or the person may not see it, only its id is set.
func (c *call) eventName(ctx context.Context, id uuid.UUID) (namedEvent, error) {
	named := namedEvent{id, "Event " + formatShort(id)}
	if !c.readsEvents() {
		return named, nil
	}
	event, err := c.console.svc.GetEvent(ctx, c.caller, id)
	switch {
	case errors.Is(err, ticketing.CodeNotFound):
		err = nil
	case err == nil:
		named.Title = event.Title
	}
	return named, err
}

// readsEvents reports whether the person may see the events of the company.
func (c *call) readsEvents() bool { return c.require(ticketing.GrantEventRead) == nil }
