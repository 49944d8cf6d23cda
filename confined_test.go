package ticketing_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// openWatched opens a store over a pool of a host's, whose statements are kept.
func openWatched(tb testing.TB, dsn string, said *testdb.Statements) *store.Store {
	tb.Helper()
	is := is.New(tb)
	db := bun.NewDB(said.Pool(dsn), pgdialect.New())
	db.SetMaxOpenConns(8)
	tb.Cleanup(func() { is.NoErr(db.Close()) })
	s, err := store.OpenDB(tb.Context(), db, nil)
	is.NoErr(err)
	return s
}

// pretendCluster has a store take a database for one of a cluster: the company of a statement is a value then, by which a
// cluster finds the node, and the planner of this test the part.
func pretendCluster(tb testing.TB, dsn string) {
	tb.Helper()
	_, err := testdb.Pool(tb, dsn).ExecContext(tb.Context(), `SET allow_system_table_mods = on;
		INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
		VALUES (16000, 'citus', 10, 'pg_catalog'::regnamespace, false, '13.2')`)
	is.New(tb).NoErr(err)
}

var (
	uuidForm = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	// inserted finds the constant that an INSERT writes into its first column, which is the company.
	inserted = regexp.MustCompile(`INSERT INTO \w+ \((?:company_)?id\b[^)]*\) (?:SELECT |VALUES \()'([0-9a-f-]{36})'::uuid`)
	locks    = regexp.MustCompile(`FOR (NO KEY )?UPDATE|FOR (KEY )?SHARE|LOCK TABLE`)
	part     = regexp.MustCompile(`\bpart_[0-9]+\.`)
)

// everywhere tells whether a statement is one of the few that name no company. They read without a lock, or are about
// the tables of which a distributed engine keeps a copy on each node.
func everywhere(statement string) bool {
	for _, form := range []string{
		`^SELECT DISTINCT company_id FROM ticketing_api_key_directory WHERE `,
		`^INSERT INTO ticketing_api_key_directory `,
		`^(SELECT|INSERT INTO|UPDATE) [^()]*ticketing_(categories|secrets|migrations)\b`,
		`^SELECT [^()]* FROM ticketing_companies WHERE id = ANY \(`,
		`^SELECT '[0-9]'::bigint, company_id, (0|endpoint), since FROM `, // DueWork
		`^SELECT company_id, id FROM ticketing_events WHERE s`,           // DueEvents
		// Secrets whose time is over, and an endpoint that an operator names by its id alone.
		`^SELECT company_id, endpoint, version FROM ticketing_webhook_secrets s WHERE \(company_id, endpoint, version\) > `,
		`^SELECT [^()]* FROM ticketing_webhook_endpoints WHERE id = '[0-9a-f-]{36}'::uuid LIMIT 1$`,
		`^SELECT .* FROM pg_catalog\.`,
		`^SELECT name, checksum FROM ticketing_migrations$`,
		`^SELECT current_setting\(`,
	} {
		if regexp.MustCompile(form).MatchString(statement) {
			return !locks.MatchString(statement)
		}
	}
	return regexp.MustCompile(`^SELECT pg_(try_)?advisory_xact_lock(_shared)?\(n\)::text FROM unnest`).MatchString(statement)
}

// confined says what is wrong with a statement that is to be about one company; empty for nothing. It names one
// company's id and no other's, and the planner finds one part of the tables to be enough for it, which it can only where
// every table in it is asked by the company, be it in a join or in a query within.
func confined(tb testing.TB, db *sql.DB, statement string, companies []uuid.UUID) string {
	tb.Helper()
	if everywhere(statement) {
		return ""
	}
	var named []string
	for _, id := range uuidForm.FindAllString(statement, -1) {
		if slices.ContainsFunc(companies, func(c uuid.UUID) bool { return c.String() == id }) {
			named = append(named, id)
		}
	}
	slices.Sort(named)
	if named = slices.Compact(named); len(named) != 1 {
		return fmt.Sprintf("it names %d companies", len(named))
	}
	if strings.Contains(statement, "INSERT INTO") {
		if insert := inserted.FindStringSubmatch(statement); len(insert) < 2 || insert[1] != named[0] {
			return "the company of its rows is no constant"
		}
		return ""
	}
	plan := testdb.Explain(tb, db, "", "VERBOSE, COSTS OFF", statement)
	parts := part.FindAllString(plan, -1)
	slices.Sort(parts)
	if parts = slices.Compact(parts); len(parts) != 1 {
		return fmt.Sprintf("it asks %d parts\n%s", len(parts), plan)
	}
	return ""
}

