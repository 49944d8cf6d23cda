package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// soldOrders returns orders by number, without their buyers.
func (o *orders) soldOrders(query driver.SoldQuery) []driver.Order {
	of, ok := o.ofCompany[query.CompanyID]
	if !ok {
		return nil
	}
	numbers := of.all.after(query.After.Number, query.Limit)
	if end := slices.IndexFunc(numbers, func(n int64) bool { return query.Last != 0 && n > query.Last }); end >= 0 {
		numbers = numbers[:end]
	}
	return each(numbers, func(number int64) driver.Order {
		order := o.byNumber[driver.OrderNumber{CompanyID: query.CompanyID, Number: number}]
		order.BuyerEmail, order.BuyerFullname, order.BuyerPhone = "", "", ""
		return order
	})
}

// soldAdmissions returns admissions by order and line, without the fields that the books do not need. Their orders may
// be missing.
func (o *orders) soldAdmissions(query driver.SoldQuery) []driver.Admission {
	numbers, ok := o.withLines[query.CompanyID]
	if !ok {
		return nil
	}
	var sold []driver.Admission
	from, _ := numbers.search(query.After.Number)
	for _, number := range numbers.keys[from:] {
		if query.Last != 0 && number > query.Last {
			break
		}
		for _, admission := range o.linesOf(driver.OrderNumber{CompanyID: query.CompanyID, Number: number}) {
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

func (r reading) ListSoldOrders(ctx context.Context, query driver.SoldQuery) ([]driver.Order, error) {
	return ask(ctx, r, func(s *state) []driver.Order { return s.orders.soldOrders(query) })
}

func (r reading) ListSoldAdmissions(
	ctx context.Context, query driver.SoldQuery,
) ([]driver.Admission, error) {
	return ask(ctx, r, func(s *state) []driver.Admission { return s.orders.soldAdmissions(query) })
}

// ListSubjects reads every spent key. Only the verification of the books calls it.
func (r reading) ListSubjects(ctx context.Context, query driver.SubjectQuery) ([]driver.KeySubject, error) {
	return ask(ctx, r, func(s *state) []driver.KeySubject {
		var keys []driver.KeySubject
		for ref, result := range s.results.byRef {
			if ref.CompanyID == query.CompanyID && ref.Operation == query.Operation && ref.Key > query.After &&
				result.Outcome == query.Outcome {
				keys = append(keys, driver.KeySubject{Key: ref.Key, Subject: result.Subject})
			}
		}
		slices.SortFunc(keys, func(a, b driver.KeySubject) int { return strings.Compare(a.Key, b.Key) })
		return keys[:min(max(query.Limit, 0), len(keys))]
	})
}

func (r reading) UnindexedOrders(ctx context.Context, query driver.UnindexedQuery) ([]uuid.UUID, error) {
	return ask(ctx, r, func(s *state) []uuid.UUID {
		of, ok := s.orders.ofCompany[query.CompanyID]
		if !ok {
			return nil
		}
		var missing []uuid.UUID
		for _, number := range of.all.keys {
			order := s.orders.byNumber[driver.OrderNumber{CompanyID: query.CompanyID, Number: number}]
			if number <= query.Above || number > query.Through ||
				!query.Before.IsZero() && !order.ConfirmedAt.Before(moment(query.Before)) {
				continue
			}
			entries, ok := s.sales.ofBuyer[driver.BuyerRef{CompanyID: order.CompanyID, Email: order.BuyerEmail}]
			if ok {
				_, ok = entries.search(number)
			}
			if !ok {
				missing = append(missing, order.ID)
			}
		}
		return missing
	})
}

// OrphanCompanies reads every record. Only the verification of the books calls it.
func (r reading) OrphanCompanies(ctx context.Context, limit int) ([]uuid.UUID, error) {
	return ask(ctx, r, func(s *state) []uuid.UUID {
		named := make(map[uuid.UUID]bool)
		for ref := range s.orders.byNumber {
			named[ref.CompanyID] = true
		}
		for ref := range s.orders.admissions {
			named[ref.CompanyID] = true
		}
		for ref := range s.endings.byNumber {
			named[ref.CompanyID] = true
		}
		for ref, entries := range s.wallets.entries {
			if len(*entries) > 0 {
				named[ref.CompanyID] = true
			}
		}
		for ref := range s.wallets.byRef {
			named[ref.CompanyID] = true
		}
		for ref := range s.wallets.credits {
			named[ref.companyID] = true
		}
		for _, of := range s.settlements.byID {
			named[of.CompanyID] = true
		}
		for ref := range s.results.byRef {
			named[ref.CompanyID] = true
		}
		var strays []uuid.UUID
		for id := range named {
			if _, known := s.companies.byID[id]; !known {
				strays = append(strays, id)
			}
		}
		slices.SortFunc(strays, compareIDs)
		return strays[:min(max(limit, 0), len(strays))]
	})
}
