package console

import "github.com/floatgate/ticketing"

// preconditionStep is a precondition of the first sale with the page that settles it.
type preconditionStep struct {
	ticketing.Precondition

	Title, Who   string
	Button, Path string // Path is empty where the person may not see the page, or there is none
	Due          bool   // it is missing, and the person can settle it there
}

// Met reports whether the service found the precondition to be met.
func (s preconditionStep) Met() bool { return s.State == ticketing.PreconditionMet }

// Unchecked reports whether the service cannot check the precondition.
func (s preconditionStep) Unchecked() bool { return s.State == ticketing.PreconditionUnchecked }

// preconditionLink is a page where a precondition is settled or seen.
type preconditionLink struct {
	label, pattern string
	permission     ticketing.Permission // to settle it there; empty: it is only seen there
}

// preconditionPlaces returns the words of a precondition and its pages. The first one that the person may see gets the
// button.
func preconditionPlaces(name ticketing.PreconditionName) (title, who string, links []preconditionLink) {
	switch name {
	case ticketing.PreconditionVerification:
		return "Verification", "The company submits it, and the platform decides.", []preconditionLink{
			{"Decide", "/platform/companies/{companyId}/verification", ticketing.PermissionKYBDecide},
			{"Verify", "/business/{companyId}/verification", ticketing.PermissionKYBSubmit},
		}
	case ticketing.PreconditionBranding:
		return "Branding", "Every company starts with a default branding.", []preconditionLink{
			{"View branding", "/business/{companyId}/branding", ticketing.PermissionBrandingManage},
		}
	case ticketing.PreconditionCommission:
		return "Commission rate", "The platform schedules it.", []preconditionLink{
			{"Schedule", "/platform/companies/{companyId}/commission", ticketing.PermissionCommissionSchedule},
			{"View schedule", "/business/{companyId}/commission", ""},
		}
	case ticketing.PreconditionFloat:
		return "Float", "The platform credits the company's payments.", []preconditionLink{
			{"Credit", "/platform/companies/{companyId}/float", ticketing.PermissionFloatCredit},
			{"View balances", "/business/{companyId}", ""},
		}
	case ticketing.PreconditionAPIKey:
		return "API key", "The shop's backend needs a key with the grant to sell.", []preconditionLink{
			{"API keys", "/business/{companyId}/api-keys", ticketing.PermissionAPIKeyManage},
		}
	case ticketing.PreconditionTestInbox:
		return "Test inbox", "", []preconditionLink{{"View mail", "/business/{companyId}/mail", ""}}
	}
	return formatWords(name), "", nil
}

// newStep returns a precondition with its words and the page where it is settled.
func (c *call) newStep(p ticketing.Precondition) preconditionStep {
	step := preconditionStep{Precondition: p}
	var links []preconditionLink
	step.Title, step.Who, links = preconditionPlaces(p.Name)
	for _, link := range links {
		if step.Path = c.Reach(link.pattern); step.Path == "" {
			continue
		}
		if link.pattern == rootOf(scopeCompany) {
			step.Path = "#money"
		}
		step.Button = link.label
		step.Due = p.State == ticketing.PreconditionMissing && holds(c.actor, link.permission)
		break
	}
	return step
}
