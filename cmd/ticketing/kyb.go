package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type kybCommands struct {
	List     kybList     `cmd:"" help:"List companies with their verification, such as those that wait for a decision."`
	Show     kybShow     `cmd:"" help:"Show a company's verification and its cases."`
	Edit     kybEdit     `cmd:"" help:"Edit the draft of a company's case."`
	Submit   kybSubmit   `cmd:"" help:"Submit a company's draft for a decision."`
	Approve  kybApprove  `cmd:"" help:"Approve a company's verification."`
	Reject   kybReject   `cmd:"" help:"Reject a company's verification."`
	Grace    kybGrace    `cmd:"" help:"Let a company sell without approval until a given time."`
	EndGrace kybEndGrace `cmd:"" help:"End a company's grace. Its verification stays."`
	Revoke   kybRevoke   `cmd:"" help:"Revoke a company's verification and its grace."`
}

type kybList struct {
	listFlags

	Status verificationStatus `help:"Only those that are UNVERIFIED, SUBMITTED, APPROVED, REJECTED or REVOKED." placeholder:"STATUS"`
}

func (*kybList) Help() string {
	return `Companies are listed oldest first. With --status SUBMITTED it lists those with a case that waits for a ` +
		`decision, longest waiting first: also those that stay APPROVED while they renew.

    ticketing kyb list --status SUBMITTED`
}

// listedVerification is a company with the time at which it submitted the case that waits; nil: none waits.
type listedVerification struct {
	ticketing.Company

	SubmittedAt *ticketing.Time `json:"submittedAt"`
}

func (c *kybList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		columns := []column{
			shortIDs("ID"), texts("NAME"), states("VERIFICATION"), times("SUBMITTED"),
			times("APPROVAL EXPIRES").optional(), times("GRACE UNTIL").optional(),
		}
		submitted := map[uuid.UUID]*ticketing.Time{}
		var waiting []uuid.UUID
		page := func(params ticketing.PageParams) (ticketing.Page[ticketing.SubmittedCase], error) {
			return op.ListSubmittedCases(ctx, params)
		}
		all := ticketing.PageParams{Limit: ticketing.MaxPageLimit}
		err := eachPage(all, page, func(found ticketing.SubmittedCase) error {
			submitted[found.CompanyID] = found.SubmittedAt
			waiting = append(waiting, found.CompanyID)
			return nil
		})
		if err != nil {
			return err
		}
		return p.list(c.listFlags, columns, func(list *list) error {
			add := func(company ticketing.Company) error {
				at, of := submitted[company.ID], company.Verification
				return list.add(listedVerification{company, at}, company.ID.String(), company.Name, string(of.Status),
					timeOrDash(at), timeOrDash(of.ApprovalExpiresAt), timeOrDash(of.GraceUntil))
			}
			if c.Status.VerificationStatus != ticketing.VerificationSubmitted {
				return eachCompanyOf(ctx, op, c.Status.VerificationStatus, add)
			}
			return eachOf(waiting, func(companyID uuid.UUID) error {
				company, err := op.GetCompany(ctx, companyID)
				if err != nil {
					return err
				}
				return add(company)
			})
		})
	})
}

// verificationStatus is the standing of a company.
type verificationStatus struct{ ticketing.VerificationStatus }

func (v *verificationStatus) UnmarshalText(text []byte) error {
	switch status := ticketing.VerificationStatus(text); status {
	case ticketing.VerificationUnverified, ticketing.VerificationSubmitted, ticketing.VerificationApproved,
		ticketing.VerificationRejected, ticketing.VerificationRevoked:
		v.VerificationStatus = status
		return nil
	default:
		return badValue("must be UNVERIFIED, SUBMITTED, APPROVED, REJECTED or REVOKED")
	}
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

	LegalName          *string `help:"Registered name, at most 200 characters." placeholder:"NAME"`
	RegistrationNumber *string `help:"Registration number, at most 100 characters." placeholder:"NUMBER"`
	Country            *string `help:"Country of registration: an ISO 3166-1 code such as NG." placeholder:"CODE"`
	Address            *string `help:"Address, at most 500 characters." placeholder:"TEXT"`
	ContactName        *string `help:"Person to contact, at most 200 characters." placeholder:"NAME"`
	ContactEmail       *string `help:"Their email." placeholder:"EMAIL"`
	ContactPhone       *string `help:"Their phone, at most 50 characters." placeholder:"PHONE"`
}

func (*kybEdit) Help() string {
	return `Flags that are not given keep their values, and an empty value clears one. If the last case was decided, ` +
		`this starts a new case with its values. A submitted case cannot be edited.

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
	return `All fields are required. A current approval stays valid until staff decide, so it can be renewed before it ` +
		`expires.`
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
	return `This decides a submitted case, and ends a current approval. A grace stays in force: "kyb revoke" and ` +
		`"kyb end-grace" end it.

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
	return `The company sells nothing until it is approved or gets a grace. Its reads and gates keep working.`
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
