package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func findChecks() []Check {
	return []Check{
		{"find/an id is found among every kind", grounded(recordsFound)},
		{"find/members of a company, and those of all up to the limit", grounded(membersFound)},
		{"find/events by the beginning of their titles", grounded(eventsSearched)},
		{"find/orders of an email in all companies, by the index alone", grounded(buyerOrdersFound)},
		{"find/fundings of a reference in all companies", grounded(floatCreditsFound)},
	}
}

// recordKinds returns every kind, in the order in which records are found.
func recordKinds() []driver.RecordKind {
	return []driver.RecordKind{
		driver.RecordCompany, driver.RecordEvent, driver.RecordOrder, driver.RecordAdmission, driver.RecordAPIKey,
		driver.RecordWebhookEndpoint, driver.RecordDelivery, driver.RecordSettlement, driver.RecordRate,
		driver.RecordMember, driver.RecordStaff,
	}
}

func recordsFound(ctx context.Context, s driver.Store) error {
	order, admission := newOrder(eventA, 1), newAdmission(eventA, 1, 1)
	key, endpoint, delivery := newAPIKey(companyA, 10, at(0)), newEndpoint(companyA, 1), newDelivery(companyA, 11, at(0))
	settlement := newSettlement(companyA, 1, driver.SettlementPending)
	rate := newRate(companyA, 14, 1, at(0))
	user, removed := newUser(12, "ada@example.com"), newUser(13, "bob@example.com")
	create := func(ctx context.Context, tx driver.Tx) error {
		return steps(
			func() error { return tx.AppendOrders(ctx, []driver.Order{order}) },
			func() error { return tx.AppendAdmissions(ctx, []driver.Admission{admission}) },
			func() error { return tx.CreateAPIKey(ctx, key) },
			func() error { return tx.CreateWebhookEndpoint(ctx, endpoint) },
			func() error { return tx.AppendDeliveries(ctx, []driver.Delivery{delivery}) },
			func() error { return accounted(ctx, tx) },
			func() error { return tx.CreateSettlement(ctx, settlement) },
			func() error { return tx.AppendRate(ctx, rate) },
			func() error { return tx.CreateUser(ctx, user) },
			func() error { return tx.CreateUser(ctx, removed) },
			func() error { return tx.PutMember(ctx, newMember(companyA, 12, driver.RoleViewer)) },
			func() error { return tx.PutMember(ctx, newMember(companyA, 13, "")) },
			func() error { return tx.PutStaffMember(ctx, newStaffMember(12, driver.StaffAuditor)) },
			func() error { return tx.PutStaffMember(ctx, newStaffMember(13, "")) },
		)
	}
	if err := steps(
		func() error { return failing(ctx, s, create) },
		func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want("after an Update that failed", []driver.FoundRecord{}).
					from(tx.FindRecords(ctx, driver.RecordQuery{ID: order.ID, Kinds: recordKinds(), Members: 9}))
			})
		},
		func() error { return update(ctx, s, create) },
	); err != nil {
		return err
	}
	in := func(company uuid.UUID, kinds ...driver.RecordKind) []driver.FoundRecord {
		var found []driver.FoundRecord
		for _, kind := range kinds {
			found = append(found, driver.FoundRecord{Kind: kind, CompanyID: company})
		}
		return found
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for _, test := range []struct {
			id    uuid.UUID
			found []driver.FoundRecord
		}{
			{companyA, in(companyA, driver.RecordCompany)},
			{eventA.ID, in(companyA, driver.RecordEvent)},
			{order.ID, in(companyA, driver.RecordOrder)},
			{admission.ID, in(companyA, driver.RecordAdmission)},
			{key.ID, in(companyA, driver.RecordAPIKey)},
			{endpoint.ID, in(companyA, driver.RecordWebhookEndpoint)},
			{delivery.ID, in(companyA, driver.RecordDelivery)},
			{settlement.ID, in(companyA, driver.RecordSettlement)},
			{user.ID, append(in(companyA, driver.RecordMember), in(uuid.Nil, driver.RecordStaff)...)},
			{removed.ID, nil},
			{admission.LineID, nil},
			{uuid.Nil, nil},
		} {
			query := driver.RecordQuery{ID: test.id, Kinds: recordKinds(), Members: 9}
			what := fmt.Sprintf("%s %v", test.id, test.found)
			if err := want(what, test.found).from(tx.FindRecords(ctx, query)); err != nil {
				return err
			}
			// The other way round: each kind alone finds its own record.
			for _, kind := range recordKinds() {
				query.Kinds = []driver.RecordKind{kind}
				own := slices.DeleteFunc(slices.Clone(test.found), func(r driver.FoundRecord) bool { return r.Kind != kind })
				if err := want(what+" as "+string(kind), own).from(tx.FindRecords(ctx, query)); err != nil {
					return err
				}
			}
			for _, company := range []uuid.UUID{companyA, companyB} {
				query.Kinds, query.CompanyID = recordKinds(), company
				own := slices.DeleteFunc(slices.Clone(test.found), func(r driver.FoundRecord) bool {
					return r.CompanyID != company
				})
				if err := want(what+" in "+company.String(), own).from(tx.FindRecords(ctx, query)); err != nil {
					return err
				}
			}
			query.Kinds = nil
			if err := want(what+" as no kind", []driver.FoundRecord{}).from(tx.FindRecords(ctx, query)); err != nil {
				return err
			}
		}
		// A rate is found in its company only, and among all companies not at all.
		for company, found := range map[uuid.UUID][]driver.FoundRecord{
			companyA: in(companyA, driver.RecordRate), companyB: {}, uuid.Nil: {},
		} {
			query := driver.RecordQuery{ID: rate.ID, Kinds: recordKinds(), CompanyID: company, Members: 9}
			if err := want("a rate in "+company.String(), found).from(tx.FindRecords(ctx, query)); err != nil {
				return err
			}
		}
		return nil
	})
}

