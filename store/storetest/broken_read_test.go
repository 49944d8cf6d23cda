package storetest_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

func brokenReads() []broken {
	return []broken{
		{"takes any settlement for an open one", "settlements/one is open at a time", writing(func(tx driver.Tx) driver.Tx {
			return alwaysOpen{tx}
		})},
		{
			"finds the orders of everybody", "orders/those of a buyer, in a part of the list",
			reading(func(tx driver.ReadTx) driver.ReadTx { return everyBuyer{tx} }),
		},
		{
			"counts what went back as sold", "order endings/what went back is counted",
			reading(func(tx driver.ReadTx) driver.ReadTx { return unreturned{tx} }),
		},
		{
			"takes the last bank account for the current one", "bank accounts/the highest version is current",
			reading(func(tx driver.ReadTx) driver.ReadTx { return firstAccount{tx} }),
		},
		{
			"lists bank accounts of the key", "bank accounts/current ones of another key are listed",
			reading(func(tx driver.ReadTx) driver.ReadTx { return anyKey{tx} }),
		},
		{"leaves gaps out of answers", "companies/answers are aligned", reading(func(tx driver.ReadTx) driver.ReadTx {
			return gapless{tx}
		})},
		{
			"answers in the order of ids", "admissions/answers are aligned and of their company",
			reading(func(tx driver.ReadTx) driver.ReadTx { return sorting{tx} }),
		},
		{
			"answers in local time", "values/times are kept in UTC with milliseconds",
			reading(func(tx driver.ReadTx) driver.ReadTx { return local{tx} }),
		},
		{
			"finds other companies' keys", "api keys/answers are aligned and of their company",
			reading(func(tx driver.ReadTx) driver.ReadTx { return boundless{tx} }),
		},
		{
			"orders without case", "inventory/tiers are in order and of their event",
			reading(func(tx driver.ReadTx) driver.ReadTx { return caseless{tx} }),
		},
		{
			"lists no batch that is sold out", "inventory/all batches in order",
			reading(func(tx driver.ReadTx) driver.ReadTx { return openOnly{tx} }),
		},
		{
			"sums no cancelled admissions", "inventory/batches are summed",
			reading(func(tx driver.ReadTx) driver.ReadTx { return openSummed{tx} }),
		},
		{
			"counts no cancelled admissions", "inventory/events are counted",
			reading(func(tx driver.ReadTx) driver.ReadTx { return cancelledLeftOut{tx} }),
		},
		{
			"counts events of the first company alone", "inventory/events are counted",
			reading(func(tx driver.ReadTx) driver.ReadTx { return firstOnly{tx} }),
		},
		{
			"reads prices of the first event alone", "inventory/prices of many events",
			reading(func(tx driver.ReadTx) driver.ReadTx { return firstPriced{tx} }),
		},
		{
			"takes no tiers for all", "inventory/tiers are in order and of their event",
			reading(func(tx driver.ReadTx) driver.ReadTx { return allTiers{tx} }),
		},
		{"lists the oldest first", "events/list is in order and in pages", reading(func(tx driver.ReadTx) driver.ReadTx {
			return oldestFirst{tx}
		})},
		{"repeats the last of a page", "ledger/list is in order and in pages", reading(func(tx driver.ReadTx) driver.ReadTx {
			return repeating{tx}
		})},
		{
			"leaves gaps out of entries", "ledger/entries are found by sequence",
			reading(func(tx driver.ReadTx) driver.ReadTx { return gaplessEntries{tx} }),
		},
		{
			"filters entries after cutting the page", "ledger/entries of some kinds are newest first and in pages",
			reading(func(tx driver.ReadTx) driver.ReadTx { return cutKinds{tx} }),
		},
		{
			"filters by the first status alone", "orders/list is in order and in pages under every filter",
			reading(func(tx driver.ReadTx) driver.ReadTx { return firstStatus{tx} }),
		},
		{
			"filters a page after cutting it", "orders/list is in order and in pages under every filter",
			reading(func(tx driver.ReadTx) driver.ReadTx { return cutFirst{tx} }),
		},
		{"takes the first created of one time", "rates/the effective one", reading(func(tx driver.ReadTx) driver.ReadTx {
			return firstCreated{tx}
		})},
		{"takes a rate before its time", "rates/the effective one", reading(func(tx driver.ReadTx) driver.ReadTx {
			return hasty{tx}
		})},
		{
			"lists members who were removed", "members/roles change, and a member who was removed is listed no more",
			reading(func(tx driver.ReadTx) driver.ReadTx { return attached{tx} }),
		},
		{"finds users whatever the case", "users/answers are aligned", reading(func(tx driver.ReadTx) driver.ReadTx {
			return lenient{tx}
		})},
		{
			"lists the oldest case first", "verification cases/list is in order and of its company",
			reading(func(tx driver.ReadTx) driver.ReadTx { return oldestCase{tx} }),
		},
		{"lists everybody's acts", "audit/list is in order and in pages", reading(func(tx driver.ReadTx) driver.ReadTx {
			return indiscreet{tx}
		})},
		{"lists acts of one time twice", "audit/list is in order and in pages", reading(func(tx driver.ReadTx) driver.ReadTx {
			return byTimeAlone{tx}
		})},
		{
			"finds the newest of the first company alone", "audit/the newest of companies",
			reading(func(tx driver.ReadTx) driver.ReadTx { return firstOnly{tx} }),
		},
		{
			"lists the acts of every actor", "audit/list is in order and in pages under every filter",
			reading(func(tx driver.ReadTx) driver.ReadTx { return anyActor{tx} }),
		},
		{
			"lists acts of every kind", "audit/list is in order and in pages under every filter",
			reading(func(tx driver.ReadTx) driver.ReadTx { return anyAction{tx} }),
		},
		{
			"lists acts before the span", "audit/list is in order and in pages under every filter",
			reading(func(tx driver.ReadTx) driver.ReadTx { return sinceEver{tx} }),
		},
		{
			"lists acts at the end of the span", "audit/list is in order and in pages under every filter",
			reading(func(tx driver.ReadTx) driver.ReadTx { return untilAfter{tx} }),
		},
		{
			"forgets the span on a later page", "audit/list is in order and in pages under every filter",
			reading(func(tx driver.ReadTx) driver.ReadTx { return afterAlone{tx} }),
		},
		{
			"lists the first version first", "brandings/list is in order and in pages",
			reading(func(tx driver.ReadTx) driver.ReadTx { return firstVersions{tx} }),
		},
		{
			"begins a page with the last version", "brandings/list is in order and in pages",
			reading(func(tx driver.ReadTx) driver.ReadTx { return versionTwice{tx} }),
		},
		{
			"begins a page with the last order of the one before", "books/sold orders are in order and in pages",
			reading(func(tx driver.ReadTx) driver.ReadTx { return sellingTwice{tx} }),
		},
		{
			"begins a page with the next order", "books/sold admissions are in order and in pages",
			reading(func(tx driver.ReadTx) driver.ReadTx { return byOrderAlone{tx} }),
		},
		{
			"answers with what it finds alone", "books/fundings are aligned and of their company",
			reading(func(tx driver.ReadTx) driver.ReadTx { return found{tx} }),
		},
		{
			"counts every outcome", "books/spent keys are listed by their outcome",
			reading(func(tx driver.ReadTx) driver.ReadTx { return undiscerning{tx} }),
		},
		{
			"takes every company for one that is there", "books/records of no company are found",
			reading(func(tx driver.ReadTx) driver.ReadTx { return trusting{tx} }),
		},
		{
			"sells under a rate before its time", "terms/are those of the calls they spare",
			reading(func(tx driver.ReadTx) driver.ReadTx { return hastyTerms{tx} }),
		},
		{
			"sells events of other companies", "terms/are those of the calls they spare",
			reading(func(tx driver.ReadTx) driver.ReadTx { return foreignTerms{tx} }),
		},
		{
			"sells under one look for all", "terms/are those of the calls they spare",
			reading(func(tx driver.ReadTx) driver.ReadTx { return oneLook{tx} }),
		},
		{"hands out what it keeps", "copies/what is handed out may be changed", handsOut},
	}
}

