package storetest_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func brokenFinds() []broken {
	return []broken{
		{
			"finds records of any company", "find/an id is found among every kind",
			reading(func(tx driver.ReadTx) driver.ReadTx { return anyCompany{tx} }),
		},
		{
			"finds the memberships of a user that come first", "find/members of a company, and those of all up to the limit",
			reading(func(tx driver.ReadTx) driver.ReadTx { return firstMembership{tx} }),
		},
		{
			"finds titles by their first letter", "find/events by the beginning of their titles",
			reading(func(tx driver.ReadTx) driver.ReadTx { return oneLetter{tx} }),
		},
		{
			"finds orders from the beginning", "find/orders of an email in all companies, by the index alone",
			reading(func(tx driver.ReadTx) driver.ReadTx { return fromTheBeginning{tx} }),
		},
		{
			"finds every funding", "find/fundings of a reference in all companies",
			reading(func(tx driver.ReadTx) driver.ReadTx { return anyLimit{tx} }),
		},
		{
			"finds the newest entry of the audit log by any id", "audit/list is in order and in pages",
			reading(func(tx driver.ReadTx) driver.ReadTx { return newestEntry{tx} }),
		},
	}
}

type anyCompany struct{ driver.ReadTx }

func (a anyCompany) FindRecords(ctx context.Context, query driver.RecordQuery) ([]driver.FoundRecord, error) {
	query.CompanyID = uuid.Nil
	return a.ReadTx.FindRecords(ctx, query)
}

type firstMembership struct{ driver.ReadTx }

func (f firstMembership) FindRecords(
	ctx context.Context, query driver.RecordQuery,
) ([]driver.FoundRecord, error) {
	company := query.CompanyID
	query.CompanyID = uuid.Nil
	found, err := f.ReadTx.FindRecords(ctx, query)
	var own []driver.FoundRecord
	for _, record := range found {
		if company == uuid.Nil || record.CompanyID == company {
			own = append(own, record)
		}
	}
	return own, err
}

type oneLetter struct{ driver.ReadTx }

func (a oneLetter) SearchEvents(ctx context.Context, search driver.EventSearch) ([]driver.Event, error) {
	search.Prefix = search.Prefix[:1]
	return a.ReadTx.SearchEvents(ctx, search)
}

type fromTheBeginning struct{ driver.ReadTx }

func (f fromTheBeginning) FindBuyerOrders(
	ctx context.Context, email string, _ driver.OrderNumber, limit int,
) ([]driver.Order, error) {
	return f.ReadTx.FindBuyerOrders(ctx, email, driver.OrderNumber{}, limit)
}

type anyLimit struct{ driver.ReadTx }

func (a anyLimit) FindFloatCredits(
	ctx context.Context, reference string, _ int,
) ([]driver.FloatCredit, error) {
	return a.ReadTx.FindFloatCredits(ctx, reference, 100)
}

type newestEntry struct{ driver.ReadTx }

func (n newestEntry) FindAuditEntry(ctx context.Context, id uuid.UUID) (driver.AuditEntry, error) {
	found, err := n.ReadTx.FindAuditEntry(ctx, id)
	if err != nil || found.ID == uuid.Nil {
		return found, err
	}
	all, err := n.ListAudit(ctx, driver.AuditQuery{Limit: 1})
	if err != nil || len(all) == 0 {
		return driver.AuditEntry{}, err
	}
	return all[0], nil
}
