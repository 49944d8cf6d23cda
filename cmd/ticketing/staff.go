package main

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type staffCommands struct {
	Add    staffAdd    `cmd:"" help:"Add a member of staff, and print a sign-in link."`
	List   staffList   `cmd:"" help:"List the platform's staff."`
	Update staffUpdate `cmd:"" help:"Change the role of a member of staff."`
	Remove staffRemove `cmd:"" help:"Remove a member of staff."`
}

// staffRoleFlag is the role of a member of staff.
type staffRoleFlag struct {
	Role staffRole `help:"ADMINISTRATOR, FINANCE, ONBOARDING, SUPPORT or AUDITOR." placeholder:"ROLE" required:""`
}

// staffRole is one of the roles of the platform's staff.
type staffRole struct{ ticketing.StaffRole }

func (v *staffRole) UnmarshalText(text []byte) error {
	switch given := ticketing.StaffRole(text); given {
	case ticketing.StaffAdministrator, ticketing.StaffFinance, ticketing.StaffOnboarding, ticketing.StaffSupport,
		ticketing.StaffAuditor:
		v.StaffRole = given
		return nil
	default:
		return badValue("must be ADMINISTRATOR, FINANCE, ONBOARDING, SUPPORT or AUDITOR")
	}
}

// userRef names a user by id or by email.
type userRef struct {
	id    uuid.UUID
	email string
}

func (v *userRef) UnmarshalText(text []byte) (err error) {
	if strings.Contains(string(text), "@") {
		v.email = string(text)
		return nil
	}
	if v.id, err = ticketing.ParseID(string(text)); err != nil {
		return badValue("must be the id or the email of a user")
	}
	return nil
}

// find returns the user.
func (v *userRef) find(ctx context.Context, svc *ticketing.Service) (ticketing.User, error) {
	if v.email == "" {
		return svc.Accounts().GetUser(ctx, v.id)
	}
	return svc.Accounts().FindUser(ctx, v.email)
}

type staffArg struct {
	User userRef `arg:"" help:"Id or email of the user." placeholder:"USER"`
}

type staffAdd struct {
	staffRoleFlag
	linkFlags

	Email string `help:"Email of the user." placeholder:"EMAIL" required:""`
	Name  string `help:"Name of the user." placeholder:"NAME" required:""`
}

func (*staffAdd) Help() string {
	return `An administrator may do everything. FINANCE schedules commission, decides settlements, and refunds and ` +
		`cancels orders; ONBOARDING manages companies with their verification, commission, members and branding; ` +
		`SUPPORT sends mails and webhooks again; AUDITOR changes nothing. All read every company with its orders.

The link signs the user in once, within 30 minutes: give it only to the user. The same command makes another link. ` +
		`With --quiet only the link is printed.

    ticketing staff add --email ada@example.com --name 'Ada Obi' --role ADMINISTRATOR`
}

// addedStaff is a member of staff with a link to sign in with.
type addedStaff struct {
	ticketing.StaffMember

	Link      string         `json:"link"`
	ExpiresAt ticketing.Time `json:"linkExpiresAt"`
}

func (c *staffAdd) Run(ctx context.Context, p *program) error {
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, op ticketing.Operator) error {
		member, err := op.AddStaff(ctx, ticketing.AddStaffParams{Email: c.Email, Name: c.Name, Role: c.Role.StaffRole})
		if err != nil {
			return err
		}
		link, address, err := c.link(ctx, p, svc, ticketing.LinkParams{UserID: member.UserID})
		if err != nil {
			return err
		}
		return p.showRecord(address, addedStaff{StaffMember: member, Link: address, ExpiresAt: link.ExpiresAt},
			append(staffFields(member), linkFields(address, link)...)...)
	})
}

func staffFields(member ticketing.StaffMember) []field {
	return []field{
		{"User", member.UserID.String()},
		{"Email", member.Email},
		{"Name", member.Name},
		{"Role", string(member.Role)},
		{"Since", member.CreatedAt.String()},
	}
}

type staffList struct{ listFlags }

// peopleColumns are the columns of lists of people, after the column of their ids.
func peopleColumns(id column) []column {
	return []column{id, texts("EMAIL"), texts("NAME"), words("ROLE"), times("SINCE").optional()}
}

func (c *staffList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		staff, err := op.ListStaff(ctx)
		if err != nil {
			return err
		}
		return p.list(c.listFlags, peopleColumns(ids("USER")), func(list *list) error {
			return eachOf(staff, func(member ticketing.StaffMember) error {
				return list.add(member, member.UserID.String(), member.Email, member.Name, string(member.Role),
					member.CreatedAt.String())
			})
		})
	})
}

type staffUpdate struct {
	staffArg
	staffRoleFlag
}

func (*staffUpdate) Help() string {
	return `The last administrator cannot change: add another administrator first.

    ticketing staff update ada@example.com --role FINANCE`
}

func (c *staffUpdate) Run(ctx context.Context, p *program) error {
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, op ticketing.Operator) error {
		user, err := c.User.find(ctx, svc)
		if err != nil {
			return err
		}
		member, err := op.UpdateStaff(ctx, user.ID, c.Role.StaffRole)
		if err != nil {
			return err
		}
		return p.showRecord(member.UserID.String(), member, staffFields(member)...)
	})
}

type staffRemove struct {
	staffArg
	requiredConfirm
}

func (*staffRemove) Help() string {
	return `Memberships of companies stay. A user without any is signed out. The last administrator cannot be removed.`
}

func (c *staffRemove) Run(ctx context.Context, p *program) error {
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, op ticketing.Operator) error {
		user, err := c.User.find(ctx, svc)
		if err != nil {
			return err
		}
		err = p.confirm(c.Yes, func() (string, error) {
			return "Remove " + user.Email + " from the staff?", nil
		})
		if err != nil {
			return err
		}
		member, err := op.RemoveStaff(ctx, user.ID)
		if err != nil {
			return err
		}
		return p.showRecord(member.UserID.String(), member, staffFields(member)...)
	})
}
