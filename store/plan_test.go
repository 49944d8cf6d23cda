package store_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store"
)

// askAll makes a sale and runs every other statement except those of verification.
func askAll(tb testing.TB, s driver.Store) {
	tb.Helper()
	is := is.New(tb)
	ctx := tb.Context()
	before := driver.Position{At: minute(30), ID: number(9)}
	limit := 10
	is.NoErr(s.Update(ctx, func(ctx context.Context, tx driver.Tx) error { return sale(ctx, tx, 1, 2) }))
	is.NoErr(update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		admission := driver.AdmissionRef{CompanyID: company, ID: number(2_000_100)}
		for _, call := range []func() error{
			func() error { _, err := tx.LockAdmissions(ctx, []driver.AdmissionRef{admission}); return err },
			func() error { _, err := tx.LockOpenBatches(ctx, event, nil); return err },
			func() error {
				_, err := tx.LockBatches(ctx, []driver.BatchRef{
					{CompanyID: company, EventID: event.ID, Tier: "Regular", Position: 1},
					{CompanyID: company, EventID: event.ID, Tier: "VIP", Position: 1},
				})
				return err
			},
			func() error {
				return tx.AppendBankAccount(ctx, driver.BankAccount{
					CompanyID: company, Version: 1, Last4: "6789", CreatedAt: minute(5),
				})
			},
			func() error {
				return tx.UpdateBankAccount(ctx, driver.BankAccount{CompanyID: company, Version: 1, Number: "s1"})
			},
			func() error {
				return tx.CreateSettlement(ctx, driver.Settlement{
					CompanyID: company, Number: 1, ID: number(9), Amount: 1, Status: driver.SettlementPending, BankAccount: 1,
					RequestedAt: minute(6),
				})
			},
			func() error {
				settlement, err := tx.LockSettlement(ctx, driver.SettlementRef{CompanyID: company, ID: number(9)})
				if err != nil {
					return err
				}
				return tx.UpdateSettlement(ctx, settlement)
			},
			func() error {
				return tx.UpdateOrderStatus(ctx, driver.OrderNumber{CompanyID: company, Number: 1}, driver.OrderRefunded)
			},
			func() error {
				return tx.AppendOrderEnding(ctx, driver.OrderEnding{
					CompanyID: company, Number: 1, Status: driver.OrderRefunded, FloatSequence: 1, EarningsSequence: 1,
					At: minute(7),
				})
			},
			func() error {
				_, err := tx.LockStock(ctx, []driver.StockQuery{
					{CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 500, Quantity: 3},
					{CompanyID: company, EventID: event.ID, Tier: "Regular", UnitPrice: 1010, Quantity: 7},
				})
				return err
			},
			func() error { _, err := tx.LockOpenBatches(ctx, event, []string{"Regular"}); return err },
			func() error { _, err := tx.LockTiers(ctx, event, nil); return err },
			func() error { _, err := tx.LockTier(ctx, event, "Regular"); return err },
			func() error {
				return tx.UpdateAdmissions(ctx, []driver.Admission{{CompanyID: company, ID: admission.ID}})
			},
			func() error {
				return tx.UpdateTiers(ctx, []driver.Tier{{CompanyID: company, EventID: event.ID, Name: "Regular"}})
			},
			func() error {
				return tx.TouchAPIKeys(ctx, []driver.APIKeyUse{{
					APIKeyRef: driver.APIKeyRef{CompanyID: company, ID: number(4)}, UsedAt: minute(3),
				}})
			},
			func() error { _, err := tx.LeaseFacts(ctx, company, minute(20), minute(21), limit); return err },
			func() error {
				facts, err := tx.ListFacts(ctx, company, driver.Position{}, limit)
				if err != nil {
					return err
				}
				return tx.CompleteFacts(ctx, facts)
			},
		} {
			if err := call(); err != nil {
				return err
			}
		}
		return errors.Join(asked(hookWrites(ctx, tx)), asked(mailWrites(ctx, tx)), asked(accountWrites(ctx, tx)))
	}))
	is.NoErr(s.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		for _, call := range []func() error{
			func() error { _, err := tx.ListCompanies(ctx, before, limit); return err },
			func() error { _, err := tx.ListSubmittedCases(ctx, before, limit); return err },
			func() error { _, err := tx.ListOpenSettlements(ctx, before, limit); return err },
			func() error { _, err := tx.CountDeadLetters(ctx, minute(50), limit); return err },
			func() error { _, err := tx.BookChecks(ctx, []uuid.UUID{company, number(2)}); return err },
			func() error { _, err := tx.ListRates(ctx, company, limit); return err },
			func() error { _, err := tx.ListAPIKeys(ctx, company, limit); return err },
			func() error { _, err := tx.CountAPIKeys(ctx, company, driver.APIKeyActive); return err },
			func() error { _, err := tx.FindAPIKeys(ctx, []uuid.UUID{number(4), number(5)}); return err },
			func() error { _, err := tx.ListCategories(ctx, "a", limit); return err },
			func() error { _, err := tx.Categories(ctx, []uuid.UUID{number(4), number(5)}); return err },
			func() error { _, err := tx.FindEvent(ctx, event.ID); return err },
			func() error { _, err := tx.FindOrder(ctx, number(7)); return err },
			func() error {
				_, err := tx.ListOrders(ctx, driver.OrderQuery{
					CompanyID: company, BuyerEmail: "ada@example.com", After: 900, AboveNumber: 3, Limit: limit,
				})
				return err
			},
			func() error {
				_, err := tx.OrderEndings(ctx, []driver.OrderNumber{
					{CompanyID: company, Number: 1}, {CompanyID: company, Number: 2},
				})
				return err
			},
			func() error {
				_, err := tx.ListOrderEndings(ctx, driver.OrderEndingQuery{CompanyID: company, Limit: limit})
				return err
			},
			func() error {
				_, err := tx.BankAccounts(ctx, []driver.BankAccountRef{
					{CompanyID: company, Version: 1}, {CompanyID: company, Version: 2},
				})
				return err
			},
			func() error { _, err := tx.CurrentBankAccount(ctx, company); return err },
			func() error {
				_, err := tx.Settlements(ctx, []driver.SettlementRef{
					{CompanyID: company, ID: number(9)}, {CompanyID: company, ID: number(8)},
				})
				return err
			},
			func() error { _, err := tx.FindSettlement(ctx, number(9)); return err },
			func() error { _, err := tx.OpenSettlement(ctx, company); return err },
			func() error {
				_, err := tx.ListSettlements(ctx, driver.SettlementQuery{CompanyID: company, Limit: limit})
				return err
			},
			func() error {
				_, err := tx.ListSettlements(ctx, driver.SettlementQuery{
					CompanyID: company, OldestFirst: true, After: 3, Limit: limit,
				})
				return err
			},
			func() error {
				_, err := tx.SaleTerms(ctx, []driver.SaleTermsRef{
					{EventRef: event, BrandingVersion: 1},
					{EventRef: driver.EventRef{CompanyID: company, ID: number(9)}, BrandingVersion: 1},
				}, minute(3))
				return err
			},
			func() error { _, err := tx.DueEvents(ctx, minute(60), limit); return err },
			func() error {
				_, err := tx.ListEvents(ctx, driver.EventQuery{CompanyID: company, Limit: limit})
				return err
			},
			func() error {
				_, err := tx.ListEvents(ctx, driver.EventQuery{
					CompanyID: company, Status: driver.EventPublished, After: before, Limit: limit,
				})
				return err
			},
			func() error { _, err := tx.CountTiers(ctx, event, nil); return err },
			func() error { _, err := tx.ListBatches(ctx, event, limit); return err },
			func() error { _, err := tx.SumBatches(ctx, event, []string{"Regular"}); return err },
			func() error { _, err := tx.SumBatches(ctx, event, []string{"Regular", "VIP"}); return err },
			func() error { _, err := tx.CountEvents(ctx, []driver.EventRef{event}); return err },
			func() error {
				_, err := tx.CountEvents(ctx, []driver.EventRef{event, {CompanyID: company, ID: number(9)}})
				return err
			},
			func() error {
				_, err := tx.CountEvents(ctx, []driver.EventRef{event, {CompanyID: number(2), ID: number(9)}})
				return err
			},
			func() error { _, err := tx.NewestAudit(ctx, []uuid.UUID{company}); return err },
			func() error { _, err := tx.NewestAudit(ctx, []uuid.UUID{company, number(2)}); return err },
			func() error { _, err := tx.CountTiers(ctx, event, []string{"Regular", "VIP"}); return err },
			func() error { _, err := tx.PriceList(ctx, event, []string{"Regular", "VIP"}); return err },
			func() error { return priceLists(ctx, tx, event) },
			func() error { return priceLists(ctx, tx, event, driver.EventRef{CompanyID: company, ID: number(9)}) },
			func() error { return priceLists(ctx, tx, event, driver.EventRef{CompanyID: number(2), ID: number(9)}) },
			func() error {
				_, err := tx.Orders(ctx, []driver.OrderRef{
					{CompanyID: company, ID: number(7)}, {CompanyID: company, ID: number(8)},
				})
				return err
			},
			func() error {
				_, err := tx.ListOrders(ctx, driver.OrderQuery{CompanyID: company, Limit: limit})
				return err
			},
			func() error {
				_, err := tx.ListOrders(ctx, driver.OrderQuery{
					CompanyID: company, EventID: event.ID, After: 900, Limit: limit,
				})
				return err
			},
			func() error {
				_, err := tx.ListOrders(ctx, driver.OrderQuery{
					CompanyID: company, After: 900, Limit: limit,
					Statuses: []driver.OrderStatus{driver.OrderRefunded, driver.OrderCancelled},
				})
				return err
			},
			func() error {
				_, err := tx.ListOrders(ctx, driver.OrderQuery{
					CompanyID: company, EventID: event.ID, Limit: limit,
					Statuses: []driver.OrderStatus{driver.OrderRefunded, driver.OrderConfirmed},
				})
				return err
			},
			func() error {
				_, err := tx.OrderLines(ctx, []driver.OrderNumber{{CompanyID: company, Number: 1}, {CompanyID: company, Number: 2}})
				return err
			},
			func() error {
				_, err := tx.Buyers(ctx, []driver.BuyerRef{{CompanyID: company, Email: "a"}, {CompanyID: company, Email: "b"}})
				return err
			},
			func() error {
				_, err := tx.ListEntries(ctx, driver.LedgerQuery{
					WalletRef: driver.WalletRef{CompanyID: company, Wallet: ledger.Float}, After: 3, Limit: limit,
				})
				return err
			},
			func() error {
				float := driver.WalletRef{CompanyID: company, Wallet: ledger.Float}
				_, one := tx.Entries(ctx, []driver.EntryRef{{WalletRef: float, Sequence: 3}})
				_, two := tx.Entries(ctx, []driver.EntryRef{{WalletRef: float, Sequence: 3}, {WalletRef: float, Sequence: 9}})
				asked := errors.Join(one, two)
				for _, kinds := range [][]ledger.Kind{
					nil,
					{ledger.CheckoutDebit},
					{ledger.CheckoutDebit, ledger.FloatCredit},
					{ledger.FloatCredit},
					{ledger.FloatCredit, ledger.CheckoutRefund},
				} {
					_, err := tx.SearchEntries(ctx, driver.EntryQuery{
						WalletRef: float, Kinds: kinds, Above: 900, Before: 1200, Limit: limit,
					})
					asked = errors.Join(asked, err)
				}
				return asked
			},
			func() error {
				_, err := tx.ListSoldOrders(ctx, driver.SoldQuery{
					CompanyID: company, After: driver.SoldPlace{Number: 1}, Last: 9, Limit: limit,
				})
				return err
			},
			func() error {
				_, err := tx.ListSoldAdmissions(ctx, driver.SoldQuery{
					CompanyID: company, After: driver.SoldPlace{Number: 1, Line: 1}, Last: 9, Limit: limit,
				})
				return err
			},
			func() error { _, err := tx.FloatCredits(ctx, company, []string{"r", "s"}); return err },
			func() error { _, err := tx.FloatCredits(ctx, company, []string{"r"}); return err },
			func() error { _, err := tx.ListAudit(ctx, driver.AuditQuery{Limit: limit}); return err },
			func() error {
				_, err := tx.ListAudit(ctx, driver.AuditQuery{After: before, Limit: limit})
				return err
			},
			func() error {
				for _, of := range []uuid.UUID{company, {}} {
					for _, who := range []string{"", "Obi", "Ngozi"} {
						for _, what := range []string{"", "float.credit", "kyb.approve"} {
							query := driver.AuditQuery{CompanyID: of, Actor: who, Action: what, Limit: limit}
							spanned := query
							spanned.Since, spanned.Until, spanned.After = minute(1), minute(600), before
							for _, ask := range []driver.AuditQuery{query, spanned} {
								if _, err := tx.ListAudit(ctx, ask); err != nil {
									return err
								}
							}
						}
					}
				}
				return nil
			},
			func() error {
				_, err := tx.ListBrandings(ctx, driver.BrandingQuery{CompanyID: company, Limit: limit})
				return err
			},
			func() error {
				_, err := tx.ListBrandings(ctx, driver.BrandingQuery{CompanyID: company, After: 2, Limit: limit})
				return err
			},
			func() error { _, err := tx.Users(ctx, []uuid.UUID{number(4), number(5)}); return err },
			func() error { _, err := tx.FindUsers(ctx, []string{"ada@example.com"}); return err },
			func() error { _, err := tx.ListMembers(ctx, company, limit); return err },
			func() error {
				_, err := tx.Members(ctx, []driver.MemberRef{{CompanyID: company, UserID: number(4)}})
				return err
			},
			func() error { _, err := tx.ListVerificationCases(ctx, company, limit); return err },
			func() error {
				_, err := tx.ListAudit(ctx, driver.AuditQuery{CompanyID: company, After: before, Limit: limit})
				return err
			},
		} {
			if err := call(); err != nil {
				return err
			}
		}
		return errors.Join(asked(companySearches(ctx, tx)), asked(hookReads(ctx, tx)), asked(mailReads(ctx, tx)),
			asked(accountReads(ctx, tx)), asked(findReads(ctx, tx)))
	}))
	is.NoErr(update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(asked(hookEnds(ctx, tx)), asked(mailEnds(ctx, tx)), asked(accountEnds(ctx, tx)))
	}))
}

