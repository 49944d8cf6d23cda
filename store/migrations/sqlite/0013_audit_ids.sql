-- Entries of the audit log by their ids, of all companies. A sale writes no entry.
CREATE INDEX ticketing_audit_entries_id ON ticketing_audit_entries (id);
