package storetest_test

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// findsOwned changes what is found by references. With anybody it finds the other user's record where there is none.
type findsOwned struct {
	driver.ReadTx

	anybody  bool
	sessions func([]driver.Session) []driver.Session
	tokens   func([]driver.SignInToken) []driver.SignInToken
	passkeys func([]driver.Passkey) []driver.Passkey
	staff    func([]driver.StaffMember) []driver.StaffMember
	seen     func([]time.Time) []time.Time
	newest   bool // users were last seen in their newest session
}

func (f findsOwned) LastSeen(ctx context.Context, users []uuid.UUID) ([]time.Time, error) {
	all, err := foundOf(ctx, users, false, f.ReadTx.LastSeen, f.seen, nil)
	for i, user := range users {
		if err != nil || !f.newest {
			break
		}
		var newest []driver.Session
		if newest, err = f.ListSessions(ctx, user, 1); len(newest) > 0 {
			all[i] = newest[0].SeenAt
		}
	}
	return all, err
}

func (f findsOwned) Sessions(ctx context.Context, refs []driver.SessionRef) ([]driver.Session, error) {
	return foundOf(ctx, refs, f.anybody, f.ReadTx.Sessions, f.sessions, func(r *driver.SessionRef) *uuid.UUID {
		return &r.UserID
	})
}

func (f findsOwned) SignInTokens(ctx context.Context, refs []driver.SignInTokenRef) ([]driver.SignInToken, error) {
	return foundOf(ctx, refs, f.anybody, f.ReadTx.SignInTokens, f.tokens, func(r *driver.SignInTokenRef) *uuid.UUID {
		return &r.UserID
	})
}

func (f findsOwned) Passkeys(ctx context.Context, refs []driver.PasskeyRef) ([]driver.Passkey, error) {
	return foundOf(ctx, refs, f.anybody, f.ReadTx.Passkeys, f.passkeys, func(r *driver.PasskeyRef) *uuid.UUID {
		return &r.UserID
	})
}

func (f findsOwned) StaffMembers(ctx context.Context, users []uuid.UUID) ([]driver.StaffMember, error) {
	return foundOf(ctx, users, false, f.ReadTx.StaffMembers, f.staff, nil)
}

func foundOf[K any, R comparable](
	ctx context.Context, refs []K, anybody bool, find func(context.Context, []K) ([]R, error), alter func([]R) []R,
	user func(*K) *uuid.UUID,
) ([]R, error) {
	all, err := find(ctx, refs)
	if err != nil {
		return nil, err
	}
	for i, ref := range refs {
		if anybody && all[i] == *new(R) {
			*user(&ref) = userOf(20)
			others, err := find(ctx, []K{ref})
			if err != nil {
				return nil, err
			}
			all[i] = others[0]
		}
	}
	if alter != nil {
		all = alter(all)
	}
	return all, nil
}

// listsOwned changes the order of lists, or their limit. memberships is what a list of memberships also holds: 1 for
// one that ended, 2 for those of another user.
type listsOwned struct {
	driver.ReadTx

	unlimited   bool
	memberships int
	sessions    func([]driver.Session)
	tokens      func([]driver.SignInToken)
	passkeys    func([]driver.Passkey)
	staff       func([]driver.StaffMember)
	members     func([]driver.Member)
}

func listOf[R any](
	unlimited bool, alter func([]R), limit int, list func(limit int) ([]R, error),
) ([]R, error) {
	all, err := list(99)
	if alter != nil {
		alter(all)
	}
	if !unlimited {
		all = all[:min(limit, len(all))]
	}
	return all, err
}

func (l listsOwned) ListSessions(ctx context.Context, user uuid.UUID, limit int) ([]driver.Session, error) {
	return listOf(l.unlimited, l.sessions, limit, func(limit int) ([]driver.Session, error) {
		return l.ReadTx.ListSessions(ctx, user, limit)
	})
}

func (l listsOwned) ListSignInTokens(ctx context.Context, user uuid.UUID, limit int) ([]driver.SignInToken, error) {
	return listOf(l.unlimited, l.tokens, limit, func(limit int) ([]driver.SignInToken, error) {
		return l.ReadTx.ListSignInTokens(ctx, user, limit)
	})
}