// companySearches returns searches for companies in each order: of all, and under every filter.
func companySearches(ctx context.Context, tx driver.ReadTx) []func() error {
	var calls []func() error
	for _, order := range []driver.CompanyOrder{
		driver.CompaniesNewest, driver.CompaniesOldest, driver.CompaniesByName, driver.CompaniesByExpiry,
	} {
		for _, query := range []driver.CompanyQuery{
			{},
			{After: driver.CompanyPlace{At: minute(30), Name: "m", ID: number(9)}},
			{
				Prefix: "company", Status: driver.CompanyActive, Verification: driver.VerificationApproved,
				ExpiresBefore: minute(90),
			},
		} {
			query.Order, query.Limit = order, 10
			calls = append(calls, func() error { _, err := tx.SearchCompanies(ctx, query); return err })
		}
	}
	return calls
}

func asked(calls []func() error) error {
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// TestQueryPlans checks that every statement except those of verification finds its rows by an index, and that no list
// is sorted to return a page of it.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, &store.Config{Readers: 1})
	recorded := s.Record()
	furnish(t, s, newBatch(1, 0))

	ctx := t.Context()
	askAll(t, s)
	statements := recorded()
	is.True(len(statements) > 50)
	used := make(map[string]bool)
	for _, statement := range statements {
		if strings.Contains(statement, "ticketing_migrations") { // Few rows, read once.
			continue
		}
		plan, err := explain(ctx, s, statement)
		is.NoErr(err)
		for _, step := range plan {
			if _, index, found := strings.Cut(step, "INDEX "); found {
				used[strings.Fields(index)[0]] = true
			}
			// A page is never sorted, except to merge the pages of several statuses.
			sorted := strings.Contains(step, "TEMP B-TREE") && page.MatchString(statement) &&
				!strings.Contains(statement, "UNION ALL") && !sortedPage.MatchString(statement) &&
				!messageList.MatchString(statement)
			// What waits is counted along its index, up to a limit.
			counted := strings.Contains(statement, " AS place, ") && strings.Contains(step, " INDEX ")
			if sorted || strings.Contains(step, "AUTOMATIC") || scanned.MatchString(step) && !counted {
				t.Errorf("%s\n%s", statement, strings.Join(plan, "\n"))
				break
			}
		}
	}
	for _, index := range []string{
		"ticketing_companies_list", "ticketing_commission_rates_effective", "ticketing_api_keys_list",
		"ticketing_events_list", "ticketing_events_list_status", "ticketing_events_due",
		"ticketing_inventory_batches_open_list", "ticketing_inventory_batches_stock", "ticketing_orders_event",
		"ticketing_orders_status_list", "ticketing_orders_event_status", "ticketing_outbox_undispatched",
		"ticketing_outbox_untold", "ticketing_webhook_deliveries_pending", "ticketing_webhook_deliveries_failed",
		"ticketing_webhook_deliveries_cancelled",
		"ticketing_webhook_deliveries_message", "ticketing_notifications_due", "ticketing_notifications_failed",
		"ticketing_notifications_cancelled", "ticketing_notifications_final",
		"ticketing_audit_entries_list", "ticketing_audit_entries_actor", "ticketing_audit_entries_action",
		"ticketing_audit_entries_actor_action", "ticketing_audit_entries_all_actor", "ticketing_audit_entries_all_action",
		"ticketing_audit_entries_all_actor_action", "ticketing_audit_entries_id", "ticketing_webhook_deliveries_final",
		"ticketing_settlements_company_id_idx",
		"ticketing_sessions_created", "ticketing_sign_in_tokens_created", "ticketing_passkeys_created",
		"ticketing_staff_current", "ticketing_members_of_user",
		"ticketing_companies_name", "ticketing_companies_expiry", "ticketing_verification_cases_submitted",
		"ticketing_settlements_open", "ticketing_webhook_deliveries_dead", "ticketing_ledger_entries_rare",
		"ticketing_events_title", "ticketing_events_all_title", "ticketing_float_credits_reference",
	} {
		if !used[index] {
			t.Errorf("no statement uses %s", index)
		}
	}
}