type sellingTwice struct{ driver.ReadTx }

func (s sellingTwice) ListSoldOrders(
	ctx context.Context, query driver.SoldQuery,
) ([]driver.Order, error) {
	query.After.Number--
	return s.ReadTx.ListSoldOrders(ctx, query)
}

type byOrderAlone struct{ driver.ReadTx }

func (b byOrderAlone) ListSoldAdmissions(
	ctx context.Context, query driver.SoldQuery,
) ([]driver.Admission, error) {
	query.After = driver.SoldPlace{Number: query.After.Number + 1}
	return b.ReadTx.ListSoldAdmissions(ctx, query)
}

type found struct{ driver.ReadTx }

func (f found) FloatCredits(
	ctx context.Context, companyID uuid.UUID, references []string,
) ([]driver.FloatCredit, error) {
	credits, err := f.ReadTx.FloatCredits(ctx, companyID, references)
	return slices.DeleteFunc(credits, func(c driver.FloatCredit) bool { return c.Sequence == 0 }), err
}

type undiscerning struct{ driver.ReadTx }

func (u undiscerning) ListSubjects(
	ctx context.Context, query driver.SubjectQuery,
) ([]driver.KeySubject, error) {
	keys, err := u.ReadTx.ListSubjects(ctx, query)
	if err != nil {
		return nil, err
	}
	query.Outcome = "ALREADY_VALIDATED"
	again, err := u.ReadTx.ListSubjects(ctx, query)
	return append(keys, again...), err
}

