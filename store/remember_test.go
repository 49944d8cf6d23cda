package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// premises are what a sale only reads.
type premises struct {
	companies []driver.Company
	keys      []driver.APIKey
	terms     []driver.SaleTerms
}

// assume reads the premises of a company at a time. The last use of a key is left out.
func assume(ctx context.Context, tx driver.ReadTx, of uuid.UUID, at time.Time) (p premises, err error) {
	if p.companies, err = tx.Companies(ctx, []uuid.UUID{of, number(9), number(99)}); err != nil {
		return p, err
	}
	keys := []driver.APIKeyRef{{CompanyID: of, ID: number(4)}, {CompanyID: of, ID: number(5)}}
	if p.keys, err = tx.APIKeys(ctx, keys); err != nil {
		return p, err
	}
	for i := range p.keys {
		p.keys[i].LastUsedAt = time.Time{}
	}
	var refs []driver.SaleTermsRef
	for _, id := range []uuid.UUID{event.ID, number(7)} {
		for version := range int64(3) {
			refs = append(refs, driver.SaleTermsRef{
				EventRef: driver.EventRef{CompanyID: of, ID: id}, BrandingVersion: version,
			})
		}
	}
	p.terms, err = tx.SaleTerms(ctx, refs, at)
	return p, err
}

// announced reads the premises with the message that begins a transaction.
func announced(ctx context.Context, s *store.Store, of uuid.UUID, at time.Time) (p premises, err error) {
	err = s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{
			Shared: []uuid.UUID{of}, Keys: claim("key"),
			Reads: func(ctx context.Context, tx driver.Tx) { _, _ = assume(ctx, tx, of, at) },
		}); err != nil {
			return err
		}
		p, err = assume(ctx, tx, of, at)
		return err
	})
	return p, err
}

// createEvent creates another event of the company $1.
const createEvent = `INSERT INTO ticketing_events SELECT company_id, '00000000-0000-0000-0000-000000000007', title,
	description, 'PUBLISHED', date, starts_at, ends_at, timezone, location, venue, image_url, organizer_name, category_id,
	ticket_categories, ends_on, created_at, updated_at FROM ticketing_events WHERE company_id = $1 LIMIT 1`

// changesOfPremises are statements that change what a sale only reads, and statements that change nothing of it. $1 is
// the company, {n} a number that no other statement has, and {m} a time.
func changesOfPremises() (changing, idle []string) {
	const key = "ticketing_api_keys SET "
	changing = []string{
		"UPDATE ticketing_companies SET name = 'company {n}' WHERE id = $1",
		"UPDATE ticketing_companies SET status = 'SUSPENDED', branding_version = {n} WHERE id = $1",
		"UPDATE ticketing_companies SET name = 'company {n}'",
		"UPDATE ticketing_companies SET verification = 'REVOKED', approval_expires_at = {n} WHERE id = $1",
		"UPDATE " + key + "status = 'REVOKED', revoked_at = {n} WHERE company_id = $1",
		"UPDATE " + key + "status = 'ACTIVE', revoked_at = NULL, name = 'key {n}' WHERE company_id = $1",
		"UPDATE " + key + `digest = 'v{n}', grants = '["event.manage"]' WHERE company_id = $1`,
		"DELETE FROM ticketing_api_keys WHERE company_id = $1",
		"TRUNCATE ticketing_api_keys",
		"UPDATE ticketing_events SET status = 'ENDED', updated_at = {n} WHERE company_id = $1",
		`DELETE FROM ticketing_events e WHERE company_id = $1 AND NOT EXISTS (SELECT FROM ticketing_inventory_tiers t
				WHERE t.company_id = e.company_id AND t.event_id = e.id)`,
		`INSERT INTO ticketing_brandings SELECT company_id, version + 1, 'brand {n}', '', '', '', '', '', '', '', {n}
				FROM ticketing_brandings WHERE company_id = $1 ORDER BY version DESC LIMIT 1`,
		`INSERT INTO ticketing_commission_rates SELECT company_id, gen_random_uuid(), position + 1, '{n}', 'BASIS_POINTS',
				{m}, {n} FROM ticketing_commission_rates WHERE company_id = $1 ORDER BY position DESC LIMIT 1`,
		`INSERT INTO ticketing_api_keys VALUES ($1, '00000000-0000-0000-0000-000000000005', 'other', '[]', 'ACTIVE', 'v1',
				NULL, {n}, NULL, NULL) ON CONFLICT (company_id, id) DO UPDATE SET digest = 'v{n}'`,
		createEvent + " ON CONFLICT (company_id, id) DO UPDATE SET status = 'CANCELLED'",
	}
	idle = []string{
		"UPDATE ticketing_api_keys SET last_used_at = {n} WHERE company_id = $1",
		"UPDATE ticketing_events SET title = 'event {n}', updated_at = {n} WHERE company_id = $1",
		"UPDATE ticketing_events SET status = status WHERE company_id = $1",
		"UPDATE ticketing_wallets SET balance = balance WHERE company_id = $1",
		"UPDATE ticketing_companies SET name = 'x' WHERE id = $1 AND false",
	}
	return changing, idle
}

