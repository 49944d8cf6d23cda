package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
)

type companyCommands struct {
	Create   companyCreate   `cmd:"" help:"Create a company."`
	List     companyList     `cmd:"" help:"List all companies, oldest first."`
	Show     companyShow     `cmd:"" help:"Show a company."`
	Rename   companyRename   `cmd:"" help:"Rename a company."`
	Suspend  companySuspend  `cmd:"" help:"Suspend a company: its keys stop working."`
	Activate companyActivate `cmd:"" help:"Activate a suspended company."`
}

// companyArg names the company that a command is about.
type companyArg struct {
	Company companyRef `arg:"" help:"Id of the company, the beginning of its id, or its name." placeholder:"COMPANY"`
}

// named returns the company's name and id, for questions.
func (c companyArg) named(ctx context.Context, op ticketing.Operator) (string, error) {
	return companyNamed(ctx, op, c.Company.UUID)
}

// companyNamed returns a company's name and id, for questions.
func companyNamed(ctx context.Context, op ticketing.Operator, id uuid.UUID) (string, error) {
	company, err := op.GetCompany(ctx, id)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (%s)", quoted(company.Name), company.ID), nil
}

// errFound stops a search.
var errFound = errors.New("found")

// searchEvent searches the companies for the one that has an event, until in reports true.
func searchEvent(ctx context.Context, op ticketing.Operator, in func(ticketing.Company) (found bool, err error)) error {
	err := eachCompany(ctx, op, func(company ticketing.Company) error {
		found, err := in(company)
		if err == nil && found {
			err = errFound
		}
		return err
	})
	if err == nil {
		return &failure{code: string(ticketing.CodeNotFound), text: "The event was not found."}
	}
	return ignoring(err, errFound)
}

type companyCreate struct {
	Name string `help:"Name of the company, 2 to 120 characters." placeholder:"NAME" required:""`
}

func (*companyCreate) Help() string {
	return `A new company is active and unverified, with a default branding and both wallets at 0.00. It can sell once ` +
		`it is verified and has a commission rate, float and a key.

    ticketing company create --name 'Lagos Live'`
}

func (c *companyCreate) Run(ctx context.Context, p *program) error {
	outlivePipe()
	var created ticketing.Company
	// It also creates the database, so that it can be a user's first command.
	err := p.operateIn(ctx, &store.Config{}, nil, func(_ *ticketing.Service, op ticketing.Operator) (err error) {
		if created, err = op.CreateCompany(ctx, c.Name); err != nil {
			return err
		}
		return p.showCompany(created)
	})
	return outputErrorAfter(err, "the company "+created.ID.String()+" was created but could not be shown: "+
		"\"ticketing company show\" shows it")
}

type companyShow struct{ companyArg }

func (c *companyShow) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.GetCompany(ctx, c.Company.UUID)
	})
}

type companyRename struct {
	companyArg

	Name string `help:"Name of the company, 2 to 120 characters." placeholder:"NAME" required:""`
}

func (*companyRename) Help() string {
	return `Buyers see the name in the branding, which does not change.

    ticketing company rename COMPANY --name 'Lagos Live Ltd'`
}

func (c *companyRename) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.RenameCompany(ctx, c.Company.UUID, c.Name)
	})
}

type companySuspend struct {
	companyArg
	requiredConfirm
}

func (*companySuspend) Help() string {
	return `Until it is activated again, the company sells nothing and its gates admit nobody.`
}

func (c *companySuspend) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		err := p.confirm(c.Yes, func() (string, error) {
			name, err := c.named(ctx, op)
			return "Suspend the company " + name + "? Until it is activated it sells nothing and lets nobody in.", err
		})
		if err != nil {
			return ticketing.Company{}, err
		}
		return op.SuspendCompany(ctx, c.Company.UUID)
	})
}

type companyActivate struct{ companyArg }

func (c *companyActivate) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.ActivateCompany(ctx, c.Company.UUID)
	})
}

// company runs do, which returns a company, and prints the company.
func (p *program) company(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.Company, error),
) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		company, err := do(op)
		if err != nil {
			return err
		}
		return p.showCompany(company)
	})
}

func (p *program) showCompany(company ticketing.Company) error {
	return p.showRecord(company.ID.String(), company,
		field{"ID", company.ID.String()},
		field{"Name", company.Name},
		field{"Status", string(company.Status)},
		field{"Verification", string(company.Verification.Status)},
		field{"Approval expires", timeOrDash(company.Verification.ApprovalExpiresAt)},
		field{"Grace until", timeOrDash(company.Verification.GraceUntil)},
		field{"Created", company.CreatedAt.String()},
	)
}

type companyList struct{ listFlags }

func (c *companyList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		columns := []column{
			shortIDs("ID"), texts("NAME"), states("STATUS"), states("VERIFICATION"), times("APPROVAL EXPIRES").optional(),
			times("GRACE UNTIL").optional(),
		}
		return p.list(c.listFlags, columns, func(list *list) error {
			return eachCompany(ctx, op, func(company ticketing.Company) error {
				return list.add(company, company.ID.String(), company.Name, string(company.Status),
					string(company.Verification.Status), timeOrDash(company.Verification.ApprovalExpiresAt),
					timeOrDash(company.Verification.GraceUntil))
			})
		})
	})
}

// eachCompany calls yield for all companies, oldest first.
func eachCompany(ctx context.Context, op ticketing.Operator, yield func(ticketing.Company) error) error {
	return eachCompanyOf(ctx, op, "", yield)
}

// eachCompanyOf calls yield for all companies of a standing, oldest first; empty is any.
func eachCompanyOf(
	ctx context.Context, op ticketing.Operator, standing ticketing.VerificationStatus, yield func(ticketing.Company) error,
) error {
	page := func(params ticketing.PageParams) (ticketing.Page[ticketing.Company], error) {
		return op.ListCompanies(ctx, ticketing.CompanyFilter{
			PageParams: params, Order: ticketing.CompaniesOldest, Verification: standing,
		})
	}
	return eachPage(ticketing.PageParams{Limit: ticketing.MaxPageLimit}, page, yield)
}
