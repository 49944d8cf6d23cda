package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store"
)

// filling creates a function that gives a company orders, admissions and everything that comes with them. Of the tables
// in which a company has few rows, it inserts a given number. The ids of the rows of one company follow its base. The
// id of the company is that of a user, too, who has as many rows.
const filling = `
CREATE FUNCTION u(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT lpad(to_hex(n), 32, '0')::uuid $$;
CREATE FUNCTION t(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT 1772600000000 + n * 1000 $$;
CREATE FUNCTION fill(c uuid, base bigint, orders int, few int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO ticketing_companies VALUES (c, 'Company', 'ACTIVE', 'APPROVED', NULL, NULL, '', 1, t(base), t(base), 0)
		ON CONFLICT DO NOTHING;
	INSERT INTO ticketing_brandings SELECT c, 1 + n, 'Company', '', '', '', '', '', '', '', t(n) FROM ` +
	`generate_series(1, few) n;
	INSERT INTO ticketing_commission_rates SELECT c, u(base + n), 1 + n, '250', 'BASIS_POINTS', t(n), t(n)
		FROM generate_series(1, few) n;
	INSERT INTO ticketing_api_keys SELECT c, u(base + n), 'shop', '[]', CASE WHEN n % 3 = 0 THEN 'REVOKED' ELSE ` +
	`'ACTIVE' END,
		'v1', NULL, t(n), NULL, NULL FROM generate_series(1, few) n;
	INSERT INTO ticketing_api_key_directory SELECT u(base + n), c FROM generate_series(1, few) n;
	INSERT INTO ticketing_events SELECT c, u(base + n), 'Night', '', (ARRAY['DRAFT', 'PUBLISHED', 'ENDED', ` +
	`'CANCELLED'])[n % 4 + 1],
		'', '', '', '', '', '', '', '', NULL, '[]', t(n + 1000000), t(n), t(n) FROM generate_series(1, few) n;
	INSERT INTO ticketing_inventory_tiers SELECT c, u(base + n), tier, 3, 3000, false
		FROM generate_series(1, few) n, unnest('{Regular,VIP,Student}'::text[]) tier;
	INSERT INTO ticketing_inventory_batches SELECT c, u(base + n), tier, p, 'Entry', '', 500, 'AVAILABLE', 1000,
		CASE WHEN p < 3 THEN 1000 ELSE 0 END, p = 3, 1
		FROM generate_series(1, few) n, unnest('{Regular,VIP,Student}'::text[]) tier, generate_series(1, 3) p;
	INSERT INTO ticketing_orders SELECT c, 1000 + n, u(base + n), u(base + 1 + n % least(few, 7)),
		CASE WHEN n % 50 = 0 THEN 'REFUNDED' WHEN n % 70 = 0 THEN 'CANCELLED' ELSE 'CONFIRMED' END, 500, 1, u(3), 1, 0, 0,
		CASE WHEN n % 9 = 0 THEN 'ada' ELSE 'u' || n END || '@example.com', '', '', t(n), t(n)
		FROM generate_series(1, orders) n;
	INSERT INTO ticketing_admissions SELECT c, 1000 + n, l, u(base + n * 2 + l - 2), u(base + n), u(base + n),
		u(base + 1 + n % least(few, 7)), 'Regular', 1, 'Entry', 500, false, NULL, NULL, ''
		FROM generate_series(1, orders) n, generate_series(1, 2) l;
	INSERT INTO ticketing_buyers SELECT c, n || '@example.com', '', '', 1, 1 FROM generate_series(1, orders) n;
	INSERT INTO ticketing_idempotency_keys SELECT c, 'checkouts.create', 'old-' || n, 'v1', '', u(base + n), NULL, 1
		FROM generate_series(1, orders) n;
	INSERT INTO ticketing_wallets SELECT c, w, 'ACTIVE', 'NGN', 0, 0, decode(repeat('00', 32), 'hex'), 1
		FROM unnest('{FLOAT,EARNINGS}'::text[]) w ON CONFLICT DO NOTHING;
	INSERT INTO ticketing_ledger_entries SELECT c, w, 1000 + n, 'x', 0, 0, 0, '', 1, decode(repeat('00', 32), 'hex'),
		decode(repeat('00', 32), 'hex') FROM generate_series(1, orders) n, unnest('{FLOAT,EARNINGS}'::text[]) w;
	INSERT INTO ticketing_float_credits SELECT c, 'r' || n, 1, n FROM generate_series(1, few) n;
	INSERT INTO ticketing_audit_entries SELECT c, t(n), u(base + n), 'Obi', 'float.credit', 'company', '{}'
		FROM generate_series(1, few) n;
	INSERT INTO ticketing_users SELECT u(base + n), base + n || '@example.com', 1 FROM generate_series(1, few) n;
	INSERT INTO ticketing_members SELECT c, u(base + n), 'Ada', 'VIEWER', 1, 1 FROM generate_series(1, few) n;
	INSERT INTO ticketing_verification_cases SELECT c, n, 'REJECTED', '', '', '', '', '', '', '', '', 1, 1, 1, 1
		FROM generate_series(1, few) n;
	INSERT INTO ticketing_bank_accounts SELECT c, 1 + n, 'First Bank', 'Company', 's1', '6789', t(n) FROM ` +
	`generate_series(1, few) n;
	INSERT INTO ticketing_settlements SELECT c, 1 + n, u(base + n), 500, 'COMPLETED', 1, '', t(n), NULL, 0
		FROM generate_series(1, few) n;
	INSERT INTO ticketing_order_endings SELECT c, number, id, 'CANCELLED', '', false, 0, 0, 1
		FROM ticketing_orders WHERE company_id = c AND status <> 'CONFIRMED';
	INSERT INTO ticketing_outbox SELECT c, t(n), u(base + n), 'order.created', u(base + n), n % 4 <> 0, NULL, 0, n % 8 <> 0
		FROM generate_series(1, orders) n;
	INSERT INTO ticketing_webhook_endpoints SELECT c, 1 + n, u(base + n), 'https://example.com', 'order.created', ` +
	`'ENABLED',
		2, 0, 2, t(n), t(n) FROM generate_series(1, few) n;
	INSERT INTO ticketing_webhook_secrets SELECT c, 1 + n, v, 's1', 1 FROM generate_series(1, few) n, ` +
	`generate_series(1, 2) v;
	INSERT INTO ticketing_webhook_messages SELECT c, t(n), u(base + n), 'order.created', u(base + n), '{}'
		FROM generate_series(1, orders) n;
	INSERT INTO ticketing_webhook_deliveries SELECT c, t(n), u(base + n), 1 + n % 2, u(base + 1), t(n), u(base + n),
		'order.created', 'https://example.com', 2, NULL, s, false, '[]', t(n), NULL, CASE WHEN s <> 'PENDING' THEN t(n) END
		FROM generate_series(1, orders) n, LATERAL (SELECT CASE WHEN n % 5 = 0 THEN 'PENDING' WHEN n % 70 = 1 THEN 'FAILED'
			WHEN n % 110 = 1 THEN 'CANCELLED' ELSE 'SUCCEEDED' END AS s) x;
	INSERT INTO ticketing_notifications SELECT c, 1000 + n, 1, u(base + n), u(base + 1 + n % least(few, 7)), '', s, '',
		'[]', t(n), NULL, CASE WHEN s <> 'PENDING' THEN t(n) END, t(n)
		FROM generate_series(1, orders) n, LATERAL (SELECT CASE WHEN n % 5 = 0 THEN 'PENDING' WHEN n % 70 = 1 THEN 'FAILED'
			WHEN n % 110 = 1 THEN 'CANCELLED' ELSE 'SENT' END AS s) x;
	INSERT INTO ticketing_notification_prunes VALUES (c, 900) ON CONFLICT DO NOTHING;
	INSERT INTO ticketing_book_checks VALUES (c, t(1), 9, 0) ON CONFLICT DO NOTHING;
	INSERT INTO ticketing_sales_sums SELECT c, e, tier, 900000::BIGINT * n, 1, 1, 1, 1, 1, 1, 1
		FROM generate_series(1, orders) n, unnest(array[u(0), u(base + 1), u(base + 2)]) e, unnest('{"",VIP}'::text[]) tier;
	INSERT INTO ticketing_sales_progress VALUES (c, orders) ON CONFLICT DO NOTHING;
	INSERT INTO ticketing_buyer_orders
		SELECT c, CASE WHEN n % 9 = 0 THEN 'ada' ELSE 'u' || n END || '@example.com', 1000 + n
		FROM generate_series(1, orders) n;
	INSERT INTO ticketing_members SELECT u(base + n), c, 'Ada', 'VIEWER', 1, 1 FROM generate_series(1, few) n;
	INSERT INTO ticketing_sessions SELECT c, u(base + n), 'd1', 'PASSKEY', 'Firefox', '192.0.2.1', t(n), t(n), t(n)
		FROM generate_series(1, few) n;
	INSERT INTO ticketing_sign_in_tokens SELECT c, u(base + n), 'CODE', 'd2', 'd3', NULL, 0, t(n), t(n), NULL
		FROM generate_series(1, few) n;
	INSERT INTO ticketing_passkeys SELECT c, 'k' || n, 'Phone', '{}', 0, t(n), NULL FROM generate_series(1, few) n;
	INSERT INTO ticketing_staff SELECT u(base + n), 'Obi', CASE WHEN n % 2 = 0 THEN 'SUPPORT' ELSE '' END, 1, 1
		FROM generate_series(1, few) n;
$$;
SET session_replication_role TO replica;
`

