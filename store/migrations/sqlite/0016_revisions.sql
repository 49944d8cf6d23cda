-- The revision of a company: see the same migration of PostgreSQL. Here it stays NULL: SQLite reads the rows about as
-- fast as their revision.
ALTER TABLE ticketing_companies ADD COLUMN revision BLOB;