type trusting struct{ driver.ReadTx }

func (trusting) OrphanCompanies(context.Context, int) ([]uuid.UUID, error) { return nil, nil }

type gapless struct{ driver.ReadTx }

func (g gapless) Companies(ctx context.Context, ids []uuid.UUID) ([]driver.Company, error) {
	found, err := g.ReadTx.Companies(ctx, ids)
	return slices.DeleteFunc(found, func(c driver.Company) bool { return c.ID == uuid.Nil }), err
}

type sorting struct{ driver.ReadTx }

func (s sorting) Admissions(
	ctx context.Context, refs []driver.AdmissionRef,
) ([]driver.Admission, error) {
	found, err := s.ReadTx.Admissions(ctx, refs)
	slices.SortFunc(found, func(a, b driver.Admission) int {
		return strings.Compare(a.ID.String(), b.ID.String())
	})
	return found, err
}

type local struct{ driver.ReadTx }

func (l local) Companies(ctx context.Context, ids []uuid.UUID) ([]driver.Company, error) {
	found, err := l.ReadTx.Companies(ctx, ids)
	for i := range found {
		found[i].UpdatedAt = found[i].UpdatedAt.In(time.FixedZone("WAT", 3600))
	}
	return found, err
}

type boundless struct{ driver.ReadTx }