// recounting makes PostgreSQL keep statistics of companies again, as in a database that was analysed before the
// migration that ended that.
const recounting = `DO $$ DECLARE name text; BEGIN
	FOR name IN SELECT attrelid::regclass FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND attname = 'company_id'
	LOOP EXECUTE 'ALTER TABLE ' || name || ' ALTER company_id SET STATISTICS -1'; END LOOP;
END $$;
`

// base is the base of the newcomer, the company under which the tests run.
const base = 7_000_000_000

// askMany reads and writes what groups and pages do: many rows at once, of a company that has many more.
func askMany(tb testing.TB, s driver.Store) {
	tb.Helper()
	is := is.New(tb)
	const many = 30
	var orders []driver.OrderRef
	var numbers []driver.OrderNumber
	var admissions []driver.AdmissionRef
	var results []driver.IdempotencyKey
	var buyers []driver.BuyerRef
	var messages []driver.MessageRef
	var deliveries []driver.DeliveryRef
	var notifications []driver.NotificationRef
	for i := range many {
		n := i*37 + 5
		orders = append(orders, driver.OrderRef{CompanyID: company, ID: number(base + n)})
		numbers = append(numbers, driver.OrderNumber{CompanyID: company, Number: int64(1000 + n)})
		admissions = append(admissions, driver.AdmissionRef{CompanyID: company, ID: number(base + 2*n)})
		results = append(results,
			driver.IdempotencyKey{CompanyID: company, Operation: "checkouts.create", Key: fmt.Sprintf("old-%d", n)})
		buyers = append(buyers, driver.BuyerRef{CompanyID: company, Email: fmt.Sprintf("%d@example.com", n)})
		messages = append(messages, driver.MessageRef{CompanyID: company, At: second(n), ID: number(base + n)})
		deliveries = append(deliveries, driver.DeliveryRef{CompanyID: company, CreatedAt: second(n), ID: number(base + n)})
		notifications = append(notifications, driver.NotificationRef{CompanyID: company, Number: int64(1000 + n), Copy: 1})
	}
	var events []driver.EventRef
	for i := range 5 {
		events = append(events, driver.EventRef{CompanyID: company, ID: number(base + 1 + i)})
	}
	is.NoErr(update(tb.Context(), s, func(ctx context.Context, tx driver.Tx) error {
		found, err := tx.LockAdmissions(ctx, admissions)
		is.NoErr(err)
		is.Equal(len(found), many)
		for i := range found {
			is.Equal(found[i].ID, admissions[i].ID)
			found[i].ValidationID, found[i].ValidatedAt = number(i+1), minute(3)
		}
		is.NoErr(tx.UpdateAdmissions(ctx, found))
		_, err = tx.Results(ctx, results)
		is.NoErr(err)
		locked, err := tx.LockDeliveries(ctx, deliveries)
		is.NoErr(err)
		is.NoErr(tx.UpdateDeliveries(ctx, locked))
		sent, err := tx.Messages(ctx, messages)
		is.NoErr(err)
		is.NoErr(tx.UpdateMessages(ctx, sent))
		facts, err := tx.TakeFacts(ctx, company, 200)
		is.NoErr(err)
		is.NoErr(tx.DispatchFacts(ctx, facts, false))
		facts, err = tx.LeaseFacts(ctx, company, minute(20), minute(21), 200)
		is.NoErr(err)
		is.NoErr(tx.CompleteFacts(ctx, facts))
		claimed, err := tx.ClaimDeliveries(ctx, driver.DeliveryClaim{
			CompanyID: company, Endpoint: 1, At: minute(1000), Until: minute(1001), Limit: 200,
		})
		is.NoErr(err)
		is.NoErr(tx.UpdateDeliveries(ctx, claimed))
		mails, err := tx.LockNotifications(ctx, notifications)
		is.NoErr(err)
		is.Equal(mails[many-1].Ref(), notifications[many-1])
		is.NoErr(tx.AppendNotifications(ctx, mails))
		is.NoErr(tx.UpdateNotifications(ctx, mails))
		mails, err = tx.ClaimNotifications(ctx, driver.NotificationClaim{
			CompanyID: company, At: minute(1000), Until: minute(1001), Limit: 200,
		})
		is.NoErr(err)
		is.NoErr(tx.UpdateNotifications(ctx, mails))
		var queries []driver.StockQuery
		var batches []driver.BatchRef
		for _, e := range events {
			for _, tier := range []string{"Regular", "VIP"} {
				queries = append(queries,
					driver.StockQuery{CompanyID: company, EventID: e.ID, Tier: tier, UnitPrice: 500, Quantity: 3})
				batches = append(batches, driver.BatchRef{CompanyID: company, EventID: e.ID, Tier: tier, Position: 3})
			}
		}
		stock, err := tx.LockStock(ctx, queries)
		is.NoErr(err)
		is.Equal(len(stock), len(queries))
		is.NoErr(tx.UpdateBatches(ctx, stock))
		_, err = tx.LockBatches(ctx, batches)
		is.NoErr(err)
		_, err = tx.LockOpenBatches(ctx, events[0], nil)
		is.NoErr(err)
		_, err = tx.LockOpenBatches(ctx, events[0], []string{"Regular", "VIP"})
		is.NoErr(err)
		tiers, err := tx.LockTiers(ctx, events[0], nil)
		is.NoErr(err)
		return errors.Join(tx.UpdateTiers(ctx, tiers), manyAccounts(ctx, tx))
	}))
	is.NoErr(s.View(tb.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		_, err := tx.Orders(ctx, orders)
		is.NoErr(err)
		_, err = tx.Orders(ctx, orders[:1])
		is.NoErr(err)
		_, err = tx.OrderLines(ctx, numbers)
		is.NoErr(err)
		_, err = tx.OrderLines(ctx, numbers[:1])
		is.NoErr(err)
		_, err = tx.OrderEndings(ctx, numbers)
		is.NoErr(err)
		_, err = tx.OrderNotifications(ctx, numbers)
		is.NoErr(err)
		_, err = tx.Admissions(ctx, admissions[:1])
		is.NoErr(err)
		_, err = tx.Buyers(ctx, buyers)
		is.NoErr(err)
		_, err = tx.Events(ctx, events)
		is.NoErr(err)
		_, err = tx.Events(ctx, events[:1])
		is.NoErr(err)
		var terms []driver.SaleTermsRef
		var keys []uuid.UUID
		var keyRefs []driver.APIKeyRef
		var rates []driver.RateRef
		for i, e := range events {
			terms = append(terms, driver.SaleTermsRef{EventRef: e, BrandingVersion: int64(2 + i)})
			keys = append(keys, number(base+1+i))
			keyRefs = append(keyRefs, driver.APIKeyRef{CompanyID: company, ID: keys[i]})
			rates = append(rates, driver.RateRef{CompanyID: company, ID: keys[i]})
		}
		_, err = tx.SaleTerms(ctx, terms, minute(3))
		is.NoErr(err)
		_, err = tx.FindAPIKeys(ctx, keys)
		is.NoErr(err)
		_, err = tx.APIKeys(ctx, keyRefs)
		is.NoErr(err)
		_, err = tx.Rates(ctx, rates)
		is.NoErr(err)
		_, err = tx.CountTiers(ctx, events[0], nil)
		is.NoErr(err)
		_, err = tx.ListBatches(ctx, events[0], 1000)
		is.NoErr(err)
		_, err = tx.SumBatches(ctx, events[0], []string{"Regular", "VIP"})
		is.NoErr(err)
		for _, some := range [][]driver.EventRef{events, events[:1], {events[0], {CompanyID: number(2), ID: number(9)}}} {
			_, err = tx.CountEvents(ctx, some)
			is.NoErr(err)
		}
		for _, some := range [][]uuid.UUID{{company}, {company, number(2)}} {
			_, err = tx.NewestAudit(ctx, some)
			is.NoErr(err)
		}
		_, err = tx.CountTiers(ctx, events[0], []string{"Regular", "VIP"})
		is.NoErr(err)
		_, err = tx.PriceList(ctx, events[0], []string{"Regular", "VIP"})
		is.NoErr(err)
		is.NoErr(priceLists(ctx, tx, events[0]))
		is.NoErr(priceLists(ctx, tx, events...))
		is.NoErr(priceLists(ctx, tx, events[0], driver.EventRef{CompanyID: number(2), ID: number(9)}))
		for _, statuses := range [][]driver.OrderStatus{
			nil, {driver.OrderRefunded}, {driver.OrderRefunded, driver.OrderCancelled},
		} {
			for _, of := range []uuid.UUID{{}, events[0].ID} {
				for _, before := range []int64{0, 1500} {
					_, err = tx.ListOrders(ctx, driver.OrderQuery{
						CompanyID: company, EventID: of, Statuses: statuses, After: before, Limit: 20,
					})
					is.NoErr(err)
				}
			}
		}
		_, err = tx.Wallets(ctx, []driver.WalletRef{{CompanyID: company, Wallet: ledger.Float}})
		return err
	}))
	askJoined(tb, s, events, orders, results)
}