// With groups confined to one company, every statement that a sale, a validation, the use of a key, the writing of
// events and inventory and the telling of facts send is about exactly one company, and none locks rows across
// companies. It is what a database asks that keeps companies on different nodes.
func TestStatementsAreConfinedToOneCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	dsn := testdb.FreshPartitionedDSN(t)
	pretendCluster(t, dsn)
	var said testdb.Statements
	var mu sync.Mutex
	largest := map[string]int{}
	groups := ticketing.Grouping{ByCompany: true, Ran: func(run ticketing.GroupRun) {
		mu.Lock()
		defer mu.Unlock()
		largest[run.Operation] = max(largest[run.Operation], run.Calls)
	}}
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: openWatched(t, dsn, &said)})
	shops := []*ticketingtest.Shop{shop, shop.Neighbour(t), shop.Neighbour(t)}
	var companies []uuid.UUID
	for _, own := range shops {
		companies = append(companies, own.Company.ID)
	}
	var facts ticketingtest.Facts
	service, err := ticketing.New(shop.Store, &ticketing.Config{
		SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, Grouping: groups, OnFact: facts.Tell,
	})
	is.NoErr(err)
	is.NoErr(service.Ready(ctx)) // Whether the secret keys are those of the database is asked once, at the start.
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer db.Close()

	keys := make([]string, len(shops))
	for i, own := range shops {
		issued, err := shop.Staff.IssueAPIKey(ctx, own.Company.ID, "gate", ticketing.AllGrants())
		is.NoErr(err)
		keys[i] = issued.Key
	}
	said.Take() // What staff does is no matter of speed.
	shop.Clock.Advance(time.Hour)

	// Events and inventory, and the use of keys.
	events := make([][]ticketing.Event, len(shops))
	for i, own := range shops {
		caller, err := service.Authenticate(ctx, keys[i])
		is.NoErr(err)
		for range 2 {
			event, err := service.CreateEvent(ctx, caller, own.Key(), ticketingtest.EventParams())
			is.NoErr(err)
			events[i] = append(events[i], event)
			for _, tier := range []string{"VIP", "REGULAR"} {
				for _, price := range []money.Amount{100_00, 200_00, 100_00} {
					_, err := service.CreateInventory(ctx, caller, event.ID, own.Key(), ticketingtest.InventoryParams(tier, price, 20))
					is.NoErr(err)
				}
			}
		}
		_, err = service.UpdateEvent(ctx, caller, events[i][1].ID, ticketing.UpdateEventParams{Status: of(ticketing.EventDraft)})
		is.NoErr(err)
		_, err = service.UpdateInventory(ctx, caller, events[i][1].ID, "VIP", ticketing.UpdateInventoryParams{
			UnitPrice: of(money.Amount(300_00)), Currency: of(money.Currency), IsFree: of(false),
		})
		is.NoErr(err)
		_, err = service.CancelInventory(ctx, caller, events[i][1].ID, "REGULAR")
		is.NoErr(err)
		_, err = service.UpdateEvent(ctx, caller, events[i][1].ID, ticketing.UpdateEventParams{Status: of(ticketing.EventPublished)})
		is.NoErr(err)
	}

	// Sales and validations of all companies at once. The first groups wait for a lock, so that what comes meanwhile goes
	// together in the next.
	const times = 12
	atOnce := func(lock string, do func(own *ticketingtest.Shop, i, n int) error) {
		t.Helper()
		held, err := db.BeginTx(ctx, nil)
		is.NoErr(err)
		_, err = held.ExecContext(ctx, lock)
		is.NoErr(err)
		var all sync.WaitGroup
		for i, own := range shops {
			for n := range times {
				all.Go(func() {
					if err := do(own, i, n); err != nil {
						t.Error(err)
					}
				})
			}
		}
		waiting(t, db)
		is.NoErr(held.Rollback())
		all.Wait()
	}
	orders := make([][]ticketing.Order, len(shops))
	for i := range orders {
		orders[i] = make([]ticketing.Order, times)
	}
	atOnce("SELECT FROM ticketing_wallets FOR NO KEY UPDATE", func(own *ticketingtest.Shop, i, n int) (err error) {
		params := ticketingtest.Basket(events[i][0].ID, "VIP", 100_00, 1+n%2)
		params.Buyer.Email = fmt.Sprintf("buyer%d@example.com", n%5)
		params.Lines = append(params.Lines, ticketingtest.Basket(events[i][0].ID, "REGULAR", 200_00, 1).Lines...)
		if n%3 == 0 {
			params = ticketingtest.Basket(events[i][1].ID, "VIP", 300_00, 1)
		}
		orders[i][n], err = service.Checkout(ctx, own.Caller, fmt.Sprintf("checkout-%04d", n), params)
		return err
	})
	atOnce("SELECT FROM ticketing_admissions FOR NO KEY UPDATE", func(own *ticketingtest.Shop, i, n int) error {
		order := orders[i][n]
		_, err := service.ValidateAdmission(ctx, own.Caller, order.EventID, order.Lines[0].AdmissionID,
			fmt.Sprintf("validate-%04d", n), ticketing.ValidateParams{})
		return err
	})
	for i, own := range shops { // Replays, and what reads.
		_, err := service.Checkout(ctx, own.Caller, "checkout-0000", ticketingtest.Basket(events[i][1].ID, "VIP", 300_00, 1))
		is.True(err == nil || code(err) == ticketing.CodeConflict)
		_, err = service.Quote(ctx, own.Caller, ticketing.QuoteParams{
			EventID: events[i][0].ID, Lines: []ticketing.QuoteParamsLine{{Tier: "VIP", Quantity: 1}, {Tier: "REGULAR", Quantity: 1}},
		})
		is.NoErr(err)
		_, err = service.ListOrders(ctx, own.Caller, ticketing.OrderFilter{})
		is.NoErr(err)
		_, err = service.GetOrder(ctx, own.Caller, orders[i][0].ID)
		is.NoErr(err)
		_, err = service.ListEvents(ctx, own.Caller, ticketing.EventFilter{})
		is.NoErr(err)
		_, err = service.ListInventory(ctx, own.Caller, events[i][0].ID)
		is.NoErr(err)
	}
	end := running(t, service)
	_, err = facts.Wait(ctx, len(shops)*times*3)
	is.NoErr(err)
	end()
	for i, own := range shops {
		_, err := service.CancelEvent(ctx, own.Caller, events[i][0].ID)
		is.NoErr(err)
	}
	shop.Clock.Advance(90 * 24 * time.Hour)
	ended, err := service.EndEvents(ctx)
	is.NoErr(err)
	is.Equal(ended, len(shops))

	mu.Lock()
	is.True(largest["checkouts.create"] > 1)
	is.True(largest["admissions.validate"] > 1)
	mu.Unlock()
	// A record that is asked for twice takes nothing from that.
	is.NoErr(shop.Store.View(ctx, func(ctx context.Context, tx ticketing.ReadTx) error {
		ref := ticketing.OrderRef{CompanyID: shop.Company.ID, ID: orders[0][0].ID}
		found, err := tx.Orders(ctx, []ticketing.OrderRef{ref, ref})
		is.Equal(found[0], found[1])
		return err
	}))
	checked := map[string]bool{}
	for _, statement := range said.Take() {
		if shape := uuidForm.ReplaceAllString(statement, "?"); !checked[shape] {
			checked[shape] = true
			if problem := confined(t, db, statement, companies); problem != "" {
				t.Errorf("%s:\n%s", problem, statement)
			}
		}
	}
	is.True(len(checked) > 30)
}

