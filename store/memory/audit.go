package memory

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// audit is listed by time, of each company and of all.
type audit struct {
	byPlace   map[auditPlace]ticketing.AuditRecord
	all       *index[auditPlace]
	byCompany map[uuid.UUID]*index[auditPlace]
}

type auditPlace struct {
	position  ticketing.Position
	companyID uuid.UUID
}

func newAudit() audit {
	return audit{
		byPlace: make(map[auditPlace]ticketing.AuditRecord), all: newAuditIndex(),
		byCompany: make(map[uuid.UUID]*index[auditPlace]),
	}
}

func newAuditIndex() *index[auditPlace] {
	return newIndex(func(a, b auditPlace) int {
		return cmp.Or(comparePositions(a.position, b.position), compareIDs(a.companyID, b.companyID))
	})
}

func (r reading) ListAudit(ctx context.Context, query ticketing.AuditQuery) ([]ticketing.AuditRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.AuditRecord {
		of := s.audit.all
		if query.CompanyID != uuid.Nil {
			var ok bool
			if of, ok = s.audit.byCompany[query.CompanyID]; !ok {
				return nil
			}
		}
		places := of.keys
		if query.Before != (ticketing.Position{}) {
			places = of.below(auditPlace{position: query.Before})
		}
		return each(last([][]auditPlace{places}, query.Limit, of.compare), func(at auditPlace) ticketing.AuditRecord {
			return s.audit.byPlace[at]
		})
	})
}

func (tx *updating) AppendAudit(ctx context.Context, acts []ticketing.AuditRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, act := range acts {
			act.At = moment(act.At)
			place := auditPlace{ticketing.Position{At: act.At, ID: act.ID}, act.CompanyID}
			if err := create(u, s.audit.byPlace, place, act, "audit_entries_pkey"); err != nil {
				return err
			}
			s.audit.all.add(u, place)
			need(s.audit.byCompany, act.CompanyID, newAuditIndex).add(u, place)
		}
		return nil
	})
}
