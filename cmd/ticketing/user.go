package main

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

type userCommands struct {
	Link    userLink    `cmd:"" help:"Create a sign-in link, which works once."`
	Show    userShow    `cmd:"" help:"Show a user: role, companies, sessions and passkeys."`
	SignOut userSignOut `cmd:"" help:"End all sessions of a user." name:"sign-out"`
}

// linkFlags are the flags of commands that print a link.
type linkFlags struct {
	WebOrigin consoleOrigin `default:"http://localhost:8080" help:"Origin of the console, as browsers use it." placeholder:"URL"`
}

// consoleOrigin is a web origin that the console is served at.
type consoleOrigin struct{ webOrigin }

func (v *consoleOrigin) UnmarshalText(text []byte) error {
	if err := v.webOrigin.UnmarshalText(text); err != nil {
		return err
	}
	if !servesConsole(v.origin) {
		return badValue("must begin with https:// or be http://localhost: there is no console elsewhere")
	}
	return nil
}

// link makes a link for a user, and returns it with its address.
func (f *linkFlags) link(
	ctx context.Context, p *program, svc *ticketing.Service, params ticketing.LinkParams,
) (link ticketing.Link, address string, err error) {
	params.Actor = p.actor()
	link, err = svc.Accounts().CreateLink(ctx, params)
	return link, console.LinkURL(f.WebOrigin.origin, link.Token), err
}

func linkFields(address string, link ticketing.Link) []field {
	return []field{{"Link", address}, {"Link expires", link.ExpiresAt.String()}}
}

type emailArg struct {
	Email userRef `arg:"" help:"Email or id of the user." placeholder:"EMAIL"`
}

type userLink struct {
	emailArg
	linkFlags

	Company companyRef `help:"Company that the link leads to." placeholder:"COMPANY"`
}

func (*userLink) Help() string {
	return `The link signs the user in once, within 30 minutes: give it only to the user. The user must be staff or a ` +
		`member of a company; see "ticketing staff add" and "ticketing member add". With --quiet only the link is printed.

    ticketing user link ada@lagos.example --web-origin https://tickets.example`
}

// linked is a link for a user.
type linked struct {
	UserID    uuid.UUID      `json:"userId"`
	Email     string         `json:"email"`
	CompanyID *uuid.UUID     `json:"companyId"` // where it leads to; nil: nowhere in particular
	Link      string         `json:"link"`
	ExpiresAt ticketing.Time `json:"linkExpiresAt"`
}

func (c *userLink) Run(ctx context.Context, p *program) error {
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, _ ticketing.Operator) error {
		user, err := c.Email.find(ctx, svc)
		if err != nil {
			return err
		}
		link, address, err := c.link(ctx, p, svc, ticketing.LinkParams{UserID: user.ID, CompanyID: c.Company.UUID})
		if err != nil {
			return err
		}
		shown := linked{UserID: user.ID, Email: user.Email, Link: address, ExpiresAt: link.ExpiresAt}
		if c.Company.given() {
			shown.CompanyID = &c.Company.UUID
		}
		return p.showRecord(address, shown, append([]field{{"User", user.ID.String()}, {"Email", user.Email}},
			linkFields(address, link)...)...)
	})
}

type userShow struct{ emailArg }

func (*userShow) Help() string { return `    ticketing user show ada@lagos.example` }

// person is a user with their roles and the ways they sign in.
type person struct {
	UserID    uuid.UUID              `json:"userId"`
	Email     string                 `json:"email"`
	Role      *ticketing.StaffRole   `json:"role"` // on the platform; nil: none
	Companies []ticketing.Membership `json:"companies"`
	Sessions  []ticketing.Session    `json:"sessions"`
	Passkeys  []ticketing.Passkey    `json:"passkeys"`
	CreatedAt ticketing.Time         `json:"createdAt"`
}

func (c *userShow) Run(ctx context.Context, p *program) error {
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, op ticketing.Operator) error {
		user, err := c.Email.find(ctx, svc)
		if err != nil {
			return err
		}
		shown, err := describePerson(ctx, svc.Accounts(), op, user)
		if err != nil {
			return err
		}
		role := "-"
		if shown.Role != nil {
			role = string(*shown.Role)
		}
		fields := []field{{"User", shown.UserID.String()}, {"Email", shown.Email}, {"Role on the platform", role}}
		for _, m := range shown.Companies {
			fields = append(fields, field{"Member of", m.CompanyName + " (" + m.CompanyID.String() + "), " + string(m.Role)})
		}
		for _, s := range shown.Sessions {
			fields = append(fields, field{"Session", "by " + string(s.Method) + " at " + s.CreatedAt.String() +
				", last seen " + s.SeenAt.String()})
		}
		for _, k := range shown.Passkeys {
			fields = append(fields, field{"Passkey", k.Name})
		}
		return p.showRecord(user.ID.String(), shown, append(fields, field{"Since", shown.CreatedAt.String()})...)
	})
}

// describePerson returns a user with their roles.
func describePerson(
	ctx context.Context, accounts ticketing.Accounts, op ticketing.Operator, user ticketing.User,
) (person, error) {
	shown := person{UserID: user.ID, Email: user.Email, CreatedAt: user.CreatedAt}
	staff, err := op.ListStaff(ctx)
	if err != nil {
		return person{}, err
	}
	for _, member := range staff {
		if member.UserID == user.ID {
			shown.Role = &member.Role
		}
	}
	if shown.Companies, err = accounts.Companies(ctx, user.ID); err != nil {
		return person{}, err
	}
	if shown.Sessions, err = accounts.ListSessions(ctx, user.ID); err != nil {
		return person{}, err
	}
	shown.Passkeys, err = accounts.ListPasskeys(ctx, user.ID)
	return shown, err
}

type userSignOut struct {
	emailArg
	requiredConfirm
}

func (*userSignOut) Help() string {
	return `Unused links and codes of the user stop working, too. Passkeys and roles stay; see ` +
		`"ticketing member remove" and "ticketing staff remove".

    ticketing user sign-out ada@lagos.example`
}

// signedOut is a user whose sessions ended.
type signedOut struct {
	UserID   uuid.UUID `json:"userId"`
	Email    string    `json:"email"`
	Sessions int       `json:"sessions"` // that ended
}

func (c *userSignOut) Run(ctx context.Context, p *program) error {
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, _ ticketing.Operator) error {
		user, err := c.Email.find(ctx, svc)
		if err != nil {
			return err
		}
		err = p.confirm(c.Yes, func() (string, error) { return "End all sessions of " + user.Email + "?", nil })
		if err != nil {
			return err
		}
		ended, err := svc.Accounts().EndSessionsAs(ctx, p.actor(), user.ID)
		if err != nil {
			return err
		}
		return p.showRecord(user.ID.String(), signedOut{UserID: user.ID, Email: user.Email, Sessions: ended},
			field{"User", user.ID.String()}, field{"Email", user.Email}, field{"Sessions ended", strconv.Itoa(ended)})
	})
}
