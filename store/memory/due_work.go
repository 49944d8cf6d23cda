package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func (r reading) DueWork(ctx context.Context, query driver.WorkQuery) ([]driver.DueWork, error) {
	return ask(ctx, r, func(s *state) []driver.DueWork {
		asked := slices.SortedFunc(slices.Values(query.After), func(a, b driver.DueWork) int {
			return cmp.Compare(a.Kind, b.Kind)
		})
		var due []driver.DueWork
		for _, after := range asked {
			switch after.Kind {
			case driver.WorkDispatch:
				due = append(due, some(s.outbox.undispatched, after, query.Limit, ofCompany,
					func(id uuid.UUID) []driver.Position { return s.outbox.byCompany[id].undispatched.first(1) })...)
			case driver.WorkPublish:
				due = append(due, some(s.outbox.unpublished, after, query.Limit, ofCompany,
					func(id uuid.UUID) []driver.Position { return s.outbox.byCompany[id].free(query.At, 1) })...)
			case driver.WorkDeliver:
				due = append(due, some(s.deliveries.waiting, after, query.Limit, ofEndpoint,
					func(ref driver.WebhookEndpointRef) []driver.Position { return s.deliveries.due(ref, query.At) })...)
			case driver.WorkPrune:
				due = append(due, some(companiesOf(s.deliveries.ofCompany), after, query.Limit, ofCompany,
					func(id uuid.UUID) []driver.Position {
						return each(s.deliveries.prunable(id, query.At, 1), deliveryPlace)
					})...)
			case driver.WorkPruneFacts:
				due = append(due, some(companiesOf(s.outbox.byCompany), after, query.Limit, ofCompany,
					func(id uuid.UUID) []driver.Position { return s.outbox.byCompany[id].prunable(query.At, 1) })...)
			case driver.WorkMail:
				due = append(due, some(s.notifications.pending.companies, after, query.Limit, ofCompany,
					func(id uuid.UUID) []driver.Position { return s.notifications.due(id, query.At) })...)
			case driver.WorkPruneMail:
				due = append(due, some(s.notifications.final.companies, after, query.Limit, ofCompany,
					func(id uuid.UUID) []driver.Position { return s.notifications.prunable(id, query.At) })...)
			case driver.WorkCount:
				due = append(due, some(s.sales.uncounted, after, query.Limit, ofCompany,
					func(uuid.UUID) []driver.Position { return []driver.Position{{}} })...)
			}
		}
		return due
	})
}

// Waiting implements [driver.WaitingReader].
func (r reading) Waiting(ctx context.Context, kinds []driver.WorkKind, limit int) ([]driver.Waiting, error) {
	return ask(ctx, r, func(s *state) []driver.Waiting {
		var all []driver.Waiting
		for _, kind := range kinds {
			w := driver.Waiting{Kind: kind}
			count := func(items int, first time.Time) {
				w.Items = min(w.Items+items, limit)
				if w.Since.IsZero() || first.Before(w.Since) {
					w.Since = first
				}
			}
			switch kind {
			case driver.WorkDispatch:
				for _, id := range s.outbox.undispatched.keys {
					waiting := s.outbox.byCompany[id].undispatched.keys
					count(len(waiting), waiting[0].At)
				}
			case driver.WorkDeliver:
				for _, ref := range s.deliveries.waiting.keys {
					waiting := s.deliveries.pending[ref].keys
					count(len(waiting), waiting[0].at)
				}
			case driver.WorkMail:
				for _, id := range s.notifications.pending.companies.keys {
					waiting := s.notifications.pending.of[id].keys
					count(len(waiting), waiting[0].at)
				}
			case driver.WorkPublish, driver.WorkPrune, driver.WorkPruneFacts, driver.WorkPruneMail, driver.WorkCount:
				continue
			}
			all = append(all, w)
		}
		return all
	})
}

// due returns the time of the longest overdue delivery of an endpoint, if one is due.
func (d *deliveries) due(endpoint driver.WebhookEndpointRef, at time.Time) []driver.Position {
	first := d.pending[endpoint].keys[0]
	if first.at.After(at) {
		return nil
	}
	return []driver.Position{{At: first.at}}
}

func ofCompany(work driver.DueWork, id uuid.UUID) driver.DueWork {
	work.CompanyID, work.Endpoint = id, 0
	return work
}

func ofEndpoint(work driver.DueWork, endpoint driver.WebhookEndpointRef) driver.DueWork {
	work.CompanyID, work.Endpoint = endpoint.CompanyID, endpoint.Number
	return work
}

// companiesOf returns the companies that are keys of a table.
func companiesOf[V any](table map[uuid.UUID]V) *index[uuid.UUID] {
	return &index[uuid.UUID]{keys: slices.SortedFunc(maps.Keys(table), func(a, b uuid.UUID) int {
		return bytes.Compare(a[:], b[:])
	})}
}

// some returns the due work of the first keys after one. first returns the oldest work of a key, if any.
func some[K any](
	waiting *index[K], after driver.DueWork, limit int, of func(driver.DueWork, K) driver.DueWork,
	first func(K) []driver.Position,
) []driver.DueWork {
	from, _ := slices.BinarySearchFunc(waiting.keys, after, func(key K, after driver.DueWork) int {
		work := of(after, key)
		order := cmp.Or(bytes.Compare(work.CompanyID[:], after.CompanyID[:]), cmp.Compare(work.Endpoint, after.Endpoint))
		return cmp.Or(order, -1) // It must come after the key, not at it.
	})
	var due []driver.DueWork
	for _, key := range waiting.keys[from:] {
		if len(due) >= limit {
			break
		}
		if found := first(key); len(found) > 0 {
			work := of(after, key)
			work.Since = found[0].At
			due = append(due, work)
		}
	}
	return due
}
