-- What the console searches.

-- Movements of the kinds that a sale does not make. They are few among the movements of sales, which have no index but
-- the primary key: every sale would pay for it. The operator of a long ledger makes this one before, while sales go on.
CREATE INDEX IF NOT EXISTS ticketing_ledger_entries_rare
	ON ticketing_ledger_entries (company_id, wallet, kind, sequence)
	WHERE kind NOT IN ('CHECKOUT_DEBIT', 'COMMISSION_ACCRUAL');

-- Events by the beginning of their titles, of a company and of all: their first characters, with A to Z as lower-case
-- letters, as ticketing_companies_name has names. Events are written rarely, and never by a sale.
CREATE INDEX ticketing_events_title ON ticketing_events (company_id, substr(lower(title), 1, 60), id);
CREATE INDEX ticketing_events_all_title ON ticketing_events (substr(lower(title), 1, 60), id);

-- Fundings by the provider's reference, of all companies. The primary key has those of one.
CREATE INDEX ticketing_float_credits_reference ON ticketing_float_credits (reference, company_id);