// askJoined makes the reads that travel together.
func askJoined(
	tb testing.TB, s driver.Store, events []driver.EventRef, orders []driver.OrderRef, results []driver.IdempotencyKey,
) {
	tb.Helper()
	is := is.New(tb)
	authority := func(ctx context.Context, tx driver.ReadTx) {
		_, _ = tx.Companies(ctx, []uuid.UUID{company})
		_, _ = tx.APIKeys(ctx, []driver.APIKeyRef{{CompanyID: company, ID: number(base + 1)}})
	}
	for many := range 2 {
		events, orders, results := events[:1+4*many], orders[:1+29*many], results[:1+29*many]
		var terms []driver.SaleTermsRef
		for _, e := range events {
			terms = append(terms, driver.SaleTermsRef{EventRef: e, BrandingVersion: 2})
		}
		in := driver.BeginOptions{Shared: []uuid.UUID{company}, Keys: results}
		in.Reads = func(ctx context.Context, tx driver.Tx) {
			authority(ctx, tx)
			_, _ = tx.Results(ctx, results)
			_, _ = tx.SaleTerms(ctx, terms, minute(3))
		}
		is.NoErr(s.Update(tb.Context(), func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, in); err != nil {
				return err
			}
			locker, ok := tx.(driver.SaleLocker)
			if !ok { // Of a wrapped store.
				return nil
			}
			var queries []driver.StockQuery
			for _, e := range events {
				queries = append(queries,
					driver.StockQuery{CompanyID: company, EventID: e.ID, Tier: "VIP", UnitPrice: 500, Quantity: 3})
			}
			batches, wallets, err := locker.LockSale(ctx, queries, driver.WalletRefs(company))
			is.Equal(len(batches), len(events))
			is.Equal(len(wallets), 2)
			return err
		}))
		is.NoErr(s.View(tb.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			reader, ok := tx.(driver.LineReader)
			if !ok {
				return nil
			}
			tx.(driver.Announcer).Announce(ctx, authority)
			_, _, err := reader.OrdersWithLines(ctx, orders)
			is.NoErr(err)
			for _, before := range []int64{0, 1500} {
				_, _, err = reader.ListOrdersWithLines(ctx, driver.OrderQuery{CompanyID: company, After: before, Limit: 20})
				is.NoErr(err)
			}
			tx.(driver.Announcer).Announce(ctx, authority)
			is.NoErr(priceLists(ctx, tx, events...))
			tx.(driver.Announcer).Announce(ctx, authority)
			_, err = tx.PriceList(ctx, events[0], []string{"Regular", "VIP"})
			return err
		}))
	}
}

