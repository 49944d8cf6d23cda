package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func newSession(userID uuid.UUID, n, madeAt int) driver.Session {
	return driver.Session{
		UserID: userID, ID: id(100 + n), Digest: "d" + awkward, Method: driver.SignInPasskey, Browser: awkward,
		Address: "2001:db8::1", CreatedAt: at(madeAt), ConfirmedAt: at(madeAt + 1), SeenAt: at(madeAt + 2),
	}
}

func newSignInToken(userID uuid.UUID, n, madeAt int) driver.SignInToken {
	return driver.SignInToken{
		UserID: userID, ID: id(200 + n), Kind: driver.SignInCode, Digest: "d" + awkward, Browser: "b" + awkward,
		CompanyID: companyA, Tries: 4, CreatedAt: at(madeAt), ExpiresAt: at(madeAt + 1), UsedAt: at(madeAt + 2),
	}
}

// newPasskey returns a passkey. Ids are texts; ids that look alike are different.
func newPasskey(userID uuid.UUID, n, madeAt int) driver.Passkey {
	return driver.Passkey{
		UserID: userID, ID: []string{"", "B-_1", "a-_1", "b-_1", "é", "\uFFFD"}[n%6], Name: awkward,
		Credential: `{"publicKey":"` + awkward + `"}`, Counter: 1 << 40, CreatedAt: at(madeAt), LastUsedAt: at(madeAt + 1),
	}
}

func sessionRef(s driver.Session) driver.SessionRef {
	return driver.SessionRef{UserID: s.UserID, ID: s.ID}
}

// mapped returns what a function returns for each record.
func mapped[R, V any](records []R, of func(R) V) []V {
	var all []V
	for _, record := range records {
		all = append(all, of(record))
	}
	return all
}

func ownedSessions() owned[driver.Session] {
	return owned[driver.Session]{
		name: "sessions", one: newSession, newestFirst: true,
		other: func(s driver.Session) driver.Session {
			return driver.Session{
				UserID: s.UserID, ID: s.ID, Digest: "other", Method: driver.SignInOIDC, CreatedAt: at(50),
				ConfirmedAt: at(2), SeenAt: at(1),
			}
		},
		made: func(s, like driver.Session) driver.Session {
			s.CreatedAt = like.CreatedAt
			return s
		},
		put: func(ctx context.Context, tx driver.Tx, s driver.Session) error { return tx.PutSession(ctx, s) },
		remove: func(ctx context.Context, tx driver.Tx, userID uuid.UUID, of []driver.Session) error {
			return tx.DeleteSessions(ctx, userID, mapped(of, func(s driver.Session) uuid.UUID { return s.ID }))
		},
		find: func(ctx context.Context, tx driver.ReadTx, of []driver.Session) ([]driver.Session, error) {
			return tx.Sessions(ctx, mapped(of, sessionRef))
		},
		list: func(ctx context.Context, tx driver.ReadTx, userID uuid.UUID, limit int) ([]driver.Session, error) {
			return tx.ListSessions(ctx, userID, limit)
		},
	}
}

func ownedTokens() owned[driver.SignInToken] {
	ref := func(t driver.SignInToken) driver.SignInTokenRef {
		return driver.SignInTokenRef{UserID: t.UserID, ID: t.ID}
	}
	return owned[driver.SignInToken]{
		name: "sign-in tokens", one: newSignInToken, newestFirst: true,
		other: func(t driver.SignInToken) driver.SignInToken {
			return driver.SignInToken{
				UserID: t.UserID, ID: t.ID, Kind: driver.SignInLink, Digest: "other", CreatedAt: at(50), ExpiresAt: at(51),
			}
		},
		made: func(t, like driver.SignInToken) driver.SignInToken {
			t.CreatedAt = like.CreatedAt
			return t
		},
		put: func(ctx context.Context, tx driver.Tx, t driver.SignInToken) error { return tx.PutSignInToken(ctx, t) },
		remove: func(ctx context.Context, tx driver.Tx, userID uuid.UUID, of []driver.SignInToken) error {
			return tx.DeleteSignInTokens(ctx, userID, mapped(of, func(t driver.SignInToken) uuid.UUID { return t.ID }))
		},
		find: func(ctx context.Context, tx driver.ReadTx, of []driver.SignInToken) ([]driver.SignInToken, error) {
			return tx.SignInTokens(ctx, mapped(of, ref))
		},
		list: func(ctx context.Context, tx driver.ReadTx, userID uuid.UUID, limit int) ([]driver.SignInToken, error) {
			return tx.ListSignInTokens(ctx, userID, limit)
		},
	}
}