func (l listsOwned) ListPasskeys(ctx context.Context, user uuid.UUID, limit int) ([]driver.Passkey, error) {
	return listOf(l.unlimited, l.passkeys, limit, func(limit int) ([]driver.Passkey, error) {
		return l.ReadTx.ListPasskeys(ctx, user, limit)
	})
}

func (l listsOwned) ListStaff(ctx context.Context, limit int) ([]driver.StaffMember, error) {
	return listOf(l.unlimited, l.staff, limit, func(limit int) ([]driver.StaffMember, error) {
		return l.ReadTx.ListStaff(ctx, limit)
	})
}

func (l listsOwned) ListMemberships(ctx context.Context, user uuid.UUID, limit int) ([]driver.Member, error) {
	return listOf(l.unlimited, l.members, limit, func(limit int) ([]driver.Member, error) {
		all, err := l.ReadTx.ListMemberships(ctx, user, limit)
		if err != nil {
			return nil, err
		}
		var more []driver.Member
		switch l.memberships {
		case 1: // Of the first company of the checks.
			more, err = l.Members(ctx, []driver.MemberRef{{CompanyID: userOf(1), UserID: user}})
		case 2:
			more, err = l.ReadTx.ListMemberships(ctx, userOf(11), limit)
		}
		return append(more, all...), err
	})
}

func oldestSessions(all []driver.Session) { slices.Reverse(all) }