// priceLists reads the price lists of events, where the store reads several at once.
func priceLists(ctx context.Context, tx driver.ReadTx, events ...driver.EventRef) error {
	reader, ok := tx.(driver.PriceReader)
	if !ok { // Of a wrapped store.
		return nil
	}
	var queries []driver.PriceQuery
	for _, e := range events {
		queries = append(queries, driver.PriceQuery{EventRef: e, Tiers: []string{"Regular", "VIP"}})
	}
	_, err := reader.PriceLists(ctx, queries)
	return err
}

// settle gives the company of the tests, which exists already, the orders that askMany reads, through the store.
func settle(tb testing.TB, s driver.Store, events int) {
	tb.Helper()
	const orders = 1200
	var sold []driver.Order
	var admissions []driver.Admission
	var facts []driver.Fact
	var messages []driver.Message
	var deliveries []driver.Delivery
	var notifications []driver.Notification
	for n := 1; n <= orders; n++ {
		at, id := second(n), number(base+n)
		event := number(base + 1 + n%7)
		sold = append(sold, driver.Order{
			CompanyID: company, Number: int64(1000 + n), ID: id, EventID: event, Status: driver.OrderConfirmed,
			RateID: number(3), Branding: 1, BuyerEmail: fmt.Sprintf("%d@example.com", n), ConfirmedAt: at, CreatedAt: at,
		})
		for line := range 2 {
			admissions = append(admissions, driver.Admission{
				CompanyID: company, OrderNumber: int64(1000 + n), Line: line + 1, ID: number(base + 2*n + line - 1),
				LineID: id, OrderID: id,
				EventID: event, Tier: "Regular", Batch: 1, Title: "Entry", UnitPrice: 500,
			})
		}
		facts = append(facts, driver.Fact{CompanyID: company, At: at, ID: id, Type: driver.FactOrderCreated, Subject: id})
		messages = append(messages, driver.Message{
			CompanyID: company, At: at, ID: id, Type: driver.FactOrderCreated, Subject: id, Body: "{}",
		})
		delivery := newDelivery(company, int64(1+n%2), n)
		delivery.CreatedAt, delivery.ID, delivery.MessageAt, delivery.MessageID, delivery.DueAt = at, id, at, id, at
		if n%5 != 0 {
			delivery.Status, delivery.FinishedAt = driver.DeliverySucceeded, at
		}
		deliveries = append(deliveries, delivery)
		notification := newNotification(company, int64(1000+n))
		notification.DueAt, notification.CreatedAt = at, at
		if n%5 != 0 {
			notification.Status, notification.FinishedAt = driver.NotificationSent, at
		}
		notifications = append(notifications, notification)
	}
	written(tb, s, func(ctx context.Context, tx driver.Tx) error {
		for i := range events {
			ref := driver.EventRef{CompanyID: company, ID: number(base + 1 + i)}
			made := []error{tx.CreateEvent(ctx, newEvent(ref))}
			for _, tier := range []string{"Regular", "VIP"} {
				_, err := tx.LockTier(ctx, ref, tier)
				batch := newBatch(3, 0)
				batch.EventID, batch.Tier = ref.ID, tier
				made = append(made, err, tx.CreateBatch(ctx, batch))
			}
			if err := errors.Join(made...); err != nil {
				return err
			}
		}
		return errors.Join(tx.AppendOrders(ctx, sold), tx.AppendAdmissions(ctx, admissions), tx.AppendFacts(ctx, facts),
			tx.AppendMessages(ctx, messages), tx.AppendDeliveries(ctx, deliveries),
			tx.AppendNotifications(ctx, notifications))
	})
}

