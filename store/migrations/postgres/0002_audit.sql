-- What was done on the operator's plane. The company is the zero id where it was about none, so there is no foreign key.

CREATE TABLE ticketing_audit_entries (
	company_id UUID   NOT NULL,
	at         BIGINT NOT NULL,
	id         UUID   NOT NULL,
	actor      TEXT   NOT NULL,
	action     TEXT   NOT NULL,
	subject    TEXT   NOT NULL,
	changes    TEXT   NOT NULL, -- JSON
	PRIMARY KEY (company_id, at, id)
);

CREATE INDEX ticketing_audit_entries_list ON ticketing_audit_entries (at, id);

CREATE TRIGGER ticketing_audit_entries_no_change BEFORE UPDATE OR DELETE ON ticketing_audit_entries
	FOR EACH ROW EXECUTE FUNCTION ticketing_append_only('ticketing_audit_entries_append_only');
CREATE TRIGGER ticketing_audit_entries_no_truncate BEFORE TRUNCATE ON ticketing_audit_entries
	FOR EACH STATEMENT EXECUTE FUNCTION ticketing_append_only('ticketing_audit_entries_append_only');