func ownedPasskeys() owned[driver.Passkey] {
	ref := func(p driver.Passkey) driver.PasskeyRef { return driver.PasskeyRef{UserID: p.UserID, ID: p.ID} }
	return owned[driver.Passkey]{
		name: "passkeys", one: newPasskey,
		other: func(p driver.Passkey) driver.Passkey {
			return driver.Passkey{UserID: p.UserID, ID: p.ID, Name: "other", Credential: "{}", Counter: 7, CreatedAt: at(50)}
		},
		made: func(p, like driver.Passkey) driver.Passkey {
			p.CreatedAt = like.CreatedAt
			return p
		},
		put: func(ctx context.Context, tx driver.Tx, p driver.Passkey) error { return tx.PutPasskey(ctx, p) },
		remove: func(ctx context.Context, tx driver.Tx, userID uuid.UUID, of []driver.Passkey) error {
			return tx.DeletePasskeys(ctx, userID, mapped(of, func(p driver.Passkey) string { return p.ID }))
		},
		find: func(ctx context.Context, tx driver.ReadTx, of []driver.Passkey) ([]driver.Passkey, error) {
			return tx.Passkeys(ctx, mapped(of, ref))
		},
		list: func(ctx context.Context, tx driver.ReadTx, userID uuid.UUID, limit int) ([]driver.Passkey, error) {
			return tx.ListPasskeys(ctx, userID, limit)
		},
	}
}

func touches(session driver.Session, seenAt time.Time) writes {
	return func(ctx context.Context, tx driver.Tx) error {
		return tx.TouchSession(ctx, sessionRef(session), seenAt)
	}
}

// sessionsTouched touches one of two sessions with the same id.
func sessionsTouched(ctx context.Context, s driver.Store) error {
	one, beside := newSession(userA, 1, 3), newSession(userB, 1, 3)
	holds := func(what string, seenAt time.Time) func() error {
		return func() error {
			kept := one
			kept.SeenAt = seenAt
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want(what, []driver.Session{kept, beside}).
					from(tx.Sessions(ctx, []driver.SessionRef{sessionRef(one), sessionRef(beside)}))
			})
		}
	}
	return steps(
		func() error { return update(ctx, s, ownedSessions().puts(one, beside)) },
		func() error { return failing(ctx, s, touches(one, at(30))) },
		holds("in an Update that failed", one.SeenAt),
		func() error { return share(ctx, s, touches(one, at(30))) },
		holds("used", at(30)),
		func() error { return share(ctx, s, touches(one, at(20))) },
		holds("used before", at(30)),
		func() error {
			return share(ctx, s, touches(one, at(40).Add(700*time.Microsecond).In(time.FixedZone("WAT", 3600))))
		},
		holds("used elsewhere", at(40)),
	)
}

// usersSeen reads when users were last seen. The users have several sessions, one, and none.
func usersSeen(ctx context.Context, s driver.Store) error {
	newest, used, beside := newSession(userA, 1, 9), newSession(userA, 2, 3), newSession(userB, 1, 5)
	holds := func(what string, times ...time.Time) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return errors.Join(
					want(what, times).from(tx.LastSeen(ctx, []uuid.UUID{userB, id(999), userA})),
					want(what+", of one", times[2:]).from(tx.LastSeen(ctx, []uuid.UUID{userA})),
				)
			})
		}
	}
	return steps(
		func() error { return update(ctx, s, ownedSessions().puts(newest, used, beside)) },
		holds("when made", beside.SeenAt, time.Time{}, newest.SeenAt),
		func() error { return share(ctx, s, touches(used, at(30))) },
		holds("when used", beside.SeenAt, time.Time{}, at(30)),
		func() error { return update(ctx, s, ownedSessions().removes(userA, used)) },
		holds("when one has ended", beside.SeenAt, time.Time{}, newest.SeenAt),
		func() error { return update(ctx, s, ownedSessions().removes(userA, newest)) },
		holds("when all have ended", beside.SeenAt, time.Time{}, time.Time{}),
	)
}

func endedSessions(ctx context.Context, s driver.Store) error {
	one := newSession(userA, 1, 3)
	gone := func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("find", []driver.Session{{}}).from(tx.Sessions(ctx, []driver.SessionRef{sessionRef(one)})),
			want("list", []driver.Session(nil)).from(tx.ListSessions(ctx, userA, 9)),
		)
	}
	touched := func(what string) func() error {
		return func() error {
			if err := share(ctx, s, touches(one, at(30))); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return everywhere(ctx, s, gone)
		}
	}
	return steps(
		touched("touch one that never was"),
		func() error { return update(ctx, s, ownedSessions().puts(one)) },
		func() error { return update(ctx, s, ownedSessions().removes(userA, one)) },
		touched("touch one that has ended"),
		func() error {
			return update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return steps(
					func() error { return tx.PutSession(ctx, one) },
					func() error { return tx.DeleteSessions(ctx, userA, []uuid.UUID{one.ID}) },
					func() error { return tx.TouchSession(ctx, sessionRef(one), at(30)) },
					func() error { return gone(ctx, tx) },
				)
			})
		},
		func() error { return everywhere(ctx, s, gone) },
	)
}