// askRest runs the statements that the other two do not: the rare ones, and those that verify the books.
func askRest(tb testing.TB, s driver.Store) {
	tb.Helper()
	is := is.New(tb)
	const limit = 10
	key := driver.APIKey{CompanyID: company, ID: number(4), Status: driver.APIKeyRevoked, RevokedAt: minute(40)}
	category := driver.Category{ID: number(21), Name: "Jazz", Slug: "jazz", Status: "ACTIVE", CreatedAt: minute(1)}
	buyer := driver.Buyer{CompanyID: company, Email: "new@example.com", CreatedAt: minute(1), UpdatedAt: minute(1)}
	is.NoErr(update(tb.Context(), s, func(ctx context.Context, tx driver.Tx) error {
		_, err := tx.LockEvent(ctx, driver.EventRef{CompanyID: company, ID: number(base + 2)})
		is.NoErr(err)
		_, err = tx.LockBatches(ctx, []driver.BatchRef{
			{CompanyID: company, EventID: number(base + 2), Tier: "VIP", Position: 3},
		})
		is.NoErr(err)
		orders, err := tx.Orders(ctx, []driver.OrderRef{
			{CompanyID: company, ID: number(base + 7)}, {CompanyID: company, ID: number(base + 8)},
		})
		is.NoErr(err)
		return errors.Join(
			tx.AppendAudit(ctx, []driver.AuditEntry{{CompanyID: company, At: minute(1), ID: number(20), Changes: "{}"}}),
			tx.AppendFloatCredit(ctx, driver.FloatCredit{CompanyID: company, Reference: "new", Amount: 1, Sequence: 1}),
			tx.AppendSecretName(ctx, "0123456789abcdef", minute(1)), tx.CreateCategory(ctx, category),
			tx.UpdateCategory(ctx, category),
			tx.CreateUser(ctx, driver.User{ID: number(22), Email: "new@example.com", CreatedAt: minute(1)}),
			tx.PutMember(ctx, driver.Member{
				CompanyID: company, UserID: number(22), Role: driver.RoleOwner, CreatedAt: minute(1), UpdatedAt: minute(1),
			}),
			tx.PutVerificationCase(ctx, driver.VerificationCase{
				CompanyID: company, Number: 900, Status: driver.VerificationUnverified, CreatedAt: minute(1), UpdatedAt: minute(1),
			}),
			tx.PutBookChecks(ctx, []driver.BookCheck{{CompanyID: company, VerifiedAt: minute(1)}}),
			salesWrites(ctx, tx), tx.PutBuyers(ctx, []driver.Buyer{buyer}),
			tx.ReplaceBuyer(ctx, driver.BuyerRef{CompanyID: company, Email: "new@example.com"}, buyer),
			tx.UpdateOrderBuyers(ctx, orders), tx.UpdateAPIKey(ctx, key), tx.UpdateCompany(ctx, newCompany(company)),
			tx.UpdateEvent(ctx, newEvent(event)),
		)
	}))
	is.NoErr(s.View(tb.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		for _, call := range []func() error{
			func() error {
				_, err := tx.Brandings(ctx, []driver.BrandingRef{
					{CompanyID: company, Version: 1}, {CompanyID: company, Version: 2},
				})
				return err
			},
			func() error { _, err := tx.EffectiveRates(ctx, []uuid.UUID{company}, minute(3)); return err },
			func() error { _, err := tx.EffectiveRates(ctx, []uuid.UUID{company, number(2)}, minute(3)); return err },
			func() error { _, err := tx.CountFloatCredits(ctx, company); return err },
			func() error { _, err := tx.SecretNames(ctx); return err },
			func() error { _, err := tx.SecretsInUse(ctx); return err },
			func() error {
				_, err := tx.StaleBankAccounts(ctx, driver.StaleBankAccountQuery{SecretName: "x", Limit: limit})
				return err
			},
			func() error {
				_, err := tx.ListSubjects(ctx, driver.SubjectQuery{CompanyID: company, Operation: "checkouts.create", Limit: limit})
				return err
			},
			func() error { _, err := tx.StockTotals(ctx, company); return err },
			func() error { _, err := tx.LowestFloats(ctx, limit); return err },
			func() error { _, err := tx.OrphanCompanies(ctx, limit); return err },
			func() error { return salesReads(ctx, tx) },
		} {
			is.NoErr(call())
		}
		return nil
	}))
}

