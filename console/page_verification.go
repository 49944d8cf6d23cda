package console

import (
	"context"
	"time"

	"github.com/floatgate/ticketing"
)

// verificationPage is where a company states who it is, so that the platform can verify it. It needs all three grants
// of section 1. People without them see the state on the overview.
func verificationPage() page {
	return page{
		group: groupCompany,
		path:  "/business/{companyId}/verification", scope: scopeCompany, title: "Verification", nav: "Verification",
		icon: "verified", permissions: []ticketing.Permission{
			ticketing.PermissionKYBRead, ticketing.PermissionKYBManage, ticketing.PermissionKYBSubmit,
		}, template: "verification.html", load: loadVerification,
	}
}

// verificationActs returns the acts of the page.
func verificationActs() []act {
	const path = "/business/{companyId}/verification"
	return []act{
		newAct(act{
			name: "verification.save", scope: scopeCompany, path: path + "/save", page: path,
			permission: ticketing.PermissionKYBManage, done: "The draft was saved. Submit it when it is complete.",
		}, readFacts, func(ctx context.Context, c *call, params ticketing.UpdateVerificationParams) (outcome, error) {
			draft, err := c.operator.UpdateVerification(ctx, c.companyID, params)
			return outcome{data: draft}, err
		}),
		newAct(act{
			name: "verification.submit", scope: scopeCompany, path: path + "/submit", page: path,
			permission: ticketing.PermissionKYBSubmit, done: "The verification was submitted. The platform reviews it next.",
		}, readFacts, submitVerification),
	}
}

// readFacts reads a change of the draft: a fact that is absent stays as it is, and an empty one is cleared.
func readFacts(m *members) ticketing.UpdateVerificationParams {
	return ticketing.UpdateVerificationParams{
		LegalName: m.changedText("legalName"), RegistrationNumber: m.changedText("registrationNumber"),
		Country: m.changedText("country"), Address: m.changedText("address"), ContactName: m.changedText("contactName"),
		ContactEmail: m.changedText("contactEmail"), ContactPhone: m.changedText("contactPhone"),
	}
}

// submitVerification saves what was typed and submits the draft. A draft that lacks a fact stays saved, with a
// violation for each missing fact.
func submitVerification(
	ctx context.Context, c *call, params ticketing.UpdateVerificationParams,
) (outcome, error) {
	if params != (ticketing.UpdateVerificationParams{}) {
		draft, err := c.operator.UpdateVerification(ctx, c.companyID, params)
		if err != nil {
			return outcome{}, err
		}
		if violations := missingFacts(draft.VerificationFacts); len(violations) > 0 {
			return outcome{}, ticketing.Invalid(violations...)
		}
	}
	submitted, err := c.operator.SubmitVerification(ctx, c.companyID)
	return outcome{data: submitted}, err
}

// missingFacts returns a violation for each fact that a submission lacks.
func missingFacts(facts ticketing.VerificationFacts) []ticketing.Violation {
	var missing []ticketing.Violation
	for _, fact := range []struct{ name, value string }{
		{"legalName", facts.LegalName},
		{"registrationNumber", facts.RegistrationNumber},
		{"country", facts.Country},
		{"address", facts.Address},
		{"contactName", facts.ContactName},
		{"contactEmail", facts.ContactEmail},
		{"contactPhone", facts.ContactPhone},
	} {
		if fact.value == "" {
			missing = append(missing, ticketing.Violation{Message: fact.name + ": is needed to submit"})
		}
	}
	return missing
}

// companyVerification is the state of a company's verification, the facts to edit and its cases.
type companyVerification struct {
	ticketing.CompanyVerification

	now time.Time
}

// Newest returns the newest case, and nil before the first one.
func (v companyVerification) Newest() *ticketing.VerificationCase {
	if len(v.Cases) == 0 {
		return nil
	}
	return &v.Cases[0]
}

// Waits reports whether a submitted case waits for a decision.
func (v companyVerification) Waits() bool {
	return len(v.Cases) > 0 && v.Cases[0].Status == ticketing.VerificationSubmitted
}

// HasDraft reports whether there is a draft.
func (v companyVerification) HasDraft() bool {
	return len(v.Cases) > 0 && v.Cases[0].Status == ticketing.VerificationUnverified
}

// Facts are those to edit: of the draft, or else of the last case, so that a renewal starts with them.
func (v companyVerification) Facts() ticketing.VerificationFacts {
	if len(v.Cases) == 0 {
		return ticketing.VerificationFacts{}
	}
	return v.Cases[0].VerificationFacts
}

// Earlier returns the cases that were decided.
func (v companyVerification) Earlier() []ticketing.VerificationCase {
	if v.Waits() || v.HasDraft() {
		return v.Cases[1:]
	}
	return v.Cases
}

// Days returns the whole days until the approval expires, and nil if there is no such time.
func (v companyVerification) Days() *int { return daysUntil(v.ApprovalExpiresAt, v.now) }

// Expired reports whether there was an approval that is over.
func (v companyVerification) Expired() bool {
	return v.Status == ticketing.VerificationApproved && v.ApprovalExpiresAt != nil &&
		!v.now.Before(v.ApprovalExpiresAt.Time)
}

// InGrace reports whether a grace is in force.
func (v companyVerification) InGrace() bool {
	return v.GraceUntil != nil && v.now.Before(v.GraceUntil.Time)
}

func loadVerification(ctx context.Context, c *call) (view, error) {
	found, err := c.operator.GetVerification(ctx, c.companyID)
	if err != nil {
		return view{}, err
	}
	return view{data: companyVerification{CompanyVerification: found, now: c.now}}, nil
}