func sessionsTouchedAtOnce(ctx context.Context, s driver.Store) error {
	one := newSession(userA, 1, 3)
	if err := update(ctx, s, ownedSessions().puts(one)); err != nil {
		return err
	}
	const users = 12
	err := together(ctx, users, func(n int) error {
		// The touches are in no order; the last one comes first.
		return share(ctx, s, touches(one, at(100+(n*7+users-1)%users)))
	})
	if err != nil {
		return err
	}
	one.SeenAt = at(100 + users - 1)
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("used by several", []driver.Session{one}).from(tx.ListSessions(ctx, userA, 9))
	})
}

func sessionsSound(ctx context.Context, s driver.Store) error {
	unknown := newSession(userA, 1, 3)
	unknown.Method = "PASSWORD"
	return refuses("an unknown method", update(ctx, s, ownedSessions().puts(unknown)))
}

func tokensSound(ctx context.Context, s driver.Store) error {
	key, negative := newSignInToken(userA, 1, 3), newSignInToken(userA, 1, 3)
	key.Kind, negative.Tries = driver.SignInPasskey, -1
	invitation := newSignInToken(userA, 2, 3)
	invitation.Kind = driver.SignInInvitation
	return errors.Join(
		update(ctx, s, ownedTokens().puts(invitation)),
		refuses("a token of a passkey", update(ctx, s, ownedTokens().puts(key))),
		refuses("fewer than no tries", update(ctx, s, ownedTokens().puts(negative))),
	)
}

func passkeysSound(ctx context.Context, s driver.Store) error {
	negative := newPasskey(userA, 1, 3)
	negative.Counter = -1
	return refuses("a counter below zero", update(ctx, s, ownedPasskeys().puts(negative)))
}

func plainTokens(ctx context.Context, s driver.Store) error {
	plain := newSignInToken(userA, 1, 3)
	plain.Browser, plain.CompanyID, plain.Tries, plain.UsedAt = "", uuid.Nil, 0, time.Time{}
	if err := update(ctx, s, ownedTokens().puts(plain)); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.ListSignInTokens(ctx, userA, 9)
		if err := want("list", []driver.SignInToken{plain}).from(found, err); err != nil {
			return err
		}
		return that(found[0].UsedAt.IsZero(), "no time became a time")
	})
}

func plainPasskeys(ctx context.Context, s driver.Store) error {
	plain := newPasskey(userA, 1, 3)
	plain.Counter, plain.LastUsedAt = 0, time.Time{}
	if err := update(ctx, s, ownedPasskeys().puts(plain)); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.ListPasskeys(ctx, userA, 9)
		if err := want("list", []driver.Passkey{plain}).from(found, err); err != nil {
			return err
		}
		return that(found[0].LastUsedAt.IsZero(), "no time became a time")
	})
}

// signIns holds one of each kind of record that people sign in with. All their times are the same.
type signIns struct {
	session driver.Session
	token   driver.SignInToken
	passkey driver.Passkey
	staff   driver.StaffMember
}

func newSignIns(when time.Time) signIns {
	all := signIns{
		newSession(userA, 1, 3), newSignInToken(userA, 1, 3), newPasskey(userA, 1, 3),
		newStaffMember(10, driver.StaffFinance),
	}
	all.session.CreatedAt, all.session.ConfirmedAt, all.session.SeenAt = when, when, when
	all.token.CreatedAt, all.token.ExpiresAt, all.token.UsedAt = when, when, when
	all.passkey.CreatedAt, all.passkey.LastUsedAt = when, when
	all.staff.CreatedAt, all.staff.UpdatedAt = when, when
	return all
}

func (s signIns) keep(ctx context.Context, tx driver.Tx) error {
	return errors.Join(
		tx.PutSession(ctx, s.session), tx.PutSignInToken(ctx, s.token), tx.PutPasskey(ctx, s.passkey),
		tx.PutStaffMember(ctx, s.staff),
	)
}

func (s signIns) holds(ctx context.Context, tx driver.ReadTx) error {
	return errors.Join(
		want("session", []driver.Session{s.session}).from(tx.ListSessions(ctx, userA, 9)),
		want("sign-in token", []driver.SignInToken{s.token}).from(tx.ListSignInTokens(ctx, userA, 9)),
		want("passkey", []driver.Passkey{s.passkey}).from(tx.ListPasskeys(ctx, userA, 9)),
		want("staff", []driver.StaffMember{s.staff}).from(tx.ListStaff(ctx, 9)),
	)
}
