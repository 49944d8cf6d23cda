package store_test

import (
	"context"
	"database/sql"
	"fmt"
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
	if p.companies, err = tx.Companies(ctx, []uuid.UUID{of, number(99)}); err != nil {
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

// changesOfPremises are statements that change what a sale only reads, and statements that change nothing of it. $1 is
// the company, {n} a number that no other statement has, and {m} a time.
func changesOfPremises() (all []string, none []string) {
	const key = "ticketing_api_keys SET "
	return []string{
			"UPDATE ticketing_companies SET name = 'company {n}' WHERE id = $1",
			"UPDATE ticketing_companies SET status = 'SUSPENDED', branding_version = {n} WHERE id = $1",
			"UPDATE ticketing_companies SET verification = 'REVOKED', approval_expires_at = {n} WHERE id = $1",
			"UPDATE " + key + "status = 'REVOKED', revoked_at = {n} WHERE company_id = $1",
			"UPDATE " + key + "status = 'ACTIVE', revoked_at = NULL, name = 'key {n}' WHERE company_id = $1",
			"UPDATE " + key + `digest = 'v{n}', grants = '["event.manage"]' WHERE company_id = $1`,
			"DELETE FROM ticketing_api_keys WHERE company_id = $1",
			"TRUNCATE ticketing_api_keys",
			"UPDATE ticketing_events SET status = 'ENDED', updated_at = {n} WHERE company_id = $1",
			"UPDATE ticketing_events SET status = 'PUBLISHED', updated_at = {n} WHERE company_id = $1",
			`DELETE FROM ticketing_events e WHERE company_id = $1 AND NOT EXISTS (SELECT FROM ticketing_inventory_tiers t
				WHERE t.company_id = e.company_id AND t.event_id = e.id)`,
			`INSERT INTO ticketing_brandings SELECT company_id, version + 1, 'brand {n}', '', '', '', '', '', '', '', {n}
				FROM ticketing_brandings WHERE company_id = $1 ORDER BY version DESC LIMIT 1`,
			`INSERT INTO ticketing_commission_rates SELECT company_id, gen_random_uuid(), position + 1, '{n}', 'BASIS_POINTS',
				{m}, {n} FROM ticketing_commission_rates WHERE company_id = $1 ORDER BY position DESC LIMIT 1`,
		}, []string{
			"UPDATE ticketing_api_keys SET last_used_at = {n} WHERE company_id = $1",
			`INSERT INTO ticketing_api_keys VALUES ($1, '00000000-0000-0000-0000-000000000005', 'other', '[]', 'ACTIVE', 'v1',
				NULL, {n}, NULL, NULL) ON CONFLICT DO NOTHING`,
			`INSERT INTO ticketing_events SELECT company_id, '00000000-0000-0000-0000-000000000007', title, description, status,
				date, starts_at, ends_at, timezone, location, venue, image_url, organizer_name, category_id, ticket_categories,
				ends_on, created_at, updated_at FROM ticketing_events WHERE company_id = $1 LIMIT 1 ON CONFLICT DO NOTHING`,
			"UPDATE ticketing_wallets SET balance = balance WHERE company_id = $1",
			"UPDATE ticketing_companies SET name = 'x' WHERE id = $1 AND false",
		}
}

// premised returns a database with a company that is ready to sell.
func premised(t *testing.T, dsn string) (*store.Store, *sql.DB) {
	t.Helper()
	s := testdb.Open(t, dsn, &store.Config{Connections: 1})
	furnish(t, s, newBatch(1, 0))
	return s, beside(t, dsn)
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
			_, err := db.ExecContext(ctx, `INSERT INTO ticketing_companies SELECT gen_random_uuid(), name, status, verification,
				NULL, NULL, '', 0, 1, 1, 0 FROM ticketing_companies`)
			is.NoErr(err)
			revisions := func(on interface {
				QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
			},
			) (own, other uuid.UUID) {
				is.NoErr(on.QueryRowContext(ctx, "SELECT revision FROM ticketing_companies WHERE id = $1", company).Scan(&own))
				is.NoErr(on.QueryRowContext(ctx, "SELECT revision FROM ticketing_companies WHERE id <> $1", company).Scan(&other))
				return own, other
			}
			all, none := changesOfPremises()
			_, err = db.ExecContext(ctx, strings.ReplaceAll(none[2], "{n}", "1"), company) // An event that may be deleted.
			is.NoErr(err)
			for i, statement := range append(none, all...) {
				statement = strings.NewReplacer("{n}", fmt.Sprint(i+10), "{m}", fmt.Sprint(i+10)).Replace(statement)
				tx, err := db.BeginTx(ctx, nil)
				is.NoErr(err)
				before, otherBefore := revisions(tx)
				args := []any{company}
				if !strings.Contains(statement, "$1") {
					args = nil
				}
				_, err = tx.ExecContext(ctx, statement, args...)
				if err != nil {
					t.Fatal(statement, err)
				}
				after, otherAfter := revisions(tx)
				if (before == after) != (i < len(none)) {
					t.Errorf("%s: the revision was %s and is %s", statement, before, after)
				}
				if otherBefore != otherAfter && !strings.HasPrefix(statement, "TRUNCATE") {
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
// changed by hand, rolled back or remembered before, and whatever the time is.
func TestRememberedPremisesAreThoseOfNow(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	for name, dsn := range premisedTables() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := premised(t, dsn(t))
			ctx := t.Context()
			all, none := changesOfPremises()
			n := 100
			rapid.Check(t, func(t *rapid.T) {
				at := minute(rapid.IntRange(0, 20).Draw(t, "at"))
				for range rapid.IntRange(0, 2).Draw(t, "changes") {
					n++
					change := rapid.SampledFrom(append(none, all...)).Draw(t, "change")
					effective := minute(rapid.IntRange(0, 20).Draw(t, "effective")).UnixMilli()
					change = strings.NewReplacer("{n}", fmt.Sprint(n), "{m}", fmt.Sprint(effective)).Replace(change)
					tx, err := db.BeginTx(ctx, nil)
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(change, "$1") {
						_, err = tx.ExecContext(ctx, change, company)
					} else {
						_, err = tx.ExecContext(ctx, change)
					}
					if err != nil {
						t.Fatal(change, err)
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
	for _, change := range []string{
		"UPDATE ticketing_companies SET name = 'renamed'", "UPDATE ticketing_api_keys SET name = 'renamed'",
		"UPDATE ticketing_events SET status = 'CANCELLED'",
	} {
		_, err := db.ExecContext(ctx, "BEGIN; SET LOCAL session_replication_role TO replica; "+change+"; COMMIT")
		is.NoErr(err)
	}
	for n := range 3 {
		again, err := announced(ctx, s, company, minute(1+n))
		is.NoErr(err)
		is.Equal(again, first)
	}
	_, err = db.ExecContext(ctx, "UPDATE ticketing_companies SET revision = NULL") // The trigger makes one.
	is.NoErr(err)
	now, err := announced(ctx, s, company, minute(1))
	is.NoErr(err)
	is.Equal(now.companies[0].Name, "renamed")
	is.Equal(now.keys[0].Name, "renamed")
	is.Equal(now.terms[1].Status, driver.EventCancelled)
}
