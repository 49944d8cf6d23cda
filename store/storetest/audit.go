package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

func auditKinds() []record {
	act := auditRecord(companyA, 10, at(100))
	holds := func(listed ...ticketing.AuditRecord) reads {
		return func(ctx context.Context, tx ticketing.ReadTx) error {
			return steps(
				func() error {
					return want("ListAudit of the company", listed).
						from(tx.ListAudit(ctx, ticketing.AuditQuery{CompanyID: companyA, Limit: 9}))
				},
				func() error {
					return want("ListAudit of all", listed).from(tx.ListAudit(ctx, ticketing.AuditQuery{Limit: 9}))
				},
			)
		}
	}
	return []record{{
		name: "audit", created: holds(act), absent: holds(),
		create: func(ctx context.Context, tx ticketing.Tx) error {
			return tx.AppendAudit(ctx, []ticketing.AuditRecord{act})
		},
		taken: map[string]writes{"place": func(ctx context.Context, tx ticketing.Tx) error {
			again := act
			again.Action = "other"
			return tx.AppendAudit(ctx, []ticketing.AuditRecord{again})
		}},
	}}
}

func auditChecks() []Check {
	return []Check{
		{"audit/list is in order and in pages", grounded(auditListed)},
		{"audit/times are kept in UTC with milliseconds", grounded(auditTimed)},
	}
}

// auditListed keeps acts of two companies and of none, several at one time, out of their order.
func auditListed(ctx context.Context, s ticketing.Store) error {
	acts := []ticketing.AuditRecord{
		auditRecord(companyA, 15, at(300)), auditRecord(companyB, 60, at(200)), auditRecord(uuid.Nil, 50, at(200)),
		auditRecord(companyA, 40, at(200)), auditRecord(companyB, 90, at(100)), auditRecord(companyA, 30, at(50)),
		auditRecord(uuid.Nil, 20, at(50)),
	}
	err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		for _, part := range [][]int{{3, 0}, {6}, {1, 5, 4}, {2}} {
			var some []ticketing.AuditRecord
			for _, i := range part {
				some = append(some, acts[i])
			}
			if err := tx.AppendAudit(ctx, some); err != nil {
				return err
			}
		}
		return tx.AppendAudit(ctx, nil)
	})
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		for _, company := range []uuid.UUID{{}, companyA, companyB, id(99)} {
			var order []ticketing.AuditRecord
			for _, act := range acts {
				if company == uuid.Nil || act.CompanyID == company {
					order = append(order, act)
				}
			}
			err := pages(order, func(after *ticketing.AuditRecord, limit int) ([]ticketing.AuditRecord, error) {
				query := ticketing.AuditQuery{CompanyID: company, Limit: limit}
				if after != nil {
					query.Before = ticketing.Position{At: after.At, ID: after.ID}
				}
				found, err := tx.ListAudit(ctx, query)
				return slices.Clip(found), err
			})
			if err != nil {
				return fmt.Errorf("of %s: %w", company, err)
			}
		}
		return want("none", []ticketing.AuditRecord(nil)).from(tx.ListAudit(ctx, ticketing.AuditQuery{}))
	})
}

func auditTimed(ctx context.Context, s ticketing.Store) error {
	given := auditRecord(companyA, 10, time.Date(2026, 1, 2, 0, 30, 0, 1_234_567, time.FixedZone("WAT", 3600)))
	kept := given
	kept.At = time.Date(2026, 1, 1, 23, 30, 0, 1_000_000, time.UTC)
	err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		return tx.AppendAudit(ctx, []ticketing.AuditRecord{given})
	})
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return want("list", []ticketing.AuditRecord{kept}).
			from(tx.ListAudit(ctx, ticketing.AuditQuery{CompanyID: companyA, Limit: 9}))
	})
}
