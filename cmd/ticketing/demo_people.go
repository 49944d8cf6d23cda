package main

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// The people of the demo.
const (
	demoOwner             = "owner@example.com"
	demoOwnerName         = "Ngozi Eze"
	demoAdministrator     = "administrator@example.com"
	demoAdministratorName = "Tunde Bello"
)

// addDemoPeople adds an owner of the company and an administrator of the platform. Those of an earlier demo keep their
// current roles.
func addDemoPeople(ctx context.Context, op ticketing.Operator, companyID uuid.UUID) error {
	_, err := op.AddMember(ctx, companyID, ticketing.AddMemberParams{
		Email: demoOwner, Name: demoOwnerName, Role: ticketing.RoleOwner,
	})
	if err != nil && !errors.Is(err, ticketing.CodeConflict) {
		return err
	}
	_, err = op.AddStaff(ctx, ticketing.AddStaffParams{
		Email: demoAdministrator, Name: demoAdministratorName, Role: ticketing.StaffAdministrator,
	})
	return ignoring(err, ticketing.CodeConflict)
}

// demoLinks are the links that sign the people of the demo in, once each; nil: there is no console.
type demoLinks struct{ owner, administrator *string }

// signInLinks makes the links. A demo that ends at once has none.
func (c *demoCommand) signInLinks(
	ctx context.Context, p *program, r *running, set stage,
) (links demoLinks, err error) {
	if r.console == nil || c.Once {
		return demoLinks{}, nil
	}
	newLink := func(email string, companyID uuid.UUID) (*string, error) {
		link, err := r.svc.Accounts().CreateLink(ctx, ticketing.LinkParams{
			Email: email, CompanyID: companyID, Actor: p.actor(),
		})
		return new(console.LinkURL(r.consoleOrigin, link.Token)), err
	}
	if links.owner, err = newLink(demoOwner, set.companyID); err != nil {
		return demoLinks{}, err
	}
	if links.administrator, err = newLink(demoAdministrator, uuid.Nil); err != nil {
		return demoLinks{}, err
	}
	return links, nil
}

// String returns how to open the console.
func (l demoLinks) String() string {
	if l.owner == nil {
		return ""
	}
	return "\nOpen the console, as the owner of the company or as an administrator of the platform. Each link signs you " +
		"in once, within 30 minutes:\n\n    " + *l.owner + "\n    " + *l.administrator + "\n"
}
