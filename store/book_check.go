package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const bookCheckColumns = "company_id, verified_at, entries, problems"

// BookChecks finds the last verification of the books of companies.
func (s *session) BookChecks(ctx context.Context, companies []uuid.UUID) ([]driver.BookCheck, error) {
	scan := func(row rowSet, c *driver.BookCheck) error {
		return row.Scan((*id)(&c.CompanyID), (*moment)(&c.VerifiedAt), &c.Entries, &c.Problems)
	}
	return findByRefs(companies, func(c driver.BookCheck) uuid.UUID { return c.CompanyID },
		func(companies []uuid.UUID) ([]driver.BookCheck, error) {
			return query(ctx, s, "BookChecks", scan,
				"SELECT "+bookCheckColumns+" FROM ticketing_book_checks WHERE ?", inIDs("company_id", companies))
		})
}

// PutBookChecks inserts verifications, or updates those that began earlier.
func (tx *transaction) PutBookChecks(ctx context.Context, checks []driver.BookCheck) error {
	return inParts(checks, func(checks []driver.BookCheck) error {
		return tx.put(ctx, "PutBookChecks", "ticketing_book_checks", newSet(bookCheckColumns, checks,
			func(c driver.BookCheck) []any {
				return []any{c.CompanyID, c.VerifiedAt.UnixMilli(), c.Entries, c.Problems}
			}),
			` ON CONFLICT (company_id) DO UPDATE
			SET verified_at = excluded.verified_at, entries = excluded.entries, problems = excluded.problems
			WHERE excluded.verified_at >= ticketing_book_checks.verified_at`)
	})
}
