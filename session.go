package ticketing

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// SignInMethod is how a user signed in.
type SignInMethod = driver.SignInMethod

// The methods of signing in.
const (
	SignInPasskey = driver.SignInPasskey
	SignInLink    = driver.SignInLink // a link that somebody made, or that was mailed
	SignInCode    = driver.SignInCode // a code that was mailed
	SignInOIDC    = driver.SignInOIDC // a provider of OpenID Connect
)

// ConfirmFor is how long a sign-in or a confirmation counts as proof of who the user is.
const ConfirmFor = 10 * time.Minute

// Client describes the request that signs in. The user sees it in the list of their sessions. Control characters are
// removed.
type Client struct {
	Browser string // the User-Agent; shortened to 200 characters
	Address string // of the client; shortened to 64 characters
	// ProvedAt is when the user proved who they are, if that was before the sign-in, as with OpenID Connect. It becomes
	// the ConfirmedAt of the session. Defaults to the time of the sign-in. A later time counts as that time.
	ProvedAt time.Time
}

// Session is a signed-in browser.
type Session struct {
	ID     uuid.UUID    `json:"id"`
	UserID uuid.UUID    `json:"userId"`
	Method SignInMethod `json:"method"` // of the sign-in, and not of a later confirmation
	// Browser and Address are those of the sign-in.
	Browser   string `json:"browser"`
	Address   string `json:"address"`
	CreatedAt Time   `json:"createdAt"`
	// ConfirmedAt is when the user last proved who they are.
	ConfirmedAt Time `json:"confirmedAt"`
	// SeenAt is when the session was last used, to the minute.
	SeenAt Time `json:"seenAt"`
	// ExpiresAt is when the session ends if it is not used again.
	ExpiresAt Time `json:"expiresAt"`
}

// Confirmed reports whether the user proved who they are within [ConfirmFor] before now.
func (s Session) Confirmed(now time.Time) bool { return now.Before(s.ConfirmedAt.Add(ConfirmFor)) }

// SignedIn is a session that has just begun or was confirmed.
type SignedIn struct {
	Session Session
	// Secret is the value of the cookie: opaque text of at most 100 characters, each of them allowed in a cookie. The
	// store has only a digest of it, so it cannot be shown again.
	Secret string
	// EndsAt is when the session ends even if it is used. The cookie must live as long: the service ends an idle session
	// itself.
	EndsAt Time
	// CompanyID is where the link leads to. It is zero if it leads nowhere in particular.
	CompanyID uuid.UUID
}

// SessionLimits are how long sessions last. Every zero field means its default.
type SessionLimits struct {
	// Idle is how long a session lasts without being used. Defaults to 12 hours.
	Idle time.Duration
	// Life is how long a session lasts at most. Defaults to 7 days.
	Life time.Duration
	// StaffIdle is Idle for a user with a staff role. Defaults to 1 hour.
	StaffIdle time.Duration
	// StaffLife is Life for a user with a staff role. Defaults to 12 hours.
	StaffLife time.Duration
}

// maxSessions is how many sessions a user has at most: the oldest ends for one more.
const maxSessions = 100

const (
	maxBrowser = 200
	maxAddress = 64
)

// The refusals of sign-in. Each is the same for all causes, so that nobody learns which sessions, links and users
// exist.
var (
	errSignInRequired = &Error{Code: CodeSignInRequired, Message: "You are not signed in, or your session has ended."}
	errNoAccess       = &Error{
		Code: CodeSignInRequired, Message: "This account is a member of no company and has no role on the platform.",
	}
)

// check fails for a limit that is negative.
func (l SessionLimits) check() error {
	if min(l.Idle, l.Life, l.StaffIdle, l.StaffLife) < 0 {
		return errors.New("ticketing: a limit of Config.Sessions is negative")
	}
	return nil
}

// orDefaults returns the limits with the defaults for those that are zero.
func (l SessionLimits) orDefaults() SessionLimits {
	for _, limit := range []struct {
		of       *time.Duration
		standard time.Duration
	}{
		{&l.Idle, 12 * time.Hour}, {&l.Life, 7 * 24 * time.Hour}, {&l.StaffIdle, time.Hour}, {&l.StaffLife, 12 * time.Hour},
	} {
		if *limit.of == 0 {
			*limit.of = limit.standard
		}
	}
	return l
}

