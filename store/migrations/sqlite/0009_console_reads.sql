-- What the console reads. First what the pages of a company read.

-- The audit log by who and by what, of a company and of all. Without them the few actions of somebody are looked for among
-- all of them.
CREATE INDEX ticketing_audit_entries_actor ON ticketing_audit_entries (company_id, actor, at, id);
CREATE INDEX ticketing_audit_entries_action ON ticketing_audit_entries (company_id, action, at, id);
CREATE INDEX ticketing_audit_entries_actor_action ON ticketing_audit_entries (company_id, actor, action, at, id);
CREATE INDEX ticketing_audit_entries_all_actor ON ticketing_audit_entries (actor, at, id);
CREATE INDEX ticketing_audit_entries_all_action ON ticketing_audit_entries (action, at, id);
CREATE INDEX ticketing_audit_entries_all_actor_action ON ticketing_audit_entries (actor, action, at, id);

-- The last success of an endpoint, and what it failed lately.
CREATE INDEX ticketing_webhook_deliveries_final ON ticketing_webhook_deliveries (company_id, endpoint, status, finished_at)
	WHERE finished_at IS NOT NULL;

-- What staff read of all companies at once: lists of companies in several orders, cases and settlements that wait,
-- dead letters, and when books were verified.

-- Names are listed and looked up by their first characters, with A to Z as lower-case letters. Other letters stay as
-- they are, since the databases disagree about them. Each index has all columns that a list is filtered by: without
-- them SQLite looks up every company that the filter then leaves out.
DROP INDEX ticketing_companies_list;
CREATE INDEX ticketing_companies_list ON ticketing_companies
	(created_at, id, status, verification, approval_expires_at, name);
CREATE INDEX ticketing_companies_name ON ticketing_companies
	(substr(lower(name), 1, 60), id, status, verification, approval_expires_at, name);
CREATE INDEX ticketing_companies_expiry ON ticketing_companies
	(approval_expires_at, id, status, verification, name) WHERE approval_expires_at IS NOT NULL;

CREATE INDEX ticketing_verification_cases_submitted ON ticketing_verification_cases (submitted_at, company_id)
	WHERE status = 'SUBMITTED';
CREATE INDEX ticketing_settlements_open ON ticketing_settlements (requested_at, company_id)
	WHERE status IN ('PENDING', 'PROCESSING', 'APPROVED');
-- The dead letters of a day, whenever their deliveries began.
CREATE INDEX ticketing_webhook_deliveries_dead ON ticketing_webhook_deliveries (finished_at, company_id)
	WHERE status = 'FAILED';

-- The last verification of a company's books.
CREATE TABLE ticketing_book_checks (
	company_id  BLOB    NOT NULL PRIMARY KEY,
	verified_at INTEGER NOT NULL,
	entries     INTEGER NOT NULL,
	problems    INTEGER NOT NULL,
	CONSTRAINT ticketing_book_checks_entries_check CHECK (entries >= 0),
	CONSTRAINT ticketing_book_checks_problems_check CHECK (problems >= 0)
) STRICT, WITHOUT ROWID;
