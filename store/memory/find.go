package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// FindRecords looks in every company for a record whose key begins with the company.
func (r reading) FindRecords(ctx context.Context, query driver.RecordQuery) ([]driver.FoundRecord, error) {
	return ask(ctx, r, func(s *state) []driver.FoundRecord {
		var found []driver.FoundRecord
		add := func(kind driver.RecordKind, companies ...uuid.UUID) {
			if !slices.Contains(query.Kinds, kind) {
				return
			}
			for _, company := range companies {
				if query.CompanyID == uuid.Nil || company == query.CompanyID {
					found = append(found, driver.FoundRecord{Kind: kind, CompanyID: company})
				}
			}
		}
		one := func(kind driver.RecordKind, company uuid.UUID) {
			if company != uuid.Nil {
				add(kind, company)
			}
		}
		id := query.ID
		one(driver.RecordCompany, s.companies.byID[id].ID)
		one(driver.RecordEvent, s.events.byID[id].CompanyID)
		for company := range s.orders.ofCompany {
			if _, ok := s.orders.byID[driver.OrderRef{CompanyID: company, ID: id}]; ok {
				add(driver.RecordOrder, company)
			}
		}
		for company := range s.orders.withLines {
			if _, ok := s.orders.admissions[driver.AdmissionRef{CompanyID: company, ID: id}]; ok {
				add(driver.RecordAdmission, company)
			}
		}
		one(driver.RecordAPIKey, s.apiKeys.find(id).CompanyID)
		one(driver.RecordWebhookEndpoint, s.endpoints.byID[id].CompanyID)
		one(driver.RecordDelivery, s.deliveries.byID[id].CompanyID)
		one(driver.RecordSettlement, s.settlements.byID[id].CompanyID)
		if rate, ok := s.commissions.byRef[driver.RateRef{CompanyID: query.CompanyID, ID: id}]; ok {
			add(driver.RecordRate, rate.CompanyID)
		}
		if of, ok := s.people.companies[id]; ok {
			members := of.keys
			if query.CompanyID != uuid.Nil {
				members = slices.DeleteFunc(slices.Clone(members), func(c uuid.UUID) bool { return c != query.CompanyID })
			}
			add(driver.RecordMember, members[:min(max(query.Members, 0), len(members))]...)
		}
		if s.signIns.staff[id].Role != "" {
			add(driver.RecordStaff, uuid.Nil)
		}
		return found
	})
}

// SearchEvents sorts all events.
func (r reading) SearchEvents(ctx context.Context, search driver.EventSearch) ([]driver.Event, error) {
	return ask(ctx, r, func(s *state) []driver.Event {
		var found []driver.Event
		for _, event := range s.events.byID {
			if (search.CompanyID == uuid.Nil || event.CompanyID == search.CompanyID) &&
				strings.HasPrefix(driver.FoldedName(event.Title), search.Prefix) {
				found = append(found, s.events.find(event.ID))
			}
		}
		slices.SortFunc(found, func(a, b driver.Event) int {
			return cmp.Or(strings.Compare(driver.FoldedName(a.Title), driver.FoldedName(b.Title)), compareIDs(a.ID, b.ID))
		})
		return found[:min(max(search.Limit, 0), len(found))]
	})
}

// FindBuyerOrders collects the entries of the email in the index of buyers, from all companies.
func (r reading) FindBuyerOrders(
	ctx context.Context, email string, after driver.OrderNumber, limit int,
) ([]driver.Order, error) {
	compare := func(a, b driver.OrderNumber) int {
		return cmp.Or(compareIDs(b.CompanyID, a.CompanyID), cmp.Compare(b.Number, a.Number))
	}
	return ask(ctx, r, func(s *state) []driver.Order {
		var entries []driver.OrderNumber
		for buyer, of := range s.sales.ofBuyer {
			if buyer.Email != email {
				continue
			}
			for _, number := range of.keys {
				entry := driver.OrderNumber{CompanyID: buyer.CompanyID, Number: number}
				if after == (driver.OrderNumber{}) || compare(after, entry) < 0 {
					entries = append(entries, entry)
				}
			}
		}
		slices.SortFunc(entries, compare)
		var found []driver.Order
		for _, entry := range entries[:min(max(limit, 0), len(entries))] {
			if order := s.orders.byNumber[entry]; order.BuyerEmail == email {
				found = append(found, order)
			}
		}
		return found
	})
}

func (r reading) FindFloatCredits(
	ctx context.Context, reference string, limit int,
) ([]driver.FloatCredit, error) {
	return ask(ctx, r, func(s *state) []driver.FloatCredit {
		var found []driver.FloatCredit
		for ref, credit := range s.wallets.credits {
			if ref.reference == reference {
				found = append(found, credit)
			}
		}
		slices.SortFunc(found, func(a, b driver.FloatCredit) int { return compareIDs(a.CompanyID, b.CompanyID) })
		return found[:min(max(limit, 0), len(found))]
	})
}
