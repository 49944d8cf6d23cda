package ticketing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// AuditEntry is one action of an operator. The log is append-only. It records what was done. It does not record a
// refused action or a call that changed nothing, such as a replay. The log outlives the erasure of a buyer, so it holds
// neither a buyer nor the facts of a verification.
type AuditEntry struct {
	// At is the time of the action, by the service's clock.
	At Time `json:"at"`
	// Actor is the [Actor.Name] of the actor.
	Actor string `json:"actor"`
	// Action is what was done, such as "float.credit".
	Action string `json:"action"`
	// Subject is what it was done to, such as "company 2f9c…" with the whole id.
	Subject string `json:"subject"`
	// Changes are the members of the subject that changed, each as {"before":…,"after":…}, with null for a member that
	// was absent. They hold no secret, no digest and no account number.
	Changes json.RawMessage `json:"changes"`

	ID        uuid.UUID  `json:"id"`
	CompanyID *uuid.UUID `json:"companyId"` // nil: it was about no company
}

// maxActorName is the limit of an actor's name in characters.
const maxActorName = 200

// auditName returns the actor's name as the audit log keeps it: trimmed and on one line. An actor without a valid name
// gets INVALID_REQUEST.
func (a Actor) auditName() (string, error) {
	var v violations
	name := requiredText(&v, "actor.name", a.Name, 1, maxActorName)
	return name, v.err()
}

// changes holds a subject before and after an action. Each is nil or a value that marshals to a JSON object. The object
// must hold no secret, only what may be shown of the subject at any time.
type changes struct{ before, after any }

// about returns the subject of an action as the audit log names it.
func about(kind string, id uuid.UUID) string { return kind + " " + id.String() }

// audit appends an action in the transaction that did it, so that neither is kept without the other. It keeps only the
// members of the subject that differ. The id of the company is zero for an action that is about none.
//
// The action has the time of the transaction that did it. A name that is missing or too long is INVALID_REQUEST, and
// nothing is kept. The id of an action is always random, whatever [Config.NewID] returns. No decision depends on it.
func (o Operator) audit(
	ctx context.Context, tx driver.AuditWriter, at time.Time, action string, companyID uuid.UUID, subject string,
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
	entry := driver.AuditEntry{
		CompanyID: companyID, At: at, ID: uuid.New(), Actor: name, Action: action, Subject: subject, Changes: text,
	}
	if companyID == uuid.Nil {
		if entry.UserID = userIn(subject); entry.UserID == uuid.Nil {
			entry.UserID = userIn(name)
		}
	}
	return tx.AppendAudit(ctx, []driver.AuditEntry{entry})
}