// lookThrough matches the statements that have to read more rows than they return.
var lookThrough = regexp.MustCompile(strings.Join([]string{
	`SELECT count\(\*\)`,                        // the rows that they count
	`count\(\*\), \(SELECT min\(`,               // what waits, which they count
	`secret_version = ('1'|\$\d)`,               // the pending deliveries of an endpoint
	pendingList,                                 // pending deliveries and notifications, see there
	`event_id = .* AND status = 'FAILED'`,       // notifications that failed, which are few, of one event
	`substr\((digest|number|secret),`,           // what a master secret has encrypted, in all companies
	`SELECT DISTINCT company_id FROM `,          // the companies of all records of a table
	`SELECT b\.company_id, b\.event_id, CAST`,   // the batches of each event
	`AS restocked`,                              // everything that a company has sold
	`sequence < ('\d+'::bigint|\$\d) AND kind `, // a part of a ledger, for the movements that each sale makes
	`w\.wallet = 'FLOAT'\s+ORDER BY`,            // the wallets of all companies
	`ticketing_companies c CROSS JOIN`,          // the sums of each company, by their key
	`SELECT o\.id FROM ticketing_orders o\s`,    // a part of the orders, for those that the index of buyers lacks
	`SELECT id FROM ticketing_companies`,        // companies in one order, until those that the filter leaves fill a page
	`AS part UNION|AS part ORDER`,               // a list of a status and an event: of the whole company in a small table
}, "|"))

