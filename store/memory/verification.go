package memory

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// cases are a company's applications for its verification, by number.
type cases struct {
	byNumber map[int64]ticketing.VerificationCaseRecord
	numbers  *index[int64]
}

func newCases() *cases {
	return &cases{
		byNumber: make(map[int64]ticketing.VerificationCaseRecord), numbers: newIndex(cmp.Compare[int64]),
	}
}

func (r reading) ListVerificationCases(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]ticketing.VerificationCaseRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.VerificationCaseRecord {
		of, ok := s.cases[companyID]
		if !ok {
			return nil
		}
		newest := last([][]int64{of.numbers.keys}, limit, of.numbers.compare)
		return each(newest, func(number int64) ticketing.VerificationCaseRecord { return of.byNumber[number] })
	})
}

func (tx *updating) PutVerificationCase(ctx context.Context, record ticketing.VerificationCaseRecord) error {
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
		put(u, of.byNumber, record.Number, record)
		return nil
	})
}
