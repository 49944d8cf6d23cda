package main

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type memberCommands struct {
	Add    memberAdd    `cmd:"" help:"Add a user to a company."`
	List   memberList   `cmd:"" help:"List the members of a company."`
	Update memberUpdate `cmd:"" help:"Change the role of a member."`
	Remove memberRemove `cmd:"" help:"Remove a member from a company."`
}

// roleFlag is the role of a member.
type roleFlag struct {
	Role role `help:"OWNER, ADMINISTRATOR or VIEWER." placeholder:"ROLE" required:""`
}

// role is one of the three roles of members.
type role struct{ ticketing.Role }

func (v *role) UnmarshalText(text []byte) error {
	switch given := ticketing.Role(text); given {
	case ticketing.RoleOwner, ticketing.RoleAdministrator, ticketing.RoleViewer:
		v.Role = given
		return nil
	default:
		return badValue("must be OWNER, ADMINISTRATOR or VIEWER")
	}
}

type userArg struct {
	User shortID `arg:"" help:"Id or email of the user." placeholder:"USER"`
}

// member returns the id of the member of a company.
func (c userArg) member(ctx context.Context, op ticketing.Operator, companyID uuid.UUID) (uuid.UUID, error) {
	if c.User.UUID != uuid.Nil {
		return c.User.UUID, nil
	}
	members, err := op.ListMembers(ctx, companyID)
	if err != nil {
		return uuid.Nil, err
	}
	found, err := findRecord(c.User, "member", members, func(m ticketing.Member) (uuid.UUID, string) {
		return m.UserID, m.Email
	})
	return found.UserID, err
}

type memberAdd struct {
	companyArg
	roleFlag

	Email string `help:"Email of the user." placeholder:"EMAIL" required:""`
	Name  string `help:"Name of the user, if the user is new." placeholder:"NAME" required:""`
}

func (*memberAdd) Help() string {
	return `An owner may do everything. An administrator may not manage members or request settlements. A viewer sees ` +
		`everything and changes nothing.

    ticketing member add COMPANY --email ada@lagos.example --name 'Ada Obi' --role OWNER`
}

func (c *memberAdd) Run(ctx context.Context, p *program) error {
	return p.member(ctx, func(op ticketing.Operator) (ticketing.Member, error) {
		return op.AddMember(ctx, c.Company.UUID, ticketing.AddMemberParams{
			Email: c.Email, Name: c.Name, Role: c.Role.Role,
		})
	})
}

type memberUpdate struct {
	companyArg
	userArg
	roleFlag
}

func (c *memberUpdate) Run(ctx context.Context, p *program) error {
	return p.member(ctx, func(op ticketing.Operator) (ticketing.Member, error) {
		userID, err := c.member(ctx, op, c.Company.UUID)
		if err != nil {
			return ticketing.Member{}, err
		}
		return op.UpdateMember(ctx, c.Company.UUID, userID, c.Role.Role)
	})
}

type memberRemove struct {
	companyArg
	userArg
}

func (*memberRemove) Help() string {
	return `The last owner cannot be removed: add another owner first.`
}

func (c *memberRemove) Run(ctx context.Context, p *program) error {
	return p.member(ctx, func(op ticketing.Operator) (ticketing.Member, error) {
		userID, err := c.member(ctx, op, c.Company.UUID)
		if err != nil {
			return ticketing.Member{}, err
		}
		return op.RemoveMember(ctx, c.Company.UUID, userID)
	})
}

// member runs do, which returns a member, and prints the member.
func (p *program) member(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.Member, error),
) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		member, err := do(op)
		if err != nil {
			return err
		}
		return p.showRecord(member.UserID.String(), member,
			field{"User", member.UserID.String()},
			field{"Email", member.Email},
			field{"Name", member.Name},
			field{"Role", string(member.Role)},
			field{"Since", member.CreatedAt.String()},
		)
	})
}

type memberList struct {
	companyArg
	listFlags
}

func (c *memberList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		members, err := op.ListMembers(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		return p.list(c.listFlags, peopleColumns(shortIDs("USER")), func(list *list) error {
			return eachOf(members, func(member ticketing.Member) error {
				return list.add(member, member.UserID.String(), member.Email, member.Name, string(member.Role),
					member.CreatedAt.String())
			})
		})
	})
}
