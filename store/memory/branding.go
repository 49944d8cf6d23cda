package memory

import (
	"context"

	"github.com/floatgate/ticketing"
)

type brandings struct {
	byRef map[ticketing.BrandingRef]ticketing.BrandingRecord
}

func newBrandings() brandings {
	return brandings{byRef: make(map[ticketing.BrandingRef]ticketing.BrandingRecord)}
}

func (r reading) Brandings(
	ctx context.Context, refs []ticketing.BrandingRef,
) ([]ticketing.BrandingRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.BrandingRecord {
		return each(refs, func(ref ticketing.BrandingRef) ticketing.BrandingRecord { return s.brandings.byRef[ref] })
	})
}

func (tx *updating) AppendBranding(ctx context.Context, branding ticketing.BrandingRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		branding.CreatedAt = moment(branding.CreatedAt)
		ref := ticketing.BrandingRef{CompanyID: branding.CompanyID, Version: branding.Version}
		return create(u, s.brandings.byRef, ref, branding, "brandings_pkey")
	})
}
