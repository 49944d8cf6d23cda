package console

import "slices"

// platformPages returns the pages of the platform, in the order of the navigation. Each is in the file of its subject.
func platformPages() []page {
	return slices.Concat(queuePages(), companiesPages(), decisionPages(), floatPages(), schedulePages(),
		platformMoneyPages(), payoutPages(), categoryPages(), mailSenderPages(), staffPages(), platformAuditPages(),
		bookPages(), findPages(scopePlatform))
}

// platformActs returns the acts of staff.
func platformActs() []act {
	return slices.Concat(companiesActs(), decisionActs(), floatActs(), scheduleActs(), payoutActs(), categoryActs(),
		mailSenderActs(), staffActs(), auditActs(scopePlatform), bookActs(),
		listActs(scopePlatform))
}
