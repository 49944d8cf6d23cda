package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// signIns holds what people sign in with, and the staff by the ids of their users.
type signIns struct {
	sessions *ofUsers[uuid.UUID, driver.Session]
	tokens   *ofUsers[uuid.UUID, driver.SignInToken]
	passkeys *ofUsers[string, driver.Passkey]
	staff    map[uuid.UUID]driver.StaffMember
	listed   *index[uuid.UUID] // without removed staff
}

func newSignIns() signIns {
	newest := func(a, b made[uuid.UUID]) int { return cmp.Or(b.at.Compare(a.at), compareIDs(b.id, a.id)) }
	oldest := func(a, b made[string]) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.id, b.id)) }
	return signIns{
		sessions: newOfUsers(newest, func(session *driver.Session) *time.Time { return &session.CreatedAt }),
		tokens:   newOfUsers(newest, func(token *driver.SignInToken) *time.Time { return &token.CreatedAt }),
		passkeys: newOfUsers(oldest, func(passkey *driver.Passkey) *time.Time { return &passkey.CreatedAt }),
		staff:    make(map[uuid.UUID]driver.StaffMember),
		listed:   newIDs(),
	}
}

// ofUsers holds the records of users, any number for each. They are listed by time of creation and id.
type ofUsers[I comparable, R any] struct {
	kept      map[owned[I]]R
	listed    map[uuid.UUID]*index[made[I]]
	compare   func(a, b made[I]) int
	createdAt func(*R) *time.Time
}

// owned identifies a record of a user.
type owned[I comparable] struct {
	user uuid.UUID
	id   I
}

// made is the time of creation of a record, which is its place in the list of its user.
type made[I comparable] struct {
	at time.Time
	id I
}

func newOfUsers[I comparable, R any](
	compare func(a, b made[I]) int, createdAt func(*R) *time.Time,
) *ofUsers[I, R] {
	return &ofUsers[I, R]{
		kept: make(map[owned[I]]R), listed: make(map[uuid.UUID]*index[made[I]]), compare: compare, createdAt: createdAt,
	}
}

func (o *ofUsers[I, R]) find(user uuid.UUID, id I) R { return o.kept[owned[I]{user, id}] }

func (o *ofUsers[I, R]) list(user uuid.UUID, limit int) []R {
	listed, ok := o.listed[user]
	if !ok {
		return nil
	}
	return each(listed.first(limit), func(p made[I]) R { return o.find(user, p.id) })
}

// put creates or replaces a record. The time of creation of an existing one stays.
func (o *ofUsers[I, R]) put(u *undo, user uuid.UUID, id I, record R) {
	ref := owned[I]{user, id}
	at := o.createdAt(&record)
	*at = moment(*at)
	if old, known := o.kept[ref]; known {
		*at = *o.createdAt(&old)
	} else {
		need(o.listed, user, func() *index[made[I]] { return newIndex(o.compare) }).add(u, made[I]{*at, id})
	}
	put(u, o.kept, ref, record)
}

// drop removes those of a user's records that exist.
func (o *ofUsers[I, R]) drop(u *undo, user uuid.UUID, ids []I) {
	for _, id := range ids {
		ref := owned[I]{user, id}
		if record, kept := o.kept[ref]; kept {
			take(u, o.kept, ref)
			o.listed[user].drop(u, made[I]{*o.createdAt(&record), id})
		}
	}
}

func (r reading) Sessions(ctx context.Context, refs []driver.SessionRef) ([]driver.Session, error) {
	return ask(ctx, r, func(s *state) []driver.Session {
		return each(refs, func(ref driver.SessionRef) driver.Session {
			return s.signIns.sessions.find(ref.UserID, ref.ID)
		})
	})
}

func (r reading) ListSessions(ctx context.Context, userID uuid.UUID, limit int) ([]driver.Session, error) {
	return ask(ctx, r, func(s *state) []driver.Session { return s.signIns.sessions.list(userID, limit) })
}

func (r reading) LastSeen(ctx context.Context, userIDs []uuid.UUID) ([]time.Time, error) {
	return ask(ctx, r, func(s *state) []time.Time {
		return each(userIDs, func(userID uuid.UUID) (last time.Time) {
			for _, session := range s.signIns.sessions.list(userID, math.MaxInt) {
				if session.SeenAt.After(last) {
					last = session.SeenAt
				}
			}
			return last
		})
	})
}

func (r reading) SignInTokens(ctx context.Context, refs []driver.SignInTokenRef) ([]driver.SignInToken, error) {
	return ask(ctx, r, func(s *state) []driver.SignInToken {
		return each(refs, func(ref driver.SignInTokenRef) driver.SignInToken {
			return s.signIns.tokens.find(ref.UserID, ref.ID)
		})
	})
}

func (r reading) ListSignInTokens(ctx context.Context, userID uuid.UUID, limit int) ([]driver.SignInToken, error) {
	return ask(ctx, r, func(s *state) []driver.SignInToken { return s.signIns.tokens.list(userID, limit) })
}

