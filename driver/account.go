package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// SignInMethod is how a user signed in.
type SignInMethod string

// The methods of signing in.
const (
	// SignInPasskey is a passkey of the user.
	SignInPasskey SignInMethod = "PASSKEY"
	// SignInLink is a link that was sent to the user.
	SignInLink SignInMethod = "LINK"
	// SignInCode is a code that was mailed to the user.
	SignInCode SignInMethod = "CODE"
	// SignInOIDC is an identity provider that speaks OpenID Connect.
	SignInOIDC SignInMethod = "OIDC"
	// SignInInvitation is the kind of a token whose link was given to a company. A session never has this method.
	SignInInvitation SignInMethod = "INVITATION"
)

// Session is a signed-in browser of a user as a store keeps it. It is removed when it ends. The gate of the zero
// company guards it: putting and removing a session hold that gate exclusively, and touching one holds it shared.
type Session struct {
	UserID      uuid.UUID
	ID          uuid.UUID // unique among the user's sessions
	Digest      string    // of its secret; the secret itself is not kept
	Method      SignInMethod
	Browser     string // the name that the browser sends
	Address     string // of the client
	CreatedAt   time.Time
	ConfirmedAt time.Time // when the user last proved who they are
	SeenAt      time.Time // when it was last used
}

// SessionRef names a session.
type SessionRef struct{ UserID, ID uuid.UUID }

// SignInToken is a link or a code with which a user signs in once, as a store keeps it. It is guarded as a [Session]
// is. It stays for some time after it expired, so that a second use is recognised.
type SignInToken struct {
	UserID    uuid.UUID
	ID        uuid.UUID    // unique among the user's tokens
	Kind      SignInMethod // SignInLink, SignInInvitation or SignInCode
	Digest    string       // of the link's secret or of the code
	Browser   string       // digest of the secret of the browser that asked for it; empty for a link
	CompanyID uuid.UUID    // the company that it leads to; zero: no particular one
	Tries     int          // wrong codes so far
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero: unused
}

// SignInTokenRef names a sign-in token.
type SignInTokenRef struct{ UserID, ID uuid.UUID }

// Passkey is a public key of a user's device as a store keeps it. It is guarded as a [Session] is.
type Passkey struct {
	UserID     uuid.UUID
	ID         string // the id of the credential; unique among the user's passkeys
	Name       string // the name that the user gave it
	Credential string // JSON that no store reads
	Counter    int64  // the number of uses that the device reports
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: not used yet
}

// PasskeyRef names a passkey.
type PasskeyRef struct {
	UserID uuid.UUID
	ID     string
}

// StaffRole is what a user is in the tenant that runs the platform. It stands for a set of permissions, which
// ticketing.PermissionRules lists.
type StaffRole string

// The roles of staff.
const (
	// StaffAdministrator holds every permission of the tenant.
	StaffAdministrator StaffRole = "ADMINISTRATOR"
	// StaffFinance handles commission, settlements and refunds.
	StaffFinance StaffRole = "FINANCE"
	// StaffOnboarding handles companies, their verification and their members.
	StaffOnboarding StaffRole = "ONBOARDING"
	// StaffSupport handles orders, mails and webhooks.
	StaffSupport StaffRole = "SUPPORT"
	// StaffAuditor reads everything and changes nothing.
	StaffAuditor StaffRole = "AUDITOR"
)

// StaffMember is a user who works for the tenant, as a store keeps them. It changes only under the gate of the zero
// company, held exclusively. A removed member stays as a record without a role, so that the first time of creation is
// kept if they return.
type StaffMember struct {
	UserID    uuid.UUID
	Name      string
	Role      StaffRole // empty: they were removed
	CreatedAt time.Time
	UpdatedAt time.Time
}

// AccountReader finds what people sign in with.
type AccountReader interface {
	SessionReader
	SignInTokenReader
	PasskeyReader
	StaffReader
}

// AccountWriter keeps what people sign in with.
type AccountWriter interface {
	SessionWriter
	SignInTokenWriter
	PasskeyWriter
	StaffWriter
}

// SessionReader finds sessions.
type SessionReader interface {
	// Sessions finds sessions.
	Sessions(ctx context.Context, refs []SessionRef) ([]Session, error)
	// ListSessions returns a user's sessions in the reverse order of time of creation and id.
	ListSessions(ctx context.Context, userID uuid.UUID, limit int) ([]Session, error)
	// LastSeen returns when each user last used a session that is kept, or the zero time for a user without one.
	LastSeen(ctx context.Context, userIDs []uuid.UUID) ([]time.Time, error)
}

// SessionWriter keeps sessions.
type SessionWriter interface {
	// PutSession creates or replaces a session. The time of creation of an existing one stays.
	PutSession(ctx context.Context, session Session) error
	// TouchSession keeps the time of a session's last use, unless a later time is kept. To touch a session that has ended
	// changes nothing and is no error.
	TouchSession(ctx context.Context, ref SessionRef, seenAt time.Time) error
	// DeleteSessions removes those of the user's sessions that still exist.
	DeleteSessions(ctx context.Context, userID uuid.UUID, ids []uuid.UUID) error
}

// SignInTokenReader finds sign-in tokens.
type SignInTokenReader interface {
	// SignInTokens finds sign-in tokens.
	SignInTokens(ctx context.Context, refs []SignInTokenRef) ([]SignInToken, error)
	// ListSignInTokens returns a user's sign-in tokens in the reverse order of time of creation and id.
	ListSignInTokens(ctx context.Context, userID uuid.UUID, limit int) ([]SignInToken, error)
}

// SignInTokenWriter keeps sign-in tokens.
type SignInTokenWriter interface {
	// PutSignInToken creates or replaces a sign-in token. The time of creation of an existing one stays.
	PutSignInToken(ctx context.Context, token SignInToken) error
	// DeleteSignInTokens removes those of the user's sign-in tokens that still exist.
	DeleteSignInTokens(ctx context.Context, userID uuid.UUID, ids []uuid.UUID) error
}

// PasskeyReader finds passkeys.
type PasskeyReader interface {
	// Passkeys finds passkeys.
	Passkeys(ctx context.Context, refs []PasskeyRef) ([]Passkey, error)
	// ListPasskeys returns a user's passkeys by time of creation, then by id.
	ListPasskeys(ctx context.Context, userID uuid.UUID, limit int) ([]Passkey, error)
}

// PasskeyWriter keeps passkeys.
type PasskeyWriter interface {
	// PutPasskey creates or replaces a passkey. The time of creation of an existing one stays.
	PutPasskey(ctx context.Context, passkey Passkey) error
	// DeletePasskeys removes those of the user's passkeys that still exist.
	DeletePasskeys(ctx context.Context, userID uuid.UUID, ids []string) error
}

// StaffReader finds staff.
type StaffReader interface {
	// StaffMembers finds staff by their users, including those who were removed.
	StaffMembers(ctx context.Context, userIDs []uuid.UUID) ([]StaffMember, error)
	// ListStaff returns staff by the ids of their users, without those who were removed.
	ListStaff(ctx context.Context, limit int) ([]StaffMember, error)
}

// StaffWriter keeps staff.
type StaffWriter interface {
	// PutStaffMember creates or replaces a member of the staff. The time of creation of an existing one stays.
	PutStaffMember(ctx context.Context, member StaffMember) error
}