// expiry returns when a session ends if it is not used again. The limits of staff hold as soon as the user has a staff
// role, whenever the session began.
func (l SessionLimits) expiry(r driver.Session, staff bool) time.Time {
	idle := l.Idle
	if staff {
		idle = l.StaffIdle
	}
	at := r.SeenAt.Add(idle)
	if end := l.end(r, staff); end.Before(at) {
		at = end
	}
	return at
}

// end returns when a session ends however much it is used.
func (l SessionLimits) end(r driver.Session, staff bool) time.Time {
	if staff {
		return r.CreatedAt.Add(l.StaffLife)
	}
	return r.CreatedAt.Add(l.Life)
}

// signedIn returns a session with its new secret.
func (a Accounts) signedIn(r driver.Session, staff bool, secret accountSecret) SignedIn {
	return SignedIn{
		Session: a.showSession(r, staff), Secret: secret.format(sessionPrefix, r.UserID, r.ID),
		EndsAt: Time{Time: a.s.sessions.end(r, staff)},
	}
}

// showSession returns the session as its user sees it.
func (a Accounts) showSession(r driver.Session, staff bool) Session {
	return Session{
		ID: r.ID, UserID: r.UserID, Method: r.Method, Browser: r.Browser, Address: r.Address,
		CreatedAt: Time{Time: r.CreatedAt}, ConfirmedAt: Time{Time: r.ConfirmedAt}, SeenAt: Time{Time: r.SeenAt},
		ExpiresAt: Time{Time: a.s.sessions.expiry(r, staff)},
	}
}

// shortened returns a text of a client as the store keeps it: valid, on one line and of at most limit characters.
func shortened(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	for i := range s {
		if limit == 0 {
			return s[:i]
		}
		limit--
	}
	return s
}

// checkMethod accepts the methods of signing in.
func checkMethod(v *violations, method SignInMethod) {
	switch method {
	case SignInPasskey, SignInLink, SignInCode, SignInOIDC:
	default:
		v.add("method", "must be PASSKEY, LINK, CODE or OIDC")
	}
}

// freshSession is what a session needs beside its user. It is made before the transaction, which may run again.
type freshSession struct {
	id     uuid.UUID
	secret accountSecret
	method SignInMethod
	client Client
}

// newSession makes the id and the secret of a session.
func (a Accounts) newSession(method SignInMethod, client Client) (freshSession, error) {
	secret, err := newAccountSecret(a.s.rand)
	return freshSession{id: a.s.newID(), secret: secret, method: method, client: client}, err
}

// SignIn begins a session for a user whom the caller has verified: by an identity token, or by other means. With a
// passkey of this service call [Accounts.SignInByPasskey]. A user who is a member of no company and has no staff role
// is SIGN_IN_REQUIRED.
//
// A user has at most 100 sessions. One more ends the oldest.
func (a Accounts) SignIn(
	ctx context.Context, userID uuid.UUID, method SignInMethod, client Client,
) (SignedIn, error) {
	var v violations
	if checkMethod(&v, method); v.err() != nil {
		return SignedIn{}, v.err()
	}
	fresh, err := a.newSession(method, client)
	if err != nil {
		return SignedIn{}, err
	}
	at := a.s.now()
	var begun SignedIn
	err = a.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, platformAlone()); err != nil {
			return err
		}
		user, err := firstRecord(tx.Users(ctx, []uuid.UUID{userID}))
		if err != nil {
			return err
		}
		// A passkey may be one that the inviting company has added.
		if method != SignInPasskey {
			if err := a.as(user.ID).dropInvited(ctx, tx, at, user.ID, uuid.Nil); err != nil {
				return err
			}
		}
		begun, err = a.signIn(ctx, tx, at, user, fresh)
		return err
	})
	if err != nil {
		return SignedIn{}, err
	}
	return begun, nil
}

