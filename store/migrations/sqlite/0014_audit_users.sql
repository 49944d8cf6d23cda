-- An action about no company has the id of a user in company_id if of_user is true: see the migration of PostgreSQL.
ALTER TABLE ticketing_audit_entries ADD COLUMN of_user INTEGER NOT NULL DEFAULT 0;
