package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

const eventColumns = `company_id, id, title, description, status, date, starts_at, ends_at, timezone, location, venue,
	image_url, organizer_name, category_id, ticket_categories, ends_on, created_at, updated_at`

func scanEvent(row rowSet, e *driver.Event) error {
	return row.Scan((*id)(&e.CompanyID), (*id)(&e.ID), &e.Title, &e.Description, (*string)(&e.Status), &e.Date,
		&e.StartsAt, &e.EndsAt, &e.Timezone, &e.Location, &e.Venue, &e.ImageURL, &e.OrganizerName,
		(*id)(&e.CategoryID), (*texts[string])(&e.TicketCategories), (*moment)(&e.EndsOn), (*moment)(&e.CreatedAt),
		(*moment)(&e.UpdatedAt))
}

type eventModel struct {
	bun.BaseModel `bun:"table:ticketing_events,alias:e"`
	eventFields
}

type eventFields struct {
	CompanyID        uuid.UUID `bun:",pk"`
	ID               uuid.UUID `bun:",pk"`
	Title            string
	Description      string
	Status           driver.EventStatus
	Date             string
	StartsAt         string
	EndsAt           string
	Timezone         string
	Location         string
	Venue            string
	ImageURL         string
	OrganizerName    string
	CategoryID       uuid.UUID `bun:",nullzero"`
	TicketCategories []string
	EndsOn           time.Time
	CreatedAt        time.Time `bun:",skipupdate"`
	UpdatedAt        time.Time
}

// Events finds events of companies.
func (s *session) Events(ctx context.Context, refs []driver.EventRef) ([]driver.Event, error) {
	return s.events(ctx, "Events", refs, false)
}

func (s *session) events(
	ctx context.Context, name string, refs []driver.EventRef, lock bool,
) ([]driver.Event, error) {
	return findByRefs(refs,
		func(e driver.Event) driver.EventRef {
			return driver.EventRef{CompanyID: e.CompanyID, ID: e.ID}
		},
		func(refs []driver.EventRef) ([]driver.Event, error) {
			return query(ctx, s, name, scanEvent,
				"SELECT "+eventColumns+" FROM ?",
				keyedRows{table: "ticketing_events e", lock: lock, set: newSet("company_id, id", refs,
					func(r driver.EventRef) []any { return []any{r.CompanyID, r.ID} })})
		})
}

// FindEvent finds an event by its id alone.
func (s *session) FindEvent(ctx context.Context, event uuid.UUID) (driver.Event, error) {
	return firstRow(fetch(ctx, s, "FindEvent", scanEvent, s.selection((*eventModel)(nil), eventColumns, s.newSelect().
		Where("id = ?", id(event)).Limit(1))))
}

// ListEvents returns a page of a company's events, newest first. The public API calls it, so its SQL is written by
// hand.
func (s *session) ListEvents(
	ctx context.Context, ask driver.EventQuery,
) ([]driver.Event, error) {
	text := "SELECT " + eventColumns + " FROM ticketing_events WHERE company_id = ?"
	args := []any{ask.CompanyID}
	if ask.Status != "" {
		text += " AND status = ?"
		args = append(args, string(ask.Status))
	}
	if ask.After != (driver.Position{}) {
		text += " AND (created_at, id) < (?, ?)"
		args = append(args, ask.After.At.UnixMilli(), ask.After.ID)
	}
	return query(ctx, s, "ListEvents", scanEvent, text+" ORDER BY created_at DESC, id DESC LIMIT ?",
		append(args, max(ask.Limit, 0))...)
}

// DueEvents returns published events that are due to end, the longest overdue first.
func (s *session) DueEvents(ctx context.Context, at time.Time, limit int) ([]driver.EventRef, error) {
	if due, asked, err := s.dueEventsOnNodes(ctx, at, limit); asked {
		return due, err
	}
	scan := func(row rowSet, ref *driver.EventRef) error {
		return row.Scan((*id)(&ref.CompanyID), (*id)(&ref.ID))
	}
	return query(ctx, s, "DueEvents", scan,
		`SELECT company_id, id FROM ticketing_events
		WHERE status = 'PUBLISHED' AND ends_on IS NOT NULL AND ends_on <= ?
		ORDER BY ends_on, company_id, id LIMIT ?`,
		at.UnixMilli(), max(limit, 0))
}

// dueEventsOnNodes is DueEvents on a cluster: each node returns the first ones of each of its shards.
func (s *session) dueEventsOnNodes(
	ctx context.Context, at time.Time, limit int,
) (refs []driver.EventRef, asked bool, err error) {
	type dueEvent struct {
		ref driver.EventRef
		end time.Time
	}
	scan := func(row rowSet, due *dueEvent) error {
		return row.Scan((*id)(&due.ref.CompanyID), (*id)(&due.ref.ID), (*moment)(&due.end))
	}
	due, asked, err := askNodes(ctx, s, "DueEvents", func(q *nodeQuery) {
		q.columns = "company_id uuid, id uuid, ends_on bigint"
		q.add(nil, build(s.store.engine, `SELECT company_id, id, ends_on FROM ticketing_events
			WHERE status = 'PUBLISHED' AND ends_on IS NOT NULL AND ends_on <= ?
			ORDER BY ends_on, company_id, id LIMIT ?::bigint`, at.UnixMilli(), max(limit, 0)))
	}, scan)
	slices.SortFunc(due, func(a, b dueEvent) int {
		return cmp.Or(a.end.Compare(b.end), slices.Compare(a.ref.CompanyID[:], b.ref.CompanyID[:]),
			slices.Compare(a.ref.ID[:], b.ref.ID[:]))
	})
	due = slices.Compact(due) // While a shard moves, two nodes may return its events.
	for _, event := range due[:min(max(limit, 0), len(due))] {
		refs = append(refs, event.ref)
	}
	return refs, asked, err
}

// LockEvent reads an event and locks it against other writers. It returns the zero record if there is none.
func (tx *transaction) LockEvent(ctx context.Context, ref driver.EventRef) (driver.Event, error) {
	return firstRow(tx.events(ctx, "LockEvent", []driver.EventRef{ref}, true))
}

// CreateEvent inserts an event.
func (tx *transaction) CreateEvent(ctx context.Context, e driver.Event) error {
	return tx.create(ctx, "CreateEvent", &eventModel{eventFields: eventFields(e)})
}

// UpdateEvent writes everything but the time of creation.
func (tx *transaction) UpdateEvent(ctx context.Context, e driver.Event) error {
	return tx.save(ctx, "UpdateEvent", &eventModel{eventFields: eventFields(e)})
}