// signIn begins a session in a transaction that holds the gate of the zero company exclusively. It is errNoAccess for a
// user who may not sign in.
func (a Accounts) signIn(
	ctx context.Context, tx driver.Tx, at time.Time, user driver.User, fresh freshSession,
) (SignedIn, error) {
	held, err := findAccess(ctx, tx, user)
	if err != nil {
		return SignedIn{}, err
	}
	if !held.allowed() {
		return SignedIn{}, errNoAccess
	}
	if err := a.trimSessions(ctx, tx, at, held); err != nil {
		return SignedIn{}, err
	}
	if err := markSignedIn(ctx, tx, at, user.ID, fresh); err != nil {
		return SignedIn{}, err
	}
	session := driver.Session{
		UserID: user.ID, ID: fresh.id, Digest: fresh.secret.digest(), Method: fresh.method,
		Browser: shortened(fresh.client.Browser, maxBrowser), Address: shortened(fresh.client.Address, maxAddress),
		CreatedAt: at, ConfirmedAt: at, SeenAt: at,
	}
	if proved := fresh.client.ProvedAt; !proved.IsZero() && proved.Before(at) {
		session.ConfirmedAt = proved.UTC().Truncate(time.Millisecond)
	}
	if err := tx.PutSession(ctx, session); err != nil {
		return SignedIn{}, err
	}
	err = a.as(user.ID).audit(ctx, tx, at, "sign_in", uuid.Nil, about("session", fresh.id),
		changes{after: map[string]any{"method": fresh.method}})
	return a.signedIn(session, held.staff, fresh.secret), err
}

// trimSessions deletes a user's sessions that have ended by themselves, and the oldest if there is no place for another
// one.
func (a Accounts) trimSessions(ctx context.Context, tx driver.Tx, at time.Time, held access) error {
	sessions, err := tx.ListSessions(ctx, held.user.ID, 2*maxSessions)
	if err != nil {
		return err
	}
	var over []uuid.UUID
	for i, session := range sessions {
		if i >= maxSessions-1 || !at.Before(a.s.sessions.expiry(session, held.staff)) {
			over = append(over, session.ID)
		}
	}
	if len(over) == 0 {
		return nil
	}
	return tx.DeleteSessions(ctx, held.user.ID, over)
}

// findSession returns the session of a secret, and whether its user is staff. It is SIGN_IN_REQUIRED where the session
// has ended or the secret is not its own.
func (a Accounts) findSession(
	ctx context.Context, tx driver.ReadTx, at time.Time, ref driver.SessionRef, secret accountSecret,
) (driver.Session, bool, error) {
	session, err := readSession(ctx, tx, ref, secret)
	if err != nil {
		return driver.Session{}, false, err
	}
	staff, err := firstRecord(tx.StaffMembers(ctx, []uuid.UUID{ref.UserID}))
	if err == nil {
		err = a.checkSession(session, staff, at)
	}
	if err != nil {
		return driver.Session{}, false, err
	}
	return session, staff.Role != "", nil
}

// readSession returns the session of a secret, which may have ended by itself: see checkSession.
func readSession(
	ctx context.Context, tx driver.ReadTx, ref driver.SessionRef, secret accountSecret,
) (driver.Session, error) {
	session, err := firstRecord(tx.Sessions(ctx, []driver.SessionRef{ref}))
	if err == nil && (session.ID == uuid.Nil || !secret.matches(session.Digest)) {
		err = errSignInRequired
	}
	if err != nil {
		return driver.Session{}, err
	}
	return session, nil
}

// checkSession returns SIGN_IN_REQUIRED for a session that has ended by itself.
func (a Accounts) checkSession(session driver.Session, staff driver.StaffMember, at time.Time) error {
	if !at.Before(a.s.sessions.expiry(session, staff.Role != "")) {
		return errSignInRequired
	}
	return nil
}

// Session returns the session of a secret, and SIGN_IN_REQUIRED for a session that has ended or never existed. Every
// call reads the store, so a session that another process ended is refused from that commit on.
//
// It records the time of this use, to the minute. A failure to record it is only logged.
func (a Accounts) Session(ctx context.Context, secret string) (Session, error) {
	userID, id, given, ok := parseAccountSecret(sessionPrefix, secret)
	if !ok {
		return Session{}, errSignInRequired
	}
	ref := driver.SessionRef{UserID: userID, ID: id}
	at := a.s.now()
	var session driver.Session
	var staff bool
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		session, staff, err = a.findSession(ctx, tx, at, ref, given)
		return err
	})
	if err != nil {
		return Session{}, err
	}
	return a.showSession(a.use(ctx, session, at), staff), nil
}

