-- What was done on the operator's plane. The company is the zero id where it was about none, so there is no foreign key.

CREATE TABLE ticketing_audit_entries (
	company_id BLOB    NOT NULL,
	at         INTEGER NOT NULL,
	id         BLOB    NOT NULL,
	actor      TEXT    NOT NULL,
	action     TEXT    NOT NULL,
	subject    TEXT    NOT NULL,
	changes    TEXT    NOT NULL, -- JSON
	PRIMARY KEY (company_id, at, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_audit_entries_list ON ticketing_audit_entries (at, id);

CREATE TRIGGER ticketing_audit_entries_no_update BEFORE UPDATE ON ticketing_audit_entries
BEGIN SELECT RAISE(ABORT, 'ticketing_audit_entries_append_only'); END;
CREATE TRIGGER ticketing_audit_entries_no_delete BEFORE DELETE ON ticketing_audit_entries
BEGIN SELECT RAISE(ABORT, 'ticketing_audit_entries_append_only'); END;