// change runs a statement of changesOfPremises.
func change(ctx context.Context, tx *sql.Tx, statement string) error {
	var args []any
	if strings.Contains(statement, "$1") {
		args = []any{company}
	}
	_, err := tx.ExecContext(ctx, statement, args...)
	return err
}

// premised returns a database with a company that is ready to sell.
func premised(t *testing.T, dsn string) (*store.Store, *sql.DB) {
	t.Helper()
	s, db := testdb.Open(t, dsn, &store.Config{Connections: 1}), beside(t, dsn)
	furnish(t, s, newBatch(1, 0))
	_, err := db.ExecContext(t.Context(), `INSERT INTO ticketing_companies SELECT '00000000-0000-0000-0000-000000000009',
		name, status, verification, NULL, NULL, '', 0, 1, 1, 0 FROM ticketing_companies`)
	is.New(t).NoErr(err)
	return s, db
}

// premisedTables are the tables on which premises are tested: as they are, and with partitions in other schemas.
func premisedTables() map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{"whole": testdb.FreshDSN, "partitioned": testdb.FreshPartitionedDSN}
}

// TestRevisions checks that a company gets a new revision with each change of what its sales only read, in the same
// transaction, and no other company does; and none where nothing of it changes.
func TestRevisions(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	for name, dsn := range premisedTables() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			_, db := premised(t, dsn(t))
			ctx := t.Context()
			revisions := func(on interface {
				QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
			},
			) (own, other uuid.UUID) {
				is.NoErr(on.QueryRowContext(ctx, "SELECT revision FROM ticketing_companies WHERE id = $1", company).Scan(&own))
				is.NoErr(on.QueryRowContext(ctx, "SELECT revision FROM ticketing_companies WHERE id <> $1", company).Scan(&other))
				return own, other
			}
			_, err := db.ExecContext(ctx, createEvent, company)
			is.NoErr(err)
			changing, idle := changesOfPremises()
			for i, statement := range append(idle, changing...) {
				statement = strings.NewReplacer("{n}", fmt.Sprint(i+10), "{m}", fmt.Sprint(i+10)).Replace(statement)
				tx, err := db.BeginTx(ctx, nil)
				is.NoErr(err)
				before, otherBefore := revisions(tx)
				if err := change(ctx, tx, statement); err != nil {
					t.Fatal(statement, err)
				}
				after, otherAfter := revisions(tx)
				if (before == after) != (i < len(idle)) {
					t.Errorf("%s: the revision was %s and is %s", statement, before, after)
				}
				if otherBefore != otherAfter && strings.Contains(statement, "$1") {
					t.Errorf("%s: another company has a new revision", statement)
				}
				is.NoErr(tx.Rollback())
				if back, _ := revisions(db); back != before {
					t.Errorf("%s: the revision was %s and is %s after a rollback", statement, before, back)
				}
			}
		})
	}
}

