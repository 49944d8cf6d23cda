package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

type caseModel struct {
	bun.BaseModel `bun:"table:ticketing_verification_cases,alias:c"`
	caseFields
}

type caseFields struct {
	CompanyID   uuid.UUID `bun:",pk"`
	Number      int64     `bun:",pk"`
	Status      driver.VerificationStatus
	Facts       driver.VerificationFacts `bun:"embed:"`
	Reason      string
	SubmittedAt time.Time
	DecidedAt   time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

func (m caseModel) record() driver.VerificationCase { return driver.VerificationCase(m.caseFields) }

// ListVerificationCases returns a company's cases, highest number first.
func (s *session) ListVerificationCases(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.VerificationCase, error) {
	return find(ctx, s, "ListVerificationCases", caseModel.record, s.newSelect().
		Where("company_id = ?", id(companyID)).Apply(page("number DESC", limit)))
}

// ListSubmittedCases returns the submitted cases of all companies after a position, longest waiting first.
func (s *session) ListSubmittedCases(
	ctx context.Context, after driver.Position, limit int,
) ([]driver.VerificationCase, error) {
	return find(ctx, s, "ListSubmittedCases", caseModel.record, s.newSelect().
		ModelTableExpr("ticketing_verification_cases AS c"+
			s.store.engine.traits().useIndex("ticketing_verification_cases_submitted")).
		Where("status = 'SUBMITTED'").
		Where("(submitted_at, company_id) > (?, ?)", integer(after.At.UnixMilli()), id(after.ID)).
		Apply(page("submitted_at, company_id", limit)))
}

// PutVerificationCase inserts or updates a case. The time of creation of an existing one stays.
func (tx *transaction) PutVerificationCase(ctx context.Context, c driver.VerificationCase) error {
	insertion := tx.insertion(&caseModel{caseFields: caseFields(c)}).On("CONFLICT (company_id, number) DO UPDATE")
	for _, column := range []string{
		"status", "legal_name", "registration_number", "country", "address", "contact_name", "contact_email",
		"contact_phone", "reason", "submitted_at", "decided_at", "updated_at",
	} {
		insertion.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
	}
	return tx.write(ctx, "PutVerificationCase", anyNumber, insertion)
}