func (b boundless) APIKeys(ctx context.Context, refs []driver.APIKeyRef) ([]driver.APIKey, error) {
	ids := make([]uuid.UUID, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	return b.FindAPIKeys(ctx, ids)
}

type caseless struct{ driver.ReadTx }

func (c caseless) CountTiers(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.TierCount, error) {
	found, err := c.ReadTx.CountTiers(ctx, event, tiers)
	slices.SortStableFunc(found, func(a, b driver.TierCount) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return found, err
}

type allTiers struct{ driver.ReadTx }

func (a allTiers) CountTiers(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.TierCount, error) {
	if len(tiers) == 0 {
		tiers = nil
	}
	return a.ReadTx.CountTiers(ctx, event, tiers)
}

type openOnly struct{ driver.ReadTx }

func (o openOnly) ListBatches(ctx context.Context, event driver.EventRef, limit int) ([]driver.Batch, error) {
	found, err := o.ReadTx.ListBatches(ctx, event, limit)
	return slices.DeleteFunc(found, func(b driver.Batch) bool { return b.Sold == b.Quantity }), err
}

type openSummed struct{ driver.ReadTx }

func (o openSummed) SumBatches(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.BatchSum, error) {
	sums, err := o.ReadTx.SumBatches(ctx, event, tiers)
	for i, sum := range sums {
		sums[i].Total -= sum.Cancelled
	}
	return sums, err
}

type cancelledLeftOut struct{ driver.ReadTx }

func (c cancelledLeftOut) CountEvents(ctx context.Context, events []driver.EventRef) ([]driver.EventCount, error) {
	counts, err := c.ReadTx.CountEvents(ctx, events)
	for i, count := range counts {
		counts[i].Total = count.Sold + count.Available + count.Paused
	}
	return counts, err
}

// firstOnly reads what several companies have for the first of them.
type firstPriced struct{ driver.ReadTx }

func (f firstPriced) PriceLists(ctx context.Context, queries []driver.PriceQuery) ([]driver.PriceList, error) {
	lists := make([]driver.PriceList, len(queries))
	for i, q := range queries {
		var err error
		if lists[i], err = f.PriceList(ctx, queries[0].EventRef, q.Tiers); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

type firstOnly struct{ driver.ReadTx }

func ofFirst(events []driver.EventRef) []driver.EventRef {
	events = slices.Clone(events)
	for i := range events {
		events[i].CompanyID = events[0].CompanyID
	}
	return events
}

func (f firstOnly) CountEvents(ctx context.Context, events []driver.EventRef) ([]driver.EventCount, error) {
	return f.ReadTx.CountEvents(ctx, ofFirst(events))
}

func (f firstOnly) EventSums(ctx context.Context, events []driver.EventRef) ([]driver.SalesSum, error) {
	return f.ReadTx.EventSums(ctx, ofFirst(events))
}

func (f firstOnly) NewestAudit(ctx context.Context, companies []uuid.UUID) ([]driver.Position, error) {
	if len(companies) == 0 {
		return f.ReadTx.NewestAudit(ctx, companies)
	}
	return f.ReadTx.NewestAudit(ctx, slices.Repeat(companies[:1], len(companies)))
}

type oldestFirst struct{ driver.ReadTx }

func (o oldestFirst) ListEvents(ctx context.Context, query driver.EventQuery) ([]driver.Event, error) {
	found, err := o.ReadTx.ListEvents(ctx, query)
	slices.Reverse(found)
	return found, err
}

type repeating struct{ driver.ReadTx }

func (r repeating) ListEntries(ctx context.Context, query driver.LedgerQuery) ([]ledger.Entry, error) {
	query.After--
	return r.ReadTx.ListEntries(ctx, query)
}

type gaplessEntries struct{ driver.ReadTx }

func (g gaplessEntries) Entries(ctx context.Context, refs []driver.EntryRef) ([]ledger.Entry, error) {
	found, err := g.ReadTx.Entries(ctx, refs)
	return slices.DeleteFunc(found, func(e ledger.Entry) bool { return e.Sequence == 0 }), err
}

type cutKinds struct{ driver.ReadTx }

func (c cutKinds) SearchEntries(ctx context.Context, query driver.EntryQuery) ([]ledger.Entry, error) {
	kinds := query.Kinds
	query.Kinds = nil
	found, err := c.ReadTx.SearchEntries(ctx, query)
	return slices.DeleteFunc(found, func(e ledger.Entry) bool {
		return len(kinds) > 0 && !slices.Contains(kinds, e.Kind)
	}), err
}

type firstStatus struct{ driver.ReadTx }

func (f firstStatus) ListOrders(ctx context.Context, query driver.OrderQuery) ([]driver.Order, error) {
	query.Statuses = query.Statuses[:min(1, len(query.Statuses))]
	return f.ReadTx.ListOrders(ctx, query)
}

type cutFirst struct{ driver.ReadTx }

func (c cutFirst) ListOrders(ctx context.Context, query driver.OrderQuery) ([]driver.Order, error) {
	event := query.EventID
	query.EventID = uuid.Nil
	found, err := c.ReadTx.ListOrders(ctx, query)
	return slices.DeleteFunc(found, func(o driver.Order) bool {
		return event != uuid.Nil && o.EventID != event
	}), err
}

type firstCreated struct{ driver.ReadTx }

func (f firstCreated) EffectiveRates(
	ctx context.Context, companies []uuid.UUID, at time.Time,
) ([]driver.Rate, error) {
	found, err := f.ReadTx.EffectiveRates(ctx, companies, at)
	for i, rate := range found {
		schedule, err := f.ListRates(ctx, rate.CompanyID, 100)
		if err != nil {
			return nil, err
		}
		for _, other := range schedule {
			if other.EffectiveFrom.Equal(rate.EffectiveFrom) {
				found[i] = other
			}
		}
	}
	return found, err
}

type hasty struct{ driver.ReadTx }

func (h hasty) EffectiveRates(
	ctx context.Context, companies []uuid.UUID, at time.Time,
) ([]driver.Rate, error) {
	return h.ReadTx.EffectiveRates(ctx, companies, at.Add(time.Millisecond))
}

// attached lists removed members; it looks for the first possible user.
type attached struct{ driver.ReadTx }

func (a attached) ListMembers(ctx context.Context, companyID uuid.UUID, limit int) ([]driver.Member, error) {
	found, err := a.ReadTx.ListMembers(ctx, companyID, limit)
	if err != nil || len(found) > 0 {
		return found, err
	}
	ref := driver.MemberRef{CompanyID: companyID, UserID: uuid.MustParse("01020304-0506-4708-8000-00000000000a")}
	return a.Members(ctx, []driver.MemberRef{ref})
}

type lenient struct{ driver.ReadTx }

func (l lenient) FindUsers(ctx context.Context, emails []string) ([]driver.User, error) {
	found, err := l.ReadTx.FindUsers(ctx, emails)
	for i, email := range emails {
		for _, other := range found {
			if other.ID != uuid.Nil && strings.EqualFold(strings.TrimSpace(other.Email), strings.TrimSpace(email)) {
				found[i] = other
			}
		}
	}
	return found, err
}

type oldestCase struct{ driver.ReadTx }

func (o oldestCase) ListVerificationCases(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.VerificationCase, error) {
	found, err := o.ReadTx.ListVerificationCases(ctx, companyID, limit)
	slices.Reverse(found)
	return found, err
}

type indiscreet struct{ driver.ReadTx }

func (i indiscreet) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	query.CompanyID = uuid.Nil
	return i.ReadTx.ListAudit(ctx, query)
}

// byTimeAlone pages by the time of the last record, without its id.
type byTimeAlone struct{ driver.ReadTx }

func (b byTimeAlone) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	if !query.After.At.IsZero() {
		query.After = driver.Position{At: query.After.At.Add(time.Millisecond)}
	}
	return b.ReadTx.ListAudit(ctx, query)
}

type anyActor struct{ driver.ReadTx }

func (a anyActor) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	query.Actor = ""
	return a.ReadTx.ListAudit(ctx, query)
}

type anyAction struct{ driver.ReadTx }

func (a anyAction) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	query.Action = ""
	return a.ReadTx.ListAudit(ctx, query)
}

