package memory

import (
	"cmp"
	"context"
	"iter"
	"maps"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// audit keeps the audit records by time, with a list for each combination of filters.
type audit struct {
	byPlace map[auditPlace]driver.AuditEntry
	byID    map[uuid.UUID]auditPlace
	lists   map[auditFilter]*index[auditPlace]
}

// auditFilter is what the audit records of a list have in common. A zero field stands for all.
type auditFilter struct {
	companyID     uuid.UUID
	actor, action string
}

type auditPlace struct {
	position  driver.Position
	companyID uuid.UUID
}

func newAudit() audit {
	return audit{
		byPlace: make(map[auditPlace]driver.AuditEntry), byID: make(map[uuid.UUID]auditPlace),
		lists: make(map[auditFilter]*index[auditPlace]),
	}
}

func compareAuditPlaces(a, b auditPlace) int {
	return cmp.Or(comparePositions(a.position, b.position), compareIDs(a.companyID, b.companyID))
}

func newAuditIndex() *index[auditPlace] { return newIndex(compareAuditPlaces) }

func (r reading) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	return ask(ctx, r, func(s *state) []driver.AuditEntry {
		of, ok := s.audit.lists[auditFilter{query.CompanyID, query.Actor, query.Action}]
		if !ok {
			return nil
		}
		to, from := len(of.keys), 0
		if !query.Until.IsZero() {
			to = len(of.below(auditPlace{position: driver.Position{At: moment(query.Until)}}))
		}
		if query.After != (driver.Position{}) {
			to = min(to, len(of.below(auditPlace{position: query.After})))
		}
		if !query.Since.IsZero() {
			from = len(of.below(auditPlace{position: driver.Position{At: moment(query.Since)}}))
		}
		places := of.keys[min(from, to):to]
		return each(last([][]auditPlace{places}, query.Limit, of.compare), func(at auditPlace) driver.AuditEntry {
			return s.audit.byPlace[at]
		})
	})
}

func (r reading) FindAuditEntry(ctx context.Context, id uuid.UUID) (driver.AuditEntry, error) {
	return ask(ctx, r, func(s *state) driver.AuditEntry { return s.audit.byPlace[s.audit.byID[id]] })
}

func (r reading) NewestAudit(ctx context.Context, companies []uuid.UUID) ([]driver.Position, error) {
	return ask(ctx, r, func(s *state) []driver.Position {
		return each(companies, func(company uuid.UUID) driver.Position {
			of, ok := s.audit.lists[auditFilter{companyID: company}]
			if company == uuid.Nil || !ok || len(of.keys) == 0 { // The list of no company has the actions about all.
				return driver.Position{}
			}
			return of.keys[len(of.keys)-1].position
		})
	})
}

func (tx *updating) AppendAudit(ctx context.Context, acts []driver.AuditEntry) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, act := range acts {
			act.At = moment(act.At)
			place := auditPlace{driver.Position{At: act.At, ID: act.ID}, act.CompanyID}
			if err := create(u, s.audit.byPlace, place, act, "audit_entries_pkey"); err != nil {
				return err
			}
			put(u, s.audit.byID, act.ID, place)
			for filter := range auditFilters(act) {
				need(s.audit.lists, filter, newAuditIndex).add(u, place)
			}
		}
		return nil
	})
}

// auditFilters yields every list that an audit record is in, each once.
func auditFilters(act driver.AuditEntry) iter.Seq[auditFilter] {
	lists := make(map[auditFilter]bool)
	for _, companyID := range []uuid.UUID{uuid.Nil, act.CompanyID} {
		for _, actor := range []string{"", act.Actor} {
			for _, action := range []string{"", act.Action} {
				lists[auditFilter{companyID, actor, action}] = true
			}
		}
	}
	return maps.Keys(lists)
}
