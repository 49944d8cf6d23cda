package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// The database itself refuses what no service may write, whoever writes it.
func TestConstraints(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	furnish(t, s, batchRecord(1, 10), batchRecord(2, 1000))
	if err := s.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
		return sale(ctx, tx, 1, 2)
	}); err != nil {
		t.Fatal(err)
	}
	written(t, s, func(ctx context.Context, tx ticketing.Tx) error {
		return errors.Join(
			tx.AppendFloatCredit(ctx, ticketing.FloatCreditRecord{CompanyID: company, Reference: "r", Amount: 1, Sequence: 1}),
			tx.CreateCategory(ctx, ticketing.CategoryRecord{
				ID: number(8), Name: "Music", Slug: "music", Status: ticketing.CategoryActive, CreatedAt: minute(0),
			}),
		)
	})

	const (
		batch  = "UPDATE ticketing_inventory_batches SET "
		wallet = "UPDATE ticketing_wallets SET "
		order  = "UPDATE ticketing_orders SET "
		entry  = `INSERT INTO ticketing_ledger_entries SELECT company_id, wallet, sequence + 1, kind, `
		from   = `, reference, at, hash, hash FROM ticketing_ledger_entries`
	)
	for _, test := range []struct{ name, attack, constraint string }{
		{"status of a company", "UPDATE ticketing_companies SET status = 'GONE'", "companies_status_check"},
		{"verification", "UPDATE ticketing_companies SET verification = 'x'", "companies_verification_check"},
		{"version of branding", "UPDATE ticketing_companies SET branding_version = -1", "companies_branding_version_check"},
		{"id of a company", "INSERT INTO ticketing_companies SELECT X'01', name, status, verification, NULL, NULL, '', 1, 1, 1 FROM ticketing_companies", "companies_id_check"},
		{"type of a column", "UPDATE ticketing_companies SET created_at = 'yesterday'", "datatype_check"},
		{"nothing where something belongs", "UPDATE ticketing_companies SET name = NULL", "companies_name_not_null"},
		{"company that sells", "DELETE FROM ticketing_companies", "fkey"},
		{"branding from 1", "INSERT INTO ticketing_brandings SELECT company_id, 0, '', '', '', '', '', '', '', '', 1 FROM ticketing_brandings", "brandings_version_check"},
		{"branding twice", "INSERT INTO ticketing_brandings SELECT * FROM ticketing_brandings", "brandings_pkey"},
		{"branding changed", "UPDATE ticketing_brandings SET brand_name = 'x'", "brandings_append_only"},
		{"branding removed", "DELETE FROM ticketing_brandings", "brandings_append_only"},
		{"branding replaced", "REPLACE INTO ticketing_brandings SELECT * FROM ticketing_brandings", "brandings_append_only"},
		{"unit of a rate", "INSERT INTO ticketing_commission_rates SELECT company_id, X'02', 2, value, 'PER_MILLE', 1, 1 FROM ticketing_commission_rates", "commission_rates_unit_check"},
		{"place of a rate", "INSERT INTO ticketing_commission_rates SELECT company_id, X'02', 0, value, unit, 1, 1 FROM ticketing_commission_rates", "commission_rates_position_check"},
		{"two rates in one place", "INSERT INTO ticketing_commission_rates SELECT company_id, X'02', 1, value, unit, 1, 1 FROM ticketing_commission_rates", "commission_rates_company_id_position_key"},
		{"rate changed", "UPDATE ticketing_commission_rates SET value = '1'", "commission_rates_append_only"},
		{"rate removed", "DELETE FROM ticketing_commission_rates", "commission_rates_append_only"},
		{"status of a key", "UPDATE ticketing_api_keys SET status = 'LOST'", "api_keys_status_check"},
		{"id of a key", "UPDATE ticketing_api_keys SET id = X'02'", "api_keys_id_check"},
		{"key of another company", "UPDATE ticketing_api_key_directory SET company_id = X'00'", "api_key_directory_append_only"},
		{"key forgotten", "DELETE FROM ticketing_api_key_directory", "api_key_directory_append_only"},
		{"status of a category", "UPDATE ticketing_categories SET status = 'x'", "categories_status_check"},
		{"id of a category", "UPDATE ticketing_categories SET id = X'02'", "categories_id_check"},
		{"slug taken", "INSERT INTO ticketing_categories SELECT zeroblob(16), name, slug, status, 1 FROM ticketing_categories", "categories_slug_key"},
		{"status of an event", "UPDATE ticketing_events SET status = 'x'", "events_status_check"},
		{"id of an event", "UPDATE ticketing_events SET id = X'02'", "events_id_check"},
		{"event that has tiers", "DELETE FROM ticketing_events", "fkey"},
		{"cap of a tier", "UPDATE ticketing_inventory_tiers SET total = 1000001", "inventory_tiers_total_check"},
		{"batches of a tier", "UPDATE ticketing_inventory_tiers SET batches = -1", "inventory_tiers_batches_check"},
		{"flag of a tier", "UPDATE ticketing_inventory_tiers SET cancelled = 2", "inventory_tiers_cancelled_check"},
		{"oversold", batch + "sold = quantity + 1, open = 0", "inventory_batches_sold_check"},
		{"less than none sold", batch + "sold = -1", "inventory_batches_sold_check"},
		{"price below nothing", batch + "unit_price = -1", "inventory_batches_unit_price_check"},
		{"status of a batch", batch + "status = 'SOLD_OUT'", "inventory_batches_status_check"},
		{"place of a batch", batch + "position = position - 1", "inventory_batches_position_check"},
		{"sold out and open", batch + "open = 1", "inventory_batches_open_check"},
		{"for sale and not open", batch + "open = 0", "inventory_batches_open_check"},
		{"status of an order", order + "status = 'LOST'", "orders_status_check"},
		{"number of an order", order + "number = 0", "orders_number_check"},
		{"commission above the gross", order + "commission = gross + 1", "orders_commission_check"},
		{"balances of an order", order + "float_before = -1", "orders_balances_check"},
		{"two orders of one id", "INSERT INTO ticketing_orders SELECT * FROM ticketing_orders", "orders_id_company_id_key"},
		{"two orders of one number", "INSERT INTO ticketing_orders SELECT company_id, number, zeroblob(16), event_id, status, gross, commission, rate_id, branding, float_before, earnings_before, buyer_email, buyer_fullname, buyer_phone, confirmed_at, created_at FROM ticketing_orders", "orders_pkey"},
		{"line of an admission", "UPDATE ticketing_admissions SET line = 0", "admissions_line_check"},
		{"price of an admission", "UPDATE ticketing_admissions SET unit_price = -1", "admissions_unit_price_check"},
		{"flag of an admission", "UPDATE ticketing_admissions SET voided = 2", "admissions_voided_check"},
		{"admission sold twice", "UPDATE ticketing_admissions SET id = zeroblob(16)", "admissions_id_company_id_key"},
		{"result changed", "UPDATE ticketing_idempotency_keys SET digest = 'x'", "idempotency_keys_append_only"},
		{"result removed", "DELETE FROM ticketing_idempotency_keys", "idempotency_keys_append_only"},
		{"overdrawn", wallet + "balance = -1", "wallets_balance_check"},
		{"kind of a wallet", wallet + "wallet = 'SAVINGS'", "wallets_wallet_check"},
		{"status of a wallet", wallet + "status = 'x'", "wallets_status_check"},
		{"sequence of a wallet", wallet + "sequence = -1", "wallets_sequence_check"},
		{"hash of a wallet", wallet + "hash = X'00'", "wallets_hash_check"},
		{"sum of an entry", entry + "1, balance_after, balance_after" + from, "ledger_entries_sum_check"},
		{"entry below nothing", entry + "-balance_after - 1, balance_after, -1" + from, "ledger_entries_balance_check"},
		{"sequence of an entry", "INSERT INTO ticketing_ledger_entries SELECT company_id, wallet, 0, kind, 0, 0, 0, reference, at, hash, hash FROM ticketing_ledger_entries", "ledger_entries_sequence_check"},
		{"wallet of an entry", "INSERT INTO ticketing_ledger_entries SELECT company_id, 'SAVINGS', 9, kind, 0, 0, 0, reference, at, hash, hash FROM ticketing_ledger_entries", "ledger_entries_wallet_check"},
		{"hash of an entry", "INSERT INTO ticketing_ledger_entries SELECT company_id, wallet, 9, kind, 0, 0, 0, reference, at, X'00', hash FROM ticketing_ledger_entries", "ledger_entries_hash_check"},
		{"entry changed", "UPDATE ticketing_ledger_entries SET reference = 'x'", "ledger_entries_append_only"},
		{"entry removed", "DELETE FROM ticketing_ledger_entries", "ledger_entries_append_only"},
		{"entry replaced", "REPLACE INTO ticketing_ledger_entries SELECT * FROM ticketing_ledger_entries", "ledger_entries_append_only"},
		{"funding of less than nothing", "INSERT INTO ticketing_float_credits SELECT company_id, 'q', -1, 1 FROM ticketing_float_credits", "float_credits_amount_check"},
		{"funding without an entry", "INSERT INTO ticketing_float_credits SELECT company_id, 'q', 1, 0 FROM ticketing_float_credits", "float_credits_sequence_check"},
		{"funding twice", "INSERT INTO ticketing_float_credits SELECT * FROM ticketing_float_credits", "float_credits_pkey"},
		{"funding changed", "UPDATE ticketing_float_credits SET amount = 2", "float_credits_append_only"},
		{"funding removed", "DELETE FROM ticketing_float_credits", "float_credits_append_only"},
		{"flag of a fact", "UPDATE ticketing_outbox SET handled = 2", "outbox_handled_check"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			err := s.Exec(t.Context(), test.attack)
			var broken *ticketing.ConstraintError
			if !errors.As(err, &broken) {
				t.Fatalf("got %v, want a ConstraintError", err)
			}
			is.Equal(broken.Constraint, test.constraint)
		})
	}
}
