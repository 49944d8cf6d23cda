package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
)

// TestConstraintOfAShard checks that a broken constraint has its name in the schema, even if the name is only in the
// text of the message, as that of a shard. Citus repeats the error of a worker like that (ReportResultError in
// remote_commands.c, 11.0 to 14.0). An error that contains no name has none.
func TestConstraintOfAShard(t *testing.T) {
	t.Parallel()
	for name, connect := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			pool := connect(t, testdb.FreshDSN(t))
			s := openPool(t, pool)
			is.NoErr(s.Migrate(t.Context()))
			_, err := pool.ExecContext(t.Context(), `CREATE FUNCTION repeat_worker() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				RAISE USING ERRCODE = split_part(NEW.name, '|', 1), MESSAGE = split_part(NEW.name, '|', 2);
			END $$;
			CREATE TRIGGER repeat_worker BEFORE INSERT ON ticketing_secrets
				FOR EACH ROW WHEN (NEW.name LIKE '23%|%') EXECUTE FUNCTION repeat_worker()`)
			is.NoErr(err)
			for _, test := range []struct{ name, state, message, constraint string }{
				{
					"unique", "23505", `duplicate key value violates unique constraint "ticketing_categories_slug_key_102008"`,
					"categories_slug_key",
				},
				{
					"check", "23514",
					`new row for relation "ticketing_wallets_102040" violates check constraint ` +
						`"ticketing_wallets_balance_check_102040"`,
					"wallets_balance_check",
				},
				{
					"foreign key", "23503", `insert or update on table "ticketing_orders_102104" violates foreign key constraint ` +
						`"ticketing_orders_company_id_fkey_102104"`, "orders_company_id_fkey",
				},
				{
					"foreign key of another table", "23503", `update or delete on table "ticketing_companies_102008" violates ` +
						`foreign key constraint "ticketing_orders_company_id_fkey_102104" on table "ticketing_orders_102104"`,
					"orders_company_id_fkey",
				},
				{
					"a name that Citus clips", "23503", `insert or update on table "ticketing_inventory_batches_102104" violates ` +
						`foreign key constraint "ticketing_inventory_batches_company_id_event_id_9f1c20ab_102104"`,
					"inventory_batches_company_id_event_id",
				},
				{
					"NOT NULL", "23502",
					`null value in column "name" of relation "ticketing_secrets_102008" violates not-null constraint`,
					"secrets_name_not_null",
				},
				{"append-only", "23001", "ticketing_brandings_append_only refuses UPDATE", "brandings_append_only"},
				{
					"in another language", "23505",
					`doppelter Schlüsselwert verletzt Unique-Constraint »ticketing_categories_slug_key_102008«`, "categories_slug_key",
				},
				{"of the host", "23514", `new row for relation "trips" violates check constraint "trips_seats"`, "trips_seats"},
				{"none", "23514", "no", ""},
			} {
				err := update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
					return tx.AppendSecretName(ctx, test.state+"|"+test.message, minute(0))
				})
				var broken *driver.ConstraintError
				if !errors.As(err, &broken) {
					t.Fatalf("%s: got %v, want a ConstraintError", test.name, err)
				}
				if broken.Constraint != test.constraint {
					t.Errorf("%s: got %q, want %q", test.name, broken.Constraint, test.constraint)
				}
				want := "ticketing: constraint " + test.constraint + " is broken"
				if test.constraint == "" {
					want = "ticketing: a constraint is broken"
				}
				is.Equal(broken.Error(), want)
			}

			_, err = pool.ExecContext(t.Context(), "INSERT INTO ticketing_categories (id) VALUES (NULL)")
			is.True(err != nil)
			err = s.Classify(err)
			// The driver reports the column.
			is.Equal(err.Error(), "ticketing: constraint categories_id_not_null is broken")
		})
	}
}

// TestIdempotencyKeyOfAShard checks that a transaction that finds another one's idempotency key on a cluster runs
// again.
func TestIdempotencyKeyOfAShard(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	pool := drivers()["pgdriver"](t, testdb.FreshDSN(t))
	s := openPool(t, pool)
	is.NoErr(s.Migrate(t.Context()))
	_, err := pool.ExecContext(t.Context(), `CREATE SEQUENCE runs;
		CREATE FUNCTION refuse_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('runs') = 1 THEN
				RAISE unique_violation USING
					MESSAGE = 'duplicate key value violates unique constraint "ticketing_idempotency_keys_pkey_102008"';
			END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER refuse_first BEFORE INSERT ON ticketing_secrets FOR EACH ROW EXECUTE FUNCTION refuse_first()`)
	is.NoErr(err)
	is.NoErr(named(s, "kept")(t.Context()))
	is.Equal(names(t, s), []string{"kept"})
}