func membersFound(ctx context.Context, s driver.Store) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return steps(
			func() error { return tx.CreateUser(ctx, newUser(10, "ada@example.com")) },
			func() error { return tx.PutMember(ctx, newMember(companyB, 10, driver.RoleOwner)) },
			func() error { return tx.PutMember(ctx, newMember(companyA, 10, driver.RoleViewer)) },
		)
	})
	if err != nil {
		return err
	}
	of := func(companies ...uuid.UUID) []driver.FoundRecord {
		var found []driver.FoundRecord
		for _, company := range companies {
			found = append(found, driver.FoundRecord{Kind: driver.RecordMember, CompanyID: company})
		}
		return found
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for _, test := range []struct {
			company uuid.UUID
			limit   int
			found   []driver.FoundRecord
		}{
			{uuid.Nil, 9, of(companyA, companyB)},
			{uuid.Nil, 1, of(companyA)},
			{uuid.Nil, 0, nil},
			{companyB, 1, of(companyB)},
			{id(99), 9, nil},
		} {
			what := fmt.Sprintf("%d in %s", test.limit, test.company)
			err := want(what, test.found).from(tx.FindRecords(ctx, driver.RecordQuery{
				ID: id(10), Kinds: recordKinds(), CompanyID: test.company, Members: test.limit,
			}))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func eventsSearched(ctx context.Context, s driver.Store) error {
	titles := []string{
		"Jazz Night", "jazz night", "JAZZ", "Ja", "Jb", "_azz", "%azz", "Ọjà", "ọjà", "J\U0010FFFFx",
		strings.Repeat("é", driver.FoldedNameLength) + "b", strings.Repeat("é", driver.FoldedNameLength) + "A",
		strings.Repeat("é", driver.FoldedNameLength-1),
	}
	events := make([]driver.Event, 0, 2*len(titles))
	for i, title := range titles {
		for _, company := range []uuid.UUID{companyA, companyB} {
			event := newEvent(driver.EventRef{CompanyID: company, ID: id(100 + (7*len(events))%(2*len(titles)+1))})
			event.Title = title
			if i == 0 {
				event.Title = "Other" // Its title changes.
			}
			events = append(events, event)
		}
	}
	renamed := slices.Clone(events[:2])
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, event := range events {
			if err := tx.CreateEvent(ctx, event); err != nil {
				return err
			}
		}
		for i := range renamed {
			renamed[i].Title = titles[0]
			if err := tx.UpdateEvent(ctx, renamed[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	copy(events, renamed)
	slices.SortFunc(events, func(a, b driver.Event) int {
		if c := compareText(driver.FoldedName(a.Title), driver.FoldedName(b.Title)); c != 0 {
			return c
		}
		return slices.Compare(a.ID[:], b.ID[:])
	})
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for _, prefix := range []string{
			"jazz", "jazz night", "jazz nights", "j", "other", "_", "%", "ọ", "Ọ", "j\U0010FFFF", "\U0010FFFF",
			strings.Repeat("é", driver.FoldedNameLength),
		} {
			for _, company := range []uuid.UUID{uuid.Nil, companyA, companyB, id(99)} {
				own := slices.DeleteFunc(slices.Clone(events), func(event driver.Event) bool {
					return company != uuid.Nil && event.CompanyID != company ||
						!strings.HasPrefix(driver.FoldedName(event.Title), prefix)
				})
				for _, limit := range []int{0, 2, len(events)} {
					what := fmt.Sprintf("%d of %s with %q", limit, company, prefix)
					err := want(what, own[:min(limit, len(own))]).
						from(tx.SearchEvents(ctx, driver.EventSearch{CompanyID: company, Prefix: prefix, Limit: limit}))
					if err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

func buyerOrdersFound(ctx context.Context, s driver.Store) error {
	orders, err := boughtBy(ctx, s, emailOfAda, emailOfBob, emailOfAda, emailOfAda)
	if err != nil {
		return err
	}
	other := newOrder(eventB, 1)
	other.BuyerEmail = emailOfAda
	entry := func(company uuid.UUID, email string, number int64) driver.BuyerOrder {
		return driver.BuyerOrder{CompanyID: company, Email: email, Number: number}
	}
	lists := func(what string, after driver.OrderNumber, limit int, listed ...driver.Order) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want(what, listed).from(tx.FindBuyerOrders(ctx, emailOfAda, after, limit))
			})
		}
	}
	var begin driver.OrderNumber
	return steps(
		lists("before there is an entry", begin, 9),
		func() error {
			return update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.PutBuyerOrders(ctx, []driver.BuyerOrder{
					// The search skips an entry of an order that is not the buyer's.
					entry(companyA, emailOfAda, 1), entry(companyA, emailOfAda, 2), entry(companyA, emailOfBob, 2),
					entry(companyA, emailOfAda, 4), entry(companyB, emailOfAda, 1),
				})
			})
		},
		lists("with entries", begin, 9, other, orders[3], orders[0]),
		lists("the first", begin, 1, other),
		lists("none", begin, 0),
		lists("after a company", driver.OrderNumber{CompanyID: companyB}, 9, orders[3], orders[0]),
		lists("after an order", driver.OrderNumber{CompanyID: companyA, Number: 4}, 9, orders[0]),
		lists("after all", driver.OrderNumber{CompanyID: companyA}, 9),
		func() error {
			return update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.DeleteBuyerOrders(ctx, driver.BuyerRef{CompanyID: companyA, Email: emailOfAda}, []int64{4})
			})
		},
		lists("after a removal", begin, 9, other, orders[0]),
	)
}

func floatCreditsFound(ctx context.Context, s driver.Store) error {
	const reference = "PSK/2026:~1"
	first, second := newFloatCredit(companyA, reference), newFloatCredit(companyB, reference)
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return steps(
			func() error { return tx.AppendFloatCredit(ctx, second) },
			func() error { return tx.AppendFloatCredit(ctx, newFloatCredit(companyA, "psk/2026:~1")) },
			func() error { return tx.AppendFloatCredit(ctx, first) },
		)
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return steps(
			func() error {
				return want("of all", []driver.FloatCredit{first, second}).from(tx.FindFloatCredits(ctx, reference, 9))
			},
			func() error {
				return want("the first", []driver.FloatCredit{first}).from(tx.FindFloatCredits(ctx, reference, 1))
			},
			func() error {
				return want("a part of it", []driver.FloatCredit{}).from(tx.FindFloatCredits(ctx, reference[:9], 9))
			},
		)
	})
}
