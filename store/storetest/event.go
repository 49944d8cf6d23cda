package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func eventKinds() []record {
	ref := driver.EventRef{CompanyID: companyA, ID: id(50)}
	kept := newEvent(ref)
	kept.CreatedAt = at(50)
	changed := kept
	changed.Title, changed.Description, changed.Status = "changed", "", driver.EventPublished
	changed.Date, changed.StartsAt, changed.EndsAt, changed.Timezone = "2027-01-01", "00:00", "23:59", "Asia/Kolkata"
	changed.Location, changed.Venue, changed.ImageURL, changed.OrganizerName = "", "", "https://example.com/", ""
	changed.CategoryID, changed.TicketCategories = uuid.Nil, append(slices.Clone(kept.TicketCategories), "more")
	changed.EndsOn, changed.UpdatedAt = at(60), at(51)
	holds := func(found driver.Event, listed ...driver.Event) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			var due []driver.EventRef
			if found.Status == driver.EventPublished {
				due = append(due, ref)
			}
			return errors.Join(
				want("Events", []driver.Event{found}).from(tx.Events(ctx, []driver.EventRef{ref})),
				want("FindEvent", found).from(tx.FindEvent(ctx, ref.ID)),
				want("ListEvents", append(slices.Clone(listed), newEvent(eventA))).
					from(tx.ListEvents(ctx, driver.EventQuery{CompanyID: companyA, Limit: 9})),
				want("ListEvents of a status", 1+len(listed)-len(due)).from(count(tx.ListEvents(ctx,
					driver.EventQuery{CompanyID: companyA, Status: driver.EventDraft, Limit: 9}))),
				want("ListEvents of another status", len(due)).from(count(tx.ListEvents(ctx,
					driver.EventQuery{CompanyID: companyA, Status: driver.EventPublished, Limit: 9}))),
				want("DueEvents", due).from(tx.DueEvents(ctx, at(60), 9)),
			)
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error { return tx.CreateEvent(ctx, kept) }
	return []record{{
		name: "events", create: create, created: holds(kept, kept), absent: holds(driver.Event{}),
		change:  func(ctx context.Context, tx driver.Tx) error { return tx.UpdateEvent(ctx, changed) },
		changed: holds(changed, changed),
		taken:   map[string]writes{"id": create},
	}}
}

func count[R any](found []R, err error) (int, error) { return len(found), err }

func eventChecks() []Check {
	return []Check{
		{"events/answers are aligned and of their company", grounded(eventsAligned)},
		{"events/list is in order and in pages", grounded(eventsListed)},
		{"events/due ones", grounded(eventsDue)},
		{"events/another company's is not changed", grounded(eventOfAnother)},
	}
}

func eventsAligned(ctx context.Context, s driver.Store) error {
	a, b := newEvent(eventA), newEvent(eventB)
	foreign := driver.EventRef{CompanyID: companyA, ID: eventB.ID}
	err := everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []driver.Event{b, {}, a, {}, b}).
				from(tx.Events(ctx, []driver.EventRef{eventB, foreign, eventA, {}, eventB})),
			want("by id alone", b).from(tx.FindEvent(ctx, eventB.ID)),
			want("by an unknown id", driver.Event{}).from(tx.FindEvent(ctx, id(90))),
		)
	})
	if err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			want("locked", a).from(tx.LockEvent(ctx, eventA)),
			want("locked again", a).from(tx.LockEvent(ctx, eventA)),
			want("locked, of another company", driver.Event{}).from(tx.LockEvent(ctx, foreign)),
		)
	})
}

func createEvents(ctx context.Context, s driver.Store, events ...driver.Event) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, event := range events {
			if err := tx.CreateEvent(ctx, event); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create events: %w", err)
	}
	return nil
}