func (r reading) Passkeys(ctx context.Context, refs []driver.PasskeyRef) ([]driver.Passkey, error) {
	return ask(ctx, r, func(s *state) []driver.Passkey {
		return each(refs, func(ref driver.PasskeyRef) driver.Passkey {
			return s.signIns.passkeys.find(ref.UserID, ref.ID)
		})
	})
}

func (r reading) ListPasskeys(ctx context.Context, userID uuid.UUID, limit int) ([]driver.Passkey, error) {
	return ask(ctx, r, func(s *state) []driver.Passkey { return s.signIns.passkeys.list(userID, limit) })
}

func (r reading) StaffMembers(ctx context.Context, userIDs []uuid.UUID) ([]driver.StaffMember, error) {
	return ask(ctx, r, func(s *state) []driver.StaffMember {
		return each(userIDs, func(id uuid.UUID) driver.StaffMember { return s.signIns.staff[id] })
	})
}

func (r reading) ListStaff(ctx context.Context, limit int) ([]driver.StaffMember, error) {
	return ask(ctx, r, func(s *state) []driver.StaffMember {
		return each(s.signIns.listed.first(limit), func(id uuid.UUID) driver.StaffMember { return s.signIns.staff[id] })
	})
}

func (tx *updating) PutSession(ctx context.Context, session driver.Session) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		if err := check(isSignInMethod(session.Method), "sessions_method_check"); err != nil {
			return err
		}
		session.ConfirmedAt, session.SeenAt = moment(session.ConfirmedAt), moment(session.SeenAt)
		s.signIns.sessions.put(u, session.UserID, session.ID, session)
		return nil
	})
}

func isSignInMethod(method driver.SignInMethod) bool {
	switch method {
	case driver.SignInPasskey, driver.SignInLink, driver.SignInCode, driver.SignInOIDC:
		return true
	default:
		return false
	}
}

func (tx *updating) TouchSession(ctx context.Context, ref driver.SessionRef, seenAt time.Time) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		key := owned[uuid.UUID]{ref.UserID, ref.ID}
		session, ok := s.signIns.sessions.kept[key]
		if seen := moment(seenAt); ok && seen.After(session.SeenAt) {
			session.SeenAt = seen
			put(u, s.signIns.sessions.kept, key, session)
		}
		return nil
	})
}

func (tx *updating) DeleteSessions(ctx context.Context, userID uuid.UUID, ids []uuid.UUID) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		s.signIns.sessions.drop(u, userID, ids)
		return nil
	})
}

func (tx *updating) PutSignInToken(ctx context.Context, token driver.SignInToken) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		known := []driver.SignInMethod{driver.SignInLink, driver.SignInInvitation, driver.SignInCode}
		if err := check(slices.Contains(known, token.Kind), "sign_in_tokens_kind_check"); err != nil {
			return err
		}
		if err := check(token.Tries >= 0, "sign_in_tokens_tries_check"); err != nil {
			return err
		}
		token.ExpiresAt, token.UsedAt = moment(token.ExpiresAt), moment(token.UsedAt)
		s.signIns.tokens.put(u, token.UserID, token.ID, token)
		return nil
	})
}

func (tx *updating) DeleteSignInTokens(ctx context.Context, userID uuid.UUID, ids []uuid.UUID) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		s.signIns.tokens.drop(u, userID, ids)
		return nil
	})
}

func (tx *updating) PutPasskey(ctx context.Context, passkey driver.Passkey) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		if err := check(passkey.Counter >= 0, "passkeys_counter_check"); err != nil {
			return err
		}
		passkey.LastUsedAt = moment(passkey.LastUsedAt)
		s.signIns.passkeys.put(u, passkey.UserID, passkey.ID, passkey)
		return nil
	})
}

func (tx *updating) DeletePasskeys(ctx context.Context, userID uuid.UUID, ids []string) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		s.signIns.passkeys.drop(u, userID, ids)
		return nil
	})
}

func (tx *updating) PutStaffMember(ctx context.Context, member driver.StaffMember) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		if err := check(member.Role == "" || isStaffRole(member.Role), "staff_role_check"); err != nil {
			return err
		}
		member.CreatedAt, member.UpdatedAt = moment(member.CreatedAt), moment(member.UpdatedAt)
		old, known := s.signIns.staff[member.UserID]
		if known {
			member.CreatedAt = old.CreatedAt
		}
		put(u, s.signIns.staff, member.UserID, member)
		switch {
		case old.Role == "" && member.Role != "":
			s.signIns.listed.add(u, member.UserID)
		case old.Role != "" && member.Role == "":
			s.signIns.listed.drop(u, member.UserID)
		}
		return nil
	})
}

func isStaffRole(role driver.StaffRole) bool {
	switch role {
	case driver.StaffAdministrator, driver.StaffFinance, driver.StaffOnboarding, driver.StaffSupport,
		driver.StaffAuditor:
		return true
	default:
		return false
	}
}
