package store_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// crowd makes the tables of one company large, and those of many others as large as in production. The functions u and
// t return an id and a time for a number.
const crowd = `
SET session_replication_role TO replica;
CREATE FUNCTION u(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT lpad(to_hex(n), 32, '0')::uuid $$;
CREATE FUNCTION t(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT 1772600000000 + n * 1000 $$;
INSERT INTO ticketing_companies SELECT u(100000 + n), 'Company', 'ACTIVE', 'APPROVED', NULL, NULL, '', 1, t(n), t(n), 0
	FROM generate_series(1, 2000) n;
INSERT INTO ticketing_brandings SELECT u(100000 + n), v, 'Company', '', '', '', '', '', '', '', t(n)
	FROM generate_series(1, 2000) n, generate_series(1, 2) v;
INSERT INTO ticketing_commission_rates SELECT u(100000 + n), u(200000 + n * 10 + v), v, '250', 'BASIS_POINTS', t(v), ` +
	`t(n)
	FROM generate_series(1, 2000) n, generate_series(1, 3) v;
INSERT INTO ticketing_commission_rates SELECT u(1), u(290000 + v), v, '250', 'BASIS_POINTS', t(v), t(v)
	FROM generate_series(2, 400) v;
INSERT INTO ticketing_api_keys SELECT c, k, 'shop', '[]', CASE WHEN n % 3 = 0 THEN 'REVOKED' ELSE 'ACTIVE' END, ` +
	`'v1', NULL,
	t(n), NULL, NULL FROM (SELECT n, CASE WHEN n % 40 = 0 THEN u(1) ELSE u(100000 + n) END AS c, u(300000 + n) AS k
	FROM generate_series(1, 2000) n) x;
INSERT INTO ticketing_api_key_directory SELECT id, company_id FROM ticketing_api_keys WHERE id > u(300000);
INSERT INTO ticketing_categories SELECT u(400000 + n), 'Music', 'music-' || n, 'ACTIVE', t(n) FROM ` +
	`generate_series(1, 2000) n;
INSERT INTO ticketing_events SELECT CASE WHEN n % 4 = 0 THEN u(1) ELSE u(100000 + n % 2000 + 1) END, u(500000 + n), ` +
	`'Night ' || n, '',
	(ARRAY['DRAFT', 'PUBLISHED', 'ENDED', 'CANCELLED'])[n % 4 + 1], '', '', '', '', '', '', '', '', NULL, '[]',
	t(n + 1000000), t(n), t(n) FROM generate_series(1, 8000) n;
INSERT INTO ticketing_inventory_tiers SELECT company_id, id, tier, 3, 3000, false
	FROM ticketing_events, unnest('{Regular,VIP,Student}'::text[]) tier WHERE id > u(500000);
INSERT INTO ticketing_inventory_batches SELECT company_id, event_id, tier, p, 'Entry', '', 500, 'AVAILABLE', 1000,
	CASE WHEN p < 3 THEN 1000 ELSE 0 END, p = 3, 1 FROM ticketing_inventory_tiers, generate_series(1, 3) p
	WHERE event_id > u(500000);
INSERT INTO ticketing_inventory_batches SELECT u(1), u(2), 'Regular', p, 'Entry', '', 1000 + p % 50, 'AVAILABLE', ` +
	`1000, 0,
	true, 1 FROM generate_series(10, 600) p;
INSERT INTO ticketing_orders SELECT c, 1000 + n, u(10000000 + n), e, s, 500, 1, u(3), 1, 0, 0, 'ada@example.com', ` +
	`'', '', t(n),
	t(n) FROM (SELECT n, CASE WHEN n % 2 = 0 THEN u(1) ELSE u(100000 + n % 2000 + 1) END AS c, u(2 + (n % 7) * 500000) ` +
	`AS e,
	CASE WHEN n % 50 = 0 THEN 'REFUNDED' WHEN n % 70 = 0 THEN 'CANCELLED' ELSE 'CONFIRMED' END AS s
	FROM generate_series(1, 40000) n) x;
INSERT INTO ticketing_admissions SELECT company_id, number, l, u(20000000 + number * 10 + l), u(30000000 + number * ` +
	`10 + l), id,
	event_id, 'Regular', 1, 'Entry', 500, false, NULL, NULL, '' FROM ticketing_orders, generate_series(1, 2) l;
INSERT INTO ticketing_buyers SELECT company_id, number || '@example.com', '', '', 1, 1 FROM ticketing_orders;
INSERT INTO ticketing_idempotency_keys SELECT company_id, 'checkouts.create', 'old-' || number, 'v1', '', id, NULL, 1
	FROM ticketing_orders;
INSERT INTO ticketing_wallets SELECT u(100000 + n), w, 'ACTIVE', 'NGN', 0, 0, decode(repeat('00', 32), 'hex'), 1
	FROM generate_series(1, 2000) n, unnest('{FLOAT,EARNINGS}'::text[]) w;
INSERT INTO ticketing_ledger_entries SELECT company_id, w, number, 'x', 0, 0, 0, '', 1, decode(repeat('00', 32), 'hex'),
	decode(repeat('00', 32), 'hex') FROM ticketing_orders, unnest('{FLOAT,EARNINGS}'::text[]) w;
INSERT INTO ticketing_float_credits SELECT CASE WHEN n % 2 = 0 THEN u(1) ELSE u(100000 + n % 2000 + 1) END, 'r' || ` +
	`n, 1, n
	FROM generate_series(1, 4000) n;
INSERT INTO ticketing_audit_entries SELECT CASE WHEN n % 2 = 0 THEN u(1) ELSE u(100000 + n % 2000 + 1) END, t(n),
	u(40000000 + n), (ARRAY['Obi', 'Ada', 'Ngozi'])[n % 3 + 1],
	(ARRAY['float.credit', 'kyb.approve', 'kyb.grace', 'company.rename', 'key.issue'])[n % 5 + 1], 'company', '{}'
	FROM generate_series(1, 20000) n;
INSERT INTO ticketing_users SELECT u(50000000 + n), n || '@example.com', 1 FROM generate_series(1, 4000) n;
INSERT INTO ticketing_members SELECT CASE WHEN n % 2 = 0 THEN u(1) ELSE u(100000 + n % 2000 + 1) END, id, 'Ada', ` +
	`'VIEWER', 1, 1
	FROM (SELECT id, row_number() OVER () AS n FROM ticketing_users) x;
INSERT INTO ticketing_verification_cases SELECT CASE WHEN n > 1000 THEN u(1) ELSE u(100000 + n) END, n * 2 + v, ` +
	`'REJECTED', '', '', '', '', '', '', '', '', 1, 1, 1, 1
	FROM generate_series(1, 2000) n, generate_series(1, 2) v;
INSERT INTO ticketing_bank_accounts SELECT u(100000 + n), v, 'First Bank', 'Company', 's1', '6789', t(n)
	FROM generate_series(1, 2000) n, generate_series(1, 2) v;
INSERT INTO ticketing_settlements SELECT c, n + 10, u(50000000 + n), 500, CASE WHEN n > 9000 THEN 'PENDING' ELSE ` +
	`'COMPLETED' END,
	1, '', t(n), NULL, 0 FROM (SELECT n, CASE WHEN n % 2 = 0 AND n <= 9000 THEN u(1) ELSE u(100000 + n % 2000 + 1) END AS c
	FROM generate_series(1, 10000) n) x;
INSERT INTO ticketing_order_endings SELECT company_id, number, id, 'CANCELLED', '', false, 0, 0, 1
	FROM ticketing_orders WHERE status <> 'CONFIRMED';
INSERT INTO ticketing_outbox SELECT company_id, confirmed_at, id, 'order.created', id, number % 40 <> 0, NULL, 0,
	number % 80 <> 0 FROM ticketing_orders;
INSERT INTO ticketing_webhook_endpoints SELECT u(100000 + n), e, u(60000000 + n * 10 + e), 'https://example.com',
	'order.created', 'ENABLED', 2, 0, 2, t(n), t(n) FROM generate_series(1, 2000) n, generate_series(1, 2) e;
INSERT INTO ticketing_webhook_secrets SELECT company_id, number, v, 's1', created_at
	FROM ticketing_webhook_endpoints, generate_series(1, 2) v;
INSERT INTO ticketing_webhook_messages SELECT company_id, at, id, type, subject, '{}' FROM ticketing_outbox;
INSERT INTO ticketing_webhook_deliveries SELECT company_id, at, id, 1 + n % 2, u(60000000 + n), at, id, type,
	'https://example.com', 2, NULL, s, false, '[]', at, NULL, CASE WHEN s <> 'PENDING' THEN at END FROM (
		SELECT *, CASE WHEN n % 30 = 0 THEN 'PENDING' WHEN n % 70 = 0 THEN 'FAILED' WHEN n % 110 = 0 THEN 'CANCELLED'
			ELSE 'SUCCEEDED' END AS s FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM ticketing_outbox) x) y;
INSERT INTO ticketing_notifications SELECT company_id, number, v, id, event_id, '', s, '', '[]', confirmed_at, NULL,
	CASE WHEN s <> 'PENDING' THEN confirmed_at END, confirmed_at FROM ticketing_orders, generate_series(1, 2) v,
	LATERAL (SELECT CASE WHEN number % 30 = 0 THEN 'PENDING' WHEN number % 70 = 0 THEN 'FAILED'
		WHEN number % 110 = 0 THEN 'CANCELLED' ELSE 'SENT' END AS s) x;
INSERT INTO ticketing_notification_prunes SELECT u(100000 + n), n FROM generate_series(1, 2000) n;
INSERT INTO ticketing_book_checks SELECT u(100000 + n), t(n), n, 0 FROM generate_series(1, 2000) n;
INSERT INTO ticketing_sales_sums SELECT company_id, event_id, 'VIP', 900000 * number, 1, 1, 1, 1, 1, 1, 1
	FROM ticketing_orders ON CONFLICT DO NOTHING;
INSERT INTO ticketing_sales_progress SELECT u(100000 + n), n FROM generate_series(1, 2000) n;
INSERT INTO ticketing_buyer_orders SELECT company_id, buyer_email, number FROM ticketing_orders;
INSERT INTO ticketing_mail_senders SELECT v, 'tickets@example.com', 'Tickets', '', t(v) FROM generate_series(1, 20) v;
INSERT INTO ticketing_members SELECT u(100000 + n), u(1), 'Ada', CASE WHEN n % 4 = 0 THEN '' ELSE 'VIEWER' END, 1, 1
	FROM generate_series(1, 2000) n;
INSERT INTO ticketing_sessions SELECT c, u(70000000 + n), 'd1', 'PASSKEY', 'Firefox', '192.0.2.1', t(n), t(n), t(n)
	FROM (SELECT n, CASE WHEN n % 4 = 0 THEN u(1) ELSE u(50000000 + n) END AS c FROM generate_series(1, 8000) n) x;
INSERT INTO ticketing_sign_in_tokens SELECT user_id, id, 'CODE', 'd2', 'd3', NULL, 0, created_at, created_at, NULL
	FROM ticketing_sessions;
INSERT INTO ticketing_passkeys SELECT user_id, 'k' || id, 'Phone', '{}', 0, created_at, NULL FROM ticketing_sessions;
INSERT INTO ticketing_staff SELECT id, 'Obi', CASE WHEN n % 4 = 0 THEN 'SUPPORT' ELSE '' END, 1, 1
	FROM (SELECT id, row_number() OVER () AS n FROM ticketing_users WHERE id > u(50000000)) x;
ANALYZE;`

