-- The sum of all time of each event, beside those of its intervals, so that a list of events reads one row for each. Its
-- time is before every other: the beginning of the year 1.
INSERT INTO ticketing_sales_sums
		(company_id, event_id, tier, at, orders, admissions, gross, commission, refunded, reversed, admitted)
	SELECT company_id, event_id, '', -62135596800000, CAST(sum(orders) AS BIGINT), CAST(sum(admissions) AS BIGINT),
		CAST(sum(gross) AS BIGINT), CAST(sum(commission) AS BIGINT), CAST(sum(refunded) AS BIGINT),
		CAST(sum(reversed) AS BIGINT), CAST(sum(admitted) AS BIGINT)
	FROM ticketing_sales_sums WHERE event_id <> '00000000-0000-0000-0000-000000000000' AND tier = '' GROUP BY company_id, event_id;