// TestRememberedPremisesAreThoseOfNow checks that a transaction finds what a sale only reads as it is, whatever was
// changed by hand, rolled back or remembered before, and whatever the time is. TestPremisesAreRemembered shows that
// they are remembered at all.
func TestRememberedPremisesAreThoseOfNow(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	for name, dsn := range premisedTables() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := premised(t, dsn(t))
			ctx := t.Context()
			changing, idle := changesOfPremises()
			n := 100
			rapid.Check(t, func(t *rapid.T) {
				at := minute(rapid.IntRange(0, 20).Draw(t, "at"))
				for range rapid.IntRange(0, 2).Draw(t, "changes") {
					n++
					statement := rapid.SampledFrom(append(idle, changing...)).Draw(t, "change")
					effective := minute(rapid.IntRange(0, 20).Draw(t, "effective")).UnixMilli()
					statement = strings.NewReplacer("{n}", fmt.Sprint(n), "{m}", fmt.Sprint(effective)).Replace(statement)
					tx, err := db.BeginTx(ctx, nil)
					if err != nil {
						t.Fatal(err)
					}
					if err := change(ctx, tx, statement); err != nil {
						t.Fatal(statement, err)
					}
					end := tx.Commit
					if rapid.Bool().Draw(t, "rolled back") {
						end = tx.Rollback
					}
					if err := end(); err != nil {
						t.Fatal(err)
					}
				}
				got, err := announced(ctx, s, company, at)
				if err != nil {
					t.Fatal(err)
				}
				var want premises
				if err := s.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
					want, err = assume(ctx, tx, company, at)
					return err
				}); err != nil {
					t.Fatal(err)
				}
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
					t.Fatalf("got\n%+v\nwant\n%+v", got, want)
				}
			})
		})
	}
}

// withoutTriggers changes what a sale only reads while no trigger runs.
const withoutTriggers = `BEGIN; SET LOCAL session_replication_role TO replica;
	UPDATE ticketing_companies SET name = 'renamed'; UPDATE ticketing_api_keys SET name = 'renamed';
	UPDATE ticketing_events SET status = 'CANCELLED'; COMMIT`

// findsChanges checks that what withoutTriggers changed is what a sale reads.
func findsChanges(t *testing.T, s *store.Store) {
	t.Helper()
	is := is.New(t)
	now, err := announced(t.Context(), s, company, minute(1))
	is.NoErr(err)
	is.Equal(now.companies[0].Name, "renamed")
	is.Equal(now.keys[0].Name, "renamed")
	is.Equal(now.terms[1].Status, driver.EventCancelled)
}

// TestPremisesAreRemembered checks that what a sale only reads is read once and then remembered: what was changed
// without triggers is found once the company has a new revision.
func TestPremisesAreRemembered(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	s, db := premised(t, testdb.FreshDSN(t))
	ctx := t.Context()
	first, err := announced(ctx, s, company, minute(1))
	is.NoErr(err)
	_, err = db.ExecContext(ctx, withoutTriggers)
	is.NoErr(err)
	for n := range 3 {
		again, err := announced(ctx, s, company, minute(1+n))
		is.NoErr(err)
		is.Equal(again, first)
	}
	_, err = db.ExecContext(ctx, "UPDATE ticketing_companies SET revision = NULL") // The trigger makes one.
	is.NoErr(err)
	findsChanges(t, s)
}

// TestPremisesAreForgotten checks that what was changed without triggers is found once the time to remember has passed.
func TestPremisesAreForgotten(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	s, db := premised(t, testdb.FreshDSN(t))
	store.RememberFor(s, 0)
	ctx := t.Context()
	_, err := announced(ctx, s, company, minute(1))
	is.NoErr(err)
	_, err = db.ExecContext(ctx, withoutTriggers)
	is.NoErr(err)
	findsChanges(t, s)
}

