package store_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/store"
)

// TestSQLitePlansUseTheWholeKey checks the plans after ANALYZE. No statement then reads all rows of a company, or of a
// table, if without statistics it finds its rows by more of their key. SQLite plans a statement before values are
// bound, so a company that comes after ANALYZE gets the same plans.
func TestSQLitePlansUseTheWholeKey(t *testing.T) {
	t.Parallel()
	race.Leave(t, "plans")
	is := is.New(t)
	s := isOpen(t, &store.Config{Readers: 1})
	recorded := s.Record()
	furnish(t, s, newBatch(1, 0))
	settle(t, s, 20)
	askAll(t, s)
	askMany(t, s)
	askRest(t, s)
	statements := recorded()
	plans := func() map[string]string {
		t.Helper()
		made := make(map[string]string)
		for _, statement := range statements {
			plan, err := explain(t.Context(), s, statement)
			is.NoErr(err)
			made[statement] = strings.Join(plan, "\n")
		}
		return made
	}
	want := plans()
	is.True(len(want) > 100)
	same := func(known string) {
		t.Helper()
		is.NoErr(s.Exec(t.Context(), "ANALYZE"))
		is.True(len(texts(t, s.Writer().DB, "SELECT tbl FROM sqlite_stat1 WHERE idx LIKE 'ticketing_orders%'")) > 0)
		for statement, plan := range plans() {
			if wide(plan) > wide(want[statement]) && !fewSettlements.MatchString(statement) &&
				!lookThrough.MatchString(statement) {
				t.Errorf("with %s\n%s\nhas the plan\n%s\nand without statistics\n%s", known, statement, plan, want[statement])
			}
		}
	}
	multiply(t, s, 300, 5)
	same("three hundred small ones beside it")
	multiply(t, s, 1, 100_000)
	same("another large one")
}

// fewSettlements matches a query for some of a company's settlements, which are few.
var fewSettlements = regexp.MustCompile(`FROM \(VALUES .* CROSS JOIN ticketing_settlements`)

var widely = regexp.MustCompile(`(?m)SCAN ` + wholeTable + `|\((company|user)_id=\?\)`)

// wide counts the steps of a plan that read a table in full, or all rows of a company or a user in it.
func wide(plan string) int { return len(widely.FindAllString(plan, -1)) }

// multiply copies a number of rows of one company in each table for other companies.
func multiply(tb testing.TB, s *store.Store, companies, rows int) {
	tb.Helper()
	is := is.New(tb)
	named := make(map[string][]string)
	for _, column := range columns(tb, s.Reader().DB, sqliteColumns) {
		named[column.table] = append(named[column.table], column.name)
	}
	is.NoErr(s.Exec(tb.Context(), fmt.Sprintf(`PRAGMA foreign_keys = off; CREATE TEMP TABLE others AS
		WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d) `+
		`SELECT randomblob(16) AS id FROM n`, companies)))
	for _, table := range store.PlacementOrder() {
		by := store.Placements()[table]
		if by == "" {
			continue
		}
		var values []string
		for _, column := range named[table] {
			switch column {
			case by:
				column = "others.id"
			case "id":
				column = "randomblob(16)"
				if table == "ticketing_passkeys" {
					column = "hex(randomblob(16))"
				}
			default:
				column = "t." + column
			}
			values = append(values, column)
		}
		is.NoErr(s.Exec(tb.Context(), fmt.Sprintf(
			"INSERT INTO %s SELECT %s FROM others, (SELECT * FROM %s WHERE %s = %s LIMIT %d) t",
			table, strings.Join(values, ", "), table, by, companyBlob, rows)))
	}
	is.NoErr(s.Exec(tb.Context(), "DROP TABLE others; PRAGMA foreign_keys = on"))
}

// companyBlob is the id of the tests' company as SQLite stores it.
var companyBlob = fmt.Sprintf("x'%x'", company[:])
