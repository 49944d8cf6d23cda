package ticketing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestEarlierBrandingsAreListed checks that all versions of a company's branding are listed, newest first and page by
// page, as they were saved, and that a cursor is of one company.
func TestEarlierBrandingsAreListed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.unverified(t), e.unverified(t)
		first, err := e.staff.GetBranding(t.Context(), company)
		is.NoErr(err)
		want := []ticketing.BrandingVersion{{Version: 1, CreatedAt: ticketing.Time{Time: opening}, Branding: first}}
		for n := range 6 {
			e.clock.advance(time.Minute)
			saved, err := e.staff.UpdateBranding(t.Context(), company, ticketing.UpdateBrandingParams{
				BrandName: of(fmt.Sprint("Adire ", n)),
			})
			is.NoErr(err)
			want = append([]ticketing.BrandingVersion{{
				Version: int64(n + 2), CreatedAt: ticketing.Time{Time: e.clock.now()}, Branding: saved,
			}}, want...)
		}
		for limit := 1; limit <= len(want)+1; limit++ {
			var found []ticketing.BrandingVersion
			for params := (ticketing.PageParams{Limit: limit}); ; {
				page, err := e.staff.ListBrandings(t.Context(), company, params)
				is.NoErr(err)
				is.True(len(page.Items) <= limit)
				found = append(found, page.Items...)
				if params.Cursor = page.NextCursor; !page.HasMore {
					break
				}
			}
			is.Equal(found, want)
		}
		is.Equal(show(t, want[6]), `{"version":1,"createdAt":"2026-11-21T09:30:00.000Z","brandName":"Adire Concerts",`+
			`"logoUrl":null,"primaryColor":"#111827","accentColor":"#2563EB","checkoutFooter":null,"ticketFooter":null,`+
			`"emailFooter":null,"supportEmail":null,"emailMode":"SERVICE_SENDER"}`)
		page, err := e.staff.ListBrandings(t.Context(), company, ticketing.PageParams{Limit: 1})
		is.NoErr(err)
		_, err = e.staff.ListBrandings(t.Context(), other, ticketing.PageParams{Cursor: page.NextCursor})
		is.Equal(code(err), ticketing.CodeInvalidCursor)
	})
}
