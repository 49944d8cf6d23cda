package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// waitingCases holds the submitted cases of all companies, by the time of submission and the company.
type waitingCases = index[driver.Position]

// casePlace returns the place of a submitted case in the list of waiting cases.
func casePlace(c driver.VerificationCase) driver.Position {
	return driver.Position{At: c.SubmittedAt, ID: c.CompanyID}
}

// cases holds a company's verification cases by number.
type cases struct {
	byNumber map[int64]driver.VerificationCase
	numbers  *index[int64]
}

func newCases() *cases {
	return &cases{
		byNumber: make(map[int64]driver.VerificationCase), numbers: newIndex(cmp.Compare[int64]),
	}
}

func (r reading) ListVerificationCases(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.VerificationCase, error) {
	return ask(ctx, r, func(s *state) []driver.VerificationCase {
		of, ok := s.cases[companyID]
		if !ok {
			return nil
		}
		newest := last([][]int64{of.numbers.keys}, limit, of.numbers.compare)
		return each(newest, func(number int64) driver.VerificationCase { return of.byNumber[number] })
	})
}

func (r reading) ListSubmittedCases(
	ctx context.Context, after driver.Position, limit int,
) ([]driver.VerificationCase, error) {
	return ask(ctx, r, func(s *state) []driver.VerificationCase {
		return each(s.waitingCases.after(after, limit), func(place driver.Position) driver.VerificationCase {
			of := s.cases[place.ID]
			for _, number := range slices.Backward(of.numbers.keys) {
				if c := of.byNumber[number]; c.Status == driver.VerificationSubmitted && c.SubmittedAt.Equal(place.At) {
					return c
				}
			}
			return driver.VerificationCase{}
		})
	})
}

func (tx *updating) PutVerificationCase(ctx context.Context, record driver.VerificationCase) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		record.SubmittedAt, record.DecidedAt = moment(record.SubmittedAt), moment(record.DecidedAt)
		record.CreatedAt, record.UpdatedAt = moment(record.CreatedAt), moment(record.UpdatedAt)
		of := need(s.cases, record.CompanyID, newCases)
		old, known := of.byNumber[record.Number]
		if known {
			record.CreatedAt = old.CreatedAt
		} else {
			of.numbers.add(u, record.Number)
		}
		if known && old.Status == driver.VerificationSubmitted {
			s.waitingCases.drop(u, casePlace(old))
		}
		if record.Status == driver.VerificationSubmitted {
			s.waitingCases.add(u, casePlace(record))
		}
		put(u, of.byNumber, record.Number, record)
		return nil
	})
}
