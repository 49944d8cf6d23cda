package store_test

import (
	"fmt"
	"strings"
)

// attack is a statement that bypasses the store, and the constraint that must refuse it.
type attack struct{ name, statement, breaks string }

// literals replaces the names in the statements below by the literals of a dialect: {1} to {9} are ids, {yes} and {no}
// booleans, {hash} a hash and {short} a value that is too short to be one.
func literals(id func(n int) string, more ...string) *strings.Replacer {
	for n := 1; n <= 9; n++ {
		more = append(more, fmt.Sprintf("{%d}", n), id(n))
	}
	return strings.NewReplacer(more...)
}

func sqliteLiterals() *strings.Replacer {
	return literals(func(n int) string { return fmt.Sprintf("X'%032x'", n) },
		"{yes}", "1", "{no}", "0", "{hash}", "zeroblob(32)", "{short}", "X'00'")
}

func postgresLiterals() *strings.Replacer {
	return literals(func(n int) string { return fmt.Sprintf("UUID '%032x'", n) },
		"{yes}", "true", "{no}", "false", "{hash}", `'\x`+strings.Repeat("00", 32)+`'::BYTEA`, "{short}", `'\x00'::BYTEA`)
}

// attacked fills every table.
const attacked = `
INSERT INTO ticketing_secrets VALUES ('pepper', 1);
INSERT INTO ticketing_companies VALUES ({1}, 'Lagos Live', 'ACTIVE', 'APPROVED', NULL, NULL, '', 1, 1, 1, 1, NULL);
INSERT INTO ticketing_brandings VALUES ({1}, 1, 'Lagos Live', '', '', '', '', '', '', '', 1);
INSERT INTO ticketing_commission_rates VALUES ({1}, {3}, 1, '250', 'BASIS_POINTS', 1, 1);
INSERT INTO ticketing_api_keys VALUES ({1}, {4}, 'shop', '[]', 'ACTIVE', 'v1', NULL, 1, NULL, NULL);
INSERT INTO ticketing_api_key_directory VALUES ({4}, {1});
INSERT INTO ticketing_categories VALUES ({8}, 'Music', 'music', 'ACTIVE', 1);
INSERT INTO ticketing_events VALUES
	({1}, {2}, 'Afro Nation', '', 'PUBLISHED', '', '', '', '', '', '', '', '', NULL, '[]', NULL, 1, 1);
INSERT INTO ticketing_inventory_tiers VALUES ({1}, {2}, 'Regular', 2, 2000, {no});
INSERT INTO ticketing_inventory_batches VALUES
	({1}, {2}, 'Regular', 1, 'Entry', '', 500, 'AVAILABLE', 1000, 10, {yes}, 1),
	({1}, {2}, 'Regular', 2, 'Entry', '', 500, 'AVAILABLE', 1000, 1000, {no}, 1);
INSERT INTO ticketing_orders VALUES
	({1}, 1, {5}, {2}, 'CONFIRMED', 500, 1, {3}, 1, 0, 0, 'ada@example.com', '', '', 1, 1);
INSERT INTO ticketing_admissions VALUES
	({1}, 1, 1, {6}, {6}, {5}, {2}, 'Regular', 1, 'Entry', 500, {no}, NULL, NULL, ''),
	({1}, 1, 2, {7}, {7}, {5}, {2}, 'Regular', 1, 'Entry', 500, {no}, NULL, NULL, '');
INSERT INTO ticketing_buyers VALUES ({1}, 'ada@example.com', '', '', 1, 1);
INSERT INTO ticketing_idempotency_keys VALUES ({1}, 'checkouts.create', 'key', 'v1', '', {5}, NULL, 1);
INSERT INTO ticketing_wallets VALUES
	({1}, 'FLOAT', 'ACTIVE', 'NGN', 1, 1, {hash}, 1), ({1}, 'EARNINGS', 'ACTIVE', 'NGN', 1, 1, {hash}, 1);
INSERT INTO ticketing_ledger_entries VALUES
	({1}, 'FLOAT', 1, 'x', 1, 0, 1, '', 1, {hash}, {hash}), ({1}, 'EARNINGS', 1, 'x', 1, 0, 1, '', 1, {hash}, {hash});
INSERT INTO ticketing_float_credits VALUES ({1}, 'r', 1, 1);
INSERT INTO ticketing_outbox VALUES ({1}, 1, {9}, 'order.created', {5}, {no}, NULL, 1, {no});
INSERT INTO ticketing_audit_entries VALUES ({1}, 1, {9}, 'Obi', 'company.suspend', 'company', '{}', false);
INSERT INTO ticketing_users VALUES ({4}, 'ada@example.com', 1);
INSERT INTO ticketing_members VALUES ({1}, {4}, 'Ada', 'OWNER', 1, 1);
INSERT INTO ticketing_verification_cases VALUES
	({1}, 1, 'SUBMITTED', 'Lagos Live Ltd', 'RC 1', 'NG', '', '', '', '', '', NULL, NULL, 1, 1);
INSERT INTO ticketing_bank_accounts VALUES ({1}, 1, 'First Bank', 'Lagos Live', 's1', '6789', 1);
INSERT INTO ticketing_settlements VALUES ({1}, 1, {5}, 500, 'PENDING', 1, '', 1, NULL, 0);
INSERT INTO ticketing_order_endings VALUES ({1}, 1, {5}, 'REFUNDED', 'ill', {no}, 2, 2, 1);
INSERT INTO ticketing_webhook_endpoints VALUES
	({1}, 1, {2}, 'https://example.com', 'order.created', 'ENABLED', 1, 0, 1, 1, 1);
INSERT INTO ticketing_webhook_secrets VALUES ({1}, 1, 1, 's1', 1);
INSERT INTO ticketing_webhook_messages VALUES ({1}, 1, {9}, 'order.created', {5}, '{}');
INSERT INTO ticketing_webhook_deliveries VALUES
	({1}, 1, {3}, 1, {2}, 1, {9}, 'order.created', 'https://example.com', 1, NULL, 'PENDING', {no}, '[]', 1, NULL, NULL);
INSERT INTO ticketing_notifications VALUES ({1}, 1, 1, {5}, {2}, '', 'PENDING', '', '[]', 1, NULL, NULL, 1);
INSERT INTO ticketing_notification_prunes VALUES ({1}, 1);
INSERT INTO ticketing_book_checks VALUES ({1}, 1, 9, 0);
INSERT INTO ticketing_sales_sums VALUES ({1}, {2}, 'Regular', 900000, 1, 2, 1000, 20, 1000, 20, 1);
INSERT INTO ticketing_sales_progress VALUES ({1}, 1);
INSERT INTO ticketing_buyer_orders VALUES ({1}, 'ada@example.com', 1);
INSERT INTO ticketing_mail_senders VALUES (1, 'tickets@example.com', 'Tickets', '', 1);
INSERT INTO ticketing_sessions VALUES ({4}, {5}, 'd1', 'PASSKEY', 'Firefox', '192.0.2.1', 1, 1, 1);
INSERT INTO ticketing_sign_in_tokens VALUES ({4}, {6}, 'CODE', 'd2', 'd3', NULL, 0, 1, 2, NULL);
INSERT INTO ticketing_passkeys VALUES ({4}, 'k1', 'Phone', '{}', 0, 1, NULL);
INSERT INTO ticketing_staff VALUES ({4}, 'Ada', 'SUPPORT', 1, 1);
`

