package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func auditKinds() []record {
	act := newAuditEntry(companyA, 10, at(100))
	holds := func(listed ...driver.AuditEntry) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return steps(
				func() error {
					return want("ListAudit of the company", listed).
						from(tx.ListAudit(ctx, driver.AuditQuery{CompanyID: companyA, Limit: 9}))
				},
				func() error {
					return want("ListAudit of all", listed).from(tx.ListAudit(ctx, driver.AuditQuery{Limit: 9}))
				},
				func() error {
					return want("FindAuditEntry", append(listed, driver.AuditEntry{})[0]).from(tx.FindAuditEntry(ctx, act.ID))
				},
			)
		}
	}
	return []record{{
		name: "audit", created: holds(act), absent: holds(),
		create: func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendAudit(ctx, []driver.AuditEntry{act})
		},
		taken: map[string]writes{"place": func(ctx context.Context, tx driver.Tx) error {
			again := act
			again.Action = "other"
			return tx.AppendAudit(ctx, []driver.AuditEntry{again})
		}},
	}}
}

func auditChecks() []Check {
	return []Check{
		{"audit/list is in order and in pages", grounded(auditListed)},
		{"audit/list is in order and in pages under every filter", grounded(auditFiltered)},
		{"audit/the newest of companies", grounded(newestAudit)},
		{"audit/times are kept in UTC with milliseconds", grounded(auditTimed)},
	}
}

// auditListed appends audit records of two companies and of none, out of order, several of them at the same time. Two
// of those of none are of a user, who is no company.
func auditListed(ctx context.Context, s driver.Store) error {
	const user = 77
	ofUser := func(act driver.AuditEntry) driver.AuditEntry {
		act.UserID = id(user)
		return act
	}
	acts := []driver.AuditEntry{
		newAuditEntry(companyA, 15, at(300)), newAuditEntry(companyB, 60, at(200)), newAuditEntry(uuid.Nil, 50, at(200)),
		newAuditEntry(companyA, 40, at(200)), newAuditEntry(companyB, 90, at(100)), newAuditEntry(companyA, 30, at(50)),
		newAuditEntry(uuid.Nil, 20, at(50)), ofUser(newAuditEntry(uuid.Nil, 19, at(50))),
		ofUser(newAuditEntry(uuid.Nil, 18, at(40))),
	}
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, part := range [][]int{{3, 0}, {6, 8}, {1, 5, 4, 7}, {2}} {
			var some []driver.AuditEntry
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
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for _, company := range []uuid.UUID{{}, companyA, companyB, id(99), id(user)} {
			var order []driver.AuditEntry
			for _, act := range acts {
				if company == uuid.Nil || act.CompanyID == company {
					order = append(order, act)
				}
			}
			err := pages(order, func(after *driver.AuditEntry, limit int) ([]driver.AuditEntry, error) {
				query := driver.AuditQuery{CompanyID: company, Limit: limit}
				if after != nil {
					query.After = driver.Position{At: after.At, ID: after.ID}
				}
				found, err := tx.ListAudit(ctx, query)
				return slices.Clip(found), err
			})
			if err != nil {
				return fmt.Errorf("of %s: %w", company, err)
			}
		}
		for _, act := range append(acts, driver.AuditEntry{}) { // The zero id finds none.
			if err := want("by its id", act).from(tx.FindAuditEntry(ctx, act.ID)); err != nil {
				return err
			}
		}
		return want("none", []driver.AuditEntry(nil)).from(tx.ListAudit(ctx, driver.AuditQuery{}))
	})
}