type sinceEver struct{ driver.ReadTx }

func (s sinceEver) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	query.Since = time.Time{}
	return s.ReadTx.ListAudit(ctx, query)
}

type untilAfter struct{ driver.ReadTx }

func (u untilAfter) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	if !query.Until.IsZero() {
		query.Until = query.Until.Add(time.Millisecond)
	}
	return u.ReadTx.ListAudit(ctx, query)
}

// afterAlone uses the position as the end of the span.
type afterAlone struct{ driver.ReadTx }

func (a afterAlone) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	if query.After != (driver.Position{}) {
		query.Until = time.Time{}
	}
	return a.ReadTx.ListAudit(ctx, query)
}

type firstVersions struct{ driver.ReadTx }

func (f firstVersions) ListBrandings(ctx context.Context, query driver.BrandingQuery) ([]driver.Branding, error) {
	found, err := f.ReadTx.ListBrandings(ctx, query)
	slices.Reverse(found)
	return found, err
}

type versionTwice struct{ driver.ReadTx }

func (v versionTwice) ListBrandings(ctx context.Context, query driver.BrandingQuery) ([]driver.Branding, error) {
	if query.After != 0 {
		query.After++
	}
	return v.ReadTx.ListBrandings(ctx, query)
}

type hastyTerms struct{ driver.ReadTx }

