-- What the console searches.

-- Movements of the kinds that a sale does not make. They are few among the movements of sales, which have no index but
-- the primary key: every sale would pay for it.
CREATE INDEX ticketing_ledger_entries_rare ON ticketing_ledger_entries (company_id, wallet, kind COLLATE "C", sequence)
	WHERE kind NOT IN ('CHECKOUT_DEBIT', 'COMMISSION_ACCRUAL');
