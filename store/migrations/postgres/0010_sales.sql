-- What a company sold, paid back and admitted, in each quarter of an hour: of all its events (the zero id), of each
-- event (the empty tier) and of each tier. A sale writes none of it: the dispatch of its fact does.
CREATE TABLE ticketing_sales_sums (
	company_id UUID             NOT NULL,
	event_id   UUID             NOT NULL,
	tier       TEXT COLLATE "C" NOT NULL,
	at         BIGINT           NOT NULL,
	orders     BIGINT           NOT NULL,
	admissions BIGINT           NOT NULL,
	gross      BIGINT           NOT NULL,
	commission BIGINT           NOT NULL,
	refunded   BIGINT           NOT NULL,
	reversed   BIGINT           NOT NULL,
	admitted   BIGINT           NOT NULL,
	PRIMARY KEY (company_id, event_id, tier, at),
	CONSTRAINT ticketing_sales_sums_at_check CHECK (at % 900000 = 0),
	CONSTRAINT ticketing_sales_sums_amounts_check CHECK (orders >= 0 AND admissions >= 0 AND gross >= 0
		AND commission >= 0 AND refunded >= 0 AND reversed >= 0 AND admitted >= 0)
);
ALTER TABLE ticketing_sales_sums ALTER company_id SET STATISTICS 0;

-- No order up to this number is counted yet. A company without a row has no such order.
CREATE TABLE ticketing_sales_progress (
	company_id UUID   NOT NULL PRIMARY KEY,
	uncounted  BIGINT NOT NULL,
	CONSTRAINT ticketing_sales_progress_uncounted_check CHECK (uncounted >= 0)
);
ALTER TABLE ticketing_sales_progress ALTER company_id SET STATISTICS 0;
CREATE INDEX ticketing_sales_progress_open ON ticketing_sales_progress (company_id, uncounted) WHERE uncounted > 0;
INSERT INTO ticketing_sales_progress
	SELECT company_id, sequence FROM ticketing_wallets WHERE wallet = 'FLOAT' AND sequence > 0;

-- The orders of a buyer, which no index of the orders finds. Staff look for an email in all companies, so it comes first.
CREATE TABLE ticketing_buyer_orders (
	company_id UUID             NOT NULL,
	email      TEXT COLLATE "C" NOT NULL,
	number     BIGINT           NOT NULL,
	PRIMARY KEY (email, company_id, number)
);
ALTER TABLE ticketing_buyer_orders ALTER company_id SET STATISTICS 0;