// TestRememberedRecordsAreCopies checks that what a caller does to the records that it got changes nothing of what the
// next one gets.
func TestRememberedRecordsAreCopies(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	s, _ := premised(t, testdb.FreshDSN(t))
	want, err := announced(t.Context(), s, company, minute(1))
	is.NoErr(err)
	first := slices.Clone(want.keys[0].Grants)
	for range 3 {
		got, err := announced(t.Context(), s, company, minute(1))
		is.NoErr(err)
		is.Equal(got.keys[0].Grants, first)
		clear(got.keys[0].Grants)
		clear(want.keys[0].Grants)
	}
}

// TestPremisesAreThoseAfterTheGate checks that a transaction that waits for the gate finds what was changed meanwhile,
// although it was remembered before.
func TestPremisesAreThoseAfterTheGate(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	s, db := premised(t, dsn)
	holder := testdb.Open(t, dsn, nil)
	ctx := t.Context()
	for _, status := range []driver.CompanyStatus{driver.CompanySuspended, driver.CompanyActive} {
		before, err := announced(ctx, s, company, minute(1))
		is.NoErr(err)
		var now premises
		waited := make(chan error)
		is.NoErr(holder.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}}); err != nil {
				return err
			}
			go func() {
				var err error
				now, err = announced(ctx, s, company, minute(1))
				waited <- err
			}()
			until(t, db, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
			changed := before.companies[0]
			changed.Status = status
			return tx.UpdateCompany(ctx, changed)
		}))
		is.NoErr(<-waited)
		is.Equal(now.companies[0].Status, status)
	}
}

// TestRevisionsOfSeveralChanges checks that a transaction that changes several rows of a company, in savepoints or not,
// gives it a new revision, and that what is rolled back to a savepoint does not take that away.
func TestRevisionsOfSeveralChanges(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	s, db := premised(t, testdb.FreshDSN(t))
	ctx := t.Context()
	const revoke = "UPDATE ticketing_api_keys SET status = 'REVOKED'; "
	const end = "UPDATE ticketing_events SET status = 'ENDED'; "
	const restore = "UPDATE ticketing_api_keys SET status = 'ACTIVE'; UPDATE ticketing_events SET status = 'PUBLISHED'; "
	for _, test := range []struct {
		changes        string
		revoked, ended bool
	}{
		{revoke + end, true, true},
		{"SAVEPOINT a; " + revoke + "RELEASE a; " + end, true, true},
		{"SAVEPOINT a; " + revoke + "ROLLBACK TO a; " + end, false, true},
		{revoke + "SAVEPOINT a; " + end + "ROLLBACK TO a; ", true, false},
		{"SAVEPOINT a; SAVEPOINT b; " + revoke + "RELEASE b; ROLLBACK TO a; ", false, false},
	} {
		_, err := announced(ctx, s, company, minute(1))
		is.NoErr(err)
		_, err = db.ExecContext(ctx, "BEGIN; "+test.changes+"COMMIT")
		is.NoErr(err)
		now, err := announced(ctx, s, company, minute(1))
		is.NoErr(err)
		is.Equal(now.keys[0].Status == driver.APIKeyRevoked, test.revoked)
		is.Equal(now.terms[1].Status == driver.EventEnded, test.ended)
		_, err = db.ExecContext(ctx, "BEGIN; "+restore+"COMMIT")
		is.NoErr(err)
	}
}

// TestRevisionsKnowTheColumnsOfKeys checks that the trigger compares all columns of a key but that of its last use.
func TestRevisionsKnowTheColumnsOfKeys(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	db := postgres(t, strings.Clone)
	var definition string
	is.New(t).NoErr(db.QueryRowContext(t.Context(), `SELECT pg_get_triggerdef(oid) FROM pg_trigger
		WHERE tgname = 'ticketing_api_keys_revise'`).Scan(&definition))
	for _, column := range texts(t, db, `SELECT attname FROM pg_attribute
		WHERE attrelid = 'ticketing_api_keys'::regclass AND attnum > 0 AND NOT attisdropped`) {
		compared := regexp.MustCompile(`(?i)\bold\.` + column + `\b`).MatchString(definition)
		if compared == (column == "last_used_at") {
			t.Errorf("%s: compared %t", column, compared)
		}
	}
}
