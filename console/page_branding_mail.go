package console

import (
	"context"

	"github.com/floatgate/ticketing"
)

// brandingMailPage is a sample of the ticket mail in a company's branding, as a mail program shows it without remote
// pictures.
func brandingMailPage() page {
	return page{
		path: "/business/{companyId}/branding/mail", scope: scopeCompany, title: "Ticket mail",
		permissions: []ticketing.Permission{ticketing.PermissionBrandingRead}, document: true,
		load: loadBrandingMail,
	}
}

// sampleMail is a mail that is not sent.
type sampleMail struct {
	From    string `json:"from"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"` // with its pictures within
}

func loadBrandingMail(ctx context.Context, c *call) (view, error) {
	made, err := c.operator.PreviewTicketMail(ctx, c.companyID)
	if err != nil {
		return view{}, err
	}
	shown := sampleMail{From: made.FromAddress, Subject: made.Subject, Text: made.Text, HTML: made.Page()}
	return view{data: shown, document: shown.HTML}, nil
}