// use records a use of a session, to the minute, and returns the session with it.
func (a Accounts) use(ctx context.Context, session driver.Session, at time.Time) driver.Session {
	ref := driver.SessionRef{UserID: session.UserID, ID: session.ID}
	// A bound service writes nothing into the host's transaction that the host did not ask for.
	if !a.s.bound && at.Sub(session.SeenAt) >= lastUseInterval && a.touch(ctx, ref, at) {
		session.SeenAt = at
	}
	return session
}

// touch keeps when a session was last used, unless another call does, and reports whether it did. It waits no longer
// than lastUsePatience: a page must not become slow with a busy database.
func (a Accounts) touch(ctx context.Context, ref driver.SessionRef, at time.Time) (kept bool) {
	if !a.s.sessionUse.begin(ref.ID, at) {
		return false
	}
	defer func() { a.s.sessionUse.end(ref.ID, at, kept) }()
	ctx, cancel := context.WithTimeout(ctx, lastUsePatience)
	defer cancel()
	err := a.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{uuid.Nil}}); err != nil {
			return err
		}
		return tx.TouchSession(ctx, ref, at)
	})
	if kept = err == nil; !kept {
		a.s.log.LogAttrs(ctx, slog.LevelWarn, "the last use of a session was not recorded",
			slog.String("sessionId", ref.ID.String()), slog.Any("error", err))
	}
	return kept
}

// Confirm records that the user of a session has just proved who they are again, and gives the session a new secret.
// The old secret stops working. Confirm does not extend the life of the session. It returns SIGN_IN_REQUIRED for a
// session that has ended.
func (a Accounts) Confirm(ctx context.Context, secret string, method SignInMethod) (SignedIn, error) {
	var v violations
	if checkMethod(&v, method); v.err() != nil {
		return SignedIn{}, v.err()
	}
	userID, id, given, ok := parseAccountSecret(sessionPrefix, secret)
	if !ok {
		return SignedIn{}, errSignInRequired
	}
	next, err := newAccountSecret(a.s.rand)
	if err != nil {
		return SignedIn{}, err
	}
	at := a.s.now()
	var confirmed SignedIn
	err = a.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, platformAlone()); err != nil {
			return err
		}
		session, staff, err := a.findSession(ctx, tx, at, driver.SessionRef{UserID: userID, ID: id}, given)
		if err != nil {
			return err
		}
		session.Digest = next.digest()
		session.ConfirmedAt, session.SeenAt = notBefore(at, session.ConfirmedAt), notBefore(at, session.SeenAt)
		if err := tx.PutSession(ctx, session); err != nil {
			return err
		}
		confirmed = a.signedIn(session, staff, next)
		return a.as(userID).audit(ctx, tx, at, "sign_in.confirm", uuid.Nil, about("session", id),
			changes{after: map[string]any{"method": method}})
	})
	if err != nil {
		return SignedIn{}, err
	}
	return confirmed, nil
}

// LastSeen returns the time at which each user last used a session, in the order of the ids, and nil for a user without
// a session. An expired session counts until the user signs in again.
func (a Accounts) LastSeen(ctx context.Context, userIDs []uuid.UUID) ([]*Time, error) {
	seen := make([]*Time, len(userIDs))
	if len(userIDs) == 0 {
		return seen, nil
	}
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		times, err := tx.LastSeen(ctx, userIDs)
		for i, at := range times {
			seen[i] = optionalTime(at)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return seen, nil
}

// ListSessions returns a user's sessions that have not ended, newest first.
func (a Accounts) ListSessions(ctx context.Context, userID uuid.UUID) ([]Session, error) {
	var sessions []Session
	at := a.s.now()
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		records, err := tx.ListSessions(ctx, userID, maxSessions)
		if err != nil {
			return err
		}
		staff, err := firstRecord(tx.StaffMembers(ctx, []uuid.UUID{userID}))
		sessions = make([]Session, 0, len(records))
		for _, record := range records {
			if shown := a.showSession(record, staff.Role != ""); at.Before(shown.ExpiresAt.Time) {
				sessions = append(sessions, shown)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return sessions, nil
}
