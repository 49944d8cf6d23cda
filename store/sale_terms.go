package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// termsColumns follow the company, the event and the version, which the query already has.
const termsColumns = `e.status, b.brand_name, b.logo_url, b.primary_color, b.accent_color, b.checkout_footer,
	b.ticket_footer, b.email_footer, b.support_email, b.created_at, r.id, r.position, r.value, r.unit, r.effective_from,
	r.created_at`

// lastingTerms are terms with the time from which the next rate of the company is effective, or the zero time. They are
// read with it to be remembered.
type lastingTerms struct {
	driver.SaleTerms

	next time.Time
}

// lastAt reports whether the rate is still the one that is effective at a time, in milliseconds.
func (t lastingTerms) lastAt(at int64) bool {
	return (t.Rate.ID == uuid.Nil || at >= t.Rate.EffectiveFrom.UnixMilli()) &&
		(t.next.IsZero() || at < t.next.UnixMilli())
}

func scanTerms(row rowSet, t *lastingTerms) error {
	b, r := &t.Branding, &t.Rate
	var value, unit missing
	err := row.Scan((*id)(&t.CompanyID), (*id)(&t.ID), &t.BrandingVersion, (*missing)(&t.Status),
		(*missing)(&b.BrandName), (*missing)(&b.LogoURL), (*missing)(&b.PrimaryColor), (*missing)(&b.AccentColor),
		(*missing)(&b.CheckoutFooter), (*missing)(&b.TicketFooter), (*missing)(&b.EmailFooter),
		(*missing)(&b.SupportEmail), (*moment)(&b.CreatedAt), (*id)(&r.ID), (*number)(&r.Position), &value, &unit,
		(*moment)(&r.EffectiveFrom), (*moment)(&r.CreatedAt), (*moment)(&t.next))
	if err != nil {
		return err
	}
	if !b.CreatedAt.IsZero() {
		b.CompanyID, b.Version = t.CompanyID, t.BrandingVersion
	}
	if r.ID == uuid.Nil {
		return nil
	}
	r.CompanyID = t.CompanyID
	if r.Rate, err = money.ParseRate(string(value), money.Unit(unit)); err != nil {
		return fmt.Errorf("commission rate %s: %w", r.ID, err)
	}
	return nil
}

// SaleTerms finds the terms of sales, in one statement.
func (s *session) SaleTerms(
	ctx context.Context, refs []driver.SaleTermsRef, at time.Time,
) ([]driver.SaleTerms, error) {
	return findByRefs(refs, func(t driver.SaleTerms) driver.SaleTermsRef { return t.SaleTermsRef },
		func(refs []driver.SaleTermsRef) ([]driver.SaleTerms, error) {
			moment := at.UnixMilli()
			found, err := queryRefs(ctx, s, refs, refsQuery[driver.SaleTermsRef, lastingTerms]{
				name: "SaleTerms", at: moment, scan: scanTerms, text: "?",
				value: func(refs []driver.SaleTermsRef) fragment {
					return terms{at: moment, next: s.ahead.recalls, of: newSet("company_id, id, version", refs,
						func(r driver.SaleTermsRef) []any { return []any{r.CompanyID, r.ID, r.BrandingVersion} })}
				},
				memory: &s.store.memory.terms,
			})
			records := make([]driver.SaleTerms, len(found))
			for i := range found {
				records[i] = found[i].SaleTerms
			}
			return records, err
		})
}

// terms is a fragment: the statement that finds the terms for the rows of a set of company_id, id and version. With
// next it also finds from when the next rate is effective.
type terms struct {
	at   int64
	next bool
	of   set
}

func (t terms) appendTo(to *builder) { to.engine.appendTerms(to, t) }
