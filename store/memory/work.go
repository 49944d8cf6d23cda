package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

func (r reading) DueWork(ctx context.Context, query ticketing.WorkQuery) ([]ticketing.DueWork, error) {
	return ask(ctx, r, func(s *state) []ticketing.DueWork {
		asked := slices.SortedFunc(slices.Values(query.After), func(a, b ticketing.DueWork) int {
			return cmp.Compare(a.Kind, b.Kind)
		})
		var due []ticketing.DueWork
		for _, after := range asked {
			switch after.Kind {
			case ticketing.WorkDispatch:
				due = append(due, some(s.outbox.undispatched, after, query.Limit, ofCompany,
					func(id uuid.UUID) []ticketing.Position { return s.outbox.byCompany[id].undispatched.first(1) })...)
			case ticketing.WorkTell:
				due = append(due, some(s.outbox.untold, after, query.Limit, ofCompany,
					func(id uuid.UUID) []ticketing.Position { return s.outbox.byCompany[id].free(query.At, 1) })...)
			case ticketing.WorkDeliver:
				due = append(due, some(s.deliveries.waiting, after, query.Limit, ofEndpoint,
					func(ref ticketing.WebhookEndpointRef) []ticketing.Position { return s.deliveries.due(ref, query.At) })...)
			case ticketing.WorkPrune:
				due = append(due, some(companiesOf(s.deliveries.ofCompany), after, query.Limit, ofCompany,
					func(id uuid.UUID) []ticketing.Position {
						return each(s.deliveries.prunable(id, query.At, 1), deliveryPlace)
					})...)
			case ticketing.WorkPruneFacts:
				due = append(due, some(companiesOf(s.outbox.byCompany), after, query.Limit, ofCompany,
					func(id uuid.UUID) []ticketing.Position { return s.outbox.byCompany[id].prunable(query.At, 1) })...)
			}
		}
		return due
	})
}

// due is the time of the longest due delivery of an endpoint, if one is due.
func (d *deliveries) due(endpoint ticketing.WebhookEndpointRef, at time.Time) []ticketing.Position {
	first := d.pending[endpoint].keys[0]
	if first.at.After(at) {
		return nil
	}
	return []ticketing.Position{{At: first.at}}
}

func ofCompany(work ticketing.DueWork, id uuid.UUID) ticketing.DueWork {
	work.CompanyID, work.Endpoint = id, 0
	return work
}

func ofEndpoint(work ticketing.DueWork, endpoint ticketing.WebhookEndpointRef) ticketing.DueWork {
	work.CompanyID, work.Endpoint = endpoint.CompanyID, endpoint.Number
	return work
}

// companiesOf are the companies of a table.
func companiesOf[V any](table map[uuid.UUID]V) *index[uuid.UUID] {
	return &index[uuid.UUID]{keys: slices.SortedFunc(maps.Keys(table), func(a, b uuid.UUID) int {
		return bytes.Compare(a[:], b[:])
	})}
}

// some is the work of the first keys behind one that have something due: first answers with the first of it.
func some[K any](
	waiting *index[K], after ticketing.DueWork, limit int, of func(ticketing.DueWork, K) ticketing.DueWork,
	first func(K) []ticketing.Position,
) []ticketing.DueWork {
	from, _ := slices.BinarySearchFunc(waiting.keys, after, func(key K, after ticketing.DueWork) int {
		work := of(after, key)
		order := cmp.Or(bytes.Compare(work.CompanyID[:], after.CompanyID[:]), cmp.Compare(work.Endpoint, after.Endpoint))
		return cmp.Or(order, -1) // Behind it, not at it.
	})
	var due []ticketing.DueWork
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
