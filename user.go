package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

const maxUserEmail = 320

// UserRecord is a person as a store keeps them, one for each email on the whole platform. What they are called is up to
// each company that they are a member of. They have no password here: who signs in, and how, is up to the surfaces that
// people sign in to.
type UserRecord struct {
	ID        uuid.UUID
	Email     string // as a buyer's: trimmed, in lower case
	CreatedAt time.Time
}

// UserReader finds users.
type UserReader interface {
	Users(ctx context.Context, ids []uuid.UUID) ([]UserRecord, error)
	// FindUsers finds users by their emails.
	FindUsers(ctx context.Context, emails []string) ([]UserRecord, error)
}

// UserWriter keeps users.
type UserWriter interface {
	// CreateUser fails with a [ConstraintError] where the email is taken.
	CreateUser(ctx context.Context, user UserRecord) error
}
