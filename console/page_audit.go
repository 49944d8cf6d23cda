package console

import (
	"context"
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
		query: append([]string{"cursor"}, withZone(auditFilters())...), load: loadAudit,
		live: []ticketing.WatchTopic{ticketing.WatchAudit},
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
	Name  string    `json:"name,omitempty"` // in the company, or else on the platform; empty: they were in neither
	Email string    `json:"email"`
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

// actorName returns the name in the log of an actor who was typed as an email. Any other text is the name itself.
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
	shown := auditList{
		Filtered: isFiltered(c, auditFilters()...),
		Filters:  append([]field{typedFilter(c, "actor", "Who (email)", "text"), actionFilter(c, false)}, dayFilters(c)...),
	}
	if shown.Items, err = nameActs(ctx, c, found.Items); err != nil {
		return view{}, err
	}
	// New actions do not change a later page.
	return view{
		data: shown, paged: true, next: found.NextCursor, still: c.query("cursor") != "",
	}, c.nameSubjects(ctx, shown.Items)
}

// nameActs adds the people to a page of the log, with one read for all of them.
func nameActs(ctx context.Context, c *call, entries []ticketing.AuditEntry) ([]shownAct, error) {
	var refs []ticketing.PersonRef
	ref := func(entry ticketing.AuditEntry, name string) ticketing.PersonRef {
		one := ticketing.PersonRef{UserID: userID(name)}
		if entry.CompanyID != nil {
			one.CompanyID = *entry.CompanyID
		}
		return one
	}
	for _, entry := range entries {
		refs = append(refs, ref(entry, entry.Actor), ref(entry, entry.Subject))
	}
	refs = slices.DeleteFunc(refs, func(ref ticketing.PersonRef) bool { return ref.UserID == uuid.Nil })
	people, err := c.console.accounts.People(ctx, refs)
	if err != nil {
		return nil, err
	}
	of := make(map[ticketing.PersonRef]*shownPerson, len(people))
	for i, person := range people {
		if person.ID != uuid.Nil {
			of[refs[i]] = &shownPerson{ID: person.ID, Name: person.Name, Email: person.Email}
		}
	}
	acts := make([]shownAct, len(entries))
	for i, entry := range entries {
		acts[i] = shownAct{
			AuditEntry: entry, Person: of[ref(entry, entry.Actor)], SubjectPerson: of[ref(entry, entry.Subject)],
		}
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
