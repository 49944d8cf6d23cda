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
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// openWatched opens a store over a host's pool that records its statements.
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

// clusterDSN returns the DSN of a database that is distributed over a cluster, or of one that stands for it.
func clusterDSN(tb testing.TB) string {
	tb.Helper()
	if pgtest.OnCluster() {
		return testdb.FreshDSN(tb)
	}
	dsn := testdb.FreshPartitionedDSN(tb)
	pretendCluster(tb, dsn)
	return dsn
}

// pretendCluster makes a store treat the database as a Citus cluster. Its statements then contain the company as a
// constant, from which a cluster finds the node, and the planner of this test the partition. It is the coordinator, and
// has no shards that could be asked node by node.
func pretendCluster(tb testing.TB, dsn string) {
	tb.Helper()
	_, err := testdb.Pool(tb, dsn).ExecContext(tb.Context(), `SET allow_system_table_mods = on;
		CREATE TABLE pg_catalog.pg_dist_local_group (groupid integer NOT NULL PRIMARY KEY);
		INSERT INTO pg_catalog.pg_dist_local_group VALUES (0);
		CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass NOT NULL, shardid bigint NOT NULL,
			shardstorage "char" NOT NULL, shardminvalue text, shardmaxvalue text);
		CREATE TABLE pg_catalog.pg_dist_placement (placementid bigint NOT NULL, shardid bigint NOT NULL,
			shardstate integer NOT NULL, shardlength bigint NOT NULL, groupid integer NOT NULL);
		INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
		VALUES (16000, 'citus', 10, 'pg_catalog'::regnamespace, false, '13.2')`)
	is.New(tb).NoErr(err)
}

var (
	uuidForm = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	// inserted matches the constant that an INSERT writes into its first column, which is the company.
	inserted = regexp.MustCompile(
		`INSERT INTO \w+ (?:AS \w+ )?\((?:company_)?id\b[^)]*\) (?:SELECT '[0-9a-f-]{36}'::uuid|VALUES \('[0-9a-f-]{36}')`)
	advisory = regexp.MustCompile(`^SELECT pg_(try_)?advisory_xact_lock(_shared)?\(n\)::text FROM unnest`)
	locks    = regexp.MustCompile(`FOR (NO KEY )?UPDATE|FOR (KEY )?SHARE|LOCK TABLE`)
	part     = regexp.MustCompile(`\bpart_[0-9]+\.`)
)

// unquoted returns a statement without the quotation marks that Bun puts around names.
func unquoted(statement string) string { return strings.ReplaceAll(statement, `"`, "") }

// everywhere reports whether a statement is one of the few that name no company. Such a statement only reads, without a
// lock, or is about tables of which a distributed engine keeps a copy on each node.
func everywhere(statement string) bool {
	statement = unquoted(statement)
	for _, form := range []string{
		`^SELECT DISTINCT company_id FROM ticketing_api_key_directory WHERE `,
		`^INSERT INTO ticketing_api_key_directory `,
		`^(SELECT|INSERT INTO|UPDATE) [^()]*ticketing_(categories|secrets|migrations|mail_senders)\b`,
		`^SELECT [^()]* FROM ticketing_companies WHERE id = ANY \(`,
		`^SELECT '[0-9]'::bigint, company_id, (0|endpoint), since FROM `, // DueWork
		`^SELECT company_id, id FROM ticketing_events WHERE s`,           // DueEvents
		// These are secrets whose time is over, and an endpoint that an operator names by its id alone.
		`^SELECT s\.company_id, s\.endpoint, s\.version FROM ticketing_webhook_secrets AS s ` +
			`WHERE \(\(company_id, endpoint, version\) > `,
		`^SELECT [^()]* FROM ticketing_webhook_endpoints AS e WHERE \(id = '[0-9a-f-]{36}'\) LIMIT 1$`,
		`^SELECT .* FROM pg_catalog\.`,
		`^SELECT name, checksum FROM ticketing_migrations$`,
		`^SELECT current_setting\(`,
	} {
		if regexp.MustCompile(form).MatchString(statement) {
			return !locks.MatchString(statement)
		}
	}
	return advisory.MatchString(statement)
}

