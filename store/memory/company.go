package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type companies struct {
	byID  map[uuid.UUID]ticketing.CompanyRecord
	byAge *index[ticketing.Position]
}

func newCompanies() companies {
	return companies{byID: make(map[uuid.UUID]ticketing.CompanyRecord), byAge: newIndex(comparePositions)}
}

func (r reading) Companies(ctx context.Context, ids []uuid.UUID) ([]ticketing.CompanyRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.CompanyRecord {
		return each(ids, func(id uuid.UUID) ticketing.CompanyRecord { return s.companies.byID[id] })
	})
}

func (r reading) ListCompanies(
	ctx context.Context, after ticketing.Position, limit int,
) ([]ticketing.CompanyRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.CompanyRecord {
		return each(s.companies.byAge.after(after, limit), func(p ticketing.Position) ticketing.CompanyRecord {
			return s.companies.byID[p.ID]
		})
	})
}

func (tx *updating) CreateCompany(ctx context.Context, company ticketing.CompanyRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		company = keptCompany(company)
		if err := create(u, s.companies.byID, company.ID, company, "companies_pkey"); err != nil {
			return err
		}
		s.companies.byAge.add(u, ticketing.Position{At: company.CreatedAt, ID: company.ID})
		return nil
	})
}

func (tx *updating) UpdateCompany(ctx context.Context, company ticketing.CompanyRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		old, ok := s.companies.byID[company.ID]
		if !ok {
			return ticketing.ErrNotFound
		}
		company = keptCompany(company)
		company.CreatedAt = old.CreatedAt
		put(u, s.companies.byID, company.ID, company)
		return nil
	})
}

func keptCompany(company ticketing.CompanyRecord) ticketing.CompanyRecord {
	company.CreatedAt = moment(company.CreatedAt)
	company.UpdatedAt = moment(company.UpdatedAt)
	company.Verification.ApprovalExpiresAt = moment(company.Verification.ApprovalExpiresAt)
	company.Verification.GraceUntil = moment(company.Verification.GraceUntil)
	return company
}
