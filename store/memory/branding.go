package memory

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type brandings struct {
	byRef     map[driver.BrandingRef]driver.Branding
	ofCompany map[uuid.UUID]*index[int64]
}

func newBrandings() brandings {
	return brandings{
		byRef: make(map[driver.BrandingRef]driver.Branding), ofCompany: make(map[uuid.UUID]*index[int64]),
	}
}

func newVersions() *index[int64] { return newIndex(cmp.Compare[int64]) }

func (r reading) Brandings(
	ctx context.Context, refs []driver.BrandingRef,
) ([]driver.Branding, error) {
	return ask(ctx, r, func(s *state) []driver.Branding {
		return each(refs, func(ref driver.BrandingRef) driver.Branding { return s.brandings.byRef[ref] })
	})
}

func (r reading) ListBrandings(ctx context.Context, query driver.BrandingQuery) ([]driver.Branding, error) {
	return ask(ctx, r, func(s *state) []driver.Branding {
		of, ok := s.brandings.ofCompany[query.CompanyID]
		if !ok {
			return nil
		}
		versions := of.keys
		if query.After != 0 {
			versions = of.below(query.After)
		}
		return each(last([][]int64{versions}, query.Limit, of.compare), func(version int64) driver.Branding {
			return s.brandings.byRef[driver.BrandingRef{CompanyID: query.CompanyID, Version: version}]
		})
	})
}

func (tx *updating) AppendBranding(ctx context.Context, branding driver.Branding) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		branding.CreatedAt = moment(branding.CreatedAt)
		ref := driver.BrandingRef{CompanyID: branding.CompanyID, Version: branding.Version}
		if err := create(u, s.brandings.byRef, ref, branding, "brandings_pkey"); err != nil {
			return err
		}
		need(s.brandings.ofCompany, ref.CompanyID, newVersions).add(u, ref.Version)
		return nil
	})
}