// auditFiltered appends actions of two companies, three actors and three kinds, several of them at the same time. The
// name of one actor begins with that of another, and so does one action.
func auditFiltered(ctx context.Context, s driver.Store) error {
	actors := []string{"Obi", "Obi \u1ecc", awkward}
	actions := []string{"kyb.approve", "kyb", "float.credit"}
	var acts []driver.AuditEntry
	for i := range 24 {
		act := newAuditEntry([]uuid.UUID{companyA, companyA, companyB}[i%3], 60-i, at(100*(8-i/3)))
		act.Actor, act.Action = actors[i%4%3], actions[i%5%3]
		acts = append(acts, act)
	}
	shuffled := slices.Clone(acts)
	slices.SortFunc(shuffled, func(a, b driver.AuditEntry) int {
		return cmp.Or(compareText(a.Action, b.Action), compareText(a.Actor, b.Actor))
	})
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendAudit(ctx, shuffled) })
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	var queries []driver.AuditQuery
	for _, company := range []uuid.UUID{{}, companyA, id(99)} {
		for _, actor := range []string{"", actors[0], actors[2], "obi", "Ob"} {
			for _, action := range []string{"", actions[1], "KYB"} {
				queries = append(queries, driver.AuditQuery{CompanyID: company, Actor: actor, Action: action})
			}
		}
	}
	spans := []driver.AuditQuery{
		{},
		{Since: at(300)},
		{Until: at(600)},
		{Since: at(300), Until: at(600)},
		{Since: at(600), Until: at(300)},
		{Since: at(301), Until: at(599)},
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for i, query := range queries {
			span := spans[i%len(spans)]
			query.Since, query.Until = span.Since, span.Until
			var order []driver.AuditEntry
			for _, act := range acts {
				if (query.CompanyID == uuid.Nil || act.CompanyID == query.CompanyID) &&
					(query.Actor == "" || act.Actor == query.Actor) && (query.Action == "" || act.Action == query.Action) &&
					!act.At.Before(query.Since) && (query.Until.IsZero() || act.At.Before(query.Until)) {
					order = append(order, act)
				}
			}
			err := pages(order, func(after *driver.AuditEntry, limit int) ([]driver.AuditEntry, error) {
				query.Limit, query.After = limit, driver.Position{}
				if after != nil {
					query.After = driver.Position{At: after.At, ID: after.ID}
				}
				return tx.ListAudit(ctx, query)
			})
			if err != nil {
				return fmt.Errorf("of %s by %q, action %q, since %v, until %v: %w", query.CompanyID, query.Actor, query.Action,
					query.Since, query.Until, err)
			}
		}
		// A position after the span does not widen it.
		return want("from a position after the span", acts[9:10]).from(tx.ListAudit(ctx, driver.AuditQuery{
			Until: at(600), After: driver.Position{At: at(800), ID: id(1)}, Limit: 1,
		}))
	})
}

// newestAudit appends actions of two companies and of none, of which the newest are not appended last.
func newestAudit(ctx context.Context, s driver.Store) error {
	acts := []driver.AuditEntry{
		newAuditEntry(companyA, 40, at(200)), newAuditEntry(companyA, 15, at(200)), newAuditEntry(companyA, 90, at(100)),
		newAuditEntry(companyB, 60, at(300)), newAuditEntry(companyB, 95, at(299)), newAuditEntry(uuid.Nil, 99, at(400)),
	}
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendAudit(ctx, acts) })
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	ofA, ofB := driver.Position{At: at(200), ID: id(40)}, driver.Position{At: at(300), ID: id(60)}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("in the order of the companies", []driver.Position{ofB, {}, ofA, {}, ofB}).
				from(tx.NewestAudit(ctx, []uuid.UUID{companyB, id(99), companyA, {}, companyB})),
			want("of one", []driver.Position{ofA}).from(tx.NewestAudit(ctx, []uuid.UUID{companyA})),
			want("of one that does not exist", []driver.Position{{}}).from(tx.NewestAudit(ctx, []uuid.UUID{id(99)})),
			want("of none", []driver.Position{}).from(tx.NewestAudit(ctx, nil)),
		)
	})
}

func auditTimed(ctx context.Context, s driver.Store) error {
	given := newAuditEntry(companyA, 10, time.Date(2026, 1, 2, 0, 30, 0, 1_234_567, time.FixedZone("WAT", 3600)))
	kept := given
	kept.At = time.Date(2026, 1, 1, 23, 30, 0, 1_000_000, time.UTC)
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendAudit(ctx, []driver.AuditEntry{given})
	})
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("list", []driver.AuditEntry{kept}).
			from(tx.ListAudit(ctx, driver.AuditQuery{CompanyID: companyA, Limit: 9}))
	})
}
