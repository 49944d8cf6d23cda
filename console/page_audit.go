package console

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const auditPath = "/business/{companyId}/audit"

// auditPages returns the page of what was done to a company.
func auditPages() []page {
	return []page{{
		group: groupCompany,
		path:  auditPath, scope: scopeCompany, title: "Audit log", nav: "Audit", icon: "list",
		permissions: []ticketing.Permission{ticketing.PermissionAuditRead}, template: "audit.html",
		query: append([]string{"cursor"}, auditFilters()...), load: loadAudit,
	}}
}

// shownAct is an action of the log with the people in it.
type shownAct struct {
	ticketing.AuditEntry

	Person        *shownPerson `json:"person"`        // nil: the actor is no user, or was removed
	SubjectPerson *shownPerson `json:"subjectPerson"` // nil: it was done to nobody
	About         subject      `json:"-"`             // for the pages of the log alone
}

// shownPerson is a user of the log.
type shownPerson struct {
	ID    uuid.UUID `json:"id"`
	Name  string    `json:"name,omitempty"` // that of the company; empty for who is no member of it
	Email string    `json:"email"`
}

// difference is a member of a subject before and after an action, as text.
type difference struct{ Name, Before, After string }

// Differences returns the members that changed, by name.
func (a shownAct) Differences() []difference {
	var changed map[string]struct{ Before, After json.RawMessage }
	if json.Unmarshal(a.Changes, &changed) != nil {
		return nil
	}
	all := make([]difference, 0, len(changed))
	for name, one := range changed {
		all = append(all, difference{name, plainText(one.Before), plainText(one.After)})
	}
	slices.SortFunc(all, func(a, b difference) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// plainText returns a JSON value as a person reads it: a text without its quotation marks, and nothing for null.
func plainText(value json.RawMessage) string {
	var text string
	switch {
	case len(value) == 0 || string(value) == "null":
		return ""
	case json.Unmarshal(value, &text) == nil:
		return text
	}
	return string(value)
}

// auditList is a page of the log with its filters.
type auditList struct {
	itemList[shownAct]

	Filters  []field
	Filtered bool
}

// auditFilter reads the query of the log.
func auditFilter(ctx context.Context, c *call) (ticketing.AuditFilter, error) {
	filter := ticketing.AuditFilter{Action: strings.TrimSpace(c.query("action"))}
	var err error
	if filter.Actor, err = actorName(ctx, c, strings.TrimSpace(c.query("actor"))); err != nil {
		return filter, err
	}
	filter.Since, filter.Until, err = c.period()
	return filter, err
}

// actorName returns the name that the log has of an actor who was typed as an email. Any other text is the name itself.
func actorName(ctx context.Context, c *call, typed string) (string, error) {
	if !strings.Contains(typed, "@") {
		return typed, nil
	}
	user, err := c.console.accounts.FindUser(ctx, typed)
	switch {
	case errors.Is(err, ticketing.CodeNotFound), errors.Is(err, ticketing.CodeInvalidRequest):
		return typed, nil
	case err != nil:
		return "", err
	}
	return userPrefix + user.ID.String(), nil
}

const userPrefix = "user "

func loadAudit(ctx context.Context, c *call) (view, error) {
	filter, err := auditFilter(ctx, c)
	if err != nil {
		return view{}, err
	}
	filter.PageParams = c.paging()
	found, err := c.operator.ListAudit(ctx, c.companyID, filter)
	if err != nil {
		return view{}, err
	}
	names, err := memberNames(ctx, c)
	if err != nil {
		return view{}, err
	}
	shown := auditList{
		Filtered: isFiltered(c, auditFilters()...),
		Filters: []field{
			typedFilter(c, "actor", "Who (email)", "text"), typedFilter(c, "action", "What (such as key.issue)", "text"),
			typedFilter(c, "since", "From", "date"), typedFilter(c, "until", "To", "date"),
		},
	}
	if shown.Items, err = nameActs(ctx, c, found.Items, names); err != nil {
		return view{}, err
	}
	return view{data: shown, paged: true, next: found.NextCursor}, c.nameSubjects(ctx, shown.Items)
}

// memberNames returns the names of the company's members, and none to somebody who may not see them.
func memberNames(ctx context.Context, c *call) (map[uuid.UUID]string, error) {
	if !holds(c.actor, ticketing.PermissionMemberRead) {
		return nil, nil
	}
	people, err := c.operator.ListMembers(ctx, c.companyID)
	names := make(map[uuid.UUID]string, len(people))
	for _, member := range people {
		names[member.UserID] = member.Name
	}
	return names, err
}

// nameActs adds the people to a page of the log, with one read.
func nameActs(
	ctx context.Context, c *call, entries []ticketing.AuditEntry, names map[uuid.UUID]string,
) ([]shownAct, error) {
	var ids []uuid.UUID
	for _, entry := range entries {
		ids = append(ids, userID(entry.Actor), userID(entry.Subject))
	}
	ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return id == uuid.Nil })
	people, err := c.console.accounts.People(ctx, ids)
	if err != nil {
		return nil, err
	}
	of := make(map[uuid.UUID]*shownPerson, len(people))
	for _, person := range people {
		of[person.ID] = &shownPerson{ID: person.ID, Name: names[person.ID], Email: person.Email}
	}
	acts := make([]shownAct, len(entries))
	for i, entry := range entries {
		acts[i] = shownAct{AuditEntry: entry, Person: of[userID(entry.Actor)], SubjectPerson: of[userID(entry.Subject)]}
	}
	return acts, nil
}

// userID returns the id of an actor or a subject such as "user 2f9c…", and the zero id for any other.
func userID(text string) uuid.UUID {
	id, ok := strings.CutPrefix(text, userPrefix)
	if !ok {
		return uuid.Nil
	}
	parsed, err := ticketing.ParseID(id)
	if err != nil {
		return uuid.Nil
	}
	return parsed
}
