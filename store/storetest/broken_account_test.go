package storetest_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// userOf returns a user of the checks: 10 is the user with most records, 20 the other one.
func userOf(n byte) uuid.UUID {
	user := uuid.MustParse("01020304-0506-4708-8000-000000000000")
	user[15] = n
	return user
}

// brokenAccounts returns stores that break what signing in relies on.
func brokenAccounts() []broken {
	const (
		aligned  = "/answers are aligned and of their user"
		list     = "/list is in order and of its user"
		replaced = "/one is replaced but for its time of creation"
		removed  = "/those that are removed are gone, and no others"
		trip     = "/round trip"
	)
	found := func(name, fails string, tx findsOwned) broken {
		return broken{name, fails, reading(func(of driver.ReadTx) driver.ReadTx {
			tx.ReadTx = of
			return tx
		})}
	}
	put := func(name, fails string, tx putsOwned) broken {
		return broken{name, fails, writing(func(of driver.Tx) driver.Tx {
			tx.Tx = of
			return tx
		})}
	}
	gapless := findsOwned{
		sessions: compactZero[driver.Session], tokens: compactZero[driver.SignInToken],
		passkeys: compactZero[driver.Passkey], staff: compactZero[driver.StaffMember],
	}
	return []broken{
		found("leaves gaps out of sessions", "sessions"+aligned, gapless),
		found("leaves gaps out of tokens", "sign-in tokens"+aligned, gapless),
		found("leaves gaps out of passkeys", "passkeys"+aligned, gapless),
		found("leaves gaps out of staff", "staff/answers are aligned", gapless),
		found("leaves gaps out of when users were seen", "sessions/their users were last seen", findsOwned{
			seen: compactZero[time.Time],
		}),
		found("sees users in their newest session", "sessions/their users were last seen", findsOwned{newest: true}),
		found("finds sessions of anybody", "sessions"+aligned, findsOwned{anybody: true}),
		found("finds tokens of anybody", "sign-in tokens"+aligned, findsOwned{anybody: true}),
		found("finds passkeys of anybody", "passkeys"+aligned, findsOwned{anybody: true}),
		lists("lists the oldest session first", "sessions"+list, listsOwned{sessions: oldestSessions}),
		lists("lists the lowest session of one time first", "sessions"+list, listsOwned{sessions: lowestSessions}),
		lists("lists the oldest token first", "sign-in tokens"+list, listsOwned{
			tokens: slices.Reverse[[]driver.SignInToken],
		}),
		lists("lists the newest passkey first", "passkeys"+list, listsOwned{passkeys: slices.Reverse[[]driver.Passkey]}),
		lists("lists passkeys by id alone", "passkeys"+list, listsOwned{passkeys: passkeysByID}),
		lists("lists every session", "sessions"+list, listsOwned{unlimited: true}),
		lists("lists every token", "sign-in tokens"+list, listsOwned{unlimited: true}),
		lists("lists every passkey", "passkeys"+list, listsOwned{unlimited: true}),
		lists("lists all of the staff", "staff/list is in order", listsOwned{unlimited: true}),
		lists("lists the staff backwards", "staff/list is in order", listsOwned{staff: slices.Reverse[[]driver.StaffMember]}),
		lists(
			"lists memberships backwards", "members/memberships are in order and of their user",
			listsOwned{members: slices.Reverse[[]driver.Member]},
		),
		lists("lists every membership", "members/memberships are in order and of their user", listsOwned{unlimited: true}),
		lists(
			"lists memberships that ended", "members/memberships are in order and of their user",
			listsOwned{memberships: 1},
		),
		lists(
			"lists members of the company", "members/memberships are in order and of their user",
			listsOwned{memberships: 2},
		),
		writes(
			"takes a new session for the old one", "sessions"+replaced,
			func(tx driver.Tx) driver.Tx { return remaking{tx} },
		),
		writes(
			"takes a new token for the old one", "sign-in tokens"+replaced,
			func(tx driver.Tx) driver.Tx { return remaking{tx} },
		),
		writes(
			"takes a new passkey for the old one", "passkeys"+replaced,
			func(tx driver.Tx) driver.Tx { return remaking{tx} },
		),
		put("keeps the secret of a session", "sessions"+replaced, putsOwned{session: func(s, kept *driver.Session) {
			s.Digest = cmp.Or(kept.Digest, s.Digest)
		}}),
		put("keeps when a session was confirmed", "sessions"+replaced, putsOwned{session: func(s, kept *driver.Session) {
			if !kept.ConfirmedAt.IsZero() {
				s.ConfirmedAt = kept.ConfirmedAt
			}
		}}),
		put("counts no tries", "sign-in tokens"+replaced, putsOwned{token: func(t, kept *driver.SignInToken) {
			t.Tries = cmp.Or(kept.Tries, t.Tries)
		}}),
		put("keeps the use of a token", "sign-in tokens"+replaced, putsOwned{token: func(t, kept *driver.SignInToken) {
			if t.UsedAt.IsZero() {
				t.UsedAt = kept.UsedAt
			}
		}}),
		put("keeps the name of a passkey", "passkeys"+replaced, putsOwned{passkey: func(p, kept *driver.Passkey) {
			p.Name = cmp.Or(kept.Name, p.Name)
		}}),
		put("counts upwards alone", "passkeys"+replaced, putsOwned{passkey: func(p, kept *driver.Passkey) {
			p.Counter = max(p.Counter, kept.Counter)
		}}),
		removes("keeps sessions", "sessions"+removed, removesOwned{none: true}),
		removes("keeps tokens", "sign-in tokens"+removed, removesOwned{none: true}),
		removes("keeps passkeys", "passkeys"+removed, removesOwned{none: true}),
		removes("removes every session", "sessions"+removed, removesOwned{all: true}),
		removes("removes every token", "sign-in tokens"+removed, removesOwned{all: true}),
		removes("removes every passkey", "passkeys"+removed, removesOwned{all: true}),
		removes("removes sessions of anybody", "sessions"+removed, removesOwned{anybody: true}),
		removes("removes tokens of anybody", "sign-in tokens"+removed, removesOwned{anybody: true}),
		removes("removes passkeys of anybody", "passkeys"+removed, removesOwned{anybody: true}),
		removes("misses a session that was removed", "sessions"+removed, removesOwned{strict: true}),
		writes("keeps an earlier use", "sessions/the latest use is kept", func(tx driver.Tx) driver.Tx {
			return touching{tx, func(_, given time.Time) time.Time { return given }}
		}),
		writes("keeps the first use", "sessions/the latest use is kept", func(tx driver.Tx) driver.Tx {
			return touching{tx, func(kept, _ time.Time) time.Time { return kept }}
		}),
		{"keeps the first of several uses", "sessions/the latest of several uses at once is kept", earliestUses},
		writes("begins a session again", "sessions/one that has ended stays ended", func(tx driver.Tx) driver.Tx {
			return reviving{tx}
		}),
		writes("misses a session that has ended", "sessions/one that has ended stays ended", func(tx driver.Tx) driver.Tx {
			return missing{tx}
		}),
		put("takes any method", "sessions/are sound", putsOwned{session: func(s, _ *driver.Session) {
			s.Method = driver.SignInLink
		}}),
		put("takes any kind of token", "sign-in tokens/are sound", putsOwned{token: func(t, _ *driver.SignInToken) {
			t.Kind = driver.SignInLink
		}}),
		put("takes any number of tries", "sign-in tokens/are sound", putsOwned{token: func(t, _ *driver.SignInToken) {
			t.Tries = max(t.Tries, 0)
		}}),
		put("takes any counter", "passkeys/are sound", putsOwned{passkey: func(p, _ *driver.Passkey) {
			p.Counter = max(p.Counter, 0)
		}}),
		put("takes any role of staff", "staff/are sound", putsOwned{staff: func(m, _ *driver.StaffMember) {
			m.Role = driver.StaffAuditor
		}}),
		put(
			"makes 1970 of a token that was not used", "sign-in tokens/one that leads nowhere and was not used",
			putsOwned{token: func(t, _ *driver.SignInToken) { t.UsedAt = epochOf(t.UsedAt) }},
		),
		put(
			"makes 1970 of a passkey that was not used", "passkeys/one that was not used",
			putsOwned{passkey: func(p, _ *driver.Passkey) { p.LastUsedAt = epochOf(p.LastUsedAt) }},
		),
		put("loses the address of a session", "sessions"+trip, putsOwned{session: func(s, _ *driver.Session) {
			s.Address = ""
		}}),
		put("loses where a token leads", "sign-in tokens"+trip, putsOwned{token: func(t, _ *driver.SignInToken) {
			t.CompanyID = uuid.Nil
		}}),
		put("reads the credential of a passkey", "passkeys"+trip, putsOwned{passkey: func(p, _ *driver.Passkey) {
			p.Credential = "{}"
		}}),
		put("loses the names of staff", "staff"+trip, putsOwned{staff: func(m, _ *driver.StaffMember) { m.Name = "" }}),
		{"keeps a session of an Update that failed", "sessions/a failed Update keeps nothing", updating(keepsOnError)},
		put("loses milliseconds of a session", "values/times of every kind of record",
			putsOwned{session: func(s, _ *driver.Session) { s.SeenAt = s.SeenAt.Truncate(time.Second) }}),
		put("keeps the role of staff", "staff/roles change, and one who was removed is listed no more",
			putsOwned{staff: func(m, kept *driver.StaffMember) { m.Role = cmp.Or(kept.Role, m.Role) }}),
		found("takes a change of staff for joining", "staff/roles change, and one who was removed is listed no more",
			findsOwned{staff: func(all []driver.StaffMember) []driver.StaffMember {
				for i := range all {
					all[i].CreatedAt = all[i].UpdatedAt.Add(-time.Millisecond)
				}
				return all
			}}),
	}
}

func writes(name, fails string, tx func(driver.Tx) driver.Tx) broken {
	return broken{name, fails, writing(tx)}
}

func lists(name, fails string, tx listsOwned) broken {
	return broken{name, fails, reading(func(of driver.ReadTx) driver.ReadTx {
		tx.ReadTx = of
		return tx
	})}
}

func removes(name, fails string, tx removesOwned) broken {
	return broken{name, fails, writing(func(of driver.Tx) driver.Tx {
		tx.Tx = of
		return tx
	})}
}

func compactZero[R comparable](all []R) []R {
	return slices.DeleteFunc(all, func(record R) bool { return record == *new(R) })
}

func epochOf(at time.Time) time.Time {
	if at.IsZero() {
		return time.UnixMilli(0)
	}
	return at
}
