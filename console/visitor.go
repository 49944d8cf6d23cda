package console

import (
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// visitor is the person who is signed in.
type visitor struct {
	userID    uuid.UUID
	email     string
	sessionID uuid.UUID // zero where the host identifies people
	secret    string    // of the session
	provedAt  time.Time
	// visit has what the person holds on the platform and in the company of the path, as the request began.
	visit ticketing.Visit
}

// isStaff reports whether the person is staff. It only decides about a link.
func (v *visitor) isStaff() bool {
	_, err := v.visit.Staff()
	return err == nil
}

// confirmFor is how long a sign-in is recent.
const confirmFor = 10 * time.Minute

// confirmed reports whether the person proved who they are within the last ten minutes.
func (v *visitor) confirmed(now time.Time) bool {
	return !v.provedAt.IsZero() && now.Sub(v.provedAt) < confirmFor && !v.provedAt.After(now.Add(time.Minute))
}
