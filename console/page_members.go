package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const membersPath = "/business/{companyId}/members"

// memberPages returns the page of a company's people.
func memberPages() []page {
	return []page{{
		group: groupCompany,
		path:  membersPath, scope: scopeCompany, title: "Members", nav: "Members", icon: "people",
		permissions: []ticketing.Permission{ticketing.PermissionMemberRead}, template: "members.html",
		query: []string{"cursor"}, load: loadMembers,
	}}
}

// memberActs returns what owners do about the company's people.
func memberActs() []act {
	const manage = ticketing.PermissionMemberManage
	return []act{
		newAct(act{
			name: "member.invite", scope: scopeCompany, path: membersPath + "/invite", page: membersPath, permission: manage,
			recent: true,
		}, readInvitation, inviteMember),
		newAct(act{
			name: "member.update", scope: scopeCompany, path: membersPath + "/{userId}/role", page: membersPath,
			permission: manage, recent: true, done: "The role was changed.",
		}, func(m *members) ticketing.Role { return enum[ticketing.Role](m, "role") }, updateMember),
		newAct(act{
			name: "member.remove", scope: scopeCompany, path: membersPath + "/{userId}/remove", page: membersPath,
			permission: manage, recent: true, done: "The member was removed.",
		}, noMembers, removeMember),
	}
}

// membersShown is how many members a page shows unless limit says another number.
const membersShown = 25

// shownMember is a member as the page shows them.
type shownMember struct {
	ticketing.Member

	// LastSeenAt is when they last used a session; nil: they have signed out everywhere, or never signed in.
	LastSeenAt *ticketing.Time `json:"lastSeenAt"`
	You        bool            `json:"you"`
}

// memberList is a page of members.
type memberList struct {
	itemList[shownMember]

	Total   int
	Mails   bool // the service can mail an invitation
	HasSeen bool // the console knows when people were last seen
}

// roleOrder is the order of roles in the list.
func roleOrder(role ticketing.Role) int {
	return slices.Index([]ticketing.Role{ticketing.RoleOwner, ticketing.RoleAdministrator, ticketing.RoleViewer}, role)
}

func loadMembers(ctx context.Context, c *call) (view, error) {
	all, err := c.operator.ListMembers(ctx, c.companyID)
	if err != nil {
		return view{}, err
	}
	slices.SortFunc(all, func(a, b ticketing.Member) int {
		return cmp.Or(cmp.Compare(roleOrder(a.Role), roleOrder(b.Role)),
			cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), slices.Compare(a.UserID[:], b.UserID[:]))
	})
	shown := view{paged: true}
	data := memberList{Total: len(all), HasSeen: c.console.config.Identify == nil}
	// A company has at most a thousand members, and they are read together.
	all, shown.next, err = pageOfPeople(c, all, func(m ticketing.Member) uuid.UUID { return m.UserID })
	if err != nil {
		return view{}, err
	}
	seen, err := lastSeen(ctx, c, all, func(m ticketing.Member) uuid.UUID { return m.UserID })
	if err != nil {
		return view{}, err
	}
	for i, member := range all {
		data.Items = append(data.Items, shownMember{
			Member: member, LastSeenAt: seen[i], You: member.UserID == c.visitor.userID,
		})
	}
	if holds(c.actor, ticketing.PermissionMemberManage) {
		if data.Mails, err = c.console.canMail(ctx); err != nil {
			return view{}, err
		}
	}
	shown.data = data
	return shown, nil
}

// pageOfPeople returns the page of a list that the query asks for. The cursor is the id of the last one shown.
func pageOfPeople[T any](c *call, all []T, id func(T) uuid.UUID) (shown []T, next string, err error) {
	params := c.paging()
	limit := cmp.Or(params.Limit, membersShown)
	if limit < 1 || limit > ticketing.MaxPageLimit {
		return nil, "", invalid(fmt.Sprintf("limit: must be 1 to %d", ticketing.MaxPageLimit))
	}
	if params.Cursor != "" {
		last, err := ticketing.ParseID(params.Cursor)
		i := slices.IndexFunc(all, func(one T) bool { return id(one) == last })
		if err != nil || i < 0 {
			return nil, "", &ticketing.Error{
				Code: ticketing.CodeInvalidCursor, Message: "The cursor is not one of this list.",
			}
		}
		all = all[i+1:]
	}
	if len(all) > limit {
		all, next = all[:limit], id(all[limit-1]).String()
	}
	return all, next, nil
}

// lastSeen returns when each of the people was last seen, by the sessions that they still have. If the host identifies
// people, it is nil for all.
func lastSeen[T any](ctx context.Context, c *call, people []T, id func(T) uuid.UUID) ([]*ticketing.Time, error) {
	if c.console.config.Identify != nil {
		return make([]*ticketing.Time, len(people)), nil
	}
	ids := make([]uuid.UUID, len(people))
	for i, one := range people {
		ids[i] = id(one)
	}
	return c.console.accounts.LastSeen(ctx, ids)
}

func updateMember(ctx context.Context, c *call, role ticketing.Role) (outcome, error) {
	member, err := c.operator.UpdateMember(ctx, c.companyID, c.pathID("userId"), role)
	return outcome{data: member}, err
}

func removeMember(ctx context.Context, c *call, _ none) (outcome, error) {
	member, err := c.operator.RemoveMember(ctx, c.companyID, c.pathID("userId"))
	done := outcome{data: member}
	if member.UserID == c.visitor.userID {
		done.next = "/business" // The person may no longer see the page of the company.
	}
	return done, err
}
