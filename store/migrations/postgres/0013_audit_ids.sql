-- Entries of the audit log by their ids, of all companies. A sale writes no entry. The operator of a long
-- log makes this index before, while others write.
CREATE INDEX IF NOT EXISTS ticketing_audit_entries_id ON ticketing_audit_entries (id);