// What a worker asks of a store about webhooks is about exactly one company, too: dispatch, claims, outcomes, messages
// and the removal of what is old. Only whose work is due is asked of all, without a lock.
func TestWebhookStatementsAreConfinedToOneCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshPartitionedDSN(t)
	pretendCluster(t, dsn)
	var said testdb.Statements
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: openWatched(t, dsn, &said)})
	shop.BooksAreBroken() // Its facts are of no orders.
	companies := []uuid.UUID{shop.Company.ID, shop.Neighbour(t).Company.ID}
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer db.Close()
	said.Take()
	at := shop.Clock.Now()
	due := ticketing.WorkQuery{At: at.Add(time.Hour), Limit: 9, After: []ticketing.DueWork{
		{Kind: ticketing.WorkDispatch}, {Kind: ticketing.WorkTell}, {Kind: ticketing.WorkDeliver},
	}}
	for _, company := range companies {
		is.NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
			if _, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{company}}); err != nil {
				return err
			}
			var facts []ticketing.FactRecord
			var messages []ticketing.MessageRecord
			var deliveries []ticketing.DeliveryRecord
			var refs []ticketing.DeliveryRef
			var texts []ticketing.MessageRef
			for i := range 3 {
				id, when := uuid.New(), at.Add(time.Duration(i)*time.Second)
				facts = append(facts, ticketing.FactRecord{CompanyID: company, At: when, ID: id, Type: ticketing.FactSale, Endpoints: 1})
				messages = append(messages, ticketing.MessageRecord{CompanyID: company, At: when, ID: id, Subject: id, Body: "{}"})
				texts = append(texts, ticketing.MessageRef{CompanyID: company, At: when, ID: id})
				deliveries = append(deliveries, ticketing.DeliveryRecord{
					CompanyID: company, CreatedAt: when, ID: id, Endpoint: 1, MessageAt: when, MessageID: id,
					Status: ticketing.DeliveryPending, DueAt: when,
				})
				refs = append(refs, ticketing.DeliveryRef{CompanyID: company, CreatedAt: when, ID: id})
			}
			secret := ticketing.WebhookSecretRef{CompanyID: company, Endpoint: 1, Version: 1}
			orders := []ticketing.OrderRecord{
				{CompanyID: company, ID: facts[0].ID, ConfirmedAt: at}, {CompanyID: company, ID: facts[1].ID, ConfirmedAt: at},
			}
			read := func(_ any, err error) error { return err }
			late := at.Add(time.Hour)
			for i, call := range []func() error{
				func() error { return tx.AppendFacts(ctx, facts) },
				func() error { return read(tx.TakeFacts(ctx, company, 9)) },
				func() error { return read(tx.ListWebhookEndpoints(ctx, company)) },
				func() error { return tx.AppendMessages(ctx, messages) },
				func() error { return tx.AppendDeliveries(ctx, deliveries) },
				func() error { return tx.DispatchFacts(ctx, facts[:2], true) },
				func() error { return read(tx.DueWork(ctx, due)) },
				func() error {
					return read(tx.ClaimDeliveries(ctx, ticketing.DeliveryClaim{
						CompanyID: company, Endpoint: 1, At: late, Until: late.Add(time.Minute), Limit: 9,
					}))
				},
				func() error { return read(tx.Messages(ctx, texts)) },
				func() error {
					return read(tx.WebhookSecrets(ctx, []ticketing.WebhookSecretRef{secret, {CompanyID: company, Endpoint: 2, Version: 1}}))
				},
				func() error { return read(tx.LockDeliveries(ctx, refs)) },
				func() error {
					return read(tx.LockPending(ctx, ticketing.WebhookEndpointRef{CompanyID: company, Number: 1}, 9))
				},
				func() error {
					for i := range deliveries {
						deliveries[i].Status, deliveries[i].FinishedAt = ticketing.DeliverySucceeded, late
					}
					return tx.UpdateDeliveries(ctx, deliveries)
				},
				func() error { return read(tx.DeliversUnder(ctx, secret)) },
				func() error {
					return read(tx.ListDeliveries(ctx, ticketing.DeliveryQuery{CompanyID: company, Limit: 9}))
				},
				func() error { return read(tx.CountDeliveries(ctx, ticketing.DeliveryQuery{CompanyID: company})) },
				func() error { return tx.UpdateMessages(ctx, messages) },
				func() error { return tx.ForgetMessages(ctx, orders) },
				func() error {
					return tx.DeleteWebhookSecrets(ctx, []ticketing.WebhookSecretRef{secret, {CompanyID: company, Endpoint: 2, Version: 1}})
				},
				func() error { return read(tx.PruneFacts(ctx, company, late, 9)) },
				func() error { return read(tx.PruneDeliveries(ctx, company, late, 9)) },
				func() error { return read(tx.PruneMessages(ctx, company, late, 9)) },
			} {
				if err := call(); err != nil {
					return fmt.Errorf("call %d: %w", i, err)
				}
			}
			return nil
		}))
	}
	statements := said.Take()
	is.True(len(statements) > 40)
	for _, statement := range statements {
		if problem := confined(t, db, statement, companies); problem != "" {
			t.Errorf("%s:\n%s", problem, statement)
		}
	}
}

