package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// peopleMutations returns the mutations of a company's name, its verification, its members and its buyers.
func peopleMutations() []mutation {
	return []mutation{
		{
			name: "rename a company",
			do: func(ctx context.Context, o fixture, n int) error {
				_, err := o.staff.RenameCompany(ctx, o.company, fmt.Sprintf("Name %d", n))
				return err
			},
			made: func(ctx context.Context, o fixture, n int) (bool, error) {
				company, err := o.staff.GetCompany(ctx, o.company)
				return company.Name == fmt.Sprintf("Name %d", n), err
			},
		},
		{
			name: "draft a verification",
			do: func(ctx context.Context, o fixture, n int) error {
				_, err := o.staff.UpdateVerification(ctx, o.company, caseOf(fmt.Sprintf("RC-%d", n)))
				return err
			},
			made: func(ctx context.Context, o fixture, n int) (bool, error) {
				verification, err := o.staff.GetVerification(ctx, o.company)
				if err != nil || len(verification.Cases) == 0 {
					return false, err
				}
				latest := verification.Cases[0]
				made := latest.RegistrationNumber == fmt.Sprintf("RC-%d", n)
				if made && latest.LegalName != "RC-"+fmt.Sprint(n)+" Ltd" {
					err = errHalfDone
				}
				return made, err
			},
		},
		{
			name: "submit a verification",
			ready: func(ctx context.Context, o fixture, n int) error {
				_, err := o.staff.UpdateVerification(ctx, o.company, caseOf(fmt.Sprintf("RC-%d", 1000+n)))
				return err
			},
			do: func(ctx context.Context, o fixture, _ int) error {
				_, err := o.staff.SubmitVerification(ctx, o.company)
				return err
			},
			made: func(ctx context.Context, o fixture, _ int) (bool, error) {
				verification, err := o.staff.GetVerification(ctx, o.company)
				if err != nil {
					return false, err
				}
				latest := verification.Cases[0]
				if (latest.Status == ticketing.VerificationSubmitted) != (latest.SubmittedAt != nil) {
					err = errHalfDone
				}
				return latest.SubmittedAt != nil, err
			},
			after: func(ctx context.Context, o fixture, _ int) error {
				_, err := o.staff.ApproveVerification(ctx, o.company, ticketingtest.Opening.AddDate(1, 0, 0))
				return err
			},
		},
		{
			name: "add a member",
			do: func(ctx context.Context, o fixture, n int) error {
				_, err := o.addMember(ctx, fmt.Sprintf("ada-%d@example.com", n), ticketing.RoleViewer)
				return err
			},
			made: func(ctx context.Context, o fixture, n int) (bool, error) {
				_, found, err := o.member(ctx, fmt.Sprintf("ada-%d@example.com", n))
				return found, err
			},
		},
		{
			name: "change a member's role",
			ready: func(ctx context.Context, o fixture, n int) error {
				_, err := o.addMember(ctx, fmt.Sprintf("bola-%d@example.com", n), ticketing.RoleViewer)
				return err
			},
			do: func(ctx context.Context, o fixture, n int) error {
				member, _, err := o.member(ctx, fmt.Sprintf("bola-%d@example.com", n))
				if err == nil {
					_, err = o.staff.UpdateMember(ctx, o.company, member.UserID, ticketing.RoleAdministrator)
				}
				return err
			},
			made: func(ctx context.Context, o fixture, n int) (bool, error) {
				member, _, err := o.member(ctx, fmt.Sprintf("bola-%d@example.com", n))
				return member.Role == ticketing.RoleAdministrator, err
			},
		},
		{
			name:  "erase a buyer",
			ready: sell("erased"),
			do: func(ctx context.Context, o fixture, _ int) error {
				_, err := o.staff.EraseBuyer(ctx, o.company, "ada@example.com")
				return err
			},
			made: func(ctx context.Context, o fixture, n int) (bool, error) {
				order, err := o.sale(ctx, "erased", n)
				if err != nil {
					return false, err
				}
				_, err = o.staff.GetBuyer(ctx, o.company, "ada@example.com")
				gone := errors.Is(err, ticketing.CodeNotFound)
				if gone {
					err = nil
				}
				made := order.Buyer.Email != "ada@example.com"
				if err == nil && made != gone {
					err = errHalfDone
				}
				return made, err
			},
		},
	}
}

// caseOf returns a verification draft with all facts.
func caseOf(number string) ticketing.UpdateVerificationParams {
	return ticketing.UpdateVerificationParams{
		LegalName: of(number + " Ltd"), RegistrationNumber: &number, Country: of("NG"), Address: of("1 Marina, Lagos"),
		ContactName: of("Ada Obi"), ContactEmail: of("ada@example.com"), ContactPhone: of("+2348000000000"),
	}
}

func (o fixture) addMember(ctx context.Context, email string, role ticketing.Role) (ticketing.Member, error) {
	return o.staff.AddMember(ctx, o.company, ticketing.AddMemberParams{Email: email, Name: "A member", Role: role})
}

func (o fixture) member(ctx context.Context, email string) (member ticketing.Member, found bool, err error) {
	members, err := o.staff.ListMembers(ctx, o.company)
	at := slices.IndexFunc(members, func(member ticketing.Member) bool { return member.Email == email })
	if at < 0 || err != nil {
		return ticketing.Member{}, false, err
	}
	return members[at], true, nil
}
