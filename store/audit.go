package store

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

type auditModel struct {
	bun.BaseModel `bun:"table:ticketing_audit_entries,alias:a"`
	auditFields
}

type auditFields struct {
	CompanyID uuid.UUID // of the company, or of the user if OfUser is true
	At        time.Time
	ID        uuid.UUID
	Actor     string
	Action    string
	Subject   string
	Changes   string
	OfUser    bool
}

func (m auditModel) record() driver.AuditEntry {
	entry := driver.AuditEntry{
		CompanyID: m.CompanyID, At: m.At, ID: m.ID, Actor: m.Actor, Action: m.Action, Subject: m.Subject,
		Changes: m.Changes,
	}
	if m.OfUser {
		entry.CompanyID, entry.UserID = uuid.Nil, m.CompanyID
	}
	return entry
}

// auditFieldsOf returns the row of an entry. A user's entry has the place of the user, where a company's has that of
// the company.
func auditFieldsOf(entry driver.AuditEntry) auditFields {
	fields := auditFields{
		CompanyID: entry.CompanyID, At: entry.At, ID: entry.ID, Actor: entry.Actor, Action: entry.Action,
		Subject: entry.Subject, Changes: entry.Changes,
	}
	if entry.CompanyID == uuid.Nil && entry.UserID != uuid.Nil {
		fields.CompanyID, fields.OfUser = entry.UserID, true
	}
	return fields
}

// ListAudit returns audit records, latest first, those of one time by descending id.
func (s *session) ListAudit(ctx context.Context, ask driver.AuditQuery) ([]driver.AuditEntry, error) {
	query := s.newSelect().Apply(page("at DESC, id DESC", ask.Limit))
	// Every filter has two indexes in the order of the list: one of a company, and one of all companies.
	index := "ticketing_audit_entries"
	if ask.CompanyID != uuid.Nil {
		query.Where("company_id = ?", id(ask.CompanyID)).Where("NOT of_user")
	} else {
		index += "_all"
	}
	if ask.Actor != "" {
		query.Where("actor = ?", ask.Actor)
		index += "_actor"
	}
	if ask.Action != "" {
		query.Where("action = ?", ask.Action)
		index += "_action"
	}
	if ask.Actor != "" || ask.Action != "" {
		query.ModelTableExpr("ticketing_audit_entries AS a" + s.store.engine.traits().useIndex(index))
	}
	end := driver.Position{At: time.UnixMilli(math.MaxInt64), ID: uuid.Max}
	if !ask.Until.IsZero() {
		end = driver.Position{At: ask.Until}
	}
	if ask.After != (driver.Position{}) && ask.After.At.Before(end.At) {
		end = ask.After
	}
	query.Where("(at, id) < (?, ?)", integer(end.At.UnixMilli()), id(end.ID))
	if !ask.Since.IsZero() {
		query.Where("at >= ?", integer(ask.Since.UnixMilli()))
	}
	return find(ctx, s, "ListAudit", auditModel.record, query)
}

// FindAuditEntry finds an action by its id alone.
func (s *session) FindAuditEntry(ctx context.Context, entry uuid.UUID) (driver.AuditEntry, error) {
	query := s.newSelect().Where("id = ?", id(entry)).Limit(1)
	return firstRow(find(ctx, s, "FindAuditEntry", auditModel.record, query))
}

// NewestAudit finds the last entry of each company by its key.
func (s *session) NewestAudit(ctx context.Context, companies []uuid.UUID) ([]driver.Position, error) {
	type newest struct {
		companyID uuid.UUID
		at        driver.Position
	}
	scan := func(row rowSet, n *newest) error {
		return row.Scan((*id)(&n.companyID), (*moment)(&n.at.At), (*id)(&n.at.ID))
	}
	found, err := findByRefs(companies, func(n newest) uuid.UUID { return n.companyID },
		func(companies []uuid.UUID) ([]newest, error) {
			of := companyOf{"c.id", companies}
			last := func(column string) string {
				return "(SELECT a." + column + ` FROM ticketing_audit_entries a WHERE a.company_id = ?
					ORDER BY a.at DESC, a.id DESC LIMIT 1)`
			}
			return query(ctx, s, "NewestAudit", scan, "SELECT c.id, "+last("at")+", "+last("id")+`
				FROM ticketing_companies c WHERE ?`, of, of, inIDs("c.id", companies))
		})
	if err != nil {
		return nil, err
	}
	positions := make([]driver.Position, len(found))
	for i, one := range found {
		positions[i] = one.at
	}
	return positions, nil
}

// AppendAudit inserts audit records. A trigger refuses to change or remove one.
func (tx *transaction) AppendAudit(ctx context.Context, entries []driver.AuditEntry) error {
	return inParts(entries, func(entries []driver.AuditEntry) error {
		models := make([]auditModel, len(entries))
		for i, entry := range entries {
			models[i].auditFields = auditFieldsOf(entry)
		}
		return tx.create(ctx, "AppendAudit", &models)
	})
}
