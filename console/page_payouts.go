package console

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const payoutsPath = "/platform/settlements"

// payoutPages returns the page of the settlements of all companies.
func payoutPages() []page {
	return []page{{
		group: groupMoney, bar: true,
		path: payoutsPath, scope: scopePlatform, title: "Settlements", nav: "Settlements", icon: "bank",
		permissions: []ticketing.Permission{ticketing.PermissionTenantRead, ticketing.PermissionSettlementRead},
		template:    "platform-settlements.html", query: []string{"cursor"}, load: loadPayouts,
		live: []ticketing.WatchTopic{ticketing.WatchAudit},
	}}
}

// payoutActs returns the decisions about settlements.
func payoutActs() []act {
	of := func(verb string) act {
		return act{
			name: "settlement." + verb, scope: scopePlatform, path: payoutsPath + "/{settlementId}/" + verb, page: payoutsPath,
			permission: ticketing.PermissionSettlementDecide, recent: true,
		}
	}
	return []act{
		newAct(of("approve"), noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
			decided, err := c.operator.ApproveSettlement(ctx, c.pathID("settlementId"))
			return outcome{data: decided, done: "The settlement of " + formatMoney(decided.Amount) + " is completed."}, err
		}),
		newAct(of("reject"), func(m *members) string { return m.text("reason") },
			func(ctx context.Context, c *call, reason string) (outcome, error) {
				decided, err := c.operator.RejectSettlement(ctx, c.pathID("settlementId"), reason)
				return outcome{
					data: decided, done: "The settlement is rejected: " + formatMoney(decided.Amount) +
						" went back to the company's earnings.",
				}, err
			}),
	}
}

// decidedShown is how many decided settlements follow the open ones.
const decidedShown = 10

// payoutList is a page of open settlements, with the latest decided ones.
type payoutList struct {
	itemList[ticketing.OpenSettlement]

	Decided []decidedSettlement
	First   bool // it is the first page
}

// decidedSettlement is a decided settlement, and who decided it.
type decidedSettlement struct {
	ticketing.OpenSettlement

	By shownAct
}

func loadPayouts(ctx context.Context, c *call) (view, error) {
	found, err := c.operator.ListOpenSettlements(ctx, c.paging())
	if err != nil {
		return view{}, err
	}
	shown := payoutList{First: c.query("cursor") == ""}
	shown.Items = found.Items
	if shown.First && !c.exchange.api {
		shown.Decided, err = decidedSettlements(ctx, c)
	}
	return view{data: shown, paged: true, next: found.NextCursor, still: !shown.First}, err
}

// decidedSettlements returns the latest decided settlements, from the audit log of all companies.
func decidedSettlements(ctx context.Context, c *call) ([]decidedSettlement, error) {
	var entries []ticketing.AuditEntry
	for _, action := range []string{"settlement.approve", "settlement.reject"} {
		some, err := c.operator.ListAudit(ctx, uuid.Nil,
			ticketing.AuditFilter{PageParams: ticketing.PageParams{Limit: decidedShown}, Action: action})
		if err != nil {
			return nil, err
		}
		entries = append(entries, some.Items...)
	}
	slices.SortStableFunc(entries, func(a, b ticketing.AuditEntry) int { return b.At.Compare(a.At.Time) })
	acts, err := nameActs(ctx, c, entries[:min(decidedShown, len(entries))])
	if err != nil {
		return nil, err
	}
	var refs []ticketing.SettlementRef
	by := map[uuid.UUID]shownAct{}
	for _, one := range acts {
		text, _ := strings.CutPrefix(one.Subject, "settlement ")
		id, err := ticketing.ParseID(text)
		if err != nil || one.CompanyID == nil {
			continue // It names no settlement, so nothing can be shown of it.
		}
		refs = append(refs, ticketing.SettlementRef{CompanyID: *one.CompanyID, ID: id})
		by[id] = one
	}
	settlements, err := c.operator.GetSettlements(ctx, refs)
	decided := make([]decidedSettlement, len(settlements))
	for i, one := range settlements {
		decided[i] = decidedSettlement{one, by[one.ID]}
	}
	return decided, err
}

// companyNames returns the names of the companies that actions were about, with one read.
func (c *call) companyNames(ctx context.Context, acts []shownAct) (map[uuid.UUID]string, error) {
	var ids []uuid.UUID
	for _, one := range acts {
		if one.CompanyID != nil && !slices.Contains(ids, *one.CompanyID) {
			ids = append(ids, *one.CompanyID)
		}
	}
	found, err := c.operator.CompanyNames(ctx, ids)
	names := make(map[uuid.UUID]string, len(found))
	for i, name := range found {
		names[ids[i]] = cmp.Or(name, "–")
	}
	return names, err
}