func (h hastyTerms) SaleTerms(
	ctx context.Context, refs []driver.SaleTermsRef, at time.Time,
) ([]driver.SaleTerms, error) {
	return h.ReadTx.SaleTerms(ctx, refs, at.Add(time.Millisecond))
}

type foreignTerms struct{ driver.ReadTx }

func (f foreignTerms) SaleTerms(
	ctx context.Context, refs []driver.SaleTermsRef, at time.Time,
) ([]driver.SaleTerms, error) {
	found, err := f.ReadTx.SaleTerms(ctx, refs, at)
	for i, terms := range found {
		event, err := f.FindEvent(ctx, terms.ID)
		if err != nil {
			return nil, err
		}
		found[i].Status = event.Status
	}
	return found, err
}

type oneLook struct{ driver.ReadTx }

func (o oneLook) SaleTerms(
	ctx context.Context, refs []driver.SaleTermsRef, at time.Time,
) ([]driver.SaleTerms, error) {
	found, err := o.ReadTx.SaleTerms(ctx, refs, at)
	first := make(map[driver.EventRef]driver.Branding)
	for i, terms := range found {
		if look, known := first[terms.EventRef]; known {
			found[i].Branding = look
		}
		first[terms.EventRef] = found[i].Branding
	}
	return found, err
}

// shared returns the same event each time, instead of a copy.
type shared struct {
	driver.Tx

	once map[driver.EventRef]driver.Event
}

func handsOut(s driver.Store) driver.Store {
	once := make(map[driver.EventRef]driver.Event)
	return writing(func(tx driver.Tx) driver.Tx { return shared{tx, once} })(s)
}

func (s shared) Events(ctx context.Context, refs []driver.EventRef) ([]driver.Event, error) {
	found, err := s.Tx.Events(ctx, refs)
	for i, ref := range refs {
		if kept, ok := s.once[ref]; ok {
			found[i] = kept
		}
		s.once[ref] = found[i]
	}
	return found, err
}

type alwaysOpen struct{ driver.Tx }

func (a alwaysOpen) OpenSettlement(ctx context.Context, companyID uuid.UUID) (driver.Settlement, error) {
	found, err := a.ListSettlements(ctx, driver.SettlementQuery{CompanyID: companyID, OldestFirst: true, Limit: 1})
	if err != nil || len(found) == 0 {
		return driver.Settlement{}, err
	}
	return found[0], nil
}

type everyBuyer struct{ driver.ReadTx }

func (e everyBuyer) ListOrders(ctx context.Context, query driver.OrderQuery) ([]driver.Order, error) {
	query.BuyerEmail = ""
	return e.ReadTx.ListOrders(ctx, query)
}

type unreturned struct{ driver.ReadTx }

func (u unreturned) StockTotals(ctx context.Context, companyID uuid.UUID) ([]driver.StockTotal, error) {
	totals, err := u.ReadTx.StockTotals(ctx, companyID)
	for i := range totals {
		totals[i].Restocked = 0
	}
	return totals, err
}

type anyKey struct{ driver.ReadTx }

func (a anyKey) StaleBankAccounts(
	ctx context.Context, query driver.StaleBankAccountQuery,
) ([]driver.BankAccount, error) {
	query.SecretName = ""
	return a.ReadTx.StaleBankAccounts(ctx, query)
}

type firstAccount struct{ driver.ReadTx }

func (f firstAccount) CurrentBankAccount(
	ctx context.Context, companyID uuid.UUID,
) (driver.BankAccount, error) {
	found, err := f.BankAccounts(ctx, []driver.BankAccountRef{{CompanyID: companyID, Version: 9}})
	if err != nil {
		return driver.BankAccount{}, err
	}
	return found[0], nil
}
