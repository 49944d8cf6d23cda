package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const staffPath = "/platform/staff"

// staffPages returns the page of who works for the platform.
func staffPages() []page {
	return []page{{
		group: groupSettings,
		path:  staffPath, scope: scopePlatform, title: "Staff", nav: "Staff", icon: "people",
		permissions: []ticketing.Permission{ticketing.PermissionTenantRead}, template: "staff.html",
		query: []string{"cursor"}, load: loadStaff,
	}}
}

// staffActs returns what administrators do about staff.
func staffActs() []act {
	const manage = ticketing.PermissionStaffManage
	return []act{
		newAct(act{
			name: "staff.add", scope: scopePlatform, path: staffPath + "/add", page: staffPath, permission: manage,
			recent: true,
		}, readStaff, addStaff),
		newAct(act{
			name: "staff.update", scope: scopePlatform, path: staffPath + "/{userId}/role", page: staffPath,
			permission: manage, recent: true, done: "The role was changed.",
		}, func(m *members) ticketing.StaffRole { return enum[ticketing.StaffRole](m, "role") },
			func(ctx context.Context, c *call, role ticketing.StaffRole) (outcome, error) {
				member, err := c.operator.UpdateStaff(ctx, c.pathID("userId"), role)
				return outcome{data: member}, err
			}),
		newAct(act{
			name: "staff.remove", scope: scopePlatform, path: staffPath + "/{userId}/remove", page: staffPath,
			permission: manage, recent: true, done: "The member of staff was removed.",
		}, noMembers, removeStaff),
	}
}

// shownStaff is a member of staff as the page shows them.
type shownStaff struct {
	ticketing.StaffMember

	// LastSeenAt is when they last used a session; nil: they have signed out everywhere, or never signed in.
	LastSeenAt *ticketing.Time `json:"lastSeenAt"`
	You        bool            `json:"you"`
}

// staffList is a page of staff.
type staffList struct {
	itemList[shownStaff]

	Total   int
	HasSeen bool // the console knows when people were last seen
}

// staffOrder is the order of roles in the list.
func staffOrder(role ticketing.StaffRole) int {
	return slices.Index([]ticketing.StaffRole{
		ticketing.StaffAdministrator, ticketing.StaffFinance, ticketing.StaffOnboarding, ticketing.StaffSupport,
		ticketing.StaffAuditor,
	}, role)
}

func loadStaff(ctx context.Context, c *call) (view, error) {
	all, err := c.operator.ListStaff(ctx)
	if err != nil {
		return view{}, err
	}
	slices.SortFunc(all, func(a, b ticketing.StaffMember) int {
		return cmp.Or(cmp.Compare(staffOrder(a.Role), staffOrder(b.Role)),
			cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), slices.Compare(a.UserID[:], b.UserID[:]))
	})
	data := staffList{Total: len(all), HasSeen: c.console.config.Identify == nil}
	shown := view{paged: true}
	// There are at most a thousand members of staff, and they are read together.
	all, shown.next, err = pageOfPeople(c, all, func(m ticketing.StaffMember) uuid.UUID { return m.UserID })
	if err != nil {
		return view{}, err
	}
	seen, err := lastSeen(ctx, c, all, func(m ticketing.StaffMember) uuid.UUID { return m.UserID })
	if err != nil {
		return view{}, err
	}
	for i, member := range all {
		data.Items = append(data.Items, shownStaff{
			StaffMember: member, LastSeenAt: seen[i], You: member.UserID == c.visitor.userID,
		})
	}
	shown.data = data
	return shown, nil
}

func readStaff(m *members) ticketing.AddStaffParams {
	return ticketing.AddStaffParams{
		Email: m.text("email"), Name: m.text("name"), Role: enum[ticketing.StaffRole](m, "role"),
	}
}

// staffAdded is the result of an addition. The link is shown only once.
type staffAdded struct {
	Member    ticketing.StaffMember `json:"member"`
	Link      string                `json:"link,omitempty"` // empty: they sign in as they do already
	ExpiresAt *ticketing.Time       `json:"expiresAt,omitempty"`

	SignIn string `json:"-"` // the address of the sign-in page
	Mails  bool   `json:"-"` // the service can mail a code to sign in with
}

// addStaff adds somebody and makes their first link. A person who can already sign in gets none: the link would let
// another administrator act as them.
func addStaff(ctx context.Context, c *call, params ticketing.AddStaffParams) (outcome, error) {
	known, err := c.isKnown(ctx, params.Email)
	if err != nil {
		return outcome{}, err
	}
	mails, err := c.console.canMail(ctx)
	if err != nil {
		return outcome{}, err
	}
	member, err := c.operator.AddStaff(ctx, params)
	if err != nil {
		return outcome{}, err
	}
	origin := c.console.originOf(c.r)
	shown := staffAdded{Member: member, SignIn: origin + "/sign-in", Mails: mails}
	// Where the host signs people in, a link of ours opens nothing.
	if !known && c.console.config.Identify == nil {
		link, err := c.console.accounts.CreateLink(ctx, ticketing.LinkParams{UserID: member.UserID, Actor: c.actor.Name})
		if err != nil {
			return outcome{}, err
		}
		shown.Link, shown.ExpiresAt = origin+"/sign-in/link#"+link.Token, &link.ExpiresAt
	}
	return outcome{data: shown, show: "staff-added.html"}, nil
}

// isKnown reports whether a user with an email is a member of a company or of staff, or has signed in.
func (c *call) isKnown(ctx context.Context, email string) (bool, error) {
	accounts := c.console.accounts
	user, err := accounts.FindUser(ctx, email)
	switch {
	case errors.Is(err, ticketing.CodeNotFound), errors.Is(err, ticketing.CodeInvalidRequest):
		return false, nil // The service refuses a malformed address.
	case err != nil:
		return false, err
	}
	companies, err := accounts.Companies(ctx, user.ID)
	if len(companies) > 0 {
		return true, nil
	}
	if err != nil {
		return true, err
	}
	if _, err = accounts.Staff(ctx, user.ID); !errors.Is(err, ticketing.CodeNotFound) {
		return true, err
	}
	sessions, err := accounts.ListSessions(ctx, user.ID)
	if err != nil || len(sessions) > 0 {
		return true, err
	}
	passkeys, err := accounts.ListPasskeys(ctx, user.ID)
	return len(passkeys) > 0, err
}

func removeStaff(ctx context.Context, c *call, _ none) (outcome, error) {
	member, err := c.operator.RemoveStaff(ctx, c.pathID("userId"))
	done := outcome{data: member}
	if member.UserID == c.visitor.userID {
		done.next = "/business" // The person may no longer see the pages of the platform.
	}
	return done, err
}