func lowestSessions(all []driver.Session) {
	slices.SortFunc(all, func(a, b driver.Session) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
}

func passkeysByID(all []driver.Passkey) {
	slices.SortFunc(all, func(a, b driver.Passkey) int { return cmp.Compare(a.ID, b.ID) })
}

// putsOwned changes the record that is put, by what is kept.
type putsOwned struct {
	driver.Tx

	session func(s, kept *driver.Session)
	token   func(t, kept *driver.SignInToken)
	passkey func(p, kept *driver.Passkey)
	staff   func(m, kept *driver.StaffMember)
}

func (p putsOwned) PutSession(ctx context.Context, session driver.Session) error {
	if p.session != nil {
		kept, err := p.Sessions(ctx, []driver.SessionRef{{UserID: session.UserID, ID: session.ID}})
		if err != nil {
			return err
		}
		p.session(&session, &kept[0])
	}
	return p.Tx.PutSession(ctx, session)
}

func (p putsOwned) PutSignInToken(ctx context.Context, token driver.SignInToken) error {
	if p.token != nil {
		kept, err := p.SignInTokens(ctx, []driver.SignInTokenRef{{UserID: token.UserID, ID: token.ID}})
		if err != nil {
			return err
		}
		p.token(&token, &kept[0])
	}
	return p.Tx.PutSignInToken(ctx, token)
}

func (p putsOwned) PutPasskey(ctx context.Context, passkey driver.Passkey) error {
	if p.passkey != nil {
		kept, err := p.Passkeys(ctx, []driver.PasskeyRef{{UserID: passkey.UserID, ID: passkey.ID}})
		if err != nil {
			return err
		}
		p.passkey(&passkey, &kept[0])
	}
	return p.Tx.PutPasskey(ctx, passkey)
}

func (p putsOwned) PutStaffMember(ctx context.Context, member driver.StaffMember) error {
	if p.staff != nil {
		kept, err := p.StaffMembers(ctx, []uuid.UUID{member.UserID})
		if err != nil {
			return err
		}
		p.staff(&member, &kept[0])
	}
	return p.Tx.PutStaffMember(ctx, member)
}

// remaking removes the existing record before it puts one.
type remaking struct{ driver.Tx }

func (r remaking) PutSession(ctx context.Context, session driver.Session) error {
	if err := r.DeleteSessions(ctx, session.UserID, []uuid.UUID{session.ID}); err != nil {
		return err
	}
	return r.Tx.PutSession(ctx, session)
}

func (r remaking) PutSignInToken(ctx context.Context, token driver.SignInToken) error {
	if err := r.DeleteSignInTokens(ctx, token.UserID, []uuid.UUID{token.ID}); err != nil {
		return err
	}
	return r.Tx.PutSignInToken(ctx, token)
}

func (r remaking) PutPasskey(ctx context.Context, passkey driver.Passkey) error {
	if err := r.DeletePasskeys(ctx, passkey.UserID, []string{passkey.ID}); err != nil {
		return err
	}
	return r.Tx.PutPasskey(ctx, passkey)
}

// removesOwned removes nothing, all records of the user, those of both users, or only existing ones.
type removesOwned struct {
	driver.Tx

	none, all, anybody, strict bool
}

func (r removesOwned) DeleteSessions(ctx context.Context, user uuid.UUID, ids []uuid.UUID) error {
	kept, err := r.ListSessions(ctx, user, 99)
	if err != nil {
		return err
	}
	var there []uuid.UUID
	for _, session := range kept {
		there = append(there, session.ID)
	}
	return removed(ctx, r, user, ids, there, r.Tx.DeleteSessions)
}

func (r removesOwned) DeleteSignInTokens(ctx context.Context, user uuid.UUID, ids []uuid.UUID) error {
	kept, err := r.ListSignInTokens(ctx, user, 99)
	if err != nil {
		return err
	}
	var there []uuid.UUID
	for _, token := range kept {
		there = append(there, token.ID)
	}
	return removed(ctx, r, user, ids, there, r.Tx.DeleteSignInTokens)
}

func (r removesOwned) DeletePasskeys(ctx context.Context, user uuid.UUID, ids []string) error {
	kept, err := r.ListPasskeys(ctx, user, 99)
	if err != nil {
		return err
	}
	var there []string
	for _, passkey := range kept {
		there = append(there, passkey.ID)
	}
	return removed(ctx, r, user, ids, there, r.Tx.DeletePasskeys)
}

func removed[I comparable](
	ctx context.Context, r removesOwned, user uuid.UUID, ids, there []I,
	remove func(context.Context, uuid.UUID, []I) error,
) error {
	switch {
	case r.none:
		return nil
	case r.all:
		return remove(ctx, user, there)
	case r.anybody:
		for _, of := range []uuid.UUID{userOf(10), userOf(20)} {
			if err := remove(ctx, of, ids); err != nil {
				return err
			}
		}
		return nil
	case r.strict && slices.ContainsFunc(ids, func(id I) bool { return !slices.Contains(there, id) }):
		return driver.ErrNotFound
	default:
		return remove(ctx, user, ids)
	}
}

// touching keeps another time of the last use.
type touching struct {
	driver.Tx

	seen func(kept, given time.Time) time.Time
}

func (t touching) TouchSession(ctx context.Context, ref driver.SessionRef, seenAt time.Time) error {
	kept, err := t.Sessions(ctx, []driver.SessionRef{ref})
	if err != nil || kept[0].UserID == uuid.Nil {
		return err
	}
	kept[0].SeenAt = t.seen(kept[0].SeenAt, seenAt)
	return t.PutSession(ctx, kept[0])
}

// earliestUses keeps the earliest of the given uses.
func earliestUses(s driver.Store) driver.Store {
	var least time.Time
	return writing(func(tx driver.Tx) driver.Tx {
		return touching{tx, func(_, given time.Time) time.Time {
			if least.IsZero() || given.Before(least) {
				least = given
			}
			return least
		}}
	})(s)
}

// reviving puts a missing session when it is touched.
type reviving struct{ driver.Tx }

func (r reviving) TouchSession(ctx context.Context, ref driver.SessionRef, seenAt time.Time) error {
	kept, err := r.Sessions(ctx, []driver.SessionRef{ref})
	if err != nil {
		return err
	}
	session := kept[0]
	session.UserID, session.ID, session.SeenAt = ref.UserID, ref.ID, seenAt
	session.Method = cmp.Or(session.Method, driver.SignInLink)
	return r.PutSession(ctx, session)
}

// missing returns an error for a missing session when it is touched.
type missing struct{ driver.Tx }

func (m missing) TouchSession(ctx context.Context, ref driver.SessionRef, seenAt time.Time) error {
	kept, err := m.Sessions(ctx, []driver.SessionRef{ref})
	if err == nil && kept[0].UserID == uuid.Nil {
		err = driver.ErrNotFound
	}
	if err != nil {
		return err
	}
	return m.Tx.TouchSession(ctx, ref, seenAt)
}
