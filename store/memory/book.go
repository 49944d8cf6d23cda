package memory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// soldOrders are orders by number, without their buyers.
func (o *orders) soldOrders(query ticketing.SoldQuery) []ticketing.OrderRecord {
	of, ok := o.ofCompany[query.CompanyID]
	if !ok {
		return nil
	}
	numbers := of.all.after(query.After.Number, query.Limit)
	if end := slices.IndexFunc(numbers, func(n int64) bool { return query.Last != 0 && n > query.Last }); end >= 0 {
		numbers = numbers[:end]
	}
	return each(numbers, func(number int64) ticketing.OrderRecord {
		order := o.byNumber[ticketing.OrderNumber{CompanyID: query.CompanyID, Number: number}]
		order.BuyerEmail, order.BuyerFullname, order.BuyerPhone = "", "", ""
		return order
	})
}

// soldAdmissions are admissions by order and line, without what the books do not tell. Their orders may be missing.
func (o *orders) soldAdmissions(query ticketing.SoldQuery) []ticketing.AdmissionRecord {
	numbers, ok := o.withLines[query.CompanyID]
	if !ok {
		return nil
	}
	var sold []ticketing.AdmissionRecord
	from, _ := numbers.search(query.After.Number)
	for _, number := range numbers.keys[from:] {
		if query.Last != 0 && number > query.Last {
			break
		}
		for _, admission := range o.linesOf(ticketing.OrderNumber{CompanyID: query.CompanyID, Number: number}) {
			if len(sold) >= query.Limit {
				return sold
			}
			if number == query.After.Number && admission.Line <= query.After.Line {
				continue
			}
			admission.LineID, admission.Title, admission.Location = uuid.Nil, "", ""
			sold = append(sold, admission)
		}
	}
	return sold
}

func (r reading) ListSoldOrders(ctx context.Context, query ticketing.SoldQuery) ([]ticketing.OrderRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.OrderRecord { return s.orders.soldOrders(query) })
}

func (r reading) ListSoldAdmissions(
	ctx context.Context, query ticketing.SoldQuery,
) ([]ticketing.AdmissionRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.AdmissionRecord { return s.orders.soldAdmissions(query) })
}

func (r reading) FloatCredits(
	ctx context.Context, companyID uuid.UUID, references []string,
) ([]ticketing.FloatCreditRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.FloatCreditRecord {
		return each(references, func(reference string) ticketing.FloatCreditRecord {
			return s.wallets.credits[creditRef{companyID, reference}]
		})
	})
}

// CountResults looks at every spent key: only the verification of books asks.
func (r reading) CountResults(
	ctx context.Context, companyID uuid.UUID, operation, outcome string,
) (int64, error) {
	return ask(ctx, r, func(s *state) (count int64) {
		for _, times := range s.results.subjects(companyID, operation, outcome) {
			count += times
		}
		return count
	})
}

func (r reading) RepeatedSubjects(
	ctx context.Context, companyID uuid.UUID, operation, outcome string, limit int,
) ([]uuid.UUID, error) {
	return ask(ctx, r, func(s *state) []uuid.UUID {
		var repeated []uuid.UUID
		for subject, times := range s.results.subjects(companyID, operation, outcome) {
			if times > 1 {
				repeated = append(repeated, subject)
			}
		}
		slices.SortFunc(repeated, compareIDs)
		return repeated[:min(max(limit, 0), len(repeated))]
	})
}

// subjects are what the spent keys of an operation name that had an outcome, and how often.
func (r *results) subjects(companyID uuid.UUID, operation, outcome string) map[uuid.UUID]int64 {
	named := make(map[uuid.UUID]int64)
	for ref, result := range r.byRef {
		if ref.CompanyID == companyID && ref.Operation == operation && result.Outcome == outcome {
			named[result.Subject]++
		}
	}
	return named
}
