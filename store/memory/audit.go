package memory

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// audit keeps the audit records by time, for each company and for all together.
type audit struct {
	byPlace   map[auditPlace]driver.AuditEntry
	all       *index[auditPlace]
	byCompany map[uuid.UUID]*index[auditPlace]
}

type auditPlace struct {
	position  driver.Position
	companyID uuid.UUID
}

func newAudit() audit {
	return audit{
		byPlace: make(map[auditPlace]driver.AuditEntry), all: newAuditIndex(),
		byCompany: make(map[uuid.UUID]*index[auditPlace]),
	}
}

func newAuditIndex() *index[auditPlace] {
	return newIndex(func(a, b auditPlace) int {
		return cmp.Or(comparePositions(a.position, b.position), compareIDs(a.companyID, b.companyID))
	})
}

func (r reading) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	return ask(ctx, r, func(s *state) []driver.AuditEntry {
		of := s.audit.all
		if query.CompanyID != uuid.Nil {
			var ok bool
			if of, ok = s.audit.byCompany[query.CompanyID]; !ok {
				return nil
			}
		}
		places := of.keys
		if query.After != (driver.Position{}) {
			places = of.below(auditPlace{position: query.After})
		}
		return each(last([][]auditPlace{places}, query.Limit, of.compare), func(at auditPlace) driver.AuditEntry {
			return s.audit.byPlace[at]
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
			s.audit.all.add(u, place)
			need(s.audit.byCompany, act.CompanyID, newAuditIndex).add(u, place)
		}
		return nil
	})
}
