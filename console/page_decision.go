package console

import (
	"context"
	"strconv"
	"time"

	"github.com/floatgate/ticketing"
)

const decisionPath = companyPath + "/verification"

// decisionPages returns the page on which staff decide a company's verification.
func decisionPages() []page {
	return []page{{
		path: decisionPath, scope: scopePlatform, title: "Verification", permissions: companyReads(),
		template: "platform-verification.html", load: loadDecision,
	}}
}

// decisionActs returns the decisions about a company's verification.
func decisionActs() []act {
	of := func(verb, done string, recent bool) act {
		return act{
			name: "verification." + verb, scope: scopePlatform, path: decisionPath + "/" + verb, page: decisionPath,
			permission: ticketing.PermissionKYBDecide, done: done, recent: recent,
		}
	}
	return []act{
		newAct(of("approve", "The company is approved.", false), readApproval, approveVerification),
		newAct(of("reject", "The verification is rejected.", false), readRejection, rejectVerification),
		newAct(of("grace", "The company is in grace: it may sell until then.", false),
			func(m *members) time.Time { return m.endOfDay("until") },
			func(ctx context.Context, c *call, until time.Time) (outcome, error) {
				company, err := c.operator.GrantGrace(ctx, c.pathID("companyId"), until)
				return outcome{data: company}, err
			}),
		newAct(of("end-grace", "The grace has ended.", false), noMembers,
			func(ctx context.Context, c *call, _ none) (outcome, error) {
				company, err := c.operator.EndGrace(ctx, c.pathID("companyId"))
				return outcome{data: company}, err
			}),
		newAct(of("revoke", "The verification is revoked: the company sells nothing.", true), noMembers,
			func(ctx context.Context, c *call, _ none) (outcome, error) {
				company, err := c.operator.RevokeVerification(ctx, c.pathID("companyId"))
				return outcome{data: company}, err
			}),
	}
}

// endOfDay reads a required moment. A day, as a form sends it, means its last second, so that pages show the same day.
func (m *members) endOfDay(name string) time.Time {
	return parsed(m, name, func(text string) (time.Time, error) {
		at, err := m.parseTime(text)
		if err == nil && len(text) == len(time.DateOnly) {
			at = at.AddDate(0, 0, 1).Add(-time.Second)
		}
		return at, err
	})
}

// approval are the members of an approval. The caseNumber is that of the case which the person has read; 0 means any.
type approval struct {
	expires    time.Time
	caseNumber int64
}

func readApproval(m *members) approval {
	return approval{expires: m.endOfDay("expires"), caseNumber: readCase(m)}
}

type rejection struct {
	reason     string
	caseNumber int64
}

func readRejection(m *members) rejection {
	return rejection{reason: m.text("reason"), caseNumber: readCase(m)}
}

func readCase(m *members) int64 {
	number, _ := optionalParsed(m, "caseNumber", func(text string) (int64, error) {
		return strconv.ParseInt(text, 10, 64)
	})
	return number
}

// checkCase refuses a decision about another case than the person has read.
func checkCase(ctx context.Context, c *call, number int64) error {
	if number == 0 {
		return nil
	}
	found, err := c.operator.GetVerification(ctx, c.pathID("companyId"))
	if err != nil {
		return err
	}
	if len(found.Cases) == 0 || found.Cases[0].Number != number ||
		found.Cases[0].Status != ticketing.VerificationSubmitted {
		return conflicted("Someone has decided or replaced this case. Review the current case and decide again.")
	}
	return nil
}

func approveVerification(ctx context.Context, c *call, p approval) (outcome, error) {
	if err := checkCase(ctx, c, p.caseNumber); err != nil {
		return outcome{}, err
	}
	company, err := c.operator.ApproveVerification(ctx, c.pathID("companyId"), ticketing.ApprovalParams{
		ExpiresAt: &p.expires,
	})
	return outcome{data: company}, err
}

func rejectVerification(ctx context.Context, c *call, p rejection) (outcome, error) {
	if err := checkCase(ctx, c, p.caseNumber); err != nil {
		return outcome{}, err
	}
	company, err := c.operator.RejectVerification(ctx, c.pathID("companyId"), p.reason)
	return outcome{data: company}, err
}

// decision is a company's verification as staff see it.
type decision struct {
	Company ticketing.Company `json:"company"`

	companyVerification
}

// InAYear returns the day that is offered for the end of an approval.
func (d decision) InAYear() string {
	return d.now.In(shownZone()).AddDate(1, 0, 0).Format(time.DateOnly)
}

// InTwoWeeks returns the day that is offered for the end of a grace.
func (d decision) InTwoWeeks() string {
	return d.now.In(shownZone()).AddDate(0, 0, 14).Format(time.DateOnly)
}

// IsRevoked reports whether nothing is left to revoke.
func (d decision) IsRevoked() bool {
	return d.Status == ticketing.VerificationRevoked && d.GraceUntil == nil
}

func loadDecision(ctx context.Context, c *call) (view, error) {
	company, err := c.companyOfPath(ctx)
	if err != nil {
		return view{}, err
	}
	found, err := c.operator.GetVerification(ctx, company.ID)
	return companyView(company, "Verification",
		decision{company, companyVerification{CompanyVerification: found, now: c.now}}), err
}
