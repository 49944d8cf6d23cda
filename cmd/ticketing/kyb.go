package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
)

type kybCommands struct {
	Show     kybShow     `cmd:"" help:"Show a company's verification and its cases."`
	Edit     kybEdit     `cmd:"" help:"Edit the draft of a company's case."`
	Submit   kybSubmit   `cmd:"" help:"Submit a company's draft to be decided."`
	Approve  kybApprove  `cmd:"" help:"Approve a company's verification."`
	Reject   kybReject   `cmd:"" help:"Reject a company's verification."`
	Grace    kybGrace    `cmd:"" help:"Let a company sell without an approval until a time."`
	EndGrace kybEndGrace `cmd:"" help:"End a company's grace, and leave its verification as it is."`
	Revoke   kybRevoke   `cmd:"" help:"Revoke a company's verification, and its grace."`
}

type kybShow struct{ companyArg }

func (c *kybShow) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		found, err := op.GetVerification(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		fields := []field{
			{"Verification", string(found.Status)},
			{"Approval expires", timeOrDash(found.ApprovalExpiresAt)},
			{"Grace until", timeOrDash(found.GraceUntil)},
			{"May sell now", yesNo(found.Current)},
		}
		for _, of := range found.Cases {
			fields = append(fields, field{})
			fields = append(fields, caseFields(of)...)
		}
		return p.show(found, fields...)
	})
}

// caseFields returns the fields of one case that a person reads.
func caseFields(c ticketing.VerificationCase) []field {
	return []field{
		{"Case", strconv.FormatInt(c.Number, 10)},
		{"Status", string(c.Status)},
		{"Legal name", c.LegalName},
		{"Registration number", c.RegistrationNumber},
		{"Country", c.Country},
		{"Address", strings.Join(strings.Fields(c.Address), " ")},
		{"Contact", c.ContactName},
		{"Contact email", c.ContactEmail},
		{"Contact phone", c.ContactPhone},
		{"Submitted", timeOrDash(c.SubmittedAt)},
		{"Decided", timeOrDash(c.DecidedAt)},
		{"Reason", orDash(c.Reason)},
	}
}

type kybEdit struct {
	companyArg

	LegalName          *string `help:"Name in the register of companies, at most 200 characters." placeholder:"NAME"`
	RegistrationNumber *string `help:"Number in that register, at most 100 characters." placeholder:"NUMBER"`
	Country            *string `help:"Country of registration, a code of ISO 3166-1 such as NG." placeholder:"CODE"`
	Address            *string `help:"Address, at most 500 characters." placeholder:"TEXT"`
	ContactName        *string `help:"Whom staff may ask, at most 200 characters." placeholder:"NAME"`
	ContactEmail       *string `help:"Their email." placeholder:"EMAIL"`
	ContactPhone       *string `help:"Their phone, at most 50 characters." placeholder:"PHONE"`
}

func (*kybEdit) Help() string {
	return `What is not given keeps its value, an empty value clears it. Where the last case was decided this begins ` +
		`another, with its facts; a case that is submitted cannot be edited.

    ticketing kyb edit COMPANY --legal-name 'Lagos Live Ltd' --registration-number 'RC 123456' --country NG`
}

func (c *kybEdit) Run(ctx context.Context, p *program) error {
	return p.verificationCase(ctx, func(op ticketing.Operator) (ticketing.VerificationCase, error) {
		return op.UpdateVerification(ctx, c.Company.UUID, ticketing.UpdateVerificationParams{
			LegalName: c.LegalName, RegistrationNumber: c.RegistrationNumber, Country: c.Country, Address: c.Address,
			ContactName: c.ContactName, ContactEmail: c.ContactEmail, ContactPhone: c.ContactPhone,
		})
	})
}

type kybSubmit struct{ companyArg }

func (*kybSubmit) Help() string {
	return `It needs every fact. An approval that is current stays so until staff decide, so that it can be renewed ` +
		`before it expires.`
}

func (c *kybSubmit) Run(ctx context.Context, p *program) error {
	return p.verificationCase(ctx, func(op ticketing.Operator) (ticketing.VerificationCase, error) {
		return op.SubmitVerification(ctx, c.Company.UUID)
	})
}

// verificationCase runs do, which returns a company's case, and prints the case.
func (p *program) verificationCase(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.VerificationCase, error),
) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		done, err := do(op)
		if err != nil {
			return err
		}
		return p.show(done, caseFields(done)...)
	})
}

type kybEndGrace struct{ companyArg }

func (c *kybEndGrace) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.EndGrace(ctx, c.Company.UUID)
	})
}

type kybApprove struct {
	companyArg

	Expires moment `help:"When the approval expires. Defaults to never." placeholder:"TIME"`
}

func (c *kybApprove) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.ApproveVerification(ctx, c.Company.UUID, ticketing.ApprovalParams{ExpiresAt: c.Expires.optional()})
	})
}

type kybReject struct {
	companyArg

	Reason string `help:"Why, for staff only." placeholder:"TEXT" required:""`
}

func (*kybReject) Help() string {
	return `A grace stays in force: revoke and end-grace end it. A case that was submitted is decided by it, a current ` +
		`approval ends.

    ticketing kyb reject COMPANY --reason 'no papers'`
}

func (c *kybReject) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.RejectVerification(ctx, c.Company.UUID, c.Reason)
	})
}

type kybGrace struct {
	companyArg

	Until moment `help:"When the grace ends." placeholder:"TIME" required:""`
}

func (c *kybGrace) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		return op.GrantGrace(ctx, c.Company.UUID, c.Until.Time)
	})
}

type kybRevoke struct {
	companyArg
	requiredConfirm
}

func (*kybRevoke) Help() string {
	return `The company sells nothing until it is approved, or granted a grace. Reads and gates go on working.`
}

func (c *kybRevoke) Run(ctx context.Context, p *program) error {
	return p.company(ctx, func(op ticketing.Operator) (ticketing.Company, error) {
		err := p.confirm(c.Yes, func() (string, error) {
			name, err := c.named(ctx, op)
			return "Revoke the verification of the company " + name + "? Until it is approved again it sells nothing.", err
		})
		if err != nil {
			return ticketing.Company{}, err
		}
		return op.RevokeVerification(ctx, c.Company.UUID)
	})
}
