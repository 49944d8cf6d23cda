package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

func eventKinds() []record {
	ref := ticketing.EventRef{CompanyID: companyA, ID: id(50)}
	kept := eventRecord(ref)
	kept.CreatedAt = at(50)
	changed := kept
	changed.Title, changed.Description, changed.Status = "changed", "", ticketing.EventPublished
	changed.Date, changed.StartsAt, changed.EndsAt, changed.Timezone = "2027-01-01", "00:00", "23:59", "Asia/Kolkata"
	changed.Location, changed.Venue, changed.ImageURL, changed.OrganizerName = "", "", "https://example.com/", ""
	changed.CategoryID, changed.TicketCategories = uuid.Nil, append(slices.Clone(kept.TicketCategories), "more")
	changed.EndsOn, changed.UpdatedAt = at(60), at(51)
	holds := func(found ticketing.EventRecord, listed ...ticketing.EventRecord) reads {
		return func(ctx context.Context, tx ticketing.ReadTx) error {
			var due []ticketing.EventRef
			if found.Status == ticketing.EventPublished {
				due = append(due, ref)
			}
			return errors.Join(
				want("Events", []ticketing.EventRecord{found}).from(tx.Events(ctx, []ticketing.EventRef{ref})),
				want("FindEvent", found).from(tx.FindEvent(ctx, ref.ID)),
				want("ListEvents", append(slices.Clone(listed), eventRecord(eventA))).
					from(tx.ListEvents(ctx, ticketing.EventQuery{CompanyID: companyA, Limit: 9})),
				want("ListEvents of a status", 1+len(listed)-len(due)).from(count(tx.ListEvents(ctx,
					ticketing.EventQuery{CompanyID: companyA, Status: ticketing.EventDraft, Limit: 9}))),
				want("ListEvents of another status", len(due)).from(count(tx.ListEvents(ctx,
					ticketing.EventQuery{CompanyID: companyA, Status: ticketing.EventPublished, Limit: 9}))),
				want("DueEvents", due).from(tx.DueEvents(ctx, at(60), 9)),
			)
		}
	}
	create := func(ctx context.Context, tx ticketing.Tx) error { return tx.CreateEvent(ctx, kept) }
	return []record{{
		name: "events", create: create, created: holds(kept, kept), absent: holds(ticketing.EventRecord{}),
		change:  func(ctx context.Context, tx ticketing.Tx) error { return tx.UpdateEvent(ctx, changed) },
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

func eventsAligned(ctx context.Context, s ticketing.Store) error {
	a, b := eventRecord(eventA), eventRecord(eventB)
	foreign := ticketing.EventRef{CompanyID: companyA, ID: eventB.ID}
	err := everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []ticketing.EventRecord{b, {}, a, {}, b}).
				from(tx.Events(ctx, []ticketing.EventRef{eventB, foreign, eventA, {}, eventB})),
			want("by id alone", b).from(tx.FindEvent(ctx, eventB.ID)),
			want("by an unknown id", ticketing.EventRecord{}).from(tx.FindEvent(ctx, id(90))),
		)
	})
	if err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		return errors.Join(
			want("locked", a).from(tx.LockEvent(ctx, eventA)),
			want("locked again", a).from(tx.LockEvent(ctx, eventA)),
			want("locked, of another company", ticketing.EventRecord{}).from(tx.LockEvent(ctx, foreign)),
		)
	})
}

func createEvents(ctx context.Context, s ticketing.Store, events ...ticketing.EventRecord) error {
	err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
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

func eventsListed(ctx context.Context, s ticketing.Store) error {
	// Newest first, of one time the highest id; every other one is published.
	order := []place{{50, 90}, {59, 80}, {58, 70}, {57, 70}, {56, 70}, {60, 60}, {51, 50}}
	statuses := map[ticketing.EventStatus][]place{"": append(slices.Clone(order), place{3, 5}), ticketing.EventDraft: {{3, 5}}}
	var made []ticketing.EventRecord
	for i, at := range order {
		event := eventAt(companyA, at)
		if i%2 == 0 {
			event.Status = ticketing.EventPublished
		}
		made = append(made, event)
	}
	for i, at := range slices.Backward(order) {
		statuses[made[i].Status] = append([]place{at}, statuses[made[i].Status]...)
	}
	statuses[ticketing.EventCancelled] = nil
	made = append(made, eventAt(companyB, place{61, 70}))
	for i := range made {
		made[i], made[(i*3)%len(made)] = made[(i*3)%len(made)], made[i]
	}
	if err := createEvents(ctx, s, made...); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		for status, places := range statuses {
			err := pages(places, func(after *place, limit int) ([]place, error) {
				query := ticketing.EventQuery{CompanyID: companyA, Status: status, Limit: limit}
				if after != nil {
					query.Before = after.position()
				}
				found, err := tx.ListEvents(ctx, query)
				return placesOf(found, err, func(e ticketing.EventRecord) (time.Time, uuid.UUID) { return e.CreatedAt, e.ID })
			})
			if err != nil {
				return fmt.Errorf("of status %q: %w", status, err)
			}
		}
		return want("of no company", 0).from(count(tx.ListEvents(ctx, ticketing.EventQuery{CompanyID: id(90), Limit: 9})))
	})
}

func eventAt(companyID uuid.UUID, where place) ticketing.EventRecord {
	event := eventRecord(ticketing.EventRef{CompanyID: companyID, ID: id(where.id)})
	event.CreatedAt = at(where.ms)
	return event
}

func eventsDue(ctx context.Context, s ticketing.Store) error {
	published := func(ref ticketing.EventRef, n int, ends time.Time) ticketing.EventRecord {
		ref.ID = id(n)
		event := eventRecord(ref)
		event.Status, event.EndsOn = ticketing.EventPublished, ends
		return event
	}
	third, first, second := published(eventA, 50, at(30)), published(eventB, 51, at(10)), published(eventA, 52, at(20))
	never, draft, ended := published(eventA, 53, time.Time{}), published(eventA, 54, at(1)), published(eventA, 55, at(1))
	draft.Status, ended.Status = ticketing.EventDraft, ticketing.EventEnded
	if err := createEvents(ctx, s, third, first, second, never, draft, ended); err != nil {
		return err
	}
	refs := func(events ...ticketing.EventRecord) []ticketing.EventRef {
		var found []ticketing.EventRef
		for _, event := range events {
			found = append(found, ticketing.EventRef{CompanyID: event.CompanyID, ID: event.ID})
		}
		return found
	}
	err := everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
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
	first.Status, second.EndsOn, draft.Status = ticketing.EventEnded, at(40), ticketing.EventPublished
	err = update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		return errors.Join(tx.UpdateEvent(ctx, first), tx.UpdateEvent(ctx, second), tx.UpdateEvent(ctx, draft))
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return want("one ended, one put off, one published", refs(draft, third, second)).from(tx.DueEvents(ctx, at(99), 9))
	})
}

func eventOfAnother(ctx context.Context, s ticketing.Store) error {
	foreign := eventRecord(ticketing.EventRef{CompanyID: companyA, ID: eventB.ID})
	foreign.Title = "foreign"
	err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.UpdateEvent(ctx, foreign) })
	if err := misses("change another company's event", err); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return want("the event", []ticketing.EventRecord{eventRecord(eventB)}).
			from(tx.Events(ctx, []ticketing.EventRef{eventB}))
	})
}