// TestPostgresFactPlans checks that facts and deliveries are claimed in the order of their queue and changed one by
// one, by their keys. That holds however many there are, at once and in a company, and whether or not the planner has
// statistics.
func TestPostgresFactPlans(t *testing.T) {
	t.Parallel()
	race.Leave(t, "plans")
	for name, filling := range map[string]string{"known": crowd, "unknown": strings.TrimSuffix(crowd, "ANALYZE;")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var said testdb.Statements
			db := bun.NewDB(said.Pool(testdb.FreshDSN(t)), pgdialect.New())
			defer db.Close()
			s, err := store.OpenDB(t.Context(), db, nil)
			is.NoErr(err)
			furnish(t, s, newBatch(1, 0))
			_, err = db.DB.ExecContext(t.Context(), "ALTER TABLE ticketing_outbox SET (autovacuum_enabled = off);"+
				"ALTER TABLE ticketing_webhook_deliveries SET (autovacuum_enabled = off);"+filling)
			is.NoErr(err)
			said.Take()
			const limit = 200
			written(t, s, func(ctx context.Context, tx driver.Tx) error {
				taken, err := tx.TakeFacts(ctx, company, limit)
				is.NoErr(err)
				is.Equal(len(taken), limit)
				if err := tx.DispatchFacts(ctx, taken, false); err != nil {
					return err
				}
				facts, err := tx.LeaseFacts(ctx, company, minute(20), minute(21), limit)
				is.NoErr(err)
				is.Equal(len(facts), limit)
				claimed, err := tx.ClaimDeliveries(ctx, driver.DeliveryClaim{
					CompanyID: company, Endpoint: 1, At: minute(1000), Until: minute(1001), Limit: limit,
				})
				is.NoErr(err)
				is.Equal(len(claimed), limit)
				return errors.Join(tx.CompleteFacts(ctx, facts), tx.UpdateDeliveries(ctx, claimed))
			})
			asked := 0
			queue := regexp.MustCompile(`ticketing_(outbox|webhook_deliveries)`)
			key := regexp.MustCompile(`ticketing_outbox_(undispatched|untold)|ticketing_webhook_deliveries_pending|at = |id = `)
			for _, statement := range said.Take() {
				if !queue.MatchString(statement) {
					continue
				}
				asked++
				plan := testdb.Explain(t, db.DB, store.ByIndex(), "COSTS OFF", statement)
				for node := range strings.SplitSeq(plan, "->  ") {
					scan := strings.Contains(node, "Scan") && queue.MatchString(node) &&
						// Its index is in the node below it.
						!strings.HasPrefix(node, "Bitmap Heap Scan")
					if scan && !key.MatchString(node) {
						t.Errorf("%s\n%s", statement, plan)
					}
				}
				if list, _, _ := strings.Cut(plan, "->  Nested Loop"); strings.Contains(list, "Sort") {
					t.Errorf("%s\n%s", statement, plan)
				}
			}
			is.Equal(asked, 6)
		})
	}
}

