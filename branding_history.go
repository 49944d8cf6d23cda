package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// BrandingVersion is one version of a company's branding. Who saved it is in the audit log, under the action
// "branding.set".
type BrandingVersion struct {
	// Version counts from 1, which is the default branding that the company began with.
	Version int64 `json:"version"`
	// CreatedAt is when sales began to use the version. They use it until the next one is saved.
	CreatedAt Time `json:"createdAt"`

	Branding
}

// ListBrandings returns a page of all versions of a company's branding, newest first. The first one is the current
// branding. Versions are never removed, since orders keep the one that they were sold under. A company that does not
// exist is NOT_FOUND. It needs COMPANY:branding:read.
func (o Operator) ListBrandings(
	ctx context.Context, companyID uuid.UUID, params PageParams,
) (Page[BrandingVersion], error) {
	if err := o.allow(PermissionBrandingRead, companyID); err != nil {
		return Page[BrandingVersion]{}, err
	}
	list, err := openListing(byNumber(func(b driver.Branding) int64 { return b.Version }), params, nil,
		"brandings", companyID.String())
	if err != nil {
		return Page[BrandingVersion]{}, err
	}
	var records []driver.Branding
	err = o.view(ctx, PermissionBrandingRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			records, err = tx.ListBrandings(ctx, driver.BrandingQuery{
				CompanyID: companyID, After: list.after, Limit: list.limit,
			})
			return err
		})
	if err != nil {
		return Page[BrandingVersion]{}, err
	}
	var page Page[BrandingVersion]
	records, page.HasMore, page.NextCursor = list.cut(records)
	page.Items = make([]BrandingVersion, len(records))
	for i, b := range records {
		page.Items[i] = BrandingVersion{b.Version, Time{Time: b.CreatedAt}, showBranding(b)}
	}
	return page, nil
}
