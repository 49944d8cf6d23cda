-- What a company sold, paid back and admitted, in each quarter of an hour: of all its events (the zero id), of each
-- event (the empty tier) and of each tier. A sale writes none of it: the dispatch of its fact does.
CREATE TABLE ticketing_sales_sums (
	company_id BLOB    NOT NULL,
	event_id   BLOB    NOT NULL,
	tier       TEXT    NOT NULL,
	at         INTEGER NOT NULL,
	orders     INTEGER NOT NULL,
	admissions INTEGER NOT NULL,
	gross      INTEGER NOT NULL,
	commission INTEGER NOT NULL,
	refunded   INTEGER NOT NULL,
	reversed   INTEGER NOT NULL,
	admitted   INTEGER NOT NULL,
	PRIMARY KEY (company_id, event_id, tier, at),
	CONSTRAINT ticketing_sales_sums_at_check CHECK (at % 900000 = 0),
	CONSTRAINT ticketing_sales_sums_amounts_check CHECK (orders >= 0 AND admissions >= 0 AND gross >= 0
		AND commission >= 0 AND refunded >= 0 AND reversed >= 0 AND admitted >= 0)
) STRICT, WITHOUT ROWID;

-- No order up to this number is counted yet. A company without a row has no such order.
CREATE TABLE ticketing_sales_progress (
	company_id BLOB    NOT NULL PRIMARY KEY,
	uncounted  INTEGER NOT NULL,
	CONSTRAINT ticketing_sales_progress_uncounted_check CHECK (uncounted >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX ticketing_sales_progress_open ON ticketing_sales_progress (company_id, uncounted) WHERE uncounted > 0;
INSERT INTO ticketing_sales_progress
	SELECT company_id, sequence FROM ticketing_wallets WHERE wallet = 'FLOAT' AND sequence > 0;

-- The orders of a buyer, which no index of the orders finds. Staff look for an email in all companies, so it comes first.
CREATE TABLE ticketing_buyer_orders (
	company_id BLOB    NOT NULL,
	email      TEXT    NOT NULL,
	number     INTEGER NOT NULL,
	PRIMARY KEY (email, company_id, number)
) STRICT, WITHOUT ROWID;