// confined returns what is wrong with a statement that has to be about one company, or "". The statement may name the
// id of one company only, and the planner has to find one partition sufficient for it. The planner can do so only if
// every table in the statement is restricted to the company, also in a join or a subquery.
func confined(tb testing.TB, db *sql.DB, statement string, companies []uuid.UUID) string {
	tb.Helper()
	if everywhere(statement) {
		return ""
	}
	if pgtest.OnCluster() {
		return routed(tb, db, statement)
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
		if !strings.Contains(inserted.FindString(unquoted(statement)), named[0]) {
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

// routed returns what is wrong with the plan of a statement on a cluster, or "". The whole of it must be one task on
// one node. Only an INSERT of many rows may be more: its rows are copied to their node.
func routed(tb testing.TB, db *sql.DB, statement string) string {
	tb.Helper()
	plan := testdb.Explain(tb, db, "", "COSTS OFF", statement)
	copied := strings.HasPrefix(statement, "INSERT INTO") && strings.Contains(statement, " FROM unnest(") &&
		strings.Contains(plan, "INSERT/SELECT method: pull to coordinator")
	tasks := regexp.MustCompile(`Task Count: \d+`).FindAllString(plan, -1)
	if !copied && !slices.Equal(tasks, []string{"Task Count: 1"}) {
		return fmt.Sprintf("it has %q\n%s", tasks, plan)
	}
	return ""
}

// TestStatementsAreConfinedToOneCompany checks that with groups confined to one company every statement of these
// operations is about exactly one company: a sale, a validation, the use of a key, the writing of events and inventory,
// and the publishing of facts. No statement locks rows of several companies. A database that keeps companies on
// different nodes requires this.
func TestStatementsAreConfinedToOneCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	dsn := clusterDSN(t)
	var said testdb.Statements
	var mu sync.Mutex
	largest := map[string]int{}
	groups := ticketing.Grouping{ByCompany: true, OnGroup: func(run ticketing.GroupRun) {
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
		SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, Grouping: groups, OnFact: facts.OnFact,
	})
	is.NoErr(err)
	is.NoErr(service.Ready(ctx)) // Ready compares the secret keys with the database once, at the start.
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer db.Close()

	keys := make([]string, len(shops))
	for i, own := range shops {
		issued, err := shop.Staff.IssueAPIKey(ctx, own.Company.ID, "gate", ticketing.AllGrants())
		is.NoErr(err)
		keys[i] = issued.Key
	}
	said.Take() // Staff operations are rare, so their statements are not checked.
	shop.Clock.Advance(time.Hour)

	// Create events and inventory, and use keys.
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
		_, err = service.UpdateEvent(ctx, caller, events[i][1].ID,
			ticketing.UpdateEventParams{Status: of(ticketing.EventDraft)})
		is.NoErr(err)
		_, err = service.UpdateInventory(ctx, caller, events[i][1].ID, "VIP", ticketing.UpdateInventoryParams{
			UnitPrice: of(money.Amount(300_00)), Currency: of(money.Currency), IsFree: of(false),
		})
		is.NoErr(err)
		_, err = service.CancelInventory(ctx, caller, events[i][1].ID, "REGULAR")
		is.NoErr(err)
		_, err = service.UpdateEvent(ctx, caller, events[i][1].ID,
			ticketing.UpdateEventParams{Status: of(ticketing.EventPublished)})
		is.NoErr(err)
	}

	// Sell and validate for all companies concurrently. The first groups wait for a lock, so the calls that arrive
	// meanwhile form larger groups.
	const times = 12
	atOnce := func(lock string, do func(own *ticketingtest.Shop, i, n int) error) {
		t.Helper()
		held, err := db.BeginTx(ctx, nil)
		is.NoErr(err)
		if !pgtest.OnCluster() { // It refuses locks of several companies.
			_, err = held.ExecContext(ctx, lock)
			is.NoErr(err)
		}
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
		if !pgtest.OnCluster() {
			waiting(t, db)
		}
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
	for i, own := range shops { // Replays and reads.
		_, err := service.Checkout(ctx, own.Caller, "checkout-0000", ticketingtest.Basket(events[i][1].ID, "VIP", 300_00, 1))
		is.True(err == nil || code(err) == ticketing.CodeConflict)
		_, err = service.Quote(ctx, own.Caller, ticketing.QuoteParams{
			EventID: events[i][0].ID,
			Lines:   []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}, {Tier: "REGULAR", Quantity: 1}},
		})
		is.NoErr(err)
		_, err = service.ListOrders(ctx, own.Caller, ticketing.OrderFilter{})
		is.NoErr(err)
		_, err = service.GetOrder(ctx, own.Caller, orders[i][0].ID)
		is.NoErr(err)
		_, err = service.ListEvents(ctx, own.Caller, ticketing.EventFilter{})
		is.NoErr(err)
		_, err = service.ListStock(ctx, own.Caller, events[i][0].ID)
		is.NoErr(err)
		_, err = service.CountStock(ctx, own.Caller, []uuid.UUID{events[i][0].ID, events[i][1].ID})
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
	if !pgtest.OnCluster() {
		is.True(largest["checkouts.create"] > 1)
		is.True(largest["admissions.validate"] > 1)
	}
	mu.Unlock()
	// A record that is requested twice is returned twice.
	is.NoErr(shop.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		ref := driver.OrderRef{CompanyID: shop.Company.ID, ID: orders[0][0].ID}
		found, err := tx.Orders(ctx, []driver.OrderRef{ref, ref})
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

// TestWebhookStatementsAreConfinedToOneCompany checks that every statement that a worker sends about webhooks is about
// exactly one company: dispatch, claims, outcomes, messages and the pruning of old records. Only the query for
// companies with due work covers all companies, without a lock.
func TestWebhookStatementsAreConfinedToOneCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := clusterDSN(t)
	var said testdb.Statements
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: openWatched(t, dsn, &said)})
	shop.BooksAreBroken() // Its facts belong to no orders.
	companies := []uuid.UUID{shop.Company.ID, shop.Neighbour(t).Company.ID}
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer db.Close()
	said.Take()
	at := shop.Clock.Now()
	due := driver.WorkQuery{At: at.Add(time.Hour), Limit: 9, After: []driver.DueWork{
		{Kind: driver.WorkDispatch}, {Kind: driver.WorkPublish}, {Kind: driver.WorkDeliver},
	}}
	for _, company := range companies {
		is.NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}}); err != nil {
				return err
			}
			var facts []driver.Fact
			var messages []driver.Message
			var deliveries []driver.Delivery
			var refs []driver.DeliveryRef
			var texts []driver.MessageRef
			for i := range 3 {
				id, when := uuid.New(), at.Add(time.Duration(i)*time.Second)
				facts = append(facts, driver.Fact{CompanyID: company, At: when, ID: id, Type: driver.FactSale, Endpoints: 1})
				messages = append(messages, driver.Message{CompanyID: company, At: when, ID: id, Subject: id, Body: "{}"})
				texts = append(texts, driver.MessageRef{CompanyID: company, At: when, ID: id})
				deliveries = append(deliveries, driver.Delivery{
					CompanyID: company, CreatedAt: when, ID: id, Endpoint: 1, MessageAt: when, MessageID: id,
					Status: ticketing.DeliveryPending, DueAt: when,
				})
				refs = append(refs, driver.DeliveryRef{CompanyID: company, CreatedAt: when, ID: id})
			}
			secret := driver.WebhookSecretRef{CompanyID: company, Endpoint: 1, Version: 1}
			orders := []driver.Order{
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
					return read(tx.ClaimDeliveries(ctx, driver.DeliveryClaim{
						CompanyID: company, Endpoint: 1, At: late, Until: late.Add(time.Minute), Limit: 9,
					}))
				},
				func() error { return read(tx.Messages(ctx, texts)) },
				func() error {
					return read(tx.WebhookSecrets(ctx,
						[]driver.WebhookSecretRef{secret, {CompanyID: company, Endpoint: 2, Version: 1}}))
				},
				func() error { return read(tx.LockDeliveries(ctx, refs)) },
				func() error {
					return read(tx.LockPending(ctx, driver.WebhookEndpointRef{CompanyID: company, Number: 1}, 9))
				},
				func() error {
					for i := range deliveries {
						deliveries[i].Status, deliveries[i].FinishedAt = ticketing.DeliverySucceeded, late
					}
					return tx.UpdateDeliveries(ctx, deliveries)
				},
				func() error { return read(tx.DeliversUnder(ctx, secret)) },
				func() error { return read(tx.ListMessageDeliveries(ctx, company, messages[0].ID, 9)) },
				func() error {
					return read(tx.EndpointHealth(ctx, driver.EndpointHealthQuery{
						Companies: []uuid.UUID{company}, Since: at, Most: 9,
					}))
				},
				func() error {
					return read(tx.ListDeliveries(ctx, driver.DeliveryQuery{CompanyID: company, Limit: 9}))
				},
				func() error { return read(tx.CountDeliveries(ctx, driver.DeliveryQuery{CompanyID: company}, 0)) },
				func() error { return tx.UpdateMessages(ctx, messages) },
				func() error { return tx.ForgetMessages(ctx, orders) },
				func() error {
					return tx.DeleteWebhookSecrets(ctx,
						[]driver.WebhookSecretRef{secret, {CompanyID: company, Endpoint: 2, Version: 1}})
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

// TestMailStatementsAreConfinedToOneCompany checks the same for the statements about ticket mails: those of the
// dispatch, claims, outcomes, lists and pruning. The platform's mail sender is on each node.
func TestMailStatementsAreConfinedToOneCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := clusterDSN(t)
	var said testdb.Statements
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: openWatched(t, dsn, &said)})
	companies := []uuid.UUID{shop.Company.ID, shop.Neighbour(t).Company.ID}
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer db.Close()
	said.Take()
	at := shop.Clock.Now()
	late := at.Add(time.Hour)
	due := driver.WorkQuery{At: late, Limit: 9, After: []driver.DueWork{
		{Kind: driver.WorkMail}, {Kind: driver.WorkPruneMail},
	}}
	for n, company := range companies {
		is.NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}}); err != nil {
				return err
			}
			var notifications []driver.Notification
			var refs []driver.NotificationRef
			var orders []driver.OrderNumber
			for i := range 3 {
				one := driver.Notification{
					CompanyID: company, Number: int64(i + 1), Copy: 1, OrderID: uuid.New(), EventID: uuid.New(),
					Status: driver.NotificationPending, DueAt: at, CreatedAt: at,
				}
				notifications = append(notifications, one)
				refs, orders = append(refs, one.Ref()), append(orders, one.OrderNumber())
			}
			read := func(_ any, err error) error { return err }
			for i, call := range []func() error{
				func() error {
					return tx.AppendMailSender(ctx, driver.MailSender{Version: int64(n + 1), CreatedAt: at})
				},
				func() error { return read(tx.MailSender(ctx)) },
				func() error { return tx.AppendNotifications(ctx, notifications) },
				func() error { return tx.AppendNotifications(ctx, notifications[:1]) },
				func() error { return read(tx.DueWork(ctx, due)) },
				func() error {
					return read(tx.ClaimNotifications(ctx, driver.NotificationClaim{
						CompanyID: company, At: late, Until: late.Add(time.Minute), CreatedBefore: late, Limit: 9,
					}))
				},
				func() error { return read(tx.LockNotifications(ctx, refs)) },
				func() error { return read(tx.LockNotifications(ctx, refs[:1])) },
				func() error {
					for i := range notifications {
						notifications[i].Status, notifications[i].FinishedAt = driver.NotificationSent, at
					}
					return tx.UpdateNotifications(ctx, notifications)
				},
				func() error { return tx.UpdateNotifications(ctx, notifications[:1]) },
				func() error { return read(tx.OrderNotifications(ctx, orders)) },
				func() error { return read(tx.OrderNotifications(ctx, orders[:1])) },
				func() error {
					return read(tx.ListNotifications(ctx, driver.NotificationQuery{CompanyID: company, Limit: 9}))
				},
				func() error { return read(tx.CountNotifications(ctx, driver.NotificationQuery{CompanyID: company})) },
				func() error { return read(tx.PruneNotifications(ctx, company, late, 9)) },
				func() error { return read(tx.PrunedNotifications(ctx, company)) },
			} {
				if err := call(); err != nil {
					return fmt.Errorf("call %d: %w", i, err)
				}
			}
			return nil
		}))
	}
	statements := said.Take()
	is.True(len(statements) > 30)
	for _, statement := range statements {
		if problem := confined(t, db, statement, companies); problem != "" {
			t.Errorf("%s:\n%s", problem, statement)
		}
	}
}

