package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
)

// person is the user of the tests. Their id is that of the company, so that what fills tables fills those of users,
// too.
var person = company

func newSession() driver.Session {
	return driver.Session{
		UserID: person, ID: number(9_101), Digest: "d1", Method: driver.SignInPasskey, Browser: "Firefox",
		Address: "192.0.2.1", CreatedAt: minute(1), ConfirmedAt: minute(1), SeenAt: minute(1),
	}
}

func newSignInToken(n int) driver.SignInToken {
	return driver.SignInToken{
		UserID: person, ID: number(9_200 + n), Kind: driver.SignInCode, Digest: "d2", Browser: "d3", CompanyID: company,
		Tries: 1, CreatedAt: minute(n), ExpiresAt: minute(n + 15),
	}
}

func newPasskey() driver.Passkey {
	return driver.Passkey{
		UserID: person, ID: "new-1", Name: "Phone", Credential: `{"id":"x"}`, Counter: 3,
		CreatedAt: minute(1), LastUsedAt: minute(1),
	}
}

func newStaffMember() driver.StaffMember {
	return driver.StaffMember{
		UserID: number(9_301), Name: "Obi", Role: driver.StaffSupport, CreatedAt: minute(1), UpdatedAt: minute(1),
	}
}

// accountWrites returns all calls that write what people sign in with.
func accountWrites(ctx context.Context, tx driver.Tx) []func() error {
	return []func() error{
		func() error { return tx.PutSession(ctx, newSession()) },
		func() error {
			return tx.TouchSession(ctx, driver.SessionRef{UserID: person, ID: newSession().ID}, minute(9))
		},
		func() error { return tx.PutSignInToken(ctx, newSignInToken(1)) },
		func() error { return tx.PutPasskey(ctx, newPasskey()) },
		func() error { return tx.PutStaffMember(ctx, newStaffMember()) },
	}
}

// accountEnds returns the calls that remove what people sign in with.
func accountEnds(ctx context.Context, tx driver.Tx) []func() error {
	return []func() error{
		func() error { return tx.DeleteSessions(ctx, person, []uuid.UUID{newSession().ID}) },
		func() error { return tx.DeleteSignInTokens(ctx, person, []uuid.UUID{newSignInToken(1).ID}) },
		func() error { return tx.DeletePasskeys(ctx, person, []string{newPasskey().ID}) },
	}
}

// accountReads returns all calls that read what people sign in with.
func accountReads(ctx context.Context, tx driver.ReadTx) []func() error {
	const limit = 10
	return []func() error{
		func() error {
			_, err := tx.Sessions(ctx, []driver.SessionRef{{UserID: person, ID: newSession().ID}})
			return err
		},
		func() error {
			_, err := tx.SignInTokens(ctx, []driver.SignInTokenRef{{UserID: person, ID: newSignInToken(1).ID}})
			return err
		},
		func() error {
			_, err := tx.Passkeys(ctx, []driver.PasskeyRef{{UserID: person, ID: newPasskey().ID}})
			return err
		},
		func() error { _, err := tx.StaffMembers(ctx, []uuid.UUID{newStaffMember().UserID}); return err },
		func() error { _, err := tx.ListSessions(ctx, person, limit); return err },
		func() error { _, err := tx.LastSeen(ctx, []uuid.UUID{person}); return err },
		func() error { _, err := tx.ListSignInTokens(ctx, person, limit); return err },
		func() error { _, err := tx.ListPasskeys(ctx, person, limit); return err },
		func() error { _, err := tx.ListStaff(ctx, limit); return err },
		func() error { _, err := tx.ListMemberships(ctx, person, limit); return err },
	}
}

// manyAccounts finds, puts and removes many records at once that people sign in with, of a user who has many more.
func manyAccounts(ctx context.Context, tx driver.Tx) error {
	const many = 30
	var sessions []driver.SessionRef
	var tokens []driver.SignInTokenRef
	var passkeys []driver.PasskeyRef
	var ids []uuid.UUID
	var keys []string
	for i := range many {
		n := i*7 + 5
		ids, keys = append(ids, number(base+n)), append(keys, fmt.Sprintf("k%d", n))
		sessions = append(sessions, driver.SessionRef{UserID: person, ID: ids[i]})
		tokens = append(tokens, driver.SignInTokenRef{UserID: person, ID: ids[i]})
		passkeys = append(passkeys, driver.PasskeyRef{UserID: person, ID: keys[i]})
	}
	_, err := tx.StaffMembers(ctx, ids)
	if err != nil {
		return err
	}
	if _, err = tx.LastSeen(ctx, append(ids, person)); err != nil {
		return err
	}
	signedIn, err := tx.Sessions(ctx, sessions)
	if err != nil {
		return err
	}
	for i, session := range signedIn {
		session.UserID, session.ID, session.Method = person, ids[i], driver.SignInLink
		session.CreatedAt, session.ConfirmedAt, session.SeenAt = second(i), second(i), second(i)
		err = errors.Join(err, tx.PutSession(ctx, session), tx.TouchSession(ctx, sessions[i], minute(9)))
	}
	_, tokensErr := tx.SignInTokens(ctx, tokens)
	_, passkeysErr := tx.Passkeys(ctx, passkeys)
	return errors.Join(err, tokensErr, passkeysErr,
		tx.DeleteSessions(ctx, person, ids), tx.DeleteSignInTokens(ctx, person, ids), tx.DeletePasskeys(ctx, person, keys))
}

// TestPostgresCountsNoUsers checks that no table of what a user signs in with has statistics of its user column.
func TestPostgresCountsNoUsers(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := postgres(t, func(migration string) string { return migration })
	is.Equal(texts(t, db, `SELECT relname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attname = 'user_id'
			AND relname NOT IN ('ticketing_members', 'ticketing_staff') AND coalesce(attstattarget, -1) <> 0`), []string(nil))
}
