package console

import (
	"context"
	"slices"

	"github.com/floatgate/ticketing"
)

const (
	eventsPath    = "/business/{companyId}/events"
	eventNewPath  = eventsPath + "/new"
	eventPath     = eventsPath + "/{eventId}"
	eventEditPath = eventPath + "/edit"
	tierPath      = eventPath + "/tiers/{tier}"
)

// eventPages returns the pages of a company's events and their sales. They are of the data plane: the grants of section
// 5 decide who sees them.
func eventPages() []page {
	read := []ticketing.Grant{ticketing.GrantEventRead}
	manage := []ticketing.Grant{ticketing.GrantEventRead, ticketing.GrantEventManage}
	return []page{
		{
			group: groupSelling, bar: true,
			path: eventsPath, scope: scopeCompany, title: "Events", nav: "Events", icon: "calendar", grants: read,
			template: "events.html", query: []string{"cursor", "status"}, load: loadEvents,
			live: []ticketing.WatchTopic{ticketing.WatchMoney},
		},
		{
			path: eventNewPath, scope: scopeCompany, title: "New event", grants: manage, template: "event-form.html",
			load: loadNewEvent,
		},
		{
			path: eventPath, scope: scopeCompany, title: "Event",
			grants:   []ticketing.Grant{ticketing.GrantEventRead, ticketing.GrantInventoryRead},
			template: "event.html", query: []string{"tz"}, load: loadEvent,
			live: []ticketing.WatchTopic{ticketing.WatchEvent},
		},
		{
			path: eventEditPath, scope: scopeCompany, title: "Edit event", grants: manage, template: "event-form.html",
			load: loadEventEdit,
		},
	}
}

// eventActs returns the acts about events. Staff end an event of any company; all else needs a grant.
func eventActs() []act {
	of := func(name, path, page, done string) act {
		return act{
			name: name, scope: scopeCompany, path: path, page: page, grant: ticketing.GrantEventManage, done: done,
		}
	}
	end := of("event.end", eventPath+"/end", eventPath, "The event has ended. Sales have stopped.")
	end.grant, end.permission = "", ticketing.PermissionManage
	return []act{
		newAct(of("event.create", eventsPath+"/create", eventNewPath, "The event was created. Add its tickets next."),
			readNewEvent, onDataPlane(createEvent)),
		newAct(of("event.update", eventEditPath+"/save", eventEditPath, "The event was changed."),
			readEventChange, onDataPlane(updateEvent)),
		newAct(of("event.publish", eventPath+"/publish", eventPath,
			"The event is published. All its unsold tickets are on sale."),
			noMembers, onDataPlane(setEventStatus(ticketing.EventPublished))),
		newAct(of("event.unpublish", eventPath+"/unpublish", eventPath,
			"The event is a draft again. Its unsold tickets are paused."),
			noMembers, onDataPlane(setEventStatus(ticketing.EventDraft))),
		newAct(of("event.cancel", eventPath+"/cancel", eventPath,
			"The event is cancelled. Its orders stay as they are."),
			readConfirmed, onDataPlane(cancelEvent)),
		newAct(end, readConfirmed, endEvent),
	}
}

// eventList is a page of events with its filter.
type eventList struct {
	itemList[shownEvent]

	Filters  []field
	Filtered bool
}

// HasStock reports whether the person may see what the events have sold and have left.
func (l eventList) HasStock() bool { return len(l.Items) > 0 && l.Items[0].Stock != nil }

// HasGross reports whether the list shows the gross of an event.
func (l eventList) HasGross() bool {
	return slices.ContainsFunc(l.Items, func(e shownEvent) bool { return e.Gross != nil })
}

func loadEvents(ctx context.Context, c *call) (view, error) {
	found, err := c.console.svc.ListEvents(ctx, c.caller, ticketing.EventFilter{
		PageParams: c.paging(), Status: ticketing.EventStatus(c.query("status")),
	})
	if err != nil {
		return view{}, err
	}
	shown := eventList{
		Filtered: isFiltered(c, "status"),
		Filters: []field{chosenFilter(c, "status", "Status", option{Label: "All"},
			option{Value: "DRAFT", Label: "Drafts"}, option{Value: "PUBLISHED", Label: "Published"},
			option{Value: "ENDED", Label: "Ended"}, option{Value: "CANCELLED", Label: "Cancelled"})},
	}
	shown.Items, err = showEvents(ctx, c, found.Items)
	return view{data: shown, paged: true, next: found.NextCursor, still: c.query("cursor") != ""}, err
}

// setEventStatus returns a function that publishes an event, or makes it a draft again.
func setEventStatus(status ticketing.EventStatus) func(context.Context, *call, none) (outcome, error) {
	return func(ctx context.Context, c *call, _ none) (outcome, error) {
		changed, err := c.console.svc.UpdateEvent(ctx, c.caller, c.pathID("eventId"),
			ticketing.UpdateEventParams{Status: &status})
		return outcome{data: changed}, err
	}
}

func cancelEvent(ctx context.Context, c *call, _ none) (outcome, error) {
	cancelled, err := c.console.svc.CancelEvent(ctx, c.caller, c.pathID("eventId"))
	return outcome{data: cancelled}, err
}

// endEvent ends an event of the company in the path only: staff could reach all events.
func endEvent(ctx context.Context, c *call, _ none) (outcome, error) {
	event, err := c.console.svc.GetEvent(ctx, c.caller, c.pathID("eventId"))
	if err != nil {
		return outcome{}, err
	}
	ended, err := c.operator.EndEvent(ctx, event.ID)
	return outcome{data: ended}, err
}