// tableName matches the name of a table, which Bun quotes.
var tableName = regexp.MustCompile(` "?ticketing_`)

// TestPostgresQueryPlans checks that on PostgreSQL, too, every statement except those of verification finds its rows by
// an index. No list is sorted to return a page of it, if the tables are large and the planner has statistics.
func TestPostgresQueryPlans(t *testing.T) {
	t.Parallel()
	race.Leave(t, "plans")
	is := is.New(t)
	var said testdb.Statements
	db := bun.NewDB(said.Pool(testdb.FreshDSN(t)), pgdialect.New())
	defer db.Close()
	s, err := store.OpenDB(t.Context(), db, nil)
	is.NoErr(err)
	furnish(t, s, newBatch(1, 0))
	_, err = db.DB.ExecContext(t.Context(), crowd)
	is.NoErr(err)
	said.Take()
	askAll(t, s)
	asked := said.Take()
	is.True(len(asked) > 50)
	indexes := regexp.MustCompile(`(?:using|Bitmap Index Scan on) (ticketing_\w+)`)
	used := map[string]bool{}
	for _, statement := range asked {
		// Skip statements without a table, and the names of the few secret keys.
		if !tableName.MatchString(statement) || strings.Contains(statement, "ticketing_migrations") {
			continue
		}
		plan := testdb.Explain(t, db.DB, store.ByIndex(), "COSTS OFF", statement)
		for _, index := range indexes.FindAllStringSubmatch(plan, -1) {
			used[index[1]] = true
		}
		// The rows that a worker claims are looked up one by one after they were listed.
		list := plan
		if strings.HasPrefix(statement, "WITH due ") {
			list, _, _ = strings.Cut(plan, "->  Nested Loop")
		}
		sorted := strings.Contains(list, "Sort") && page.MatchString(statement) &&
			!strings.Contains(statement, "UNION ALL") && !sortedPage.MatchString(statement) &&
			!messageList.MatchString(statement)
		if sorted || strings.Contains(plan, "Seq Scan on ticketing_") {
			t.Errorf("%s\n%s", statement, plan)
		}
	}
	for _, index := range []string{
		"ticketing_companies_list", "ticketing_commission_rates_effective", "ticketing_api_keys_list",
		"ticketing_events_list", "ticketing_events_list_status", "ticketing_events_due",
		"ticketing_inventory_batches_stock", "ticketing_orders_event", "ticketing_orders_status_list",
		"ticketing_orders_event_status", "ticketing_outbox_undispatched", "ticketing_outbox_untold",
		"ticketing_audit_entries_list", "ticketing_audit_entries_actor", "ticketing_audit_entries_action",
		"ticketing_audit_entries_actor_action", "ticketing_audit_entries_all_actor", "ticketing_audit_entries_all_action",
		"ticketing_audit_entries_all_actor_action", "ticketing_audit_entries_id", "ticketing_webhook_deliveries_final",
		"ticketing_webhook_deliveries_pending", "ticketing_webhook_deliveries_failed",
		"ticketing_webhook_deliveries_cancelled",
		"ticketing_webhook_deliveries_message", "ticketing_notifications_due", "ticketing_notifications_failed",
		"ticketing_notifications_cancelled", "ticketing_notifications_final",
		"ticketing_settlements_company_id_idx", "ticketing_companies_name", "ticketing_companies_expiry",
		"ticketing_verification_cases_submitted", "ticketing_settlements_open", "ticketing_webhook_deliveries_dead",
		"ticketing_sessions_created", "ticketing_sign_in_tokens_created", "ticketing_passkeys_created",
		"ticketing_staff_current", "ticketing_members_of_user",
		"ticketing_events_title", "ticketing_events_all_title", "ticketing_float_credits_reference",
	} {
		if !used[index] {
			t.Errorf("no statement uses %s", index)
		}
	}
}
