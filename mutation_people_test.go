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
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.staff.RenameCompany(ctx, f.company, fmt.Sprintf("Name %d", n))
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				company, err := f.staff.GetCompany(ctx, f.company)
				return company.Name == fmt.Sprintf("Name %d", n), err
			},
		},
		{
			name: "draft a verification",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.staff.UpdateVerification(ctx, f.company, caseOf(fmt.Sprintf("RC-%d", n)))
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				verification, err := f.staff.GetVerification(ctx, f.company)
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
			ready: func(ctx context.Context, f fixture, n int) error {
				_, err := f.staff.UpdateVerification(ctx, f.company, caseOf(fmt.Sprintf("RC-%d", 1000+n)))
				return err
			},
			do: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.SubmitVerification(ctx, f.company)
				return err
			},
			made: func(ctx context.Context, f fixture, _ int) (bool, error) {
				verification, err := f.staff.GetVerification(ctx, f.company)
				if err != nil {
					return false, err
				}
				latest := verification.Cases[0]
				if (latest.Status == ticketing.VerificationSubmitted) != (latest.SubmittedAt != nil) {
					err = errHalfDone
				}
				return latest.SubmittedAt != nil, err
			},
			after: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.ApproveVerification(ctx, f.company, ticketing.ApprovalParams{
					ExpiresAt: new(ticketingtest.Opening.AddDate(1, 0, 0)),
				})
				return err
			},
		},
		{
			name: "add a member",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.addMember(ctx, fmt.Sprintf("ada-%d@example.com", n), ticketing.RoleViewer)
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				_, found, err := f.member(ctx, fmt.Sprintf("ada-%d@example.com", n))
				return found, err
			},
		},
		{
			name: "change a member's role",
			ready: func(ctx context.Context, f fixture, n int) error {
				_, err := f.addMember(ctx, fmt.Sprintf("bola-%d@example.com", n), ticketing.RoleViewer)
				return err
			},
			do: func(ctx context.Context, f fixture, n int) error {
				member, _, err := f.member(ctx, fmt.Sprintf("bola-%d@example.com", n))
				if err == nil {
					_, err = f.staff.UpdateMember(ctx, f.company, member.UserID, ticketing.RoleAdministrator)
				}
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				member, _, err := f.member(ctx, fmt.Sprintf("bola-%d@example.com", n))
				return member.Role == ticketing.RoleAdministrator, err
			},
		},
		{
			name:  "erase a buyer",
			ready: notified("erased"),
			do: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.EraseBuyer(ctx, f.company, "ada@example.com")
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				order, err := f.sale(ctx, "erased", n)
				if err != nil {
					return false, err
				}
				_, err = f.staff.GetBuyer(ctx, f.company, "ada@example.com")
				gone := errors.Is(err, ticketing.CodeNotFound)
				if gone {
					err = nil
				}
				made := order.Buyer.Email != "ada@example.com"
				if err == nil && made != gone {
					err = errHalfDone
				}
				if err != nil {
					return false, err
				}
				return made, f.cancelledMails(ctx, order.ID, made, made)
			},
			// The next repetition finds no more orders than this one.
			after: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.EraseBuyer(ctx, f.company, "ada@example.com")
				if errors.Is(err, ticketing.CodeNotFound) {
					return nil
				}
				return err
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

func (f fixture) addMember(ctx context.Context, email string, role ticketing.Role) (ticketing.Member, error) {
	return f.staff.AddMember(ctx, f.company, ticketing.AddMemberParams{Email: email, Name: "A member", Role: role})
}

func (f fixture) member(ctx context.Context, email string) (member ticketing.Member, found bool, err error) {
	members, err := f.staff.ListMembers(ctx, f.company)
	at := slices.IndexFunc(members, func(member ticketing.Member) bool { return member.Email == email })
	if at < 0 || err != nil {
		return ticketing.Member{}, false, err
	}
	return members[at], true, nil
}