func eventsListed(ctx context.Context, s driver.Store) error {
	// Newest first, of one time the highest id first; every other one is published.
	order := []place{{50, 90}, {59, 80}, {58, 70}, {57, 70}, {56, 70}, {60, 60}, {51, 50}}
	statuses := map[driver.EventStatus][]place{"": append(slices.Clone(order), place{3, 5}), driver.EventDraft: {{3, 5}}}
	var made []driver.Event
	for i, at := range order {
		event := eventAt(companyA, at)
		if i%2 == 0 {
			event.Status = driver.EventPublished
		}
		made = append(made, event)
	}
	for i, at := range slices.Backward(order) {
		statuses[made[i].Status] = append([]place{at}, statuses[made[i].Status]...)
	}
	statuses[driver.EventCancelled] = nil
	made = append(made, eventAt(companyB, place{61, 70}))
	for i := range made {
		made[i], made[(i*3)%len(made)] = made[(i*3)%len(made)], made[i]
	}
	if err := createEvents(ctx, s, made...); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for status, places := range statuses {
			err := pages(places, func(after *place, limit int) ([]place, error) {
				query := driver.EventQuery{CompanyID: companyA, Status: status, Limit: limit}
				if after != nil {
					query.After = after.position()
				}
				found, err := tx.ListEvents(ctx, query)
				return placesOf(found, err, func(e driver.Event) (time.Time, uuid.UUID) { return e.CreatedAt, e.ID })
			})
			if err != nil {
				return fmt.Errorf("of status %q: %w", status, err)
			}
		}
		return want("of no company", 0).from(count(tx.ListEvents(ctx, driver.EventQuery{CompanyID: id(90), Limit: 9})))
	})
}

func eventAt(companyID uuid.UUID, where place) driver.Event {
	event := newEvent(driver.EventRef{CompanyID: companyID, ID: id(where.id)})
	event.CreatedAt = at(where.ms)
	return event
}

func eventsDue(ctx context.Context, s driver.Store) error {
	published := func(ref driver.EventRef, n int, ends time.Time) driver.Event {
		ref.ID = id(n)
		event := newEvent(ref)
		event.Status, event.EndsOn = driver.EventPublished, ends
		return event
	}
	third, first, second := published(eventA, 50, at(30)), published(eventB, 51, at(10)), published(eventA, 52, at(20))
	never, draft, ended := published(eventA, 53, time.Time{}), published(eventA, 54, at(1)), published(eventA, 55, at(1))
	draft.Status, ended.Status = driver.EventDraft, driver.EventEnded
	if err := createEvents(ctx, s, third, first, second, never, draft, ended); err != nil {
		return err
	}
	refs := func(events ...driver.Event) []driver.EventRef {
		var found []driver.EventRef
		for _, event := range events {
			found = append(found, driver.EventRef{CompanyID: event.CompanyID, ID: event.ID})
		}
		return found
	}
	err := everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("before the first", refs()).from(tx.DueEvents(ctx, at(9), 9)),
			want("at the first", refs(first)).from(tx.DueEvents(ctx, at(10), 9)),
			want("after the second", refs(first, second)).from(tx.DueEvents(ctx, at(29), 9)),
			want("all", refs(first, second, third)).from(tx.DueEvents(ctx, at(30), 3)),
			want("at most two", refs(first, second)).from(tx.DueEvents(ctx, at(99), 2)),
		)
	})
	if err != nil {
		return err
	}
	first.Status, second.EndsOn, draft.Status = driver.EventEnded, at(40), driver.EventPublished
	err = update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(tx.UpdateEvent(ctx, first), tx.UpdateEvent(ctx, second), tx.UpdateEvent(ctx, draft))
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("one ended, one put off, one published", refs(draft, third, second)).from(tx.DueEvents(ctx, at(99), 9))
	})
}

func eventOfAnother(ctx context.Context, s driver.Store) error {
	foreign := newEvent(driver.EventRef{CompanyID: companyA, ID: eventB.ID})
	foreign.Title = "foreign"
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.UpdateEvent(ctx, foreign) })
	if err := misses("change another company's event", err); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("the event", []driver.Event{newEvent(eventB)}).
			from(tx.Events(ctx, []driver.EventRef{eventB}))
	})
}