// attacks returns the attacks for both dialects. Each breaks one constraint and no other, so that the order of checks
// does not matter. The names are those of PostgreSQL, without the prefix of the tables.
func attacks() []attack {
	const (
		company  = "INSERT INTO ticketing_companies SELECT "
		branding = "INSERT INTO ticketing_brandings SELECT "
		footers  = ", brand_name, '', '', '', '', '', '', '', 1 FROM ticketing_brandings"
		rate     = "INSERT INTO ticketing_commission_rates SELECT "
		rates    = ", effective_from, created_at FROM ticketing_commission_rates"
		key      = "UPDATE ticketing_api_keys SET "
		category = "INSERT INTO ticketing_categories SELECT "
		tier     = "UPDATE ticketing_inventory_tiers SET "
		batch    = "UPDATE ticketing_inventory_batches SET "
		order    = "UPDATE ticketing_orders SET "
		another  = "INSERT INTO ticketing_orders SELECT company_id, "
		orders   = `, event_id, status, gross, commission, rate_id, branding, float_before, earnings_before,
			buyer_email, buyer_fullname, buyer_phone, confirmed_at, created_at FROM ticketing_orders`
		admission  = "UPDATE ticketing_admissions SET "
		wallet     = "UPDATE ticketing_wallets SET "
		entry      = "INSERT INTO ticketing_ledger_entries SELECT company_id, "
		entries    = ", reference, at, hash, hash FROM ticketing_ledger_entries"
		credit     = "INSERT INTO ticketing_float_credits SELECT "
		credits    = " FROM ticketing_float_credits"
		account    = "UPDATE ticketing_bank_accounts SET "
		payout     = "UPDATE ticketing_settlements SET "
		payouts    = ", 500, 'COMPLETED', 1, '', 1, NULL, 0 FROM ticketing_settlements"
		ending     = "INSERT INTO ticketing_order_endings SELECT company_id, "
		endings    = " FROM ticketing_order_endings"
		endpoint   = "UPDATE ticketing_webhook_endpoints SET "
		delivery   = "UPDATE ticketing_webhook_deliveries SET "
		mail       = "UPDATE ticketing_notifications SET "
		again      = "INSERT INTO ticketing_webhook_deliveries SELECT company_id, "
		deliveries = `, id, endpoint, endpoint_id, message_at, message_id, type, url, secret_version, replay_of, status,
			cancelling, attempts, due_at, leased_until, finished_at FROM ticketing_webhook_deliveries`
	)
	return []attack{
		{"migration twice", "INSERT INTO ticketing_migrations SELECT * FROM ticketing_migrations", "migrations_pkey"},
		{"secret twice", "INSERT INTO ticketing_secrets SELECT * FROM ticketing_secrets", "secrets_pkey"},

		{"status of a company", "UPDATE ticketing_companies SET status = 'GONE'", "companies_status_check"},
		{"verification", "UPDATE ticketing_companies SET verification = 'x'", "companies_verification_check"},
		{"version of branding", "UPDATE ticketing_companies SET branding_version = -1", "companies_branding_version_check"},
		{"company twice", company + "* FROM ticketing_companies", "companies_pkey"},
		{"company that sells", "DELETE FROM ticketing_companies", "brandings_company_id_fkey"},

		{"branding from 1", branding + "company_id, 0" + footers, "brandings_version_check"},
		{"branding twice", branding + "* FROM ticketing_brandings", "brandings_pkey"},
		{"branding of nobody", branding + "{9}, 1" + footers, "brandings_company_id_fkey"},
		{"branding changed", "UPDATE ticketing_brandings SET brand_name = 'x'", "brandings_append_only"},
		{"branding removed", "DELETE FROM ticketing_brandings", "brandings_append_only"},

		{"unit of a rate", rate + "company_id, {9}, 2, value, 'PER_MILLE'" + rates, "commission_rates_unit_check"},
		{"place of a rate", rate + "company_id, {9}, 0, value, unit" + rates, "commission_rates_position_check"},
		{
			"two rates in one place", rate + "company_id, {9}, 1, value, unit" + rates,
			"commission_rates_company_id_position_key",
		},
		{"rate twice", rate + "company_id, id, 2, value, unit" + rates, "commission_rates_pkey"},
		{"rate of nobody", rate + "{9}, id, 1, value, unit" + rates, "commission_rates_company_id_fkey"},
		{"rate changed", "UPDATE ticketing_commission_rates SET value = '1'", "commission_rates_append_only"},
		{"rate removed", "DELETE FROM ticketing_commission_rates", "commission_rates_append_only"},

		{"status of a key", key + "status = 'LOST'", "api_keys_status_check"},
		{"key of nobody", key + "company_id = {9}", "api_keys_company_id_fkey"},
		{"key twice", "INSERT INTO ticketing_api_keys SELECT * FROM ticketing_api_keys", "api_keys_pkey"},
		{"directory twice", "INSERT INTO ticketing_api_key_directory VALUES ({4}, {9})", "api_key_directory_pkey"},
		{
			"key of another company", "UPDATE ticketing_api_key_directory SET company_id = {9}",
			"api_key_directory_append_only",
		},
		{"key forgotten", "DELETE FROM ticketing_api_key_directory", "api_key_directory_append_only"},

		{"status of a category", "UPDATE ticketing_categories SET status = 'x'", "categories_status_check"},
		{"slug taken", category + "{9}, name, slug, status, 1 FROM ticketing_categories", "categories_slug_key"},
		{"category twice", category + "id, name, 'other', status, 1 FROM ticketing_categories", "categories_pkey"},

		{"status of an event", "UPDATE ticketing_events SET status = 'x'", "events_status_check"},
		{"event twice", "INSERT INTO ticketing_events SELECT * FROM ticketing_events", "events_pkey"},
		{
			"event of nobody", `INSERT INTO ticketing_events SELECT {9}, id, title, '', status, '', '', '', '', '', '', '', '',
				NULL, '[]', NULL, 1, 1 FROM ticketing_events`, "events_company_id_fkey",
		},
		{"event that has tiers", "DELETE FROM ticketing_events", "inventory_tiers_event_id_company_id_fkey"},

		{"cap of a tier", tier + "total = 1000001", "inventory_tiers_total_check"},
		{"total of a tier", tier + "total = -1", "inventory_tiers_total_check"},
		{"batches of a tier", tier + "batches = -1", "inventory_tiers_batches_check"},
		{
			"tier twice", "INSERT INTO ticketing_inventory_tiers SELECT * FROM ticketing_inventory_tiers",
			"inventory_tiers_pkey",
		},
		{
			"tier of no event", "INSERT INTO ticketing_inventory_tiers VALUES ({1}, {9}, 'Regular', 0, 0, {no})",
			"inventory_tiers_event_id_company_id_fkey",
		},
		{
			"tier of another company's event", "INSERT INTO ticketing_inventory_tiers VALUES ({9}, {2}, 'Regular', 0, 0, {no})",
			"inventory_tiers_event_id_company_id_fkey",
		},
		{
			"tier that has batches", "DELETE FROM ticketing_inventory_tiers",
			"inventory_batches_company_id_event_id_tier_fkey",
		},

		{"oversold", batch + "sold = quantity + 1, open = {no}", "inventory_batches_sold_check"},
		{"less than none sold", batch + "sold = -1, open = {yes}", "inventory_batches_sold_check"},
		{"price below nothing", batch + "unit_price = -1", "inventory_batches_unit_price_check"},
		{"status of a batch", batch + "status = 'SOLD_OUT'", "inventory_batches_status_check"},
		{"place of a batch", batch + "position = 0", "inventory_batches_position_check"},
		{"sold out and open", batch + "open = {yes}", "inventory_batches_open_check"},
		{"for sale and not open", batch + "open = {no}", "inventory_batches_open_check"},
		{"cancelled and open", batch + "status = 'CANCELLED'", "inventory_batches_open_check"},
		{"two batches in one place", batch + "position = 3", "inventory_batches_pkey"},
		{"batch of no tier", batch + "tier = 'VIP'", "inventory_batches_company_id_event_id_tier_fkey"},

		{"status of an order", order + "status = 'LOST'", "orders_status_check"},
		{"number of an order", order + "number = 0", "orders_number_check"},
		{"commission above the gross", order + "commission = gross + 1", "orders_commission_check"},
		{"commission below nothing", order + "commission = -1", "orders_commission_check"},
		{"FLOAT of an order", order + "float_before = -1", "orders_balances_check"},
		{"EARNINGS of an order", order + "earnings_before = -1", "orders_balances_check"},
		{"two orders of one id", another + "number + 1, id" + orders, "orders_id_company_id_key"},
		{"two orders of one number", another + "number, {9}" + orders, "orders_pkey"},

		{"line of an admission", admission + "line = 0", "admissions_line_check"},
		{"price of an admission", admission + "unit_price = -1", "admissions_unit_price_check"},
		{"admission sold twice", admission + "id = {9}", "admissions_id_company_id_key"},
		{"two admissions in one line", admission + "line = 3", "admissions_pkey"},
		{"buyer twice", "INSERT INTO ticketing_buyers SELECT * FROM ticketing_buyers", "buyers_pkey"},

		{
			"key used twice", "INSERT INTO ticketing_idempotency_keys SELECT * FROM ticketing_idempotency_keys",
			"idempotency_keys_pkey",
		},
		{"result changed", "UPDATE ticketing_idempotency_keys SET digest = 'x'", "idempotency_keys_append_only"},
		{"result removed", "DELETE FROM ticketing_idempotency_keys", "idempotency_keys_append_only"},

		{"overdrawn", wallet + "balance = -1", "wallets_balance_check"},
		{"kind of a wallet", wallet + "wallet = 'SAVINGS'", "wallets_wallet_check"},
		{"status of a wallet", wallet + "status = 'x'", "wallets_status_check"},
		{"sequence of a wallet", wallet + "sequence = -1", "wallets_sequence_check"},
		{"hash of a wallet", wallet + "hash = {short}", "wallets_hash_check"},
		{"wallet of nobody", wallet + "company_id = {9}", "wallets_company_id_fkey"},
		{"wallet twice", "INSERT INTO ticketing_wallets SELECT * FROM ticketing_wallets", "wallets_pkey"},

		{"sum of an entry", entry + "wallet, 9, kind, 1, balance_after, balance_after" + entries, "ledger_entries_sum_check"},
		{"entry to below nothing", entry + "wallet, 9, kind, -2, 1, -1" + entries, "ledger_entries_balance_check"},
		{"entry from below nothing", entry + "wallet, 9, kind, 2, -1, 1" + entries, "ledger_entries_balance_check"},
		{"sequence of an entry", entry + "wallet, 0, kind, 0, 0, 0" + entries, "ledger_entries_sequence_check"},
		{"wallet of an entry", entry + "'SAVINGS', 9, kind, 0, 0, 0" + entries, "ledger_entries_wallet_check"},
		{
			"hash of an entry", entry + "wallet, 9, kind, 0, 0, 0, '', at, hash, {short} FROM ticketing_ledger_entries",
			"ledger_entries_hash_check",
		},
		{
			"hash before an entry", entry + "wallet, 9, kind, 0, 0, 0, '', at, {short}, hash FROM ticketing_ledger_entries",
			"ledger_entries_hash_check",
		},
		{"entry twice", entry + "wallet, sequence, kind, 0, 0, 0" + entries, "ledger_entries_pkey"},
		{"entry changed", "UPDATE ticketing_ledger_entries SET reference = 'x'", "ledger_entries_append_only"},
		{"entry removed", "DELETE FROM ticketing_ledger_entries", "ledger_entries_append_only"},
		{
			"entry overwritten", entry + "wallet, sequence, kind, 0, 0, 0" + entries +
				" WHERE true ON CONFLICT (company_id, wallet, sequence) DO UPDATE SET reference = 'x'",
			"ledger_entries_append_only",
		},

		{"funding of less than nothing", credit + "company_id, 'q', -1, 1" + credits, "float_credits_amount_check"},
		{"funding without an entry", credit + "company_id, 'q', 1, 0" + credits, "float_credits_sequence_check"},
		{"funding of nobody", credit + "{9}, 'q', 1, 1" + credits, "float_credits_company_id_fkey"},
		{"funding twice", credit + "*" + credits, "float_credits_pkey"},
		{"funding changed", "UPDATE ticketing_float_credits SET amount = 2", "float_credits_append_only"},
		{"funding removed", "DELETE FROM ticketing_float_credits", "float_credits_append_only"},

		{"act twice", "INSERT INTO ticketing_audit_entries SELECT * FROM ticketing_audit_entries", "audit_entries_pkey"},
		{"act changed", "UPDATE ticketing_audit_entries SET actor = 'x'", "audit_entries_append_only"},
		{"act removed", "DELETE FROM ticketing_audit_entries", "audit_entries_append_only"},

		{"user twice", "INSERT INTO ticketing_users SELECT id, 'bob@example.com', 1 FROM ticketing_users", "users_pkey"},
		{
			"two users of one email",
			"INSERT INTO ticketing_users SELECT {9}, email, 1 FROM ticketing_users", "users_email_key",
		},
		{"role of a member", "UPDATE ticketing_members SET role = 'GUEST'", "members_role_check"},
		{"member twice", "INSERT INTO ticketing_members SELECT * FROM ticketing_members", "members_pkey"},
		{"place of a case", "UPDATE ticketing_verification_cases SET number = 0", "verification_cases_number_check"},
		{"status of a case", "UPDATE ticketing_verification_cases SET status = 'DRAFT'", "verification_cases_status_check"},
		{
			"case twice", "INSERT INTO ticketing_verification_cases SELECT * FROM ticketing_verification_cases",
			"verification_cases_pkey",
		},

		{"version of a bank account", account + "version = 0", "bank_accounts_version_check"},
		{"whole number of a bank account", account + "last4 = '3141592653'", "bank_accounts_last4_check"},
		{
			"bank account twice",
			"INSERT INTO ticketing_bank_accounts SELECT * FROM ticketing_bank_accounts", "bank_accounts_pkey",
		},

		{"number of a settlement", payout + "number = 0", "settlements_number_check"},
		{"settlement of nothing", payout + "amount = 0", "settlements_amount_check"},
		{"status of a settlement", payout + "status = 'PAID'", "settlements_status_check"},
		{"refund of an open settlement", payout + "refund_sequence = 2", "settlements_refund_check"},
		{
			"refund before the debit", payout + "status = 'REJECTED', refund_sequence = 1", "settlements_refund_check",
		},
		{
			"two settlements of one number", "INSERT INTO ticketing_settlements SELECT company_id, number, {9}" + payouts,
			"settlements_pkey",
		},
		{
			"two settlements of one id", "INSERT INTO ticketing_settlements SELECT company_id, number + 1, id" + payouts,
			"settlements_id_company_id_key",
		},

		{"number of an ending", ending + "0, order_id, status, '', {no}, 2, 2, 1" + endings, "order_endings_number_check"},
		{
			"order that is not ended",
			ending + "2, order_id, 'CONFIRMED', '', {no}, 0, 0, 1" + endings, "order_endings_status_check",
		},
		{
			"refund without money",
			ending + "2, order_id, 'REFUNDED', '', {no}, 0, 0, 1" + endings, "order_endings_status_check",
		},
		{
			"cancelled with money",
			ending + "2, order_id, 'CANCELLED', '', {no}, 2, 2, 1" + endings, "order_endings_status_check",
		},
		{"order ended twice", ending + "number, order_id, 'CANCELLED', '', {no}, 0, 0, 1" + endings, "order_endings_pkey"},
		{"ending changed", "UPDATE ticketing_order_endings SET reason = 'x'", "order_endings_append_only"},
		{"ending removed", "DELETE FROM ticketing_order_endings", "order_endings_append_only"},

		{"fact twice", "INSERT INTO ticketing_outbox SELECT * FROM ticketing_outbox", "outbox_pkey"},

		{"endpoint from 1", endpoint + "number = 0", "webhook_endpoints_number_check"},
		{"endpoint for nothing", endpoint + "events = ''", "webhook_endpoints_events_check"},
		{"status of an endpoint", endpoint + "status = 'PAUSED'", "webhook_endpoints_status_check"},
		{"endpoint without a secret", endpoint + "active_secret = 0", "webhook_endpoints_secrets_check"},
		{"secret there never was", endpoint + "active_secret = 2", "webhook_endpoints_secrets_check"},
		{"pending secret there never was", endpoint + "pending_secret = 2", "webhook_endpoints_secrets_check"},
		{"pending secret of the past", endpoint + "last_secret = 2, pending_secret = 1", "webhook_endpoints_secrets_check"},
		{
			"endpoint twice",
			`INSERT INTO ticketing_webhook_endpoints SELECT company_id, number, {9}, url, events, status, 1, 0, 1,
				1, 1 FROM ticketing_webhook_endpoints`, "webhook_endpoints_pkey",
		},
		{
			"id of an endpoint twice",
			`INSERT INTO ticketing_webhook_endpoints SELECT company_id, 2, id, url, events, status, 1, 0,
				1, 1, 1 FROM ticketing_webhook_endpoints`, "webhook_endpoints_id_company_id_key",
		},
		{"signing secret from 1", "UPDATE ticketing_webhook_secrets SET version = 0", "webhook_secrets_version_check"},
		{
			"signing secret twice", "INSERT INTO ticketing_webhook_secrets SELECT * FROM ticketing_webhook_secrets",
			"webhook_secrets_pkey",
		},
		{
			"message twice", "INSERT INTO ticketing_webhook_messages SELECT * FROM ticketing_webhook_messages",
			"webhook_messages_pkey",
		},
		{"status of a delivery", delivery + "status = 'LOST', finished_at = 1", "webhook_deliveries_status_check"},
		{"delivery without an end", delivery + "status = 'FAILED'", "webhook_deliveries_status_check"},
		{"end of a pending delivery", delivery + "finished_at = 1", "webhook_deliveries_status_check"},
		{
			"lease of what has ended", delivery + "status = 'FAILED', finished_at = 1, leased_until = 2",
			"webhook_deliveries_pending_check",
		},
		{
			"end of what is to be cancelled", delivery + "status = 'FAILED', finished_at = 1, cancelling = {yes}",
			"webhook_deliveries_pending_check",
		},
		{"id of a delivery twice", again + "2" + deliveries, "webhook_deliveries_id_company_id_key"},

		{"notification of no order", mail + "number = 0", "notifications_number_check"},
		{"copy from 1", mail + "copy = 0", "notifications_copy_check"},
		{"status of a notification", mail + "status = 'LOST', finished_at = 1", "notifications_status_check"},
		{"notification without an end", mail + "status = 'SENT'", "notifications_status_check"},
		{"end of a pending notification", mail + "finished_at = 1", "notifications_status_check"},
		{
			"lease of a notification that has ended", mail + "status = 'FAILED', finished_at = 1, leased_until = 2",
			"notifications_pending_check",
		},
		{
			"notification twice", "INSERT INTO ticketing_notifications SELECT * FROM ticketing_notifications",
			"notifications_pkey",
		},
		{
			"notifications removed up to no order", "UPDATE ticketing_notification_prunes SET number = 0",
			"notification_prunes_number_check",
		},
		{
			"notifications removed twice",
			"INSERT INTO ticketing_notification_prunes SELECT * FROM ticketing_notification_prunes",
			"notification_prunes_pkey",
		},
		{"movements of a book check", "UPDATE ticketing_book_checks SET entries = -1", "book_checks_entries_check"},
		{"problems of a book check", "UPDATE ticketing_book_checks SET problems = -1", "book_checks_problems_check"},
		{"book check twice", "INSERT INTO ticketing_book_checks SELECT * FROM ticketing_book_checks", "book_checks_pkey"},
		{"time of a sum", "UPDATE ticketing_sales_sums SET at = 900001", "sales_sums_at_check"},
		{"amount of a sum", "UPDATE ticketing_sales_sums SET refunded = -1", "sales_sums_amounts_check"},
		{"sum twice", "INSERT INTO ticketing_sales_sums SELECT * FROM ticketing_sales_sums", "sales_sums_pkey"},
		{"progress below none", "UPDATE ticketing_sales_progress SET uncounted = -1", "sales_progress_uncounted_check"},
		{
			"progress twice", "INSERT INTO ticketing_sales_progress SELECT * FROM ticketing_sales_progress",
			"sales_progress_pkey",
		},
		{
			"buyer's order twice", "INSERT INTO ticketing_buyer_orders SELECT * FROM ticketing_buyer_orders",
			"buyer_orders_pkey",
		},
		{
			"sender from 1",
			"INSERT INTO ticketing_mail_senders SELECT 0, address, name, bounces, 1 FROM ticketing_mail_senders",
			"mail_senders_version_check",
		},
		{"sender twice", "INSERT INTO ticketing_mail_senders SELECT * FROM ticketing_mail_senders", "mail_senders_pkey"},
		{"sender changed", "UPDATE ticketing_mail_senders SET name = 'x'", "mail_senders_append_only"},
		{"sender removed", "DELETE FROM ticketing_mail_senders", "mail_senders_append_only"},

		{"method of a session", "UPDATE ticketing_sessions SET method = 'PASSWORD'", "sessions_method_check"},
		{"session twice", "INSERT INTO ticketing_sessions SELECT * FROM ticketing_sessions", "sessions_pkey"},
		{"kind of a token", "UPDATE ticketing_sign_in_tokens SET kind = 'PASSKEY'", "sign_in_tokens_kind_check"},
		{"tries below none", "UPDATE ticketing_sign_in_tokens SET tries = -1", "sign_in_tokens_tries_check"},
		{"token twice", "INSERT INTO ticketing_sign_in_tokens SELECT * FROM ticketing_sign_in_tokens", "sign_in_tokens_pkey"},
		{"counter below zero", "UPDATE ticketing_passkeys SET counter = -1", "passkeys_counter_check"},
		{"passkey twice", "INSERT INTO ticketing_passkeys SELECT * FROM ticketing_passkeys", "passkeys_pkey"},
		{"role of staff", "UPDATE ticketing_staff SET role = 'OWNER'", "staff_role_check"},
		{"staff twice", "INSERT INTO ticketing_staff SELECT * FROM ticketing_staff", "staff_pkey"},
	}
}

