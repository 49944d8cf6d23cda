package store_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/matryer/is"
)

const (
	sqliteColumns = `SELECT s.name || '.' || c.name || CASE WHEN c."notnull" THEN '' ELSE '?' END
		FROM sqlite_schema s JOIN pragma_table_info(s.name) c WHERE s.type = 'table' ORDER BY s.name, c.cid`
	postgresColumns = `SELECT relname || '.' || attname || CASE WHEN attnotnull THEN '' ELSE '?' END
		FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0
		ORDER BY relname COLLATE "C", attnum`
)

// column is a column of a table, and whether it allows NULL.
type column struct {
	table, name string
	nullable    bool
}

// columns returns the columns of all tables, by table and position.
func columns(tb testing.TB, db *sql.DB, query string) []column {
	tb.Helper()
	var made []column
	for _, text := range texts(tb, db, query) {
		table, name, _ := strings.Cut(text, ".")
		name, nullable := strings.CutSuffix(name, "?")
		made = append(made, column{table: table, name: name, nullable: nullable})
	}
	return made
}

// omissions returns attacks that copy a row of every table, each without one required value.
func omissions(of []column) []attack {
	var made []attack
	for _, c := range of {
		if c.nullable {
			continue
		}
		var values []string
		for _, other := range of {
			switch {
			case other == c:
				values = append(values, "NULL")
			case other.table == c.table:
				values = append(values, other.name)
			}
		}
		name := strings.TrimPrefix(c.table, "ticketing_") + "_" + c.name
		made = append(made, attack{
			name + " omitted", "INSERT INTO " + c.table + " SELECT " + strings.Join(values, ", ") + " FROM " + c.table,
			name + "_not_null",
		})
	}
	return made
}

// texts returns the texts that a query returns.
func texts(tb testing.TB, db *sql.DB, query string) []string {
	tb.Helper()
	found, err := db.QueryContext(tb.Context(), query)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	var made []string
	for found.Next() {
		var text string
		if err := found.Scan(&text); err != nil {
			tb.Fatal(err)
		}
		made = append(made, text)
	}
	if err := found.Err(); err != nil {
		tb.Fatal(err)
	}
	return made
}

// TestDialectsHaveOneSchema checks that both dialects have the same tables, columns in the same order, nullable columns
// and indexes. So the same SQL works on both.
func TestDialectsHaveOneSchema(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := postgres(t, strings.Clone)
	s := isOpen(t, nil)
	whole := columns(t, db, postgresColumns)
	twins := columns(t, s.Reader().DB, sqliteColumns)
	for i := range min(len(whole), len(twins)) {
		is.Equal(whole[i], twins[i])
	}
	is.Equal(len(whole), len(twins))
	var nullable []string
	for _, c := range whole {
		if c.nullable {
			nullable = append(nullable, c.table+"."+c.name)
		}
	}
	is.Equal(nullable, []string{
		"ticketing_admissions.validation_id", "ticketing_admissions.validated_at", "ticketing_api_keys.predecessor_id",
		"ticketing_api_keys.last_used_at", "ticketing_api_keys.revoked_at", "ticketing_companies.approval_expires_at",
		"ticketing_companies.grace_until", "ticketing_companies.revision", "ticketing_events.category_id",
		"ticketing_events.ends_on",
		"ticketing_idempotency_keys.body", "ticketing_notifications.leased_until", "ticketing_notifications.finished_at",
		"ticketing_outbox.leased_until", "ticketing_passkeys.last_used_at", "ticketing_settlements.decided_at",
		"ticketing_sign_in_tokens.company_id", "ticketing_sign_in_tokens.used_at",
		"ticketing_verification_cases.submitted_at", "ticketing_verification_cases.decided_at", "ticketing_wallets.last_at",
		"ticketing_webhook_deliveries.replay_of", "ticketing_webhook_deliveries.leased_until",
		"ticketing_webhook_deliveries.finished_at",
	})
	is.Equal(
		texts(t, db, `SELECT c.relname FROM pg_index JOIN pg_class c ON c.oid = indexrelid
			WHERE relnamespace = 'public'::regnamespace
				AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid) ORDER BY relname COLLATE "C"`),
		texts(t, s.Reader().DB, "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1"),
	)
}

// TestPostgresSortsByCodePoint checks that text keys sort by code point, whatever the locale of the database.
func TestPostgresSortsByCodePoint(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := postgres(t, strings.Clone)
	is.Equal(len(texts(t, db, `SELECT DISTINCT a.attrelid::regclass || '.' || a.attname
		FROM pg_index CROSS JOIN unnest(indkey::int2[], indcollation::oid[]) AS part (number, sorted)
		JOIN pg_attribute a ON attrelid = indrelid AND attnum = part.number
		JOIN pg_collation c ON c.oid = part.sorted
		WHERE indrelid::regclass::text LIKE 'ticketing%' AND collname <> 'C'`)), 0)
}

// TestPostgresUpdatesInPlace checks that PostgreSQL updates in place (HOT) what a sale, a validation and the use of a
// session change: no index contains those columns.
func TestPostgresUpdatesInPlace(t *testing.T) {
	t.Parallel()
	db := postgres(t, strings.Clone)
	write := postgresLiterals()
	if _, err := db.ExecContext(t.Context(), write.Replace(attacked)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ table, change string }{
		{"ticketing_inventory_batches", "sold = sold + 1 WHERE open"},
		{"ticketing_wallets", "balance = 2, sequence = 2, hash = {hash}, last_at = 2"},
		{"ticketing_admissions", "validation_id = {9}, validated_at = 2, location = 'Gate 1'"},
		{"ticketing_inventory_tiers", "batches = 3, total = 2001"},
		{"ticketing_api_keys", "last_used_at = 2"},
		{"ticketing_sessions", "seen_at = 2"},
	} {
		t.Run(test.table, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			tx, err := db.BeginTx(t.Context(), nil)
			is.NoErr(err)
			defer func() { _ = tx.Rollback() }()
			_, err = tx.ExecContext(t.Context(), write.Replace("UPDATE "+test.table+" SET "+test.change))
			is.NoErr(err)
			var updated, inPlace int
			is.NoErr(tx.QueryRowContext(t.Context(), `SELECT pg_stat_get_xact_tuples_updated(oid),
				pg_stat_get_xact_tuples_hot_updated(oid) FROM pg_class WHERE relname = '`+test.table+"'").Scan(&updated, &inPlace))
			is.True(updated > 0)
			is.Equal(inPlace, updated)
		})
	}
}
