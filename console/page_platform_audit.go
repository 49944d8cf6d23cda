package console

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const platformAuditPath = "/platform/audit"

// platformAuditPages returns the page of all that was done.
func platformAuditPages() []page {
	return []page{{
		group: groupRecords, bar: true,
		path: platformAuditPath, scope: scopePlatform, title: "Audit log", nav: "Audit", icon: "list",
		permissions: []ticketing.Permission{ticketing.PermissionTenantRead}, template: "platform-audit.html",
		query: append([]string{"cursor"}, withZone(auditFilters())...), load: loadPlatformAudit,
		live: []ticketing.WatchTopic{ticketing.WatchAudit},
	}}
}

// platformAct is an action of the log with its company.
type platformAct struct {
	shownAct

	CompanyName string `json:"companyName,omitempty"` // empty: it was about no company
}

// platformAuditList is a page of the log with its filters.
type platformAuditList struct {
	itemList[platformAct]

	Filters  []field
	Filtered bool
}

func loadPlatformAudit(ctx context.Context, c *call) (view, error) {
	filter, err := auditFilter(ctx, c)
	if err != nil {
		return view{}, err
	}
	filter.PageParams = c.paging()
	found, err := c.operator.ListAudit(ctx, uuid.Nil, filter)
	if err != nil {
		return view{}, err
	}
	acts, err := nameActs(ctx, c, found.Items)
	if err != nil {
		return view{}, err
	}
	if err := c.nameSubjects(ctx, acts); err != nil {
		return view{}, err
	}
	companies, err := c.companyNames(ctx, acts)
	if err != nil {
		return view{}, err
	}
	shown := platformAuditList{
		Filtered: isFiltered(c, auditFilters()...),
		Filters:  append([]field{typedFilter(c, "actor", "Who (email)", "text"), actionFilter(c, true)}, dayFilters(c)...),
	}
	for _, one := range acts {
		act := platformAct{shownAct: one}
		if one.CompanyID != nil {
			act.CompanyName = companies[*one.CompanyID]
		}
		shown.Items = append(shown.Items, act)
	}
	return view{data: shown, paged: true, next: found.NextCursor, still: c.query("cursor") != ""}, nil
}
