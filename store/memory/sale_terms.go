package memory

import (
	"context"
	"time"

	"github.com/floatgate/ticketing/driver"
)

func (r reading) SaleTerms(
	ctx context.Context, refs []driver.SaleTermsRef, at time.Time,
) ([]driver.SaleTerms, error) {
	return ask(ctx, r, func(s *state) []driver.SaleTerms {
		return each(refs, func(ref driver.SaleTermsRef) driver.SaleTerms {
			look := driver.BrandingRef{CompanyID: ref.CompanyID, Version: ref.BrandingVersion}
			return driver.SaleTerms{
				SaleTermsRef: ref, Status: s.events.get(ref.EventRef).Status,
				Branding: s.brandings.byRef[look], Rate: s.commissions.effective(ref.CompanyID, at),
			}
		})
	})
}