// The same of all that a worker does with webhooks of several companies at once: it tells, makes deliveries, claims, writes
// outcomes, in groups too, cancels, gives back, and prunes.
func TestWebhookWorkIsConfinedToOneCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshPartitionedDSN(t)
	pretendCluster(t, dsn)
	var said testdb.Statements
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: openWatched(t, dsn, &said)})
	shops := []*ticketingtest.Shop{shop, shop.Neighbour(t), shop.Neighbour(t)}
	var companies []uuid.UUID
	for _, own := range shops {
		companies = append(companies, own.Company.ID)
	}
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer db.Close()
	in := newInbox(shop.Clock.Now)
	var facts ticketingtest.Facts
	svc := sender(t, shop, in, func(c *ticketing.Config) {
		c.Grouping, c.OnFact = ticketing.Grouping{ByCompany: true}, facts.Tell
		c.WebhookRetention, c.FactRetention = time.Hour, time.Hour
	})
	is.NoErr(svc.Ready(t.Context()))
	const sales = 20
	var good, bad []ticketing.WebhookEndpoint
	for _, own := range shops {
		good, bad = append(good, in.register(t, own)), append(bad, in.register(t, own))
		in.rotate(t, own, bad[len(bad)-1].ID) // A retired secret is looked at.
		in.answer(bad[len(bad)-1].ID, answering(500))
		sellMany(t, own, sales)
	}
	said.Take()
	end := running(t, svc)
	for i := range shops {
		in.wait(t, good[i].ID, 2*sales)
	}
	_, err := facts.Wait(t.Context(), 3*sales*len(shops))
	is.NoErr(err)
	end()
	shop.Clock.Advance(6 * time.Second)
	send(t, svc) // What failed is claimed.
	for i, own := range shops {
		in.answer(bad[i].ID, func(context.Context, posted) (int, error) {
			_, err := svc.As(ticketing.Staff("test")).DisableWebhookEndpoint(t.Context(), bad[i].ID)
			return 500, err
		})
		is.True(len(deliveries(t, own)) == 4*sales)
	}
	shop.Clock.Advance(time.Minute)
	send(t, svc)
	shop.Clock.Advance(24 * time.Hour)
	end = running(t, svc)
	eventually(t, func() bool {
		left := 0
		for _, own := range shops {
			left += len(deliveries(t, own))
		}
		return left == 0
	})
	end()
	checked := map[string]bool{}
	for _, statement := range said.Take() {
		if shape := uuidForm.ReplaceAllString(statement, "?"); !checked[shape] {
			checked[shape] = true
			if problem := confined(t, db, statement, companies); problem != "" {
				t.Errorf("%s:\n%s", problem, statement)
			}
		}
	}
	is.True(len(checked) > 30)
}

// waiting returns when a session of a database waits for a lock.
func waiting(tb testing.TB, db *sql.DB) {
	tb.Helper()
	for begun := time.Now(); time.Since(begun) < patience; {
		if sessionsWaiting(tb, db) > 0 {
			return
		}
	}
	tb.Fatal("nobody waits for a lock")
}

// sessionsWaiting is how many sessions of a database wait for locks.
func sessionsWaiting(tb testing.TB, db *sql.DB) (sessions int) {
	tb.Helper()
	// The pause is the database's, and is none of what a test rests on.
	is.New(tb).NoErr(db.QueryRowContext(tb.Context(), `SELECT count(DISTINCT a.pid) FROM pg_sleep(0.005), pg_locks l
		JOIN pg_stat_activity a ON a.pid = l.pid WHERE NOT l.granted AND a.datname = current_database()`).Scan(&sessions))
	return sessions
}