// TestNewcomerPlans checks that each row of a company without statistics is found by the whole key, whatever PostgreSQL
// knows of its tables: no statement of the store reads rows to discard them. A database of an earlier version has
// statistics of companies.
func TestNewcomerPlans(t *testing.T) {
	t.Parallel()
	race.Leave(t, "plans")
	const known = "SELECT fill(u(900000000), 1000000000, 3000, 300);"
	const others = "SELECT fill(u(900000000 + n), 1000000000 + n * 1000000, 2, 1) FROM generate_series(1, 20) n;"
	const thousand = "SELECT fill(u(900000000 + n), 1000000000 + n * 1000000, 4, 2) FROM generate_series(1, 1000) n;"
	full := func(tb testing.TB) string { tb.Helper(); return filledWith(tb, "known", known) }
	many := func(tb testing.TB) string { tb.Helper(); return filledWith(tb, "thousand", thousand) }
	for _, tt := range []struct {
		name   string
		open   func(testing.TB) string // the data at first
		before string                  // what happens then, before the newcomer comes
		dumped bool                    // whether it is restored from a dump then
		kept   bool                    // whether the connections keep statements prepared
	}{
		{name: "never analysed", open: full},
		{name: "never analysed, prepared", open: full, kept: true},
		{name: "analysed empty, prepared", open: testdb.FreshDSN, before: filling + "ANALYZE;" + known, kept: true},
		{name: "a thousand companies, prepared", open: many, before: "ANALYZE", kept: true},
		{
			name: "partitioned, prepared", open: testdb.FreshPartitionedDSN, before: filling + known + "ANALYZE;", kept: true,
		},
		{name: "analysed empty", open: testdb.FreshDSN, before: filling + "ANALYZE;" + known},
		{name: "analysed full", open: full, before: "ANALYZE"},
		{name: "one company and few of others", open: full, before: others + "ANALYZE;"},
		{name: "a thousand companies", open: many, before: "ANALYZE"},
		{name: "restored", open: full, before: "ANALYZE", dumped: true},
		{name: "partitioned", open: testdb.FreshPartitionedDSN, before: filling + known + "ANALYZE;"},
		{name: "full, of an earlier version", open: full, before: recounting + "ANALYZE;"},
		{name: "one company and few of others, of an earlier version", open: full, before: recounting + others + "ANALYZE;"},
		{name: "a thousand companies, of an earlier version", open: many, before: recounting + "ANALYZE;"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			fill := func(dsn, statement string) {
				t.Helper()
				filler := testdb.Pool(t, dsn)
				_, err := filler.ExecContext(t.Context(), "SET session_replication_role TO replica;"+statement)
				is.NoErr(errors.Join(err, filler.Close()))
			}
			dsn := tt.open(t)
			fill(dsn, tt.before)
			if tt.dumped {
				dsn = restore(t, dsn)
			}
			var plans testdb.Plans
			s, closePool := openExplained(t, &plans, dsn, tt.kept)
			defer closePool()
			furnish(t, s, newBatch(1, 0))
			fill(dsn, "SELECT fill(u(1), 7000000000, 1200, 500)")
			plans.Take()
			askAll(t, s)
			askMany(t, s)
			askRest(t, s)
			asked := plans.Take()
			is.True(len(asked) > 150)
			executed := slices.ContainsFunc(asked, func(p testdb.Plan) bool { return strings.Contains(p.Statement, "\n-- (") })
			is.Equal(executed, tt.kept)
			for _, p := range asked {
				// Up to a dozen pages of a small table do not matter.
				few := p.Pages <= 12 || p.Discarded <= 5+2*p.Answered && p.Fetched <= 10+5*p.Answered && p.Pages <= 80+40*p.Answered
				if !few && !lookThrough.MatchString(p.Statement) && !strings.HasPrefix(p.Statement, "INSERT") {
					t.Errorf("for %.0f rows %.0f were discarded, %.0f fetched and %.0f pages looked at: %s\n%s",
						p.Answered, p.Discarded, p.Fetched, p.Pages, p.Statement, p.JSON)
				}
			}
		})
	}
}

