package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/floatgate/ticketing"
)

type keyCommands struct {
	Issue  keyIssue  `cmd:"" help:"Issue an API key. It is shown only once."`
	Rotate keyRotate `cmd:"" help:"Issue the successor of a key. The old key keeps working."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key at once. This cannot be undone."`
	List   keyList   `cmd:"" help:"List the keys of a company, newest first."`
}

// keyArg names the key that a command is about.
type keyArg struct {
	Key id `arg:"" help:"Id of the key: the part of the key between the dots." placeholder:"KEY"`
}

type keyIssue struct {
	companyArg

	Name      string   `help:"What the key is for, 2 to 80 characters." placeholder:"NAME" required:""`
	Grants    []string `help:"What the key may do, see below." placeholder:"GRANT" required:"" xor:"grants"`
	AllGrants bool     `help:"The key may do everything." required:"" xor:"grants"`
}

func (*keyIssue) Help() string {
	var grants strings.Builder
	for _, grant := range ticketing.AllGrants() {
		grants.WriteString("    " + string(grant) + "\n")
	}
	return `A company has at most two active keys. The grants are

` + grants.String() + `
A gate needs only the last one:

    ticketing key issue COMPANY --name gate --grants COMPANY:ticket:validate

With --quiet only the key is printed, for a script; its id is the part between the dots:

    KEY=$(ticketing key issue COMPANY --name storefront --all-grants --quiet)`
}

func (c *keyIssue) Run(ctx context.Context, p *program) error {
	grants := make([]ticketing.Grant, len(c.Grants))
	for i, grant := range c.Grants {
		grants[i] = ticketing.Grant(grant)
	}
	if c.AllGrants {
		grants = ticketing.AllGrants()
	}
	return p.issued(ctx, func(op ticketing.Operator) (ticketing.IssuedAPIKey, error) {
		return op.IssueAPIKey(ctx, c.Company.UUID, c.Name, grants)
	})
}

type keyRotate struct{ keyArg }

func (*keyRotate) Help() string {
	return `The new key is shown only once. Deploy it everywhere, check its last use with "ticketing key list", then ` +
		`revoke the old key. ` +
		`With --quiet only the new key is printed.`
}

func (c *keyRotate) Run(ctx context.Context, p *program) error {
	return p.issued(ctx, func(op ticketing.Operator) (ticketing.IssuedAPIKey, error) {
		return op.RotateAPIKey(ctx, c.Key.UUID)
	})
}

// issued runs do, which issues a key, and prints the key.
func (p *program) issued(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.IssuedAPIKey, error),
) error {
	outlivePipe()
	return p.operate(ctx, func(op ticketing.Operator) error {
		issued, err := do(op)
		if err != nil {
			return err
		}
		err = p.showRecord(issued.Key, issued,
			field{"ID", issued.ID.String()},
			field{"Key", issued.Key},
			field{"Name", issued.Name},
			field{"Grants", listed(issued.Grants)},
			field{"Status", string(issued.Status)},
		)
		return outputErrorAfter(err, "the key "+issued.ID.String()+" was issued but could not be shown: revoke it")
	})
}

type keyRevoke struct {
	keyArg
	requiredConfirm
}

func (c *keyRevoke) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		err := c.confirm(p, func() (string, error) {
			key, err := op.GetAPIKey(ctx, c.Key.UUID)
			if err != nil {
				return "", err
			}
			company, err := op.GetCompany(ctx, key.CompanyID)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Revoke the key %s (%s) of the company %s?", quoted(key.Name), key.ID, quoted(company.Name)), nil
		})
		if err != nil {
			return err
		}
		key, err := op.RevokeAPIKey(ctx, c.Key.UUID)
		if err != nil {
			return err
		}
		return p.showRecord(key.ID.String(), key,
			field{"ID", key.ID.String()},
			field{"Name", key.Name},
			field{"Grants", listed(key.Grants)},
			field{"Status", string(key.Status)},
			field{"Revoked", timeOrDash(key.RevokedAt)},
			field{"Last used", timeOrDash(key.LastUsedAt)},
		)
	})
}

type keyList struct {
	companyArg
	listFlags
}

func (c *keyList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		keys, err := op.ListAPIKeys(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		columns := []column{
			ids("ID"), texts("NAME"), states("STATUS"), shortIDs("PREDECESSOR").optional(), times("CREATED").optional(),
			times("LAST USED"), times("REVOKED").optional(), texts("GRANTS").optional(),
		}
		return p.list(c.listFlags, columns, func(list *list) error {
			return eachOf(keys, func(key ticketing.APIKey) error {
				predecessor := "-"
				if key.PredecessorID != nil {
					predecessor = key.PredecessorID.String()
				}
				return list.add(key, key.ID.String(), key.Name, string(key.Status), predecessor, key.CreatedAt.String(),
					timeOrDash(key.LastUsedAt), timeOrDash(key.RevokedAt), listed(key.Grants))
			})
		})
	})
}

// listed formats grants as a list for a person, and for --grants.
func listed(grants []ticketing.Grant) string {
	texts := make([]string, len(grants))
	for i, grant := range grants {
		texts[i] = string(grant)
	}
	return strings.Join(texts, ",")
}
