package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// SubmittedCase is a verification case that waits for a decision by staff, and its company.
type SubmittedCase struct {
	CompanyID   uuid.UUID `json:"companyId"`
	CompanyName string    `json:"companyName"`
	VerificationCase
}

// ListSubmittedCases returns a page of the cases of all companies that are SUBMITTED, longest waiting first. A limit
// outside 1 to 100 is INVALID_REQUEST, a cursor of another listing INVALID_CURSOR. It needs tenant:read.
func (o Operator) ListSubmittedCases(ctx context.Context, params PageParams) (Page[SubmittedCase], error) {
	if err := o.allow(PermissionTenantRead, uuid.Nil); err != nil {
		return Page[SubmittedCase]{}, err
	}
	list, err := openListing(byTime(func(c driver.VerificationCase) driver.Position {
		return driver.Position{At: c.SubmittedAt, ID: c.CompanyID}
	}), params, nil, "submitted cases")
	if err != nil {
		return Page[SubmittedCase]{}, err
	}
	var page Page[SubmittedCase]
	err = o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		records, err := tx.ListSubmittedCases(ctx, list.after, list.limit)
		if err != nil {
			return err
		}
		records, page.HasMore, page.NextCursor = list.cut(records)
		ids := make([]uuid.UUID, len(records))
		for i, record := range records {
			ids[i] = record.CompanyID
		}
		names, err := companyNames(ctx, tx, ids)
		if err != nil {
			return err
		}
		page.Items = make([]SubmittedCase, len(records))
		for i, record := range records {
			page.Items[i] = SubmittedCase{
				CompanyID: record.CompanyID, CompanyName: names[i], VerificationCase: showCase(record, true),
			}
		}
		return nil
	})
	if err != nil {
		return Page[SubmittedCase]{}, err
	}
	return page, nil
}