// openExplained opens a store whose statements are explained. If kept is true, its connections keep statements
// prepared.
func openExplained(tb testing.TB, plans *testdb.Plans, dsn string, kept bool) (s *store.Store, closePool func()) {
	tb.Helper()
	is := is.New(tb)
	if kept {
		s, err := store.OpenPreparing(tb.Context(), plans.Connector(dsn))
		is.NoErr(err)
		return s, func() { is.NoErr(s.Close()) }
	}
	db := bun.NewDB(plans.Pool(dsn), pgdialect.New())
	s, err := store.OpenDB(tb.Context(), db, nil)
	is.NoErr(err)
	return s, func() { is.NoErr(db.Close()) }
}

// filledWith opens a database with the tables of this version and the rows that statement inserts. name identifies its
// content, so that it is filled only once.
func filledWith(tb testing.TB, name, statement string) string {
	tb.Helper()
	return pgtest.Copy(tb, "newcomer "+name, func(tb testing.TB, dsn string) {
		tb.Helper()
		is := is.New(tb)
		s, err := store.Open(tb.Context(), dsn, nil)
		is.NoErr(err)
		is.NoErr(errors.Join(s.Migrate(tb.Context()), s.Close()))
		filler, err := store.OpenPool(dsn)
		is.NoErr(err)
		_, err = filler.ExecContext(tb.Context(), filling+statement)
		is.NoErr(errors.Join(err, filler.Close()))
	})
}

// restore creates a database from a dump of another one.
func restore(tb testing.TB, dsn string) string {
	tb.Helper()
	is := is.New(tb)
	binaries, ok := pgtest.Binaries()
	if !ok {
		tb.Skip("there are no programs of PostgreSQL beside its server")
	}
	dump, err := exec.CommandContext(tb.Context(), filepath.Join(binaries, "pg_dump"),
		"--no-owner", "--dbname", dsn).Output()
	is.NoErr(err)
	empty := pgtest.Database(tb)
	psql := exec.CommandContext(tb.Context(), filepath.Join(binaries, "psql"),
		"--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1",
		"--dbname", empty)
	psql.Stdin = bytes.NewReader(dump)
	output, err := psql.CombinedOutput()
	if err != nil {
		tb.Fatalf("psql: %v\n%s", err, output)
	}
	return empty
}

// TestPostgresCountsNoCompanies checks that no table of a company has statistics of its company column, also tables of
// later migrations.
func TestPostgresCountsNoCompanies(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := testdb.Pool(t, testdb.FreshDSN(t))
	is.Equal(texts(t, db, `SELECT relname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attname = 'company_id'
			AND coalesce(attstattarget, -1) <> 0`), []string(nil))
}

// TestPostgresCountsTheHostsCompanies checks that a schema's name may need quotes, and that a host's table in the same
// schema is left unchanged.
func TestPostgresCountsTheHostsCompanies(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	db := testdb.Pool(t, dsn)
	_, err := db.ExecContext(t.Context(),
		`CREATE SCHEMA "My App"; CREATE TABLE "My App".ticketing_reports (company_id uuid)`)
	is.NoErr(err)
	s := testdb.Open(t, dsn, &store.Config{Schema: "My App"})
	is.NoErr(s.Migrate(t.Context()))
	is.Equal(texts(t, db, `SELECT relname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
		WHERE relnamespace = '"My App"'::regnamespace AND relkind = 'r' AND attname = 'company_id'
			AND coalesce(attstattarget, -1) <> 0`), []string{"ticketing_reports"})
}
