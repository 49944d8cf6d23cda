package console

import "slices"

// companyPages returns the pages of a company, in the order of the navigation. Each is in the file of its subject.
func companyPages() []page {
	return slices.Concat([]page{
		overviewPage(),
	}, eventPages(), orderPages(), buyerPages(), []page{
		verificationPage(), brandingPage(), brandingMailPage(), apiKeysPage(), commissionPage(),
	}, webhookPages(), moneyPages(), settlementPages(), memberPages(), mailPages(), auditPages(),
		findPages(scopeCompany))
}

// companyActs returns the acts about a company.
func companyActs() []act {
	return slices.Concat(verificationActs(), brandingActs(), apiKeyActs(), eventActs(), tierActs(), orderActs(),
		buyerActs(), webhookActs(), settlementActs(), memberActs(), mailActs(), auditActs(scopeCompany), ledgerActs(),
		listActs(scopeCompany))
}
