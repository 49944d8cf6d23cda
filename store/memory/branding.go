package memory

import (
	"context"

	"github.com/floatgate/ticketing/driver"
)

type brandings struct {
	byRef map[driver.BrandingRef]driver.Branding
}

func newBrandings() brandings {
	return brandings{byRef: make(map[driver.BrandingRef]driver.Branding)}
}

func (r reading) Brandings(
	ctx context.Context, refs []driver.BrandingRef,
) ([]driver.Branding, error) {
	return ask(ctx, r, func(s *state) []driver.Branding {
		return each(refs, func(ref driver.BrandingRef) driver.Branding { return s.brandings.byRef[ref] })
	})
}

func (tx *updating) AppendBranding(ctx context.Context, branding driver.Branding) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		branding.CreatedAt = moment(branding.CreatedAt)
		ref := driver.BrandingRef{CompanyID: branding.CompanyID, Version: branding.Version}
		return create(u, s.brandings.byRef, ref, branding, "brandings_pkey")
	})
}