// sqliteAttacks returns the attacks that only SQLite accepts: it has no types for ids and booleans, and it has REPLACE.
func sqliteAttacks() []attack {
	return []attack{
		{"type of a column", "UPDATE ticketing_companies SET created_at = 'yesterday'", "datatype_check"},
		{
			"id of a company",
			`INSERT INTO ticketing_companies SELECT X'01', name, status, verification, NULL, NULL, '', 1, 1, 1, 1, NULL
				FROM ticketing_companies`, "companies_id_check",
		},
		{"id of a key", "UPDATE ticketing_api_keys SET id = X'02'", "api_keys_id_check"},
		{"id of a category", "UPDATE ticketing_categories SET id = X'02'", "categories_id_check"},
		{"id of a user", "UPDATE ticketing_users SET id = X'02'", "users_id_check"},
		{"id of an event", "UPDATE ticketing_events SET id = X'02'", "events_id_check"},
		{"flag of a tier", "UPDATE ticketing_inventory_tiers SET cancelled = 2", "inventory_tiers_cancelled_check"},
		{"flag of an admission", "UPDATE ticketing_admissions SET voided = 2", "admissions_voided_check"},
		{"flag of a fact", "UPDATE ticketing_outbox SET handled = 2", "outbox_handled_check"},
		{"dispatch of a fact", "UPDATE ticketing_outbox SET dispatched = 2", "outbox_dispatched_check"},
		{
			"flag of a delivery", "UPDATE ticketing_webhook_deliveries SET cancelling = 2",
			"webhook_deliveries_cancelling_check",
		},
		{
			"flag of an ending", `INSERT INTO ticketing_order_endings SELECT company_id, 2, order_id, 'REFUNDED', '', 2, 2, 2, 1
				FROM ticketing_order_endings`, "order_endings_restocked_check",
		},
		{
			"two open settlements",
			`INSERT INTO ticketing_settlements SELECT company_id, number + 1, {9}, 500, 'APPROVED', 1, '', 1,
				NULL, 0 FROM ticketing_settlements`, "settlements_company_id_key",
		},
		{"branding replaced", "REPLACE INTO ticketing_brandings SELECT * FROM ticketing_brandings", "brandings_append_only"},
		{
			"entry replaced", "REPLACE INTO ticketing_ledger_entries SELECT * FROM ticketing_ledger_entries",
			"ledger_entries_append_only",
		},
	}
}

// postgresAttacks returns the attacks that only PostgreSQL accepts: it has TRUNCATE.
func postgresAttacks() []attack {
	made := []attack{
		{"company and all of it", "TRUNCATE ticketing_companies CASCADE", "brandings_append_only"},
		// SQLite names the other key that this breaks: that of the id.
		{
			"delivery twice", "INSERT INTO ticketing_webhook_deliveries SELECT * FROM ticketing_webhook_deliveries",
			"webhook_deliveries_pkey",
		},
		{
			"two open settlements",
			`INSERT INTO ticketing_settlements SELECT company_id, number + 1, {9}, 500, 'APPROVED', 1, '', 1,
				NULL, 0 FROM ticketing_settlements`, "settlements_company_id_idx",
		},
	}
	for _, table := range []string{
		"ledger_entries", "float_credits", "brandings", "commission_rates", "idempotency_keys", "api_key_directory",
		"audit_entries", "order_endings", "mail_senders",
	} {
		made = append(made, attack{table + " emptied", "TRUNCATE ticketing_" + table, table + "_append_only"})
	}
	return made
}
