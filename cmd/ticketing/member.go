package main

import (
	"context"

	"github.com/floatgate/ticketing"
)

type memberCommands struct {
	Add    memberAdd    `cmd:"" help:"Make a user a member of a company."`
	List   memberList   `cmd:"" help:"List the members of a company."`
	Update memberUpdate `cmd:"" help:"Give a member another role."`
	Remove memberRemove `cmd:"" help:"End a membership."`
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
	User id `arg:"" help:"Id of the user." placeholder:"USER"`
}

type memberAdd struct {
	companyArg
	roleFlag

	Email string `help:"Email of the user." placeholder:"EMAIL" required:""`
	Name  string `help:"Name of the user, if there is none of the email yet." placeholder:"NAME" required:""`
}

func (*memberAdd) Help() string {
	return `An owner may do everything that a company's people may, an administrator all but manage members and request ` +
		`settlements, a viewer sees everything and changes nothing.

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
		return op.UpdateMember(ctx, c.Company.UUID, c.User.UUID, c.Role.Role)
	})
}

type memberRemove struct {
	companyArg
	userArg
}

func (*memberRemove) Help() string {
	return `It shows what the member was. The last owner of a company stays: make somebody else an owner first.`
}

func (c *memberRemove) Run(ctx context.Context, p *program) error {
	return p.member(ctx, func(op ticketing.Operator) (ticketing.Member, error) {
		return op.RemoveMember(ctx, c.Company.UUID, c.User.UUID)
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

type memberList struct{ companyArg }

func (c *memberList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		members, err := op.ListMembers(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		list := p.list("USER", "EMAIL", "NAME", "ROLE", "SINCE")
		for _, member := range members {
			err := list.add(member, member.UserID.String(), member.Email, member.Name, string(member.Role),
				member.CreatedAt.String())
			if err != nil {
				return err
			}
		}
		return list.end()
	})
}
