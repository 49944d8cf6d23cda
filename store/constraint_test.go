package store_test

import (
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// TestConstraints checks that the database itself refuses what no service may write. Every constraint of the schema is
// broken by an attack.
func TestConstraints(t *testing.T) {
	t.Parallel()
	s := isOpen(t, nil)
	write := sqliteLiterals()
	if err := s.Exec(t.Context(), write.Replace(attacked)); err != nil {
		t.Fatal(err)
	}
	tried := append(attacks(), sqliteAttacks()...)
	for _, test := range slices.Concat(tried, omissions(columns(t, s.Reader().DB, sqliteColumns))) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			err := s.Exec(t.Context(), write.Replace(test.statement))
			var broken *driver.ConstraintError
			if !errors.As(err, &broken) {
				t.Fatalf("got %v, want a ConstraintError", err)
			}
			if strings.HasSuffix(test.breaks, "_fkey") {
				is.Equal(broken.Constraint, "fkey") // SQLite does not report which.
				return
			}
			is.Equal(broken.Constraint, test.breaks)
		})
	}

	steps, err := store.Migrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	constraint := regexp.MustCompile(`(?:CONSTRAINT |')ticketing_(\w+(?:_check|_append_only))\b`)
	for _, step := range steps {
		for _, found := range constraint.FindAllStringSubmatch(step.SQL, -1) {
			if !meets(tried, found[1], "") {
				t.Errorf("nothing tried to break %s", found[1])
			}
		}
	}
}

// TestPostgresConstraints checks that PostgreSQL refuses the same attacks and its own ones, under the same names, also
// with partitioned tables. Every constraint and trigger in its catalogue is broken by an attack.
func TestPostgresConstraints(t *testing.T) {
	t.Parallel()
	for _, schema := range []struct {
		name    string
		variant func(string) string
	}{
		{"as it is", strings.Clone},
		{"partitioned", testdb.Partition},
	} {
		t.Run(schema.name, func(t *testing.T) {
			t.Parallel()
			db := postgres(t, schema.variant)
			write := postgresLiterals()
			if _, err := db.ExecContext(t.Context(), write.Replace(attacked)); err != nil {
				t.Fatal(err)
			}
			tried := append(attacks(), postgresAttacks()...)
			for _, test := range slices.Concat(tried, omissions(columns(t, db, postgresColumns))) {
				t.Run(test.name, func(t *testing.T) {
					is := is.New(t)
					is.Equal(refusal(t, db, write.Replace(test.statement)), test.breaks)
				})
			}
			allTried(t, db, tried)
		})
	}
}

// postgres creates a database with one variant of the schema.
func postgres(tb testing.TB, variant func(string) string) *sql.DB {
	tb.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(pgtest.Database(tb))))
	tb.Cleanup(func() { _ = db.Close() })
	steps, err := store.Migrations("postgres")
	if err != nil {
		tb.Fatal(err)
	}
	for _, step := range steps {
		if _, err := db.ExecContext(tb.Context(), "BEGIN;"+variant(step.SQL)+"COMMIT"); err != nil {
			tb.Fatal(err)
		}
	}
	return db
}

// refusal returns the constraint that a statement breaks, without the prefix of the tables.
func refusal(tb testing.TB, db *sql.DB, statement string) string {
	tb.Helper()
	tx, err := db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(tb.Context(), statement)
	var broken pgdriver.Error
	if !errors.As(err, &broken) || !broken.IntegrityViolation() {
		tb.Fatalf("got %v, want a violation of a constraint", err)
	}
	name := broken.Field('n')
	if name == "" {
		name = broken.Field('t') + "_" + broken.Field('c') + "_not_null"
	}
	if strings.Contains(name, "_fkey") {
		// Foreign keys that refer to a partition have a number at the end.
		name = strings.TrimRight(name, "0123456789")
	}
	return strings.TrimPrefix(name, "ticketing_")
}

// allTried fails if a constraint, or a verb that a trigger refuses, was not tried by any attack.
func allTried(tb testing.TB, db *sql.DB, tried []attack) {
	tb.Helper()
	for _, name := range texts(tb, db, `SELECT conname FROM pg_constraint
		WHERE connamespace = 'public'::regnamespace AND contype <> 't' AND conparentid = 0`) {
		if !meets(tried, strings.TrimPrefix(name, "ticketing_"), "") {
			tb.Errorf("nothing tried to break %s", name)
		}
	}
	refused := texts(tb, db, `SELECT verb || ' ' || split_part(encode(tgargs, 'escape'), '\000', 1)
		FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid,
			(VALUES ('DELETE', 8), ('UPDATE', 16), ('TRUNCATE', 32)) AS kind (verb, bit)
		WHERE tgfoid = 'ticketing_append_only'::regproc AND relnamespace = 'public'::regnamespace AND tgtype & bit <> 0`)
	if len(refused) == 0 {
		tb.Error("there is no trigger")
	}
	for _, one := range refused {
		verb, name, _ := strings.Cut(one, " ")
		if !meets(tried, strings.TrimPrefix(name, "ticketing_"), verb) {
			tb.Errorf("nothing tried %s on what %s guards", verb, name)
		}
	}
}

// meets reports whether one of the attacks whose statement begins with verb breaks the constraint.
func meets(tried []attack, constraint, verb string) bool {
	return slices.ContainsFunc(tried, func(a attack) bool {
		return a.breaks == constraint && strings.HasPrefix(a.statement, verb)
	})
}