// scanned matches a step that reads a whole table, by its name or by the alias that a statement of Bun's gives it.
var scanned = regexp.MustCompile("SCAN " + wholeTable)

const wholeTable = `(ticketing_|[abcdekmnpstu]\b)`

// page matches a statement that reads a page of a list.
var page = regexp.MustCompile(`LIMIT (\(SELECT )?(\?|'10'|10\b)`)

// sortedPage matches a statement that may sort a page. One reads pending deliveries or notifications: an index in the
// order of the list would cost each of them one more entry, and few are pending unless an endpoint or the mail server
// is down. One counts a page of dead letters by company. And one searches for companies whose approval ends soon: those
// are few, so a planner may find them by that and then sort them.
var sortedPage = regexp.MustCompile(pendingList + `| AS dead\b|approval_expires_at < `)

// messageList matches the deliveries of a message. They are one for each endpoint and each replay, so they are
// sorted.
var messageList = regexp.MustCompile(`(?s)message_id = .* FROM found ORDER BY`)

const pendingList = `status = 'PENDING' AND (created_at|\(number, copy\) <)`

func explain(ctx context.Context, s interface{ Writer() *bun.DB }, statement string) ([]string, error) {
	rows, err := s.Writer().DB.QueryContext(ctx, "EXPLAIN QUERY PLAN "+statement,
		make([]any, strings.Count(statement, "?"))...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return nil, err
		}
		plan = append(plan, detail)
	}
	return plan, rows.Err()
}
