package memory

import (
	"context"
	"time"

	"github.com/floatgate/ticketing"
)

func (r reading) SaleTerms(
	ctx context.Context, refs []ticketing.SaleTermsRef, at time.Time,
) ([]ticketing.SaleTerms, error) {
	return ask(ctx, r, func(s *state) []ticketing.SaleTerms {
		return each(refs, func(ref ticketing.SaleTermsRef) ticketing.SaleTerms {
			look := ticketing.BrandingRef{CompanyID: ref.CompanyID, Version: ref.BrandingVersion}
			return ticketing.SaleTerms{
				SaleTermsRef: ref, Status: s.events.get(ref.EventRef).Status,
				Branding: s.brandings.byRef[look], Rate: s.commissions.effective(ref.CompanyID, at),
			}
		})
	})
}
