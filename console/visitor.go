package console

import (
	"time"

	"github.com/google/uuid"
)

// visitor is the person who is signed in.
type visitor struct {
	userID    uuid.UUID
	email     string
	sessionID uuid.UUID // zero where the host identifies people
	secret    string    // of the session
	provedAt  time.Time
}

// confirmFor is how long a sign-in is recent.
const confirmFor = 10 * time.Minute

// confirmed reports whether the person proved who they are within the last ten minutes.
func (v *visitor) confirmed(now time.Time) bool {
	return !v.provedAt.IsZero() && now.Sub(v.provedAt) < confirmFor && !v.provedAt.After(now.Add(time.Minute))
}

// signedIn is a session that begins, or continues with another secret.
type signedIn struct {
	secret  string
	expires time.Time
}