// TestWebhookWorkIsConfinedToOneCompany checks the same for everything that a worker does with the webhooks of several
// companies at once. It publishes facts, creates deliveries, claims them, writes outcomes, also in groups, cancels,
// releases and prunes.
func TestWebhookWorkIsConfinedToOneCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := clusterDSN(t)
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
		c.Grouping, c.OnFact = ticketing.Grouping{ByCompany: true}, facts.OnFact
		c.WebhookRetention, c.FactRetention = time.Hour, time.Hour
	})
	is.NoErr(svc.Ready(t.Context()))
	const sales = 20
	var good, bad []ticketing.WebhookEndpoint
	for _, own := range shops {
		good, bad = append(good, in.register(t, own)), append(bad, in.register(t, own))
		in.rotate(t, own, bad[len(bad)-1].ID) // The retired secret is read, too.
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
	send(t, svc) // The failed deliveries are claimed.
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

// waiting returns as soon as a session of a database waits for a lock.
func waiting(tb testing.TB, db *sql.DB) {
	tb.Helper()
	for begun := time.Now(); time.Since(begun) < patience; {
		if sessionsWaiting(tb, db) > 0 {
			return
		}
	}
	tb.Fatal("nobody waits for a lock")
}

// sessionsWaiting returns how many sessions of a database wait for locks.
func sessionsWaiting(tb testing.TB, db *sql.DB) (sessions int) {
	tb.Helper()
	// The database makes the pause. The test does not depend on its length.
	query := `SELECT count(DISTINCT a.pid) FROM pg_sleep(0.005), pg_locks l
		JOIN pg_stat_activity a ON a.pid = l.pid WHERE NOT l.granted AND a.datname = current_database()`
	if pgtest.OnCluster() { // Rows are locked on the nodes that have them.
		query = "SELECT sum(result::bigint) FROM run_command_on_all_nodes($$" + query + "$$)"
	}
	is.New(tb).NoErr(db.QueryRowContext(tb.Context(), query).Scan(&sessions))
	return sessions
}
