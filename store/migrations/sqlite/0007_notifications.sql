-- Ticket mails and the platform's mail sender. The tables have no foreign keys, since a table of a company gets none in
-- the migration that makes it: see docs/scaling.md.

-- A notification is the mail of an order, or a copy that was sent again. It holds no address but that of a copy that
-- goes elsewhere than to the buyer. What the mail says is read from the order when it is sent.
CREATE TABLE ticketing_notifications (
	company_id   BLOB    NOT NULL,
	number       INTEGER NOT NULL, -- of the order
	copy         INTEGER NOT NULL,
	order_id     BLOB    NOT NULL,
	event_id     BLOB    NOT NULL,
	recipient    TEXT    NOT NULL,
	status       TEXT    NOT NULL,
	reason       TEXT    NOT NULL,
	attempts     TEXT    NOT NULL, -- JSON
	due_at       INTEGER NOT NULL,
	leased_until INTEGER,
	finished_at  INTEGER,
	created_at   INTEGER NOT NULL,
	PRIMARY KEY (company_id, number, copy),
	CONSTRAINT ticketing_notifications_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_notifications_copy_check CHECK (copy >= 1),
	CONSTRAINT ticketing_notifications_status_check CHECK (
		status IN ('PENDING', 'SENT', 'FAILED', 'CANCELLED') AND (status = 'PENDING') = (finished_at IS NULL)),
	CONSTRAINT ticketing_notifications_pending_check CHECK (status = 'PENDING' OR leased_until IS NULL)
) STRICT, WITHOUT ROWID;

-- What a sender claims, the longest due first. The time of creation is for claims of what is too old to be sent.
CREATE INDEX ticketing_notifications_due ON ticketing_notifications (company_id, due_at, created_at)
	WHERE status = 'PENDING';
-- What was not sent, which nobody looks for among millions that were.
CREATE INDEX ticketing_notifications_failed ON ticketing_notifications (company_id, number, copy)
	WHERE status = 'FAILED';
CREATE INDEX ticketing_notifications_cancelled ON ticketing_notifications (company_id, number, copy)
	WHERE status = 'CANCELLED';
-- What is removed some day, what was finished first at first.
CREATE INDEX ticketing_notifications_final ON ticketing_notifications (company_id, finished_at, number, copy)
	WHERE status <> 'PENDING';

-- The highest number of an order whose notification was removed.
CREATE TABLE ticketing_notification_prunes (
	company_id BLOB    NOT NULL PRIMARY KEY,
	number     INTEGER NOT NULL,
	CONSTRAINT ticketing_notification_prunes_number_check CHECK (number >= 1)
) STRICT, WITHOUT ROWID;

-- The last version of the sender holds. It belongs to the whole platform.
CREATE TABLE ticketing_mail_senders (
	version    INTEGER NOT NULL PRIMARY KEY,
	address    TEXT    NOT NULL, -- empty: the sender was removed
	name       TEXT    NOT NULL,
	bounces    TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	CONSTRAINT ticketing_mail_senders_version_check CHECK (version >= 1)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ticketing_mail_senders_no_update BEFORE UPDATE ON ticketing_mail_senders
BEGIN SELECT RAISE(ABORT, 'ticketing_mail_senders_append_only'); END;
CREATE TRIGGER ticketing_mail_senders_no_delete BEFORE DELETE ON ticketing_mail_senders
BEGIN SELECT RAISE(ABORT, 'ticketing_mail_senders_append_only'); END;
