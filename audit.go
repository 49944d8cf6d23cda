package ticketing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/cursor"
)

// AuditEntry is one act on the operator's plane. The log holds what was done, and is never changed: what was refused,
// and what changed nothing, such as the repetition of an idempotent call, is not in it.
type AuditEntry struct {
	At Time `json:"at"`
	// Actor is the [Actor.Name] of whoever did it.
	Actor string `json:"actor"`
	// Action is what was done, such as "float.credit".
	Action string `json:"action"`
	// Subject is what it was done to, such as "company 2f9c…" with the whole id.
	Subject string `json:"subject"`
	// Changes are the members of the subject that changed, each as {"before":…,"after":…}, null for what was not there.
	// They hold no secret, no digest and no account number.
	Changes json.RawMessage `json:"changes"`

	ID        uuid.UUID  `json:"id"`
	CompanyID *uuid.UUID `json:"companyId"` // nil: it was about no company
}

// AuditRecord is an act as a store keeps it. It never changes.
type AuditRecord struct {
	CompanyID uuid.UUID // zero: it was about no company
	At        time.Time
	ID        uuid.UUID
	Actor     string
	Action    string
	Subject   string
	Changes   string // a JSON object
}

// AuditQuery asks for a part of the audit log, newest first.
type AuditQuery struct {
	CompanyID uuid.UUID // zero: what was about any company, and about none
	Before    Position  // zero: from the newest
	Limit     int
}

// AuditReader finds acts.
type AuditReader interface {
	// ListAudit answers with acts, the latest first, of one time the highest id first.
	ListAudit(ctx context.Context, query AuditQuery) ([]AuditRecord, error)
}

// AuditWriter keeps acts.
type AuditWriter interface {
	// AppendAudit keeps acts. They can never be changed or removed.
	AppendAudit(ctx context.Context, acts []AuditRecord) error
}

const maxActorName = 200

// auditName is the actor's name as the audit log keeps it.
func (a Actor) auditName() (string, error) {
	var v violations
	name := requiredText(&v, "actor.name", a.Name, 1, maxActorName)
	return name, v.err()
}

// changes are a subject before and after an act, each nil or something that marshals to a JSON object without secrets:
// what may be shown of the subject at any time.
type changes struct{ before, after any }

// about names the subject of an act.
func about(kind string, id uuid.UUID) string { return kind + " " + id.String() }

// audit keeps an act in the transaction that did it, with those members of the subject that differ. The id of the
// company is zero for what is about none.
func (o Operator) audit(
	ctx context.Context, tx AuditWriter, at time.Time, action string, companyID uuid.UUID, subject string,
	changed changes,
) error {
	name, err := o.actor.auditName()
	if err != nil {
		return err
	}
	text, err := changed.encode()
	if err != nil {
		return fmt.Errorf("ticketing: audit %s: %w", action, err)
	}
	return tx.AppendAudit(ctx, []AuditRecord{{
		CompanyID: companyID, At: at, ID: uuid.New(), Actor: name, Action: action, Subject: subject, Changes: text,
	}})
}

// encode is the JSON of the members that differ, by name. The id and the times of creation and change are told by the
// subject and the time of the act.
func (c changes) encode() (string, error) {
	type change struct {
		Before json.RawMessage `json:"before"`
		After  json.RawMessage `json:"after"`
	}
	before, err := objectMembers(c.before)
	if err != nil {
		return "", err
	}
	after, err := objectMembers(c.after)
	if err != nil {
		return "", err
	}
	differ := make(map[string]change)
	for name, value := range after {
		if !bytes.Equal(orNull(value), orNull(before[name])) {
			differ[name] = change{orNull(before[name]), value}
		}
	}
	for name, value := range before {
		if _, kept := after[name]; !kept && !bytes.Equal(value, orNull(nil)) {
			differ[name] = change{value, orNull(nil)}
		}
	}
	for _, told := range []string{"id", "createdAt", "updatedAt"} {
		delete(differ, told)
	}
	text, err := json.Marshal(differ)
	return string(text), err
}

// objectMembers are those of a value that marshals to a JSON object.
func objectMembers(value any) (map[string]json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var found map[string]json.RawMessage
	err = json.Unmarshal(text, &found)
	return found, err
}

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

func (r AuditRecord) entry() AuditEntry {
	entry := AuditEntry{
		At: Time{r.At}, Actor: r.Actor, Action: r.Action, Subject: r.Subject, Changes: json.RawMessage(r.Changes),
		ID: r.ID,
	}
	if r.CompanyID != uuid.Nil {
		entry.CompanyID = &r.CompanyID
	}
	return entry
}

// ListAudit pages through what was done to a company, or (the zero id) to every company and to the platform itself, the
// latest act first. For a company it needs COMPANY:audit:read, for all tenant:manage.
func (o Operator) ListAudit(
	ctx context.Context, companyID uuid.UUID, params PageParams,
) (Page[AuditEntry], error) {
	permission := PermissionAuditRead
	if companyID == uuid.Nil {
		permission = PermissionManage
	}
	if err := o.allow(permission, companyID); err != nil {
		return Page[AuditEntry]{}, err
	}
	var v violations
	limit := params.limit(&v)
	if err := v.err(); err != nil {
		return Page[AuditEntry]{}, err
	}
	scope := cursor.Scope("audit", companyID.String())
	before, err := params.read(scope, positionSize)
	if err != nil {
		return Page[AuditEntry]{}, err
	}
	query := AuditQuery{CompanyID: companyID, Before: parsePosition(before), Limit: limit + 1}
	var records []AuditRecord
	err = o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		if companyID != uuid.Nil {
			if _, err := findCompany(ctx, tx, companyID); err != nil {
				return err
			}
		}
		records, err = tx.ListAudit(ctx, query)
		return err
	})
	if err != nil {
		return Page[AuditEntry]{}, err
	}
	records, next := turn(records, limit, scope, func(r AuditRecord) []byte {
		return Position{At: r.At, ID: r.ID}.bytes()
	})
	page := Page[AuditEntry]{Items: make([]AuditEntry, len(records)), HasMore: next != "", NextCursor: next}
	for i, record := range records {
		page.Items[i] = record.entry()
	}
	return page, nil
}
