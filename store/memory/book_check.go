package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func (r reading) BookChecks(ctx context.Context, companies []uuid.UUID) ([]driver.BookCheck, error) {
	return ask(ctx, r, func(s *state) []driver.BookCheck {
		return each(companies, func(id uuid.UUID) driver.BookCheck { return s.bookChecks[id] })
	})
}

func (tx *updating) PutBookChecks(ctx context.Context, checks []driver.BookCheck) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, record := range checks {
			record.VerifiedAt = moment(record.VerifiedAt)
			if err := check(record.Entries >= 0, "book_checks_entries_check"); err != nil {
				return err
			}
			if err := check(record.Problems >= 0, "book_checks_problems_check"); err != nil {
				return err
			}
			if !record.VerifiedAt.Before(s.bookChecks[record.CompanyID].VerifiedAt) {
				put(u, s.bookChecks, record.CompanyID, record)
			}
		}
		return nil
	})
}