// userIn returns the id of the user that a subject or an actor is, as about writes it, and zero for any other text. A
// transaction about a user writes its entry where the user's sessions are, so that it needs no other node of a cluster.
func userIn(text string) uuid.UUID {
	written, found := strings.CutPrefix(text, "user ")
	if !found {
		return uuid.Nil
	}
	id, err := uuid.Parse(written)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// encode returns the JSON of the members that differ, by name. It leaves out the id and the times of creation and
// change, because the subject and the time of the action already say them.
//
// A member that holds an object or a list is compared as a whole, by its JSON text.
func (c changes) encode() (string, error) {
	type change struct {
		Before json.RawMessage `json:"before"`
		After  json.RawMessage `json:"after"`
	}
	// A creation has no value before it, and a removal none after it.
	before, err := objectMembers(c.before)
	if err != nil {
		return "", err
	}
	after, err := objectMembers(c.after)
	if err != nil {
		return "", err
	}
	// The members are compared as they are shown. A member that a record gets later takes part without a change here.
	differ := make(map[string]change)
	// Added or changed members. A member that is absent counts as null.
	for name, value := range after {
		if !bytes.Equal(orNull(value), orNull(before[name])) {
			differ[name] = change{orNull(before[name]), value}
		}
	}
	// Members that only the value before the action has. One that was null has not changed.
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

// objectMembers returns the members of a value that marshals to a JSON object; nil has none.
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

// orNull returns the JSON null for an absent member.
func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// showAuditEntry returns the action as an operator sees it.
func showAuditEntry(r driver.AuditEntry) AuditEntry {
	entry := AuditEntry{
		At: Time{Time: r.At}, Actor: r.Actor, Action: r.Action, Subject: r.Subject, Changes: json.RawMessage(r.Changes),
		ID: r.ID,
	}
	if r.CompanyID != uuid.Nil {
		entry.CompanyID = &r.CompanyID
	}
	return entry
}

// maxAction is the limit of the name of an action in a filter, in characters. No action has a longer name.
const maxAction = 100

// AuditFilter selects a page of the audit log. A zero field selects all. An action is selected if it matches every
// field. A page reads no more of the log than it returns, whatever it selects.
type AuditFilter struct {
	PageParams

	// Actor is the whole name of the actor as the log has it, at most 200 characters.
	Actor string
	// Action is the whole name of the action, such as "float.credit", at most 100 characters. An unknown name selects
	// nothing.
	Action string
	Since  time.Time // done then or later
	Until  time.Time // done before
}

// check checks the filter. It returns it with trimmed texts, and with times in milliseconds, as actions are kept.
func (f AuditFilter) check(v *violations) AuditFilter {
	f.Actor = trimmedText(v, "actor", f.Actor, maxActorName, false)
	f.Action = trimmedText(v, "action", f.Action, maxAction, false)
	checkPeriod(v, &f.Since, &f.Until)
	return f
}

// scope returns what a cursor of this listing is bound to: the company and every field of the filter.
func (f AuditFilter) scope(companyID uuid.UUID) []string {
	return []string{
		"audit", companyID.String(), f.Actor, f.Action, strconv.FormatInt(f.Since.UnixMilli(), 10),
		strconv.FormatInt(f.Until.UnixMilli(), 10),
	}
}

// readsAudit returns the permission by which the actor reads the log of a company, or with the zero id that of all. The
// log of all companies also holds what staff did to the platform, so an administrator never reads it.
func (o Operator) readsAudit(companyID uuid.UUID) Permission {
	if companyID == uuid.Nil {
		return o.heldOf(PermissionTenantRead, PermissionManage)
	}
	return PermissionAuditRead
}

// ListAudit returns a page of what was done to a company, newest first. For the zero id these are the actions about
// every company and about the platform itself. It needs COMPANY:audit:read for a company, and tenant:read for all.
//
// It is INVALID_REQUEST for a text that is too long and for an Until that is not after Since, NOT_FOUND for an unknown
// company, and INVALID_CURSOR for a cursor of another company or filter.
func (o Operator) ListAudit(
	ctx context.Context, companyID uuid.UUID, filter AuditFilter,
) (Page[AuditEntry], error) {
	if err := o.allow(o.readsAudit(companyID), companyID); err != nil {
		return Page[AuditEntry]{}, err
	}
	var v violations
	filter = filter.check(&v)
	list, err := openListing(byTime(func(r driver.AuditEntry) driver.Position {
		return driver.Position{At: r.At, ID: r.ID}
	}), filter.PageParams, v, filter.scope(companyID)...)
	if err != nil {
		return Page[AuditEntry]{}, err
	}
	var records []driver.AuditEntry
	err = o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		// An unknown company is NOT_FOUND and not an empty page.
		if companyID != uuid.Nil {
			if _, err := findCompany(ctx, tx, companyID); err != nil {
				return err
			}
		}
		records, err = tx.ListAudit(ctx, driver.AuditQuery{
			CompanyID: companyID, Actor: filter.Actor, Action: filter.Action, Since: filter.Since, Until: filter.Until,
			After: list.after, Limit: list.limit,
		})
		return err
	})
	if err != nil {
		return Page[AuditEntry]{}, err
	}
	var page Page[AuditEntry]
	records, page.HasMore, page.NextCursor = list.cut(records)
	page.Items = make([]AuditEntry, len(records))
	for i, record := range records {
		page.Items[i] = showAuditEntry(record)
	}
	return page, nil
}
